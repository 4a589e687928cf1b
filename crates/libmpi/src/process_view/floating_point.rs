//! How the processor computes: rounding, and which errors are signals (fenv(3)).
//!
//! A program may change it (`feenableexcept`, Fortran's `-ffpe-trap`) for itself, not for the simulator.

use std::arch::asm;

/// The control words of the vector and of the old floating-point unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    vector: u32,
    old: u16,
}

/// The flags of errors that have happened, which are no setting.
const FLAGS: u32 = 0x3f;

impl Control {
    /// As it is now.
    #[inline]
    pub fn now() -> Control {
        let (mut vector, mut old) = (0_u32, 0_u16);
        // SAFETY: each stores one control word at its place.
        unsafe {
            asm!(
                "stmxcsr [{vector}]",
                "fnstcw [{old}]",
                vector = in(reg) &raw mut vector,
                old = in(reg) &raw mut old,
                options(nostack, preserves_flags)
            );
        }
        Control { vector: vector & !FLAGS, old }
    }

    /// Makes it so.
    #[cold]
    pub fn set(self) {
        // SAFETY: loads the words that were stored; no flag that would be a signal at once is among them.
        unsafe {
            asm!(
                "ldmxcsr [{vector}]",
                "fldcw [{old}]",
                vector = in(reg) &raw const self.vector,
                old = in(reg) &raw const self.old,
                options(nostack, preserves_flags, readonly)
            );
        }
    }
}
