//! C interface for the wrappers. Times are nanoseconds on the rank's clock.

use std::ffi::{CStr, c_char};

use workload::trace::hct::end::{Standing, Waited};
use workload::trace::hct::name::Name;
use workload::trace::hct::rank::{Clock, Head};
use workload::trace::hct::shape::{
    Amount, Begun, Collected, Did, From, How, Made, Matched, Mode, Received, Sent, Shape,
};

use crate::counts::Counting;
use crate::recording;

/// Arguments of every wrapper: function and times of the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Call {
    /// Name of the function, a literal.
    pub name: *const c_char,
    /// Begin \[ns\].
    pub begin_ns: u64,
    /// End \[ns\].
    pub end_ns: u64,
    /// Length of the name \[bytes\].
    pub name_length: u64,
}

/// Request of a non-blocking or persistent call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Left {
    /// Number of the request, or -1 for none.
    pub number: i32,
    /// Nonzero if the request is persistent.
    pub persistent: i32,
}

/// A message, as the program sends or receives it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Message {
    /// Rank on the other side; -1 for any, -2 for MPI_PROC_NULL.
    pub peer: i32,
    /// Tag; -1 for any.
    pub tag: i32,
    /// Communicator.
    pub comm: u32,
    /// 0 standard, 1 buffered, 2 synchronous, 3 ready.
    pub mode: u32,
    /// Length of the message, or of the receive buffer \[bytes\].
    pub bytes: u64,
    /// Request.
    pub request: Left,
    /// Match of a wildcard receive, if known; its source is -1 if not.
    pub came: Came,
}

/// Message that a wildcard receive matched.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Came {
    /// Request of the receive.
    pub request: u32,
    /// Source.
    pub source: i32,
    /// Tag.
    pub tag: i32,
}

/// A collective, as the program calls it.
#[repr(C)]
pub struct Together {
    /// Kind: "allreduce".
    pub kind: *const c_char,
    /// Communicator.
    pub comm: u32,
    /// Root, or 0 for kinds without one.
    pub root: u32,
    /// Size of one element \[bytes\].
    pub element: u32,
    /// Nonzero if the reduction is commutative.
    pub commutative: i32,
    /// Meaning of the sizes. 0: all blocks have `sizes[0]` bytes; 1: by rank; 2: `sizes` to and `received` from each.
    pub amount: u32,
    /// Number of elements of `sizes`.
    pub count: u32,
    /// Sizes of blocks \[bytes\].
    pub sizes: *const u64,
    /// Number of elements of `received`.
    pub count_received: u32,
    /// Sizes of received blocks \[bytes\].
    pub received: *const u64,
    /// Request.
    pub request: Left,
}

/// A new communicator.
#[repr(C)]
pub struct New {
    /// Communicator that it is made of.
    pub parent: u32,
    /// Number of the new communicator; -1 if this rank is not in it.
    pub comm: i32,
    /// Constructor. 0: duplicate; 1: split (`key`, and `colour` or -1 for none); 2: grid; 3: sub-grid; 4: graph; 5:
    /// inter-communicator, with tag `key`; 6: made by its members alone, with tag `key`; 7: merge of two groups, this
    /// one last if `key` is not 0.
    pub how: u32,
    /// Colour of a split; see `how`.
    pub colour: i64,
    /// Key or tag; see `how`.
    pub key: i64,
    /// Number of elements of `first`.
    pub count: u32,
    /// Sizes of a grid; kept dimensions of one; sources of a graph; members of the other group.
    pub first: *const i32,
    /// Number of elements of `second`.
    pub count_second: u32,
    /// Nonzero for each periodic dimension of a grid; destinations of a graph.
    pub second: *const i32,
    /// Number of members.
    pub count_members: u32,
    /// Members, as ranks of the world.
    pub members: *const i32,
}

/// Begins the file of a rank in a folder. At most `block_ns` of the rank's time may be lost if it is killed. `cpu` is
/// not 0 if the clock is the processor's time of the rank.
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

/// Selects the quantities that the next recording counts on the calling thread: `names`, separated by commas, or
/// none. Returns 0, or nonzero if they cannot be counted; then `why` holds the reason, in at most `room` bytes with
/// the final 0.
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

/// Pauses counting: the thread that called [`hct_count`] enters a call of MPI. `polling` is not 0 after a call that
/// found nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hct_count_pause(polling: i32) {
    recording::counting(|counting| counting.pause(polling != 0));
}

/// Resumes counting: the thread leaves a call of MPI.
#[unsafe(no_mangle)]
pub extern "C" fn hct_count_go_on() {
    recording::counting(Counting::go_on);
}

/// Ends the file. `early` is not 0 for a rank that ends without MPI_Finalize or MPI_Abort.
#[unsafe(no_mangle)]
pub extern "C" fn hct_close(early: i32) {
    recording::close(early != 0);
}

/// Call that a rank is in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Place {
    /// Name of the function, a literal.
    pub name: *const c_char,
    /// Length of the name \[bytes\].
    pub name_length: u64,
    /// Begin of the call \[ns\]; 0 for no call.
    pub begin_ns: u64,
    /// Rank on the other side of the message; -1 for any, -2 for MPI_PROC_NULL, -3 for a call without a message, -4
    /// for a call that is repeated as it finds nothing.
    pub peer: i32,
    /// Tag; -1 for any.
    pub tag: i32,
    /// Communicator; all ones for one without a number.
    pub comm: u32,
}

/// Records the call that the rank is in. A thread of the recorder's own calls this about once a second.
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

/// Describes the polls before the next call: their number, the time \[ns\] in which the rank did nothing else
/// (waiting, if that call finds something), and the time `polled_ns` since the first of them.
#[unsafe(no_mangle)]
pub extern "C" fn hct_polled(polls: u64, idle_ns: u64, polled_ns: u64) {
    recording::polled(polls, idle_ns, polled_ns);
}

/// Records a call that only took time.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_overhead(call: Call) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Overhead) };
}

/// Records a one-sided operation on the memory of rank `to`, -1 for MPI_PROC_NULL.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_access(call: Call, to: i32, bytes: u64, answer: u64) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Access { to: u32::try_from(to).ok(), bytes, answer }) };
}

/// Records MPI_Finalize.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_finalize(call: Call) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Finalize) };
}

/// Records MPI_Abort.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_abort(call: Call, code: i32) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Abort { code }) };
}

/// Records a send.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_send(call: Call, send: Message) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Send(sent(send))) };
}

/// Records a receive.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_receive(call: Call, receive: Message) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Receive(received(receive))) };
}

/// Records a combined send and receive.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_send_receive(call: Call, send: Message, receive: Message) {
    // SAFETY: passed on.
    unsafe { push(call, Did::SendReceive { send: sent(send), receive: received(receive) }) };
}

/// Records a probe that found a message.
///
/// # Safety
/// The name is a literal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hct_probe(call: Call, receive: Message) {
    // SAFETY: passed on.
    unsafe { push(call, Did::Probe(received(receive))) };
}

/// Records the completion of requests.
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

/// Records an operation on requests: 0 starts, 1 cancels, 2 frees them.
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

/// Records a collective.
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

/// Records the creation of a communicator.
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

/// Records the release of a communicator.
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
