//! A rank in which a debugger stops.
//!
//! ```text
//!   gdb                               launcher
//!   tbreak hopcast_debugger_stops     …
//!   run ────────────────────────────► rank 3 begins: writes where its copy is (add-symbol-file … -o base),
//!   source what was written  ◄─────── calls hopcast_debugger_stops
//!   continue ───────────────────────► main of rank 3
//! ```
//!
//! Copies of the program are memory that no loader has told gdb about. What it is told of here is one rank's, so
//! breakpoints by name are that rank's alone.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Deserialize;

use crate::loader::symbols;

/// Rank and program that a debugger asks for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Debugged {
    /// The rank.
    pub rank: u32,
    /// The file for gdb's commands.
    pub commands: PathBuf,
}

/// The rank is about to run, with its copy of the program at `base` and its `main` at that address.
pub fn meet(debugged: &Debugged, base: usize, main: usize) {
    let mut commands = String::new();
    for (file, offset) in symbols::files() {
        writeln!(commands, "add-symbol-file \"{}\" -o {:#x}", file.display(), base + offset).unwrap();
    }
    if symbols::name_of(main).as_deref() == Some("main") {
        commands.push_str("tbreak main\n");
    } else {
        writeln!(commands, "tbreak *{main:#x}").unwrap();
    }
    if let Err(error) = std::fs::write(&debugged.commands, commands) {
        eprintln!("hopcast: {}: {error}", debugged.commands.display());
    }
    // SAFETY: the launcher's function of this name, which does nothing.
    unsafe {
        let stop = libc::dlsym(libc::RTLD_DEFAULT, c"hopcast_debugger_stops".as_ptr());
        if !stop.is_null() {
            std::mem::transmute::<*mut libc::c_void, extern "C" fn()>(stop)();
        }
    }
}
