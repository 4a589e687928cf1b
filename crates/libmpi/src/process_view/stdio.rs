//! Standard streams of one rank.
//!
//! The C library's `stdout` and `stderr` are replaced once, before anything of the program is loaded, by streams
//! without a buffer that hand all bytes to the rank that runs. A rank keeps them until a line is whole: what
//! ranks print stands in the order of simulated time, and no line of one is within a line of another. So it
//! is one stream for all, and C, C++ and every library finds it where it always is. Standard input is that of
//! rank 0, as mpiexec has it; for the others it is at its end. Before it waits for input, a rank's output is written.

use super::rank::running;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

unsafe extern "C" {
    static mut stdout: *mut libc::FILE;
    static mut stderr: *mut libc::FILE;
    static mut stdin: *mut libc::FILE;
    fn fopencookie(cookie: *mut c_void, mode: *const c_char, functions: Functions) -> *mut libc::FILE;
}

/// `cookie_io_functions_t` of the C library (fopencookie(3)); of a function that is not there, the stream does nothing.
#[repr(C)]
#[derive(Default)]
struct Functions {
    read: Option<extern "C" fn(*mut c_void, *mut c_char, usize) -> isize>,
    write: Option<extern "C" fn(*mut c_void, *const c_char, usize) -> isize>,
    seek: Option<extern "C" fn(*mut c_void, *mut i64, c_int) -> c_int>,
    close: Option<extern "C" fn(*mut c_void) -> c_int>,
}

/// The streams of this process.
struct Streams {
    output: *mut libc::FILE,
    error: *mut libc::FILE,
    input: *mut libc::FILE,
    /// Empty input of ranks but the first.
    empty: *mut libc::FILE,
}

// SAFETY: the process has one thread.
unsafe impl Send for Streams {}
// SAFETY: as above.
unsafe impl Sync for Streams {}

static STREAMS: OnceLock<Streams> = OnceLock::new();

/// Replaces the streams of the C library, before a compiled program and its libraries are loaded.
pub fn replace() {
    let functions = Functions { read: Some(read), seek: Some(seek), ..Functions::default() };
    replace_output(open(libc::STDIN_FILENO, c"r", functions));
}

/// The same, but for standard input.
pub fn replace_all_but_input() {
    // SAFETY: the variable of the C library, which no other thread looks at.
    replace_output(unsafe { stdin });
}

fn replace_output(input: *mut libc::FILE) {
    STREAMS.get_or_init(|| {
        let open = |descriptor: c_int| {
            let file = open(descriptor, c"w", Functions { write: Some(write), ..Functions::default() });
            // SAFETY: a stream that was just opened.
            unsafe { libc::setvbuf(file, ptr::null_mut(), libc::_IONBF, 0) };
            file
        };
        let (output, error) = (open(libc::STDOUT_FILENO), open(libc::STDERR_FILENO));
        // SAFETY: the variables of the C library, which no other thread looks at.
        unsafe {
            let empty = libc::fopen(c"/dev/null".as_ptr(), c"r".as_ptr());
            assert!(!empty.is_null(), "/dev/null cannot be read");
            (stdout, stderr) = (output, error);
            Streams { output, error, input, empty }
        }
    });
}

/// A stream over a descriptor, which is its cookie.
fn open(descriptor: c_int, mode: &CStr, functions: Functions) -> *mut libc::FILE {
    // SAFETY: the functions fit their cookie, which is no pointer.
    let file = unsafe { fopencookie(descriptor as usize as *mut c_void, mode.as_ptr(), functions) };
    assert!(!file.is_null(), "no memory for a stream");
    file
}

extern "C" fn read(descriptor: *mut c_void, buffer: *mut c_char, count: usize) -> isize {
    show_questions();
    // SAFETY: the C library passes its buffer and its length.
    unsafe { libc::read(descriptor as usize as c_int, buffer.cast(), count) }
}

extern "C" fn seek(descriptor: *mut c_void, offset: *mut i64, whence: c_int) -> c_int {
    // SAFETY: the C library passes the place of a number.
    unsafe {
        *offset = libc::lseek(descriptor as usize as c_int, *offset, whence);
        if *offset < 0 { -1 } else { 0 }
    }
}

/// The rank that runs is about to wait for input: who is asked sees the question first, of a terminal without its end of
/// line, too.
pub fn show_questions() {
    if let Some(me) = running() {
        me.catch_up();
        // SAFETY: the place of this thread's error number, and a question for a property of a descriptor.
        let is_terminal = unsafe {
            let errno = libc::__errno_location();
            let before = *errno;
            let is_terminal = libc::isatty(libc::STDIN_FILENO) == 1;
            *errno = before;
            is_terminal
        };
        if is_terminal {
            me.view().flush();
        }
    }
}

extern "C" fn write(descriptor: *mut c_void, bytes: *const c_char, count: usize) -> isize {
    // SAFETY: the C library passes its buffer and its length.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.cast(), count) };
    let descriptor = descriptor as usize as c_int;
    match running().and_then(|me| me.view().sink(descriptor)) {
        Some(sink) => sink.write(bytes),
        None => write_out(descriptor, bytes),
    }
    count as isize
}

/// Standard descriptor that `file` is over.
pub fn number_of(file: *const libc::FILE) -> Option<c_int> {
    let streams = STREAMS.get()?;
    match file {
        _ if ptr::eq(file, streams.output) => Some(libc::STDOUT_FILENO),
        _ if ptr::eq(file, streams.error) => Some(libc::STDERR_FILENO),
        _ if ptr::eq(file, streams.empty) || ptr::eq(file, streams.input) => Some(libc::STDIN_FILENO),
        _ => None,
    }
}

/// Standard input of a rank.
pub fn input_of(rank: u32) -> *mut libc::FILE {
    let streams = STREAMS.get().expect("streams are replaced before ranks are made");
    if rank == 0 { streams.input } else { streams.empty }
}

/// Makes `file` the C library's standard input.
pub fn set_input(file: *mut libc::FILE) {
    // SAFETY: one thread; the stream is never closed.
    unsafe { stdin = file };
}

/// Output of a rank to one descriptor.
pub struct Sink {
    held: RefCell<Vec<u8>>,
    /// Number of bytes that have been written to it, held ones included.
    taken: Cell<usize>,
    /// True if there may be lines in it: the rank was ahead of its operations.
    early: Cell<bool>,
    descriptor: Cell<c_int>,
}

impl Sink {
    /// To `descriptor`.
    pub fn new(descriptor: c_int) -> Sink {
        let (taken, early) = (Cell::new(0), Cell::new(false));
        Sink { held: RefCell::default(), taken, early, descriptor: Cell::new(descriptor) }
    }

    /// Takes `bytes`, and hands on the lines that are whole; those of a rank that is ahead of its operations
    /// when these are done.
    pub fn write(&self, bytes: &[u8]) {
        self.taken.set(self.taken.get() + bytes.len());
        if running().is_some_and(|rank| rank.is_ahead()) {
            self.early.set(true);
            return self.held.borrow_mut().extend_from_slice(bytes);
        }
        self.hand_on_lines(bytes);
    }

    fn hand_on_lines(&self, bytes: &[u8]) {
        // A signal may end the rank as it writes, and then it is flushed.
        let mut held = self.held.take();
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(last) if held.is_empty() => {
                write_out(self.descriptor.get(), &bytes[..=last]);
                held.extend_from_slice(&bytes[last + 1..]);
            }
            Some(last) => {
                held.extend_from_slice(&bytes[..=last]);
                write_out(self.descriptor.get(), &held);
                held.clear();
                held.extend_from_slice(&bytes[last + 1..]);
            }
            None => held.extend_from_slice(bytes),
        }
        self.held.replace(held);
    }

    /// Length of what has been written to it \[bytes\].
    #[inline]
    pub fn taken(&self) -> usize {
        self.taken.get()
    }

    /// Hands on the lines up to where so much had been written: what the rank was ahead of is done.
    #[inline]
    pub fn catch_up(&self, taken: usize) {
        if self.early.get() {
            self.hand_on(taken);
        }
    }

    #[cold]
    fn hand_on(&self, taken: usize) {
        let mut due = std::mem::take(&mut *self.held.borrow_mut());
        let later = due.split_off(due.len() - (self.taken.get() - taken).min(due.len()));
        self.early.set(!later.is_empty());
        self.hand_on_lines(&due);
        self.held.borrow_mut().extend(later);
    }

    /// Forgets what was written after the first `taken` bytes.
    pub fn forget_after(&self, taken: usize) {
        let mut held = self.held.borrow_mut();
        let due = held.len().saturating_sub(self.taken.get() - taken);
        held.truncate(due);
    }

    /// Hands on the rest, of which no line has come.
    pub fn flush(&self) {
        self.early.set(false);
        let held = std::mem::take(&mut *self.held.borrow_mut());
        write_out(self.descriptor.get(), &held);
    }

    /// From now on it is written elsewhere.
    pub fn redirect(&self, descriptor: c_int) {
        self.flush();
        self.descriptor.set(descriptor);
    }
}

/// Byte that has been written to standard output last.
static LAST: AtomicU8 = AtomicU8::new(b'\n');

/// All ranks have ended: what is reported then stands on a line of its own.
pub fn end_line() {
    if LAST.load(Ordering::Relaxed) != b'\n' {
        write_out(libc::STDOUT_FILENO, b"\n");
    }
}

fn write_out(descriptor: c_int, mut bytes: &[u8]) {
    if let (libc::STDOUT_FILENO, Some(last)) = (descriptor, bytes.last()) {
        LAST.store(*last, Ordering::Relaxed);
    }
    while !bytes.is_empty() {
        // SAFETY: the bytes are readable.
        let written = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(written) => bytes = &bytes[written..],
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            // Its reader has gone, or the disk is full: as for any process, it is lost.
            Err(_) => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::FromRawFd;

    use super::*;

    #[test]
    fn lines_leave_whole_and_the_rest_when_it_is_asked_for() {
        let mut ends = [0; 2];
        // SAFETY: the array has room for two descriptors, which are this test's own.
        let mut reader = unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            std::fs::File::from_raw_fd(ends[0])
        };
        let sink = Sink::new(ends[1]);
        let mut read = |count: usize| {
            let mut bytes = vec![0; count];
            reader.read_exact(&mut bytes).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        sink.write(b"one ");
        sink.write(b"line\nand");
        assert_eq!(read(9), "one line\n");
        sink.write(b" more\nrest");
        assert_eq!(read(9), "and more\n");
        sink.flush();
        assert_eq!(read(4), "rest");
    }
}
