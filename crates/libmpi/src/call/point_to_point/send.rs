//! Sends of all modes, blocking, immediate and persistent.

use std::ffi::c_int;

use engine::Bytes;
use mpi::operation::{self, Copying, Data, Op, Peer, SendMode, Start};

use super::{buffer, receiver, tag_of};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{Comm, Datatype, Request};
use crate::abi::pointers::{Address, OutPtr};
use crate::call::communicator;
use crate::call::request::{self, Pending};
use crate::data::datatype::Layout;
use crate::data::folded;
use crate::data::parcel::{LENT_FROM, Place};
use crate::live::process::Process;
pub use crate::objects::message::Outgoing;

/// A send that is about to begin.
pub struct Prepared {
    /// The simulator's.
    pub send: operation::Send,
    /// Its contents, if the program's memory is lent: to be settled when the send is complete; else 0.
    pub lent: Data,
}

impl Prepared {
    /// Is it complete whatever others do, with nothing lent?
    #[inline]
    fn waits_for_nobody(&self, me: &Process) -> bool {
        let protocol = &me.shared.protocol;
        let eager = protocol.eager_limit.min(protocol.memory_eager_limit);
        let waits = self.send.via.copying == Some(Copying::ZeroCopy);
        !waits && self.lent == 0 && self.send.mode == SendMode::Standard && self.send.bytes <= eager
    }
}

impl Outgoing {
    /// The simulator's send. Long contents are lent, if they `may` be.
    pub fn prepare(&self, me: &Process, mode: SendMode, may: Lending) -> Answer<Prepared> {
        let layout = me.layout(self.datatype).map_err(|error| error.of(self.comm))?;
        self.prepare_laid_out(me, layout, mode, may)
    }

    /// The same for what is known to be laid out so: the program may have freed its datatype.
    pub fn prepare_laid_out(
        &self,
        me: &Process,
        layout: Layout,
        mode: SendMode,
        may: Lending,
    ) -> Answer<Prepared> {
        let comm = communicator::look(me, self.comm)?;
        let prepare = || -> Answer<Prepared> {
            let bytes = Bytes(layout.bytes(self.count)?);
            let (to, tag) = (receiver(&comm, self.to)?, tag_of(self.tag)?);
            if self.buffer.is_null() && bytes.0 > 0 && layout.basic.is_some() && to != Peer::Null {
                let reason = format!("{} values at MPI_BOTTOM or a null pointer", self.count);
                return Err(Error::new(Class::BUFFER, reason));
            }
            let (mut lent, mut data) = (0, 0);
            if mode == SendMode::Buffered {
                buffer::claim(me, self.comm, bytes.0, to == Peer::Null)?;
            }
            if to != Peer::Null && bytes.0 > 0 {
                let mut parcels = me.shared.parcels.borrow_mut();
                // SAFETY: the program vouches for that many values there (`Address`).
                if let Some(pieces) = unsafe { folded::pack(&layout, self.buffer.pointer(), self.count) } {
                    data = parcels.keep_pieces(pieces, bytes.0);
                } else if bytes.0 >= LENT_FROM
                    && may == Lending::Allowed
                    && mode != SendMode::Buffered
                    && !me.shared.apart
                {
                    let place = Place { at: self.buffer, count: self.count, layout };
                    lent = parcels.lend(place, me.rank);
                    data = lent;
                } else {
                    data = parcels.pack(&layout, self.buffer, self.count);
                }
            }
            let via = self.via.unwrap_or(comm.via.get());
            let send = operation::Send { to, tag, comm: comm.id, bytes, mode, via, data };
            Ok(Prepared { send, lent })
        };
        prepare().map_err(|error| error.of(self.comm))
    }

    /// Refuses what is wrong with it, without sending; how its values are laid out.
    fn check(&self, me: &Process) -> Answer<Layout> {
        let comm = communicator::find(me, self.comm)?;
        let check = || -> Answer<Layout> {
            let layout = me.layout(self.datatype)?;
            layout.bytes(self.count)?;
            receiver(&comm, self.to)?;
            tag_of(self.tag)?;
            Ok(layout)
        };
        check().map_err(|error| error.of(self.comm))
    }
}

/// Permission for a send to leave its contents where they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lending {
    /// Until it is complete.
    Allowed,
    /// Contents are overwritten before.
    Refused,
}

/// The program may use the memory again that was lent.
pub fn settle(me: &Process, lent: Data) {
    if lent != 0 {
        me.shared.parcels.borrow_mut().settle(lent);
    }
}

macro_rules! sends {
    ($($(#[$doc:meta])* $blocking:ident $immediate:ident $persistent:ident $mode:ident;)*) => {$(
        $(#[$doc])*
        pub fn $blocking(
            me: &Process, buffer: Address, count: i64, datatype: Datatype, to: c_int, tag: c_int, comm: Comm,
        ) -> Answer {
            let message = Outgoing { buffer, count, datatype, to, tag, comm, via: None };
            let prepared = message.prepare(me, SendMode::$mode, Lending::Allowed)?;
            if prepared.waits_for_nobody(me) {
                me.perform_ahead(Op::Send(prepared.send, Start::Blocking));
            } else {
                me.perform(Op::Send(prepared.send, Start::Blocking), |_| ());
                settle(me, prepared.lent);
            }
            Ok(())
        }

        $(#[$doc])*
        pub fn $immediate(
            me: &Process, buffer: Address, count: i64, datatype: Datatype, to: c_int, tag: c_int, comm: Comm,
            request: OutPtr<Request>,
        ) -> Answer {
            let message = Outgoing { buffer, count, datatype, to, tag, comm, via: None };
            let prepared = message.prepare(me, SendMode::$mode, Lending::Allowed)?;
            let begun = request::begin(me, Pending::send(prepared.lent), |start| Op::Send(prepared.send, start));
            request.set(begun);
            Ok(())
        }

        $(#[$doc])*
        pub fn $persistent(
            me: &Process, buffer: Address, count: i64, datatype: Datatype, to: c_int, tag: c_int, comm: Comm,
            request: OutPtr<Request>,
        ) -> Answer {
            let message = Outgoing { buffer, count, datatype, to, tag, comm, via: None };
            let layout = message.check(me)?;
            let kept = request::keep(me, Pending::persistent_send(message, layout, SendMode::$mode));
            request.set(kept);
            Ok(())
        }
    )*};
}

sends! {
    /// MPI_Send and its kin: the library chooses whether it is buffered.
    send isend send_init Standard;
    /// MPI_Bsend and its kin: into the buffer that the program has attached.
    bsend ibsend bsend_init Buffered;
    /// MPI_Ssend and its kin: complete when the receive has begun.
    ssend issend ssend_init Synchronous;
    /// MPI_Rsend and its kin: the receive is posted.
    rsend irsend rsend_init Ready;
}
