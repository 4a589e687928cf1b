//! Collectives of all members of a communicator: blocking, immediate and persistent.
//!
//! Each is prepared as a [`Call`]: how many bytes the simulator moves, what this rank gives, and how it takes
//! its result. The forms `MPI_X`, `MPI_Ix` and `MPI_X_init` differ in when it gives and when it takes.

/// The blocking, the immediate and the persistent form of what a function prepares, on which communicator.
macro_rules! forms {
    ($($(#[$doc:meta])* $blocking:ident $immediate:ident $persistent:ident $prepare:ident
        on $comm:ident ($($name:ident: $kind:ty),* $(,)?);)*) => {$(
        $(#[$doc])*
        pub fn $blocking(me: &Process, $($name: $kind),*) -> Answer {
            $prepare(me, $($name),*)
                .and_then(|call| call.block(me, $comm))
                .map_err(|error| error.of($comm))
        }

        $(#[$doc])*
        pub fn $immediate(me: &Process, $($name: $kind),*, request: crate::abi::pointers::OutPtr<Request>) -> Answer {
            $prepare(me, $($name),*).and_then(|call| call.begin(me, $comm, request))
                .map_err(|error| error.of($comm))
        }

        $(#[$doc])*
        pub fn $persistent(
            me: &Process,
            $($name: $kind),*,
            _hints: Info,
            request: crate::abi::pointers::OutPtr<Request>,
        ) -> Answer {
            $prepare(me, $($name),*).and_then(|call| call.keep(me, $comm, request))
                .map_err(|error| error.of($comm))
        }
    )*};
}
use forms;

mod exchanging;
mod neighbour;
mod reducing;
mod rooted;
mod values;

pub use exchanging::*;
pub use neighbour::*;
pub use reducing::*;
pub use rooted::*;

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use engine::Bytes;
use mpi::collective::{Collective, Kind, Sizes};
use mpi::operation::{self, Op, Start};

use super::communicator::Communicator;
use super::error;
use super::request::{self, Pending};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Comm, Errhandler, Object, Request};
use crate::abi::pointers::{Address, OutPtr};
use crate::data::meeting::{Given, Key, Open, Part};
use crate::live::process::Process;

/// Contribution of a rank, packed when the collective is called, or started.
type Give = Box<dyn Fn() -> Given>;
/// Taking of a rank's result from what all have given.
type Take = Box<dyn Fn(&Open) -> Answer>;

/// A collective that is about to be called.
pub struct Call {
    comm: Rc<Communicator>,
    collective: Collective,
    give: Give,
    take: Take,
    /// By what it combines; 0 for a function of the program.
    operator: Option<usize>,
}

impl Call {
    /// One with these sizes, which gives and takes nothing.
    fn new(kind: Kind, comm: Rc<Communicator>, sizes: Sizes) -> Call {
        let collective = Collective { kind, sizes, ..Collective::barrier(comm.id) };
        Call { comm, collective, give: Box::new(Given::default), take: Box::new(|_| Ok(())), operator: None }
    }

    /// With this root.
    fn rooted(mut self, root: u32) -> Call {
        self.collective.root = root;
        self
    }

    fn giving(self, give: impl Fn() -> Given + 'static) -> Call {
        Call { give: Box::new(give), ..self }
    }

    fn taking(self, take: impl Fn(&Open) -> Answer + 'static) -> Call {
        Call { take: Box::new(take), ..self }
    }

    /// Calls it on the communicator of a handle, and returns when it is complete.
    pub fn block(self, me: &Process, handle: Comm) -> Answer {
        let (key, place) = (self.comm.next_collective(), self.comm.place as usize);
        let collective = Arc::new(self.collective);
        let others = put_down(me, &self.comm, key, (self.give)(), &collective, self.operator)?;
        let collective = simulated(me, handle, collective, others);
        me.perform(Op::Collective(collective, Start::Blocking), |_| ());
        me.shared.meetings.leave(key, |open| open.agree(place).and_then(|()| (self.take)(open)))
    }

    /// Begins it under a request.
    fn begin(self, me: &Process, handle: Comm, request: OutPtr<Request>) -> Answer {
        let (key, place) = (self.comm.next_collective(), self.comm.place as usize);
        let collective = Arc::new(self.collective);
        let others = put_down(me, &self.comm, key, (self.give)(), &collective, self.operator)?;
        let collective = simulated(me, handle, collective, others);
        let take = self.take;
        let pending = Pending::collective(Box::new(move |me: &Process| {
            let taken = me.shared.meetings.leave(key, |open| open.agree(place).and_then(|()| take(open)));
            taken.map_err(|error| error.of(handle))
        }));
        let begun = request::begin(me, pending, |start| Op::Collective(collective, start));
        request.set(begun);
        Ok(())
    }

    /// Keeps it under a persistent request. Members may start theirs in any order: they meet by the order in
    /// which the requests were made.
    fn keep(self, me: &Process, handle: Comm, request: OutPtr<Request>) -> Answer {
        let Call { comm, collective, give, take, operator } = self;
        let (series, starts) = (comm.next_series(), Cell::new(0));
        let (collective, take) = (Arc::new(collective), Rc::new(take));
        me.catch_up();
        let (key, everybody) = (Key { number: series, ..comm.key() }, comm.everybody as usize);
        let prepare = || me.shared.meetings.prepare(key, everybody, &collective);
        let first = me.shared.spread.is_none().then(prepare).flatten().filter(|_| !comm.is_inter());
        let told = simulated(me, handle, collective.clone(), first);
        let (place, parts) = (comm.place as usize, (comm, collective));
        let again = move |me: &Process| -> Answer<request::Finish> {
            let key = Key { number: series | starts.replace(starts.get() + 1), ..parts.0.key() };
            put_down(me, &parts.0, key, give(), &parts.1, operator)?;
            let take = take.clone();
            Ok(Box::new(move |me: &Process| {
                let taken = me.shared.meetings.leave(key, |open| open.agree(place).and_then(|()| take(open)));
                taken.map_err(|error| error.of(handle))
            }))
        };
        let kept = request::keep(me, Pending::persistent_collective(Rc::new(again)));
        let number = operation::Request(handle::place(kept.0).expect("a request of ours"));
        me.perform(Op::Collective(told, Start::Persistent(number)), |_| ());
        request.set(kept);
        Ok(())
    }
}

/// A collective of the library's own: gives something to all members, and takes what `take` makes of it.
pub fn ask<R: 'static>(
    me: &Process,
    comm: Rc<Communicator>,
    (kind, bytes): (Kind, u64),
    given: Given,
    take: impl FnOnce(&Open) -> R,
) -> Answer<R> {
    let key = comm.next_collective();
    let collective = Arc::new(Collective { kind, sizes: equal(bytes), ..Collective::barrier(comm.id) });
    put_down(me, &comm, key, given, &collective, None)?;
    me.perform(Op::Collective(collective, Start::Blocking), |_| ());
    Ok(me.shared.meetings.leave(key, take))
}

/// Call that the simulator is told: the rank's; or, if its lengths are not those of the first rank's and the program wants to
/// hear of errors, that rank's.
fn simulated(
    me: &Process,
    comm: Comm,
    own: Arc<Collective>,
    first: Option<Arc<Collective>>,
) -> Arc<Collective> {
    let fatal =
        || matches!(error::effective(me, Object::Comm(comm)), Errhandler::ARE_FATAL | Errhandler::ABORT);
    first.filter(|_| !fatal()).unwrap_or(own)
}

/// Puts down what this rank gives. If it has called with another length than the first rank: how that one has called.
pub fn put_down(
    me: &Process,
    comm: &Communicator,
    key: Key,
    given: Given,
    call: &Arc<Collective>,
    operator: Option<usize>,
) -> Answer<Option<Arc<Collective>>> {
    // Who is the first is seen by others.
    me.catch_up();
    me.give_to_others(comm, key, &given);
    let part = Part { given, call: call.clone(), operator, between_groups: comm.is_inter(), imported: false };
    let first = me.shared.meetings.give(key, comm.everybody as usize, comm.place as usize, part)?;
    // The first of all ranks is not known where they are in several processes: the simulator ends the run then.
    Ok(first.filter(|_| me.shared.spread.is_none()))
}

/// The places of those whose contributions a member gets: all, or the other group of an inter-communicator.
fn others(comm: &Communicator) -> Range<usize> {
    let (everybody, size) = (comm.everybody as usize, comm.size as usize);
    match comm.is_inter() {
        false => 0..size,
        // The local group comes first in the row of all places, or last.
        true if comm.place == comm.rank => size..everybody,
        true => 0..everybody - size,
    }
}

/// A list with a length for each of them, zero for all others.
fn of_others(comm: &Communicator, lengths: &Arc<[u64]>) -> Arc<[u64]> {
    if !comm.is_inter() {
        return lengths.clone();
    }
    among(comm, others(comm), lengths)
}

fn among(comm: &Communicator, places: Range<usize>, lengths: &[u64]) -> Arc<[u64]> {
    let mut list = vec![0; comm.everybody as usize];
    list[places].copy_from_slice(lengths);
    list.into()
}

/// The same length for every member \[bytes\].
fn equal(bytes: u64) -> Sizes {
    Sizes::Equal(Bytes(bytes))
}

fn in_place(buffer: Address) -> bool {
    buffer.is_in_place()
}

/// Refuses MPI_IN_PLACE where the standard does not allow it.
pub(super) fn not_in_place(buffer: Address, what: &str) -> Answer {
    if in_place(buffer) {
        return Err(Error::new(Class::BUFFER, format!("MPI_IN_PLACE is not allowed as {what}")));
    }
    Ok(())
}

/// Refuses what is to be put where it comes from (MPI 5.0, 6.2: buffers of one call do not overlap).
pub(super) fn distinct(from: Address, into: Address, bytes: u64) -> Answer {
    if from == into && !from.is_null() && bytes > 0 {
        let reason = "the send buffer is the receive buffer: MPI_IN_PLACE says that";
        return Err(Error::new(Class::BUFFER, reason));
    }
    Ok(())
}
