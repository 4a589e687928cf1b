//! Address of `main`: a stripped program tells it to the C library alone.
//!
//! `_start` calls `__libc_start_main(main, …)`. It is run once, on a fiber, with that function hooked, and
//! goes no further than the hook:
//!
//! ```text
//!   hub                      fiber
//!   resume ────────────────► closure: rsp := block { argc 0, argv NULL, envp NULL, auxv NULL }
//!                            jmp _start ── call ──► hook(main, …)
//!   main  ◄─────────────────────────────────────── suspend(main)     (never resumed)
//! ```

use std::arch::asm;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::program_copy::ProgramCopy;
use super::template::Hook;
use crate::fiber::stacks::Part;

thread_local! {
    static WAY_BACK: Cell<*const Yielder<(), usize>> = const { Cell::new(ptr::null()) };
}

/// The hook that a template must have for [`main_of`].
pub fn hook() -> Hook {
    Hook::own("__libc_start_main", start_main as *const c_void)
}

/// Address of `main` of `program`, relative to its base. `entry`: that of `_start`.
pub fn main_of(program: &ProgramCopy, entry: usize, stack: Part) -> Option<usize> {
    let start = program.base() + entry;
    let mut fiber = Coroutine::<(), usize, (), Part>::with_stack(stack, move |hub, ()| {
        WAY_BACK.set(hub);
        // What the kernel puts on a new process's stack: no arguments, no environment, no auxiliary values.
        let block = Block([0; 8]);
        // SAFETY: `_start` expects this block at rsp, 0 in rdx (no function to run at the end), and never
        // returns. What lies below the block on this stack is not needed any more.
        unsafe {
            asm!(
                "mov rsp, {block}",
                "xor edx, edx",
                "xor ebp, ebp",
                "jmp {start}",
                block = in(reg) &raw const block,
                start = in(reg) start,
                options(noreturn)
            )
        }
    });
    let main = match fiber.resume(()) {
        CoroutineResult::Yield(main) => main.checked_sub(program.base()),
        CoroutineResult::Return(()) => None,
    };
    WAY_BACK.set(ptr::null());
    // SAFETY: the frames on it are those of `_start` and of the hook, which own nothing.
    unsafe { fiber.force_reset() };
    main
}

#[repr(align(16))]
struct Block(#[expect(dead_code, reason = "the program reads it, through rsp")] [usize; 8]);

extern "C" fn start_main(main: usize) -> ! {
    let hub = WAY_BACK.get();
    assert!(!hub.is_null(), "a program starts itself again: _start is called by nobody but the loader");
    // SAFETY: set by the fiber that runs, whose frame with the hub is below on its stack.
    unsafe { &*hub }.suspend(main);
    unreachable!("the fiber that finds main is never resumed")
}
