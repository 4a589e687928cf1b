//! Messages per second through each network model, without MPI.

use std::sync::Arc;

use benches::fabrics::{fat_tree, hosts, nsim_hosts, nsim_packets, nsim_torus, torus};
use benches::traffic::Traffic;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use engine::Duration;
use network::model::{Flow, LogGP, MaxRate, Packet, Postal, Sharing};
use network::{Fabric, Network};

type Make = fn(Arc<Fabric>) -> Box<dyn Network>;

const POSTAL: (&str, Make) = ("postal", |fabric| Box::new(Postal::new(fabric, hosts())));
const MAX_RATE: (&str, Make) = ("max-rate", |fabric| Box::new(MaxRate::new(fabric, hosts())));
const EQUAL_SHARE: (&str, Make) =
    ("flow, equal share", |fabric| Box::new(Flow::new(fabric, hosts(), Sharing::EqualShare)));
const FLOW: (&str, Make) = ("flow", |fabric| Box::new(Flow::new(fabric, hosts(), Sharing::MaxMin)));
const LOGGP: (&str, Make) = ("loggp", |fabric| Box::new(LogGP::new(fabric, hosts())));

fn measure(
    criterion: &mut Criterion,
    name: &str,
    (model, make): (&str, Make),
    fabric: &Arc<Fabric>,
    traffic: &Traffic,
) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).throughput(Throughput::Elements(traffic.messages()));
    group.bench_function(model, |bencher| {
        let run = |mut network: Box<dyn Network>| {
            let outcome = traffic.run(&mut *network);
            assert_eq!(outcome.messages, traffic.messages());
        };
        bencher.iter_batched(|| make(fabric.clone()), run, BatchSize::PerIteration);
    });
    group.finish();
}

/// Packet-hops per second under all-to-all traffic, on the torus of the NSIM study and a larger one.
fn packet_hops(criterion: &mut Criterion) {
    for (name, sizes, rounds) in [("2,048 hosts", [16, 16, 8], 24), ("65,536 hosts", [64, 32, 32], 2)] {
        let fabric = nsim_torus(&sizes);
        let traffic = Traffic::shifts(fabric.topology.hosts(), rounds, 32 << 10);
        let mut network = Packet::new(fabric.clone(), nsim_hosts(), nsim_packets());
        traffic.run(&mut network);
        let mut group = criterion.benchmark_group(format!("packet, all-to-all, {name}"));
        group.sample_size(10).throughput(Throughput::Elements(network.totals().packet_hops));
        group.bench_function("packet-hops", |bencher| {
            let make = || Packet::new(fabric.clone(), nsim_hosts(), nsim_packets());
            bencher.iter_batched(make, |mut network| traffic.run(&mut network), BatchSize::PerIteration);
        });
        group.finish();
    }
}

fn halo(criterion: &mut Criterion) {
    let traffic = || Traffic::halo3d(10, 20, 8192);
    let spaced = traffic().spaced(Duration::from_ns(200));
    let shuffled = traffic().spaced(Duration::from_ns(200)).shuffled();
    let traffic = traffic();
    for (name, fabric) in [("torus", torus(10)), ("fat tree", fat_tree(&[10, 10, 10]))] {
        let name = format!("3-D halo, 1,000 hosts, {name}");
        for model in [POSTAL, MAX_RATE, LOGGP, FLOW, EQUAL_SHARE] {
            measure(criterion, &name, model, &fabric, &traffic);
        }
        measure(criterion, &format!("{name}, 200 ns between sends"), FLOW, &fabric, &spaced);
        measure(criterion, &format!("{name}, 200 ns between sends, random places"), FLOW, &fabric, &shuffled);
    }
}

fn allreduce(criterion: &mut Criterion) {
    let traffic = Traffic::recursive_doubling(512, 20, 65_536);
    let networks = [("torus", torus(8)), ("fat tree", fat_tree(&[8, 8, 8]))];
    for (name, fabric) in &networks {
        let name = format!("recursive doubling, 512 hosts, {name}");
        measure(criterion, &name, FLOW, fabric, &traffic);
    }
    let traffic = Traffic::dissemination(65_536, 1, 8);
    let fabric = fat_tree(&[16, 16, 16, 16]);
    measure(criterion, "dissemination, 65,536 hosts, fat tree", LOGGP, &fabric, &traffic);
    let traffic = Traffic::all_to_all(2048, 1024);
    let fabric = fat_tree(&[16, 16, 8]);
    measure(criterion, "all-to-all, 2,048 hosts, fat tree", LOGGP, &fabric, &traffic);
}

criterion_group!(models, halo, allreduce, packet_hops);
criterion_main!(models);
