//! Block placement: a box of routers, such as schedulers of torus machines give to each job.
//!
//! The box is the one of least diameter that holds the job's hosts; among equals the one with the fewest routers, then
//! the one that fills the last dimensions first (on Tofu the groups of 2 x 3 x 2). Hosts are filled router after router,
//! the first dimension fastest. The box lies at the origin or, if only some hosts may be taken, at the first place where
//! all of its hosts may.
//!
//! Networks that are no grids number the hosts of a leaf, a group or a subtree consecutively: there the block is the
//! linear order.

use engine::registry::{Arguments, BuildError};
use network::HostId;
use network::topology::grid::{Connection, Grid};

use super::{RANKS, Request};

/// Hosts of the block in the order of filling, at least `needed` of them.
pub(super) fn hosts(
    arguments: &Arguments,
    request: &Request,
    needed: u32,
) -> Result<Option<Vec<HostId>>, BuildError> {
    let shape: Vec<u32> = arguments.integers("shape").into_iter().map(|size| size as u32).collect();
    // A crossbar is a grid without dimensions.
    let Some(grid) = request.grid.filter(|grid| !grid.dimensions().is_empty()) else {
        if shape.is_empty() {
            return Ok(None);
        }
        let reason = "a shape is for grids (torus, mesh, hyperx, …), and this network is none; leave it out";
        return Err(BuildError::new("shape", reason));
    };
    let sizes: Vec<u32> = grid.dimensions().iter().map(|dimension| dimension.shape.size).collect();
    let routers: u32 = sizes.iter().product();
    let per_router = request.hosts / routers;
    let block = if shape.is_empty() {
        most_compact(grid, &sizes, needed.div_ceil(per_router)).ok_or_else(|| {
            BuildError::new(
                RANKS,
                format!("{needed} hosts are needed, and the machine has {}", request.hosts),
            )
        })?
    } else {
        check(&shape, &sizes, needed, per_router)?;
        shape
    };
    let free = |host: u32| request.among.is_none_or(|among| among.binary_search(&host).is_ok());
    let hosts_at = |origin: Vec<u32>| {
        let (sizes, cells) = (&sizes, cells(&block));
        let routers = cells.map(move |cell| router(sizes, &cell, &origin));
        routers.flat_map(move |router| (0..per_router).map(move |slot| router * per_router + slot))
    };
    let found = cells(&sizes).find(|origin| hosts_at(origin.clone()).all(free));
    let origin = found.ok_or_else(|| {
        let reason = format!("no box of {} routers is free for this job", text(&block));
        BuildError::new("kind", reason)
    })?;
    Ok(Some(hosts_at(origin).map(HostId).collect()))
}

/// Checks that the user's shape fits the network and the job.
fn check(shape: &[u32], sizes: &[u32], needed: u32, per_router: u32) -> Result<(), BuildError> {
    let wrong = |reason: String| Err(BuildError::new("shape", reason));
    if shape.len() != sizes.len() {
        return wrong(format!(
            "{} has {} dimensions; the network is {}, which has {}",
            text(shape),
            shape.len(),
            text(sizes),
            sizes.len()
        ));
    }
    if shape.iter().zip(sizes).any(|(block, size)| block > size) {
        return wrong(format!("{} is larger than the network, {}", text(shape), text(sizes)));
    }
    let room = shape.iter().map(|size| u64::from(*size)).product::<u64>() * u64::from(per_router);
    if room < needed.into() {
        return wrong(format!("{} has {room} hosts, and the job needs {needed}", text(shape)));
    }
    Ok(())
}

/// Box of least diameter with at least `routers` routers; the module explains ties.
fn most_compact(grid: &Grid, sizes: &[u32], routers: u32) -> Option<Vec<u32>> {
    let reach = |number: usize, size: u32| {
        let shape = grid.dimensions()[number].shape;
        match shape.connection {
            Connection::Ring if size == shape.size => size / 2,
            Connection::Full => u32::from(size > 1),
            _ => size - 1,
        }
    };
    cells(sizes)
        .map(|cell| cell.iter().map(|last| last + 1).collect::<Vec<u32>>())
        .filter(|block| block.iter().map(|size| u64::from(*size)).product::<u64>() >= routers.into())
        .min_by_key(|block| {
            let diameter: u32 = block.iter().enumerate().map(|(number, size)| reach(number, *size)).sum();
            let count: u64 = block.iter().map(|size| u64::from(*size)).product();
            let last_filled_first: Vec<_> = block.iter().rev().map(|size| std::cmp::Reverse(*size)).collect();
            (diameter, count, last_filled_first)
        })
}

/// Cells of a box, the first dimension fastest.
fn cells(sizes: &[u32]) -> impl Iterator<Item = Vec<u32>> + use<> {
    let sizes = sizes.to_vec();
    let count: u32 = sizes.iter().product();
    (0..count).map(move |mut index| {
        sizes
            .iter()
            .map(|size| {
                let coordinate = index % size;
                index /= size;
                coordinate
            })
            .collect()
    })
}

/// Number of the router at `cell` of the box that begins at `origin`; boxes wrap around the ends of axes.
fn router(sizes: &[u32], cell: &[u32], origin: &[u32]) -> u32 {
    let place = cell.iter().zip(origin).zip(sizes);
    place.rev().fold(0, |router, ((cell, origin), size)| router * size + (cell + origin) % size)
}

fn text(sizes: &[u32]) -> String {
    sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(" x ")
}
