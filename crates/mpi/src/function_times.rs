//! Times of MPI's functions by name, beside what every call and every message costs.
//!
//!   t = call_overhead + max(0, f + μ_i + σ_i z)      each call of a named function, before what it does
//!
//! A test or probe of a named function that finds nothing takes this time and no poll; a loop of them takes its mean, f + Σ π_i μ_i,
//! for each, as [`crate::world::Protocol::poll`] otherwise. Assumptions: the time does not depend on the arguments. Validity: calls
//! that do not communicate (MPI_Wtime, MPI_Iprobe, MPI_Test) and the fixed part of those that do. Source: SMPI's `smpi/wtime`,
//! `smpi/iprobe` and `smpi/test`, measured in Cornebize's calibrations (thesis, Université Grenoble Alpes 2021, 8.3).

use engine::Duration;
use engine::random::SmallStream;

use crate::message_noise::TimeModes;

/// Names of all functions of MPI that a program can call, in order.
pub fn known() -> impl Iterator<Item = &'static str> {
    include_str!("function_names.txt").lines()
}

/// Time of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionTime {
    /// Its name, such as MPI_Iprobe.
    pub function: String,
    /// f
    pub time: Duration,
    /// Modes around it; `None` without noise.
    pub modes: Option<TimeModes>,
}

impl FunctionTime {
    /// Draws the time of a call.
    pub fn draw(&self, stream: &mut SmallStream) -> Duration {
        let Some(modes) = &self.modes else { return self.time };
        Duration::from_seconds((self.time.seconds() + modes.draw(stream)).max(0.0))
    }

    /// Mean time, at least the shortest that there is: loops of calls end.
    pub fn mean(&self) -> Duration {
        let shift = self.modes.as_ref().map_or(0.0, TimeModes::mean);
        Duration::from_seconds((self.time.seconds() + shift).max(0.0)).max(Duration(1))
    }
}

/// Times of named functions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FunctionTimes {
    /// Seed of the run.
    pub seed: u64,
    /// In the order of the platform; no name comes twice.
    pub all: Vec<FunctionTime>,
}

impl FunctionTimes {
    /// Time of the function of that name.
    pub fn of(&self, function: &str) -> Option<&FunctionTime> {
        self.all.iter().find(|time| time.function == function)
    }

    /// True if no function is named.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
