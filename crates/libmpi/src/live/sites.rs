//! Places in a program from which MPI is called, by number and by name.

use std::ops::Range;

use engine::hash::Map;

use crate::loader::callers;
use crate::loader::symbols;

/// Addresses of all copies of the program, and the distance between two of them \[bytes\]; none if it is not compiled.
pub type Copies = Option<(Range<usize>, usize)>;

/// Place at which a program calls MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// An unknown place: the program is not compiled.
    Unknown,
    /// A place in a copy of the program: the offset from its beginning, and the address in some copy.
    Program(usize, usize),
    /// This address, in a library that all ranks share.
    Shared(usize),
}

impl Place {
    /// The place of the last call.
    #[inline]
    pub fn of_last_call(copies: &Copies) -> Place {
        Place::of(callers::return_address(), copies)
    }

    /// The place of a call that returns to `address`.
    #[inline]
    pub fn of(address: usize, copies: &Copies) -> Place {
        match copies {
            _ if address == 0 => Place::Unknown,
            Some((all, each)) if all.contains(&address) => {
                Place::Program((address - all.start) % each, address)
            }
            _ => Place::Shared(address),
        }
    }

    /// A number of the place that is the same in all copies.
    fn word(self) -> usize {
        match self {
            Place::Unknown => 0,
            Place::Program(offset, _) => offset,
            Place::Shared(address) => address,
        }
    }
}

/// Places, each with the function that is called there; number 0 is the beginning of the program.
#[derive(Debug, Default)]
pub struct Sites {
    all: Vec<(Place, &'static str)>,
    numbers: Map<(usize, usize), u32>,
}

impl Sites {
    /// The number of a place.
    #[inline]
    pub fn number(&mut self, place: Place, function: &'static str) -> u32 {
        let all = &mut self.all;
        *self.numbers.entry((place.word(), function.as_ptr() as usize)).or_insert_with(|| {
            all.push((place, function));
            all.len() as u32
        })
    }

    /// Its name, the same in all runs of one build of the program: "MPI_Send+0x1a2c".
    pub fn name(&self, number: u32) -> String {
        let Some((place, function)) = self.of(number) else { return "start".to_string() };
        match place {
            Place::Unknown => function.to_string(),
            Place::Program(offset, _) => format!("{function}+{offset:#x}"),
            Place::Shared(address) => match symbols::library_offset(address) {
                Some((library, offset)) => format!("{function}+{offset:#x} of {library}"),
                None => function.to_string(),
            },
        }
    }

    /// The place for a reader: "MPI_Send at stencil.c:40 in step".
    pub fn words(&self, number: u32) -> String {
        let Some((place, function)) = self.of(number) else { return "the start".to_string() };
        let words = match place {
            Place::Unknown => None,
            // The call comes before the instruction to which it returns.
            Place::Program(_, address) => symbols::place_of(address - 1).map(symbols::Place::words),
            Place::Shared(address) => symbols::library_function(address - 1),
        };
        words.map_or_else(|| function.to_string(), |words| format!("{function} at {words}"))
    }

    fn of(&self, number: u32) -> Option<(Place, &'static str)> {
        self.all.get((number as usize).checked_sub(1)?).copied()
    }
}
