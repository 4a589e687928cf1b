//! Text of a call for people: "to 1, tag 7, 100 B, request 1".

use std::fmt;

use super::shape::{Amount, Begun, Collected, Did, From, How, Made, Matched, Mode, Received, Sent};

impl fmt::Display for Did {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Did::Overhead | Did::Finalize => Ok(()),
            Did::Access { to: Some(to), bytes, answer } => {
                write!(f, "of {to}, {bytes} B there, {answer} B back")
            }
            Did::Access { to: None, .. } => f.write_str("of nobody"),
            Did::Send(send) => write!(f, "{send}"),
            Did::Receive(receive) => write!(f, "{receive}"),
            Did::SendReceive { send, receive } => write!(f, "{send}; {receive}"),
            Did::Probe(receive) => write!(f, "{receive}"),
            Did::Complete { requests, matched } => {
                numbers(f, "requests", requests)?;
                matched.iter().try_for_each(|(request, came)| write!(f, "; {request}: {came}"))
            }
            Did::Start { requests } => numbers(f, "requests", requests),
            Did::Cancel { request } | Did::Free { request } => write!(f, "request {request}"),
            Did::Collective(collected) => write!(f, "{collected}"),
            Did::NewComm(made) => write!(f, "{made}"),
            Did::FreeComm { comm } => write!(f, "communicator {comm}"),
            Did::Abort { code } => write!(f, "code {code}"),
        }
    }
}

fn numbers(f: &mut fmt::Formatter<'_>, what: &str, all: &[u32]) -> fmt::Result {
    if all.is_empty() {
        return write!(f, "no {what}");
    }
    write!(f, "{what}")?;
    all.iter().try_for_each(|number| write!(f, " {number}"))
}

/// Writes communicator and request, and leaves out the defaults: the world, and no request.
fn rest(f: &mut fmt::Formatter<'_>, comm: u32, request: Option<Begun>) -> fmt::Result {
    if comm != 0 {
        write!(f, ", communicator {comm}")?;
    }
    match request {
        None => Ok(()),
        Some(Begun::Active(number)) => write!(f, ", request {number}"),
        Some(Begun::Persistent(number)) => write!(f, ", persistent request {number}"),
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to {
            Some(to) => write!(f, "to {to}")?,
            None => f.write_str("to nobody")?,
        }
        write!(f, ", tag {}, {} B", self.tag, self.bytes)?;
        f.write_str(match self.mode {
            Mode::Standard => "",
            Mode::Buffered => ", buffered",
            Mode::Synchronous => ", synchronous",
            Mode::Ready => ", ready",
        })?;
        rest(f, self.comm, self.request)
    }
}

impl fmt::Display for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            From::Rank(from) => write!(f, "from {from}")?,
            From::Any => f.write_str("from any")?,
            From::Null => f.write_str("from nobody")?,
        }
        match self.tag {
            Some(tag) => write!(f, ", tag {tag}")?,
            None => f.write_str(", any tag")?,
        }
        if self.capacity != u64::MAX {
            write!(f, ", at most {} B", self.capacity)?;
        }
        if let Some(came) = self.matched {
            write!(f, " ({came})")?;
        }
        rest(f, self.comm, self.request)
    }
}

impl fmt::Display for Matched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "came from {}, tag {}", self.source, self.tag)
    }
}

impl fmt::Display for Collected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, sizes: &[u64]| {
            let total = sizes.iter().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
            write!(f, "{total} B in {} blocks", sizes.len())
        };
        match &self.sizes {
            Amount::Equal(bytes) => write!(f, "{bytes} B")?,
            Amount::ByRank(sizes) => list(f, sizes)?,
            Amount::Own { send, receive } => {
                f.write_str("sends ")?;
                list(f, send)?;
                f.write_str(", receives ")?;
                list(f, receive)?;
            }
        }
        if ["bcast", "reduce", "gather", "gatherv", "scatter", "scatterv"].contains(&&*self.kind) {
            write!(f, ", root {}", self.root)?;
        }
        rest(f, self.comm, self.request)
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.comm {
            Some(comm) => write!(f, "communicator {comm}")?,
            None => f.write_str("no communicator")?,
        }
        write!(f, " out of {}: {}", self.parent, self.how)?;
        if self.members.is_empty() { Ok(()) } else { numbers(f, "; ranks", &self.members) }
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            How::Dup => f.write_str("a copy"),
            How::Split { colour: Some(colour), key } => write!(f, "a part, colour {colour}, key {key}"),
            How::Split { colour: None, .. } => f.write_str("a part, no colour"),
            How::SplitHost { key } => write!(f, "those of a host, key {key}"),
            How::Create { members } | How::CreateGroup { members, .. } => numbers(f, "members", members),
            How::Cart { sizes, .. } => numbers(f, "a grid of", sizes),
            How::CartSub { .. } => f.write_str("a part of a grid"),
            How::Graph { sources, destinations } => {
                numbers(f, "a graph, from", sources)?;
                numbers(f, ", to", destinations)
            }
            How::OutsideGraph => f.write_str("outside of a graph"),
            How::Inter { remote, .. } => numbers(f, "two groups, the other", remote),
            How::Merge { .. } => f.write_str("two groups as one"),
        }
    }
}
