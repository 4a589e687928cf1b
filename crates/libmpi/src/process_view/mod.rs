//! The C library as a rank sees it: as if the rank were a process of its own.
//!
//! Functions are hooked by name in the words through which the program and its libraries call them. What the
//! C library keeps in variables that it reads itself (`environ`, `stdin`, the working directory) is exchanged
//! when another rank runs; what it keeps in variables that it hides is kept here, for each rank.

pub mod commands;
pub mod computing_clock;
pub mod descriptors;
pub mod environment;
pub mod exit;
pub mod floating_point;
pub mod folder;
pub mod identity;
pub mod random;
pub mod rank;
pub mod refused;
pub mod signals;
pub mod statics;
pub mod stdio;
pub mod threads;
pub mod time;

use std::cell::{Cell, OnceCell};
use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::loader::{Hook, entry, exceptions, opened, tls};
use environment::Environment;
use stdio::Sink;

unsafe extern "C" {
    static mut program_invocation_name: *mut c_char;
    static mut program_invocation_short_name: *mut c_char;
}

/// The C library's own messages (assert, perror, error) name this program, whose path it is, from now on.
pub fn set_name(path: &Path) {
    let path = path.as_os_str().as_bytes();
    let text = CString::new(path).expect("a file's name has no zeros").into_raw();
    let short = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    // SAFETY: the text is never freed; no other thread reads the variables of the C library.
    unsafe {
        program_invocation_name = text;
        program_invocation_short_name = text.add(short);
    }
}

/// Everything that is hooked in a program.
pub fn hooks() -> Vec<Hook> {
    let mut hooks = vec![entry::hook(), tls::hook(), opened::hook()];
    hooks.extend(exit::hooks());
    hooks.extend(commands::hooks());
    hooks.extend(descriptors::hooks());
    hooks.extend(environment::hooks());
    hooks.extend(folder::hooks());
    hooks.extend(identity::hooks());
    hooks.extend(random::hooks());
    hooks.extend(refused::hooks());
    hooks.extend(signals::hooks());
    hooks.extend(statics::hooks());
    hooks.extend(time::hooks());
    hooks
}

/// Everything that is hooked in a program of which each rank is a process: what a process has of its own is left as it
/// is.
pub fn hooks_of_processes() -> Vec<Hook> {
    let mut hooks = vec![entry::hook(), threads::hook(), opened::hook()];
    hooks.extend(exit::hooks());
    hooks.extend(commands::hooks());
    hooks.extend(descriptors::hooks());
    hooks.extend(identity::hooks());
    hooks.extend(refused::hooks().into_iter().filter(|hook| hook.name != "pthread_create"));
    hooks.extend(signals::hooks());
    hooks.extend(time::hooks());
    hooks
}

/// Length of what a rank had printed on its standard output and its standard error at some moment \[bytes\].
#[derive(Debug, Default, Clone, Copy)]
pub struct Printed([usize; 2]);

/// State of a rank in the C library.
pub struct View {
    /// Its environment.
    pub environment: Environment,
    /// Its working directory.
    pub folder: folder::Folder,
    /// Its random numbers.
    pub random: random::Lazy,
    /// Its wishes about signals.
    pub signals: signals::Lazy,
    /// The signal that has ended it; 0 is none.
    pub killed_by: Cell<c_int>,
    /// State that functions keep between calls.
    pub statics: OnceCell<Box<statics::Statics>>,
    /// Handlers to run at its end.
    pub handlers: exit::Handlers,
    exceptions: Cell<exceptions::Handled>,
    output: Sink,
    error: Sink,
    input: *mut libc::FILE,
}

impl View {
    /// View of `rank`, which begins with these variables.
    pub fn new(rank: u32, environment: *const *const c_char) -> View {
        View {
            environment: Environment::new(environment),
            folder: Default::default(),
            random: Default::default(),
            signals: Default::default(),
            killed_by: Cell::new(0),
            statics: OnceCell::new(),
            handlers: Default::default(),
            exceptions: Cell::default(),
            output: Sink::new(libc::STDOUT_FILENO),
            error: Sink::new(libc::STDERR_FILENO),
            input: stdio::input_of(rank),
        }
    }

    /// Sink of the rank's bytes for a standard descriptor.
    pub fn sink(&self, descriptor: c_int) -> Option<&Sink> {
        match descriptor {
            libc::STDOUT_FILENO => Some(&self.output),
            libc::STDERR_FILENO => Some(&self.error),
            _ => None,
        }
    }

    /// Its standard input.
    pub fn input(&self) -> *mut libc::FILE {
        self.input
    }

    /// Hands on what has been printed.
    pub fn flush(&self) {
        self.output.flush();
        self.error.flush();
    }

    /// Length of what it has printed, on either stream.
    #[inline]
    pub fn printed(&self) -> Printed {
        Printed([self.output.taken(), self.error.taken()])
    }

    /// The operations that the rank was ahead of are done up to where it had printed so much.
    #[inline]
    pub fn catch_up(&self, Printed([output, error]): Printed) {
        self.output.catch_up(output);
        self.error.catch_up(error);
    }

    /// Forgets what it has printed after that.
    pub fn forget_after(&self, Printed([output, error]): Printed) {
        self.output.forget_after(output);
        self.error.forget_after(error);
    }

    /// The rank is about to run.
    #[inline]
    pub fn enter(&self) {
        stdio::set_input(self.input);
        self.environment.enter();
        if let Some(statics) = self.statics.get() {
            statics.enter();
        }
        exceptions::exchange(&self.exceptions);
        folder::enter(Some(&self.folder));
    }

    /// It has stopped.
    #[inline]
    pub fn leave(&self) {
        exceptions::exchange(&self.exceptions);
        self.environment.leave();
    }
}
