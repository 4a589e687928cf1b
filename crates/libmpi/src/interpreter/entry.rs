//! Entry points for Python: `python/hopcast/live/interpreter.py` calls these, holding the interpreter.

use std::ffi::{CStr, c_char, c_int, c_void};

use mpi::Op;

use super::exchange::Words;
use super::python::Object;
use super::regions::Region;
use super::{Interpreter, active};
use crate::launch;
use crate::live::process::Process;
use crate::live::{Fault, Runs};
use crate::process_view::{self, computing_clock as clock};

/// Runs the job in the file `job`, each rank by `run(rank, modules)`, and writes its result to `result`; see
/// `hopcast_live`. It does not return: fibers that have not ended cannot be gone on with.
///
/// # Safety
/// C strings, and functions of Python.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopcast_interpreter(
    job: *const c_char,
    result: *const c_char,
    ranks: usize,
    run: Object,
    collect: Object,
    place: Object,
) -> c_int {
    // SAFETY: the caller says so; it waits for this function, which never returns.
    let (job, result, started) = unsafe {
        (CStr::from_ptr(job), CStr::from_ptr(result), Interpreter::start(ranks, run, collect, place))
    };
    let (job, result) = (job.to_string_lossy(), result.to_string_lossy());
    let code = match started {
        Ok(interpreter) => {
            // SAFETY: it is held, and a rank takes it when it begins.
            unsafe { (interpreter.python.save)() };
            launch::live(&job, &result, |job, prepared, computing| {
                launch::interpreted(job, prepared, computing, Runs::Interpreter(interpreter))
            })
        }
        Err(missing) => {
            eprintln!("this Python lacks {missing}");
            70
        }
    };
    // SAFETY: ends the process; what ranks have printed has been written.
    unsafe { libc::_exit(code) }
}

/// The rank that runs has raised an exception: it ends here, and with it the run.
///
/// # Safety
/// C strings; `place` may be empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopcast_raised(text: *const c_char, place: *const c_char) {
    let me = Process::running().expect("a rank calls this");
    // SAFETY: the caller says so.
    let (text, place) = unsafe { (CStr::from_ptr(text), CStr::from_ptr(place)) };
    let place = (!place.is_empty()).then(|| place.to_string_lossy().into_owned());
    let text = format!("rank {} raised {}", me.rank, text.to_string_lossy());
    let fault = Fault { kind: "exception", rank: me.rank, at_s: me.time().seconds(), text, place };
    active().expect("ranks run in Python").failures.borrow_mut().push(fault);
    me.end(Op::Abort(1))
}

/// Stops counting what the rank does as computing of its program, until [`hopcast_go_on`] is called with the result.
#[unsafe(no_mangle)]
pub extern "C" fn hopcast_pause() -> *mut c_void {
    clock::pause().map_or(std::ptr::null_mut(), |paused| Box::into_raw(Box::new(paused)).cast())
}

/// Counts again.
///
/// # Safety
/// The result of [`hopcast_pause`], once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopcast_go_on(paused: *mut c_void) {
    if !paused.is_null() {
        // SAFETY: the caller says so.
        let paused = unsafe { Box::from_raw(paused.cast::<clock::Paused>()) };
        clock::go_on(Some(*paused));
    }
}

/// Replacement of a function of the C library where a rank calls it; null if all ranks share the function.
///
/// # Safety
/// A C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopcast_function(name: *const c_char) -> *const c_void {
    // SAFETY: the caller says so.
    let name = unsafe { CStr::from_ptr(name) };
    let hook = process_view::hooks().into_iter().find(|hook| hook.name.as_bytes() == name.to_bytes());
    hook.map_or(std::ptr::null(), |hook| hook.function)
}

/// From now on these words of an extension module are each rank's own: `objects` pointers, which begin as what
/// `fresh` makes, and `integers`, which begin as they are.
///
/// # Safety
/// The lists have those lengths; the module is never unloaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopcast_words(
    objects: *const *mut usize,
    object_count: usize,
    integers: *const *mut i32,
    integer_count: usize,
    fresh: Object,
) {
    let interpreter = active().expect("ranks run in Python");
    // SAFETY: the caller says so.
    let words = unsafe {
        let objects = std::slice::from_raw_parts(objects, object_count).to_vec();
        Words::new(objects, std::slice::from_raw_parts(integers, integer_count).to_vec(), fresh)
    };
    interpreter.words.replace(words);
}

/// From now on the content of this memory is each rank's own, as `begin(rank) -> bytes` makes it where another rank
/// has changed the content that it has now.
///
/// # Safety
/// The memory lives as long as the process, as does `begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hopcast_region(address: *mut u8, length: usize, begin: Object) {
    // SAFETY: the caller says so.
    let region = unsafe { Region::new(address, length, begin) };
    active().expect("ranks run in Python").regions.borrow_mut().push(region);
}
