//! Matching beside the standard's rules on plain lists, and what it costs.

use super::*;
use engine::random::stream;
use rand_chacha::rand_core::RngCore;
use std::cell::Cell;

thread_local!(static COMPARISONS: Cell<u64> = const { Cell::new(0) });

pub fn count_comparison() {
    COMPARISONS.set(COMPARISONS.get() + 1);
}

/// The standard's rules, word for word, on plain lists.
#[derive(Default)]
struct Oracle {
    receives: Vec<(Option<u32>, Option<u32>, u32)>,
    messages: Vec<(u32, u32, u32)>,
}

fn accepts(receive: (Option<u32>, Option<u32>), message: (u32, u32)) -> bool {
    receive.0.is_none_or(|source| source == message.0) && receive.1.is_none_or(|tag| tag == message.1)
}

impl Oracle {
    fn arrive(&mut self, source: u32, tag: u32, number: u32) -> Option<u32> {
        let at = self.receives.iter().position(|r| accepts((r.0, r.1), (source, tag)));
        match at {
            Some(at) => Some(self.receives.remove(at).2),
            None => {
                self.messages.push((source, tag, number));
                None
            }
        }
    }
    fn post(&mut self, source: Option<u32>, tag: Option<u32>, number: u32) -> Option<u32> {
        let at = self.messages.iter().position(|m| accepts((source, tag), (m.0, m.1)));
        match at {
            Some(at) => Some(self.messages.remove(at).2),
            None => {
                self.receives.push((source, tag, number));
                None
            }
        }
    }
}

#[derive(Default)]
struct Engine {
    receives: Lists<u32>,
    messages: Lists<u32>,
}

impl Engine {
    fn arrive(&mut self, source: u32, tag: u32, number: u32) -> Option<u32> {
        let key = Key { context: CommId(3), source: Rank(source), tag };
        let found = self.receives.take_receive(key, |_| true);
        if found.is_none() {
            self.messages.push(Pattern::exact(key), number);
        }
        found
    }
    fn post(&mut self, source: Option<u32>, tag: Option<u32>, number: u32) -> Option<u32> {
        let pattern = Pattern::new(CommId(3), source.map(Rank), tag);
        let peeked = self.messages.peek_message(pattern).map(|(_, value)| *value);
        let found = self.messages.take_message(pattern, |_| true).map(|(_, value)| value);
        assert_eq!(peeked, found);
        if found.is_none() {
            self.receives.push(pattern, number);
        }
        found
    }
}

/// Random posts and arrivals, in phases where one or the other prevails, so that both lists grow
/// long and drain; the same as the oracle at every step.
#[test]
fn agrees_with_the_standard_s_rules_on_plain_lists() {
    for seed in 0..40 {
        let mut random = stream(seed, "matching-test", 0);
        let (mut engine, mut oracle) = (Engine::default(), Oracle::default());
        let (sources, tags) = (1 + random.next_u32() % 6, 1 + random.next_u32() % 6);
        for number in 0..3_000 {
            let bias = if number / 400 % 2 == 0 { 7 } else { 3 };
            let (source, tag) = (random.next_u32() % sources, random.next_u32() % tags);
            if random.next_u32() % 10 < bias {
                let expected = oracle.arrive(source, tag, number);
                assert_eq!(engine.arrive(source, tag, number), expected, "seed {seed}, step {number}");
            } else if random.next_u32() % 16 == 0 {
                let target = random.next_u32() % (number + 1);
                let at = oracle.receives.iter().position(|receive| receive.2 == target);
                let expected = at.map(|at| oracle.receives.remove(at).2);
                assert_eq!(engine.receives.remove(|_, value| *value == target), expected);
            } else {
                let source = (random.next_u32() % 3 > 0).then_some(source);
                let tag = (random.next_u32() % 3 > 0).then_some(tag);
                let expected = oracle.post(source, tag, number);
                assert_eq!(engine.post(source, tag, number), expected, "seed {seed}, step {number}");
            }
        }
        assert_eq!(engine.receives.iter().count(), oracle.receives.len());
        assert_eq!(engine.messages.iter().count(), oracle.messages.len());
    }
}

/// 100,000 waiting, matched in the order that is worst for a list: last first.
#[test]
fn a_match_costs_no_more_when_a_hundred_thousand_wait() {
    const COUNT: u32 = 100_000;
    for (wild, apart) in [(None, 1), (Some(7), 1), (Some(7), 16), (Some(7), 4096)] {
        COMPARISONS.set(0);
        let mut engine = Engine::default();
        let all = || (0..COUNT).map(|number| number * apart);
        all().for_each(|source| assert_eq!(engine.post(Some(source), wild, source), None));
        all().rev().for_each(|source| assert_eq!(engine.arrive(source, 7, source), Some(source)));
        assert!(engine.receives.is_empty());
        all().for_each(|source| assert_eq!(engine.arrive(source, 7, source), None));
        all().rev().for_each(|source| assert_eq!(engine.post(Some(source), wild, 0), Some(source)));
        assert!(engine.messages.is_empty());
        // Four operations each, with a few looks at heads of buckets in every one.
        let comparisons = COMPARISONS.get();
        assert!(comparisons < 12 * 4 * u64::from(COUNT), "{comparisons} comparisons");
    }
}
