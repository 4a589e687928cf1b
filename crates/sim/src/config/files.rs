//! Sources of the files that an input names: the disk, or the built-in presets.

use std::collections::BTreeMap;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::error::Place;

/// Reason for which a named pipe is not read.
pub(crate) const NAMED_PIPE: &str =
    "it is a named pipe, for whose writer hopcast could wait for ever; name a file, or give <(command)";

/// Reads files by name.
pub trait Files {
    /// Text of the file `name`; the error says why it cannot be read.
    fn read(&self, name: &str) -> Result<String, String>;
}

/// Files on disk, relative to a folder.
#[derive(Debug, Clone)]
pub struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// Reads files relative to `folder`.
    pub fn new(folder: impl Into<PathBuf>) -> Disk {
        Disk { folder: folder.into() }
    }
}

impl Files for Disk {
    fn read(&self, name: &str) -> Result<String, String> {
        read_file(&self.folder.join(name))
    }
}

/// Text of a file that the user names; the error says why it cannot be read.
pub fn read_file(path: &Path) -> Result<String, String> {
    if is_named_pipe(path) {
        return Err(NAMED_PIPE.to_string());
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

/// True for a pipe that has a name of its own. Those of the shell (`<(command)`, `/dev/stdin`) have a writer.
fn is_named_pipe(path: &Path) -> bool {
    let is_of_the_process = path.starts_with("/dev") || path.starts_with("/proc");
    !is_of_the_process && std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

/// Files in memory: names and texts.
#[derive(Debug, Clone, Default)]
pub struct Texts(pub BTreeMap<String, String>);

impl Files for Texts {
    fn read(&self, name: &str) -> Result<String, String> {
        self.0.get(name).cloned().ok_or_else(|| "no such file".to_string())
    }
}

/// Files that a platform may name: those beside it, and for `--set` those of the working directory.
pub(crate) struct Lookup<'a> {
    /// Folder of the platform file.
    pub(crate) folder: &'a str,
    /// Files beside the platform file.
    pub(crate) beside: &'a dyn Files,
    /// Files that `--set` names.
    pub(crate) base: &'a dyn Files,
}

impl Lookup<'_> {
    /// Text of the file that is named `name` at `at`.
    pub(crate) fn read(&self, name: &str, at: &Place) -> Result<String, String> {
        if at.is_flag() {
            return self.base.read(name);
        }
        self.beside.read(&std::path::Path::new(self.folder).join(name).to_string_lossy())
    }
}
