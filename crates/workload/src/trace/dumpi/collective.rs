//! Collective calls of a trace.
//!
//! Sizes come from the side that MPI_IN_PLACE leaves valid. A rank that is not the root of a gatherv or scatterv
//! recorded only its own block: its list has 0 for the others, and the linear algorithms of real libraries look at no
//! more than that.

use std::sync::Arc;

use engine::{Bytes, Duration};
use mpi::Op;
use mpi::collective::{Collective, Kind, Sizes};
use mpi::operation::Start;

use super::record::Record;
use super::translate::{Reason, State};

/// Reductions below this number are MPI's own: all of them commute.
const FIRST_USER_REDUCTION: i64 = 15;

impl State {
    /// The operation for a collective call; `None` for other calls.
    pub(super) fn collective(&mut self, record: &Record) -> Result<Option<Op>, Reason> {
        let kind = match record.call().name {
            "MPI_Barrier" => Kind::Barrier,
            "MPI_Finalize" if self.run.all_finalize => return Ok(Some(Op::Finalize(Duration::ZERO))),
            "MPI_Bcast" => Kind::Bcast,
            "MPI_Reduce" => Kind::Reduce,
            "MPI_Allreduce" => Kind::Allreduce,
            "MPI_Scan" => Kind::Scan,
            "MPI_Exscan" => Kind::Exscan,
            "MPI_Gather" => Kind::Gather,
            "MPI_Gatherv" => Kind::Gatherv,
            "MPI_Scatter" => Kind::Scatter,
            "MPI_Scatterv" => Kind::Scatterv,
            "MPI_Allgather" => Kind::Allgather,
            "MPI_Allgatherv" => Kind::Allgatherv,
            "MPI_Alltoall" => Kind::Alltoall,
            "MPI_Alltoallv" => Kind::Alltoallv,
            "MPI_Alltoallw" => Kind::Alltoallw,
            "MPI_Reduce_scatter" => Kind::ReduceScatter,
            "MPI_Op_create" => {
                self.reductions.insert(self.int(record, "op")?, self.int(record, "commute")? != 0);
                return Ok(None);
            }
            _ => return Ok(None),
        };
        let handle = self.int(record, "comm")?;
        if let Some(size) = record.number("commsize") {
            self.comms.learn_size(handle, size)?;
        }
        if let Some(rank) = record.number("commrank") {
            self.comms.learn_rank(handle, rank)?;
        }
        let comm = self.comms.get(handle)?;
        let (frame, id) = (comm.frame, comm.id);
        let root = record.number("root").map_or(Ok(0), |root| self.rank(root))?;
        if self.comms.size(frame).is_some_and(|size| root >= size) {
            return Err(format!("names root {root} of a communicator of {:?}", self.comms.size(frame)));
        }
        let (sizes, element) = self.sizes(record, kind)?;
        if let (Sizes::ByRank(list) | Sizes::Own { send: list, .. }, Some(size)) =
            (&sizes, self.comms.size(frame))
        {
            if list.len() != size as usize {
                return Err(format!("gives {} counts for a communicator of {size}", list.len()));
            }
        }
        let commutative = record
            .number("op")
            .is_none_or(|op| op < FIRST_USER_REDUCTION || self.reductions.get(&op).copied().unwrap_or(true));
        let call = Collective {
            kind,
            comm: id,
            root,
            sizes,
            element: element.clamp(1, u32::MAX.into()) as u32,
            commutative,
            algorithm: None,
        };
        Ok(Some(Op::Collective(Arc::new(call), Start::Blocking)))
    }

    /// Sizes of the call's blocks, and of one element.
    fn sizes(&self, record: &Record, kind: Kind) -> Result<(Sizes, u64), Reason> {
        let at_root = record.has("recvcount") && record.has("sendcount");
        let (count, datatype) = match kind {
            Kind::Barrier => return Ok((Sizes::Equal(Bytes(0)), 1)),
            Kind::Gather if at_root => ("recvcount", "recvtype"),
            Kind::Gather => ("sendcount", "sendtype"),
            Kind::Scatter if at_root => ("sendcount", "sendtype"),
            Kind::Scatter | Kind::Allgather | Kind::Alltoall => ("recvcount", "recvtype"),
            Kind::Gatherv => {
                return self.own_or_all(record, "recvcounts", "recvtype", "sendcount", "sendtype");
            }
            Kind::Scatterv => {
                return self.own_or_all(record, "sendcounts", "sendtype", "recvcount", "recvtype");
            }
            Kind::Allgatherv => return self.by_rank(record, "recvcounts", "recvtype"),
            Kind::ReduceScatter => return self.by_rank(record, "recvcounts", "datatype"),
            Kind::Alltoallv | Kind::Alltoallw => return self.each_to_each(record),
            _ => ("count", "datatype"),
        };
        let element = self.types.size(self.int(record, datatype)?).unwrap_or(1);
        Ok((Sizes::Equal(self.bytes(record, count, datatype)?), element))
    }

    fn by_rank(&self, record: &Record, counts: &str, datatype: &str) -> Result<(Sizes, u64), Reason> {
        let datatype = self.int(record, datatype)?;
        let bytes = record.ints(counts).iter().map(|&count| self.bytes_of(count.into(), datatype));
        Ok((Sizes::ByRank(bytes.collect::<Result<_, _>>()?), self.types.size(datatype).unwrap_or(1)))
    }

    /// Sizes of all blocks at the root, and of the own block elsewhere.
    fn own_or_all(
        &self,
        record: &Record,
        counts: &str,
        datatype: &str,
        own_count: &str,
        own_datatype: &str,
    ) -> Result<(Sizes, u64), Reason> {
        if record.has(counts) {
            return self.by_rank(record, counts, datatype);
        }
        let size = self.rank(self.int(record, "commsize")? - 1)? + 1;
        let own = self.rank(self.int(record, "commrank")?)?;
        let mut list = vec![0; size as usize];
        let place =
            list.get_mut(own as usize).ok_or_else(|| format!("rank {own} of a communicator of {size}"))?;
        *place = self.bytes(record, own_count, own_datatype)?.0;
        Ok((Sizes::ByRank(list.into()), self.types.size(self.int(record, own_datatype)?).unwrap_or(1)))
    }

    fn each_to_each(&self, record: &Record) -> Result<(Sizes, u64), Reason> {
        // MPI_Alltoallw has a datatype for each block.
        let list = |counts: &str, one: &str, each: &str| {
            let types = record.ints(each);
            let bytes = record.ints(counts).iter().enumerate().map(|(at, &count)| {
                let datatype = match types.get(at) {
                    Some(&datatype) => i64::from(datatype),
                    None => self.int(record, one)?,
                };
                self.bytes_of(count.into(), datatype)
            });
            bytes.collect::<Result<Arc<[u64]>, Reason>>()
        };
        let send = list("sendcounts", "sendtype", "sendtypes")?;
        let receive = list("recvcounts", "recvtype", "recvtypes")?;
        if send.len() != receive.len() {
            return Err(format!("gives {} counts to send and {} to receive", send.len(), receive.len()));
        }
        let element = record.number("recvtype").and_then(|datatype| self.types.size(datatype)).unwrap_or(1);
        Ok((Sizes::Own { send, receive }, element))
    }
}
