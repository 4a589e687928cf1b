//! Partitioned communication: which sends and receives belong together.
//!
//! The k-th MPI_Psend_init of a rank to another with a tag on a communicator belongs to the k-th MPI_Precv_init there
//! (MPI 5.0, 4.2: matched in the order of the initialisation, once). Each pair is a channel, whose number is the tag
//! of its messages in the communicator's second context.

use engine::hash::Map;
use mpi::operation::CommId;

/// Between whom, with which tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Route {
    /// The communicator's number.
    pub comm: CommId,
    /// The world rank of its first member.
    pub first: u32,
    /// The sender, a rank in the communicator.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// The tag.
    pub tag: u32,
}

/// The two ends of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With how many partitions, of how many bytes together.
    Sends(u32, u64),
    /// The other.
    Receives,
}

#[derive(Debug, Default)]
struct Pairs {
    numbers: Vec<u32>,
    sends: usize,
    receives: usize,
}

/// All channels of a run.
#[derive(Default)]
pub struct Channels {
    routes: Map<Route, Pairs>,
    /// The sender's partitions and bytes, once it is there.
    partitions: Vec<Option<(u32, u64)>>,
}

impl Channels {
    /// An end begins: the number of its channel.
    pub fn join(&mut self, route: Route, end: End) -> u32 {
        let pairs = self.routes.entry(route).or_default();
        let place = match end {
            End::Sends(..) => &mut pairs.sends,
            End::Receives => &mut pairs.receives,
        };
        let index = *place;
        *place += 1;
        if index == pairs.numbers.len() {
            pairs.numbers.push(self.partitions.len() as u32);
            self.partitions.push(None);
        }
        let number = pairs.numbers[index];
        if let End::Sends(partitions, bytes) = end {
            self.partitions[number as usize] = Some((partitions, bytes));
        }
        number
    }

    /// Number of partitions of a channel's sender, and of their bytes together, if it is there.
    pub fn partitions(&self, number: u32) -> Option<(u32, u64)> {
        self.partitions[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_meet_in_the_order_of_their_beginning() {
        let route = Route { comm: CommId::WORLD, first: 0, from: 1, to: 2, tag: 9 };
        let mut channels = Channels::default();
        let first = channels.join(route, End::Receives);
        let second = channels.join(route, End::Receives);
        assert_eq!(channels.partitions(first), None);
        assert_eq!(channels.join(route, End::Sends(3, 12)), first);
        assert_eq!(channels.join(Route { tag: 8, ..route }, End::Sends(4, 16)), second + 1);
        assert_eq!(channels.join(route, End::Sends(5, 20)), second);
        assert_eq!(channels.partitions(first), Some((3, 12)));
        assert_eq!(channels.partitions(second), Some((5, 20)));
    }
}
