//! The routes of packets on their way: stretches of one vector, each a list of virtual channels behind a
//! mark with its length.

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// The channels, `link · channels + channel`; and marks.
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
    pub fn insert(&mut self, path: impl ExactSizeIterator<Item = u32>) -> u32 {
        let length = path.len();
        let order = order_of(length + 1);
        let first = self.free[order].pop().unwrap_or_else(|| {
            let first = self.all.len();
            self.all.resize(first + (1 << order), 0);
            u32::try_from(first).expect("fewer than 2^32 hops at a time")
        });
        let mark = MARK | u32::try_from(length).expect("a path has fewer than 2^31 links");
        for (place, lane) in self.all[first as usize..].iter_mut().zip(std::iter::once(mark).chain(path)) {
            *place = lane;
        }
        first + 1
    }

    /// The channel at `place`; behind the last of a path, something that means nothing.
    pub fn lane(&self, place: u32) -> u32 {
        self.all.get(place as usize).copied().unwrap_or(MARK)
    }

    /// Asks for the channel at `place`, which will be needed soon.
    pub fn fetch(&self, place: u32) {
        engine::prefetch(&self.all, place as usize);
    }

    /// Replaces the channel at `place`.
    pub fn set(&mut self, place: u32, lane: u32) {
        self.all[place as usize] = lane;
    }

    /// Number of channels of the path of `place`.
    pub fn length(&self, place: u32) -> u32 {
        self.all[(place - 1 - self.taken(place)) as usize] & !MARK
    }

    /// Number of channels of its path that stand before `place`.
    pub fn taken(&self, place: u32) -> u32 {
        let before = self.all[..place as usize].iter().rposition(|lane| lane & MARK != 0);
        place - 1 - before.expect("every path has a mark") as u32
    }

    /// Gives back the path that `place` is in, or just behind.
    pub fn remove(&mut self, place: u32) {
        let first = place - 1 - self.taken(place);
        let length = self.all[first as usize] & !MARK;
        self.free[order_of(length as usize + 1)].push(first);
    }
}
