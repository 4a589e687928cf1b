//! Moves formal data through an algorithm, round by round, and checks what each rank has at the end.
//!
//! A value is a sequence of ranks (whose contributions are combined, in this order) of one part of the
//! vector or of one block. Messages are taken only when their receiver is in the round that wants them,
//! and a round ends when all its messages are taken: the strictest order in which a library could run.

use std::collections::{BTreeMap, VecDeque};

use engine::registry::Entry;
use mpi::collective::{Algorithm, Effect, Kind, Layout, Shape, Slots, Step};

use super::case::Case;

/// Operands that are combined, as runs of ranks `first..=last` in order, and their part or block.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Value {
    part: u32,
    runs: Vec<(u32, u32)>,
}

impl Value {
    fn of(rank: u32, part: u32) -> Option<Value> {
        Some(Value { part, runs: vec![(rank, rank)] })
    }

    /// The ranks `first..=last` in order.
    fn all(first: u32, last: u32, part: u32) -> Value {
        Value { part, runs: vec![(first, last)] }
    }

    fn combined(left: &Value, right: &Value) -> Value {
        assert_eq!(left.part, right.part, "different parts of the vector are combined");
        let mut runs = left.runs.clone();
        for run in &right.runs {
            match runs.last_mut() {
                Some(last) if last.1 + 1 == run.0 => last.1 = run.1,
                _ => runs.push(*run),
            }
        }
        Value { part: left.part, runs }
    }

    /// Without regard to order: for operations that commute. A rank that is in twice stays twice.
    fn sorted(&self) -> Value {
        let mut runs = self.runs.clone();
        runs.sort_unstable();
        let pieces = runs.into_iter().map(|run| Value { part: self.part, runs: vec![run] });
        pieces.reduce(|left, right| Value::combined(&left, &right)).expect("a value has a run")
    }
}

/// Ranks that two ranks know to have come to a barrier: the union of both.
fn knowledge(one: &Value, other: &Value) -> Value {
    let mut runs: Vec<_> = one.runs.iter().chain(&other.runs).copied().collect();
    runs.sort_unstable();
    let mut union: Vec<(u32, u32)> = Vec::new();
    for run in runs {
        match union.last_mut() {
            Some(last) if run.0 <= last.1 + 1 => last.1 = last.1.max(run.1),
            _ => union.push(run),
        }
    }
    Value { part: 0, runs: union }
}

type Buffer = Vec<Option<Value>>;

struct Message {
    bytes: u64,
    content: Vec<Option<Value>>,
}

struct Member {
    round: u32,
    /// Messages still to be received in this round, first one first.
    wanted: VecDeque<(u32, u64, Slots, Effect)>,
    /// Messages of this round that nobody has taken yet.
    untaken: u32,
    buffer: Buffer,
    done: bool,
}

/// Totals of a run.
pub struct Totals {
    pub sent: u64,
    pub received: u64,
    pub messages: u64,
    pub rounds: u32,
}

/// Runs `entry` on `case` and checks every rank's data; panics with the reason where it is wrong.
pub fn run(entry: &Entry<Algorithm>, case: &Case) -> Totals {
    let mut members: Vec<Member> = (0..case.size)
        .map(|rank| Member {
            round: 0,
            wanted: VecDeque::new(),
            untaken: 0,
            buffer: start(&case.shape(rank), layout(entry, case, rank), rank),
            done: false,
        })
        .collect();
    let mut channels: BTreeMap<(u32, u32), VecDeque<Message>> = BTreeMap::new();
    let mut totals = Totals { sent: 0, received: 0, messages: 0, rounds: 0 };
    for rank in 0..case.size {
        enter(entry, case, &mut members, rank, &mut channels, &mut totals);
    }
    let mut active: VecDeque<u32> = (0..case.size).collect();
    let mut idle = 0;
    while let Some(rank) = active.pop_front() {
        if advance(entry, case, &mut members, rank, &mut channels, &mut totals) {
            idle = 0;
        } else {
            idle += 1;
        }
        if !members[rank as usize].done {
            active.push_back(rank);
        }
        assert!(active.is_empty() || idle <= active.len(), "deadlock: {} ranks cannot go on", active.len());
    }
    assert!(channels.values().all(VecDeque::is_empty), "a message was sent that nobody receives");
    for (rank, member) in members.iter().enumerate() {
        finish(&case.shape(rank as u32), layout(entry, case, rank as u32), rank as u32, &member.buffer);
    }
    totals
}

fn layout(entry: &Entry<Algorithm>, case: &Case, rank: u32) -> Layout {
    (entry.build.layout)(&case.shape(rank))
}

/// Enters the member's present round: its messages are sent, its receives wanted.
fn enter(
    entry: &Entry<Algorithm>,
    case: &Case,
    members: &mut [Member],
    rank: u32,
    channels: &mut BTreeMap<(u32, u32), VecDeque<Message>>,
    totals: &mut Totals,
) {
    let (shape, layout) = (case.shape(rank), layout(entry, case, rank));
    let member = &mut members[rank as usize];
    let mut steps = Vec::new();
    if !(entry.build.round)(&shape, rank, member.round, &mut steps) {
        assert!(steps.is_empty(), "the round after the last one has messages");
        member.done = true;
        return;
    }
    totals.rounds = totals.rounds.max(member.round + 1);
    for step in steps {
        match step {
            Step::Send { to, bytes, slots } => {
                let numbers = numbers(slots, layout.slots(&shape));
                let content: Vec<_> = numbers.iter().map(|slot| member.buffer[*slot].clone()).collect();
                if case.neighbours.is_empty() {
                    assert_ne!(to, rank, "a message to itself");
                }
                check_bytes(&shape, layout, &numbers, bytes.0, rank, true);
                channels.entry((rank, to)).or_default().push_back(Message { bytes: bytes.0, content });
                member.untaken += 1;
                totals.sent += bytes.0;
                totals.messages += 1;
            }
            Step::Receive { from, bytes, slots, effect } => {
                member.wanted.push_back((from, bytes.0, slots, effect));
            }
        }
    }
}

/// Takes what is there for `rank`, and goes to its next round if this one is over. Says if it moved.
fn advance(
    entry: &Entry<Algorithm>,
    case: &Case,
    members: &mut [Member],
    rank: u32,
    channels: &mut BTreeMap<(u32, u32), VecDeque<Message>>,
    totals: &mut Totals,
) -> bool {
    let (shape, layout) = (case.shape(rank), layout(entry, case, rank));
    let mut moved = false;
    while let Some((from, bytes, slots, effect)) = members[rank as usize].wanted.front().copied() {
        let Some(message) = channels.get_mut(&(from, rank)).and_then(VecDeque::pop_front) else { break };
        members[rank as usize].wanted.pop_front();
        assert_eq!(message.bytes, bytes, "from {from} to {rank}: sent and received sizes differ");
        totals.received += bytes;
        let numbers = numbers(slots, layout.slots(&shape));
        if numbers.len() == message.content.len() {
            check_bytes(&shape, layout, &numbers, bytes, rank, false);
        }
        let buffer = &mut members[rank as usize].buffer;
        match (slots, &message.content[..]) {
            (Slots::None, [Some(theirs)]) => {
                buffer[0] = buffer[0].as_ref().map(|own| knowledge(own, theirs));
            }
            _ => take(buffer, &numbers, &message.content, effect),
        }
        members[from as usize].untaken -= 1;
        moved = true;
    }
    let member = &mut members[rank as usize];
    if !member.done && member.wanted.is_empty() && member.untaken == 0 {
        member.round += 1;
        assert!(member.round < 1 << 20, "rank {rank} does not come to an end");
        enter(entry, case, members, rank, channels, totals);
        moved = true;
    }
    moved
}

fn take(buffer: &mut Buffer, numbers: &[usize], content: &[Option<Value>], effect: Effect) {
    assert!(
        numbers.len() == content.len() || content.len() == 1,
        "{} slots are received into {}",
        content.len(),
        numbers.len()
    );
    for (index, slot) in numbers.iter().enumerate() {
        let theirs = &content[if content.len() == 1 { 0 } else { index }];
        let place = &mut buffer[*slot];
        *place = match (effect, &place, theirs) {
            (Effect::Store, _, theirs) => theirs.clone(),
            (_, None, theirs) => theirs.clone(),
            (_, Some(_), None) => panic!("an empty slot is reduced"),
            (Effect::CombineLeft, Some(own), Some(theirs)) => Some(Value::combined(theirs, own)),
            (Effect::CombineRight, Some(own), Some(theirs)) => Some(Value::combined(own, theirs)),
        };
    }
}

fn numbers(slots: Slots, of: u32) -> Vec<usize> {
    match slots {
        // A barrier's message carries what its sender knows, in the only slot of the test's buffer.
        Slots::None => vec![0],
        Slots::Range { first, count } => {
            assert!(count <= of, "{count} of {of} slots");
            (0..count).map(|index| ((first + index) % of) as usize).collect()
        }
        Slots::Bit { bit } => (0..of).filter(|slot| slot >> bit & 1 == 1).map(|slot| slot as usize).collect(),
        Slots::Residue { bits, of: rest } => {
            (rest..of).step_by(1 << bits).map(|slot| slot as usize).collect()
        }
    }
}

/// A message has the size of the slots that it carries.
fn check_bytes(shape: &Shape, layout: Layout, numbers: &[usize], bytes: u64, rank: u32, sends: bool) {
    use mpi::collective::Sizes;
    let size = |slot: usize| match (&shape.call.sizes, layout) {
        (_, Layout::Nothing) => 0,
        (Sizes::Own { send, .. }, Layout::Exchange) if sends => send[slot],
        (Sizes::Own { send, receive }, Layout::Exchange) => receive[slot - send.len()],
        _ => layout.bytes(shape, slot as u32).0,
    };
    let sum: u64 = numbers.iter().map(|slot| size(*slot)).sum();
    assert_eq!(bytes, sum, "rank {rank}: a message is not as long as its slots");
}

/// Buffer of a rank before the call.
fn start(shape: &Shape, layout: Layout, rank: u32) -> Buffer {
    let (kind, root, slots) = (shape.call.kind, shape.call.root, layout.slots(shape));
    let own = |slot: u32| match (kind, layout) {
        (Kind::Bcast | Kind::Scatter | Kind::Scatterv, _) => {
            if rank == root {
                Value::of(root, slot)
            } else {
                None
            }
        }
        (Kind::Gather | Kind::Gatherv | Kind::Allgather | Kind::Allgatherv, _) => {
            if slot == rank {
                Value::of(rank, slot)
            } else {
                None
            }
        }
        (Kind::Allreduce, Layout::Twice) => {
            if slot == 0 {
                Value::of(rank, 0)
            } else {
                None
            }
        }
        (Kind::Exscan, _) => {
            if slot == 1 {
                Value::of(rank, 0)
            } else {
                None
            }
        }
        (Kind::Scan, _) => Value::of(rank, 0),
        (_, Layout::Rotated) => Value::of(rank, (rank + slot) % shape.size),
        (_, Layout::Exchange) => {
            let sent = shape.neighbours.map_or(shape.size, |list| list.destinations.len() as u32);
            // The own block of an all-to-all is copied, not sent.
            let copied = shape.neighbours.is_none() && slot == sent + rank;
            if slot < sent || copied { Value::of(rank, slot % sent) } else { None }
        }
        _ => Value::of(rank, slot),
    };
    if layout == Layout::Nothing { vec![Value::of(rank, 0)] } else { (0..slots).map(own).collect() }
}

/// Checks what a rank has after the call against the definition of the collective.
fn finish(shape: &Shape, layout: Layout, rank: u32, buffer: &Buffer) {
    let (kind, root, last) = (shape.call.kind, shape.call.root, shape.size - 1);
    let expect = |slot: u32, value: &Value| {
        let (found, value) = match buffer[slot as usize].as_ref() {
            Some(found) if kind.reduces() && shape.call.commutative => (found.sorted(), value.sorted()),
            Some(found) => (found.clone(), value.clone()),
            None => panic!("{}: rank {rank} lacks slot {slot}", kind.name()),
        };
        assert_eq!(found, value, "{}: rank {rank} has the wrong data in slot {slot}", kind.name());
    };
    let all_slots = 0..layout.slots(shape);
    match (kind, layout) {
        (Kind::Barrier, _) => {
            let runs = &buffer[0].as_ref().expect("a barrier's knowledge").runs;
            let known = |rank: u32| runs.iter().any(|run| (run.0..=run.1).contains(&rank));
            assert!((0..shape.size).all(known), "rank {rank} leaves before all have come: {runs:?}");
        }
        (Kind::Bcast, _) => all_slots.for_each(|slot| expect(slot, &Value::all(root, root, slot))),
        (Kind::Reduce, _) if rank != root => {}
        (Kind::Allreduce, Layout::Twice) => expect(0, &Value::all(0, last, 0)),
        (Kind::Reduce | Kind::Allreduce, _) => {
            all_slots.for_each(|slot| expect(slot, &Value::all(0, last, slot)));
        }
        (Kind::Scatter | Kind::Scatterv, _) => expect(rank, &Value::all(root, root, rank)),
        (Kind::Gather | Kind::Gatherv, _) if rank != root => {}
        (Kind::Gather | Kind::Gatherv | Kind::Allgather | Kind::Allgatherv, _) => {
            all_slots.for_each(|slot| expect(slot, &Value::all(slot, slot, slot)));
        }
        (Kind::ReduceScatterBlock | Kind::ReduceScatter, _) => expect(rank, &Value::all(0, last, rank)),
        (Kind::Scan, _) => expect(0, &Value::all(0, rank, 0)),
        (Kind::Exscan, _) if rank == 0 => assert_eq!(buffer[0], None),
        (Kind::Exscan, _) => expect(0, &Value::all(0, rank - 1, 0)),
        (Kind::Alltoall | Kind::Alltoallv, Layout::Rotated) => all_slots.for_each(|slot| {
            let from = (rank + shape.size - slot) % shape.size;
            expect(slot, &Value::all(from, from, rank));
        }),
        (Kind::Alltoall | Kind::Alltoallv | Kind::Alltoallw, _) => finish_exchange(shape, rank, &expect),
        _ => {
            let list = shape.neighbours.expect("a neighbourhood");
            for (index, from) in list.sources.iter().enumerate() {
                // Source i is the rank that has this one as its destination i.
                let slot = (list.destinations.len() + index) as u32;
                expect(slot, &Value::all(*from, *from, same_way(list, index)));
            }
        }
    }
}

fn finish_exchange(shape: &Shape, rank: u32, expect: &impl Fn(u32, &Value)) {
    let empty = |from: u32| match &shape.call.sizes {
        mpi::collective::Sizes::Own { receive, .. } => receive[from as usize] == 0,
        _ => false,
    };
    // Empty blocks need not come.
    for from in (0..shape.size).filter(|from| !empty(*from)) {
        expect(shape.size + from, &Value::all(from, from, rank));
    }
}

/// Place of the message from source `index` among its sender's destinations: messages between the same
/// pair come in order, so it is the one of the same place among those of this pair.
fn same_way(list: &mpi::operation::Neighbours, index: usize) -> u32 {
    let from = list.sources[index];
    let nth = list.sources[..index].iter().filter(|source| **source == from).count();
    // By symmetry of the ring the pairs of places that lead to the same rank are the same everywhere.
    let places: Vec<u32> = (0..list.sources.len())
        .filter(|place| list.sources[*place] == from)
        .map(|place| place as u32)
        .collect();
    places[nth]
}
