//! Loop compression: folds the repetitions of a sequence of numbers while it grows.
//!
//! ```text
//! a b b b a b b b c   becomes   2 x (a, 3 x b), c
//! ```
//!
//! When an element is complete, the end of the sequence is compared with the elements before it: with the body of a
//! loop there, which then gets one more round, or with an equal stretch, which becomes a loop of two rounds. While
//! the input repeats the body of the loop at the end, it is only counted. Loops nest, since a loop equals another one
//! of the same body and count. Unfolding gives back exactly the sequence that was pushed; a program whose iterations
//! are alike takes the memory of one of them.
//!
//! Values that accompany the elements (times, say) are summed over the rounds of the loops that contain them.
//!
//! Source: Noeth, Ratn, Mueller, Schulz, de Supinski, "ScalaTrace: Scalable compression and replay of communication
//! traces for high-performance computing" (JPDC 69, 2009), section 3.1, for folding at the end of the sequence.

use engine::hash::Map;

/// One element of a folded sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Item {
    /// A number and how often it repeats, 1 or more.
    One(u32, u64),
    /// An index into [`Folded::bodies`] and the number of rounds, 2 or more.
    Loop(u32, u64),
}

/// A value that is accumulated over the rounds of a loop.
pub trait Sum {
    /// Adds the value of a later round.
    fn add(&mut self, later: &Self);
}

impl Sum for () {
    fn add(&mut self, (): &()) {}
}

/// A folded sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folded<S> {
    /// The sequence.
    pub items: Vec<Item>,
    /// Bodies of loops; a body refers only to bodies before it.
    pub bodies: Vec<Box<[Item]>>,
    /// One sum for each [`Item::One`] of `items`, with the bodies of loops written out.
    pub sums: Vec<S>,
}

/// Folds a sequence while it grows.
pub struct Folding<S> {
    items: Vec<Placed<S>>,
    bodies: Vec<Box<[Item]>>,
    known: Map<Box<[Item]>, u32>,
    /// Index in `items` of the last occurrence of each item.
    last: Map<Item, usize>,
    /// Indices of the loops in `items`, ascending.
    loops: Vec<usize>,
    /// Sums of the input after `items`, which so far repeats the body of the last loop.
    following: Vec<S>,
    /// Run of equal numbers at the end.
    run: Option<(u32, u64, S)>,
    /// Number of items in `bodies`.
    in_bodies: usize,
}

struct Placed<S> {
    item: Item,
    /// Index of the previous equal item.
    before: Option<usize>,
    sums: Vec<S>,
}

/// Longest body of a loop that is searched for \[items\].
const LONGEST: usize = 4096;
/// Number of earlier loops, and of earlier equal items, that are tried as partners of the end.
const TRIED: usize = 8;

impl<S> Default for Folding<S> {
    fn default() -> Folding<S> {
        Folding {
            items: Vec::new(),
            bodies: Vec::new(),
            known: Map::default(),
            last: Map::default(),
            loops: Vec::new(),
            following: Vec::new(),
            run: None,
            in_bodies: 0,
        }
    }
}

impl<S: Sum> Folding<S> {
    /// Appends `number` with its `sum`.
    pub fn push(&mut self, number: u32, sum: S) {
        match &mut self.run {
            Some((last, count, sums)) if *last == number => {
                *count += 1;
                sums.add(&sum);
            }
            run => {
                let ended = run.replace((number, 1, sum));
                self.take_in(ended);
            }
        }
    }

    /// Folds the rest and returns the sequence.
    pub fn finish(mut self) -> Folded<S> {
        let ended = self.run.take();
        self.take_in(ended);
        self.place_following();
        Folded {
            sums: self.items.iter_mut().flat_map(|placed| std::mem::take(&mut placed.sums)).collect(),
            items: self.items.iter().map(|placed| placed.item).collect(),
            bodies: self.bodies,
        }
    }

    /// Memory in use \[items\].
    pub fn held(&self) -> usize {
        self.items.len() + self.in_bodies
    }

    fn take_in(&mut self, run: Option<(u32, u64, S)>) {
        let Some((number, count, sum)) = run else { return };
        let item = Item::One(number, count);
        if let Some(&Placed { item: Item::Loop(body, rounds), .. }) = self.items.last()
            && self.bodies[body as usize].get(self.following.len()) == Some(&item)
        {
            self.following.push(sum);
            if self.following.len() == self.bodies[body as usize].len() {
                let mut sums = self.take_off(self.items.len() - 1);
                sums.iter_mut().zip(&self.following).for_each(|(sum, later)| sum.add(later));
                self.following.clear();
                self.place(Item::Loop(body, rounds + 1), sums);
            }
            return;
        }
        self.place_following();
        self.place(item, vec![sum]);
    }

    /// Ends the loop at the end: the part of a round that followed it becomes ordinary items.
    fn place_following(&mut self) {
        let Some(&Placed { item: Item::Loop(body, _), .. }) = self.items.last() else { return };
        for (at, sum) in std::mem::take(&mut self.following).into_iter().enumerate() {
            self.place(self.bodies[body as usize][at], vec![sum]);
        }
    }

    /// Appends an item, and folds the repetition that it completes.
    fn place(&mut self, item: Item, sums: Vec<S>) {
        self.append(item, sums);
        while self.lengthen() || self.pair() {}
    }

    fn append(&mut self, item: Item, sums: Vec<S>) {
        let at = self.items.len();
        if let Item::Loop(..) = item {
            self.loops.push(at);
        }
        let before = self.last.insert(item, at);
        self.items.push(Placed { item, before, sums });
    }

    /// Removes the items from index `from` on and returns their sums in order.
    fn take_off(&mut self, from: usize) -> Vec<S> {
        for placed in self.items[from..].iter().rev() {
            match placed.before {
                Some(before) => self.last.insert(placed.item, before),
                None => self.last.remove(&placed.item),
            };
        }
        while self.loops.last().is_some_and(|&at| at >= from) {
            self.loops.pop();
        }
        self.items.drain(from..).flat_map(|placed| placed.sums).collect()
    }

    /// Turns the end of the sequence into one more round of the loop before it, if they are equal.
    fn lengthen(&mut self) -> bool {
        let end = self.items.len();
        for at in self.loops.iter().rev().take(TRIED).copied() {
            let Item::Loop(body, rounds) = self.items[at].item else { unreachable!("kept as a loop") };
            let items = &self.bodies[body as usize];
            if end - 1 - at != items.len() || !equal(&self.items[at + 1..], items.iter()) {
                continue;
            }
            let later = self.take_off(at + 1);
            let mut sums = self.take_off(at);
            sums.iter_mut().zip(&later).for_each(|(sum, later)| sum.add(later));
            self.append(Item::Loop(body, rounds + 1), sums);
            return true;
        }
        false
    }

    /// Turns two equal stretches at the end into a loop, if there are such.
    fn pair(&mut self) -> bool {
        let end = self.items.len();
        let mut before = self.items.last().and_then(|last| last.before);
        for _ in 0..TRIED {
            let Some(at) = before else { return false };
            let length = end - 1 - at;
            if length > LONGEST || 2 * length > end {
                return false;
            }
            let (first, second) = self.items[end - 2 * length..].split_at(length);
            if equal(first, second.iter().map(|placed| &placed.item)) {
                let body: Box<[Item]> = second.iter().map(|placed| placed.item).collect();
                let later = self.take_off(end - length);
                let mut sums = self.take_off(end - 2 * length);
                sums.iter_mut().zip(&later).for_each(|(sum, later)| sum.add(later));
                let body = self.body(body);
                self.append(Item::Loop(body, 2), sums);
                return true;
            }
            before = self.items[at].before;
        }
        false
    }

    fn body(&mut self, items: Box<[Item]>) -> u32 {
        if let Some(known) = self.known.get(&items) {
            return *known;
        }
        let number = self.bodies.len() as u32;
        self.in_bodies += items.len();
        self.known.insert(items.clone(), number);
        self.bodies.push(items);
        number
    }
}

/// Compares from the end, since stretches that differ mostly differ there.
fn equal<'a, S>(placed: &[Placed<S>], items: impl DoubleEndedIterator<Item = &'a Item>) -> bool {
    placed.iter().rev().zip(items.rev()).all(|(placed, item)| placed.item == *item)
}

/// Iterates over a folded sequence in the order in which it was pushed.
#[derive(Clone)]
pub struct Walk {
    /// Number of sums of each body.
    widths: Vec<usize>,
    stack: Vec<Level>,
}

#[derive(Clone)]
struct Level {
    /// Body of a loop; `None` for the sequence itself.
    body: Option<u32>,
    /// Index of the current item, and its completed rounds.
    at: usize,
    rounds: u64,
    /// Total rounds of the items that this level has passed, with the current one.
    left: u64,
    /// Index of the first sum of this level, and of the current item.
    first: usize,
    place: usize,
}

impl Walk {
    /// Starts at the beginning of a sequence, each body of which refers only to bodies before it.
    pub fn new<S>(folded: &Folded<S>) -> Walk {
        let mut widths: Vec<usize> = Vec::with_capacity(folded.bodies.len());
        for body in &folded.bodies {
            widths.push(body.iter().map(|item| width(*item, &widths)).sum());
        }
        let level = Level { body: None, at: 0, rounds: 0, left: 1, first: 0, place: 0 };
        Walk { widths, stack: vec![level] }
    }

    /// Next number, and its index in [`Folded::sums`]. All calls must pass the same sequence.
    pub fn next<S>(&mut self, folded: &Folded<S>) -> Option<(u32, usize)> {
        loop {
            let level = self.stack.last_mut()?;
            let items = level.body.map_or(&folded.items[..], |body| &folded.bodies[body as usize]);
            let Some(&item) = items.get(level.at) else {
                level.left -= 1;
                if level.left == 0 {
                    self.stack.pop();
                } else {
                    (level.at, level.place) = (0, level.first);
                }
                continue;
            };
            let place = level.place;
            match item {
                Item::One(number, count) => {
                    level.rounds += 1;
                    if level.rounds == count {
                        (level.at, level.rounds, level.place) = (level.at + 1, 0, place + 1);
                    }
                    return Some((number, place));
                }
                Item::Loop(body, count) => {
                    level.at += 1;
                    level.place += width(item, &self.widths);
                    self.stack.push(Level {
                        body: Some(body),
                        at: 0,
                        rounds: 0,
                        left: count,
                        first: place,
                        place,
                    });
                }
            }
        }
    }
}

fn width(item: Item, widths: &[usize]) -> usize {
    match item {
        Item::One(..) => 1,
        Item::Loop(body, _) => widths[body as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq)]
    struct Seen(Vec<usize>);

    impl Sum for Seen {
        fn add(&mut self, later: &Seen) {
            self.0.extend(&later.0);
        }
    }

    fn folded(numbers: &[u32]) -> Folded<Seen> {
        let mut folding = Folding::default();
        numbers.iter().enumerate().for_each(|(at, number)| folding.push(*number, Seen(vec![at])));
        folding.finish()
    }

    fn check(numbers: &[u32]) -> Folded<Seen> {
        let folded = folded(numbers);
        let mut walk = Walk::new(&folded);
        let unfolded: Vec<_> = std::iter::from_fn(|| walk.next(&folded)).collect();
        assert_eq!(unfolded.iter().map(|(number, _)| *number).collect::<Vec<_>>(), numbers);
        // The sum of each place has the numbers that unfold from it, in order.
        let mut seen = vec![Vec::new(); folded.sums.len()];
        unfolded.iter().enumerate().for_each(|(at, (_, place))| seen[*place].push(at));
        assert_eq!(folded.sums.iter().map(|sum| sum.0.clone()).collect::<Vec<_>>(), seen);
        folded
    }

    #[test]
    fn loops_within_loops_become_one_item() {
        let round: Vec<u32> = [[1, 2].as_slice(), &[3; 7], &[4, 5, 4, 5, 4, 5], &[6]].concat();
        let numbers = round.repeat(1000);
        let folded = check(&numbers);
        assert_eq!(folded.items.len(), 1, "{:?}", folded.items);
        assert!(matches!(folded.items[0], Item::Loop(_, 1000)));
        assert_eq!(folded.sums.len(), 6);
    }

    #[test]
    fn what_comes_before_and_after_a_loop_stays() {
        let numbers = [[9, 8].as_slice(), &[1, 2, 3].repeat(50), &[1, 2, 7]].concat();
        let folded = check(&numbers);
        assert_eq!(folded.items.len(), 6);
    }

    #[test]
    fn every_sequence_comes_back() {
        // A linear congruential generator with a small range, so that repetitions of all kinds occur.
        let mut state = 1_u64;
        for kinds in 2..6 {
            for _ in 0..200 {
                let numbers: Vec<u32> = (0..200)
                    .map(|_| {
                        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        (state >> 33) as u32 % kinds
                    })
                    .collect();
                check(&numbers);
            }
        }
    }
}
