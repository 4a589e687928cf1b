//! Noise of messages: modes of what a message costs its sender and receiver, and of its latency.
//!
//!   o(n) = max(0, a + b n + μ_i + σ_i z)     overhead of a message of n bytes, mode i drawn with probability π_i
//!   l = max(0, μ_i + σ_i z)                  added to the latency of the path and of its regime, on no process
//!
//! z is a standard normal number, or (|z| − √(2/π)) / √(1 − 2/π) of one in modes of half-normal shape: mean 0,
//! deviation 1. Each message is drawn by itself, overheads from a stream of the rank that spends them and latencies from
//! one of the receiving rank, so that neither threads nor the work of other ranks change them. A message that overtakes an
//! earlier one of its pair is matched behind it, as MPI demands.
//!
//! Assumptions: draws are independent; what disturbs one message disturbs no other, whereas real durations depend on
//! those before them (Cornebize 8.4.3). Validity: MPI calls whose times fall into one to four modes for each range of
//! sizes, as those of Open MPI over Omni-Path do. Source: Cornebize, "High performance computing: towards better
//! performance predictions and experiments" (thesis, Université Grenoble Alpes 2021), 4.3, models M'-1 and N'-1.

use engine::random::{Shape, SmallStream, pick, small_normal};

/// One mode of a distribution of times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeMode {
    /// Share of the draws; weights of a [`TimeModes`] sum to 1.
    pub weight: f64,
    /// μ \[s\], which may be negative.
    pub mean: f64,
    /// σ \[s\], not negative.
    pub deviation: f64,
    /// Shape around the mean.
    pub shape: Shape,
}

/// A distribution of times: at least one mode.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeModes(pub Vec<TimeMode>);

impl TimeModes {
    /// Draws a time to add, which may be negative \[s\].
    pub fn draw(&self, stream: &mut SmallStream) -> f64 {
        let mode = &self.0[pick(self.0.iter().map(|mode| mode.weight), stream)];
        if mode.deviation == 0.0 {
            return mode.mean;
        }
        mode.mean + mode.deviation * mode.shape.of(small_normal(stream))
    }

    /// Mean of what is drawn, where no time is cut off at 0 \[s\].
    pub fn mean(&self) -> f64 {
        self.0.iter().map(|mode| mode.weight * mode.mean).sum()
    }
}

/// Noise of the messages of one regime, each around the time of the same name in the same regime.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RegimeNoise {
    /// Overhead of the sender.
    pub send: Option<TimeModes>,
    /// Time of a call that begins to send.
    pub isend: Option<TimeModes>,
    /// Overhead of the receiver.
    pub receive: Option<TimeModes>,
    /// Addition to the latency.
    pub latency: Option<TimeModes>,
}

impl RegimeNoise {
    /// True if nothing is drawn.
    pub fn is_none(&self) -> bool {
        *self == RegimeNoise::default()
    }

    /// Modes of one purpose.
    pub fn of(&self, purpose: Purpose) -> Option<&TimeModes> {
        match purpose {
            Purpose::Send => self.send.as_ref(),
            Purpose::Isend => self.isend.as_ref(),
            Purpose::Receive => self.receive.as_ref(),
            Purpose::Latency => self.latency.as_ref(),
        }
    }
}

/// Noise of the messages of a platform.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageNoise {
    /// Seed of the run.
    pub seed: u64,
    /// For each of the regimes between hosts.
    pub network: Vec<RegimeNoise>,
    /// For each of the regimes of copies within a host.
    pub memory: Vec<RegimeNoise>,
}

/// Purpose of a drawn time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Overhead of the sender.
    Send,
    /// Time of a call that begins to send.
    Isend,
    /// Overhead of the receiver.
    Receive,
    /// Addition to the latency.
    Latency,
}

impl Purpose {
    /// All of them, in the order of their numbers.
    pub const ALL: [Purpose; 4] = [Purpose::Send, Purpose::Isend, Purpose::Receive, Purpose::Latency];

    /// Name of its random streams.
    pub fn stream_name(self) -> &'static str {
        ["send overhead", "isend overhead", "receive overhead", "latency"][self as usize]
    }
}
