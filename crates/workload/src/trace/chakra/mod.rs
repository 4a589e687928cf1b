//! Chakra, MLCommons' execution traces: what the accelerators of a machine-learning run compute and
//! communicate, as a graph of dependencies, one file for each.
//!
//! A file `NAME.RANK.et` (protocol buffers) or `NAME.RANK.json` has the nodes of one rank: computations
//! with their durations, sends and receives, collectives; each with the nodes that must be done before it.
//!
//! What replay makes of it (`graph::Walk`): a node begins when all nodes that it depends on, by control or by
//! data, are done; communication does not block. A rank computes on two processors, the host's (nodes with
//! `is_cpu_op`) and the accelerator's (all others), each of which does one node at a time. The collectives of a
//! group begin on every rank in one order, as MPI requires: that of the file, as far as dependencies allow.
//! Nodes of memory and storage take their recorded duration, on the processor. A collective that ran on the
//! host's processor is what started that of the accelerator: it takes its duration and communicates nothing.
//!
//! A send is done when its bytes are buffered, whether or not they are received: traces have receives that depend
//! on the sends of the same step, of all ranks in a ring.
//!
//! The bytes of a collective are what a rank puts into it: the whole vector of an allreduce, reduce or
//! broadcast, the own block of an allgather or gather, the whole input of a reduce-scatter, all-to-all or
//! scatter, of which each rank gets an equal part, rounded up. The root is rank 0 of the group where no `root_rank`
//! says otherwise. Groups are those that `pg_name` names, with the members that a node of metadata lists;
//! otherwise all ranks.
//! Source: Chakra schema 0.0.4, `et_def.proto`; ASTRA-sim 2, `Workload.cc`, `HardwareResource.cc`, `Ring.cc`
//! (sizes).

mod json;
mod nodes;
mod parts;
mod proto;
mod replay;
mod schedule;
pub mod set;

pub use set::{ChakraSet, FORMAT};
