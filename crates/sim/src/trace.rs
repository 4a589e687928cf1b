//! Recorded runs on disk: finds the files of a trace and opens them for the readers.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use workload::trace::{self, ReadAt, SharedSet, TraceError, TraceFile};

use crate::config::InputError;

/// A file that is opened for each read of a block, so that a trace of any number of ranks fits under the
/// limit of open files.
struct OnDisk {
    path: PathBuf,
    size: u64,
}

impl ReadAt for OnDisk {
    fn size(&self) -> u64 {
        self.size
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        File::open(&self.path)?.read_at(buffer, offset)
    }
}

/// Opens the recorded run at `path`: a folder, or one file of a set that lies in its folder.
pub fn open(path: &str) -> Result<SharedSet, InputError> {
    let error = |reason: String| InputError::whole(path, reason);
    let at = Path::new(path);
    let metadata =
        std::fs::metadata(at).map_err(|reason| error(format!("cannot read this trace: {reason}")))?;
    let files = if metadata.is_dir() { files_of(at) } else { set_of(at) };
    let files = files.map_err(|reason| error(format!("cannot read this trace: {reason}")))?;
    let files: Vec<TraceFile> = files
        .into_iter()
        .map(|(path, size)| TraceFile::new(path.to_string_lossy().into_owned(), OnDisk { path, size }))
        .collect();
    if files.is_empty() {
        return Err(error("this folder holds no files; name the folder of a trace".to_string()));
    }
    trace::recognise(files).map_err(|reason| input_error(&reason))
}

/// A damaged trace is bad input.
pub fn input_error(error: &TraceError) -> InputError {
    let place = error.offset.map_or(String::new(), |offset| format!("byte {offset}: "));
    InputError::whole(error.file.clone(), format!("{place}{}", error.reason))
}

/// The files of a folder with their sizes, by name.
fn files_of(folder: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let metadata = std::fs::metadata(&path)?;
        if metadata.is_file() {
            files.push((path, metadata.len()));
        }
    }
    files.sort();
    Ok(files)
}

/// The files beside `file` that share its name up to the number of the rank or the ending.
fn set_of(file: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = |name: &str| {
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let numbered =
            stem.rsplit_once('-').filter(|(_, rank)| rank.bytes().all(|byte| byte.is_ascii_digit()));
        numbered.map_or(stem, |(prefix, _)| prefix).to_string()
    };
    let prefix = stem(&name(file));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut files = files_of(folder)?;
    files.retain(|(path, _)| stem(&name(path)) == prefix);
    Ok(files)
}
