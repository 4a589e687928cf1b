//! Standard output of one rank.
//!
//! Each rank has a stream of its own over the shared descriptor, line by line: what ranks print stands in the
//! order of simulated time, and no line of one is within a line of another. Libraries look for the stream in
//! the C library's variable, which is set whenever a rank begins to run; a program that was compiled to have
//! its own copy of that variable has it in its own memory.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

unsafe extern "C" {
    static mut stdout: *mut libc::FILE;
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Functions) -> *mut libc::FILE;
}

/// `cookie_io_functions_t` of the C library (fopencookie(3)).
#[repr(C)]
struct Functions {
    read: *const c_void,
    write: extern "C" fn(*mut c_void, *const c_char, usize) -> isize,
    seek: *const c_void,
    close: *const c_void,
}

/// A stream that a rank writes.
pub struct Stream {
    file: *mut libc::FILE,
    usual: *mut libc::FILE,
}

impl Stream {
    /// A stream over `descriptor`. It is not closed: the C library looks through all streams for that.
    pub fn open(descriptor: c_int) -> Stream {
        let functions = Functions { read: ptr::null(), write, seek: ptr::null(), close: ptr::null() };
        // SAFETY: the functions fit their cookie, which is no pointer; the variable of the C library is
        // read while no rank runs.
        unsafe {
            let file = fopencookie(descriptor as usize as *mut c_void, c"w".as_ptr(), functions);
            assert!(!file.is_null(), "no memory for a stream");
            libc::setvbuf(file, ptr::null_mut(), libc::_IOLBF, 0);
            Stream { file, usual: stdout }
        }
    }

    /// The stream itself.
    pub fn file(&self) -> *mut libc::FILE {
        self.file
    }

    /// It becomes the C library's standard output.
    pub fn make_standard(&self) {
        // SAFETY: one thread; the stream lives as long as the process.
        unsafe { stdout = self.file };
    }

    /// The one of before becomes it.
    pub fn make_usual(&self) {
        // SAFETY: as above.
        unsafe { stdout = self.usual };
    }

    /// Writes what has not been.
    pub fn flush(&self) {
        // SAFETY: a stream that is open.
        unsafe { libc::fflush(self.file) };
    }
}

extern "C" fn write(descriptor: *mut c_void, bytes: *const c_char, count: usize) -> isize {
    let mut written = 0;
    while written < count {
        // SAFETY: the C library passes its buffer and its length.
        let more =
            unsafe { libc::write(descriptor as usize as c_int, bytes.add(written).cast(), count - written) };
        if more <= 0 {
            break;
        }
        written += more as usize;
    }
    written as isize
}
