//! Clock of a rank, made monotonic.
//!
//! ```text
//! begin' = max(begin, end' of the call before)
//! end'   = max(end, begin')
//! ```
//!
//! On one rank a call begins after the previous one has returned, and returns after it has begun. A recording that
//! says otherwise had its clock set back meanwhile (or several threads called), so the elapsed time is unknown. A
//! replay assumes none: nothing is computed until the clock is back where it had been.

use engine::Time;

use super::set::RecordedCall;

/// End of a warning about such a clock.
const ASSUMED: &str = "its clock runs backwards there, and a replay assumes that it stands still until it is back \
                       where it had been ('hopcast trace lint' lists such calls)";

/// Latest time of one rank's clock.
#[derive(Debug, Default, Clone)]
pub struct MonotonicClock {
    /// End and name of the last call.
    last: Option<(Time, &'static str)>,
}

impl MonotonicClock {
    /// Makes the times of the next call monotonic; with the reason for a change, if there was one.
    #[inline]
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

/// Warning about a rank's first call whose clock ran backwards for this `cause`, as it was recorded.
pub fn warning(call: &RecordedCall, rank: u32, cause: &str) -> String {
    format!("{} of rank {rank}, at {:.9} s of the trace, {cause}: {ASSUMED}", call.name, call.begin.seconds())
}

/// Keeps the first of these warnings, which states the assumption for all ranks, and all other warnings.
pub fn said_once<T>(warnings: &mut Vec<T>, text: impl Fn(&T) -> &str) {
    let mut said = false;
    warnings.retain(|one| !text(one).ends_with(ASSUMED) || !std::mem::replace(&mut said, true));
}
