//! Kernels by model: calls of functions that take the time of a formula, in an unmodified program.
//!
//! Calls into libraries are found by name in the relocated words of the program and of its libraries; a function
//! in the program itself begins with a jump in its image, before it is copied for the ranks. A kernel's time is
//! added up, and passes before the rank's next MPI call. What is called by a kernel that runs is part of it.

mod answer;
mod recent;
mod table;
mod trampoline;

use std::cell::RefCell;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use engine::Duration;
use engine::random::{Stream, stream};
use mpi::compute::Kernel;

use crate::loader::interception;
use crate::process_view::computing_clock as clock;
use crate::process_view::rank::{Rank, running};
use table::{Arguments, Choice, Counted};
use trampoline::Frame;

pub use table::{Interception, install};

/// True if kernels run, whatever the platform says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// As it says.
    Platform,
    /// All run.
    Run,
    /// None runs.
    Skip,
    /// Nothing is intercepted.
    Off,
}

impl Mode {
    /// The mode of that name.
    pub fn parse(text: &str) -> Result<Mode, String> {
        match text {
            "platform" => Ok(Mode::Platform),
            "run" => Ok(Mode::Run),
            "skip" => Ok(Mode::Skip),
            "off" => Ok(Mode::Off),
            _ => Err(format!("kernels: platform, run, skip or off, not '{text}'")),
        }
    }
}

static INSTALLED: OnceLock<Vec<&'static Interception>> = OnceLock::new();

/// Kernels that are intercepted; none before [`set`].
pub fn all() -> &'static [&'static Interception] {
    INSTALLED.get().map_or(&[], |all| all)
}

/// From now on programs that are loaded call these instead of what they name.
pub fn set(interceptions: Vec<&'static Interception>) {
    interception::install(interceptions.iter().map(|one| *one as &dyn interception::Interception).collect());
    assert!(INSTALLED.set(interceptions).is_ok(), "a process runs one job");
}

/// Warnings about kernels: those that did not run, those of which calls lay beyond what was fitted, and doubtful ones.
pub fn warnings(doubts: &Doubts) -> Vec<String> {
    [did_not_run(), beyond_their_range(), doubts.warning()].into_iter().flatten().collect()
}

/// Doubts about kernels: names of functions, and what is doubtful about each.
pub struct Doubts(Vec<(String, String)>);

impl Doubts {
    /// Kernels whose deviation is below zero within their range.
    pub fn about(kernels: &[Kernel]) -> Doubts {
        let mut found: Vec<(String, String)> = Vec::new();
        for kernel in kernels {
            let is_known = found.iter().any(|(function, _)| *function == kernel.function);
            if let Some(place) = kernel.negative_deviation().filter(|_| !is_known) {
                found.push((kernel.function.clone(), format!("{} (such as at {place})", kernel.function)));
            }
        }
        Doubts(found)
    }

    /// Warning about those that were called.
    fn warning(&self) -> Option<String> {
        let is_called =
            |name: &str| all().iter().any(|one| one.function() == name && one.counted.get().calls > 0);
        let words = self.0.iter().filter(|(name, _)| is_called(name)).map(|(_, words)| &words[..]);
        let words: Vec<_> = words.collect();
        (!words.is_empty()).then(|| {
            let words = words.join(", ");
            format!(
                "deviations of kernels are below zero within their range, and count as zero there: {words}"
            )
        })
    }
}

/// Sums over the names under which each kernel was called, of those for which there is something.
fn by_function<T: Copy>(
    of: impl Fn(&Interception) -> Option<T>,
    add: impl Fn(&mut T, T),
) -> Vec<(&'static str, T)> {
    let mut sums: Vec<(&str, T)> = Vec::new();
    for one in all() {
        let Some(value) = of(one) else { continue };
        match sums.iter_mut().find(|known| known.0 == one.function()) {
            Some(known) => add(&mut known.1, value),
            None => sums.push((one.function(), value)),
        }
    }
    sums
}

fn did_not_run() -> Option<String> {
    let skipped =
        by_function(|one| Some(one.skipped.get()).filter(|calls| *calls > 0), |sum, one| *sum += one);
    let words: Vec<_> = skipped.iter().map(|(name, calls)| format!("{name} ({calls} calls)")).collect();
    (!words.is_empty()).then(|| {
        format!(
            "kernels took their model's time and did not run, so that their results are none: {}",
            words.join(", ")
        )
    })
}

fn beyond_their_range() -> Option<String> {
    let add = |sum: &mut Counted, one: Counted| {
        sum.calls += one.calls;
        sum.seconds += one.seconds;
        sum.calls_beyond += one.calls_beyond;
        sum.seconds_beyond += one.seconds_beyond;
    };
    let counted = by_function(|one| Some(one.counted.get()).filter(|one| one.calls > 0), add);
    let beyond: Vec<_> = counted.iter().filter(|(_, sum)| sum.calls_beyond > 0).collect();
    let percent = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    let words = beyond.iter().map(|(name, sum)| {
        let calls = percent(sum.calls_beyond as f64, sum.calls as f64);
        let time = percent(sum.seconds_beyond, sum.seconds);
        format!("{name} ({calls:.1} % of its calls, {time:.1} % of its time)")
    });
    let words: Vec<_> = words.collect();
    (!words.is_empty()).then(|| {
        format!("kernels were called beyond the range for which they were fitted: {}", words.join(", "))
    })
}

/// State that a rank keeps for its kernels.
#[derive(Default)]
pub struct Calls {
    random: RefCell<Option<Stream>>,
    /// Kernels that run, the innermost last.
    running: RefCell<Vec<Running>>,
}

/// The calls of the rank that runs.
static CURRENT: AtomicPtr<Calls> = AtomicPtr::new(ptr::null_mut());

impl Calls {
    /// The rank is about to run; it lives until another one does, or [`Calls::leave`].
    #[inline]
    pub fn enter(&self) {
        CURRENT.store(ptr::from_ref(self).cast_mut(), Ordering::Relaxed);
    }

    /// No rank runs.
    #[inline]
    pub fn leave() {
        CURRENT.store(ptr::null_mut(), Ordering::Relaxed);
    }

    fn running<'a>() -> Option<&'a Calls> {
        // SAFETY: set for as long as the rank's code runs, which is when it calls a kernel.
        unsafe { CURRENT.load(Ordering::Relaxed).as_ref() }
    }
}

struct Running {
    of: &'static Interception,
    back: usize,
    /// True if its time is that of its formula, with all that it calls.
    charged: bool,
    since: Option<clock::Paused>,
}

/// A call of an intercepted function. Gives the address of the function if it is to run, else 0; then `frame`
/// has what it returns. `back`: where its return address is; its arguments on the stack follow.
///
/// # Safety
/// Called by the entry of the trampoline.
unsafe extern "C" fn called(of: &'static Interception, frame: &mut Frame, back: *mut usize) -> usize {
    let (Some(me), Some(calls)) = (running(), Calls::running()) else { return of.place(None) };
    let inside = calls.running.borrow().iter().any(|outer| outer.charged);
    let Some(choice) = of.choice(me).filter(|_| !inside) else {
        if of.in_program() {
            // SAFETY: as the caller says.
            return unsafe { run(of, (me, calls), back, false) };
        }
        return of.place(Some(me.program().base()));
    };
    // SAFETY: the function is called with the arguments that it is declared with.
    let arguments = unsafe { Arguments::read(of, frame, back.wrapping_add(1)) };
    let mut random = calls.random.borrow_mut();
    let random = random.get_or_insert_with(|| stream(of.seed, "kernels", me.number().into()));
    charge(me, (of, choice), &arguments, random);
    if choice.runs {
        // SAFETY: as the caller says.
        return unsafe { run(of, (me, calls), back, true) };
    }
    of.skipped.set(of.skipped.get() + 1);
    // SAFETY: as above; what it writes is what the function would.
    unsafe { answer::answer(of, choice, &arguments, random, frame) };
    0
}

/// The time of a call passes.
fn charge(me: &dyn Rank, (of, choice): (&Interception, &Choice), arguments: &Arguments, random: &mut Stream) {
    let (seconds, is_beyond) = choice.time(arguments, random);
    if seconds.is_finite() {
        of.count(seconds, is_beyond);
        me.let_pass(Duration::from_seconds(seconds));
    }
}

/// Lets the function run, and come back here.
///
/// # Safety
/// `back` is where its return address is.
unsafe fn run(
    of: &'static Interception,
    (me, calls): (&dyn Rank, &Calls),
    back: *mut usize,
    charged: bool,
) -> usize {
    let since = if charged { clock::pause() } else { None };
    // SAFETY: the caller says so.
    let running = unsafe { Running { of, back: *back, charged, since } };
    calls.running.borrow_mut().push(running);
    // SAFETY: as above.
    unsafe { *back = trampoline::back() };
    of.uncover(me.program().base());
    of.place(Some(me.program().base()))
}

/// A kernel that ran has returned; gives the address at which its caller goes on.
extern "C" fn returned() -> usize {
    let (me, calls) = (running().expect("a rank ran it"), Calls::running().expect("a rank ran it"));
    let running = calls.running.borrow_mut().pop().expect("it was noted when it began");
    let nested = calls.running.borrow().iter().any(|outer| std::ptr::eq(outer.of, running.of));
    if !nested {
        running.of.cover(me.program().base());
    }
    clock::go_on(running.since);
    running.back
}
