//! Grids.

use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use mpi::cartesian;
use mpi::operation::{CartGrid, NewComm};

use super::{Kind, fill, mapped, refused, seen, with_topology};
use crate::abi::PROC_NULL;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::Comm;
use crate::abi::pointers::{InList, InOutList, OutList, OutPtr};
use crate::call::communicator::{self, Communicator};
use crate::call::creation;
use crate::call::datatype::truth;
use crate::live::process::Process;

/// The communicator of a handle and its grid.
fn find(me: &Process, comm: Comm) -> Answer<(Rc<Communicator>, Arc<CartGrid>)> {
    let (found, topology) = with_topology(me, comm)?;
    match &topology.kind {
        Kind::Cart(grid) => Ok((found, grid.clone())),
        _ => refused(comm, Class::TOPOLOGY, "a communicator without a Cartesian topology"),
    }
}

/// A grid of the program, on the ranks of `comm`.
fn grid(
    me: &Process,
    comm: Comm,
    dimensions: c_int,
    sizes: InList<c_int>,
    periods: InList<c_int>,
) -> Answer<(Rc<Communicator>, CartGrid)> {
    let found = communicator::find_intra(me, comm)?;
    let Ok(dimensions) = usize::try_from(dimensions) else {
        return refused(comm, Class::DIMS, format!("a number of dimensions of 0 or more, not {dimensions}"));
    };
    let (sizes, periods) =
        (sizes.values(dimensions).collect::<Vec<_>>(), periods.values(dimensions).collect::<Vec<_>>());
    if let Some(size) = sizes.iter().find(|size| **size < 1) {
        return refused(comm, Class::DIMS, format!("sizes of 1 or more, not {size}"));
    }
    let grid = CartGrid {
        sizes: sizes.iter().map(|size| *size as u32).collect(),
        periodic: periods.iter().map(|period| *period != 0).collect(),
    };
    if grid.size().is_none_or(|needed| needed > found.size) {
        let reason = format!("a grid of sizes {sizes:?} does not fit {} ranks", found.size);
        return refused(comm, Class::TOPOLOGY, reason);
    }
    Ok((found, grid))
}

/// MPI_Cart_create
pub fn cart_create(
    me: &Process,
    comm: Comm,
    dimensions: c_int,
    sizes: InList<c_int>,
    periods: InList<c_int>,
    _reorder: c_int,
    new: OutPtr<Comm>,
) -> Answer {
    new.set(Comm::NULL);
    let (_, grid) = grid(me, comm, dimensions, sizes, periods)?;
    let made = creation::make(me, comm, NewComm::Cart(Arc::new(grid)))?;
    new.set(made);
    Ok(())
}

/// MPI_Cart_map
pub fn cart_map(
    me: &Process,
    comm: Comm,
    dimensions: c_int,
    sizes: InList<c_int>,
    periods: InList<c_int>,
    rank: OutPtr<c_int>,
) -> Answer {
    let (found, grid) = grid(me, comm, dimensions, sizes, periods)?;
    rank.set(mapped(&found, grid.size().expect("it has been checked")));
    Ok(())
}

/// MPI_Cart_sub
pub fn cart_sub(me: &Process, comm: Comm, remain: InList<c_int>, new: OutPtr<Comm>) -> Answer {
    let (_, grid) = find(me, comm)?;
    let remain = remain.values(grid.sizes.len()).collect::<Vec<_>>();
    let remain = remain.iter().map(|keeps| *keeps != 0).collect();
    let made = creation::make(me, comm, NewComm::CartSub(remain))?;
    new.set(made);
    Ok(())
}

/// MPI_Cartdim_get
pub fn cartdim_get(me: &Process, comm: Comm, dimensions: OutPtr<c_int>) -> Answer {
    let (_, grid) = find(me, comm)?;
    dimensions.set(grid.sizes.len() as c_int);
    Ok(())
}

/// Refuses room for fewer dimensions than there are.
fn check_room(comm: Comm, grid: &CartGrid, most: c_int) -> Answer {
    let dimensions = grid.sizes.len();
    if most < dimensions as c_int {
        return refused(comm, Class::ARG, format!("room for {dimensions} dimensions, not for {most}"));
    }
    Ok(())
}

/// MPI_Cart_get
pub fn cart_get(
    me: &Process,
    comm: Comm,
    most: c_int,
    sizes: OutList<c_int>,
    periods: OutList<c_int>,
    coordinates: OutList<c_int>,
) -> Answer {
    let (found, grid) = find(me, comm)?;
    check_room(comm, &grid, most)?;
    fill(sizes, most, grid.sizes.iter().map(|size| *size as c_int));
    fill(periods, most, grid.periodic.iter().map(|wraps| truth(*wraps)));
    fill(coordinates, most, grid.coordinates(found.rank).into_iter().map(|at| at as c_int));
    Ok(())
}

/// MPI_Cart_coords
pub fn cart_coords(
    me: &Process,
    comm: Comm,
    rank: c_int,
    most: c_int,
    coordinates: OutList<c_int>,
) -> Answer {
    let (found, grid) = find(me, comm)?;
    let rank = found.check_rank(rank, Class::RANK).map_err(|error| error.of(comm))?;
    check_room(comm, &grid, most)?;
    fill(coordinates, most, grid.coordinates(rank).into_iter().map(|at| at as c_int));
    Ok(())
}

/// MPI_Cart_rank
pub fn cart_rank(me: &Process, comm: Comm, coordinates: InList<c_int>, rank: OutPtr<c_int>) -> Answer {
    let (_, grid) = find(me, comm)?;
    let wanted: Vec<i64> =
        coordinates.values(grid.sizes.len()).collect::<Vec<_>>().into_iter().map(i64::from).collect();
    let Some(found) = grid.rank(&wanted) else {
        let reason = format!("coordinates in a grid of sizes {:?}, not {wanted:?}", grid.sizes);
        return refused(comm, Class::ARG, reason);
    };
    rank.set(found as c_int);
    Ok(())
}

/// MPI_Cart_shift
pub fn cart_shift(
    me: &Process,
    comm: Comm,
    direction: c_int,
    by: c_int,
    source: OutPtr<c_int>,
    destination: OutPtr<c_int>,
) -> Answer {
    let (found, grid) = find(me, comm)?;
    let dimension = usize::try_from(direction).ok().filter(|dimension| *dimension < grid.sizes.len());
    let Some(dimension) = dimension else {
        let dimensions = grid.sizes.len();
        let reason = format!("one of {dimensions} dimensions, from 0 on, not {direction}");
        return refused(comm, Class::DIMS, reason);
    };
    let (from, to) = grid.shift(found.rank, dimension, by.into());
    source.set(from.map_or(PROC_NULL, seen));
    destination.set(to.map_or(PROC_NULL, seen));
    Ok(())
}

/// MPI_Dims_create
pub fn dims_create(_: &Process, ranks: c_int, dimensions: c_int, sizes: InOutList<c_int>) -> Answer {
    let Ok(dimensions) = usize::try_from(dimensions) else {
        let reason = format!("a number of dimensions of 0 or more, not {dimensions}");
        return Err(Error::new(Class::DIMS, reason));
    };
    let sizes = sizes.values(dimensions);
    let wanted = sizes.to_vec();
    let fixed: Option<Vec<u32>> = wanted.iter().map(|size| u32::try_from(*size).ok()).collect();
    let ranks_given = u32::try_from(ranks).ok().filter(|ranks| *ranks > 0);
    let balanced = ranks_given.zip(fixed).and_then(|(ranks, fixed)| match fixed.len() {
        0 => Some(Vec::new()),
        _ => cartesian::dims_create(ranks, &fixed),
    });
    let Some(balanced) = balanced else {
        let reason =
            format!("{ranks} ranks cannot lie in a grid of sizes {wanted:?}, where 0 is to be chosen");
        return Err(Error::new(Class::DIMS, reason));
    };
    sizes.iter_mut().zip(balanced).for_each(|(place, size)| *place = size as c_int);
    Ok(())
}
