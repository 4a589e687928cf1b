//! Functions of hopcast.h beside MPI: messages with a way of their own, and computing that takes a stated time.

use std::ffi::{c_int, c_void};

use engine::{Bytes, Duration};
use mpi::operation::{Op, SendMode, Start, Work};

use super::export::{enter_as, enter_at_any_time, no_place};
use super::point_to_point::{Lending, Outgoing, settle, via};
use super::request::{self, Pending};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Datatype, Request};
use crate::abi::pointers::FromProgram;
use crate::live::process::Process;

/// Arguments that a call has in common with MPI's.
type Message = (*const c_void, c_int, Datatype, c_int, c_int, Comm);

/// NICs at source and destination, and copies.
type Way = (c_int, c_int, c_int);

/// The message of a call.
///
/// # Safety
/// The program passes it to a function that sends.
unsafe fn outgoing((buffer, count, datatype, to, tag, comm): Message, way: Way) -> Answer<Outgoing> {
    let via = via::of_arguments(way.0, way.1, way.2).map_err(|error| error.of(comm))?;
    // SAFETY: the caller says so.
    let buffer = unsafe { FromProgram::from_program(buffer) };
    Ok(Outgoing { buffer, count: count.into(), datatype, to, tag, comm, via: Some(via) })
}

/// Function of hopcast.h: MPI_Send by these NICs and copies.
///
/// # Safety
/// As MPI_Send.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn hopcast_send(
    buffer: *const c_void,
    count: c_int,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
    source_nic: c_int,
    destination_nic: c_int,
    copies: c_int,
) -> c_int {
    enter_as("MPI_Send", "hopcast_send", |me| -> Answer {
        let message = (buffer, count, datatype, to, tag, comm);
        // SAFETY: the caller says so.
        let message = unsafe { outgoing(message, (source_nic, destination_nic, copies))? };
        let prepared = message.prepare(me, SendMode::Standard, Lending::Allowed)?;
        me.perform(Op::Send(prepared.send, Start::Blocking), |_| ());
        settle(me, prepared.lent);
        Ok(())
    })
}

/// Function of hopcast.h: MPI_Isend by these NICs and copies.
///
/// # Safety
/// As MPI_Isend.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn hopcast_isend(
    buffer: *const c_void,
    count: c_int,
    datatype: Datatype,
    to: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
    source_nic: c_int,
    destination_nic: c_int,
    copies: c_int,
) -> c_int {
    enter_as("MPI_Isend", "hopcast_isend", |me| -> Answer {
        if request.is_null() {
            return Err(no_place("request"));
        }
        let message = (buffer, count, datatype, to, tag, comm);
        // SAFETY: the caller says so.
        let message = unsafe { outgoing(message, (source_nic, destination_nic, copies))? };
        let prepared = message.prepare(me, SendMode::Standard, Lending::Allowed)?;
        let begun = request::begin(me, Pending::send(prepared.lent), |start| Op::Send(prepared.send, start));
        // SAFETY: it is no null pointer, and the caller says that the request may be written there.
        unsafe { *request = begun };
        Ok(())
    })
}

/// Function of hopcast.h: computes for that time on the platform \[s\].
#[unsafe(no_mangle)]
pub extern "C-unwind" fn hopcast_compute(seconds: f64) -> c_int {
    enter_at_any_time("hopcast_compute", |me| -> Answer {
        check(seconds, MOST_SECONDS, "a time to compute")?;
        me.let_pass(Duration::from_seconds(seconds));
        Ok(())
    })
}

/// Function of hopcast.h: computes that many operations, and moves that many bytes through the memory of the node.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn hopcast_compute_flops(flops: f64, bytes: f64) -> c_int {
    enter_at_any_time("hopcast_compute_flops", |me| -> Answer {
        check(flops, MOST_COUNT, "a number of operations")?;
        check(bytes, MOST_COUNT, "a number of bytes")?;
        me.compute(Work::Flops { flops, bytes: Bytes(bytes as u64) });
        Ok(())
    })
}

/// Time that the simulator can count, in picoseconds of 64 bits \[s\].
const MOST_SECONDS: f64 = 1.8e7;
/// Largest number of operations or bytes.
const MOST_COUNT: f64 = 1.8e19;

/// Refuses what is no amount of work, or too large a one.
fn check(value: f64, most: f64, what: &str) -> Answer {
    if (0.0..most).contains(&value) {
        return Ok(());
    }
    let bound = if value >= most { format!("less than {most:e}") } else { "0 or more".to_string() };
    Err(Error::new(Class::ARG, format!("{what} is {bound}, not {value}")))
}

impl Process {
    /// Computes before its next operation.
    fn compute(&self, work: Work) {
        self.end_stretch();
        let (before, moved) = self.take_waited();
        if before > Duration::ZERO {
            self.perform(Op::Compute(crate::live::socket_memory::work(before, moved)), |_| ());
        }
        self.perform(Op::Compute(work), |_| ());
    }
}
