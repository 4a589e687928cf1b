//! Warnings about a program as a whole.

use engine::Time;

use super::{Live, Seat};

impl Seat {
    /// True if only a message, or the number of its polls, lets the rank go on.
    fn polls_or_waits(&self) -> bool {
        let is_in_a_call = || self.held.is_none() && !self.process.performing.get().is_empty();
        self.poll_loop.is_long() || is_in_a_call()
    }
}

impl Live {
    /// Message for ranks none of which has initialised MPI, or a session, once they have ended well.
    pub fn unused(&self) -> Option<String> {
        (!self.shared.used.get() && self.faults.is_empty()).then(|| {
            format!(
                "none of the {} ranks has called MPI_Init: each ran by itself; 'hopcast cc' compiles a program for MPI",
                self.shared.ranks
            )
        })
    }

    /// Warning that all ranks only polled for a long time, or stood in calls of MPI.
    ///
    /// Such a run goes on for ever, but is no deadlock for certain: the program may count its polls. The state of a call in
    /// which a rank stands is not looked at, so a long access to a file counts, too.
    pub fn vain_polls(&self) -> Option<String> {
        self.vain_polls.clone()
    }

    /// Warns once if no rank does anything but poll, or wait; asked when the loop of a rank has just become long, and now
    /// and then after that.
    #[cold]
    pub(super) fn look_for_vain_polls(&mut self, rank: u32, now: Time) {
        let elsewhere = self.shared.spread.is_some();
        let mut seats = self.seats.iter().flatten();
        if self.vain_polls.is_some() || elsewhere || !seats.all(Seat::polls_or_waits) {
            return;
        }
        let function = self.seats[rank as usize].as_ref().map_or("", |seat| seat.process.performing.get());
        let warning = format!(
            "at {now}, all ranks that are not done only poll, or stand in calls of MPI: rank {rank} polls with {function}, \
             for a long time in vain; if messages alone end the program's polls, this is a deadlock, and a run with \
             --polls endless ends with the places of all ranks"
        );
        eprintln!("hopcast: warning: {warning}");
        self.vain_polls = Some(warning);
    }
}
