//! Layers of the house: the allowed dependencies of each crate, and forbidden contents.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate of the project, and the crates of the project that it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("engine", &[]),
    ("network", &["engine"]),
    ("mpi", &["engine", "network"]),
    ("workload", &["engine", "mpi"]),
    ("sim", &["engine", "network", "mpi", "workload"]),
    ("libmpi", &["engine", "mpi", "sim"]),
    ("python", &["engine", "mpi", "sim"]),
    ("recorder", &["workload"]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Crates of the project that a manifest depends on outside its tests.
fn project_dependencies(manifest: &str, known: &[&str]) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().expect("a manifest is TOML");
    let dependencies = manifest.get("dependencies").and_then(|table| table.as_table());
    let names = dependencies.into_iter().flat_map(|table| table.keys());
    names.filter(|name| known.contains(&name.as_str())).cloned().collect()
}

#[test]
fn calls_go_down_only() {
    let known: Vec<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    for folder in fs::read_dir(crates()).unwrap() {
        let folder = folder.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_string();
        let may = allowed.get(name.as_str());
        let may = may
            .unwrap_or_else(|| panic!("crate '{name}' is not in the plan of the house; name its invariant"));
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        for dependency in project_dependencies(&manifest, &known) {
            assert!(may.contains(&dependency.as_str()), "'{name}' must not know '{dependency}'");
        }
    }
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// `engine`, `network`, `mpi` and `workload` read no clock, environment, file or thread.
#[test]
fn layers_are_state_machines() {
    let forbidden =
        ["std::fs", "std::env", "std::thread", "Instant::now", "SystemTime", "std::net", "std::process"];
    for layer in ["engine", "network", "mpi", "workload"] {
        let mut files = Vec::new();
        rust_files(&crates().join(layer).join("src"), &mut files);
        assert!(!files.is_empty());
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            for word in forbidden {
                assert!(!text.contains(word), "{} uses {word}", file.display());
            }
        }
    }
}

/// No folder of sources has a name that says nothing.
#[test]
fn no_room_is_called_utils() {
    let mut files = Vec::new();
    rust_files(&crates(), &mut files);
    for file in files {
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let banned = ["utils", "util", "types", "common", "prelude", "helpers", "misc"];
        assert!(!banned.contains(&stem), "{} needs a name that says what is in it", file.display());
    }
}
