//! A rank that a signal ends: the fiber is left, and the run ends with a report that names it.
//!
//! ```text
//!   fiber of rank r                 signal stack                      hub
//!   *(int *)0 = 1 ──── SIGSEGV ───► handler: notes signal, address
//!                                   sets rip, rsp of the fiber to
//!   «leave with Ended::Crash» ◄──── the fiber's way out ─ returns
//!          └───────────────────────────────────────────────────────► Fiber::resume gives Ended::Crash
//! ```
//!
//! A signal outside of any rank's code is our own, and ends the process as ever: on the hub's stack, where no rank runs, or
//! in another thread. What is neither is a rank's, wherever its stack pointer is: its stack may be too small, or one that
//! the program has made.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use corosensei::trap::TrapHandlerRegs;
use engine::{Bytes, Time};

use super::guarded_copy::{self, Standing};
use super::place::{self, Calls};
use super::process::Process;
use super::process_isolation;
use crate::data::touched::{self, Memory};
use crate::fiber::Ended;
use crate::fiber::stacks::{self, Extent};
use crate::loader::symbols;
use crate::process_view::signals;

/// The signals that mean a mistake of the program.
const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

/// Fault of a rank that ended the run.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Fault {
    /// "crash", "exit", "early-exit" (without MPI_Finalize), or "interrupt" (broken off by the user).
    pub kind: &'static str,
    /// Rank.
    pub rank: u32,
    /// Time \[s\].
    pub at_s: f64,
    /// Event, in words.
    pub text: String,
    /// Place in the program: function and distance, if a crash.
    pub place: Option<String>,
}

/// Notes of the handler.
#[derive(Debug, Clone, Copy)]
struct Noted {
    signal: c_int,
    address: usize,
    calls: Calls,
    pointer: Pointer,
}

/// Place of the stack pointer, in a stack of this many bytes.
#[derive(Debug, Clone, Copy)]
enum Pointer {
    Within,
    /// It has left the stack, or cannot move on.
    Beyond(usize),
    /// Place outside all stacks of ranks: in one that the program has made, or after a very large step.
    Elsewhere(usize),
}

impl Pointer {
    /// Makes the crash of a rank that has faulted at `address`.
    fn find(stack: Extent, pointer: usize, address: usize) -> Pointer {
        if stack.is_too_small(pointer, address) {
            Pointer::Beyond(stack.bytes())
        } else if stack.holds(pointer) {
            Pointer::Within
        } else {
            Pointer::Elsewhere(stack.bytes())
        }
    }
}

/// Largest distance of the hub's stack pointer from that at [`watch`] \[bytes\].
const HUB: usize = 8 << 20;

impl Noted {
    /// In the program, at `place`; or in a library, of what is called there.
    fn where_it_is(&self, place: Option<&str>) -> String {
        let first = self.calls.instructions().next().unwrap_or(0);
        let library = || symbols::library_function(first).unwrap_or("a library".into());
        match place {
            Some(place) if self.signal == libc::SIGABRT || symbols::place_of(first).is_some() => {
                format!("at {place}")
            }
            Some(place) => format!("in {}, called at {place}", library()),
            None => format!("in {}", library()),
        }
    }
}

thread_local! {
    static NOTED: Cell<Option<Noted>> = const { Cell::new(None) };
    /// While callers are looked for: the fault may have broken the stack.
    static LOOKING: Cell<bool> = const { Cell::new(false) };
    /// The stack pointer at [`watch`]; 0 in other threads.
    static HUB_STACK: Cell<usize> = const { Cell::new(0) };
}

/// \[bytes\] for the handler, and for a handler of the program.
const SIGNAL_STACK: usize = 256 * 1024;
/// A crash may leave the C library's locks held; a report that waits for one must not wait forever.
const REPORT_WITHIN_S: u32 = 60;

/// Installs the handler, on a stack of its own: of each process its own, not memory of the library, which ranks that are
/// processes share.
pub fn watch() {
    HUB_STACK.set(stacks::pointer());
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, which is never given back; the structure is complete.
    unsafe {
        let stack = libc::mmap(ptr::null_mut(), SIGNAL_STACK, access, flags, -1, 0);
        assert!(stack != libc::MAP_FAILED, "no {SIGNAL_STACK} bytes for a stack of signal handlers");
        let place = libc::stack_t { ss_sp: stack, ss_flags: 0, ss_size: SIGNAL_STACK };
        libc::sigaltstack(&raw const place, ptr::null_mut());
    }
    SIGNALS.into_iter().for_each(leave_on);
}

/// From now on, the signals of a mistake end the process: of a rank that is a process, and has ended.
pub fn end_process() {
    for signal in SIGNALS {
        // SAFETY: has no conditions.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// From now on, `signal` ends the rank that runs; if none does, the process. For signal handlers, too.
pub fn leave_on(signal: c_int) {
    install(signal, handle);
}

/// The signal that breaks off a rank which makes no MPI call while the user waits for the end of the run.
pub const NUDGE: c_int = libc::SIGALRM;

/// Lets the process of a rank be ended by the simulator alone: it ignores the signals that a terminal or a batch system
/// sends to all processes.
pub fn leave_when_told() {
    install(libc::SIGINT, obey);
    [libc::SIGTERM, libc::SIGHUP].into_iter().for_each(|signal| install(signal, only_from_itself));
}

extern "C" fn only_from_itself(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: what the kernel passes to a handler with SA_SIGINFO; then back to what the signal does by itself.
    unsafe {
        if (*info).si_pid() == libc::getpid() {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
}

extern "C" fn obey(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: what the kernel passes to a handler with SA_SIGINFO.
    if unsafe { (*info).si_code == libc::SI_USER && (*info).si_pid() == libc::getppid() } {
        // SAFETY: has no conditions.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
        handle(signal, info, context);
    }
}

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

fn install(signal: c_int, handler: Handler) {
    // SAFETY: the structure is complete.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
        libc::sigaction(signal, &raw const action, ptr::null_mut());
    }
}

/// Is it a rank that runs, with this stack pointer?
fn is_rank(pointer: usize) -> bool {
    let hub = HUB_STACK.get();
    hub != 0 && pointer.abs_diff(hub) > HUB
}

type Registers = [libc::greg_t; 23];

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: what the kernel passes to a handler with SA_SIGINFO.
    let (context, address) =
        unsafe { (&mut *context.cast::<libc::ucontext_t>(), (*info).si_addr() as usize) };
    let trap = Process::running().and_then(|process| process.trap.get());
    let stack = context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize;
    let looking = LOOKING.take();
    if let Some(aside) =
        guarded_copy::trap().filter(|aside| aside.stack_ptr_in_bounds(stack) && signal == libc::SIGSEGV)
    {
        let calls = Calls::only(context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize);
        NOTED.set(Some(Noted { signal, address, calls, pointer: Pointer::Within }));
        // SAFETY: the interrupted code is what was attempted, which is not resumed.
        return leave(&mut context.uc_mcontext.gregs, &unsafe { aside.setup_trap_handler(|| false) });
    }
    let Some(trap) = trap.filter(|_| looking || is_rank(stack)) else {
        if signal == NUDGE {
            process_isolation::hurry();
            return;
        }
        if signal == libc::SIGINT && process_isolation::hurry() {
            return;
        }
        // SAFETY: back to what the signal does by itself; it is raised again when the handler returns.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        return;
    };
    let own = Process::running().map(Process::stack).filter(|_| signal == libc::SIGSEGV);
    let pointer = own.map_or(Pointer::Within, |own| Pointer::find(own, stack, address));
    // On a stack that is full no handler runs, unless it has asked for another.
    let may = |action: &libc::sigaction| {
        !matches!(pointer, Pointer::Beyond(_)) || action.sa_flags & libc::SA_ONSTACK != 0
    };
    if let Some(me) = Process::running().filter(|_| !looking && !is_asked(signal))
        && let Some(action) = signals::handler_of(me, signal).filter(may)
    {
        // SAFETY: what the kernel gave. As in a process, the handler may change the context, or jump.
        unsafe { signals::call(&action, signal, info.cast(), ptr::from_mut(context).cast()) };
        // The C library's own `abort` would end the process now.
        if signal != libc::SIGABRT {
            return;
        }
    }
    let registers = &mut context.uc_mcontext.gregs;
    if !looking {
        let instruction = registers[libc::REG_RIP as usize] as usize;
        NOTED.set(Some(Noted { signal, address, calls: Calls::only(instruction), pointer }));
        LOOKING.set(true);
        let calls = Calls::of_this_stack().from(instruction);
        LOOKING.set(false);
        NOTED.set(Some(Noted { signal, address, calls, pointer }));
    }
    // SAFETY: the interrupted code is that of the fiber, as checked, which is not resumed again: what it
    // has left half done is the memory of a program that has ended. All registers named are set below.
    leave(registers, &unsafe { trap.setup_trap_handler(|| Ended::Crash) });
}

/// True for the signals by which the user breaks a rank off; all others are the program's own faults.
fn is_asked(signal: c_int) -> bool {
    matches!(signal, libc::SIGINT | NUDGE)
}

/// From the handler on, the interrupted code goes on as `out` says.
fn leave(registers: &mut Registers, out: &TrapHandlerRegs) {
    registers[libc::REG_RIP as usize] = out.rip as i64;
    registers[libc::REG_RSP as usize] = out.rsp as i64;
    registers[libc::REG_RBP as usize] = out.rbp as i64;
    registers[libc::REG_RDI as usize] = out.rdi as i64;
    registers[libc::REG_RSI as usize] = out.rsi as i64;
}

/// Message for a rank whose stack of this many bytes is too small.
fn too_small(rank: u32, bytes: usize, there: &str) -> String {
    let bytes = Bytes(bytes as u64);
    format!(
        "rank {rank}'s stack of {bytes} is too small, --stack-size names a larger one: it was full {there}"
    )
}

/// Message for a rank that has raised a signal, with its place.
pub fn killed(process: &Process, now: Time, signal: c_int) -> Fault {
    let (rank, place) = (process.rank, process.standing.take());
    let what = if signal == libc::SIGABRT { "the program called abort" } else { "raised by itself" };
    let at = place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
    let text = if process.has_overflowed() {
        too_small(rank, process.stack().bytes(), at.trim_start())
    } else {
        format!("rank {rank} was ended by {} ({what}){at}", name_of(signal))
    };
    Fault { kind: "crash", rank, at_s: now.seconds(), text, place }
}

/// Message for a rank whose process has ended by itself, from the status of waitpid(2).
pub fn died(rank: u32, now: Time, status: c_int) -> Fault {
    let text = if libc::WIFSIGNALED(status) {
        format!("the process of rank {rank} was ended by {}", name_of(libc::WTERMSIG(status)))
    } else {
        format!("the process of rank {rank} ended by itself, with exit code {}", libc::WEXITSTATUS(status))
    };
    Fault { kind: "crash", rank, at_s: now.seconds(), text, place: None }
}

/// The same for one whose process has died after its last word: in a handler of `atexit`, or the end of a library. Without a
/// status: it did not end, and was killed.
pub fn died_at_its_end(rank: u32, now: Time, status: Option<c_int>) -> Fault {
    let fault = died(rank, now, status.unwrap_or(0));
    let what = match status {
        Some(_) => fault.text,
        None => format!("the process of rank {rank} did not end, and was killed"),
    };
    Fault { text: format!("{what}, in what runs after its end (atexit, ends of libraries)"), ..fault }
}

/// Message for a rank that has ended with an exit code, or `early`: before MPI_Finalize.
pub fn exited(rank: u32, now: Time, code: c_int, early: bool) -> Fault {
    let with = if code == 0 { String::new() } else { format!(" with exit code {code}") };
    let (kind, without) = if early { ("early-exit", " without MPI_Finalize") } else { ("exit", "") };
    let text = format!("rank {rank} ended{with}{without}");
    Fault { kind, rank, at_s: now.seconds(), text, place: None }
}

/// The name of a signal as in signal(7).
fn name_of(signal: c_int) -> String {
    // SAFETY: the C library's own texts, or null.
    unsafe {
        let name = sigabbrev_np(signal);
        if name.is_null() {
            return format!("signal {signal}");
        }
        format!("SIG{}", CStr::from_ptr(name).to_string_lossy())
    }
}

unsafe extern "C" {
    fn sigabbrev_np(signal: c_int) -> *const c_char;
}

/// Rank in whose memory the fault was, if memory of ranks was being copied.
pub fn at_fault() -> Option<Memory> {
    touched::at_fault(NOTED.get()?.address)
}

/// Fault of a rank whose memory cannot be read or written, as has just been found out: in its own call, unless
/// it stands in another.
pub fn fault_in(memory: &Memory, now: Time, standing: Option<Standing>) -> Fault {
    let noted = NOTED.take().expect("a crash is noted before its stack is left");
    let own = || {
        let all = || noted.calls.instructions();
        Standing { call: place::call_among(all()), place: symbols::place_among(all()) }
    };
    let Standing { call, place } = standing.unwrap_or_else(own);
    let Memory { rank, role, at, bytes } = *memory;
    let what = format!("{} of {} at {at:#x}", role.words(), Bytes(bytes as u64));
    let (name, address) = (name_of(noted.signal), noted.address);
    let call = call.unwrap_or_else(|| "its call".into());
    let there = place.as_ref().map_or(String::new(), |place| format!(" at {place}"));
    let text = format!(
        "rank {rank}'s {what} cannot be read or written ({name}, address {address:#x}), in {call}{there}"
    );
    Fault { kind: "crash", rank, at_s: now.seconds(), text, place }
}

/// Kind of the fault of a rank that the user has broken off, which is no failure of the program.
pub const INTERRUPT: &str = "interrupt";

/// Describes the fault of the rank that has just crashed or was broken off.
pub fn fault(rank: u32, now: Time) -> Fault {
    let noted = NOTED.take().expect("a crash is noted before its fiber is left");
    if !is_asked(noted.signal) {
        // SAFETY: asks for a signal later; the default action ends the process.
        unsafe {
            libc::signal(libc::SIGALRM, libc::SIG_DFL);
            libc::alarm(REPORT_WITHIN_S);
        }
    }
    let name = name_of(noted.signal);
    let place = symbols::place_among(noted.calls.instructions());
    let address = noted.address;
    let what = match noted.signal {
        libc::SIGSEGV | libc::SIGBUS => format!("address {address:#x}"),
        libc::SIGFPE => "an arithmetic error".to_string(),
        libc::SIGABRT => "the program called abort".to_string(),
        _ => "an illegal instruction".to_string(),
    };
    let there = noted.where_it_is(place.as_deref());
    if is_asked(noted.signal) {
        let text =
            format!("rank {rank}, which made no MPI call when the run was stopped, was broken off {there}");
        return Fault { kind: INTERRUPT, rank, at_s: now.seconds(), text, place };
    }
    let text = match noted.pointer {
        Pointer::Beyond(bytes) => too_small(rank, bytes, &there),
        Pointer::Within => format!("rank {rank} was ended by {name} ({what}) {there}"),
        Pointer::Elsewhere(bytes) => {
            let bytes = Bytes(bytes as u64);
            let stack = format!(
                "the stack pointer is outside of the rank's stack of {bytes}, which --stack-size enlarges"
            );
            format!("rank {rank} was ended by {name} ({what}; {stack}) {there}")
        }
    };
    Fault { kind: "crash", rank, at_s: now.seconds(), text, place }
}
