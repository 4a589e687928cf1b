//! Calls of a trace that make, free and query communicators.

use std::sync::Arc;

use mpi::Op;
use mpi::operation::{CartGrid, CommId, NewComm};

use super::comms::{Comm, FrameId};
use super::names::{COMM_NULL, COMM_WORLD};
use super::record::Record;
use super::translate::{Reason, State};

impl State {
    /// The operation for a call on communicators; `None` for other calls.
    pub(super) fn communicator(&mut self, record: &Record) -> Result<Option<Op>, Reason> {
        let name = record.call().name;
        match name {
            "MPI_Comm_size" => return self.comm_size(record).map(|()| None),
            "MPI_Comm_rank" => {
                self.comms.learn_rank(self.int(record, "comm")?, self.int(record, "rank")?)?;
                return Ok(None);
            }
            "MPI_Comm_free" | "MPI_Comm_disconnect" => {
                let comm = self.comms.get(self.int(record, "comm")?)?;
                return Ok(Some(Op::FreeComm(comm.id)));
            }
            "MPI_Comm_dup" | "MPI_Comm_create" | "MPI_Comm_split" | "MPI_Cart_create" | "MPI_Cart_sub"
            | "MPI_Graph_create" => {}
            _ => return Ok(None),
        }
        let handle = self.int(record, "newcomm")?;
        let old = self.comms.get(self.int(record, "oldcomm")?)?.clone();
        let (new, frame, grid) = match name {
            "MPI_Comm_dup" => (NewComm::Dup, old.frame, old.grid),
            "MPI_Comm_create" => {
                let members = self.comms.members_in(self.int(record, "group")?, old.frame)?;
                (NewComm::Create(members.clone()), self.comms.cut(old.frame, members), None)
            }
            "MPI_Comm_split" => {
                let joins = handle != COMM_NULL;
                let colour = joins.then_some(self.int(record, "color")?);
                let new = NewComm::Split { colour, key: self.int(record, "key")? };
                (new, self.comms.new_frame(None, None), None)
            }
            "MPI_Cart_create" => self.cart_create(record, old.frame)?,
            "MPI_Cart_sub" => self.cart_sub(record, &old)?,
            _ => {
                let members = self.first_members(old.frame, self.int(record, "nodes")?)?;
                (NewComm::Create(members.clone()), self.comms.cut(old.frame, members), None)
            }
        };
        self.making = (handle != COMM_NULL).then_some((handle, Comm { id: CommId::NULL, frame, grid }));
        Ok(Some(Op::NewComm(old.id, new)))
    }

    fn comm_size(&mut self, record: &Record) -> Result<(), Reason> {
        let (handle, size) = (self.int(record, "comm")?, self.int(record, "size")?);
        if handle == COMM_WORLD && size != i64::from(self.run.ranks) {
            return Err(format!("the run had {size} ranks, but the trace has files of {}", self.run.ranks));
        }
        self.comms.learn_size(handle, size)
    }

    /// Ranks 0..`count` of a communicator.
    fn first_members(&self, old: FrameId, count: i64) -> Result<Arc<[u32]>, Reason> {
        let size = self.comms.size(old).unwrap_or(self.run.ranks);
        let count = u32::try_from(count).ok().filter(|&count| count <= size);
        count
            .map(|count| (0..count).collect())
            .ok_or_else(|| format!("makes a topology larger than {size} ranks"))
    }

    fn cart_create(&mut self, record: &Record, old: FrameId) -> Result<Made, Reason> {
        let grid = CartGrid {
            sizes: record
                .ints("dims")
                .iter()
                .map(|&size| self.rank(i64::from(size) - 1).map(|n| n + 1))
                .collect::<Result<_, _>>()?,
            periodic: record.ints("periods").iter().map(|&periodic| periodic != 0).collect(),
        };
        if grid.sizes.len() != grid.periodic.len() {
            return Err(format!("has {} sizes and {} periods", grid.sizes.len(), grid.periodic.len()));
        }
        let nodes = grid.sizes.iter().try_fold(1_i64, |nodes, &size| nodes.checked_mul(size.into()));
        let members = self.first_members(old, nodes.unwrap_or(i64::MAX))?;
        let frame = if self.comms.size(old) == Some(members.len() as u32) {
            old
        } else {
            self.comms.cut(old, members)
        };
        let grid = Arc::new(grid);
        Ok((NewComm::Cart(grid.clone()), frame, Some(grid)))
    }

    /// Ranks with the same coordinates in the dimensions left out, in the order of the dimensions kept.
    fn cart_sub(&mut self, record: &Record, old: &Comm) -> Result<Made, Reason> {
        let grid = old.grid.clone().ok_or("cuts a communicator without a grid")?;
        let own =
            self.comms.own(old.frame).ok_or("the trace does not state this process's rank in the grid")?;
        let keep = record.ints("remain_dims");
        if keep.len() != grid.sizes.len() {
            return Err(format!("keeps {} of {} dimensions", keep.len(), grid.sizes.len()));
        }
        let (mut left, mut colour, mut key, mut scales) = (i64::from(own), 0, 0, (1, 1));
        for (&size, &keep) in grid.sizes.iter().zip(keep).rev() {
            let (size, coordinate) = (i64::from(size), left % i64::from(size));
            left /= size;
            let (sum, scale) =
                if keep != 0 { (&mut key, &mut scales.0) } else { (&mut colour, &mut scales.1) };
            *sum += coordinate * *scale;
            *scale *= size;
        }
        let kept = |values: &[u32]| {
            values.iter().zip(keep).filter(|(_, keep)| **keep != 0).map(|(value, _)| *value).collect()
        };
        let periodic =
            grid.periodic.iter().zip(keep).filter(|(_, keep)| **keep != 0).map(|(value, _)| *value).collect();
        let cut = Arc::new(CartGrid { sizes: kept(&grid.sizes), periodic });
        let frame = self.comms.new_frame(Some(scales.0 as u32), Some(key as u32));
        Ok((NewComm::Split { colour: Some(colour), key }, frame, Some(cut)))
    }
}

/// Communicator to make, its frame and its grid.
type Made = (NewComm, FrameId, Option<Arc<CartGrid>>);
