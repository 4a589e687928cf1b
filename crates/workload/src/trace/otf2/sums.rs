//! Collectives whose blocks differ by rank: derives the blocks from the totals that every rank sent and received.
//!
//! With own blocks b_i of n members, allgatherv: rank i sent n b_i, and received the sum of all; in place (n − 1)
//! b_i, and the sum of the others'. Gatherv: rank i sent b_i (the root in place 0, which goes to nobody). Scatterv
//! and reduce_scatter likewise by the received totals. These are exact. Of alltoallv the archive has only the sums of
//! rows and columns, S_i and R_j: blocks S_i R_j / Σ R are assumed, which have these sums.
//!
//! The n-th such call on a communicator is the same for all of its members, as MPI requires.

use std::collections::BTreeMap;
use std::sync::Arc;

use mpi::collective::{Kind, Sizes};

use super::collective::{kind, varies};
use super::event::{CollectiveCall, Event, Events};
use super::ranks::Ranks;
use crate::trace::error::TraceError;

/// Totals that each member of a call sent and received \[bytes\], by place.
type Sums = Vec<(u64, u64)>;

/// Totals of all calls whose blocks differ: by communicator (with its first member, since each process has a
/// communicator of itself alone), then in order.
#[derive(Debug, Default)]
pub(super) struct AllSums {
    calls: BTreeMap<u32, Vec<Sums>>,
}

impl AllSums {
    /// Adds the events of `rank`.
    pub(super) fn read(&mut self, ranks: &Ranks, rank: u32, mut events: Events) -> Result<(), TraceError> {
        // Calls in the order in which they began.
        let mut order: Vec<Option<CollectiveCall>> = Vec::new();
        let mut open: BTreeMap<u64, usize> = BTreeMap::new();
        while let Some((_, event)) = events.next()? {
            match event {
                Event::Collective(call) => order.push(Some(call)),
                Event::CollectiveStarts(request) => {
                    open.insert(request, order.len());
                    order.push(None);
                }
                Event::CollectiveComplete(call, request) => {
                    if let Some(place) = open.remove(&request) {
                        order[place] = Some(call);
                    }
                }
                _ => {}
            }
        }
        let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
        for call in order.into_iter().flatten().filter(|call| kind(call.operation).is_some_and(varies)) {
            let place = ranks.comms.get(&call.comm).and_then(|members| ranks.place(members, rank));
            let Some((own, size)) = place.filter(|(_, size)| *size > 1) else { continue };
            let calls = self.calls.entry(call.comm).or_default();
            let number = seen.entry(call.comm).or_default();
            if calls.len() == *number {
                calls.push(vec![(0, 0); size as usize]);
            }
            calls[*number][own as usize] = (call.sent, call.received);
            *number += 1;
        }
        Ok(())
    }

    /// Sizes of call `number` on its communicator, for the member at place `own`.
    pub(super) fn sizes(&self, call: &CollectiveCall, kind: Kind, number: usize, own: u32) -> Option<Sizes> {
        let sums = self.calls.get(&call.comm)?.get(number)?;
        let size = sums.len() as u64;
        // True if `times` the first column has the second as its sum.
        let adds_up = |column: &dyn Fn(&(u64, u64)) -> u64, times: u64, total: u64| {
            sums.iter().map(|sum| u128::from(column(sum) / times)).sum::<u128>() == u128::from(total)
        };
        let by_rank = |column: &dyn Fn(&(u64, u64)) -> u64, times: u64| {
            Sizes::ByRank(sums.iter().map(|sum| column(sum) / times).collect::<Arc<[u64]>>())
        };
        let sent = |sum: &(u64, u64)| sum.0;
        let received = |sum: &(u64, u64)| sum.1;
        Some(match kind {
            Kind::Gatherv => by_rank(&sent, 1),
            Kind::Scatterv => by_rank(&received, 1),
            Kind::Allgatherv => {
                let whole = adds_up(&sent, size, sums[0].1);
                by_rank(&sent, if whole { size } else { size - 1 })
            }
            Kind::ReduceScatter => {
                let whole = adds_up(&received, size, sums[0].0);
                by_rank(&received, if whole { size } else { size - 1 })
            }
            _ => {
                let total: u128 = sums.iter().map(|sum| u128::from(sum.1)).sum();
                let part = |from: u64, to: u64| (u128::from(from) * u128::from(to) / total.max(1)) as u64;
                let mine = sums[own as usize];
                Sizes::Own {
                    send: sums.iter().map(|sum| part(mine.0, sum.1)).collect(),
                    receive: sums.iter().map(|sum| part(sum.0, mine.1)).collect(),
                }
            }
        })
    }
}
