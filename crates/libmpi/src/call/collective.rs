//! Collectives of all members of a communicator, blocking and not.
//!
//! Each is prepared as a [`Call`]: how many bytes the simulator moves, what this rank gives, and how it takes
//! its result. The forms `MPI_X` and `MPI_Ix` differ in when it takes it.

/// The blocking form and the immediate form of what a function prepares.
macro_rules! forms {
    ($($(#[$doc:meta])* $blocking:ident $immediate:ident $prepare:ident($($name:ident: $kind:ty),* $(,)?);)*) => {$(
        $(#[$doc])*
        pub unsafe fn $blocking(me: &Process, $($name: $kind),*) -> Answer {
            // SAFETY: as the contract of `call` says.
            unsafe { $prepare(me, $($name),*) }?.block(me)
        }

        $(#[$doc])*
        pub unsafe fn $immediate(me: &Process, $($name: $kind),*, request: *mut Request) -> Answer {
            // SAFETY: as the contract of `call` says.
            unsafe { $prepare(me, $($name),*)?.begin(me, request) }
        }
    )*};
}
use forms;

mod moving;
mod reducing;

pub use moving::*;
pub use reducing::*;

use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;

use engine::Bytes;
use mpi::collective::{Collective, Kind, Sizes};
use mpi::operation::{Op, Start};

use super::communicator::{self, Communicator};
use super::request::{self, Pending};
use crate::abi::IN_PLACE;
use crate::abi::error::{Answer, Class, Error};
use crate::abi::export::Numbers;
use crate::abi::handle::{Comm, Datatype, Request};
use crate::data::datatype::Layout;
use crate::data::meeting::{Given, Meeting};
use crate::live::process::Process;

/// How a rank takes its result, from what all have given.
type Take = Box<dyn FnOnce(&mut Meeting)>;

/// A collective that is about to be called.
pub struct Call {
    comm: Rc<Communicator>,
    collective: Collective,
    given: Given,
    take: Take,
}

impl Call {
    /// One with these sizes; of values of `element` bytes.
    fn new(kind: Kind, comm: Rc<Communicator>, root: u32, sizes: Sizes, element: usize) -> Call {
        let (id, element) = (comm.id, element.max(1) as u32);
        Call {
            comm,
            collective: Collective {
                kind,
                comm: id,
                root,
                sizes,
                element,
                commutative: true,
                algorithm: None,
            },
            given: Given::default(),
            take: Box::new(|_| ()),
        }
    }

    fn giving(self, given: Given) -> Call {
        Call { given, ..self }
    }

    fn taking(self, take: impl FnOnce(&mut Meeting) + 'static) -> Call {
        Call { take: Box::new(take), ..self }
    }

    /// Puts down what this rank gives; the simulator's call, and what is to be done at its end.
    fn prepare(self, me: &Process) -> (Arc<Collective>, impl FnOnce(&Process) + 'static) {
        let Call { comm, collective, given, take } = self;
        let key = comm.next_collective();
        me.shared.meetings.borrow_mut().give(key, comm.size as usize, comm.rank as usize, given);
        let finish = move |me: &Process| me.shared.meetings.borrow_mut().leave(key, take);
        (Arc::new(collective), finish)
    }

    /// Calls it, and returns when it is complete.
    fn block(self, me: &Process) -> Answer {
        let (collective, finish) = self.prepare(me);
        me.perform(Op::Collective(collective, Start::Blocking), |_| ());
        finish(me);
        Ok(())
    }

    /// Begins it under a request.
    ///
    /// # Safety
    /// `request` is where the program wants it.
    unsafe fn begin(self, me: &Process, request: *mut Request) -> Answer {
        let (collective, finish) = self.prepare(me);
        let pending = Pending::collective(Box::new(finish));
        let begun = request::begin(me, pending, |start| Op::Collective(collective, start));
        // SAFETY: the caller says so.
        unsafe { *request = begun };
        Ok(())
    }
}

/// Some values in the program's memory.
#[derive(Debug, Clone)]
struct Values {
    at: *mut c_void,
    count: i64,
    layout: Layout,
}

impl Values {
    fn new(me: &Process, at: *const c_void, count: i64, datatype: Datatype) -> Answer<Values> {
        let values = Values { at: at.cast_mut(), count, layout: me.layout(datatype)? };
        values.layout.bytes(count)?;
        Ok(values)
    }

    /// Length as a message \[bytes\].
    fn bytes(&self) -> u64 {
        self.count as u64 * self.layout.size as u64
    }

    /// The `count` values that begin `first` values on.
    fn part(&self, first: i64, count: i64) -> Values {
        let at = self.at.wrapping_byte_offset(first as isize * self.layout.extent);
        Values { at, count, layout: self.layout.clone() }
    }

    /// Their contents.
    unsafe fn pack(&self) -> Box<[u8]> {
        // SAFETY: as the contract of `call` says.
        unsafe { self.layout.pack(self.at, self.count) }
    }

    /// Puts contents there.
    unsafe fn put(&self, contents: &[u8]) {
        // SAFETY: as the contract of `call` says; no more than there is room for, whatever was given.
        unsafe {
            let room = self.layout.packed() * self.count as usize;
            self.layout.unpack(&contents[..contents.len().min(room)], self.at);
        }
    }
}

/// A block of values for each member, or from each.
#[derive(Debug, Clone)]
struct Blocks {
    values: Vec<Values>,
}

impl Blocks {
    /// Equal ones, one after the other.
    fn equal(each: Values, size: u32) -> Blocks {
        Blocks {
            values: (0..i64::from(size)).map(|index| each.part(index * each.count, each.count)).collect(),
        }
    }

    /// With counts and distances of their own \[values\].
    ///
    /// # Safety
    /// As the contract of `call` says.
    unsafe fn own(
        me: &Process,
        at: *const c_void,
        counts: Numbers,
        distances: Numbers,
        datatype: Datatype,
        size: u32,
    ) -> Answer<Blocks> {
        let values = (0..size as usize).map(|index| {
            // SAFETY: the caller says so.
            let (count, first) = unsafe { (counts.get(index), distances.get(index)) };
            Ok(Values::new(me, at, count, datatype)?.part(first, count))
        });
        Ok(Blocks { values: values.collect::<Answer<_>>()? })
    }

    /// Bytes of each.
    fn lengths(&self) -> Arc<[u64]> {
        self.values.iter().map(|block| block.bytes()).collect()
    }

    /// The contents of all.
    unsafe fn pack(&self) -> Given {
        let mut starts = Vec::with_capacity(self.values.len() + 1);
        let mut bytes = Vec::new();
        starts.push(0);
        for block in &self.values {
            // SAFETY: as the contract of `call` says.
            unsafe { block.layout.append(block.at, block.count, &mut bytes) };
            starts.push(bytes.len());
        }
        Given { bytes: bytes.into(), starts: starts.into() }
    }
}

/// Of every member the same length \[bytes\].
fn equal(bytes: u64) -> Sizes {
    Sizes::Equal(Bytes(bytes))
}

fn in_place(buffer: *const c_void) -> bool {
    buffer as usize == IN_PLACE
}

/// The communicator of a collective, and its root.
fn rooted(me: &Process, comm: Comm, root: i32) -> Answer<(Rc<Communicator>, u32)> {
    let found = communicator::find(me, comm)?;
    let root = found.check_rank(root, Class::ROOT).map_err(|error: Error| error.of(comm))?;
    Ok((found, root))
}
