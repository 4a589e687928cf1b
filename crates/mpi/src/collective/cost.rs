//! Costs of algorithms on an idle network, one process per host: closed forms and their model.
//!
//! The model (Hockney's, with LogGP's gap): every rank has one port out and one port in, which work at
//! the same time. A message of n bytes
//! - leaves when its round has begun and the port out has been busy for `busy(n)` with each message
//!   before it; the sender is done with it `busy(n)` later, without waiting for its receiver;
//! - arrives `time(n)` after it has left, or `busy(n)` after the message that the port in took last,
//!   whichever is later;
//! - is received when the receive before it in its round is done, and reduced in `reduce(n)`.
//!
//! A round begins when all messages of the round before are done. With `busy = time` this is the model
//! of Thakur, Rabenseifner and Gropp 2005 (`α + nβ` per message and `nγ` per reduction); with
//! `busy = max(o, g, nG)` and `time = 2o + L + nG` it is LogGP's (Alexandrov et al. 1995).

use engine::Bytes;

/// The three times of the model. `busy(n) ≤ time(n)`, all grow with n.
#[derive(Clone, Copy)]
pub struct Idle<'a> {
    /// From the send to the arrival of n bytes \[s\].
    pub time: &'a dyn Fn(Bytes) -> f64,
    /// For how long n bytes keep a port \[s\].
    pub busy: &'a dyn Fn(Bytes) -> f64,
    /// Reducing n bytes into n bytes \[s\].
    pub reduce: &'a dyn Fn(Bytes) -> f64,
}

impl Idle<'_> {
    /// T(n) \[s\].
    pub fn time(&self, bytes: u64) -> f64 {
        (self.time)(Bytes(bytes))
    }
    /// B(n) \[s\].
    pub fn busy(&self, bytes: u64) -> f64 {
        (self.busy)(Bytes(bytes))
    }
    /// R(n) \[s\].
    pub fn reduce(&self, bytes: u64) -> f64 {
        (self.reduce)(Bytes(bytes))
    }
    /// T(n), and B(n) where ranks are not in step: then a message may find its port taken by one from a
    /// rank that is ahead \[s\].
    pub fn time_in_step(&self, in_step: bool, bytes: u64) -> f64 {
        self.time(bytes) + if in_step { 0.0 } else { self.busy(bytes) }
    }
    /// A message and its reduction: T(n) + R(n) \[s\].
    pub fn time_reduced(&self, bytes: u64) -> f64 {
        self.time(bytes) + self.reduce(bytes)
    }
}

/// The time from the call of all ranks at once until the last of them is done \[s\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// Exactly this.
    Exact(f64),
    /// No more than this: uneven blocks, or a number of ranks that the literature only bounds.
    AtMost(f64),
}

impl Cost {
    /// Exact if `condition` holds, an upper bound otherwise.
    pub(super) fn exact_if(condition: bool, seconds: f64) -> Cost {
        if condition { Cost::Exact(seconds) } else { Cost::AtMost(seconds) }
    }

    /// The number, whatever it means \[s\].
    pub fn seconds(self) -> f64 {
        match self {
            Cost::Exact(seconds) | Cost::AtMost(seconds) => seconds,
        }
    }

    /// True if the form is exact.
    pub fn is_exact(self) -> bool {
        matches!(self, Cost::Exact(_))
    }
}
