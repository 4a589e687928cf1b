//! A network and a source that mark their layer while they work.

use engine::{Queue, Time, Token};
use mpi::operation::{Data, Op, Rank, Request};
use mpi::source::Status;
use mpi::{Completion, Issued, Source};
use network::interface::Report;
use network::{Arrival, Cargo, IdleTime, Inspect, Message, Network, NetworkPart, PacketEvents};

use super::{Layer, Marker};

/// Network that marks.
pub struct MarkedNetwork {
    /// The network.
    pub network: Box<dyn Network>,
    /// Marker of its thread.
    pub marker: Marker,
}

impl Network for MarkedNetwork {
    fn inject(&mut self, now: Time, message: &Message, queue: &mut Queue) {
        self.marker.inside(Layer::Network, || self.network.inject(now, message, queue));
    }

    fn wake(&mut self, now: Time, token: Token, queue: &mut Queue, arrivals: &mut Vec<Arrival>) {
        self.marker.inside(Layer::Network, || self.network.wake(now, token, queue, arrivals));
    }

    fn prefetch(&self, token: Token) {
        self.network.prefetch(token);
    }

    fn upcoming_cargo(&self, token: Token) -> Option<&Cargo> {
        self.network.upcoming_cargo(token)
    }

    fn end_instant(&mut self, now: Time, queue: &mut Queue) {
        self.marker.inside(Layer::Network, || self.network.end_instant(now, queue));
    }

    fn idle_parts(&self, message: &Message) -> IdleTime {
        self.marker.inside(Layer::Network, || self.network.idle_parts(message))
    }

    fn report(&self, now: Time, observer: &mut Report<'_>) {
        self.network.report(now, observer);
    }

    fn report_changes(&mut self, now: Time, observer: &mut Report<'_>) {
        self.network.report_changes(now, observer);
    }

    fn looks(&self) -> u64 {
        self.network.looks()
    }

    fn as_inspect(&self) -> Option<&dyn Inspect> {
        self.network.as_inspect()
    }

    fn as_part(&mut self) -> Option<&mut dyn NetworkPart> {
        self.network.as_part()
    }

    fn as_packets(&mut self) -> Option<&mut dyn PacketEvents> {
        self.network.as_packets()
    }
}

/// Source that marks.
pub struct MarkedSource<'a, S: Source + ?Sized> {
    /// The source.
    pub source: &'a mut S,
    /// Marker of its thread.
    pub marker: Marker,
}

impl<S: Source + ?Sized> Source for MarkedSource<'_, S> {
    fn next(&mut self, rank: Rank, done: &Completion) -> Op {
        self.marker.inside(Layer::Source, || self.source.next(rank, done))
    }

    fn matched(&mut self, data: Data, receiver: Rank, request: Option<Request>) {
        self.marker.inside(Layer::Source, || self.source.matched(data, receiver, request));
    }

    fn completed(&mut self, rank: Rank, request: Request, status: &Status) {
        self.marker.inside(Layer::Source, || self.source.completed(rank, request, status));
    }

    fn access(&mut self, target: Rank, data: Data, answers: &mut Vec<Data>) {
        self.marker.inside(Layer::Source, || self.source.access(target, data, answers));
    }

    fn export(&mut self, data: Data, sender: Rank, receiver: Rank) -> Data {
        self.marker.inside(Layer::Source, || self.source.export(data, sender, receiver))
    }

    fn take_contents(&mut self) -> Vec<(u32, Vec<u8>)> {
        self.marker.inside(Layer::Source, || self.source.take_contents())
    }

    fn receive_contents(&mut self, contents: &[u8]) {
        self.marker.inside(Layer::Source, || self.source.receive_contents(contents));
    }

    fn place(&self, rank: Rank) -> Option<String> {
        self.source.place(rank)
    }

    fn function(&self, rank: Rank) -> Option<&'static str> {
        self.source.function(rank)
    }

    fn calling(&self, rank: Rank) -> Option<&'static str> {
        self.source.calling(rank)
    }

    fn issued(&self) -> Option<Issued> {
        self.source.issued()
    }

    fn take_error(&mut self) -> Option<String> {
        self.source.take_error()
    }
}
