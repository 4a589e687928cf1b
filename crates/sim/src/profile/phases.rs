//! Stretches of set-up and report, timed from border to border.

use std::time::Instant;

use super::{LayerCost, resident};

/// Stopwatch of what runs before and after the simulation; measures nothing in a run without a profile.
#[derive(Debug)]
pub struct Phases {
    phase: &'static str,
    /// Begin of the present stretch, and the memory then.
    since: Option<(Instant, i64)>,
    done: Vec<LayerCost>,
}

impl Phases {
    /// Begins with the stretches of `phase`, if there `is` a profile.
    pub fn start(is: bool, phase: &'static str) -> Phases {
        Phases { phase, since: is.then(moment), done: Vec::new() }
    }

    /// Ends the stretch of `layer`; the next one begins.
    pub fn end(&mut self, layer: &'static str) {
        let Some((began, memory)) = self.since else { return };
        let now = moment();
        self.done.push(LayerCost {
            phase: self.phase,
            layer,
            time_s: now.0.duration_since(began).as_secs_f64(),
            memory_bytes: now.1 - memory,
        });
        self.since = Some(now);
    }

    /// True if there is a profile.
    pub fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// Stretches that have ended.
    pub fn done(&self) -> &[LayerCost] {
        &self.done
    }
}

fn moment() -> (Instant, i64) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the profile of the simulator is no part of the simulation"
    )]
    let now = Instant::now();
    (now, resident())
}
