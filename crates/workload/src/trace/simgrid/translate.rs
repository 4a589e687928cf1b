//! Translates actions to operations.

use std::sync::Arc;

use engine::{Bytes, Duration, FlopRate, Time};
use mpi::collective::{Collective, Kind, Sizes};
use mpi::operation::{CommId, Peer, Receive, Request, Send, SendMode, Start, TagMatch, Until, Via, Work};
use mpi::{Completion, Op};

use super::action::{Action, Words, find};
use crate::trace::error::TraceError;
use crate::trace::lines::Lines;
use crate::trace::set::{RankCalls, RecordedCall, Step};

/// Facts about the run that a rank's translation needs.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// The rank.
    pub rank: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// True if messages have no tags.
    pub untagged: bool,
    /// True if tests are simulated. In a conversion, they are calls that find nothing, and the next wait completes
    /// their request.
    pub asks: bool,
    /// Rate of computing; `None` for the platform's.
    pub rate: Option<FlopRate>,
}

/// A message in progress; `None` stands for a wildcard.
struct Open {
    source: Option<i32>,
    destination: i32,
    tag: Option<i32>,
    request: Request,
}

/// Yields the actions of one rank as operations.
pub struct Translator {
    lines: Lines,
    run: Run,
    /// Size of an element if the line names no datatype \[bytes\].
    element: u64,
    /// Messages in progress, in the order in which they began.
    open: Vec<Open>,
    free: Vec<Request>,
    requests: u32,
    /// Request of the last test.
    tested: Option<Request>,
    /// Computing of the previous reduction.
    after: Option<f64>,
    splits: u64,
}

type Reason = String;

impl Translator {
    /// Starts at the first of `lines`, which may hold actions of other ranks.
    pub fn new(lines: Lines, run: Run) -> Translator {
        Translator {
            lines,
            run,
            element: 1,
            open: Vec::new(),
            free: Vec::new(),
            requests: 0,
            tested: None,
            after: None,
            splits: 0,
        }
    }

    fn line(&mut self) -> Result<Option<Step>, Reason> {
        let text = self.lines.text().to_string();
        let mut words = text.split_whitespace();
        if words.next().and_then(|word| word.parse().ok()) != Some(self.run.rank) {
            return Ok(None);
        }
        let action = find(words.next().unwrap_or_default())?;
        let rest: Vec<_> = words.collect();
        let words = Words { words: &rest, element: self.element };
        let op = self.translate(action, words).map_err(|reason| format!("{}: {reason}", action.keyword))?;
        Ok(op.map(|op| step(action.call, op)))
    }

    fn translate(&mut self, action: &Action, words: Words) -> Result<Option<Op>, Reason> {
        let nothing = Op::Call(action.call, Duration::ZERO);
        Ok(Some(match action.keyword {
            "init" => {
                // With an argument, elements are of MPI_DOUBLE, else of MPI_BYTE.
                self.element = if words.words.is_empty() { 1 } else { 8 };
                nothing
            }
            "comm_split" | "comm_dup" => {
                self.splits += 1;
                nothing
            }
            "finalize" | "comm_size" => nothing,
            "location" => return Ok(None),
            "compute" => self.run.flops(words.amount(0, "the operations")?),
            "sleep" => {
                Op::Compute(Work::Time(Duration::from_seconds(words.amount(0, "the seconds")?.min(1e6))))
            }
            "send" | "isend" | "recv" | "irecv" => self.message(action.keyword, words)?,
            "test" => match self.take(words)? {
                Some(at) if self.run.asks => {
                    let request = self.open[at].request;
                    self.tested = Some(request);
                    Op::Test(Arc::new([request]), Until::All)
                }
                _ => nothing,
            },
            "wait" => match self.take(words)? {
                Some(at) => {
                    let request = self.open.remove(at).request;
                    self.free.push(request);
                    Op::WaitOne(request)
                }
                None => nothing,
            },
            "waitall" => {
                let all: Arc<[Request]> = self.open.drain(..).map(|open| open.request).collect();
                self.free.extend(all.iter());
                if all.is_empty() { nothing } else { Op::Wait(all, Until::All) }
            }
            _ => self.collective(action.keyword, words)?,
        }))
    }

    /// Operation of a message, with its peer, tag and bytes.
    fn message(&mut self, keyword: &str, words: Words) -> Result<Op, Reason> {
        let peer = words.int(0, "the other rank")?;
        if u32::try_from(peer).is_ok_and(|peer| peer >= self.run.ranks) {
            return Err(format!("names rank {peer}, but the trace has {} ranks", self.run.ranks));
        }
        let (tag, size) = if self.run.untagged { (0, 1) } else { (words.int(1, "the tag")?, 2) };
        let (comm, from_here) = (CommId::WORLD, keyword.ends_with("send"));
        let known = (peer >= 0).then_some(peer);
        let start = if keyword.starts_with('i') {
            let request = self.free.pop().unwrap_or(Request(self.requests));
            self.requests = self.requests.max(request.0 + 1);
            let me = self.run.rank as i32;
            let (source, destination) = if from_here { (Some(me), peer) } else { (known, me) };
            let tag = (from_here || tag >= 0).then_some(tag);
            self.open.push(Open { source, destination, tag, request });
            Start::Request(request)
        } else {
            Start::Blocking
        };
        let to = |wildcard| known.map_or(wildcard, |peer| Peer::Rank(peer as u32));
        if !from_here {
            let tag = u32::try_from(tag).map_or(TagMatch::Any, TagMatch::Tag);
            let receive = Receive { from: to(Peer::Any), tag, comm, capacity: Bytes(u64::MAX) };
            return Ok(Op::Receive(receive, start));
        }
        let tag = u32::try_from(tag).map_err(|_| format!("sends with tag {tag}, below zero"))?;
        let bytes = Bytes(words.bytes(size, "the elements", words.element(size + 1)?)?);
        let send = Send {
            to: to(Peer::Null),
            tag,
            comm,
            bytes,
            mode: SendMode::Standard,
            via: Via::PLATFORM,
            data: 0,
        };
        Ok(Op::Send(send, start))
    }

    /// Index of the message that a wait or test refers to: by source, destination and tag, or the last one. `None` if
    /// a test has completed it.
    fn take(&self, words: Words) -> Result<Option<usize>, Reason> {
        if words.words.is_empty() {
            return Ok(self.open.len().checked_sub(1));
        }
        let [source, destination] = [words.int(0, "the source")?, words.int(1, "the destination")?];
        let tag = words.int(2, "the tag")?;
        let exact = |open: &Open| open.source == Some(source) && open.tag == Some(tag);
        let fits =
            |open: &Open| open.source.is_none_or(|from| from == source) && open.tag.is_none_or(|t| t == tag);
        let position = |matches: &dyn Fn(&Open) -> bool| {
            self.open.iter().position(|open| open.destination == destination && matches(open))
        };
        Ok(position(&exact).or_else(|| position(&fits)))
    }

    fn collective(&mut self, keyword: &str, words: Words) -> Result<Op, Reason> {
        let n = self.run.ranks;
        let many = n as usize;
        // Positions of the root, the datatypes and the operations of the reduction.
        let (kind, root, datatypes, operations) = match keyword {
            "barrier" => (Kind::Barrier, None, [0, 0], None),
            "bcast" => (Kind::Bcast, Some(1), [2, 2], None),
            "reduce" => (Kind::Reduce, Some(2), [3, 3], Some(1)),
            "allreduce" => (Kind::Allreduce, None, [2, 2], Some(1)),
            "scan" => (Kind::Scan, None, [2, 2], Some(1)),
            "exscan" => (Kind::Exscan, None, [2, 2], Some(1)),
            "alltoall" => (Kind::Alltoall, None, [2, 3], None),
            "allgather" => (Kind::Allgather, None, [2, 3], None),
            "gather" => (Kind::Gather, Some(2), [3, 4], None),
            "scatter" => (Kind::Scatter, Some(2), [3, 4], None),
            "gatherv" => (Kind::Gatherv, Some(1 + many), [2 + many, 3 + many], None),
            "scatterv" => (Kind::Scatterv, Some(1 + many), [2 + many, 3 + many], None),
            "alltoallv" => (Kind::Alltoallv, None, [2 + 2 * many, 3 + 2 * many], None),
            "reducescatter" => (Kind::ReduceScatter, None, [1 + many, 1 + many], Some(many)),
            // The counts are followed by a datatype, or displacements, or both.
            _ => match words.words.len().saturating_sub(1 + many) {
                extra if extra > 2 && extra <= many => (Kind::Allgatherv, None, [usize::MAX; 2], None),
                _ => (Kind::Allgatherv, None, [1 + many; 2], None),
            },
        };
        let element = [words.element(datatypes[0])?, words.element(datatypes[1])?];
        let sizes = match kind {
            Kind::Barrier => Sizes::Equal(Bytes(0)),
            Kind::Scatter => Sizes::Equal(Bytes(words.bytes(1, "the elements", element[1])?)),
            Kind::Gatherv | Kind::Allgatherv => {
                Sizes::ByRank(words.list(1, n, "the counts", element[1])?.into())
            }
            Kind::Scatterv | Kind::ReduceScatter => {
                Sizes::ByRank(words.list(0, n, "the counts", element[0])?.into())
            }
            Kind::Alltoallv => Sizes::Own {
                send: words.list(1, n, "the counts to send", element[0])?.into(),
                receive: words.list(2 + many, n, "the counts to receive", element[1])?.into(),
            },
            _ => Sizes::Equal(Bytes(words.bytes(0, "the elements", element[0])?)),
        };
        let root = match root {
            Some(at) if words.words.len() > at => words.int(at, "the root")?,
            _ => 0,
        };
        let root = u32::try_from(root).ok().filter(|&root| root < n);
        let root = root.ok_or_else(|| format!("names a root that is none of the {n} ranks"))?;
        self.after =
            operations.map(|at| words.amount(at, "the operations")).transpose()?.filter(|&count| count > 0.0);
        let element = element[0].max(1) as u32;
        let call = Collective {
            kind,
            comm: CommId::WORLD,
            root,
            sizes,
            element,
            commutative: true,
            algorithm: None,
        };
        Ok(Op::Collective(Arc::new(call), Start::Blocking))
    }
}

impl Run {
    fn flops(&self, flops: f64) -> Op {
        Op::Compute(match self.rate {
            Some(rate) => Work::Time(rate.compute(flops)),
            None => Work::Flops { flops, bytes: Bytes(0) },
        })
    }
}

fn step(name: &'static str, op: Op) -> Step {
    Step { call: RecordedCall { name, begin: Time::ZERO, end: Time::ZERO }, op }
}

impl RankCalls for Translator {
    fn next(&mut self) -> Result<Option<Step>, TraceError> {
        if let Some(count) = self.after.take() {
            return Ok(Some(step("compute", self.run.flops(count))));
        }
        while self.lines.advance()? {
            if let Some(step) = self.line().map_err(|reason| self.lines.error(reason))? {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    fn made(&mut self, _: CommId) {}

    fn returned(&mut self, done: &Completion) {
        let Some(request) = self.tested.take().filter(|_| done.flag) else { return };
        self.open.retain(|open| open.request != request);
        self.free.push(request);
    }

    fn warnings(&self) -> Vec<String> {
        let (file, splits) = (self.lines.file_name(), self.splits);
        let warning = format!(
            "{file}: rank {} makes {splits} communicators, which the format does not name: all collectives are \
             replayed over all ranks",
            self.run.rank
        );
        if splits > 0 { vec![warning] } else { Vec::new() }
    }

    fn share_read(&self) -> f64 {
        self.lines.share_read()
    }

    fn error(&self, reason: String) -> TraceError {
        self.lines.error(format!("rank {} {reason}", self.run.rank))
    }
}
