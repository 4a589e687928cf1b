//! Random datatypes against a plain type map, which lists every value with its place.

use std::ffi::c_void;

use mpi_abi::abi::handle::Datatype;
use mpi_abi::data::datatype::Layout;
use mpi_abi::data::derived::{self, Dimension, Run, Share};

/// A stream of numbers that is the same in every run (xorshift64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

/// A datatype and, beside it, all that it stands for.
#[derive(Clone)]
struct Known {
    layout: Layout,
    /// Place and length of each value.
    map: Vec<(isize, usize)>,
    lower: isize,
    upper: isize,
    alignment: isize,
}

impl Known {
    fn extent(&self) -> isize {
        self.upper - self.lower
    }
}

/// Copies of datatypes at places, with the bounds of all.
fn union(copies: &[(isize, &Known)]) -> Known {
    let map =
        copies.iter().flat_map(|(at, of)| of.map.iter().map(move |(place, bytes)| (at + place, *bytes)));
    Known {
        layout: copies.first().map_or_else(|| basic(0x247).layout, |copy| copy.1.layout.clone()),
        map: map.collect(),
        lower: copies.iter().map(|(at, of)| at + of.lower).min().unwrap_or(0),
        upper: copies.iter().map(|(at, of)| at + of.upper).max().unwrap_or(0),
        alignment: copies
            .iter()
            .map(|copy| if copy.1.map.is_empty() { 1 } else { copy.1.alignment })
            .max()
            .unwrap_or(1),
    }
}

fn basic(handle: usize) -> Known {
    let layout = Layout::of_predefined(Datatype(handle)).unwrap();
    let (map, alignment) = match handle {
        0x229 => (vec![(0, 8), (8, 4)], 8),
        0x22c => (vec![(0, 2), (4, 4)], 4),
        _ => (vec![(0, layout.size)], layout.size as isize),
    };
    let upper = layout.extent;
    Known { layout, map, lower: 0, upper, alignment }
}

const BASICS: [usize; 6] = [0x247, 0x208, 0x209, 0x214, 0x229, 0x22c];

/// A datatype made of others `depth` times.
fn random(dice: &mut Dice, depth: usize) -> Known {
    if depth == 0 {
        return basic(BASICS[dice.roll(BASICS.len())]);
    }
    let of = random(dice, depth - 1);
    let extent = of.extent();
    let (count, length) = (dice.roll(4), dice.roll(4));
    match dice.roll(6) {
        0 => {
            let places: Vec<_> = (0..count as isize).map(|index| (index * extent, &of)).collect();
            Known { layout: derived::contiguous(&of.layout, count), ..union(&places) }
        }
        1 => {
            let stride = dice.roll(80) as isize - 20;
            let blocks = (0..count as isize).map(|block| block * stride);
            let places: Vec<_> =
                blocks.flat_map(|at| (0..length as isize).map(move |index| at + index * extent)).collect();
            let places: Vec<_> = places.into_iter().map(|at| (at, &of)).collect();
            Known { layout: derived::vector(&of.layout, count, length, stride), ..union(&places) }
        }
        2 => {
            let runs: Vec<_> = (0..dice.roll(9))
                .map(|_| Run { at: dice.roll(90) as isize - 30, count: dice.roll(4) })
                .collect();
            let places: Vec<_> = runs
                .iter()
                .flat_map(|run| (0..run.count as isize).map(|index| (run.at + index * extent, &of)))
                .collect();
            Known { layout: derived::indexed(&of.layout, runs.iter().cloned()), ..union(&places) }
        }
        3 => structure(dice, of, depth),
        4 => {
            let (lower, extent) = (dice.roll(20) as isize - 10, dice.roll(60) as isize);
            let layout = derived::resized(&of.layout, lower, extent);
            Known { layout, lower, upper: lower + extent, ..of }
        }
        _ => array(dice, &of),
    }
}

fn structure(dice: &mut Dice, of: Known, depth: usize) -> Known {
    let mut members = vec![of];
    members.extend((0..dice.roll(3)).map(|_| random(dice, depth - 1)));
    let runs: Vec<_> =
        members.iter().map(|_| Run { at: dice.roll(120) as isize - 30, count: dice.roll(4) }).collect();
    let places: Vec<_> = runs
        .iter()
        .zip(&members)
        .flat_map(|(run, of)| (0..run.count as isize).map(move |index| (run.at + index * of.extent(), of)))
        .collect();
    let mut all = union(&places);
    all.layout = derived::structure(runs.iter().cloned().zip(members.iter().map(|of| &of.layout)));
    all.upper += (-all.extent()).rem_euclid(all.alignment);
    all
}

/// Shares of an array of two dimensions, the first of which lies closest.
fn array(dice: &mut Dice, of: &Known) -> Known {
    let dimensions = [0; 2].map(|_| {
        let whole = dice.roll(5) + 1;
        let share = if dice.roll(2) == 0 {
            let first = dice.roll(whole);
            Share::Range(first, dice.roll(whole - first) + 1)
        } else {
            let members = dice.roll(3) + 1;
            Share::Cyclic { length: dice.roll(3) + 1, of: members, member: dice.roll(members) }
        };
        Dimension { whole, share }
    });
    let held = |dimension: &Dimension| -> Vec<usize> {
        let all = 0..dimension.whole;
        match dimension.share {
            Share::Range(first, count) => {
                all.filter(|index| (first..first + count).contains(index)).collect()
            }
            Share::Cyclic { length, of, member } => {
                all.filter(|index| index / length % of == member).collect()
            }
        }
    };
    let mut places = Vec::new();
    for row in held(&dimensions[1]) {
        for column in held(&dimensions[0]) {
            places.push(((row * dimensions[0].whole + column) as isize * of.extent(), of));
        }
    }
    let upper = (dimensions[0].whole * dimensions[1].whole) as isize * of.extent();
    let layout = derived::array(&of.layout, dimensions.into_iter());
    Known { layout, lower: 0, upper, ..union(&places) }
}

const ROOM: isize = 1 << 16;

#[test]
fn every_datatype_packs_what_its_type_map_lists() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let memory: Vec<u8> = (0..2 * ROOM).map(|_| dice.roll(256) as u8).collect();
    let (mut checked, mut nested) = (0, 0);
    while checked < 3000 {
        let depth = dice.roll(5);
        let known = random(&mut dice, depth);
        let count = dice.roll(4) as isize;
        let reach =
            known.map.iter().map(|(at, _)| at.abs() + 64).max().unwrap_or(0) + 4 * known.extent().abs();
        if reach > ROOM || known.map.len() > 20_000 {
            continue;
        }
        checked += 1;
        nested += usize::from(depth > 2);
        let layout = &known.layout;
        let bytes = known.map.iter().map(|place| place.1).sum::<usize>();
        assert_eq!((layout.size, layout.lower, layout.extent), (bytes, known.lower, known.extent()));
        if let Some(low) = known.map.iter().map(|place| place.0).min() {
            let high = known.map.iter().map(|place| place.0 + place.1 as isize).max().unwrap();
            assert_eq!(layout.true_bounds(), (low, high));
        }
        let mut all = Vec::new();
        for index in 0..count {
            all.extend(known.map.iter().map(|(at, bytes)| (index * known.extent() + at + ROOM, *bytes)));
        }
        let mut expected = Vec::new();
        for (at, bytes) in &all {
            expected.extend_from_slice(&memory[*at as usize..][..*bytes]);
        }
        let from = memory[ROOM as usize..].as_ptr().cast::<c_void>();
        // SAFETY: all places are within the memory.
        let contents = unsafe { layout.pack(from, count as i64) };
        assert!(*contents == *expected, "depth {depth}, count {count}");
        // A message may end anywhere.
        let end = dice.roll(contents.len() + 1);
        let (mut into, mut wanted) = (vec![0_u8; 2 * ROOM as usize], vec![0_u8; 2 * ROOM as usize]);
        let mut left = &contents[..end];
        for (at, bytes) in &all {
            let (now, rest) = left.split_at(left.len().min(*bytes));
            wanted[*at as usize..][..now.len()].copy_from_slice(now);
            left = rest;
        }
        // SAFETY: as above.
        unsafe { layout.unpack(&contents[..end], into[ROOM as usize..].as_mut_ptr().cast()) };
        assert!(into == wanted, "depth {depth}, {end} bytes of {}", contents.len());
        elements(&known, end, bytes);
    }
    assert!(nested > 500, "{nested} deep ones");
}

/// Number of values in a message of `end` bytes, counted one by one.
fn elements(known: &Known, end: usize, each: usize) {
    if each == 0 {
        return;
    }
    let (mut left, mut counted) = (end % each, end / each * known.map.len());
    for (_, bytes) in &known.map {
        if left < *bytes {
            break;
        }
        left -= bytes;
        counted += 1;
    }
    let whole = left == 0;
    assert_eq!(known.layout.elements_in(end as u64), whole.then_some(counted as u64));
    if whole {
        assert_eq!(known.layout.bytes_of(counted as u64), end as u64);
    }
}
