//! A rank as its C library and kernels ask for it.

use engine::{Duration, Time};
use mpi::Op;

use super::place;
use super::process::Process;
use crate::loader::ProgramCopy;
use crate::process_view::View;
use crate::process_view::rank::Rank;
use crate::process_view::statics::OwnOptions;

impl Rank for Process {
    fn view(&self) -> &View {
        &self.view
    }

    fn number(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.shared.ranks
    }

    fn socket(&self) -> u32 {
        self.shared.socket_of_rank[self.rank as usize]
    }

    fn host(&self) -> u32 {
        self.shared.host_of_rank[self.rank as usize]
    }

    fn program(&self) -> &ProgramCopy {
        &self.program
    }

    fn own_environ(&self) -> Option<usize> {
        self.shared.own_environ
    }

    fn own_options(&self) -> OwnOptions {
        self.shared.own_options
    }

    fn catch_up(&self) {
        self.catch_up();
    }

    fn is_ahead(&self) -> bool {
        self.is_ahead()
    }

    fn flush(&self) {
        self.flush();
    }

    fn look_at_clock(&self) -> Time {
        self.look_at_clock()
    }

    fn end_of_computing(&self) -> Time {
        self.end_of_computing()
    }

    fn sleep_until(&self, until: Time) {
        self.perform(Op::SleepUntil(until), |_| ());
    }

    fn let_pass(&self, time: Duration) {
        self.let_pass(time);
    }

    fn set_exit_code(&self, code: i32) {
        self.exit_code.set(code);
    }

    fn note_place(&self) {
        self.standing.set(place::here());
    }

    fn end(&self) -> ! {
        self.end(Op::Finish)
    }
}
