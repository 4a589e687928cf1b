//! Helpers of the tests on recorded traces: find and unpack the data.

pub mod chakra;
pub mod damage;
pub mod drive;
pub mod fuzz;
pub mod otf2;
pub mod samples;
pub mod writer;

use std::io::Read;
use std::path::{Path, PathBuf};

use workload::trace::TraceFile;

/// Path of a file or folder of recorded data (`$HOPCAST_DATA`, or `../shared/data` beside the repository).
///
/// Tests that call it are ignored where there are none; see `build.rs`.
pub fn data(part: &str) -> PathBuf {
    let Some(root) = option_env!("RECORDED_DATA") else {
        panic!("such tests are ignored without recordings")
    };
    let path = Path::new(root).join(part);
    assert!(path.exists(), "{} is not there", path.display());
    path
}

/// A file read into memory.
pub fn file(path: &Path) -> TraceFile {
    TraceFile::new(path.display().to_string(), std::fs::read(path).unwrap())
}

/// Files in a folder, sorted by name.
pub fn folder(path: &Path) -> Vec<TraceFile> {
    let mut files: Vec<_> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().filter(|path| path.is_file()).map(|path| file(path)).collect()
}

/// The text of an `.xz` file.
pub fn unxz(path: &Path) -> String {
    let mut text = String::new();
    liblzma::read::XzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

/// The files of a `.tar.xz`, or `.tar.gz`, in memory, sorted by name.
pub fn untar(path: &Path) -> Vec<TraceFile> {
    let packed = std::fs::File::open(path).unwrap();
    let unpacked: Box<dyn Read> = if path.extension().is_some_and(|ending| ending == "xz") {
        Box::new(liblzma::read::XzDecoder::new(packed))
    } else {
        Box::new(flate2::read::GzDecoder::new(packed))
    };
    let mut archive = tar::Archive::new(unpacked);
    let mut files = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type().is_file() {
            let name = entry.path().unwrap().display().to_string();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            files.push(TraceFile::new(name, content));
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

/// A table of comma-separated values, without its first line.
pub fn csv(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_string).collect()).collect()
}

/// Contents of a file, for tests that damage it.
pub fn content(file: &TraceFile) -> Vec<u8> {
    file.peek(0, file.bytes.size() as usize).unwrap()
}
