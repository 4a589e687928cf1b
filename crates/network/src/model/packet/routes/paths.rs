//! The paths of packets on their way: stretches of one vector, each a list of virtual channels behind a
//! mark with its length.

use super::super::index::{ChannelIndex, PathIndex};

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// The channels; and marks.
    all: Vec<u32>,
    /// Free stretches, by the binary logarithm of their length.
    free: [Vec<u32>; 24],
}

/// Set in the mark before a path.
const MARK: u32 = 1 << 31;

/// The smallest power of two that holds `length`, as its exponent.
fn order_of(length: usize) -> usize {
    length.next_power_of_two().trailing_zeros() as usize
}

impl Paths {
    /// Keeps `path` and gives the place of its first channel.
    pub fn insert(&mut self, path: impl ExactSizeIterator<Item = ChannelIndex>) -> PathIndex {
        let length = path.len();
        let order = order_of(length + 1);
        let first = self.free[order].pop().unwrap_or_else(|| {
            let first = self.all.len();
            self.all.resize(first + (1 << order), 0);
            u32::try_from(first).expect("fewer than 2^32 hops at a time")
        });
        let mark = MARK | u32::try_from(length).expect("a path has fewer than 2^31 links");
        let words = std::iter::once(mark).chain(path.map(|channel| channel.0));
        for (place, word) in self.all[first as usize..].iter_mut().zip(words) {
            *place = word;
        }
        PathIndex(first + 1)
    }

    /// The channel at `place`; behind the last of a path, something that means nothing.
    #[inline]
    pub fn channel(&self, place: PathIndex) -> ChannelIndex {
        ChannelIndex(self.all.get(place.at()).copied().unwrap_or(MARK))
    }

    /// Asks for the channel at `place`, which will be needed soon.
    pub fn prefetch(&self, place: PathIndex) {
        engine::prefetch(&self.all, place.at());
    }

    /// Replaces the channel at `place`.
    pub fn set(&mut self, place: PathIndex, channel: ChannelIndex) {
        self.all[place.at()] = channel.0;
    }

    /// Place of the first channel of the path of `place`.
    pub fn first(&self, place: PathIndex) -> PathIndex {
        PathIndex(place.0 - self.taken(place))
    }

    /// Number of channels of its path that stand before `place`, and of all.
    pub fn position(&self, place: PathIndex) -> (u32, u32) {
        let taken = self.taken(place);
        (taken, self.all[place.at() - taken as usize - 1] & !MARK)
    }

    /// Number of channels of its path that stand before `place`.
    pub fn taken(&self, place: PathIndex) -> u32 {
        let before = self.all[..place.at()].iter().rposition(|word| word & MARK != 0);
        place.0 - 1 - before.expect("every path has a mark") as u32
    }

    /// Gives back the path that `place` is in, or just behind.
    pub fn remove(&mut self, place: PathIndex) {
        let mark = self.first(place).0 - 1;
        let length = self.all[mark as usize] & !MARK;
        self.free[order_of(length as usize + 1)].push(mark);
    }
}
