//! Functions that somebody above the loader intercepts in programs that are loaded.

use std::sync::OnceLock;

use super::elf::{Elf, Refusal};

/// A function that is intercepted, by one of its names.
pub trait Interception: Sync {
    /// The name by which programs call it.
    fn name(&self) -> &str;
    /// Address that is called instead.
    fn stub(&self) -> usize;
    /// The function is at `address`, in a library that all ranks share.
    fn replaces(&self, address: usize);
    /// The function is at `offset` in each rank's copy.
    fn replaces_in_copies(&self, offset: usize);
    /// Puts a jump into the image of the program where the program itself has the function.
    fn place_in(&self, elf: &Elf, image: &mut [u8]) -> Result<(), Refusal>;
}

static INSTALLED: OnceLock<Vec<&'static dyn Interception>> = OnceLock::new();

/// Programs that are loaded from now on call these instead of what they name.
pub fn install(all: Vec<&'static dyn Interception>) {
    assert!(INSTALLED.set(all).is_ok(), "a process runs one job");
}

/// All that are installed.
pub fn all() -> &'static [&'static dyn Interception] {
    INSTALLED.get().map_or(&[], |all| all)
}

/// The one of this name.
pub fn named(name: &str) -> Option<&'static dyn Interception> {
    all().iter().copied().find(|one| one.name() == name)
}
