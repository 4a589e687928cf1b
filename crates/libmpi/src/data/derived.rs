//! Datatypes that a program makes of others.
//!
//! A layout is the list of its blocks of bytes in the order of its type map, neighbours joined. Lower bound and
//! extent are those of MPI 5.0, 5.1.6: lb is the least displacement, ub the greatest end, and the extent
//! is ub − lb, up to the next multiple of the strictest alignment in structures of C.
//!
//! Assumption: of the datatypes that a structure is made of, none but predefined ones has an alignment (what compilers
//! do with nested structures is the same, unless the outer one ends earlier than its own alignment says).

use std::rc::Rc;

use super::datatype::{Block, Element, Layout};

/// `count` values of a datatype at a place \[bytes\].
#[derive(Debug, Clone)]
pub struct Run {
    /// Where the first is.
    pub at: isize,
    /// How many, one after the other.
    pub count: usize,
    /// Of what.
    pub of: Layout,
}

/// The layout of these runs, in their order.
pub fn layout(runs: &[Run]) -> Layout {
    let mut blocks = Vec::new();
    let mut bounds: Option<(isize, isize)> = None;
    let mut size = 0;
    for run in runs.iter().filter(|run| run.count > 0) {
        size += run.count * run.of.size;
        let last = run.at + (run.count as isize - 1) * run.of.extent;
        let low = run.at.min(last) + run.of.lower;
        let high = run.at.max(last) + run.of.lower + run.of.extent;
        bounds = Some(bounds.map_or((low, high), |(least, most)| (least.min(low), most.max(high))));
        for index in 0..run.count as isize {
            let at = run.at + index * run.of.extent;
            match &run.of.blocks {
                Some(inner) => inner.iter().for_each(|block| push(&mut blocks, at + block.at, block.bytes)),
                None => push(&mut blocks, at, run.of.packed()),
            }
        }
    }
    let (lower, upper) = bounds.unwrap_or((0, 0));
    Layout { size, lower, extent: upper - lower, element: Element::Plain, blocks: Some(Rc::from(blocks)) }
}

/// The same with these bounds.
pub fn resized(of: &Layout, lower: isize, extent: isize) -> Layout {
    let dense = [Block { at: 0, bytes: of.packed() }];
    let blocks = of.blocks.clone().unwrap_or_else(|| Rc::from(dense));
    Layout { size: of.size, lower, extent, element: Element::Plain, blocks: Some(blocks) }
}

/// Of a structure: its extent is a multiple of the strictest alignment.
pub fn structure(runs: &[Run]) -> Layout {
    let aligned = runs.iter().filter(|run| run.count > 0 && run.of.blocks.is_none());
    let align = aligned.map(|run| alignment(&run.of)).max().unwrap_or(1);
    let plain = layout(runs);
    let extent = (plain.extent as usize).next_multiple_of(align) as isize;
    Layout { extent, ..plain }
}

/// Of a predefined datatype on x86-64 \[bytes\].
fn alignment(of: &Layout) -> usize {
    match of.element {
        Element::Complex(part) => part.into(),
        Element::Pair(_) if of.extent == 32 => 16,
        Element::Pair(_) if of.extent == 16 => 8,
        Element::Pair(_) => 4,
        _ => of.size.max(1),
    }
}

fn push(blocks: &mut Vec<Block>, at: isize, bytes: usize) {
    match blocks.last_mut() {
        _ if bytes == 0 => {}
        Some(last) if last.at + last.bytes as isize == at => last.bytes += bytes,
        _ => blocks.push(Block { at, bytes }),
    }
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
        let runs =
            [Run { at: 0, count: 1, of: predefined(0x214) }, Run { at: 8, count: 1, of: predefined(0x243) }];
        let made = structure(&runs);
        assert_eq!((made.size, made.lower, made.extent), (9, 0, 16));
        assert_eq!(made.blocks.as_deref(), Some(&[Block { at: 0, bytes: 9 }][..]));
    }

    #[test]
    fn what_is_packed_comes_out_at_its_place() {
        let column = layout(&[0, 12, 24].map(|at| Run { at, count: 1, of: predefined(0x209) }));
        let narrow = resized(&column, 0, 4);
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
