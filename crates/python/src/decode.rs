//! Decodes the tuple of an operation to an `mpi::Op`.

use std::sync::Arc;

use engine::{Bytes, Duration, Time};
use mpi::Op;
use mpi::collective::{Collective, Sizes};
use mpi::operation::{
    CartGrid, CommId, Copying, Neighbours, NewComm, NicPair, Nics, Peer, Receive, Request, Send, Start,
    TagMatch, Via, Work,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::codes::{self, KINDS, MODES, UNTILS};
use crate::payloads::Payloads;

/// Value that a rank's operation returns.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// Nothing.
    #[default]
    Nothing,
    /// Payload that was received.
    Payload,
    /// Payload that was received, and its status.
    PayloadAndStatus,
    /// Status of a message that is still to be received.
    Status,
    /// Status of a message that is still to be received, or None.
    StatusIfAny,
    /// Number of a matched message, and its status.
    Matched,
    /// Number of a matched message and its status, or None.
    MatchedIfAny,
    /// List of completed requests.
    Set,
    /// List of completed requests, or None.
    SetIfAny,
    /// Number of a communicator.
    Comm,
}

/// Decodes operations; caches objects for reuse.
#[derive(Default)]
pub struct Decoder<'py> {
    /// Payloads of messages.
    pub payloads: Payloads<'py>,
    /// Last list of lengths: members of a collective often pass equal ones.
    lengths: Option<Arc<[u64]>>,
}

/// A field of an operation.
struct Fields<'a, 'py>(&'a Bound<'py, PyTuple>);

impl<'py> Fields<'_, 'py> {
    fn any(&self, index: usize) -> PyResult<Bound<'py, PyAny>> {
        self.0.get_item(index)
    }
    fn get<T>(&self, index: usize) -> PyResult<T>
    where
        T: for<'a> FromPyObject<'a, 'py, Error = PyErr>,
    {
        self.0.get_borrowed_item(index)?.extract()
    }
    fn comm(&self) -> PyResult<CommId> {
        Ok(CommId(self.get(1)?))
    }
    fn request(&self, index: usize) -> PyResult<Request> {
        Ok(Request(self.get(index)?))
    }
    fn requests(&self, index: usize) -> PyResult<Arc<[Request]>> {
        Ok(self.get::<Vec<u32>>(index)?.into_iter().map(Request).collect())
    }
    fn flag_reply(&self, index: usize) -> PyResult<Reply> {
        Ok(if self.get(index)? { Reply::PayloadAndStatus } else { Reply::Payload })
    }
}

const ANY: i64 = -1;
const NULL: i64 = -2;
const MOST_TAG: i64 = i32::MAX as i64;

impl<'py> Decoder<'py> {
    /// Decodes a tuple to an operation and the kind of its reply.
    pub fn decode(&mut self, tuple: &Bound<'py, PyTuple>) -> PyResult<(Op, Reply)> {
        let fields = Fields(tuple);
        Ok(match fields.get::<u8>(0)? {
            codes::SEND => (Op::Send(self.send(&fields)?, Start::Blocking), Reply::Nothing),
            codes::RECV => (Op::Receive(receive(&fields, 2)?, Start::Blocking), fields.flag_reply(5)?),
            codes::SENDRECV => (self.send_receive(&fields)?, fields.flag_reply(9)?),
            codes::ISEND => {
                (Op::Send(self.send(&fields)?, Start::Request(fields.request(8)?)), Reply::Nothing)
            }
            codes::IRECV => {
                (Op::Receive(receive(&fields, 2)?, Start::Request(fields.request(5)?)), Reply::Nothing)
            }
            codes::WAIT => (Op::WaitOne(fields.request(1)?), fields.flag_reply(2)?),
            codes::WAIT_SET => (Op::Wait(fields.requests(1)?, UNTILS[fields.get::<usize>(2)?]), Reply::Set),
            codes::TEST_SET => {
                (Op::Test(fields.requests(1)?, UNTILS[fields.get::<usize>(2)?]), Reply::SetIfAny)
            }
            codes::COMPUTE => (Op::Compute(Work::Time(duration(fields.get(1)?, "seconds")?)), Reply::Nothing),
            codes::COMPUTE_FLOPS => (compute_flops(&fields)?, Reply::Nothing),
            codes::COLLECTIVE => (Op::Collective(self.collective(&fields)?, Start::Blocking), Reply::Nothing),
            codes::ICOLLECTIVE => {
                let start = Start::Request(fields.request(8)?);
                (Op::Collective(self.collective(&fields)?, start), Reply::Nothing)
            }
            code => return self.decode_rare(code, &fields),
        })
    }

    fn decode_rare(&mut self, code: u8, fields: &Fields<'_, 'py>) -> PyResult<(Op, Reply)> {
        Ok(match code {
            codes::WTIME => (Op::Call("MPI_Wtime", Duration::ZERO), Reply::Nothing),
            codes::SLEEP_UNTIL => (Op::SleepUntil(Time(duration(fields.get(1)?, "time")?.0)), Reply::Nothing),
            codes::SEND_INIT => {
                (Op::Send(self.send(fields)?, Start::Persistent(fields.request(8)?)), Reply::Nothing)
            }
            codes::RECV_INIT => {
                (Op::Receive(receive(fields, 2)?, Start::Persistent(fields.request(5)?)), Reply::Nothing)
            }
            codes::PROBE => (Op::Probe(probe(fields)?), Reply::Status),
            codes::IPROBE => (Op::ProbeNow(probe(fields)?), Reply::StatusIfAny),
            codes::MPROBE => (Op::ProbeMatched(probe(fields)?, true), Reply::Matched),
            codes::IMPROBE => (Op::ProbeMatched(probe(fields)?, false), Reply::MatchedIfAny),
            codes::MRECV => (Op::ReceiveMatched(fields.get(1)?, Start::Blocking), fields.flag_reply(2)?),
            codes::IMRECV => {
                (Op::ReceiveMatched(fields.get(1)?, Start::Request(fields.request(2)?)), Reply::Nothing)
            }
            codes::START => (Op::Start(fields.requests(1)?), Reply::Nothing),
            codes::CANCEL => (Op::Cancel(fields.request(1)?), Reply::Nothing),
            codes::FREE => (Op::Free(fields.request(1)?), Reply::Nothing),
            codes::COMM_FREE => (Op::FreeComm(fields.comm()?), Reply::Nothing),
            codes::ABORT => (Op::Abort(fields.get(1)?), Reply::Nothing),
            code => (Op::NewComm(fields.comm()?, new_comm(code, fields)?), Reply::Comm),
        })
    }

    fn send(&mut self, fields: &Fields<'_, 'py>) -> PyResult<Send> {
        Ok(Send {
            comm: fields.comm()?,
            to: destination(fields.get(2)?)?,
            tag: send_tag(fields.get(3)?)?,
            bytes: Bytes(length(fields, 4)?),
            mode: MODES[fields.get::<usize>(5)?],
            via: via(fields.any(7)?)?,
            data: self.payloads.keep(fields.any(6)?),
        })
    }

    fn send_receive(&mut self, fields: &Fields<'_, 'py>) -> PyResult<Op> {
        let receive = receive(fields, 6)?;
        let send = Send {
            comm: fields.comm()?,
            to: destination(fields.get(2)?)?,
            tag: send_tag(fields.get(3)?)?,
            bytes: Bytes(length(fields, 4)?),
            mode: MODES[codes::STANDARD as usize],
            via: via(fields.any(10)?)?,
            data: self.payloads.keep(fields.any(5)?),
        };
        Ok(Op::SendReceive(send, receive))
    }

    fn collective(&mut self, fields: &Fields<'_, 'py>) -> PyResult<Arc<Collective>> {
        let (_, kind) = KINDS[fields.get::<usize>(2)?];
        let name: Option<String> = fields.get(7)?;
        let algorithm = match name {
            None => None,
            Some(name) => Some(mpi::collective::find(kind, &name).map_err(PyValueError::new_err)?.name),
        };
        Ok(Arc::new(Collective {
            kind,
            comm: fields.comm()?,
            root: fields.get(3)?,
            sizes: self.sizes(&fields.any(4)?)?,
            element: fields.get(5)?,
            commutative: fields.get(6)?,
            algorithm,
        }))
    }

    /// Decodes sizes. A number: one length for all; bytes: lengths by rank; a pair of bytes: lengths that this rank
    /// sends and receives.
    fn sizes(&mut self, lengths: &Bound<'py, PyAny>) -> PyResult<Sizes> {
        if let Ok(bytes) = lengths.cast::<PyBytes>() {
            return Ok(Sizes::ByRank(self.shared_list(bytes.as_bytes())));
        }
        if let Ok(pair) = lengths.cast::<PyTuple>() {
            let (send, receive) = (pair.get_item(0)?, pair.get_item(1)?);
            let send = list(send.cast::<PyBytes>()?.as_bytes());
            return Ok(Sizes::Own { send, receive: list(receive.cast::<PyBytes>()?.as_bytes()) });
        }
        Ok(Sizes::Equal(Bytes(as_length(lengths)?)))
    }

    fn shared_list(&mut self, bytes: &[u8]) -> Arc<[u64]> {
        let numbers =
            || bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().expect("eight bytes")));
        if let Some(last) = &self.lengths {
            if last.len() * 8 == bytes.len() && numbers().eq(last.iter().copied()) {
                return Arc::clone(last);
            }
        }
        let fresh: Arc<[u64]> = numbers().collect();
        self.lengths = Some(Arc::clone(&fresh));
        fresh
    }
}

fn list(bytes: &[u8]) -> Arc<[u64]> {
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().expect("eight bytes"))).collect()
}

fn length(fields: &Fields, index: usize) -> PyResult<u64> {
    as_length(&fields.any(index)?)
}

fn as_length(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract().map_err(|_| {
        let text = value.repr().map_or_else(|_| String::from("?"), |text| text.to_string());
        PyValueError::new_err(format!("nbytes is a whole number of bytes, 0 or more, not {text}"))
    })
}

fn duration(seconds: f64, what: &str) -> PyResult<Duration> {
    if !(seconds.is_finite() && (0.0..1.8e7).contains(&seconds)) {
        return Err(PyValueError::new_err(format!(
            "{what} is 0 or more and below 208 days, not {seconds} s"
        )));
    }
    Ok(Duration::from_seconds(seconds))
}

fn compute_flops(fields: &Fields) -> PyResult<Op> {
    let flops: f64 = fields.get(1)?;
    if !(flops.is_finite() && flops >= 0.0) {
        return Err(PyValueError::new_err(format!("flops is 0 or more, not {flops}")));
    }
    let bytes: f64 = fields.get(2)?;
    if !(0.0..1.8e19).contains(&bytes) {
        return Err(PyValueError::new_err(format!("bytes is 0 or more, not {bytes}")));
    }
    Ok(Op::Compute(Work::Flops { flops, bytes: Bytes(bytes as u64) }))
}

fn destination(rank: Option<i64>) -> PyResult<Peer> {
    match rank {
        None => Err(PyTypeError::new_err("dest is missing")),
        Some(NULL) => Ok(Peer::Null),
        Some(rank) => u32::try_from(rank)
            .map(Peer::Rank)
            .map_err(|_| PyValueError::new_err(format!("dest is a rank or PROC_NULL, not {rank}"))),
    }
}

/// Decodes None, or NICs and the choice of zero-copy.
fn via(value: Bound<'_, PyAny>) -> PyResult<Via> {
    if value.is_none() {
        return Ok(Via::PLATFORM);
    }
    let (nics, zero_copy): (Option<(i64, i64)>, Option<bool>) = value.extract()?;
    let most = Nics::MOST - 1;
    let nic = |number: i64| {
        let known = u8::try_from(number).ok().filter(|nic| *nic <= most);
        known.ok_or_else(|| {
            PyValueError::new_err(format!("nic is the number of a NIC, 0 to {most}, not {number}"))
        })
    };
    let pair = |(from, to)| Ok::<_, PyErr>(NicPair { from: nic(from)?, to: nic(to)? });
    let copying = |zero_copy| if zero_copy { Copying::ZeroCopy } else { Copying::TwoCopy };
    Ok(Via { nics: nics.map(pair).transpose()?, copying: zero_copy.map(copying) })
}

fn source(rank: i64) -> PyResult<Peer> {
    match rank {
        NULL => Ok(Peer::Null),
        ANY => Ok(Peer::Any),
        rank => u32::try_from(rank).map(Peer::Rank).map_err(|_| {
            PyValueError::new_err(format!("source is a rank, ANY_SOURCE or PROC_NULL, not {rank}"))
        }),
    }
}

fn send_tag(tag: i64) -> PyResult<u32> {
    if !(0..=MOST_TAG).contains(&tag) {
        return Err(PyValueError::new_err(format!("a tag is 0 to {MOST_TAG}, not {tag}")));
    }
    Ok(tag as u32)
}

fn receive_tag(tag: i64) -> PyResult<TagMatch> {
    if tag == ANY { Ok(TagMatch::Any) } else { send_tag(tag).map(TagMatch::Tag) }
}

/// Decodes source, tag and buffer size from field `first` on.
fn receive(fields: &Fields, first: usize) -> PyResult<Receive> {
    let room: Option<u64> = fields.get(first + 2)?;
    Ok(Receive { capacity: Bytes(room.unwrap_or(u64::MAX)), ..probe_at(fields, first)? })
}

fn probe(fields: &Fields) -> PyResult<Receive> {
    probe_at(fields, 2)
}

fn probe_at(fields: &Fields, first: usize) -> PyResult<Receive> {
    Ok(Receive {
        comm: fields.comm()?,
        from: source(fields.get(first)?)?,
        tag: receive_tag(fields.get(first + 1)?)?,
        capacity: Bytes(u64::MAX),
    })
}

fn new_comm(code: u8, fields: &Fields) -> PyResult<NewComm> {
    Ok(match code {
        codes::COMM_DUP => NewComm::Dup,
        codes::COMM_SPLIT => NewComm::Split { colour: fields.get(2)?, key: fields.get(3)? },
        codes::COMM_SPLIT_HOST => NewComm::SplitHost { key: fields.get(2)? },
        codes::COMM_CREATE => NewComm::Create(fields.get::<Vec<u32>>(2)?.into()),
        codes::COMM_CREATE_GROUP => {
            NewComm::CreateGroup(fields.get::<Vec<u32>>(2)?.into(), send_tag(fields.get(3)?)?)
        }
        codes::COMM_CART => {
            NewComm::Cart(Arc::new(CartGrid { sizes: fields.get(2)?, periodic: fields.get(3)? }))
        }
        codes::COMM_SUB => NewComm::CartSub(fields.get::<Vec<bool>>(2)?.into()),
        codes::COMM_GRAPH => {
            NewComm::Graph(Arc::new(Neighbours { sources: fields.get(2)?, destinations: fields.get(3)? }))
        }
        code => return Err(PyTypeError::new_err(format!("no operation has the code {code}"))),
    })
}
