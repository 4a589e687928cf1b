//! Making communicators, of one group and of two.

use std::cell::Cell;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use engine::Bytes;
use engine::hash::Digest;
use mpi::Op;
use mpi::collective::{Collective, Kind, Sizes};
use mpi::group::Group;
use mpi::operation::{CommId, NewComm, Peer, Receive, Send, SendMode, Start, Tag, TagMatch, TwoGroups, Via};

use super::collective::put_down;
use super::communicator::{self, Communicator, HOST_RESOURCE, find, find_inter, find_intra};
use super::info::{self, Pairs};
use super::point_to_point::via;
use super::request::Pending;
use super::{attribute, error, group};
use crate::abi::error::{Answer, Class, Error};
use crate::abi::handle::{self, Comm, Errhandler, Group as GroupHandle, Info, Object, Request};
use crate::abi::pointers::{InText, OutPtr};
use crate::abi::{COMM_TYPE, UNDEFINED};
use crate::data::meeting::Given;
use crate::live::hardware::HardwareResource;
use crate::live::process::Process;

/// MPI_Comm_dup
pub fn dup(me: &Process, comm: Comm, new: OutPtr<Comm>) -> Answer {
    dup_with_info(me, comm, Info::NULL, new)
}

/// MPI_Comm_dup_with_info
pub fn dup_with_info(me: &Process, comm: Comm, hints: Info, new: OutPtr<Comm>) -> Answer {
    let given = info::hints(me, hints).map_err(|error| error.of(comm))?;
    via::of_hints(&given).map_err(|error| error.of(comm))?;
    let made = make(me, comm, NewComm::Dup)?;
    info::add_hints_of_comm(me, made, hints)?;
    if let Err(error) = attribute::copy_all(me, comm.into(), made.into()) {
        let _ = attribute::delete_all(me, made.into());
        communicator::give_back(me, made);
        return Err(error);
    }
    new.set(made);
    Ok(())
}

/// MPI_Comm_idup
pub fn idup(me: &Process, comm: Comm, new: OutPtr<Comm>, request: OutPtr<Request>) -> Answer {
    idup_with_info(me, comm, Info::NULL, new, request)
}

/// MPI_Comm_idup_with_info: its handle is there at once, and is a communicator when the request is complete.
pub fn idup_with_info(
    me: &Process,
    comm: Comm,
    hints: Info,
    new: OutPtr<Comm>,
    request: OutPtr<Request>,
) -> Answer {
    let old = find(me, comm)?;
    let given = info::hints(me, hints).map_err(|error| error.of(comm))?;
    let via = via::of_hints(&given).map_err(|error| error.of(comm))?;
    let place = me.communicators.borrow_mut().insert(Rc::new(Communicator::nobody(me.rank)));
    let made = Comm(handle::number(place));
    if let Err(error) = attribute::copy_all(me, comm.into(), made.into()) {
        let _ = attribute::forget(me, made.into());
        me.communicators.borrow_mut().remove(made.0);
        return Err(error);
    }
    error::inherit(me, comm.into(), made.into());
    info::keep_hints(me, made.into(), given);
    let (id, number) = (old.id, Rc::new(Cell::new(0)));
    let begun = number.clone();
    let finish = move |me: &Process| {
        let created = me.perform(Op::TakeNewComm(begun.get()), |done| done.created.clone());
        let created = created.expect("a copy has all members");
        let created = Rc::new(Communicator::of(&created, me.rank, Some(&old)));
        created.via.set(via);
        if let Some(place) = me.communicators.borrow_mut().get_mut(made.0) {
            *place = created;
        }
        Ok(())
    };
    let place = me.requests.borrow_mut().insert(Pending::collective(Box::new(finish)));
    let op = Op::BeginNewComm(id, NewComm::Dup, mpi::operation::Request(place));
    number.set(me.perform(op, |done| done.matched));
    new.set(made);
    request.set(Request(handle::number(place)));
    Ok(())
}

/// MPI_Comm_split
pub fn split(me: &Process, comm: Comm, colour: c_int, key: c_int, new: OutPtr<Comm>) -> Answer {
    if colour < 0 && colour != UNDEFINED {
        let reason = format!("a colour of 0 or more, or MPI_UNDEFINED, not {colour}");
        return Err(Error::new(Class::ARG, reason).of(comm));
    }
    let colour = (colour != UNDEFINED).then_some(i64::from(colour));
    let made = make(me, comm, NewComm::Split { colour, key: key.into() })?;
    new.set(made);
    Ok(())
}

/// MPI_Comm_split_type: hosts, and the groups of their levels, such as sockets, are the parts of the machine.
pub fn split_type(
    me: &Process,
    comm: Comm,
    kind: c_int,
    key: c_int,
    hints: Info,
    new: OutPtr<Comm>,
) -> Answer {
    let old = find(me, comm)?;
    let wanted = info::hints(me, hints).map_err(|error| error.of(comm))?;
    let key = i64::from(key);
    let by_host = NewComm::SplitHost { key };
    let nobody = NewComm::Split { colour: None, key };
    let [shared, unguided, guided, resource] = COMM_TYPE;
    let resource_type = wanted.get(b"mpi_hw_resource_type");
    let names_host =
        matches!(resource_type, Some(b"mpi_shared_memory")) || resource_type == Some(HOST_RESOURCE);
    let levels = &me.shared.hardware_levels;
    let by_level =
        |level: &HardwareResource| NewComm::Split { colour: Some(level.part(me.rank).into()), key };
    let mut resource_name = HOST_RESOURCE;
    let how = if kind == UNDEFINED {
        nobody
    } else if kind == shared {
        by_host
    } else if kind == unguided {
        let host = |member: u32| me.shared.host_of_rank[member as usize];
        let is_larger = |part: &dyn Fn(u32) -> u32| {
            old.group(me.rank).members().any(|member| part(member) != part(me.rank))
        };
        // What is not smaller than the communicator is no part of it.
        if is_larger(&host) {
            by_host
        } else if let Some(level) = levels.iter().find(|level| is_larger(&|member| level.part(member))) {
            resource_name = &level.name;
            by_level(level)
        } else {
            nobody
        }
    } else if kind == guided || kind == resource {
        match wanted.get(b"mpi_pset_name") {
            Some(b"mpi://WORLD") if kind == resource => NewComm::Split { colour: Some(0), key },
            Some(b"mpi://SELF") if kind == resource => NewComm::Split { colour: Some(old.rank.into()), key },
            _ if names_host => by_host,
            _ => {
                let named = levels.iter().find(|level| resource_type == Some(&level.name[..]));
                named.map_or(nobody, by_level)
            }
        }
    } else {
        return Err(Error::new(Class::ARG, format!("a way to split, not {kind}")).of(comm));
    };
    let made = make(me, comm, how)?;
    if kind == unguided && made != Comm::NULL && hints != Info::NULL {
        // The program learns what it has been split by.
        let mut said = Pairs::default();
        said.set(b"mpi_hw_resource_type", resource_name);
        if let Some(pairs) = me.objects.infos.borrow_mut().get_mut(hints.0) {
            said.0.iter().for_each(|(key, value)| pairs.set(key, value));
        }
    }
    new.set(made);
    Ok(())
}

/// The ranks of a group's members in a communicator.
fn ranks_in(me: &Process, old: &Communicator, group: GroupHandle) -> Answer<Arc<[u32]>> {
    let (members, own) = (group::find(me, group)?, old.group(me.rank));
    let rank = |member| own.rank_of(member);
    members
        .members()
        .map(rank)
        .collect::<Option<_>>()
        .ok_or_else(|| Error::new(Class::GROUP, "a member of the group is not in the communicator"))
}

/// MPI_Comm_create
pub fn create(me: &Process, comm: Comm, group: GroupHandle, new: OutPtr<Comm>) -> Answer {
    let old = find(me, comm)?;
    let members = ranks_in(me, &old, group).map_err(|error| error.of(comm))?;
    let made = make(me, comm, NewComm::Create(members))?;
    new.set(made);
    Ok(())
}

/// MPI_Comm_create_group: only the members call.
pub fn create_group(me: &Process, comm: Comm, group: GroupHandle, tag: c_int, new: OutPtr<Comm>) -> Answer {
    let old = find_intra(me, comm)?;
    let members = ranks_in(me, &old, group).map_err(|error| error.of(comm))?;
    let tag = checked_tag(tag).map_err(|error| error.of(comm))?;
    let made = if members.contains(&old.rank) {
        make(me, comm, NewComm::CreateGroup(members, tag))?
    } else {
        Comm::NULL
    };
    new.set(made);
    Ok(())
}

fn checked_tag(tag: c_int) -> Answer<Tag> {
    Tag::try_from(tag).map_err(|_| Error::new(Class::TAG, format!("a tag of 0 or more, not {tag}")))
}

/// A tag for what is told apart by words.
fn tag_of(words: InText) -> Answer<Tag> {
    let words = words.bytes().ok_or_else(|| Error::new(Class::ARG, "no tag"))?;
    let mut digest = Digest::default();
    words.iter().for_each(|byte| digest.fold(u64::from(*byte)));
    let value = digest.value();
    // Above what MPI_Comm_create_group takes.
    Ok(1 << 31 | (value ^ value >> 32) as u32)
}

/// MPI_Comm_create_from_group: only the members call, and MPI need not be initialised.
pub fn create_from_group(
    me: &Process,
    group: GroupHandle,
    words: InText,
    hints: Info,
    handler: Errhandler,
    new: OutPtr<Comm>,
) -> Answer {
    let members = group::find(me, group)?;
    let tag = tag_of(words)?;
    info::hints(me, hints)?;
    let made = of_group(me, &members, tag)?;
    if made != Comm::NULL {
        info::add_hints_of_comm(me, made, hints)?;
        error::attach(me, made.into(), handler)?;
    }
    new.set(made);
    Ok(())
}

fn of_group(me: &Process, members: &Group, tag: Tag) -> Answer<Comm> {
    if members.rank_of(me.rank).is_none() {
        return Ok(Comm::NULL);
    }
    Ok(perform(me, CommId::WORLD, NewComm::CreateGroup(members.members().collect(), tag), None))
}

/// MPI_Intercomm_create: the leaders tell each other who is in their groups, and then their groups.
pub fn intercomm_create(
    me: &Process,
    local: Comm,
    leader: c_int,
    peers: Comm,
    remote_leader: c_int,
    tag: c_int,
    new: OutPtr<Comm>,
) -> Answer {
    let old = find_intra(me, local)?;
    let leader = old.check_rank(leader, Class::RANK).map_err(|error| error.of(local))?;
    let tag = checked_tag(tag).map_err(|error| error.of(local))?;
    let own = old.group(me.rank);
    let told = if old.rank == leader {
        let meet = find(me, peers)?;
        let remote_leader = meet.check_rank(remote_leader, Class::RANK).map_err(|error| error.of(peers))?;
        Some(exchange(me, &meet, remote_leader, tag, &own))
    } else {
        None
    };
    let remote = broadcast(me, &old, leader, told)?;
    let made = of_two(me, own, remote, tag).map_err(|error| error.of(local))?;
    error::inherit(me, local.into(), made.into());
    new.set(made);
    Ok(())
}

/// MPI_Intercomm_create_from_groups: the other group counts at the leader alone.
pub fn intercomm_create_from_groups(
    me: &Process,
    local: GroupHandle,
    leader: c_int,
    remote: GroupHandle,
    remote_leader: c_int,
    words: InText,
    hints: Info,
    handler: Errhandler,
    new: OutPtr<Comm>,
) -> Answer {
    let own = group::find(me, local)?;
    let tag = tag_of(words)?;
    let pairs = info::hints(me, hints)?;
    let via = via::of_hints(&pairs)?;
    let leader = u32::try_from(leader).ok().filter(|leader| *leader < own.size());
    let leader = leader.ok_or_else(|| Error::new(Class::ROOT, "the leader is not a rank of the group"))?;
    let told = if own.rank_of(me.rank) == Some(leader) {
        let other = group::find(me, remote)?;
        if u32::try_from(remote_leader).ok().is_none_or(|leader| leader >= other.size()) {
            return Err(Error::new(Class::ROOT, "the other leader is not a rank of its group"));
        }
        Some(pack(&other))
    } else {
        None
    };
    let among = of_group(me, &own, tag)?;
    let other = broadcast(me, &*find(me, among)?, leader, told)?;
    communicator::give_back(me, among);
    let made = of_two(me, own, other, tag)?;
    find(me, made)?.via.set(via);
    info::keep_hints(me, made.into(), pairs);
    error::attach(me, made.into(), handler)?;
    new.set(made);
    Ok(())
}

fn of_two(me: &Process, local: Group, remote: Group, tag: Tag) -> Answer<Comm> {
    if let Some(both) = local.members().find(|member| remote.rank_of(*member).is_some()) {
        return Err(Error::new(Class::COMM, format!("world rank {both} is in both groups")));
    }
    Ok(perform(me, CommId::WORLD, NewComm::Inter(Arc::new(TwoGroups { local, remote }), tag), None))
}

fn pack(group: &Group) -> Box<[u8]> {
    group.members().flat_map(u32::to_le_bytes).collect()
}

fn unpack(bytes: &[u8]) -> Group {
    let members =
        bytes.chunks_exact(4).map(|member| u32::from_le_bytes(member.try_into().expect("four bytes")));
    Group::new(members.collect()).expect("a group was packed")
}

/// A leader tells the other who is in its group; gives the other's answer.
fn exchange(me: &Process, meet: &Communicator, to: u32, tag: Tag, own: &Group) -> Box<[u8]> {
    let contents = pack(own);
    let bytes = Bytes(contents.len() as u64);
    let data = me.shared.parcels.borrow_mut().keep(contents);
    let (peer, comm) = (Peer::Rank(to), meet.id);
    let send = Send { to: peer, tag, comm, bytes, mode: SendMode::Standard, via: Via::PLATFORM, data };
    let receive = Receive { from: peer, tag: TagMatch::Tag(tag), comm, capacity: Bytes(u64::MAX) };
    let data = me.perform(Op::SendReceive(send, receive), |done| done.status.data);
    me.shared.parcels.borrow_mut().open(data)
}

/// The leader tells its group who is in the other one: first how many, then who.
fn broadcast(me: &Process, comm: &Communicator, leader: u32, told: Option<Box<[u8]>>) -> Answer<Group> {
    let mut group = Group::world(0);
    for bytes in [|_: &Group| 8, |group: &Group| 4 * u64::from(group.size())] {
        let key = comm.next_collective();
        let given = told.clone().map_or_else(Given::default, Given::whole);
        let sizes = Sizes::Equal(Bytes(bytes(&group)));
        let call = Collective { kind: Kind::Bcast, root: leader, sizes, ..Collective::barrier(comm.id) };
        let call = Arc::new(call);
        put_down(me, comm, key, given, &call, None)?;
        me.perform(Op::Collective(call, Start::Blocking), |_| ());
        group = me.shared.meetings.leave(key, |open| unpack(open.block(leader as usize, 0)));
    }
    Ok(group)
}

/// MPI_Intercomm_merge
pub fn intercomm_merge(me: &Process, comm: Comm, high: c_int, new: OutPtr<Comm>) -> Answer {
    find_inter(me, comm)?;
    let made = make(me, comm, NewComm::Merge { high: high != 0 })?;
    new.set(made);
    Ok(())
}

/// Makes a communicator of the members of `comm`, which all call this; it has the same error handler.
pub fn make(me: &Process, comm: Comm, how: NewComm) -> Answer<Comm> {
    let old = find(me, comm)?;
    let copied = matches!(how, NewComm::Dup).then_some(&*old);
    let made = perform(me, old.id, how, copied);
    if made != Comm::NULL {
        error::inherit(me, comm.into(), Object::Comm(made));
    }
    Ok(made)
}

fn perform(me: &Process, old: CommId, how: NewComm, copied: Option<&Communicator>) -> Comm {
    let (id, created) = me.perform(Op::NewComm(old, how), |done| (done.comm, done.created.clone()));
    let Some(created) = created.filter(|_| id != CommId::NULL) else { return Comm::NULL };
    let place = me.communicators.borrow_mut().insert(Rc::new(Communicator::of(&created, me.rank, copied)));
    Comm(handle::number(place))
}
