//! Helpers of the tests of network models: hand-drawn networks, and a driver that sends and waits.

pub mod graph;
pub mod parts;

use std::sync::Arc;

use engine::registry::{Arguments, Value};
use engine::{Bandwidth, Bytes, Duration, Key, Lane, Owner, Queue, Time, Token};
use network::model::MODELS;
use network::{
    Arrival, Delays, Endpoint, Fabric, Happening, HostId, HostParameters, Memory, Message, Network, Nics,
    Part, Regime,
};

/// A model, as a platform file would name it: `"flow"`, or with a sharing `"flow equal-share"`; or with a
/// protocol, a loss and a congestion control `"packet fma-put 0.1 dctcp"`; `"buffered"` behind all that gives outputs
/// buffers, and crossbars a rate of their own.
pub fn model(name: &str, fabric: &Arc<Fabric>, hosts: &Arc<HostParameters>) -> Box<dyn Network> {
    model_of_part(name, fabric, hosts, &Part::whole())
}

/// The same for one part of the network.
pub fn model_of_part(
    name: &str,
    fabric: &Arc<Fabric>,
    hosts: &Arc<HostParameters>,
    part: &Part,
) -> Box<dyn Network> {
    let plain = name.strip_suffix(" buffered");
    let mut words = plain.unwrap_or(name).split(' ');
    let kind = words.next().unwrap();
    let entry = engine::registry::find(MODELS, "model", kind).unwrap();
    let mut arguments = Arguments::default();
    match kind {
        "flow" => drop(arguments.0.insert("sharing", Value::Text(words.next().unwrap_or("max-min").into()))),
        "packet" => {
            if plain.is_some() {
                arguments.0.insert("output_buffer", Value::Size(Bytes(5000)));
                arguments.0.insert("crossbar_bandwidth", Value::Bandwidth(Bandwidth(9_000_000_001)));
            }
            arguments.0.insert("protocol", Value::Text(words.next().unwrap_or("packets").into()));
            let loss = words.next().map_or(0.0, |loss| loss.parse().unwrap());
            arguments.0.insert("loss", Value::Number(loss));
            if let Some(congestion) = words.next() {
                arguments.0.insert("congestion", Value::Text(congestion.into()));
                arguments.0.insert("marking_threshold", Value::Size(Bytes(8 << 10)));
            }
        }
        _ => {}
    }
    (entry.build.make)(&arguments, fabric.clone(), hosts.clone(), part).unwrap()
}

/// All models, with every sharing of `flow`.
pub fn all_models() -> Vec<String> {
    let variants = |name: &'static str| match name {
        "flow" => ["max-min", "equal-share"].map(|sharing| format!("flow {sharing}")).to_vec(),
        _ => vec![name.to_string()],
    };
    MODELS.iter().flat_map(|entry| variants(entry.name)).collect()
}

/// Those in which messages are fluid: without packets, of which a long message has very many and the
/// last is rarely full, and without arbiters, who take turns in the order of their ports.
pub fn fluid_models() -> Vec<String> {
    all_models().into_iter().filter(|name| name != "packet").collect()
}

/// Hosts that are never the limit, and that add nothing.
pub fn transparent(processes: u16) -> HostParameters {
    HostParameters {
        processes,
        memory: Memory::uniform(Duration(0), Bandwidth::INFINITE, Bandwidth::INFINITE),
        regimes: vec![Regime::FREE],
        nics: Nics::ONE,
        nic_gap: Duration(0),
        packet_payload: Bytes(1),
        packet_wire: Bytes(1),
    }
}

/// From process `from.1` of host `from.0` to process `to.1` of host `to.0`.
pub fn message(from: (u32, u16), to: (u32, u16), size: u64, number: u64) -> Message {
    let end = |(host, process)| Endpoint { host: HostId(host), process };
    Message {
        from: end(from),
        to: end(to),
        nics: None,
        regime: 0,
        notify_sent: true,
        size: Bytes(size),
        key: Key::of_message(number as u32, 0),
        cargo: std::array::from_fn(|word| if word == 0 { number } else { word as u64 }),
    }
}

/// Gives a message another number.
pub fn renumber(message: &mut Message, number: u64) {
    message.cargo[0] = number;
    message.key = Key::of_message(number as u32, 0);
}

/// Times at which a message was sent and delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    pub sent: Option<Time>,
    pub delivered: Time,
}

/// Sends `messages` at their times through `network` and gives the times of each, in their order.
///
/// Each must be delivered exactly once, unchanged, and told of as sent, once, if it asked for that.
pub fn run(network: &mut dyn Network, messages: &[(Time, Message)]) -> Vec<Times> {
    let told = drive(network, messages).into_iter().enumerate();
    let times: Vec<Times> = told
        .map(|(number, (sent, delivered))| Times {
            sent,
            delivered: delivered.unwrap_or_else(|| panic!("message {number} is not delivered")),
        })
        .collect();
    for (times, (_, message)) in times.iter().zip(messages) {
        assert_eq!(times.sent.is_some(), message.notify_sent);
    }
    times
}

/// Sends `messages` until nothing happens any more: when each was sent and delivered, if it was.
pub fn drive(network: &mut dyn Network, messages: &[(Time, Message)]) -> Vec<(Option<Time>, Option<Time>)> {
    let times = drive_answered(network, messages);
    for (sent, delivered) in &times {
        let later = delivered.zip(*sent).is_some_and(|(delivered, sent)| sent > delivered);
        assert!(!later, "nothing is told after the delivery");
    }
    times
}

/// Places at which the message of `arrival`, which is reported at `now`, was delayed: times that sum to its delay.
pub fn delays_of(network: &dyn Network, now: Time, arrival: &Arrival) -> Delays {
    let delay = now.since(arrival.injected).saturating_sub(arrival.idle.total());
    let delays = network.delays(&arrival.message, delay);
    let sum: Duration = delays.0.iter().map(|(_, time)| *time).sum();
    assert_eq!(sum, delay, "{:?} of {:?}", delays, arrival.message);
    delays
}

/// The same, where senders wait for answers and are told after the delivery that they have sent.
pub fn drive_answered(
    network: &mut dyn Network,
    messages: &[(Time, Message)],
) -> Vec<(Option<Time>, Option<Time>)> {
    drive_watched(network, messages, |_, _| {})
}

/// The same, with a look at the network at the end of each instant.
pub fn drive_watched(
    network: &mut dyn Network,
    messages: &[(Time, Message)],
    mut watch: impl FnMut(Time, &mut dyn Network),
) -> Vec<(Option<Time>, Option<Time>)> {
    let mut queue = Queue::new();
    for (number, (at, _)) in messages.iter().enumerate() {
        queue.push(*at, Owner::new(Lane::Rank, number as u32), Token::new(Lane::Rank, number as u64));
    }
    let mut sent = vec![None; messages.len()];
    let mut delivered = vec![None; messages.len()];
    let mut arrivals: Vec<Arrival> = Vec::new();
    while let Some(event) = queue.pop() {
        if event.token.lane() == Lane::Rank {
            let message = &messages[event.token.payload() as usize].1;
            network.inject(event.time, message, &mut queue);
        } else {
            network.wake(event.time, event.token, &mut queue, &mut arrivals);
        }
        for arrival in arrivals.drain(..) {
            let number = arrival.message.cargo[0] as usize;
            let (at, message) = messages[number];
            // The network chooses for messages that name no NICs.
            let nics = message.nics.or(arrival.message.nics);
            assert_eq!((arrival.injected, arrival.message), (at, Message { nics, ..message }));
            assert_eq!(arrival.idle, network.idle_parts(&message), "what an idle network takes");
            delays_of(network, event.time, &arrival);
            match arrival.happening {
                Happening::Sent => {
                    assert_eq!(sent[number].replace(event.time), None, "sent once");
                    assert!(arrival.message.notify_sent, "sent is told to who asks");
                }
                Happening::Delivered => {
                    assert_eq!(delivered[number].replace(event.time), None, "delivered once");
                }
            }
        }
        if queue.instant_is_over() {
            network.end_instant(event.time, &mut queue);
            watch(event.time, network);
        }
    }
    sent.into_iter().zip(delivered).collect()
}
