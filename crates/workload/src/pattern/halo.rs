//! Halo exchange on a grid of ranks in one to four dimensions.
//!
//! Each iteration posts a receive from and a send to both neighbours in every dimension, and waits
//! for all of them. A grid of extent two sends two messages to the same neighbour, one each way.
//! Closed form on an idle network without sharing: one iteration takes the time of one exchange.

use std::sync::Arc;

use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};
use mpi::Op;
use mpi::cartesian::dims_create;
use mpi::operation::{Request, Until};

use super::{BYTES, Build, COMPUTE, Common, ITERATIONS, MEMORY, Pattern, Setting, posted, receive, send};

const PARAMETERS: &[Parameter] = &[
    BYTES,
    ITERATIONS,
    COMPUTE,
    MEMORY,
    Parameter {
        name: "sizes",
        kind: Kind::List(&Kind::Integer(1, u32::MAX as i64)),
        default: Some(""),
        summary: "extent of the grid in each dimension; as square as the number of ranks allows if missing",
    },
    Parameter {
        name: "periodic",
        kind: Kind::Flag,
        default: Some("true"),
        summary: "whether the grid wraps around",
    },
];

macro_rules! entries {
    ($($constant:ident, $name:literal, $dimensions:literal, $summary:literal;)*) => {
        $(
            pub(super) const $constant: Entry<Build> = Entry {
                name: $name,
                summary: $summary,
                source: "nearest-neighbour exchange of stencil codes (Bianco 2014; PAGOSA, Kothe et al. 1993)",
                parameters: PARAMETERS,
                examples: &[""],
                build: |arguments, setting| build($dimensions, arguments, setting),
            };
        )*
    };
}
entries! {
    HALO_1D, "halo1d", 1, "halo exchange with 2 neighbours on a line of ranks";
    HALO_2D, "halo2d", 2, "halo exchange with 4 neighbours on a grid of ranks";
    HALO_3D, "halo3d", 3, "halo exchange with 6 neighbours on a grid of ranks";
    HALO_4D, "halo4d", 4, "halo exchange with 8 neighbours on a grid of ranks";
}

struct Halo {
    common: Common,
    sizes: Vec<u32>,
    /// Distance between the numbers of neighbours in each dimension.
    strides: Vec<u32>,
    periodic: bool,
    /// Requests of a rank with neighbours in all directions; ranks at a border use a prefix.
    requests: Vec<Arc<[Request]>>,
}

fn build(dimensions: usize, arguments: &Arguments, setting: Setting) -> Result<Box<dyn Pattern>, BuildError> {
    let given: Vec<u32> = arguments.integers("sizes").iter().map(|size| *size as u32).collect();
    let sizes = if given.is_empty() {
        dims_create(setting.ranks, &vec![0; dimensions]).expect("free dimensions always fit")
    } else {
        given
    };
    let product: u64 = sizes.iter().map(|size| u64::from(*size)).product();
    if sizes.len() != dimensions || product != u64::from(setting.ranks) {
        let reason = format!(
            "{sizes:?} has {} dimensions and {product} ranks; it takes {dimensions} dimensions and {} ranks",
            sizes.len(),
            setting.ranks
        );
        return Err(BuildError::new("sizes", reason));
    }
    let most = 4 * dimensions as u32;
    let requests = (0..=most).map(|count| (0..count).map(Request).collect()).collect();
    let periodic = arguments.flag("periodic").expect("periodic has a default");
    let (common, strides) = (Common::of(arguments), strides(&sizes));
    Ok(Box::new(Halo { common, sizes, strides, periodic, requests }))
}

/// Distances between the numbers of neighbours in each dimension of a grid in row-major order.
fn strides(sizes: &[u32]) -> Vec<u32> {
    (1..=sizes.len()).map(|dimension| sizes[dimension..].iter().product()).collect()
}

impl Halo {
    /// The neighbour in `direction` (`2d` is down, `2d + 1` is up in dimension d), if there is one.
    fn neighbour(&self, rank: u32, direction: usize) -> Option<u32> {
        let dimension = direction / 2;
        let (size, stride) = (self.sizes[dimension], self.strides[dimension]);
        let at = rank / stride % size;
        let to = match (direction % 2 == 1, self.periodic) {
            (true, true) => (at + 1) % size,
            (false, true) => (at + size - 1) % size,
            (true, false) => Some(at + 1).filter(|to| *to < size)?,
            (false, false) => at.checked_sub(1)?,
        };
        Some(rank - at * stride + to * stride)
    }

    /// The `index`-th of the directions in which `rank` has a neighbour.
    fn direction(&self, rank: u32, index: u32) -> (usize, u32) {
        if self.periodic {
            let to = self.neighbour(rank, index as usize).expect("a periodic grid has every neighbour");
            return (index as usize, to);
        }
        (0..2 * self.sizes.len())
            .filter_map(|direction| Some((direction, self.neighbour(rank, direction)?)))
            .nth(index as usize)
            .expect("the index is below the number of neighbours")
    }

    fn neighbours(&self, rank: u32) -> u32 {
        let directions = 2 * self.sizes.len();
        if self.periodic {
            return directions as u32;
        }
        (0..directions).filter(|direction| self.neighbour(rank, *direction).is_some()).count() as u32
    }
}

impl Pattern for Halo {
    fn op(&self, rank: u32, step: u32) -> Option<Op> {
        let count = self.neighbours(rank);
        let (_, within) = self.common.locate(step, 2 * count + 1)?;
        let bytes = self.common.bytes;
        // A message carries the direction in which it travels as its tag.
        Some(if within < count {
            let (direction, from) = self.direction(rank, within);
            Op::Receive(receive(from, (direction ^ 1) as u32, bytes), posted(within))
        } else if within < 2 * count {
            let (direction, to) = self.direction(rank, within - count);
            Op::Send(send(to, direction as u32, bytes), posted(within))
        } else if within == 2 * count {
            Op::Wait(self.requests[2 * count as usize].clone(), Until::All)
        } else {
            self.common.work()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Bytes, Duration};

    fn grid(sizes: &[u32], periodic: bool) -> Halo {
        let common = Common { bytes: Bytes(1), iterations: 1, compute: Duration::ZERO, memory: Bytes(0) };
        Halo { common, sizes: sizes.to_vec(), strides: strides(sizes), periodic, requests: Vec::new() }
    }

    /// Going one way and back again leads home, and every neighbour is one step away.
    #[test]
    fn neighbours_are_mutual() {
        for periodic in [true, false] {
            let halo = grid(&[2, 3, 5], periodic);
            for rank in 0..30 {
                for direction in 0..6 {
                    if let Some(to) = halo.neighbour(rank, direction) {
                        assert_eq!(halo.neighbour(to, direction ^ 1), Some(rank));
                    }
                }
            }
        }
        assert_eq!(grid(&[2, 3, 5], false).neighbours(0), 3);
        assert_eq!(grid(&[3, 3], false).neighbours(4), 4);
    }
}
