//! Converts the partners in a rank's calls to offsets on a grid, and offsets to partners on another grid.

use engine::hash::Map;
use mpi::operation::CartGrid;

use super::{Reason, words};
use crate::trace::hct::shape::{
    Amount, Begun, Collected, Did, From, How, Made, Matched, Received, Sent, Shape,
};

/// Rank at an offset.
pub type Partner<'a> = dyn FnMut(&[i64]) -> u32 + 'a;

/// Finds the Cartesian grids of all `ranks` that one rank's calls create.
pub struct Grids {
    ranks: u32,
    /// Communicators of all ranks in world order.
    of_all: Vec<u32>,
}

impl Grids {
    /// Begins before the first call.
    pub fn new(ranks: u32) -> Grids {
        Grids { ranks, of_all: vec![0] }
    }

    /// Grid that a call creates, if it creates one.
    pub fn made(&mut self, shape: &Shape) -> Option<CartGrid> {
        let Did::NewComm(Made { parent, comm, how, members }) = &shape.did else { return None };
        if !self.of_all.contains(parent) {
            return None;
        }
        let in_order = members.len() == self.ranks as usize && members.iter().copied().eq(0..self.ranks);
        if *how == How::Dup || in_order {
            self.of_all.extend(comm);
        }
        let How::Cart { sizes, periodic } = how else { return None };
        let grid = CartGrid { sizes: sizes.clone(), periodic: periodic.clone() };
        (grid.size() == Some(self.ranks)).then_some(grid)
    }
}

/// Members of a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// All ranks, in world order.
    Everyone,
    /// The rank alone.
    Oneself,
    /// No communicator of this rank.
    Nobody,
}

/// Walks through the calls of one rank.
pub struct Walk {
    grid: CartGrid,
    place: Vec<i64>,
    comms: Vec<Over>,
    /// Communicator of each non-blocking receive, by request.
    received_in: Map<u32, u32>,
}

impl Walk {
    /// Begins for the rank at `place` of the recorded grid.
    pub fn new(grid: CartGrid, place: Vec<i64>) -> Walk {
        Walk { grid, place, comms: vec![Over::Everyone, Over::Oneself], received_in: Map::default() }
    }

    /// True for calls whose meaning depends on earlier ones, so that equal calls may differ: those that create
    /// communicators, non-blocking receives, and completions of these.
    pub fn depends_on_order(&self, shape: &Shape) -> bool {
        match &shape.did {
            Did::NewComm(_) => true,
            Did::Receive(receive) => {
                (receive.from == From::Any || receive.tag.is_none()) && receive.request.is_some()
            }
            Did::Complete { matched, .. } => !matched.is_empty(),
            _ => false,
        }
    }

    /// Next call, on a grid of `to`; `partner` gives the rank at an offset.
    pub fn moved(&mut self, shape: &Shape, partner: &mut Partner, to: &CartGrid) -> Result<Shape, Reason> {
        let did = match &shape.did {
            Did::Access { to, bytes, answer } => {
                let to = to.map(|to| self.partner(to, partner)).transpose()?;
                Did::Access { to, bytes: *bytes, answer: *answer }
            }
            Did::Send(send) => Did::Send(self.sent(send, partner)?),
            Did::Receive(receive) => {
                if let Some(Begun::Active(number) | Begun::Persistent(number)) = receive.request {
                    self.received_in.insert(number, receive.comm);
                }
                Did::Receive(self.received(receive, partner)?)
            }
            Did::SendReceive { send, receive } => Did::SendReceive {
                send: self.sent(send, partner)?,
                receive: self.received(receive, partner)?,
            },
            Did::Probe(receive) => Did::Probe(self.received(receive, partner)?),
            Did::Complete { requests, matched } => {
                let comm = |number| self.received_in.get(number).copied().unwrap_or(0);
                let came = matched
                    .iter()
                    .map(|(number, came)| Ok((*number, self.came(comm(number), *came, partner)?)));
                Did::Complete { requests: requests.clone(), matched: came.collect::<Result<_, Reason>>()? }
            }
            Did::Collective(collected) => Did::Collective(self.collected(collected, to)?),
            Did::NewComm(made) => Did::NewComm(self.made(made, to)?),
            other => other.clone(),
        };
        Ok(Shape { call: shape.call, did })
    }

    fn over(&self, comm: u32) -> Over {
        self.comms.get(comm as usize).copied().unwrap_or(Over::Nobody)
    }

    fn partner(&self, rank: u32, partner: &mut Partner) -> Result<u32, Reason> {
        let count = self.grid.size().unwrap_or(0);
        if rank >= count {
            return Err(format!("its partner is rank {rank}, and there are {count}"));
        }
        let there = self.grid.coordinates(rank);
        let mut offset = Vec::with_capacity(there.len());
        for (at, there) in there.into_iter().enumerate() {
            let (size, here) = (i64::from(self.grid.sizes[at]), self.place[at]);
            let mut along = i64::from(there) - here;
            if self.grid.periodic[at] && size > 1 {
                along = along.rem_euclid(size);
                if 2 * along == size {
                    return Err(format!(
                        "rank {rank} is half way round dimension {at} of {size} ranks: on which side is not known"
                    ));
                }
                along -= if 2 * along > size { size } else { 0 };
            }
            offset.push(along);
        }
        Ok(partner(&offset))
    }

    /// Partner in a communicator.
    fn partner_in(&self, comm: u32, rank: u32, partner: &mut Partner) -> Result<u32, Reason> {
        match self.over(comm) {
            Over::Everyone => self.partner(rank, partner),
            _ => Ok(rank),
        }
    }

    fn sent(&self, send: &Sent, partner: &mut Partner) -> Result<Sent, Reason> {
        let to = send.to.map(|to| self.partner_in(send.comm, to, partner)).transpose()?;
        Ok(Sent { to, ..send.clone() })
    }

    fn received(&self, receive: &Received, partner: &mut Partner) -> Result<Received, Reason> {
        let from = match receive.from {
            From::Rank(rank) => From::Rank(self.partner_in(receive.comm, rank, partner)?),
            other => other,
        };
        let matched = receive.matched.map(|came| self.came(receive.comm, came, partner)).transpose()?;
        Ok(Received { from, matched, ..receive.clone() })
    }

    fn came(&self, comm: u32, came: Matched, partner: &mut Partner) -> Result<Matched, Reason> {
        Ok(Matched { source: self.partner_in(comm, came.source, partner)?, ..came })
    }

    fn collected(&self, collected: &Collected, to: &CartGrid) -> Result<Collected, Reason> {
        if self.over(collected.comm) != Over::Everyone {
            return Ok(collected.clone());
        }
        if collected.root != 0 {
            return Err(format!(
                "its root is rank {}; which one that is among more ranks is not known",
                collected.root
            ));
        }
        let count = to.size().unwrap_or(0) as usize;
        let neighbours = collected.kind.starts_with("neighbor");
        let longer = |sizes: &[u64]| match sizes {
            _ if neighbours => Ok(sizes.to_vec()),
            [first, rest @ ..] if rest.iter().all(|size| size == first) => Ok(vec![*first; count]),
            [] => Ok(Vec::new()),
            _ => Err("its blocks are not all of one length".to_string()),
        };
        let sizes = match &collected.sizes {
            Amount::Equal(bytes) => Amount::Equal(*bytes),
            Amount::ByRank(sizes) => Amount::ByRank(longer(sizes)?),
            Amount::Own { send, receive } => Amount::Own { send: longer(send)?, receive: longer(receive)? },
        };
        Ok(Collected { sizes, ..collected.clone() })
    }

    fn made(&mut self, made: &Made, to: &CartGrid) -> Result<Made, Reason> {
        let all = self.grid.size().unwrap_or(0);
        let is_all = made.members.len() == all as usize && made.members.iter().copied().eq(0..all);
        let (over, how) = match (self.over(made.parent), &made.how) {
            (Over::Everyone, How::Dup) => (Over::Everyone, How::Dup),
            (Over::Everyone, How::Cart { sizes, periodic }) if *sizes == self.grid.sizes => {
                (Over::Everyone, How::Cart { sizes: to.sizes.clone(), periodic: periodic.clone() })
            }
            (Over::Everyone, How::Split { .. } | How::Create { .. }) if is_all => (Over::Everyone, How::Dup),
            (Over::Everyone, How::Split { colour: None, .. }) => (Over::Nobody, made.how.clone()),
            (Over::Oneself, how) => (Over::Oneself, how.clone()),
            (Over::Everyone, How::Cart { sizes, .. }) if is_all => {
                return Err(format!("it makes a grid of {}: --grid says otherwise", words(sizes)));
            }
            _ => {
                return Err(
                    "it makes a communicator of some of the ranks; those of all ranks can be scaled".into()
                );
            }
        };
        if let Some(number) = made.comm {
            let number = number as usize;
            if number > self.comms.len() {
                return Err(format!(
                    "it makes communicator {number}, but only {} were made before",
                    self.comms.len()
                ));
            }
            if number == self.comms.len() {
                self.comms.push(Over::Nobody);
            }
            self.comms[number] = over;
        }
        Ok(Made { how, members: Vec::new(), ..made.clone() })
    }
}
