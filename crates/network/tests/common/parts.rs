//! A network in parts: each has its own queue and model, and windows end with an exchange.

use std::sync::Arc;

use engine::{Duration, Lane, Owner, Queue, Time, Token};
use network::model::{Cutting, MODELS};
use network::{
    Arrival, Cut, Delays, Fabric, Happening, HostParameters, Message, Network, NetworkRecord, Part,
};

use super::{Times, delays_of, model_of_part};

/// Log of events: `(time, message's number, what, where it was delayed)`, in order, by part.
pub type Log = Vec<(Time, u64, Happening, Delays)>;

struct Domain {
    queue: Queue,
    network: Box<dyn Network>,
    log: Log,
}

/// Cutting of the model `name`.
pub fn cutting(name: &str) -> Cutting {
    let kind = name.split_once(' ').map_or(name, |(kind, _)| kind);
    MODELS.iter().find(|entry| entry.name == kind).unwrap().build.cut
}

/// Sends `messages` (numbered in the first word of their cargo) at their times over the network in the
/// parts of `cut`, and gives what each part saw.
pub fn run_in_parts(
    name: &str,
    fabric: &Arc<Fabric>,
    hosts: &Arc<HostParameters>,
    cut: &Arc<Cut>,
    messages: &[(Time, Message)],
) -> Vec<Log> {
    let domains = run_with(name, fabric, hosts, cut, messages, |_, _| {});
    domains.into_iter().map(|(log, _)| log).collect()
}

/// For how long each link was busy, and the bytes that it carried.
pub type Carried = Vec<(u64, u64)>;

struct Count<'a>(&'a mut Carried);

impl engine::Observer<NetworkRecord<'_>> for Count<'_> {
    fn record(&mut self, _now: Time, record: &NetworkRecord) {
        let NetworkRecord::LinkUse(carried) = record else { return };
        let count = &mut self.0[carried.link.0 as usize];
        *count = (count.0 + carried.busy.0, count.1 + carried.bytes.0);
    }
}

/// The same, with what all links have carried in the end.
pub fn run_and_count(
    name: &str,
    fabric: &Arc<Fabric>,
    hosts: &Arc<HostParameters>,
    cut: &Arc<Cut>,
    messages: &[(Time, Message)],
) -> (Vec<Log>, Carried) {
    let mut carried = vec![(0, 0); fabric.topology.links() as usize];
    let count = |(log, network): (Log, Box<dyn Network>)| {
        network.report(Time::LAST, &mut Count(&mut carried));
        log
    };
    let domains = run_with(name, fabric, hosts, cut, messages, |_, _| {});
    (domains.into_iter().map(count).collect(), carried)
}

/// The same after a `preparation` of each part's model; also gives the models.
pub fn run_with(
    name: &str,
    fabric: &Arc<Fabric>,
    hosts: &Arc<HostParameters>,
    cut: &Arc<Cut>,
    messages: &[(Time, Message)],
    preparation: impl Fn(&mut dyn Network, &Part),
) -> Vec<(Log, Box<dyn Network>)> {
    let domain = |me| {
        let mut queue = Queue::new();
        for (number, (at, message)) in messages.iter().enumerate() {
            if cut.of_host(message.from.host) == me {
                let token = Token::new(Lane::Rank, number as u64);
                queue.push(*at, Owner::new(Lane::Rank, number as u32), token);
            }
        }
        let part = Part { cut: cut.clone(), me };
        let mut network = model_of_part(name, fabric, hosts, &part);
        preparation(&mut *network, &part);
        Domain { queue, network, log: Vec::new() }
    };
    let mut domains: Vec<Domain> = (0..cut.parts()).map(domain).collect();
    let mut lookahead = domains.iter_mut().map(|domain| domain.network.lookahead()).min().unwrap();
    let current = |domains: &mut [Domain]| -> Vec<_> {
        let parts = domains.iter_mut().filter_map(|domain| domain.network.as_part());
        parts.map(|part| part.current_lookahead()).collect()
    };
    let idle = current(&mut domains);
    loop {
        let first = domains.iter_mut().map(|domain| domain.queue.next_time()).min().unwrap();
        if first == Time::NEVER {
            assert_eq!(current(&mut domains), idle, "nothing that {name} looks ahead for is left");
            return domains.into_iter().map(|domain| (domain.log, domain.network)).collect();
        }
        let end = if cut.parts() == 1 { Time::NEVER } else { first + lookahead };
        let mut crossings = Vec::new();
        lookahead = Duration(u64::MAX);
        for domain in &mut domains {
            domain.advance(end, messages);
            if let Some(part) = domain.network.as_part() {
                part.take_crossings(&mut crossings);
                assert!(part.current_lookahead() >= part.lookahead());
                lookahead = lookahead.min(part.current_lookahead());
            }
        }
        for crossing in crossings {
            assert!(crossing.at >= end, "a crossing of {name} comes after the window: {crossing:?}");
            let Domain { network, queue, .. } = &mut domains[crossing.to as usize];
            network.as_part().expect("a model that is cut").import(&crossing, queue);
        }
    }
}

impl Domain {
    fn advance(&mut self, end: Time, messages: &[(Time, Message)]) {
        let mut arrivals: Vec<Arrival> = Vec::new();
        while let Some(event) = self.queue.pop_before(end) {
            if event.token.lane() == Lane::Rank {
                let message = &messages[event.token.payload() as usize].1;
                self.network.inject(event.time, message, &mut self.queue);
            } else {
                self.network.wake(event.time, event.token, &mut self.queue, &mut arrivals);
            }
            for arrival in arrivals.drain(..) {
                let number = arrival.message.cargo[0];
                let (at, message) = messages[number as usize];
                let nics = message.nics.or(arrival.message.nics);
                assert_eq!((arrival.injected, arrival.message), (at, Message { nics, ..message }));
                assert_eq!(arrival.idle, self.network.idle_parts(&message), "what an idle network takes");
                let delays = delays_of(&*self.network, event.time, &arrival);
                self.log.push((event.time, number, arrival.happening, delays));
            }
            if self.queue.instant_is_over() {
                self.network.end_instant(event.time, &mut self.queue);
            }
        }
    }
}

/// Times at which each of `count` messages was sent and delivered.
pub fn times(logs: &[Log], count: usize) -> Vec<Times> {
    let mut times = vec![Times { sent: None, delivered: Time::NEVER }; count];
    for (at, number, happening, _) in logs.iter().flatten() {
        match happening {
            Happening::Sent => times[*number as usize].sent = Some(*at),
            Happening::Delivered => times[*number as usize].delivered = *at,
        }
    }
    times
}

/// The part of `whole` that concerns the hosts of part `me`, in its order.
pub fn restricted(whole: &Log, cut: &Cut, me: u32, messages: &[(Time, Message)]) -> Log {
    let mine = |(_, number, happening, _): &&(Time, u64, Happening, Delays)| {
        let message = &messages[*number as usize].1;
        let end = if *happening == Happening::Sent { message.from } else { message.to };
        cut.of_host(end.host) == me
    };
    whole.iter().filter(mine).copied().collect()
}
