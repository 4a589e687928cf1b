//! Attribution of the time in collectives, whose messages each carry the latest entry that they depend on.

use engine::{Duration, Time};

use crate::cause::{Cause, ON_PATH};
use crate::operation::Rank;
use crate::world::index::CollectiveHandle;
use crate::world::process::Target;
use crate::world::protocol_message::Waited;
use crate::world::{Context, Progress, World};

impl World {
    /// History of a rendezvous for `target` of `rank` that its next message carries, whose handshake has `stalled`.
    pub(super) fn waited(&self, rank: Rank, target: Target, stalled: Duration) -> Waited {
        match target {
            Target::Round(instance) => Waited::Entry(self.processes[rank].rounds[instance].latest),
            _ => Waited::Stalled(stalled),
        }
    }

    /// From now on a collective depends on an entry at `latest`, too.
    pub(super) fn depend_on(&mut self, rank: Rank, instance: CollectiveHandle, latest: Time) {
        let state = &mut self.processes[rank].rounds[instance];
        state.latest = state.latest.max(latest);
    }

    /// A message of a collective's round has come, or has left, with the present event: it is done at `end`. The path
    /// of the event, and the rank's own work since, lead there.
    pub(super) fn charge_round(
        &mut self,
        rank: Rank,
        instance: CollectiveHandle,
        end: Time,
        context: &mut Context,
    ) {
        let process = &mut self.processes[rank];
        if end <= process.call.counted {
            return;
        }
        let state = &process.rounds[instance];
        let (latest, in_call) = (state.latest, state.target == Target::Call);
        if !in_call && !process.awaits(state.target) {
            return;
        }
        let path = self.event.path_after(end.since(context.now));
        // The rank that entered last has no path of before that differs from this one's, but for computing.
        let base = if latest > process.call.counted { &state.entry } else { &process.path };
        let gained = std::array::from_fn(|cause| path.0[cause].saturating_sub(base.0[cause]));
        process.path = path;
        let call = &mut process.call;
        call.charge(latest.min(end), Cause::Imbalance);
        let rest = end.since(call.counted);
        call.counted = end;
        let shares = shares(gained, rest.0);
        for (cause, share) in Cause::ALL.into_iter().zip(shares) {
            call.causes.add(cause, Duration(share));
        }
        // Of a collective beside which ranks compute, the rounds wait for those ranks.
        let asynchronous = self.setup.protocol.progress == Progress::Asynchronous;
        let stood = if in_call || asynchronous { Cause::Imbalance } else { Cause::NoProgress };
        call.causes.add(stood, Duration(rest.0 - shares.iter().sum::<u64>()));
        let contended = shares[Cause::Contention as usize];
        if contended > 0 {
            self.tell_contention(rank, Duration(contended), context);
        }
    }
}

/// Shares of `whole`: the parts themselves where they fit, else in proportion to them.
#[inline]
fn shares(parts: [u64; ON_PATH], whole: u64) -> [u64; ON_PATH] {
    let sum = parts.iter().try_fold(0u64, |sum, part| sum.checked_add(*part));
    match sum {
        Some(sum) if sum <= whole => parts,
        Some(sum) if u128::from(sum) * u128::from(whole) <= u128::from(u64::MAX) => {
            parts.map(|part| part * whole / sum)
        }
        _ => proportional(parts, whole),
    }
}

/// Parts in proportion to `parts`, of any size, that sum to `whole` at most.
#[cold]
fn proportional(parts: [u64; ON_PATH], whole: u64) -> [u64; ON_PATH] {
    let sum: u128 = parts.iter().map(|part| u128::from(*part)).sum();
    parts.map(|part| (u128::from(part) * u128::from(whole) / sum) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts that fit are kept; others shrink in proportion, each rounded down, however large the numbers are.
    #[test]
    fn shares_are_the_parts_or_in_proportion_to_them() {
        assert_eq!(shares([1, 2, 3, 0, 4], 10), [1, 2, 3, 0, 4]);
        assert_eq!(shares([1, 2, 3, 0, 4], 5), [0, 1, 1, 0, 2]);
        let large = 1 << 62;
        assert_eq!(shares([large, 0, large, 0, 0], large), [large / 2, 0, large / 2, 0, 0]);
        assert_eq!(shares([large; ON_PATH], 10), [2; ON_PATH]);
        for (parts, whole) in [([7, 0, 90, 13, 5], 11), ([1 << 31, 5, 0, 0, 1 << 30], (1 << 31) + 3)] {
            assert_eq!(shares(parts, whole), proportional(parts, whole));
        }
    }
}
