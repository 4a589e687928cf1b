//! Slack of links that crowded ones have reached: where it is, what it leaves alone, and how far it moves arrivals.

use std::ops::Range;
use std::sync::Arc;

use engine::{Bandwidth, Bytes, Duration, Key, Lane, Owner, Queue, Time, Token};
use rand_chacha::rand_core::RngCore;

use super::super::slack::EXACT;
use super::super::streams::Streams;
use super::super::{Flow, Sharing};
use super::{fabric, hosts};
use crate::topology::HostId;
use crate::{Endpoint, Fabric, HostParameters, Message, Network, Regime};

/// A message: when, from which host to which, of which size.
type Sent = (Time, u32, u32, Bytes);

/// Sends `messages` where links with `many` flows are crowded. Gives the times of arrivals, and the most that a link
/// carried as a share of its capacity. Checks now and then that slack is where it should be.
fn send(fabric: &Arc<Fabric>, many: u32, messages: &[Sent]) -> (Vec<Time>, f64) {
    send_until_costly(fabric, (many, 0), messages)
}

/// The same where they are not crowded before they have made `costly` changes of rates for each flow.
fn send_until_costly(
    fabric: &Arc<Fabric>,
    (many, costly): (u32, u64),
    messages: &[Sent],
) -> (Vec<Time>, f64) {
    let regime = Regime { nic_rate: Bandwidth(6_000_000_000), ..Regime::FREE };
    let parameters = HostParameters { regimes: vec![regime], ..HostParameters::clone(&hosts([1; 2])) };
    let mut flow = Flow::new(fabric.clone(), Arc::new(parameters), Sharing::MaxMin);
    (flow.streams.links.many, flow.streams.links.costly) = (many, costly);
    let (mut queue, mut arrivals, mut most, mut instants) = (Queue::new(), Vec::new(), 0.0, 0);
    let mut seen = vec![Time::NEVER; messages.len()];
    for (number, (at, from, ..)) in messages.iter().enumerate() {
        queue.push(*at, Owner::new(Lane::Rank, *from), Token::new(Lane::Rank, number as u64));
    }
    while let Some(event) = queue.pop() {
        if event.token.lane() == Lane::Network {
            flow.wake(event.time, event.token, &mut queue, &mut arrivals);
        } else {
            let number = event.token.payload();
            let (_, from, to, size) = messages[number as usize];
            let [from, to] = [from, to].map(|host| Endpoint { host: HostId(host), process: 0 });
            let (key, cargo) = (Key::of_message(from.host.0, to.host.0), [number; crate::CARGO_WORDS]);
            let message = Message { from, to, nics: None, regime: 0, notify_sent: false, size, key, cargo };
            flow.inject(event.time, &message, &mut queue);
        }
        arrivals.drain(..).for_each(|arrival| seen[arrival.message.cargo[0] as usize] = event.time);
        if queue.instant_is_over() {
            flow.end_instant(event.time, &mut queue);
            instants += 1;
            if instants % 8 == 0 {
                check_slack(&flow);
                check_ends(&flow, event.time);
                most = carried_most(&flow).max(most);
            }
        }
    }
    assert!(seen.iter().all(|time| *time < Time::NEVER), "all messages come");
    (seen, most)
}

/// Crowded links have slack, as have all that share a flow with a link that has some; empty ones have none.
fn check_slack(flow: &Flow) {
    let links = &flow.streams.links;
    for (at, link) in links.all.iter().enumerate() {
        let is_crowded = links.is_crowded(at as u32);
        assert!(!is_crowded || link.slack != EXACT, "link {at} is crowded and has no slack");
        assert!(link.load > 0 || link.slack == EXACT, "link {at} is empty and has slack");
        for stream in flow.streams.on(at as u32) {
            let beside = flow.streams.path(stream).iter().map(|beside| links.all[*beside as usize].slack);
            assert!(beside.clone().all(|slack| (slack == EXACT) == (link.slack == EXACT)), "link {at}");
        }
    }
}

/// The first flow that a link holds back has an event no later than its end.
fn check_ends(flow: &Flow, now: Time) {
    let Streams { links, bundles, wakes, .. } = &flow.streams;
    for at in 0..links.all.len() as u32 {
        let Some((end, reached)) = links.first_end(at, now) else { continue };
        let first = links.held(at).iter().filter(|entry| entry.due <= reached);
        let mut streams = first.flat_map(|entry| bundles.all[entry.number as usize].ending(reached));
        assert!(
            streams.all(|stream| wakes[stream as usize].at <= end),
            "link {at}: nothing ends its first flow"
        );
    }
}

/// The largest use of a link as a share of its capacity. Checks that a link which holds flows back has no more left than
/// its slack.
fn carried_most(flow: &Flow) -> f64 {
    let links = &flow.streams.links;
    let shares = links.all.iter().enumerate().filter(|(_, link)| link.load > 0).map(|(at, link)| {
        let rates = flow.streams.on(at as u32).map(|stream| flow.streams.rate(stream).0);
        let share = rates.sum::<u64>() as f64 / links.capacities[at] as f64;
        assert!(link.keeps == 0 || share > 1.0 - BOUND, "link {at} holds flows back at {share}");
        share
    });
    shares.fold(0.0, f64::max)
}

/// The most by which what a link with slack carries differs from its capacity, as a share of that.
const BOUND: f64 = 2.02 / 64.0;

/// All `hosts` of a fabric send `size` to all others, one message each `gap`.
fn all_to_all(hosts: Range<u32>, size: Bytes, gap: Duration) -> Vec<Sent> {
    let count = hosts.len() as u32;
    let (first, pairs) = (hosts.start, hosts.flat_map(|from| (1..count).map(move |by| (from, by))));
    let sent = |(from, by)| {
        let at = Time(gap.0 * u64::from(by) + 17 * u64::from(from));
        (at, from, first + (from - first + by) % count, size)
    };
    pairs.map(sent).collect()
}

/// Each of the hosts sends `each` messages of up to `size` to others at random, within the first `time`.
fn shuffled(count: u32, each: u32, size: u32, time: Duration) -> Vec<Sent> {
    let mut random = engine::random::stream(11, "slack-test", 0);
    let mut below = |most: u32| random.next_u32() % most;
    let mut sent = |from| {
        let to = (from + 1 + below(count - 1)) % count;
        (Time((u64::from(below(1 << 20)) * time.0) >> 20), from, to, Bytes(u64::from(1 + below(size))))
    };
    (0..each * count).map(|number| sent(number % count)).collect()
}

/// All hosts send to the first one, and each to its neighbour.
fn incast(count: u32, each: u32) -> Vec<Sent> {
    let others = (0..each).flat_map(|turn| (1..count).map(move |from| (turn, from)));
    let to_first =
        others.clone().map(|(turn, from)| (Time(1_000_000 * u64::from(turn)), from, 0, Bytes(20_000)));
    let beside = others.map(|(turn, from)| {
        let size = Bytes(10_000 + 1_000 * u64::from(from % 7));
        (Time(1_500_000 * u64::from(turn) + 1_000 * u64::from(from)), from, 1 + from % (count - 1), size)
    });
    to_first.chain(beside).collect()
}

fn torus() -> Arc<Fabric> {
    fabric("torus", &[("sizes", &[4, 3, 4])])
}

fn tree() -> Arc<Fabric> {
    fabric("fat-tree", &[("m", &[6, 4, 2]), ("w", &[1, 2, 2])])
}

/// With slack, links carry about what they can, and messages come when they would without: all in all within a percent,
/// each within a twentieth of the whole time.
#[test]
fn slack_moves_arrivals_by_little() {
    let gap = Duration::from_ns(200);
    let patterns = [
        all_to_all(0..48, Bytes(30_000), gap),
        all_to_all(0..48, Bytes(30_000), Duration::ZERO),
        shuffled(48, 40, 60_000, Duration::from_ns(20_000)),
        incast(48, 4),
    ];
    let (fabrics, mut moves) = ([torus(), tree()], 0);
    for (fabric, messages) in fabrics.iter().flat_map(|fabric| patterns.iter().map(move |all| (fabric, all)))
    {
        let [(exact, full), (loose, most)] = [u32::MAX, 16].map(|many| send(fabric, many, messages));
        assert!(full <= 1.0 + 1e-9, "{full} of a link's capacity");
        assert!(most <= 1.0 + BOUND, "{most} of a link's capacity");
        let off = |of: fn(&[Time]) -> f64| (of(&loose) / of(&exact) - 1.0).abs();
        let (all, each) = (off(last), off(mean));
        assert!(all < 0.01 && each < 0.015, "makespan {all}, mean {each}");
        let moved = exact.iter().zip(&loose).map(|(exact, loose)| exact.0.abs_diff(loose.0) as f64);
        let furthest = moved.fold(0.0, f64::max) / last(&exact);
        assert!(furthest < 0.05, "{furthest} of the whole time");
        moves += usize::from(furthest > 0.0);
    }
    // Where all hosts do the same at once, there is nothing to move.
    assert!(moves >= 4, "{moves} of eight runs show slack");
}

fn last(times: &[Time]) -> f64 {
    times.iter().max().expect("a message").0 as f64
}

fn mean(times: &[Time]) -> f64 {
    times.iter().map(|time| time.0 as f64).sum::<f64>() / times.len() as f64
}

/// A link with one flow less than a crowded one leaves all rates exact; one more moves arrivals.
#[test]
fn without_a_crowded_link_rates_are_exact() {
    let messages = all_to_all(0..48, Bytes(30_000), Duration::ZERO);
    let exact = send(&tree(), u32::MAX, &messages);
    // 47 messages leave each host, and more than 100 cross each link to the top.
    assert_ne!(send(&tree(), 100, &messages), exact);
    assert_eq!(send(&tree(), 47 * 48, &messages), exact);
}

/// Crowded links whose flows cost little stay exact; dear ones do not.
#[test]
fn rates_are_exact_until_they_cost_much() {
    let messages = all_to_all(0..48, Bytes(30_000), Duration::from_ns(200));
    let exact = send(&tree(), u32::MAX, &messages);
    let [dear, cheap] = [1_000, 10_000_000].map(|costly| send_until_costly(&tree(), (16, costly), &messages));
    assert_eq!(cheap, exact);
    assert_ne!(dear, exact);
    assert_ne!(dear, send(&tree(), 16, &messages), "rates are exact at first");
}

/// Hosts of one leaf of the tree share no link with those of others: a crowd there changes nothing here.
#[test]
fn a_crowd_elsewhere_changes_nothing() {
    let gap = Duration::from_ns(200);
    let here = all_to_all(0..6, Bytes(30_000), gap);
    let both = [here.clone(), all_to_all(6..24, Bytes(30_000), gap)].concat();
    let (alone, _) = send(&tree(), 10, &here);
    let [(exact, _), (loose, _)] = [u32::MAX, 10].map(|many| send(&tree(), many, &both));
    let count = here.len();
    assert_eq!((&exact[..count], &loose[..count]), (&alone[..], &alone[..]));
    assert_ne!(exact[count..], loose[count..]);
}

/// A run with slack gives the same arrivals each time.
#[test]
fn slack_is_the_same_in_each_run() {
    let messages = shuffled(48, 40, 60_000, Duration::from_ns(20_000));
    let first = send(&torus(), 16, &messages);
    assert!(send(&torus(), 16, &messages) == first);
    assert!(send(&torus(), u32::MAX, &messages) != first, "there is slack");
}

/// After a crowd, links are crowded again at once, with flows that would be cheap before.
#[test]
fn crowds_come_back_sooner() {
    let few = all_to_all(0..12, Bytes(30_000), Duration::from_ns(200));
    let late = |(at, from, to, size): &Sent| (Time(at.0 + 1_000_000_000), *from, *to, *size);
    let crowd = all_to_all(0..48, Bytes(30_000), Duration::from_ns(200));
    let both = [crowd.clone(), few.iter().map(late).collect()].concat();
    let exact = send(&tree(), u32::MAX, &few).0;
    let crowded = (10, 400);
    assert!(send_until_costly(&tree(), crowded, &few).0 == exact, "few flows cost little");
    let (after, _) = send_until_costly(&tree(), crowded, &both);
    assert!(last(&after[..crowd.len()]) < 1e9, "the crowd has gone");
    let after: Vec<Time> = after[crowd.len()..].iter().map(|time| Time(time.0 - 1_000_000_000)).collect();
    assert!(after != exact, "links are crowded again");
}
