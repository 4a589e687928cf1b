//! Agreement of the members of a collective on its call, where the simulator does not see it, or sees a deadlock alone.
//!
//! Kind, root and equal lengths are compared by the messages of the simulated collective, which ends the run. Here are
//! the operations of reductions, and lists of lengths; and equal lengths for a program that wants to hear of errors:
//! its ranks then take part in the simulated collective as the first of them does, and hear when it is complete.

use mpi::collective::{Collective, Kind, Sizes};

use super::meeting::Part;
use crate::abi::error::{Answer, Class, Error};

/// Part whose call is known in this process.
fn known(part: &Option<Part>) -> Option<&Part> {
    part.as_ref().filter(|part| !part.imported)
}

/// Refuses the part of the member at `place`, if it does not fit to those of others.
pub fn check(parts: &[Option<Part>], place: usize, part: &Part) -> Answer {
    let mut others = parts.iter().enumerate().filter_map(|(other, part)| Some((other, known(part)?)));
    let Some((first, earlier)) = others.clone().next() else { return Ok(()) };
    let function = part.call.kind.function();
    if earlier.call.kind != part.call.kind || earlier.call.root != part.call.root {
        return Ok(());
    }
    let combines = |(other, part): (usize, &Part)| Some((other, part.operator?));
    if let (Some(mine), Some((other, theirs))) = (part.operator, others.clone().find_map(combines))
        && mine != theirs
    {
        let (mine, theirs) = (name(mine), name(theirs));
        let reason = format!(
            "rank {place} combines with {mine}, but rank {other} with {theirs}, in the same {function}"
        );
        return Err(Error::new(Class::OP, reason));
    }
    match (&part.call.sizes, part.call.kind) {
        (Sizes::Own { .. }, Kind::Alltoallv | Kind::Alltoallw) => others.try_for_each(|(other, theirs)| {
            exchange(function, (place, &part.call), (other, &theirs.call))?;
            exchange(function, (other, &theirs.call), (place, &part.call))
        }),
        _ if part.between_groups => Ok(()),
        (Sizes::ByRank(mine), Kind::Allgatherv | Kind::ReduceScatter) => match &earlier.call.sizes {
            Sizes::ByRank(theirs) => lists(function, (place, mine), (first, theirs)),
            _ => Ok(()),
        },
        (Sizes::ByRank(_), Kind::Gatherv | Kind::Scatterv) => {
            let root = part.call.root as usize;
            if place == root {
                return others
                    .try_for_each(|(other, theirs)| rooted(function, (root, part), (other, theirs)));
            }
            match &parts[root] {
                Some(theirs) => rooted(function, (root, theirs), (place, part)),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Do two calls of a collective that agree otherwise have equal blocks of different lengths?
pub fn differ_in_length(one: &Collective, other: &Collective) -> bool {
    let (Sizes::Equal(length), Sizes::Equal(theirs)) = (&one.sizes, &other.sizes) else { return false };
    length != theirs && (one.kind, one.root) == (other.kind, other.root) && !one.kind.among_neighbours()
}

/// Refuses the part of the member at `place`, if its length is not the root's, or that of others who have called.
pub fn lengths(parts: &[Option<Part>], place: usize) -> Answer {
    let call = |member: usize| known(&parts[member]).map(|part| &part.call);
    let Some(own) = call(place) else { return Ok(()) };
    let root = own.root as usize;
    let others = if own.kind.rooted() && place != root { root..root + 1 } else { 0..parts.len() };
    let mut others = others.filter_map(|member| Some((member, call(member)?)));
    let Some((other, theirs)) = others.find(|(_, theirs)| differ_in_length(own, theirs)) else {
        return Ok(());
    };
    let bytes = |call: &Collective| if let Sizes::Equal(bytes) = call.sizes { bytes.0 } else { 0 };
    let reason = format!(
        "{}: rank {place} calls it with {} bytes, rank {other} with {} bytes",
        own.kind.function(),
        bytes(own),
        bytes(theirs)
    );
    Err(Error::new(Class::TRUNCATE, reason))
}

/// Checks that what one sends to the other is what that one expects.
fn exchange(function: &str, from: (usize, &Collective), to: (usize, &Collective)) -> Answer {
    let (Sizes::Own { send, .. }, Sizes::Own { receive, .. }) = (&from.1.sizes, &to.1.sizes) else {
        return Ok(());
    };
    let (sent, expected) = (send.get(to.0).copied().unwrap_or(0), receive.get(from.0).copied().unwrap_or(0));
    if sent == expected { Ok(()) } else { Err(differ(function, from.0, sent, to.0, expected)) }
}

/// The root's length for a member must be that member's.
fn rooted(function: &str, root: (usize, &Part), member: (usize, &Part)) -> Answer {
    let (Sizes::ByRank(list), Sizes::ByRank(own)) = (&root.1.call.sizes, &member.1.call.sizes) else {
        return Ok(());
    };
    let (at_root, own) = (list[member.0], own[member.0]);
    match root.1.call.kind {
        _ if at_root == own => Ok(()),
        Kind::Gatherv => Err(differ(function, member.0, own, root.0, at_root)),
        _ => Err(differ(function, root.0, at_root, member.0, own)),
    }
}

/// All members give the same list.
fn lists(function: &str, mine: (usize, &[u64]), theirs: (usize, &[u64])) -> Answer {
    let both = mine.1.iter().zip(theirs.1).enumerate();
    let Some((index, (own, other))) = both.into_iter().find(|(_, (own, other))| own != other) else {
        return Ok(());
    };
    let reason = format!(
        "{function}: block {index} has {own} bytes on rank {}, but {other} bytes on rank {}",
        mine.0, theirs.0
    );
    Err(Error::new(Class::TRUNCATE, reason))
}

fn differ(function: &str, sender: usize, sent: u64, receiver: usize, expected: u64) -> Error {
    let reason = format!(
        "{function}: rank {sender} sends {sent} bytes to rank {receiver}, which expects {expected} bytes of it"
    );
    Error::new(Class::TRUNCATE, reason)
}

/// Name of an operation in a program.
fn name(operator: usize) -> String {
    let known = super::operator::predefined().find(|row| row.0 == operator);
    known.map_or_else(|| "a function of its own".into(), |row| row.1.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::meeting::Given;
    use mpi::operation::CommId;

    fn part(kind: Kind, sizes: Sizes, operator: Option<usize>) -> Part {
        let call = Arc::new(Collective { kind, sizes, ..Collective::barrier(CommId::WORLD) });
        Part { given: Given::default(), call, operator, between_groups: false, imported: false }
    }

    #[test]
    fn lengths_that_differ_name_both_ranks() {
        let own = |send: [u64; 2], receive: [u64; 2]| {
            let sizes = Sizes::Own { send: Arc::new(send), receive: Arc::new(receive) };
            part(Kind::Alltoallv, sizes, None)
        };
        let parts = [Some(own([4, 8], [4, 16])), None];
        assert_eq!(check(&parts, 1, &own([16, 4], [8, 4])), Ok(()));
        let error = check(&parts, 1, &own([12, 4], [8, 4])).unwrap_err();
        assert_eq!(
            error.reason,
            "MPI_Alltoallv: rank 1 sends 12 bytes to rank 0, which expects 16 bytes of it"
        );
    }

    #[test]
    fn the_root_s_list_is_compared_with_each_member_s_own_length() {
        let by_rank = |list: [u64; 3]| part(Kind::Gatherv, Sizes::ByRank(Arc::new(list)), None);
        let parts = [Some(by_rank([1, 2, 3])), None, None];
        assert_eq!(check(&parts, 1, &by_rank([0, 2, 0])), Ok(()));
        let error = check(&parts, 2, &by_rank([0, 0, 7])).unwrap_err();
        assert!(error.reason.contains("rank 2 sends 7 bytes to rank 0, which expects 3 bytes"), "{error}");
    }

    /// Everyone is compared with the root of a broadcast, who hears only of those who have called before it is done.
    #[test]
    fn lengths_of_blocks_are_compared_with_the_root_s() {
        let bcast = |bytes| Some(part(Kind::Bcast, Sizes::Equal(engine::Bytes(bytes)), None));
        let parts = [bcast(4), bcast(4), bcast(40), None];
        assert_eq!(lengths(&parts, 1), Ok(()));
        let error = lengths(&parts, 2).unwrap_err();
        assert_eq!(error.class.0, Class::TRUNCATE.0);
        assert_eq!(error.reason, "MPI_Bcast: rank 2 calls it with 40 bytes, rank 0 with 4 bytes");
        assert!(lengths(&parts, 0).unwrap_err().reason.contains("rank 2 with 40 bytes"));
        assert_eq!(lengths(&[bcast(4), bcast(4)], 0), Ok(()));
    }

    #[test]
    fn operations_that_differ_are_named() {
        let sizes = || Sizes::Equal(engine::Bytes(4));
        let parts = [Some(part(Kind::Reduce, sizes(), Some(0x21))), None];
        let error = check(&parts, 1, &part(Kind::Reduce, sizes(), Some(0x23))).unwrap_err();
        assert!(error.reason.contains("rank 1 combines with MPI_MAX, but rank 0 with MPI_SUM"), "{error}");
    }
}
