//! Copying of the bytes of values: in runs, as long as neighbours can be joined.
//!
//! A plan is made once, with the datatype. A vector is one line of numbers whatever its length; irregular blocks are a
//! list; what is deeper than that is walked through the type map. Nothing is allocated while bytes are copied.

use std::ptr;

/// Equal runs of bytes at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strided {
    /// Begin of the first, from the address of the value \[bytes\].
    pub at: isize,
    /// Number of them.
    pub count: usize,
    /// From one to the next \[bytes\].
    pub stride: isize,
    /// Length of each \[bytes\].
    pub bytes: usize,
}

/// Bytes that lie together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Begin, from the address of the value \[bytes\].
    pub at: isize,
    /// Length \[bytes\].
    pub bytes: usize,
}

/// Plan of copying one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Regular runs; a single one is a dense value.
    Strided(Strided),
    /// Irregular runs; all of the same length, if that is not 0.
    Blocks(Box<[Block]>, usize),
    /// Part by part of the type map.
    Nested,
}

/// A short list of runs is written out rather than walked.
const SHORT: usize = 64;

impl Plan {
    /// One run, at the address of the value.
    pub fn dense(bytes: usize) -> Plan {
        Plan::Strided(Strided { at: 0, count: 1, stride: 0, bytes })
    }

    /// Plan of `count` values with this plan, the first at `at`.
    pub fn repeated(&self, at: isize, count: usize, stride: isize) -> Plan {
        match self {
            Plan::Nested => Plan::Nested,
            Plan::Strided(runs) => match runs.repeated(at, count, stride) {
                Some(runs) => Plan::Strided(runs),
                None => self.written_out(at, count, stride),
            },
            Plan::Blocks(..) => self.written_out(at, count, stride),
        }
    }

    fn written_out(&self, at: isize, count: usize, stride: isize) -> Plan {
        if self.runs().saturating_mul(count) > SHORT {
            return Plan::Nested;
        }
        let mut blocks = Blocks::default();
        self.add_to(&mut blocks, at, count, stride);
        blocks.plan()
    }

    /// Plan of the plans of parts, each (at, count, stride, plan).
    pub fn listed<'a>(parts: impl Iterator<Item = (isize, usize, isize, &'a Plan)> + Clone) -> Plan {
        let (mut listed, mut runs) = (0_usize, 0_usize);
        for (_, count, stride, plan) in parts.clone() {
            if *plan == Plan::Nested {
                return Plan::Nested;
            }
            listed += 1;
            runs = runs.saturating_add(match plan {
                Plan::Strided(one) => {
                    one.repeated(0, count, stride).map_or(one.count * count, |one| one.count)
                }
                _ => plan.runs().saturating_mul(count),
            });
        }
        if runs > SHORT.max(4 * listed) {
            return Plan::Nested;
        }
        let mut blocks = Blocks::default();
        for (at, count, stride, plan) in parts {
            plan.add_to(&mut blocks, at, count, stride);
        }
        blocks.plan()
    }

    fn runs(&self) -> usize {
        match self {
            Plan::Strided(runs) => runs.count,
            Plan::Blocks(blocks, _) => blocks.len(),
            Plan::Nested => usize::MAX,
        }
    }

    fn add_to(&self, blocks: &mut Blocks, at: isize, count: usize, stride: isize) {
        let joined = match self {
            Plan::Strided(runs) => runs.repeated(at, count, stride),
            _ => None,
        };
        if let Some(runs) = joined {
            return runs.walk(0, blocks);
        }
        for index in 0..count as isize {
            match self {
                Plan::Strided(runs) => runs.walk(at + index * stride, blocks),
                Plan::Blocks(list, equal) => walk_blocks(list, *equal, at + index * stride, blocks),
                Plan::Nested => unreachable!("a nested plan is walked through the type map"),
            }
        }
    }
}

impl Strided {
    /// `count` of these, the first moved by `at`, if that is regular again.
    #[inline]
    pub fn repeated(self, at: isize, count: usize, stride: isize) -> Option<Strided> {
        let at = self.at + at;
        if count == 1 {
            Some(Strided { at, ..self })
        } else if self.count == 1 && stride == self.bytes as isize {
            Some(Strided { at, bytes: self.bytes * count, ..self })
        } else if self.count == 1 {
            Some(Strided { at, count, stride, bytes: self.bytes })
        } else if stride == self.stride.wrapping_mul(self.count as isize) {
            Some(Strided { at, count: self.count * count, ..self })
        } else {
            None
        }
    }

    /// Tells `mover` of every run, from `base`.
    #[inline]
    pub fn walk<M: Mover>(self, base: isize, mover: &mut M) {
        let first = base + self.at;
        // Copies of a known length are one instruction or two.
        match self.bytes {
            _ if self.count == 1 => mover.run(first, self.bytes),
            4 => (0..self.count as isize).for_each(|index| mover.run(first + index * self.stride, 4)),
            8 => (0..self.count as isize).for_each(|index| mover.run(first + index * self.stride, 8)),
            16 => (0..self.count as isize).for_each(|index| mover.run(first + index * self.stride, 16)),
            bytes => (0..self.count as isize).for_each(|index| mover.run(first + index * self.stride, bytes)),
        }
    }
}

/// Tells `mover` of every block, from `base`.
#[inline]
pub fn walk_blocks<M: Mover>(blocks: &[Block], equal: usize, base: isize, mover: &mut M) {
    match equal {
        4 => blocks.iter().for_each(|block| mover.run(base + block.at, 4)),
        8 => blocks.iter().for_each(|block| mover.run(base + block.at, 8)),
        16 => blocks.iter().for_each(|block| mover.run(base + block.at, 16)),
        _ => blocks.iter().for_each(|block| mover.run(base + block.at, block.bytes)),
    }
}

/// Receiver of every run, in the order of the type map.
pub trait Mover {
    /// `bytes` bytes at `at`, from the address of the buffer.
    fn run(&mut self, at: isize, bytes: usize);
}

/// Runs that are collected, neighbours joined.
#[derive(Default)]
struct Blocks(Vec<Block>);

impl Mover for Blocks {
    fn run(&mut self, at: isize, bytes: usize) {
        match self.0.last_mut() {
            _ if bytes == 0 => {}
            Some(last) if last.at + last.bytes as isize == at => last.bytes += bytes,
            _ => self.0.push(Block { at, bytes }),
        }
    }
}

impl Blocks {
    fn plan(self) -> Plan {
        let blocks = self.0;
        let Some(first) = blocks.first().copied() else { return Plan::dense(0) };
        let equal = blocks.iter().all(|block| block.bytes == first.bytes);
        let stride = blocks.get(1).map_or(0, |second| second.at - first.at);
        if equal && blocks.windows(2).all(|pair| pair[1].at - pair[0].at == stride) {
            return Plan::Strided(Strided { at: first.at, count: blocks.len(), stride, bytes: first.bytes });
        }
        Plan::Blocks(blocks.into(), if equal { first.bytes } else { 0 })
    }
}

/// Takes contents out of a buffer.
pub struct Packer {
    /// The buffer.
    pub from: *const u8,
    /// Place of the next byte.
    pub into: *mut u8,
}

impl Mover for Packer {
    #[inline(always)]
    fn run(&mut self, at: isize, bytes: usize) {
        // SAFETY: whoever makes one says that the runs are readable, and that there is room for them.
        unsafe { ptr::copy_nonoverlapping(self.from.wrapping_offset(at), self.into, bytes) };
        self.into = self.into.wrapping_add(bytes);
    }
}

/// Puts contents into a buffer.
pub struct Unpacker {
    /// The next byte.
    pub from: *const u8,
    /// The buffer.
    pub into: *mut u8,
}

impl Mover for Unpacker {
    #[inline(always)]
    fn run(&mut self, at: isize, bytes: usize) {
        // SAFETY: whoever makes one says that the runs are writable, and that there are as many bytes. Contents
        // may lie where they go.
        unsafe { ptr::copy(self.from, self.into.wrapping_offset(at), bytes) };
        self.from = self.from.wrapping_add(bytes);
    }
}

/// Puts contents that end within a value into a buffer.
pub struct Remainder<'a> {
    /// Rest of the contents.
    pub contents: &'a [u8],
    /// The buffer.
    pub into: *mut u8,
}

impl Mover for Remainder<'_> {
    fn run(&mut self, at: isize, bytes: usize) {
        let (now, rest) = self.contents.split_at(bytes.min(self.contents.len()));
        // SAFETY: as for `Unpacker`.
        unsafe { ptr::copy(now.as_ptr(), self.into.wrapping_offset(at), now.len()) };
        self.contents = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_joined_and_regular_runs_are_one_line() {
        let eight = Plan::dense(8);
        assert_eq!(eight.repeated(0, 1_000_000_000, 8), Plan::dense(8_000_000_000));
        let column = eight.repeated(0, 1000, 8000);
        assert_eq!(column, Plan::Strided(Strided { at: 0, count: 1000, stride: 8000, bytes: 8 }));
        let row = eight.repeated(0, 3, 8);
        let listed = Plan::listed([(0, 1, 0, &row), (24, 1, 0, &eight), (64, 1, 0, &eight)].into_iter());
        assert_eq!(listed, Plan::Blocks([Block { at: 0, bytes: 32 }, Block { at: 64, bytes: 8 }].into(), 0));
    }

    #[test]
    fn many_runs_are_not_written_out() {
        let gaps = Plan::listed([(0, 1, 0, &Plan::dense(1)), (2, 1, 0, &Plan::dense(3))].into_iter());
        assert_eq!(gaps.repeated(0, 1_000_000, 16), Plan::Nested);
        assert!(matches!(gaps.repeated(0, 3, 16), Plan::Blocks(blocks, 0) if blocks.len() == 6));
    }
}
