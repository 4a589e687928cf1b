//! Sets `cfg(recorded_data)` for tests if recordings of real machines are available, in `$HOPCAST_DATA` or in
//! `../shared/data` beside the repository.
//!
//! A test that needs them is marked `#[cfg_attr(not(recorded_data), ignore = "…")]`, so that `cargo test` counts it as
//! ignored without them, instead of as passed.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(recorded_data)");
    println!("cargo::rerun-if-env-changed=HOPCAST_DATA");
    println!("cargo::rerun-if-changed=Cargo.toml");
    let package = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let beside = || Path::new(&package).join("../../../shared/data");
    let folder = env::var_os("HOPCAST_DATA").map_or_else(beside, PathBuf::from);
    if folder.is_dir() {
        println!("cargo::rustc-cfg=recorded_data");
        println!("cargo::rustc-env=RECORDED_DATA={}", folder.display());
        println!("cargo::rerun-if-changed={}", folder.join("INDEX.md").display());
    }
}
