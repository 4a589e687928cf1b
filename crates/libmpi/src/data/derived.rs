//! Layouts of datatypes that a program makes of others.
//!
//! Lower bound and extent are those of MPI 5.0, 5.1.6: lb is the least of the lower bounds of all values, ub the
//! greatest of their upper bounds, and the extent is ub − lb; of a structure it is rounded up to the next multiple of
//! the strictest alignment of the predefined values in it, as compilers do it.

use std::rc::Rc;

use super::datatype::Layout;
use super::type_map::Map;

/// `count` values of a datatype, one after the other, at a place \[bytes\].
#[derive(Debug, Clone)]
pub struct Run {
    /// Place of the first.
    pub at: isize,
    /// Number of them.
    pub count: usize,
}

/// Least lower and greatest upper bound of values.
#[derive(Default)]
struct Bounds(Option<(isize, isize)>);

impl Bounds {
    fn add(&mut self, of: &Layout, at: isize, count: usize, stride: isize) {
        if count == 0 {
            return;
        }
        let last = at + (count as isize - 1) * stride;
        let low = at.min(last) + of.lower;
        let high = at.max(last) + of.lower + of.extent;
        self.0 = Some(self.0.map_or((low, high), |(least, most)| (least.min(low), most.max(high))));
    }

    fn layout(self, map: Rc<Map>) -> Layout {
        let (lower, upper) = self.0.unwrap_or((0, 0));
        Layout::derived(map, lower, upper - lower)
    }
}

/// `count` values, at equal distances \[bytes\].
pub fn repeated(of: &Layout, count: usize, stride: isize) -> Layout {
    let mut bounds = Bounds::default();
    bounds.add(of, 0, count, stride);
    bounds.layout(Map::list(vec![of.part(0, count, stride)]))
}

/// `count` values, one after the other.
pub fn contiguous(of: &Layout, count: usize) -> Layout {
    repeated(of, count, of.extent)
}

/// `count` blocks of `length` values at equal distances \[bytes\].
pub fn vector(of: &Layout, count: usize, length: usize, stride: isize) -> Layout {
    repeated(&contiguous(of, length), if length == 0 { 0 } else { count }, stride)
}

/// Runs of values of one datatype.
pub fn indexed(of: &Layout, runs: impl Iterator<Item = Run>) -> Layout {
    let (map, mut bounds) = (of.map(), Bounds::default());
    let parts = runs.map(|run| {
        bounds.add(of, run.at, run.count, of.extent);
        super::type_map::Part { at: run.at, count: run.count, stride: of.extent, of: map.clone() }
    });
    let parts = parts.collect();
    bounds.layout(Map::list(parts))
}

/// A structure of runs, each of a datatype of its own.
pub fn structure<'a>(runs: impl Iterator<Item = (Run, &'a Layout)>) -> Layout {
    let (mut bounds, mut last): (Bounds, Option<(&Layout, Rc<Map>)>) = (Bounds::default(), None);
    let parts = runs.map(|(run, of)| {
        bounds.add(of, run.at, run.count, of.extent);
        // A million members of one datatype share one map.
        let map = match &last {
            Some((before, map)) if before.basic.is_some() && before.basic == of.basic => map.clone(),
            _ => of.map(),
        };
        last = Some((of, map.clone()));
        super::type_map::Part { at: run.at, count: run.count, stride: of.extent, of: map }
    });
    let parts = parts.collect();
    let plain = bounds.layout(Map::list(parts));
    let alignment = plain.map().alignment as isize;
    let rest = plain.extent.rem_euclid(alignment);
    let extent = if rest == 0 { plain.extent } else { plain.extent + alignment - rest };
    resized(&plain, plain.lower, extent)
}

/// The same with these bounds.
pub fn resized(of: &Layout, lower: isize, extent: isize) -> Layout {
    Layout::derived(of.map(), lower, extent)
}

/// The same, moved \[bytes\].
fn moved(of: &Layout, at: isize) -> Layout {
    let map = Map::list(vec![of.part(at, 1, 0)]);
    Layout::derived(map, of.lower, of.extent)
}

/// One dimension of an array, from the one whose neighbours lie closest.
#[derive(Debug, Clone, Copy)]
pub struct Dimension {
    /// Length of the whole.
    pub whole: usize,
    /// Share of it.
    pub share: Share,
}

/// Indices of a dimension.
#[derive(Debug, Clone, Copy)]
pub enum Share {
    /// Range of indices: (first, count).
    Range(usize, usize),
    /// Blocks of `length`, dealt to `of` members, of which this is number `member`.
    Cyclic {
        /// Length of a block.
        length: usize,
        /// Number of members.
        of: usize,
        /// Number of the member.
        member: usize,
    },
}

/// The part of an array that the shares of its dimensions meet in; its bounds are those of the whole array.
pub fn array(of: &Layout, dimensions: impl Iterator<Item = Dimension>) -> Layout {
    let (mut part, mut stride) = (of.clone(), of.extent);
    for Dimension { whole, share } in dimensions {
        part = match share {
            Share::Range(first, count) => moved(&repeated(&part, count, stride), first as isize * stride),
            Share::Cyclic { length, of, member } => {
                let round = length * of;
                let first = member * length;
                let left = whole.saturating_sub(first);
                let (full, rest) = (left / round, (left % round).min(length));
                let block = repeated(&part, length, stride);
                let step = round as isize * stride;
                let rest_at = (first + full * round) as isize * stride;
                let map = Map::list(vec![
                    block.part(first as isize * stride, full, step),
                    part.part(rest_at, rest, stride),
                ]);
                Layout::derived(map, 0, 0)
            }
        };
        stride *= whole as isize;
    }
    resized(&part, 0, stride)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::handle::Datatype;

    fn predefined(handle: usize) -> Layout {
        Layout::of_predefined(Datatype(handle)).unwrap()
    }

    /// MPI 5.0, example 5.1: {(double, 0), (char, 8)} has extent 16.
    #[test]
    fn a_structure_is_padded_to_its_strictest_member() {
        let (double, char) = (predefined(0x214), predefined(0x243));
        let made =
            structure([(Run { at: 0, count: 1 }, &double), (Run { at: 8, count: 1 }, &char)].into_iter());
        assert_eq!((made.size, made.lower, made.extent), (9, 0, 16));
        assert_eq!(made.true_bounds(), (0, 9));
        // A structure of that one is aligned as it is, though it holds characters at its end.
        let outer =
            structure([(Run { at: 0, count: 1 }, &made), (Run { at: 16, count: 1 }, &char)].into_iter());
        assert_eq!(outer.extent, 24);
    }

    #[test]
    fn what_is_packed_comes_out_at_its_place() {
        let narrow = resized(&vector(&predefined(0x209), 3, 1, 12), 0, 4);
        let matrix: [i32; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        // SAFETY: two columns of a matrix of three by three.
        let contents = unsafe { narrow.pack(matrix.as_ptr().cast(), 2) };
        let values: Vec<_> =
            contents.chunks(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())).collect();
        assert_eq!(values, [1, 4, 7, 2, 5, 8]);
        let mut back = [0_i32; 9];
        // SAFETY: as above.
        unsafe { narrow.unpack(&contents, back.as_mut_ptr().cast()) };
        assert_eq!(back, [1, 2, 0, 4, 5, 0, 7, 8, 0]);
    }
}
