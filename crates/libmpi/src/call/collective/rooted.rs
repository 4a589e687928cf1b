//! Collectives from one member to all, or from all to one, that move values as they are.

use std::ffi::c_int;
use std::rc::Rc;

use mpi::collective::{Kind, Sizes};

use super::values::Blocks;
use super::{Call, distinct, equal, in_place, not_in_place, of_others, others};
use crate::abi::arguments::Numbers;
use crate::abi::error::{Answer, Class};
use crate::abi::handle::{Comm, Datatype, Info, Request};
use crate::abi::pointers::Address;
use crate::abi::{PROC_NULL, ROOT};
use crate::call::communicator::{self, Communicator};
use crate::call::user_buffer::UserBuffer;
use crate::data::meeting::Given;
use crate::live::process::Process;

/// Role of a rank in a collective with a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It is the root.
    Root,
    /// It is one of those that the root talks to.
    Other,
    /// It is in the root's group of an inter-communicator, without being the root.
    Idle,
}

/// The communicator of a collective with a root.
pub(super) struct Rooted {
    /// The communicator.
    pub comm: Rc<Communicator>,
    /// The place of the root; for an idle rank another one of its group, for it does not know the root.
    pub root: u32,
    /// Role of this rank.
    pub role: Role,
}

impl Rooted {
    /// As the program says: in an inter-communicator, the root says MPI_ROOT and the others of its group say
    /// MPI_PROC_NULL.
    pub fn new(me: &Process, comm: Comm, root: c_int) -> Answer<Rooted> {
        let comm = communicator::find(me, comm)?;
        let own = comm.place;
        let (root, role) = match root {
            ROOT if comm.is_inter() => (own, Role::Root),
            PROC_NULL if comm.is_inter() => {
                let first = own - comm.rank;
                (if own == first { first + 1 } else { first }, Role::Idle)
            }
            _ => {
                let place = others(&comm).start as u32 + comm.check_rank(root, Class::ROOT)?;
                (place, if place == own { Role::Root } else { Role::Other })
            }
        };
        Ok(Rooted { comm, root, role })
    }

    pub fn is_root(&self) -> bool {
        self.role == Role::Root
    }

    /// True if the root has a block of this rank, or for it: in one group it is among its own members.
    pub fn has_block(&self) -> bool {
        match self.role {
            Role::Root => !self.comm.is_inter(),
            Role::Other => true,
            Role::Idle => false,
        }
    }

    /// Lengths of which this rank knows its own alone.
    fn only(&self, bytes: u64) -> Sizes {
        let mut lengths = vec![0; self.comm.everybody as usize];
        lengths[self.comm.place as usize] = bytes;
        Sizes::ByRank(lengths.into())
    }
}

fn prepare_bcast(
    me: &Process,
    buffer: Address,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let rooted = Rooted::new(me, comm, root)?;
    if rooted.role == Role::Idle {
        return Ok(Call::new(Kind::Bcast, rooted.comm, equal(0)).rooted(rooted.root));
    }
    not_in_place(buffer, "the buffer")?;
    let values = UserBuffer::new(me, buffer, count, datatype)?;
    let gives = rooted.is_root();
    let call = Call::new(Kind::Bcast, rooted.comm, equal(values.bytes())).rooted(rooted.root);
    if gives {
        return Ok(call.giving(move || Given::whole(values.pack())));
    }
    let root = rooted.root as usize;
    Ok(call.taking(move |open| values.put(open.block(root, 0), root)))
}

/// A gather: what this rank gives, and where the root wants everything.
struct Gathered {
    mine: Option<UserBuffer>,
    places: Option<Blocks>,
}

impl Gathered {
    fn new(
        me: &Process,
        (from, count, datatype): (Address, i64, Datatype),
        rooted: &Rooted,
        places: Option<Blocks>,
    ) -> Answer<Gathered> {
        let mine = match &places {
            _ if !rooted.has_block() => None,
            Some(places) if in_place(from) => Some(places.get(rooted.comm.rank as usize)),
            _ => {
                not_in_place(from, "the send buffer, but at the root")?;
                let mine = UserBuffer::new(me, from, count, datatype)?;
                if let Some(places) = &places {
                    distinct(from, places.get(0).at(), mine.bytes())?;
                    distinct(from, places.get(rooted.comm.rank as usize).at(), mine.bytes())?;
                }
                Some(mine)
            }
        };
        Ok(Gathered { mine, places })
    }

    fn call(self, call: Call) -> Call {
        let Gathered { mine, places } = self;
        let first = others(&call.comm).start;
        let call = match mine {
            Some(mine) => call.giving(move || Given::whole(mine.pack())),
            None => call,
        };
        match places {
            Some(places) => call.taking(move |open| places.put(open, first, 0)),
            None => call,
        }
    }
}

fn prepare_gather(
    me: &Process,
    from: Address,
    send_count: i64,
    send_type: Datatype,
    into: Address,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let rooted = Rooted::new(me, comm, root)?;
    let places = if rooted.is_root() {
        not_in_place(into, "the receive buffer")?;
        Some(Blocks::equal(UserBuffer::new(me, into, count, datatype)?, rooted.comm.peers as usize))
    } else {
        None
    };
    let gathered = Gathered::new(me, (from, send_count, send_type), &rooted, places)?;
    let bytes = match (&gathered.mine, &gathered.places) {
        (Some(mine), _) => mine.bytes(),
        (None, Some(places)) => places.get(0).bytes(),
        (None, None) => 0,
    };
    Ok(gathered.call(Call::new(Kind::Gather, rooted.comm, equal(bytes)).rooted(rooted.root)))
}

fn prepare_gatherv(
    me: &Process,
    from: Address,
    send_count: i64,
    send_type: Datatype,
    into: Address,
    counts: Numbers,
    distances: Numbers,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let rooted = Rooted::new(me, comm, root)?;
    let places = if rooted.is_root() {
        not_in_place(into, "the receive buffer")?;
        let peers = rooted.comm.peers as usize;
        Some(Blocks::own(me, into, counts, distances, datatype, peers)?)
    } else {
        None
    };
    let gathered = Gathered::new(me, (from, send_count, send_type), &rooted, places)?;
    // The root knows all lengths, any other member its own: what the simulator asks of each.
    let lengths = match (&gathered.places, &gathered.mine) {
        (Some(places), _) => Sizes::ByRank(of_others(&rooted.comm, &places.lengths())),
        (None, mine) => rooted.only(mine.as_ref().map_or(0, UserBuffer::bytes)),
    };
    Ok(gathered.call(Call::new(Kind::Gatherv, rooted.comm, lengths).rooted(rooted.root)))
}

/// A scatter: what the root gives, and where this rank wants its block.
fn scattered(call: Call, blocks: Option<Blocks>, mine: Option<UserBuffer>) -> Call {
    let (root, rank) = (call.collective.root as usize, call.comm.rank as usize);
    let call = match blocks {
        Some(blocks) => call.giving(move || blocks.pack()),
        None => call,
    };
    match mine {
        Some(mine) => call.taking(move |open| mine.put(open.block(root, rank), root)),
        None => call,
    }
}

/// Refuses a root that scatters from where it wants its own block.
fn not_at_own(blocks: &Blocks, mine: Option<&UserBuffer>, rooted: &Rooted) -> Answer {
    let Some(mine) = mine else { return Ok(()) };
    distinct(blocks.get(0).at(), mine.at(), mine.bytes())?;
    distinct(blocks.get(rooted.comm.rank as usize).at(), mine.at(), mine.bytes())
}

/// Place at which a member wants its block: none, if it is the root and the block stays in place.
fn own_place(
    me: &Process,
    (into, count, datatype): (Address, i64, Datatype),
    rooted: &Rooted,
) -> Answer<Option<UserBuffer>> {
    if !rooted.has_block() || rooted.is_root() && in_place(into) {
        return Ok(None);
    }
    not_in_place(into, "the receive buffer, but at the root")?;
    Ok(Some(UserBuffer::new(me, into, count, datatype)?))
}

fn prepare_scatter(
    me: &Process,
    from: Address,
    send_count: i64,
    send_type: Datatype,
    into: Address,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let rooted = Rooted::new(me, comm, root)?;
    let mine = own_place(me, (into, count, datatype), &rooted)?;
    let (blocks, bytes) = if rooted.is_root() {
        not_in_place(from, "the send buffer")?;
        let each = UserBuffer::new(me, from, send_count, send_type)?;
        let blocks = Blocks::equal(each.clone(), rooted.comm.peers as usize);
        not_at_own(&blocks, mine.as_ref(), &rooted)?;
        (Some(blocks), each.bytes())
    } else {
        (None, mine.as_ref().map_or(0, UserBuffer::bytes))
    };
    let call = Call::new(Kind::Scatter, rooted.comm, equal(bytes)).rooted(rooted.root);
    Ok(scattered(call, blocks, mine))
}

fn prepare_scatterv(
    me: &Process,
    from: Address,
    counts: Numbers,
    distances: Numbers,
    send_type: Datatype,
    into: Address,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Answer<Call> {
    let rooted = Rooted::new(me, comm, root)?;
    let mine = own_place(me, (into, count, datatype), &rooted)?;
    let (blocks, lengths) = if rooted.is_root() {
        not_in_place(from, "the send buffer")?;
        let peers = rooted.comm.peers as usize;
        let blocks = Blocks::own(me, from, counts, distances, send_type, peers)?;
        not_at_own(&blocks, mine.as_ref(), &rooted)?;
        let lengths = Sizes::ByRank(of_others(&rooted.comm, &blocks.lengths()));
        (Some(blocks), lengths)
    } else {
        (None, rooted.only(mine.as_ref().map_or(0, UserBuffer::bytes)))
    };
    let call = Call::new(Kind::Scatterv, rooted.comm, lengths).rooted(rooted.root);
    Ok(scattered(call, blocks, mine))
}

super::forms! {
    /// MPI_Bcast
    bcast ibcast bcast_init prepare_bcast on comm (
        buffer: Address, count: i64, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Gather
    gather igather gather_init prepare_gather on comm (
        from: Address, send_count: i64, send_type: Datatype,
        into: Address, count: i64, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Gatherv
    gatherv igatherv gatherv_init prepare_gatherv on comm (
        from: Address, send_count: i64, send_type: Datatype,
        into: Address, counts: Numbers, distances: Numbers, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Scatter
    scatter iscatter scatter_init prepare_scatter on comm (
        from: Address, send_count: i64, send_type: Datatype,
        into: Address, count: i64, datatype: Datatype, root: c_int, comm: Comm);
    /// MPI_Scatterv
    scatterv iscatterv scatterv_init prepare_scatterv on comm (
        from: Address, counts: Numbers, distances: Numbers, send_type: Datatype,
        into: Address, count: i64, datatype: Datatype, root: c_int, comm: Comm);
}
