//! A regular recording of few ranks as one of many.
//!
//! A recording is *regular* on a grid of ranks if what a rank does depends only on where it stands: at which ends of
//! the grid, or between them. A rank's *place* in a dimension of s ranks is its distance from the nearer end if that
//! is below the reach k, the largest distance at which any rank talks to another along it; all others are alike. In a
//! dimension that is periodic all are alike. Ranks of one place must have made the same calls, with partners at the
//! same offsets: partner = rank + offset in coordinates, which is an affine function of the rank. Collectives are of
//! all ranks, from rank 0 if they have a root, with equal blocks.
//!
//! Each rank of the larger grid then does what a recorded rank of its place did, at the recorded times, with partners
//! at the recorded offsets. So the work of a rank stays what it was (weak scaling), and longer collectives and more
//! distant hosts take the time that the replay gives them. Recorded ranks of one place take turns, so that their
//! computing differs as it did.
//!
//! Valid for stencils, rings and collectives of all ranks; what else is found is refused, by rank and call. Not seen:
//! whether the program would divide its data otherwise, or compute longer, on more ranks.
//! Source: Wu and Mueller, "ScalaExtrap: trace-based communication extrapolation for SPMD programs" (2011), for
//! partners that are affine functions of the rank.

mod partners;

use std::sync::Arc;

use engine::hash::{Digest, Map};
use mpi::Rank;
use mpi::cartesian::dims_create;
use mpi::operation::CartGrid;
use partners::{Grids, Partner, Walk};

use super::SharedSet;
use super::error::TraceError;
use super::hct::rank::Event;
use super::hct::shape::Shape;
use super::set::{Clocks, Events};

/// A recording of few ranks that yields the calls of more.
pub struct Scaled {
    of: SharedSet,
    plan: Plan,
}

/// Recorded grid, larger grid, and reach of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plan {
    from: CartGrid,
    to: CartGrid,
    /// Largest distance of any message along each dimension.
    reach: Vec<u32>,
}

/// Reason why a recording is not regular on a grid.
type Reason = String;

impl Scaled {
    /// Scales `of` to a grid `to`: its sizes, or one number of ranks to be divided as MPI_Dims_create does. The
    /// recorded grid is `grid` if given, else the first one that MPI_Cart_create made of all ranks, else a row.
    pub fn new(of: SharedSet, grid: Option<Vec<u32>>, to: &[u32]) -> Result<Scaled, TraceError> {
        let error = |reason: Reason| TraceError::new(of.format(), format!("cannot be scaled: {reason}"));
        let mut why: Vec<Reason> = Vec::new();
        let grids = candidates(&of, grid).map_err(|failed| failed.or(error))?;
        let several = grids.len() > 1;
        for from in grids {
            let to = sizes(&from, to).map_err(error)?;
            let ends = if from.periodic.contains(&true) { "ends that meet" } else { "open ends" };
            match plan(&of, from, to) {
                Ok(plan) => return Ok(Scaled { of, plan }),
                Err(Failed::Trace(failed)) => return Err(failed),
                Err(Failed::Irregular(reason)) if several => why.push(format!("with {ends}, {reason}")),
                Err(Failed::Irregular(reason)) => why.push(reason),
            }
        }
        why.dedup();
        Err(error(why.join("; ")))
    }

    /// Sizes of the recorded grid and of the larger one.
    pub fn grids(&self) -> (&[u32], &[u32]) {
        (&self.plan.from.sizes, &self.plan.to.sizes)
    }

    /// Number of ranks of the larger grid.
    pub fn ranks(&self) -> u32 {
        self.plan.to.size().expect("the grid has been checked")
    }

    /// Recorded rank whose calls `rank` repeats.
    pub fn repeats(&self, rank: Rank) -> Rank {
        Rank(self.plan.repeats(rank.0))
    }

    /// Calls of a rank, on its own clock. Ends after an error.
    pub fn events(&self, rank: Rank) -> Result<Events, TraceError> {
        let Plan { from, to, .. } = self.plan.clone();
        let recorded = self.repeats(rank);
        let events = self.of.events_on_own_clock(recorded)?;
        let (old, new) = (place(&from, recorded.0), place(&to, rank.0));
        let mut partner =
            move |offset: &[i64]| to.rank(&sum(&new, offset)).expect("a rank of this place has it");
        let mut walk = Walk::new(from, old);
        let goal = self.plan.to.clone();
        let mut known: Map<Arc<Shape>, Arc<Shape>> = Map::default();
        Ok(Box::new(events.map(move |event| {
            let Event { shape, begin_ns, end_ns, between } = event?;
            if let Some(moved) = known.get(&shape) {
                return Ok(Event { shape: moved.clone(), begin_ns, end_ns, between });
            }
            let moved = walk.moved(&shape, &mut partner, &goal);
            let moved = moved.map_err(|reason| TraceError::new(shape.call.0, reason)).map(Arc::new)?;
            if !walk.depends_on_order(&shape) {
                known.insert(shape, moved.clone());
            }
            Ok(Event { shape: moved, begin_ns, end_ns, between })
        })))
    }
}

enum Failed {
    Trace(TraceError),
    Irregular(Reason),
}

impl Failed {
    fn or(self, error: impl Fn(Reason) -> TraceError) -> TraceError {
        match self {
            Failed::Trace(failed) => failed,
            Failed::Irregular(reason) => error(reason),
        }
    }
}

impl From<TraceError> for Failed {
    fn from(error: TraceError) -> Failed {
        Failed::Trace(error)
    }
}

impl From<Reason> for Failed {
    fn from(reason: Reason) -> Failed {
        Failed::Irregular(reason)
    }
}

/// Possible grids of the recorded ranks.
fn candidates(of: &SharedSet, grid: Option<Vec<u32>>) -> Result<Vec<CartGrid>, Failed> {
    let ranks = of.ranks();
    let both = |sizes: Vec<u32>| {
        [false, true]
            .map(|wraps| CartGrid { periodic: vec![wraps; sizes.len()], sizes: sizes.clone() })
            .to_vec()
    };
    let asked = grid.clone().unwrap_or_else(|| vec![ranks]);
    if asked.iter().try_fold(1_u32, |all, size| all.checked_mul(*size)) != Some(ranks) {
        return Err(format!("a grid of {} is not one of its {ranks} ranks", words(&asked)).into());
    }
    let mut grids = Grids::new(ranks);
    for event in of.events(Rank(0), Clocks::Aligned)? {
        let Some(made) = grids.made(&event?.shape) else { continue };
        match grid {
            None => return Ok(vec![made]),
            // The program's own grid tells which dimensions are periodic.
            Some(_) if made.sizes == asked => return Ok([vec![made], both(asked)].concat()),
            Some(_) => {}
        }
    }
    Ok(both(asked))
}

/// Larger grid, checked against the recorded one.
fn sizes(from: &CartGrid, to: &[u32]) -> Result<CartGrid, Reason> {
    let sizes = match to {
        [ranks] => dims_create(*ranks, &vec![0; from.sizes.len()])
            .ok_or_else(|| format!("{ranks} ranks have no grid of {} dimensions", from.sizes.len()))?,
        sizes => sizes.to_vec(),
    };
    if sizes.len() != from.sizes.len() {
        return Err(format!(
            "{} has {} dimensions, and {} has {}",
            words(&sizes),
            sizes.len(),
            words(&from.sizes),
            from.sizes.len()
        ));
    }
    let all = sizes.iter().try_fold(1_u32, |all, size| all.checked_mul(*size));
    if all.is_none_or(|all| all == 0 || all > i32::MAX as u32) {
        return Err(format!("a grid of {} has no rank, or more than 2,147,483,647", words(&sizes)));
    }
    Ok(CartGrid { sizes, periodic: from.periodic.clone() })
}

/// Formats sizes as `4 x 2`.
fn words(sizes: &[u32]) -> String {
    sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
}

fn place(grid: &CartGrid, rank: u32) -> Vec<i64> {
    grid.coordinates(rank).into_iter().map(i64::from).collect()
}

fn sum(place: &[i64], offset: &[i64]) -> Vec<i64> {
    place.iter().zip(offset).map(|(place, offset)| place + offset).collect()
}

/// Reads all ranks and makes the plan, or says where the recording is not regular.
fn plan(of: &SharedSet, from: CartGrid, to: CartGrid) -> Result<Plan, Failed> {
    let mut reach = vec![0; from.sizes.len()];
    let mut digests = Vec::new();
    let mut numbers: Map<Shape, u64> = Map::default();
    for rank in 0..of.ranks() {
        let mut digest = Digest::default();
        relative(of, &from, rank, &mut reach, &mut |shape| {
            let next = numbers.len() as u64;
            digest.fold(*numbers.entry(shape).or_insert(next));
            true
        })?;
        digests.push(digest.value());
    }
    let plan = Plan { from, to, reach };
    plan.check_sizes()?;
    let mut first: Map<Vec<u32>, u32> = Map::default();
    for rank in 0..of.ranks() {
        let alike = *first.entry(plan.class(rank)).or_insert(rank);
        if digests[alike as usize] != digests[rank as usize] {
            return Err(difference(of, &plan.from, alike, rank)?.into());
        }
    }
    Ok(plan)
}

/// Passes the calls of `rank`, with offsets in the place of partners, to `see` until that returns false, and tracks
/// the reach of the offsets.
fn relative(
    of: &SharedSet,
    grid: &CartGrid,
    rank: u32,
    reach: &mut [u32],
    see: &mut dyn FnMut(Shape) -> bool,
) -> Result<(), Failed> {
    let mut walk = Walk::new(grid.clone(), place(grid, rank));
    let mut partner = |offset: &[i64]| {
        for (reach, offset) in reach.iter_mut().zip(offset) {
            *reach = (*reach).max(offset.unsigned_abs() as u32);
        }
        // Any code that tells offsets apart will do: each offset is below the size of its dimension.
        offset.iter().zip(&grid.sizes).fold(0, |code: u32, (offset, size)| {
            code.wrapping_mul(2 * size).wrapping_add((offset + i64::from(*size)) as u32)
        })
    };
    for (number, event) in (1_u64..).zip(of.events(Rank(rank), Clocks::Aligned)?) {
        let shape = event?.shape;
        let moved = walk.moved(&shape, &mut partner as &mut Partner, grid);
        let moved =
            moved.map_err(|reason| format!("rank {rank}, call #{number} {}: {reason}", shape.call.0))?;
        if !see(moved) {
            break;
        }
    }
    Ok(())
}

/// First difference between the calls of two ranks of one place.
fn difference(of: &SharedSet, grid: &CartGrid, one: u32, other: u32) -> Result<Reason, Failed> {
    let mut shapes = Vec::new();
    let mut unused = vec![0; grid.sizes.len()];
    relative(of, grid, one, &mut unused, &mut |shape| {
        shapes.push(shape);
        true
    })?;
    let (mut at, mut differs) = (0, None);
    relative(of, grid, other, &mut unused, &mut |shape| {
        let same = shapes.get(at) == Some(&shape);
        if !same {
            differs = Some(shape.call.0);
        }
        at += 1;
        same
    })?;
    let call = match (differs, shapes.get(at.saturating_sub(usize::from(differs.is_some())))) {
        (Some(theirs), Some(ours)) if theirs == ours.call.0 => {
            format!("call #{at}, {theirs}, has another partner, tag or length")
        }
        (Some(theirs), Some(ours)) => format!("call #{at} is {theirs}, and not {}", ours.call.0),
        (Some(theirs), None) => format!("call #{at}, {theirs}, is one more"),
        (None, _) => format!("there is no call after #{at}"),
    };
    Ok(format!(
        "ranks {one} and {other} stand alike on a grid of {}, but differ: in rank {other}, {call}; --grid says how the \
         ranks stand",
        words(&grid.sizes)
    ))
}

impl Plan {
    /// Checks that the recording has ranks at all places of the larger grid.
    fn check_sizes(&self) -> Result<(), Reason> {
        for (at, (from, to)) in self.from.sizes.iter().zip(&self.to.sizes).enumerate() {
            let needed = 2 * self.reach[at] + 1;
            let small = *from.min(to);
            if from != to && small < needed {
                return Err(format!(
                    "dimension {at} has {from} ranks, and is to have {to}; partners at a distance of {} show what \
                     ranks do only where there are {needed} or more",
                    self.reach[at]
                ));
            }
        }
        Ok(())
    }

    /// Place of a recorded rank in each dimension.
    fn class(&self, rank: u32) -> Vec<u32> {
        let place = self.from.coordinates(rank);
        (0..place.len())
            .map(
                |at| if self.keeps(at) { place[at] } else { self.stands(at, place[at], self.from.sizes[at]) },
            )
            .collect()
    }

    /// True if a dimension keeps its size.
    fn keeps(&self, at: usize) -> bool {
        self.from.sizes[at] == self.to.sizes[at]
    }

    /// Place in a dimension of `size` ranks: the distance from the first, or `reach` and above.
    fn stands(&self, at: usize, coordinate: u32, size: u32) -> u32 {
        let (reach, from_end) = (self.reach[at], size - 1 - coordinate);
        match self.from.periodic[at] {
            true => 0,
            false if coordinate < reach => coordinate,
            false if from_end < reach => reach + 1 + from_end,
            false => reach,
        }
    }

    /// Recorded rank that a rank of the larger grid repeats; recorded ranks of one place take turns.
    fn repeats(&self, rank: u32) -> u32 {
        let coordinates = self.to.coordinates(rank).into_iter().enumerate().map(|(at, coordinate)| {
            let (from, to, reach) = (self.from.sizes[at], self.to.sizes[at], self.reach[at]);
            let of_end = to - 1 - coordinate;
            let recorded = match self.from.periodic[at] {
                _ if self.keeps(at) => coordinate,
                true => coordinate % from,
                false if coordinate < reach => coordinate,
                false if of_end < reach => from - 1 - of_end,
                false => reach + (coordinate - reach) % (from - 2 * reach),
            };
            i64::from(recorded)
        });
        self.from.rank(&coordinates.collect::<Vec<_>>()).expect("it is a place of the grid")
    }
}
