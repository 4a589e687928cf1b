//! Division of a file among ranks in a collective access of two phases.

use std::sync::Arc;

use engine::Bytes;

/// Begin and length of a part of a file.
pub type Part = (u64, Bytes);

/// Choice of how a collective access is done.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Through aggregators or not; if it says nothing, where the ranks' parts interleave.
    pub together: Option<bool>,
    /// The most aggregators.
    pub most: Option<u32>,
}

/// The aggregators of an access, and what each rank has to do with them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Rank and parts of each aggregator, in the order of the file; none where each rank has its own access.
    aggregators: Vec<(u32, Arc<[Part]>)>,
    /// Bytes of each rank's parts for each aggregator, by the index of that, where there are any.
    shares: Vec<Vec<(u32, u64)>>,
}

impl Plan {
    /// For ranks with these parts on these hosts, of a file in stripes of that size.
    pub fn new(members: &[Vec<Part>], hosts: &[u32], stripe: Bytes, choice: Choice) -> Plan {
        let covered = covered(members);
        let (Some(first), Some(last)) = (covered.first(), covered.last()) else { return Plan::default() };
        if !choice.together.unwrap_or_else(|| interleave(members)) {
            return Plan::default();
        }
        let ranks = aggregators(hosts, choice.most);
        let begin = first.0 - first.0 % stripe.0;
        let whole = last.0 + last.1.0 - begin;
        let each = whole.div_ceil(ranks.len() as u64).next_multiple_of(stripe.0);
        let mut domains = vec![Vec::new(); ranks.len()];
        for part in &covered {
            split(*part, begin, each, |domain, part| domains[domain].push(part));
        }
        let shares = members.iter().map(|parts| {
            let mut bytes = vec![0; ranks.len()];
            for part in parts {
                split(*part, begin, each, |domain, part| bytes[domain] += part.1.0);
            }
            (0..).zip(bytes).filter(|(_, bytes)| *bytes > 0).collect()
        });
        let shares = shares.collect();
        let aggregators = ranks.into_iter().zip(domains.into_iter().map(Arc::from)).collect();
        Plan { aggregators, shares }
    }

    /// Is there a first phase?
    pub fn is_together(&self) -> bool {
        !self.aggregators.is_empty()
    }

    /// Parts that a rank accesses for all.
    pub fn domain(&self, rank: u32) -> Arc<[Part]> {
        let own = self.aggregators.iter().find(|aggregator| aggregator.0 == rank);
        own.map_or_else(|| Arc::from([]), |aggregator| aggregator.1.clone())
    }

    /// Messages of a rank to other ranks, and of others to it: ranks and lengths.
    pub fn messages(&self, rank: u32) -> (Lengths, Lengths) {
        let own = self.shares.get(rank as usize).map_or(&[][..], |shares| shares);
        let out = own.iter().map(|(index, bytes)| (self.aggregators[*index as usize].0, Bytes(*bytes)));
        let out = out.filter(|(to, _)| *to != rank).collect();
        let index = self.aggregators.iter().position(|aggregator| aggregator.0 == rank);
        let Some(index) = index.map(|index| index as u32) else { return (out, Vec::new()) };
        let of = |shares: &Vec<(u32, u64)>| {
            shares.binary_search_by_key(&index, |share| share.0).ok().map(|at| Bytes(shares[at].1))
        };
        let others = (0..).zip(&self.shares).filter(|(from, _)| *from != rank);
        (out, others.filter_map(|(from, shares)| Some((from, of(shares)?))).collect())
    }
}

/// Ranks, and how much there is for or from each.
pub type Lengths = Vec<(u32, Bytes)>;

/// All that any rank accesses, in the order of the file, neighbours joined.
fn covered(members: &[Vec<Part>]) -> Vec<Part> {
    let mut all: Vec<Part> = members.iter().flatten().copied().filter(|part| part.1.0 > 0).collect();
    all.sort_unstable_by_key(|part| part.0);
    let mut covered: Vec<Part> = Vec::new();
    for (begin, bytes) in all {
        match covered.last_mut() {
            Some((start, length)) if begin <= *start + length.0 => {
                length.0 = length.0.max(begin + bytes.0 - *start);
            }
            _ => covered.push((begin, bytes)),
        }
    }
    covered
}

/// Does a rank's range begin before that of the one before it ends?
fn interleave(members: &[Vec<Part>]) -> bool {
    let ranges: Vec<(u64, u64)> = members
        .iter()
        .filter_map(|parts| {
            let begin = parts.iter().map(|part| part.0).min()?;
            Some((begin, parts.iter().map(|part| part.0 + part.1.0).max()?))
        })
        .collect();
    ranges.windows(2).any(|pair| pair[1].0 < pair[0].1)
}

/// The first rank of each host, in the order of ranks.
fn aggregators(hosts: &[u32], most: Option<u32>) -> Vec<u32> {
    let mut seen = std::collections::BTreeSet::new();
    let first = (0..).zip(hosts).filter(|(_, host)| seen.insert(**host)).map(|(rank, _)| rank);
    first.take(most.map_or(usize::MAX, |most| most as usize)).collect()
}

/// Cuts a part at the borders of domains.
fn split((mut at, bytes): Part, begin: u64, each: u64, mut give: impl FnMut(usize, Part)) {
    let end = at + bytes.0;
    while at < end {
        let domain = (at - begin) / each;
        let next = end.min(begin + (domain + 1) * each);
        give(domain as usize, (at, Bytes(next - at)));
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(list: &[(u64, u64)]) -> Vec<Part> {
        list.iter().map(|(begin, bytes)| (*begin, Bytes(*bytes))).collect()
    }

    /// Four ranks on two hosts; rank r has bytes r and r + 4, r + 8 ... of 32, in units of 10.
    #[test]
    fn interleaved_parts_go_through_an_aggregator_of_each_host() {
        let members: Vec<Vec<Part>> = (0..4)
            .map(|rank| parts(&(0..8).map(|i| (10 * (rank + 4 * i), 10)).collect::<Vec<_>>()))
            .collect();
        let plan = Plan::new(&members, &[5, 5, 9, 9], Bytes(40), Choice::default());
        assert_eq!(*plan.domain(0), *parts(&[(0, 160)]));
        assert_eq!(*plan.domain(2), *parts(&[(160, 160)]));
        assert!(plan.domain(1).is_empty() && plan.domain(3).is_empty());
        assert_eq!(plan.messages(1), (vec![(0, Bytes(40)), (2, Bytes(40))], vec![]));
        let all = |own: u32| (0..4).filter(move |rank| *rank != own).map(|rank| (rank, Bytes(40))).collect();
        assert_eq!(plan.messages(2), (vec![(0, Bytes(40))], all(2)));
    }

    /// One after the other, they are accessed by each rank itself, unless the program wishes otherwise.
    #[test]
    fn parts_in_the_order_of_ranks_are_left_alone() {
        let members: Vec<Vec<Part>> = (0..3).map(|rank| parts(&[(100 * rank, 100)])).collect();
        assert!(!Plan::new(&members, &[0, 1, 2], Bytes(10), Choice::default()).is_together());
        let choice = Choice { together: Some(true), most: Some(2) };
        let plan = Plan::new(&members, &[0, 1, 2], Bytes(100), choice);
        assert_eq!(*plan.domain(0), *parts(&[(0, 200)]));
        assert_eq!(*plan.domain(1), *parts(&[(200, 100)]));
        assert_eq!(plan.messages(1), (vec![(0, Bytes(100))], vec![(2, Bytes(100))]));
        assert!(!Plan::new(&[vec![], vec![]], &[0, 0], Bytes(1), choice).is_together());
    }
}
