//! The functions that the wrappers call. Times are nanoseconds on the rank's clock.

use std::ffi::{CStr, c_char};

use workload::trace::hct::end::{Standing, Waited};
use workload::trace::hct::name::Name;
use workload::trace::hct::rank::{Clock, Head};
use workload::trace::hct::shape::{
    Amount, Begun, Collected, Did, From, How, Made, Matched, Mode, Received, Sent, Shape,
};

use crate::counts::Counting;
use crate::recording;

/// What a wrapper says of every call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Call {
    /// The function's name, a literal.
    pub name: *const c_char,
    /// When it began \[ns\].
    pub begin_ns: u64,
    /// When it returned \[ns\].
    pub end_ns: u64,
    /// How long the name is \[bytes\].
    pub name_length: u64,
}

/// A request that a call leaves behind.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Left {
    /// Its number, or -1 for none.
    pub number: i32,
    /// Whether it is persistent.
    pub persistent: i32,
}

/// A message as the program gives it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Message {
    /// The other side; -1 any, -2 nobody.
    pub peer: i32,
    /// Its tag; -1 any.
    pub tag: i32,
    /// Its communicator.
    pub comm: u32,
    /// 0 standard, 1 buffered, 2 synchronous, 3 ready.
    pub mode: u32,
    /// Its length, or the room for it.
    pub bytes: u64,
    /// What it leaves behind.
    pub request: Left,
    /// What came, where anything would have done and it is known; source -1 if not.
    pub came: Came,
}

/// What came.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Came {
    /// Under which request.
    pub request: u32,
    /// From whom.
    pub source: i32,
    /// With which tag.
    pub tag: i32,
}

/// A collective as the program gives it.
#[repr(C)]
pub struct Together {
    /// Its short name: "allreduce".
    pub kind: *const c_char,
    /// Over whom.
    pub comm: u32,
    /// Who starts or collects, or 0.
    pub root: u32,
    /// Bytes of one element.
    pub element: u32,
    /// Whether its reduction may be reordered.
    pub commutative: i32,
    /// 0: all blocks have `sizes[0]` bytes; 1: by rank; 2: `sizes` to and `received` from each.
    pub amount: u32,
    /// How many of each.
    pub count: u32,
    /// Bytes.
    pub sizes: *const u64,
    /// How many of the second.
    pub count_received: u32,
    /// Bytes.
    pub received: *const u64,
    /// What it leaves behind.
    pub request: Left,
}

/// A communicator that was made.
#[repr(C)]
pub struct New {
    /// Out of which.
    pub parent: u32,
    /// Its number; -1 where this rank is not in it.
    pub comm: i32,
    /// 0 a copy; 1 a part (`key`: its place; `colour` -1 for none); 2 a grid; 3 a part of a grid; 4 a graph;
    /// 5 two groups, with tag `key`; 6 made by its members alone, with tag `key`; 7 two groups made one, this one last if `key` is not 0.
    pub how: u32,
    /// See `how`.
    pub colour: i64,
    /// See `how`.
    pub key: i64,
    /// Sizes of a grid; what is kept of one; sources of a graph; the other group.
    pub count: u32,
    /// Its elements.
    pub first: *const i32,
    /// Whether a grid's dimensions are periodic; destinations of a graph.
    pub count_second: u32,
    /// Its elements.
    pub second: *const i32,
    /// Its members, ranks of the world.
    pub count_members: u32,
    /// Its elements.
    pub members: *const i32,
}

/// Begins the file of a rank in a folder; `block_ns` is how much of its time may be lost, and `cpu` is not 0 where that
/// is the processor's time for it.
///
/// # Safety
/// Texts end with 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_open(
    folder: *const c_char,
    rank: u32,
    ranks: u32,
    texts: *const *const c_char,
    start_unix_ns: u64,
    tallied: i32,
    cpu: i32,
    block_ns: u64,
) {
    // SAFETY: the caller gives three texts: host, program, library.
    let [host, program, library] = [0, 1, 2].map(|at| unsafe { text(*texts.add(at)) }.to_string());
    let clock = if cpu == 0 { Clock::Wall } else { Clock::Cpu };
    let counts = Vec::new();
    let head =
        Head { rank, ranks, host, start_unix_ns, program, library, tallied: tallied != 0, clock, counts };
    // SAFETY: as above.
    recording::open(unsafe { text(folder) }, head, block_ns);
}

/// The recording that begins next counts this, names with commas, of the thread that calls; nothing if there are none. Not 0
/// if that cannot be: then `why` says in no more than `room` bytes, the 0 at its end among them, what, and why.
///
/// # Safety
/// The text ends with 0; there is such room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_count(names: *const c_char, why: *mut c_char, room: u64) -> i32 {
    // SAFETY: the caller's text.
    let Err(reason) = recording::count(unsafe { text(names) }) else { return 0 };
    let length = reason.len().min((room as usize).saturating_sub(1));
    if room > 0 {
        // SAFETY: the caller's room.
        unsafe {
            why.copy_from_nonoverlapping(reason.as_ptr().cast(), length);
            why.add(length).write(0);
        }
    }
    1
}

/// The thread that called [`hct_count`] comes to a call of MPI, if `polling` is not 0 after one that found nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hct_count_pause(polling: i32) {
    recording::counting(|counting| counting.pause(polling != 0));
}

/// It goes on.
#[unsafe(no_mangle)]
pub extern "C" fn hct_count_go_on() {
    recording::counting(Counting::go_on);
}

/// Ends the file; of a rank that ends without MPI_Finalize and MPI_Abort if `early` is not 0.
#[unsafe(no_mangle)]
pub extern "C" fn hct_close(early: i32) {
    recording::close(early != 0);
}

/// The call in which a rank stands.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Place {
    /// The function's name, a literal.
    pub name: *const c_char,
    /// How long that is \[bytes\].
    pub name_length: u64,
    /// When it began \[ns\]; 0 for no call.
    pub begin_ns: u64,
    /// The other side of its message; -1 any, -2 nobody, -3 if it has no message, -4 if it finds nothing again and again.
    pub peer: i32,
    /// Its tag; -1 any.
    pub tag: i32,
    /// Its communicator; all ones if that has no number.
    pub comm: u32,
}

/// Looks at where the rank stands, once a second or so, from a thread of the recorder's own.
///
/// # Safety
/// The name is a literal, of ASCII.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_watch(place: Place) {
    let Place { name, name_length, begin_ns, peer, tag, comm } = place;
    let standing = (begin_ns > 0 && !name.is_null()).then(|| Standing {
        // SAFETY: as the caller promises.
        call: unsafe { literal(name, name_length) },
        since_ns: begin_ns,
        polls: peer == -4,
        message: (peer > -3).then(|| Waited {
            peer: from(peer),
            tag: u32::try_from(tag).ok(),
            comm: (comm != u32::MAX).then_some(comm),
        }),
    });
    recording::watch(standing);
}

/// What came before the next call: so many tests and probes that found nothing, `polled_ns` from the first one on, and so
/// long \[ns\] in which the rank did nothing else, so that it waited, if that call finds something.
#[unsafe(no_mangle)]
pub extern "C" fn hct_polled(polls: u64, idle_ns: u64, polled_ns: u64) {
    recording::polled(polls, idle_ns, polled_ns);
}

/// A call that only took time.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_overhead(call: Call) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Overhead) };
}

/// A one-sided operation on the memory of rank `to`, -1 for nobody.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_access(call: Call, to: i32, bytes: u64, answer: u64) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Access { to: u32::try_from(to).ok(), bytes, answer }) };
}

/// MPI_Finalize.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_finalize(call: Call) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Finalize) };
}

/// MPI_Abort.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_abort(call: Call, code: i32) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Abort { code }) };
}

/// A send.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_send(call: Call, send: Message) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Send(sent(send))) };
}

/// A receive.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_receive(call: Call, receive: Message) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Receive(received(receive))) };
}

/// Both.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_send_receive(call: Call, send: Message, receive: Message) {
    // SAFETY: passed on.
    unsafe { push(call, Did::SendReceive { send: sent(send), receive: received(receive) }) };
}

/// A probe that found something.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_probe(call: Call, receive: Message) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Probe(received(receive))) };
}

/// Requests that were found complete.
///
/// # Safety
/// The name is a literal; the lists have so many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_complete(
    call: Call,
    count: u32,
    requests: *const u32,
    count_came: u32,
    came: *const Came,
) {
    // SAFETY: the caller's lists.
    let (requests, came) = unsafe { (list(requests, count).to_vec(), list(came, count_came)) };
    let matched =
        came.iter().filter_map(|came| matched(*came).map(|matched| (came.request, matched))).collect();
    // SAFETY: passed on.
    unsafe { push(call, Did::Complete { requests, matched }) };
}

/// What was done with requests: 0 started, 1 cancelled, 2 forgotten.
///
/// # Safety
/// The name is a literal; the list has so many elements, one if they are not started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_requests(call: Call, what: u32, count: u32, requests: *const u32) {
    // SAFETY: the caller's list.
    let requests = unsafe { list(requests, count) }.to_vec();
    let first = requests.first().copied().unwrap_or(0);
    let did = match what {
        0 => Did::Start { requests },
        1 => Did::Cancel { request: first },
        _ => Did::Free { request: first },
    };
    // SAFETY: passed on.
    unsafe { push(call, did) };
}

/// A collective.
///
/// # Safety
/// Names are literals; the lists have so many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_collective(call: Call, together: &Together) {
    // SAFETY: the caller's text and lists.
    let (kind, sizes, from) = unsafe {
        let sizes = list(together.sizes, together.count);
        (text(together.kind), sizes, list(together.received, together.count_received))
    };
    let sizes = match together.amount {
        0 => Amount::Equal(sizes.first().copied().unwrap_or(0)),
        1 => Amount::ByRank(sizes.to_vec()),
        _ => Amount::Own { send: sizes.to_vec(), receive: from.to_vec() },
    };
    let did = Did::Collective(Collected {
        kind: kind.into(),
        comm: together.comm,
        root: together.root,
        sizes,
        element: together.element,
        commutative: together.commutative != 0,
        request: begun(together.request),
    });
    // SAFETY: passed on.
    unsafe { push(call, did) };
}

/// A new communicator.
///
/// # Safety
/// The name is a literal; the lists have so many elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_new_comm(call: Call, new: &New) {
    let unsigned = |list: &[i32]| list.iter().map(|number| *number as u32).collect::<Vec<_>>();
    // SAFETY: the caller's lists.
    let (first, second, members) = unsafe {
        let members = unsigned(list(new.members, new.count_members));
        (list(new.first, new.count), list(new.second, new.count_second), members)
    };
    let flags = |list: &[i32]| list.iter().map(|number| *number != 0).collect();
    let how = match new.how {
        0 => How::Dup,
        2 => How::Cart { sizes: unsigned(first), periodic: flags(second) },
        3 => How::CartSub { keep: flags(first) },
        4 => How::Graph { sources: unsigned(first), destinations: unsigned(second) },
        5 => How::Inter { local: members.clone(), remote: unsigned(first), tag: new.key as u32 },
        7 => How::Merge { high: new.key != 0 },
        6 => How::CreateGroup { members: unsigned(first), tag: new.key as u32 },
        _ => How::Split { colour: (new.colour >= 0).then_some(new.colour), key: new.key },
    };
    let comm = u32::try_from(new.comm).ok();
    // SAFETY: passed on.
    unsafe { push(call, Did::NewComm(Made { parent: new.parent, comm, how, members })) };
}

/// A communicator that was freed.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_free_comm(call: Call, comm: u32) {
    // SAFETY: passed on.
    unsafe { push(call, Did::FreeComm { comm }) };
}

/// # Safety
/// The name is a literal, of ASCII.
unsafe fn push(call: Call, did: Did) {
    // SAFETY: as the caller promises.
    let name = unsafe { literal(call.name, call.name_length) };
    recording::push(&Shape { call: name, did }, call.begin_ns, call.end_ns);
}

/// # Safety
/// The name is a literal, of ASCII, of so many bytes.
unsafe fn literal(name: *const c_char, length: u64) -> Name {
    // SAFETY: the caller's name lives as long as the program.
    unsafe {
        let bytes = std::slice::from_raw_parts(name.cast::<u8>(), length as usize);
        Name(std::str::from_utf8_unchecked(bytes))
    }
}

/// # Safety
/// The text ends with 0, and lives as long as the program if it is kept.
unsafe fn text(text: *const c_char) -> &'static str {
    if text.is_null() {
        return "";
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

/// # Safety
/// There are `count` elements, none if there is no list.
unsafe fn list<'a, T>(first: *const T, count: u32) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(first, count as usize) }
}

fn begun(left: Left) -> Option<Begun> {
    let number = u32::try_from(left.number).ok()?;
    Some(if left.persistent != 0 { Begun::Persistent(number) } else { Begun::Active(number) })
}

fn matched(came: Came) -> Option<Matched> {
    Some(Matched { source: u32::try_from(came.source).ok()?, tag: u32::try_from(came.tag).ok()? })
}

fn sent(send: Message) -> Sent {
    let mode = match send.mode {
        0 => Mode::Standard,
        1 => Mode::Buffered,
        2 => Mode::Synchronous,
        _ => Mode::Ready,
    };
    let (to, tag) = (u32::try_from(send.peer).ok(), send.tag.max(0) as u32);
    Sent { to, tag, comm: send.comm, bytes: send.bytes, mode, request: begun(send.request) }
}

fn from(peer: i32) -> From {
    match peer {
        -1 => From::Any,
        peer => u32::try_from(peer).map_or(From::Null, From::Rank),
    }
}

fn received(receive: Message) -> Received {
    Received {
        from: from(receive.peer),
        tag: u32::try_from(receive.tag).ok(),
        comm: receive.comm,
        capacity: receive.bytes,
        matched: matched(receive.came),
        request: begun(receive.request),
    }
}
