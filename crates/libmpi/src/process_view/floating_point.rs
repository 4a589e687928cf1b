//! Floating-point control of the processor: rounding, which errors are signals, and which have happened (fenv(3)).
//!
//! A program may change it (`feenableexcept`, Fortran's `-ffpe-trap`) for itself, not for the simulator; and what has happened
//! to others is not for it to see: at its end, Fortran tells of it.

use std::arch::asm;

/// The control words of the vector unit, which has the errors that have happened in it, too, and of the old unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    vector: u32,
    old: u16,
}

/// The flags of errors that have happened, which are no setting.
const FLAGS: u32 = 0x3f;

impl Control {
    /// The same, before any error.
    pub fn without_errors(self) -> Control {
        Control { vector: self.vector & !FLAGS, ..self }
    }

    /// True if it computes as the other does, whatever has happened.
    #[inline]
    pub fn computes_as(self, other: Control) -> bool {
        (self.vector ^ other.vector) & !FLAGS == 0 && self.old == other.old
    }

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
        Control { vector, old }
    }

    /// Makes it so.
    #[inline]
    pub fn set(self) {
        // SAFETY: loads the words that were stored; the vector unit's errors are signals only where they happen.
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
