//! Looks of outputs at their requests: outputs that look at the same time share an event, since all of an instant decide
//! together at its end.

use engine::{Time, prefetch};

use super::Switch;
use crate::topology::LinkId;

/// Binary logarithm of the number of places for times at which outputs look.
const PLACE_BITS: u32 = 10;
/// Number of looks ahead for which outputs are prefetched.
const FAR: usize = 6;

/// Outputs that look when the event of another one is due.
#[derive(Debug)]
pub(super) struct Looks {
    /// Times that have an event, each at its place; [`Time::NEVER`] at a free one.
    times: Vec<Time>,
    /// Outputs that look at each of them, but for the one that the event names.
    links: Vec<Vec<LinkId>>,
}

/// Place of a time: others that have the same place while it is taken have events of their own.
#[inline]
fn place_of(at: Time) -> usize {
    // Multiplication by 2⁶⁴ over the golden ratio spreads times that are multiples of a common one.
    (at.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - PLACE_BITS)) as usize
}

impl Looks {
    /// No looks.
    pub fn new() -> Looks {
        Looks { times: vec![Time::NEVER; 1 << PLACE_BITS], links: vec![Vec::new(); 1 << PLACE_BITS] }
    }

    /// The output `link` looks at `at`. True if it needs an event that names it.
    #[inline]
    pub fn add(&mut self, at: Time, link: LinkId) -> bool {
        let place = place_of(at);
        let time = &mut self.times[place];
        if *time == at {
            self.links[place].push(link);
            return false;
        }
        if *time == Time::NEVER {
            *time = at;
        }
        true
    }

    /// Outputs that look at `now` and that no event names. Frees the place without any.
    #[inline]
    fn due(&mut self, now: Time) -> Option<&mut Vec<LinkId>> {
        let place = place_of(now);
        if self.times[place] != now {
            return None;
        }
        if self.links[place].is_empty() {
            self.times[place] = Time::NEVER;
        }
        Some(&mut self.links[place])
    }
}

impl Switch {
    /// The next output that looks at `now` without an event of its own.
    #[inline]
    pub fn next_look(&mut self, now: Time) -> Option<LinkId> {
        let links = self.looks.due(now)?;
        let link = links.pop()?;
        if let Some(later) = links.len().checked_sub(FAR) {
            prefetch(&self.ports, links[later].at());
        }
        Some(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_that_look_at_one_time_share_an_event() {
        let mut looks = Looks::new();
        assert!(looks.add(Time(100), LinkId(1)));
        assert!(!looks.add(Time(100), LinkId(2)));
        assert!(looks.add(Time(200), LinkId(3)));
        assert_eq!(looks.due(Time(100)).and_then(Vec::pop), Some(LinkId(2)));
        assert_eq!(looks.due(Time(100)).and_then(Vec::pop), None);
        assert_eq!(looks.due(Time(100)), None);
        assert!(looks.add(Time(100), LinkId(1)));
    }

    /// Some of 2048 times, more than there are places, have to do without: each look at them has an event of its own.
    #[test]
    fn a_time_whose_place_is_taken_has_events_of_its_own() {
        let mut looks = Looks::new();
        let times: Vec<Time> = (1..=2048).map(|number| Time(number * 512)).collect();
        assert!(times.iter().all(|at| looks.add(*at, LinkId(0))));
        let joined = times.iter().filter(|at| !looks.add(**at, LinkId(1))).count();
        assert!(joined <= 1024, "{joined} times share events");
        let due = times.iter().filter(|at| looks.due(**at).and_then(Vec::pop) == Some(LinkId(1))).count();
        assert_eq!(due, joined);
    }
}
