//! The command line and the environment of a program.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

/// A command line and an environment as `main` gets them.
pub struct Arguments {
    _texts: Vec<CString>,
    argc: c_int,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
}

impl Arguments {
    /// Makes the arguments of these words and variables ("NAME=value").
    pub fn new(words: &[Vec<u8>], variables: impl Iterator<Item = Vec<u8>>) -> Arguments {
        let terminated = |mut text: Vec<u8>| {
            text.retain(|byte| *byte != 0);
            CString::new(text).expect("zeros are taken out")
        };
        let mut texts: Vec<_> = words.iter().cloned().map(terminated).collect();
        let argc = texts.len();
        texts.extend(variables.map(terminated));
        let pointers = |texts: &[CString]| {
            texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect::<Vec<_>>()
        };
        let (argv, envp) = (pointers(&texts[..argc]), pointers(&texts[argc..]));
        Arguments { _texts: texts, argc: argc as c_int, argv, envp }
    }

    /// The words of the command line.
    pub fn words(&self) -> Vec<&[u8]> {
        let words = self.argv[..self.argc as usize].iter();
        // SAFETY: texts of this value.
        words.map(|word| unsafe { CStr::from_ptr(*word) }.to_bytes()).collect()
    }

    /// A command line of a rank's own, which it may write to and rearrange: `argc`, `argv`. It is never freed.
    pub fn own(&self) -> (c_int, *const *const c_char) {
        let words = self.argv[..self.argc as usize].iter();
        // SAFETY: texts of this value.
        let words = words.map(|word| unsafe { CStr::from_ptr(*word) }.to_owned().into_raw().cast_const());
        let words: Vec<_> = words.chain([ptr::null()]).collect();
        (self.argc, Box::leak(words.into_boxed_slice()).as_ptr())
    }

    /// The list of variables.
    pub fn environment(&self) -> *const *const c_char {
        self.envp.as_ptr()
    }
}
