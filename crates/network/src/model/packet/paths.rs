//! The routes of packets on their way: stretches of one vector, each a list of virtual channels.

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// The channels, `link · channels + channel`.
    pub all: Vec<u32>,
    /// Free stretches, by the binary logarithm of their length.
    free: [Vec<u32>; 24],
}

/// The smallest power of two that holds `length`, as its exponent.
fn order_of(length: usize) -> usize {
    length.next_power_of_two().trailing_zeros() as usize
}

impl Paths {
    /// Keeps `path` and gives its first place.
    pub fn insert(&mut self, path: impl ExactSizeIterator<Item = u32>) -> u32 {
        let order = order_of(path.len());
        let first = self.free[order].pop().unwrap_or_else(|| {
            let first = self.all.len();
            self.all.resize(first + (1 << order), 0);
            u32::try_from(first).expect("fewer than 2^32 hops at a time")
        });
        for (place, lane) in self.all[first as usize..].iter_mut().zip(path) {
            *place = lane;
        }
        first
    }

    /// Gives back the stretch from `first` of a path of `length`.
    pub fn remove(&mut self, first: u32, length: usize) {
        self.free[order_of(length)].push(first);
    }
}
