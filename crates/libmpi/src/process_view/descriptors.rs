//! Descriptors of a rank's standard streams, and the streams themselves.

use std::ffi::{CStr, c_char, c_int, c_void};

use super::rank::running;
use super::{refused, stdio};
use crate::loader::Hook;

/// The functions of this file, by the names that they stand for.
pub fn hooks() -> Vec<Hook> {
    vec![
        Hook::new("write", write as *const c_void),
        Hook::new("writev", write_parts as *const c_void),
        Hook::new("read", read as *const c_void),
        Hook::new("close", close as *const c_void),
        Hook::new("dup2", duplicate as *const c_void),
        Hook::new("fileno", number as *const c_void),
        Hook::new("fileno_unlocked", number as *const c_void),
        Hook::new("fflush", flush as *const c_void),
        Hook::new("fclose", close_stream as *const c_void),
        Hook::new("freopen", open_again as *const c_void),
        Hook::new("freopen64", open_again as *const c_void),
        Hook::new("setvbuf", set_buffer as *const c_void),
        Hook::new("setbuf", set_buffer_whole as *const c_void),
        Hook::new("setbuffer", set_buffer_sized as *const c_void),
        Hook::new("setlinebuf", set_buffer_of_lines as *const c_void),
        // Streams of C++ stay together with those of C, which are each rank's own.
        Hook::new("_ZNSt8ios_base15sync_with_stdioEb", stay_with_stdio as *const c_void),
    ]
}

fn sink(descriptor: c_int) -> Option<&'static stdio::Sink> {
    running().and_then(|me| me.view().sink(descriptor))
}

/// The same, which is about to be written elsewhere, once all is there that was written until now.
fn sink_to_change(descriptor: c_int) -> Option<&'static stdio::Sink> {
    if let Some(me) = running() {
        me.catch_up();
    }
    sink(descriptor)
}

fn is_standard(descriptor: c_int) -> bool {
    running().is_some() && (0..=libc::STDERR_FILENO).contains(&descriptor)
}

pub(super) unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, count: usize) -> isize {
    match sink(descriptor) {
        Some(sink) => {
            // SAFETY: the program's buffer is as long as it says.
            sink.write(unsafe { std::slice::from_raw_parts(bytes.cast(), count) });
            count as isize
        }
        // SAFETY: the program's own call.
        None => unsafe { libc::write(descriptor, bytes, count) },
    }
}

unsafe extern "C" fn write_parts(descriptor: c_int, parts: *const libc::iovec, count: c_int) -> isize {
    let Some(sink) = sink(descriptor) else {
        // SAFETY: the program's own call.
        return unsafe { libc::writev(descriptor, parts, count) };
    };
    // SAFETY: the program's list and the buffers in it are as long as it says.
    let parts = unsafe { std::slice::from_raw_parts(parts, count as usize) };
    for part in parts.iter().filter(|part| part.iov_len > 0) {
        // SAFETY: as above.
        sink.write(unsafe { std::slice::from_raw_parts(part.iov_base.cast(), part.iov_len) });
    }
    parts.iter().map(|part| part.iov_len as isize).sum()
}

unsafe extern "C" fn read(descriptor: c_int, buffer: *mut c_void, count: usize) -> isize {
    let nobody_types = running().is_some_and(|me| me.number() > 0);
    if descriptor == libc::STDIN_FILENO && nobody_types {
        return 0;
    }
    if descriptor == libc::STDIN_FILENO {
        stdio::show_questions();
    }
    // SAFETY: the program's own call.
    unsafe { libc::read(descriptor, buffer, count) }
}

/// Writes what a rank has printed, before it goes on.
unsafe extern "C" fn flush(file: *mut libc::FILE) -> c_int {
    // SAFETY: the program's own call.
    let status = unsafe { libc::fflush(file) };
    let is_output = file.is_null() || stdio::number_of(file).is_some_and(|number| number > 0);
    if let Some(me) = running().filter(|_| is_output) {
        me.catch_up();
    }
    status
}

/// Other ranks still write there.
unsafe extern "C" fn close(descriptor: c_int) -> c_int {
    if is_standard(descriptor) {
        if let Some(sink) = sink_to_change(descriptor) {
            sink.flush();
        }
        return 0;
    }
    // SAFETY: the program's own call.
    unsafe { libc::close(descriptor) }
}

unsafe extern "C" fn duplicate(old: c_int, new: c_int) -> c_int {
    // SAFETY: descriptors are numbers; a bad one is an error.
    unsafe {
        match sink_to_change(new) {
            Some(sink) => {
                let descriptor = libc::dup(old);
                if descriptor < 0 {
                    return -1;
                }
                sink.redirect(descriptor);
                new
            }
            None => libc::dup2(old, new),
        }
    }
}

unsafe extern "C" fn number(file: *mut libc::FILE) -> c_int {
    // SAFETY: a stream of the program.
    stdio::number_of(file).unwrap_or_else(|| unsafe { libc::fileno(file) })
}

unsafe extern "C" fn close_stream(file: *mut libc::FILE) -> c_int {
    match stdio::number_of(file) {
        // SAFETY: as `close` itself says.
        Some(descriptor) => unsafe { close(descriptor) },
        // SAFETY: a stream of the program.
        None => unsafe { libc::fclose(file) },
    }
}

unsafe extern "C" fn open_again(
    path: *const c_char,
    mode: *const c_char,
    file: *mut libc::FILE,
) -> *mut libc::FILE {
    let Some(descriptor) = stdio::number_of(file) else {
        // SAFETY: the program's own call.
        return unsafe { libc::freopen(path, mode, file) };
    };
    let Some(sink) = sink_to_change(descriptor).filter(|_| !path.is_null()) else {
        refused::say("freopen", "standard input stays what it is");
        return std::ptr::null_mut();
    };
    // SAFETY: texts of the program.
    let fresh = unsafe {
        let append = CStr::from_ptr(mode).to_bytes().contains(&b'a');
        let how = if append { libc::O_APPEND } else { libc::O_TRUNC };
        libc::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC | how, 0o666)
    };
    if fresh < 0 {
        return std::ptr::null_mut();
    }
    sink.redirect(fresh);
    file
}

/// The standard streams have no buffer that could be another's.
unsafe extern "C" fn set_buffer(
    file: *mut libc::FILE,
    buffer: *mut c_char,
    mode: c_int,
    size: usize,
) -> c_int {
    match stdio::number_of(file) {
        Some(_) => 0,
        // SAFETY: the program's own call.
        None => unsafe { libc::setvbuf(file, buffer, mode, size) },
    }
}

unsafe extern "C" fn set_buffer_of_lines(file: *mut libc::FILE) {
    // SAFETY: as above.
    unsafe { set_buffer(file, std::ptr::null_mut(), libc::_IOLBF, 0) };
}

unsafe extern "C" fn set_buffer_whole(file: *mut libc::FILE, buffer: *mut c_char) {
    if stdio::number_of(file).is_none() {
        // SAFETY: the program's own call.
        unsafe { libc::setbuf(file, buffer) };
    }
}

unsafe extern "C" fn set_buffer_sized(file: *mut libc::FILE, buffer: *mut c_char, size: usize) {
    let mode = if buffer.is_null() { libc::_IONBF } else { libc::_IOFBF };
    // SAFETY: as above.
    unsafe { set_buffer(file, buffer, mode, size) };
}

extern "C" fn stay_with_stdio(_: bool) -> bool {
    true
}
