//! Stream of the calls in a rank's file.

use std::sync::Arc;

use engine::hash::Digest;

use super::block::Times;
use super::fold::{Folded, Walk};
use super::gaps::{self, Gap};
use super::rank::{Blocks, End, Head, Next};
use super::shape::Shape;
use super::times::Span;
use crate::trace::error::TraceError;

/// The calls of one rank, in order.
#[derive(Clone)]
pub struct Calls {
    blocks: Blocks,
    shapes: Vec<Arc<Shape>>,
    current: Option<Current>,
    /// Time at which the call before returned \[ns\].
    now_ns: u64,
    /// Gap before the call that was read last.
    between: Gap,
    /// Rank of the draws of tallied times.
    rank: u32,
    end: Option<End>,
}

#[derive(Clone)]
struct Current {
    sequence: Arc<Folded<()>>,
    walk: Walk,
    times: Times,
    at: usize,
    /// Calls that have been unfolded, in reverse order. A rank's turns are far apart, and by then the data to unfold
    /// has left the caches, so several calls are unfolded at a time.
    ahead: Vec<(u32, Span)>,
    /// Gaps before these calls; empty if the block knows nothing about gaps.
    ahead_between: Vec<Gap>,
    known: bool,
}

/// Number of calls that are unfolded at a time.
const AHEAD: usize = 32;

impl Current {
    fn new(sequence: Folded<()>, times: Times) -> Current {
        let walk = Walk::new(&sequence);
        let (ahead, known) = (Vec::with_capacity(AHEAD), times.know_between());
        Current { sequence: Arc::new(sequence), walk, times, at: 0, ahead, ahead_between: Vec::new(), known }
    }

    /// Shape and times of the next call; stores the gap before it, if the block knows gaps, in `between`.
    #[inline]
    fn next(&mut self, rank: u32, between: &mut Gap) -> Option<(u32, Span)> {
        if self.ahead.is_empty() {
            self.unfold(rank);
        }
        if let Some(known) = self.ahead_between.pop() {
            *between = known;
        }
        self.ahead.pop()
    }

    fn unfold(&mut self, rank: u32) {
        while self.ahead.len() < AHEAD
            && let Some((shape, place)) = self.walk.next(&self.sequence)
        {
            let span = match &mut self.times {
                Times::Exact(spans, columns) => {
                    if self.known {
                        self.ahead_between.push(gaps::read(columns, self.at));
                    }
                    spans[self.at]
                }
                Times::Tallied(spreads) => {
                    let mut number = Digest::default();
                    for word in [rank.into(), place as u64, self.at as u64] {
                        number.fold(word);
                    }
                    if self.known {
                        self.ahead_between.push(spreads[place].draw_between(number.value()));
                    }
                    spreads[place].draw(number.value())
                }
            };
            self.at += 1;
            self.ahead.push((shape, span));
        }
        self.ahead.reverse();
        self.ahead_between.reverse();
    }
}

/// One call as the file has it, on the rank's clock.
#[derive(Debug, Clone)]
pub struct Event {
    /// Shape of the call.
    pub shape: Arc<Shape>,
    /// Begin \[ns\].
    pub begin_ns: u64,
    /// End \[ns\].
    pub end_ns: u64,
    /// Gap before the call.
    pub between: Gap,
}

/// Like [`Event`], with the number of the shape in its place.
#[derive(Debug, Clone, Copy)]
pub struct Numbered {
    /// Number for [`Calls::shape`].
    pub shape: u32,
    /// Begin \[ns\].
    pub begin_ns: u64,
    /// End \[ns\].
    pub end_ns: u64,
}

impl Calls {
    /// Makes the stream of an opened file.
    pub fn new(head: &Head, blocks: Blocks) -> Calls {
        let (shapes, between) = (Vec::new(), Gap::default());
        Calls { blocks, shapes, current: None, now_ns: 0, between, rank: head.rank, end: None }
    }

    /// Next call; `None` at the end, or where the file was cut off.
    pub fn read(&mut self) -> Result<Option<Event>, TraceError> {
        let Some(Numbered { shape, begin_ns, end_ns }) = self.read_number()? else { return Ok(None) };
        Ok(Some(Event { shape: self.shape(shape).clone(), begin_ns, end_ns, between: self.between }))
    }

    /// The shape of a call that was read.
    pub fn shape(&self, number: u32) -> &Arc<Shape> {
        &self.shapes[number as usize]
    }

    /// Next call, like [`Calls::read`], with the number of its shape.
    pub fn read_number(&mut self) -> Result<Option<Numbered>, TraceError> {
        loop {
            if let Some(current) = &mut self.current {
                if let Some((shape, span)) = current.next(self.rank, &mut self.between) {
                    let gap_ns = span.gap_ns.saturating_add(self.between.waited_ns);
                    let begin_ns = self.now_ns.saturating_add(gap_ns);
                    self.now_ns = begin_ns.saturating_add(span.length_ns);
                    return Ok(Some(Numbered { shape, begin_ns, end_ns: self.now_ns }));
                }
                self.current = None;
            }
            match self.blocks.read()? {
                Next::Block(block) => {
                    self.shapes.extend(block.shapes.into_iter().map(Arc::new));
                    self.now_ns = block.start_ns;
                    self.between = Gap::default();
                    self.current = Some(Current::new(block.sequence, block.times));
                }
                Next::End(end) => {
                    self.end = Some(end);
                    return Ok(None);
                }
                Next::Cut => return Ok(None),
            }
        }
    }

    /// Gap before the call that was read last.
    pub fn between(&self) -> &Gap {
        &self.between
    }

    /// Summary at the end of the file, once it has been read.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Fraction of the file that has been read \[0..1\].
    pub fn share_read(&self) -> f64 {
        self.blocks.share_read()
    }
}
