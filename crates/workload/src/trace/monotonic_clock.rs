//! A rank's clock, which only runs forwards.
//!
//! ```text
//! begin' = max(begin, end' of the call before)
//! end'   = max(end, begin')
//! ```
//!
//! On one rank a call begins when the one before it has returned, and returns when it has begun. Where a recording says
//! otherwise its clock was set back meanwhile (or several threads called), and nobody knows how much time went by. A replay
//! takes it to have been none: nothing is computed until the clock is where it had been.

use engine::Time;

use super::set::RecordedCall;

/// End of a warning about such a clock.
const ASSUMED: &str = "its clock runs backwards there, and a replay takes it to stand still until it is where it had \
                       been ('hopcast trace lint' lists such calls)";

/// The clock of one rank, as far as its calls have come.
#[derive(Debug, Default, Clone)]
pub struct MonotonicClock {
    /// Time at which the last call returned, and its name.
    last: Option<(Time, &'static str)>,
}

impl MonotonicClock {
    /// The next call with times that are no earlier than those before it; why they had to be moved, if they had.
    pub fn call(&mut self, recorded: RecordedCall) -> (RecordedCall, Option<String>) {
        let RecordedCall { name, begin, end } = recorded;
        let (now, before) = self.last.unwrap_or((Time::ZERO, ""));
        let cause = if now > begin {
            Some(format!("begins {} before the end of {before}, the call before it", now.since(begin)))
        } else if begin > end {
            Some(format!("ends {} before it begins", begin.since(end)))
        } else {
            None
        };
        let begin = begin.max(now);
        let end = end.max(begin);
        self.last = Some((end, name));
        (RecordedCall { name, begin, end }, cause)
    }
}

/// Warning of a replay about a rank's first call with such a `cause`, as it was recorded.
pub fn warning(call: &RecordedCall, rank: u32, cause: &str) -> String {
    format!("{} of rank {rank}, at {:.9} s of the trace, {cause}: {ASSUMED}", call.name, call.begin.seconds())
}

/// Keeps the first of these warnings, which says for all ranks what is assumed, and all others.
pub fn said_once<T>(warnings: &mut Vec<T>, text: impl Fn(&T) -> &str) {
    let mut said = false;
    warnings.retain(|one| !text(one).ends_with(ASSUMED) || !std::mem::replace(&mut said, true));
}
