//! Entry point of the launcher: a job in a file, a result in another.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use mpi::Source;
use mpi::operation::Rank;
use sim::observe::{LiveRows, Pace};
use sim::run::SingleProcess;
use sim::{Control, InputError, Monitor, Outcome, Peers, Prepared, Progress};

use crate::accounting;
use crate::arena;
use crate::call::reports::Library;
use crate::data::spread::Spread;
use crate::fiber::stacks::Stacks;
use crate::fold;
use crate::job::{Isolation, Job, write_live, write_refusal, write_result};
use crate::kernels::{self, Mode};
use crate::live::arguments::Arguments;
use crate::live::computing::Computing;
use crate::live::guarded_copy::GuardedCopy;
use crate::live::hardware::HardwareResource;
use crate::live::process::Shared;
use crate::live::socket_memory::SocketMemory;
use crate::live::{Live, Runs, interrupts};
use crate::loader::tls::Pad;
use crate::loader::{Template, callers, entry, opened, valgrind_symbols};
use crate::peers::Talker;
use crate::process_view::statics::{OPTIONS, OwnOptions};
use crate::process_view::{hooks, hooks_of_processes, set_name, stdio, threads};

/// Exit codes: there is a result, and a broken invariant of ours.
const DONE: c_int = 0;
const OUR_FAULT: c_int = 70;

/// Runs the job in the file `job` and writes its result, or what is wrong with the job, to the file `result`.
/// Gives the exit code: 0 if it is written, whatever it says.
///
/// # Safety
/// Both are C strings; the pad is `pad_bytes` long and ends at the thread pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopcast_live(
    job: *const c_char,
    result: *const c_char,
    pad: *mut u8,
    pad_bytes: usize,
) -> c_int {
    // SAFETY: the caller says so.
    let (job, result) = unsafe { (CStr::from_ptr(job), CStr::from_ptr(result)) };
    let pad = Pad { start: pad, bytes: pad_bytes };
    live(&job.to_string_lossy(), &result.to_string_lossy(), |job, prepared, computing| {
        load(job, prepared, computing, pad)
    })
}

/// Runs the job in a file with the ranks that `load` makes. Gives the exit code.
pub fn live(
    job: &str,
    result: &str,
    load: impl FnOnce(&Job, &Prepared, Computing) -> Result<Live, InputError>,
) -> c_int {
    std::panic::set_hook(Box::new(|broken| {
        eprintln!("hopcast's own check failed; please report this: {broken}");
        // SAFETY: ends the process without running what would come after.
        unsafe { libc::_exit(OUR_FAULT) }
    }));
    let refused = run(Path::new(job), Path::new(result), load).err();
    match refused.map_or(Ok(()), |error| write_refusal(Path::new(result), &error)) {
        Ok(()) => DONE,
        Err(error) => {
            eprintln!("{result}: {error}");
            OUR_FAULT
        }
    }
}

fn run(
    job: &Path,
    result: &Path,
    load: impl FnOnce(&Job, &Prepared, Computing) -> Result<Live, InputError>,
) -> Result<(), InputError> {
    let own = |error: &dyn std::fmt::Display| InputError::whole("job", error.to_string());
    let text = std::fs::read_to_string(job).map_err(|error| own(&error))?;
    let job: Job = serde_json::from_str(&text).map_err(|error| own(&error))?;
    if job.isolation() == Isolation::Process {
        arena::open().map_err(|error| own(&error))?;
        if job.asked_isolation().is_none() {
            eprintln!("hopcast: not position-independent: each rank is a process (--isolation process)");
        }
    }
    let mut peers: Box<dyn Peers> = match &job.peers {
        Some(place) => Box::new(Talker::new(place.clone())),
        None => Box::new(SingleProcess),
    };
    let ready = sim::prepare_share(&job.request, &*peers).and_then(|prepared| {
        let (accounting, computing) = accounting::open(&job, &prepared)?;
        let live = load(&job, &prepared, computing)?;
        Ok((prepared, accounting, live))
    });
    let told = ready.as_ref().err().map_or(String::new(), |error| error.to_string());
    let told = peers.share(told.into_bytes()).into_iter().find(|told| !told.is_empty());
    let (mut prepared, accounting, mut live) = ready?;
    if let Some(told) = told {
        return Err(InputError::whole("another process", String::from_utf8_lossy(&told)));
    }
    interrupts::watch();
    let doubts = kernels::Doubts::about(prepared.kernels());
    let follower = job.live.clone().map(Follower::new);
    follower.iter().for_each(|follower| prepared.follow(follower.rows.clone()));
    let mut watch = Watch::new(job.progress.as_deref(), follower).map_err(|error| own(&error))?;
    let mut outcome = prepared.run_share(Some(&mut live), &mut watch, &mut *peers);
    interrupts::are_over();
    add_places(outcome.as_mut().ok().and_then(Option::as_mut), &live, &mut *peers);
    live.close();
    stdio::end_line();
    let Some(outcome) = outcome? else {
        write_result(result, "", live.faults(), (&serde_json::Value::Null, &[]), &[])
            .map_err(|error| own(&error))?;
        std::mem::forget(live);
        return Ok(());
    };
    let ended_well = outcome.report.failure.is_none() && !outcome.report.partial;
    let (computing, mut notes) = accounting.close(&live.computing(), ended_well);
    notes.extend(kernels::warnings(&doubts).into_iter().chain(live.unused().filter(|_| ended_well)));
    notes.extend(live.vain_polls());
    // With --isolation none, ranks share the program's own variables as well.
    notes.extend(opened::warning(outcome.report.ranks).filter(|_| job.isolation() != Isolation::None));
    let report = once(outcome.json(), fold::counted_twice());
    write_result(result, &report, live.faults(), (&computing, &notes), &outcome.tables)
        .map_err(|error| own(&error))?;
    // Ranks that have not ended leave frames behind that nobody can drop; the process ends anyway.
    std::mem::forget(live);
    Ok(())
}

/// Adds the places in the program of the ranks that the failure names to the outcome, which the first process has.
fn add_places(outcome: Option<&mut Outcome>, live: &Live, peers: &mut dyn Peers) {
    let failure = outcome.and_then(|outcome| outcome.report.failure.as_mut());
    let mut unplaced: Vec<_> = failure
        .into_iter()
        .flat_map(|failure| &mut failure.ranks)
        .filter(|rank| rank.place.is_none())
        .collect();
    let asked: Vec<u8> = unplaced.iter().flat_map(|stuck| stuck.rank.to_le_bytes()).collect();
    let asked = peers.share(asked).swap_remove(0);
    let ranks = asked.chunks_exact(4).map(|rank| u32::from_le_bytes(rank.try_into().expect("four bytes")));
    let places: Vec<Option<String>> = ranks.map(|rank| live.place(Rank(rank))).collect();
    let told = peers.share(serde_json::to_vec(&places).expect("texts become JSON"));
    for places in told {
        let places: Vec<Option<String>> = serde_json::from_slice(&places).expect("another process wrote it");
        for (stuck, place) in unplaced.iter_mut().zip(places) {
            stuck.place = stuck.place.take().or(place);
        }
    }
}

/// The ranks of a program that an interpreter runs, none of which has begun.
pub fn interpreted(
    job: &Job,
    prepared: &Prepared,
    computing: Computing,
    runs: Runs,
) -> Result<Live, InputError> {
    let ranks = prepared.ranks() as usize;
    let refuse = |reason: String| InputError::whole(job.program().to_string_lossy(), reason);
    stdio::replace_all_but_input();
    allow_files();
    let stacks = stacks(ranks, job.stack_bytes()?).map_err(refuse)?;
    Ok(Live::new(runs, stacks, Rc::new(shared(job, prepared, computing, None))))
}

/// Allocates `count` stacks for ranks, and one for guarded copies.
fn stacks(count: usize, bytes: usize) -> Result<(Stacks, GuardedCopy), String> {
    let both = Stacks::new(count, bytes).and_then(|stacks| Ok((stacks, GuardedCopy::new()?)));
    both.map_err(|error| format!("no room for {count} stacks: {error}"))
}

/// The report, with what the kernel counts more than once taken off the process's memory.
fn once(report: String, twice: u64) -> String {
    if twice == 0 {
        return report;
    }
    let mut values: serde_json::Value = serde_json::from_str(&report).expect("a report is JSON");
    let peak = values["peak_rss_B"].as_u64().unwrap_or(0);
    values["peak_rss_B"] = peak.saturating_sub(twice).into();
    values.to_string()
}

/// The ranks of the program, none of which has begun.
fn load(job: &Job, prepared: &Prepared, computing: Computing, pad: Pad) -> Result<Live, InputError> {
    let (ranks, program) = (prepared.ranks() as usize, &job.program().to_path_buf());
    let refuse = |reason: String| InputError::whole(program.to_string_lossy(), reason);
    stdio::replace();
    allow_files();
    tell_libraries();
    if computing.counts() {
        callers::enable();
    }
    let mode = Mode::parse(&job.request.kernels()).map_err(|reason| InputError::whole("kernels", reason))?;
    kernels::set(kernels::install(prepared.kernels(), mode, job.request.seed(), job.compute_scale()));
    valgrind_symbols::in_folder(&job.folder);
    // One copy and one stack more, to find `main`.
    let fold = job.fold()?;
    let folds = fold.block > 0;
    let mut hooks = hooks();
    if folds {
        hooks.extend(fold::hooks::hooks().into_iter().chain(fold::copies::hooks()));
    }
    let isolation = job.isolation();
    let copies = match isolation {
        Isolation::Globals => ranks + 1,
        Isolation::None | Isolation::Process => 2,
    };
    let template = if isolation == Isolation::Process {
        whole(folds).and_then(|()| Template::load_once(program, &hooks_of_processes()))
    } else {
        Template::load(program, &hooks, copies)
    };
    let template = template.map_err(refuse)?;
    if job.request.verbose == Some(true) {
        template.listing.iter().for_each(|line| eprintln!("{line}"));
    }
    let stacks = stacks(ranks + 1, job.stack_bytes()?).map_err(refuse)?;
    let place = template.thread_local(pad).map_err(refuse)?;
    let probe = template.copy(copies - 1).map_err(|error| refuse(format!("no room for a copy: {error}")))?;
    let main =
        entry::main_of(&probe, template.parts[0].elf.entry, stacks.0.take(ranks)).ok_or_else(|| {
            refuse("it does not begin as C programs do: its start does not name its main".into())
        })?;
    if let (Isolation::Process, Some(place)) = (isolation, &place) {
        threads::set(place.address(), place.fresh(&probe));
    }
    if folds {
        fold::start(fold, &template, ranks).map_err(refuse)?;
    }
    set_name(program);
    let shared = shared(job, prepared, computing, Some(&template));
    let runs = Runs::Copies { template: Box::new(template), main, thread_local: place, isolation };
    Ok(Live::new(runs, stacks, Rc::new(shared)))
}

/// Refuses what is not available where ranks are processes.
fn whole(folds: bool) -> Result<(), String> {
    let with = |what: &str| Err(format!("{what} is not for ranks that are processes (--isolation process)"));
    if folds {
        return with("--fold-memory");
    }
    if kernels::all().is_empty() {
        Ok(())
    } else {
        with("a platform with [[compute.kernels]] (--kernels off)")
    }
}

/// State that the ranks of a program share; `template` is what it was loaded from, if it is compiled.
fn shared(job: &Job, prepared: &Prepared, computing: Computing, template: Option<&Template>) -> Shared {
    let copy_of = |name| template.and_then(|template| template.copy_of(name));
    Shared {
        ranks: prepared.ranks(),
        arguments: Arguments::new(job.words(), environment()),
        own_environ: ["environ", "__environ", "_environ"].iter().find_map(|name| copy_of(name)),
        own_options: OwnOptions { places: OPTIONS.map(copy_of) },
        apart: job.isolation() == Isolation::Process,
        polls_are_endless: job.polls_are_endless(),
        runs_ahead: template.is_some() && job.isolation() != Isolation::Process && !computing.counts(),
        computing: RefCell::new(computing),
        memory: SocketMemory::new(prepared.processor(), prepared.host_of_rank(), prepared.socket_of_rank()),
        copies: template.map(Template::copies),
        host_of_rank: prepared.host_of_rank().to_vec(),
        hardware_levels: HardwareResource::of(prepared.hardware_levels()),
        socket_of_rank: prepared.socket_of_rank().to_vec(),
        reports: &Library,
        protocol: prepared.protocol(),
        functions: prepared.function_times().clone(),
        spread: job
            .peers
            .as_ref()
            .zip(prepared.process_of_rank())
            .map(|(peers, ranks)| Spread::new(peers.rank, ranks)),
        parcels: Default::default(),
        meetings: Default::default(),
        channels: Default::default(),
        windows: Default::default(),
        file_system: prepared.file_system(),
        files: Default::default(),
        used: Cell::new(false),
        debugged: job.debug.clone(),
    }
}

fn environment() -> impl Iterator<Item = Vec<u8>> {
    std::env::vars_os().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
}

/// Environment that libraries read when they are loaded. Those that would begin threads of themselves are told not to:
/// a rank has none, unless it is a process and begins them itself. That of Fortran is told to hold back nothing of what a
/// rank prints, which would be lost where the rank stands still or another one aborts.
fn tell_libraries() {
    // SAFETY: this process has one thread yet, and nobody holds a value of its environment.
    unsafe {
        std::env::set_var("OMP_NUM_THREADS", "1");
        if std::env::var_os(UNBUFFERED).is_none() {
            std::env::set_var(UNBUFFERED, "y");
        }
    }
}

/// Variable of GNU Fortran: units 0, 5 and 6 read and write at once.
const UNBUFFERED: &str = "GFORTRAN_UNBUFFERED_PRECONNECTED";

/// All ranks' files are open in one process: as many as it may have.
fn allow_files() {
    // SAFETY: reads and sets a limit of this process.
    unsafe {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Tells the command line how far the run is, and whether it shall end.
struct Watch {
    /// Two words: simulated time \[s\], a float; events.
    told: Option<File>,
    next: Instant,
    follower: Option<Follower>,
}

/// Writes the rows that are new while the run goes on into files of a folder, which the command line takes from there.
struct Follower {
    rows: Arc<LiveRows>,
    folder: PathBuf,
    files: u32,
    pace: Pace,
}

impl Follower {
    fn new(folder: PathBuf) -> Follower {
        Follower { rows: Arc::default(), folder, files: 0, pace: Pace::begin() }
    }

    fn poll(&mut self, progress: &Progress) {
        if self.pace.is_due() {
            self.files += 1;
            let path = self.folder.join(format!("{:09}.rows", self.files));
            // The run matters more than its followers: a full disk must not end it.
            let _ = write_live(&path, progress, &self.rows.take());
        }
    }
}

/// Time between two reports.
const TELL_EVERY: std::time::Duration = std::time::Duration::from_millis(100);

impl Watch {
    #[expect(clippy::disallowed_methods, reason = "how often a person is told is no part of the simulation")]
    fn new(told: Option<&Path>, follower: Option<Follower>) -> std::io::Result<Watch> {
        Ok(Watch { told: told.map(File::create).transpose()?, next: Instant::now(), follower })
    }
}

impl Monitor for Watch {
    #[expect(clippy::disallowed_methods, reason = "as above")]
    fn poll(&mut self, progress: Progress) -> Control {
        if let Some(file) = &self.told
            && Instant::now() >= self.next
        {
            self.next += TELL_EVERY;
            let words = [progress.now.seconds().to_bits(), progress.events];
            // Who is not told sees no progress, and the run goes on.
            let _ = file.write_all_at(words.map(u64::to_le_bytes).as_flattened(), 0);
        }
        if let Some(follower) = &mut self.follower {
            follower.poll(&progress);
        }
        if interrupts::ASKED.load(Ordering::Relaxed) { Control::Stop } else { Control::Continue }
    }

    fn bell(&self) -> &'static AtomicBool {
        &interrupts::ASKED
    }
}
