//! Sizes of datatypes (MPI_Type_size) while a trace is read.
//!
//! The end of the file lists the size of every datatype that the tracer met, but numbers are reused after
//! MPI_Type_free, and the list holds the last use. Therefore the calls that make datatypes are followed, and the list
//! serves for the rest: built-in types, those made in Fortran, and distributed arrays (MPI_Type_create_darray), whose
//! size depends on how the library splits them.

use std::sync::Arc;

use engine::hash::Map;

use super::record::Record;

/// The datatypes of one rank.
#[derive(Clone)]
pub struct Datatypes {
    table: Arc<[i32]>,
    made: Map<i64, u64>,
}

impl Datatypes {
    /// Begins with the table at the end of the file \[bytes, by number\].
    pub fn new(table: &[i32]) -> Datatypes {
        Datatypes { table: table.into(), made: Map::default() }
    }

    /// Size of one element \[bytes\]; `None` for an unknown datatype.
    pub fn size(&self, datatype: i64) -> Option<u64> {
        let listed =
            || self.table.get(usize::try_from(datatype).ok()?).and_then(|&size| u64::try_from(size).ok());
        self.made.get(&datatype).copied().or_else(listed)
    }

    /// Follows a call that makes or queries a datatype; ignores others.
    pub fn observe(&mut self, record: &Record) {
        let name = record.call().name;
        let Some(name) = name.strip_prefix("MPI_Type_") else { return };
        let number = |argument| record.number(argument).and_then(|n| u64::try_from(n).ok());
        let sum = |argument| {
            let lengths = record.ints(argument);
            lengths.iter().map(|&n| u64::try_from(n).ok()).try_fold(0, |sum: u64, n| sum.checked_add(n?))
        };
        let elements = match name {
            "contiguous" => number("count"),
            "vector" | "hvector" | "create_hvector" => product([number("count"), number("blocklength")]),
            "indexed" | "hindexed" => sum("lengths"),
            "create_hindexed" => sum("blocklengths"),
            "create_indexed_block" => product([number("count"), number("blocklength")]),
            "create_subarray" => product(record.ints("subsizes").iter().map(|&n| u64::try_from(n).ok())),
            "create_resized" | "dup" => Some(1),
            "struct" => return self.set(record, self.structure(record, "lengths")),
            "create_struct" => return self.set(record, self.structure(record, "blocklengths")),
            "create_darray" => return self.set(record, None),
            "size" | "match_size" => {
                if let (Some(datatype), Some(size)) = (record.number("datatype"), number("size")) {
                    self.made.insert(datatype, size);
                }
                return;
            }
            _ => return,
        };
        let old = record.number("oldtype").and_then(|old| self.size(old));
        self.set(record, product([elements, old]));
    }

    fn structure(&self, record: &Record, lengths: &str) -> Option<u64> {
        record.ints(lengths).iter().zip(record.ints("oldtypes")).try_fold(0, |sum: u64, (&length, &old)| {
            let size = u64::try_from(length).ok()?.checked_mul(self.size(i64::from(old))?)?;
            sum.checked_add(size)
        })
    }

    fn set(&mut self, record: &Record, size: Option<u64>) {
        let Some(datatype) = record.number("newtype") else { return };
        match size {
            Some(size) => self.made.insert(datatype, size),
            None => self.made.remove(&datatype),
        };
    }
}

fn product(factors: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    factors.into_iter().try_fold(1, |product: u64, factor| product.checked_mul(factor?))
}
