//! Places of ranks, and errors for placements that are impossible.

use std::collections::BTreeSet;

use network::{Endpoint, HostId};
use sim::config::{self, Override, PlacementChoice, Texts};

/// Places `ranks` ranks on a ring like that of `nsim-torus` with 2 slots per host.
fn place(ranks: u32, placement: &str, recorded: Option<&[String]>) -> Result<Vec<(u32, u16)>, String> {
    let mut files = Texts::default();
    for (name, text) in FILES {
        files.0.insert(name.to_string(), text.to_string());
    }
    let flags = [
        Override::set("topology.sizes", "[4]"),
        Override::set("host.processes", "2"),
        Override::set("hosts.names", "n{1..4}"),
        Override::set("placement", placement),
    ];
    let platform = config::load("nsim-torus", &flags, &files).map_err(|error| error.to_string())?;
    let topology = platform.topology().map_err(|error| error.to_string())?;
    let placed = platform.place(&*topology, ranks, 7, recorded).map_err(|error| error.message)?;
    Ok(placed.into_iter().map(|Endpoint { host, process }| (host.0, process)).collect())
}

const FILES: &[(&str, &str)] = &[
    ("by-rank", "# rank host[:slot]\n1 n4\n0 2:1\n2 n4\n"),
    ("in-order", "n2\nn2\n0:1\n"),
    ("twice", "0 0\n0 1\n"),
    ("same-slot", "0:1\n0:1\n"),
    ("gone", "n9\n"),
    ("far", "4\n"),
    ("three", "0 1 2\n"),
    ("short", "0\n"),
    ("high-slot", "0:2\n"),
];

#[test]
fn hosts_are_filled_in_order() {
    assert_eq!(place(3, "{ kind = \"linear\" }", None).unwrap(), [(0, 0), (0, 1), (1, 0)]);
    let one = "{ kind = \"linear\", processes_per_host = 1 }";
    assert_eq!(place(3, one, None).unwrap(), [(0, 0), (1, 0), (2, 0)]);
    assert_eq!(
        place(5, one, None).unwrap_err(),
        "5 ranks do not fit: 4 hosts with 1 each take 4; all 2 slots of each host would do"
    );
    assert_eq!(
        place(9, "{ kind = \"linear\" }", None).unwrap_err(),
        "9 ranks do not fit: 4 hosts with 2 each take 8"
    );
}

/// Errors name the flag that the user wrote.
#[test]
fn the_flags_of_placements_stand_in_errors() {
    let mut files = Texts::default();
    files.0.insert("far".to_string(), "800".to_string());
    let place = |choice: Option<&str>, each, ranks| {
        let flags = config::placement_overrides(choice.map(PlacementChoice::from).as_ref(), each, &files)?;
        let platform = config::load("crossbar", &flags, &files)?;
        platform.place(&*platform.topology()?, ranks, 1, None).map(|_| ())
    };
    for (choice, each, ranks, expected) in [
        (
            Some("linaer"),
            None,
            1,
            "--placement linaer: unknown placement 'linaer'; did you mean 'linear'? known: linear, cyclic, \
          block, random, recorded, or a file: no such file",
        ),
        (
            Some("far"),
            None,
            1,
            "--placement far: placement.file: line 1: no host 800: the platform has 800, from 0",
        ),
        (
            None,
            Some(129),
            1,
            "--ppn 129: placement.processes_per_host: 129 ranks per host do not fit: a host has 128 process slots",
        ),
        (
            Some("random"),
            Some(1),
            801,
            "-n 801: 801 ranks do not fit: 800 hosts with 1 each take 800; all 128 slots of each host \
          would do",
        ),
        (None, None, 102_401, "-n 102401: 102401 ranks do not fit: 800 hosts with 128 each take 102400"),
    ] {
        assert_eq!(place(choice, each, ranks).unwrap_err().to_string(), expected);
    }
    let flags = [Override::set("topology.hosts", "1")];
    let platform = config::load("crossbar", &flags, &files).unwrap();
    let topology = platform.topology().unwrap();
    let error = |recorded| platform.place(&*topology, 129, 1, recorded).unwrap_err().to_string();
    assert_eq!(error(None), "-n 129: 129 ranks do not fit: 1 host takes 128");
    assert_eq!(error(Some(&[])), "the trace: 129 ranks do not fit: 1 host takes 128");
}

#[test]
fn a_shuffle_uses_every_slot_once_and_depends_on_the_seed_alone() {
    let random = "{ kind = \"random\" }";
    let placed = place(8, random, None).unwrap();
    assert_eq!(placed.iter().collect::<BTreeSet<_>>().len(), 8);
    assert_eq!(placed, place(8, random, None).unwrap());
    let flags = config::placement_overrides(Some(&"random".into()), Some(1), &Texts::default()).unwrap();
    let platform = config::load("mustang-torus", &flags, &Texts::default()).unwrap();
    let topology = platform.topology().unwrap();
    let hosts = |seed| -> Vec<HostId> {
        let placed = platform.place(&*topology, 1000, seed, None).unwrap();
        placed.iter().map(|endpoint| endpoint.host).collect()
    };
    assert_eq!(hosts(1).iter().collect::<BTreeSet<_>>().len(), 1000);
    assert_ne!(hosts(1), hosts(2));
    // The mean of 1,000 of 0..2048 without replacement is 1023.5 with a deviation of 13.4: within 5 of them.
    let mean = hosts(3).iter().map(|host| f64::from(host.0)).sum::<f64>() / 1000.0;
    assert!((mean - 1023.5).abs() < 67.0, "{mean}");
}

#[test]
fn recorded_ranks_go_where_they_were() {
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let recorded = "{ kind = \"recorded\" }";
    let placed = place(3, recorded, Some(&names(&["n3", "n1", "n3"]))).unwrap();
    assert_eq!(placed, [(2, 0), (0, 0), (2, 1)]);
    for (hosts, error) in [
        (&["x"][..], "placement.kind: rank 0: unknown host 'x'; the platform's 4 hosts are called n1 … n4"),
        (&["n1"; 3][..], "placement.kind: rank 2 on 'n1': host 0 has only 2 process slots"),
    ] {
        assert_eq!(place(hosts.len() as u32, recorded, Some(&names(hosts))).unwrap_err(), error);
    }
    assert_eq!(
        place(1, recorded, None).unwrap_err(),
        "placement.kind: 'recorded' needs a recorded run whose trace names hosts; known otherwise: linear, cyclic, block, random, file"
    );
}

#[test]
fn a_file_places_ranks() {
    let file = |ranks, name: &str| place(ranks, &format!("{{ kind = \"file\", file = \"{name}\" }}"), None);
    assert_eq!(file(3, "by-rank").unwrap(), [(2, 1), (3, 0), (3, 1)]);
    assert_eq!(file(2, "by-rank").unwrap(), [(2, 1), (3, 0)]);
    assert_eq!(file(3, "in-order").unwrap(), [(1, 0), (1, 1), (0, 1)]);
    for (ranks, name, error) in [
        (2, "twice", "line 2: rank 0 is placed twice"),
        (2, "same-slot", "line 2: slot 1 of host 0 is taken"),
        (1, "gone", "line 1: unknown host 'n9'; the platform's 4 hosts are called n1 … n4"),
        (1, "far", "line 1: no host 4: the platform has 4, from 0"),
        (1, "three", "line 1: '0 1 2' is not \"rank host[:slot]\""),
        (2, "short", "rank 1 of 2 has no place"),
        (1, "high-slot", "line 1: no slot 2 on host 0: it has 2, from 0"),
    ] {
        assert_eq!(file(ranks, name).unwrap_err(), format!("placement.file: {error}"));
    }
}

/// Places of the 64 ranks of the LULESH recording: 16 on each of four nodes, at the recorded coordinates.
#[test]
fn the_recorded_run_on_hopper_finds_its_nodes() {
    let nodes = [
        ("nid04037", "(7,4,2)", 1),
        ("nid04118", "(7,5,4)", 0),
        ("nid04119", "(7,5,4)", 1),
        ("nid02873", "(10,4,3)", 1),
    ];
    let names: Vec<String> = nodes.iter().flat_map(|node| vec![node.0.to_string(); 16]).collect();
    let flags = config::placement_overrides(Some(&"recorded".into()), None, &Texts::default()).unwrap();
    let platform = config::load("hopper", &flags, &Texts::default()).unwrap();
    let topology = platform.topology().unwrap();
    let placed = platform.place(&*topology, 64, 1, Some(&names)).unwrap();
    for (rank, endpoint) in placed.iter().enumerate() {
        let (_, router, slot) = nodes[rank / 16];
        let on = topology.router_of(endpoint.host);
        assert_eq!(topology.router_name(on), router);
        assert_eq!(endpoint.host.0 - topology.hosts_of(on).start, slot);
        assert_eq!(usize::from(endpoint.process), rank % 16);
    }
}

/// Ranks of a run on a torus with one slot a host, by router number.
fn on_torus(sizes: &str, ranks: u32, placement: &str) -> Result<Vec<u32>, String> {
    let flags = [
        Override::set("topology.sizes", sizes),
        Override::set("host.processes", "1"),
        Override::set("placement", placement),
    ];
    let platform =
        config::load("nsim-torus", &flags, &Texts::default()).map_err(|error| error.to_string())?;
    let topology = platform.topology().map_err(|error| error.to_string())?;
    let placed = platform.place(&*topology, ranks, 7, None).map_err(|error| error.message)?;
    Ok(placed.into_iter().map(|endpoint| endpoint.host.0).collect())
}

/// Five ranks on hosts of two slots take three hosts, cyclically.
#[test]
fn cyclic_deals_ranks_out() {
    let placed = place(5, "{ kind = \"cyclic\" }", None).unwrap();
    assert_eq!(placed, [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1)]);
}

/// Eight ranks on a torus of 6 x 6 x 6: a cube of 2 x 2 x 2 has a diameter of 3 hops, where a line of 8 would have
/// wrapped around an axis and begun a second one. Router number x + 6 y + 36 z.
#[test]
fn a_block_is_the_box_of_least_diameter() {
    let cube: Vec<u32> = [0, 1, 6, 7].into_iter().chain([36, 37, 42, 43]).collect();
    assert_eq!(on_torus("[6, 6, 6]", 8, "{ kind = \"block\" }").unwrap(), cube);
    // In a ring of two or three all are neighbours: 2 x 3 of the last dimensions, 2 hops, before 6 of the first.
    let group: Vec<u32> = (0..6).map(|place| place * 8).collect();
    assert_eq!(on_torus("[8, 2, 3]", 6, "{ kind = \"block\" }").unwrap(), group);
    // As asked: 4 along the first axis, 2 along the second.
    let asked = on_torus("[6, 6, 6]", 8, "{ kind = \"block\", shape = [4, 2, 1] }").unwrap();
    assert_eq!(asked, [0, 1, 2, 3, 6, 7, 8, 9]);
}

#[test]
fn a_block_that_cannot_be_is_refused_with_what_would_do() {
    for (shape, expected) in [
        ("[2, 2]", "2 x 2 has 2 dimensions; the network is 6 x 6 x 6, which has 3"),
        ("[7, 2, 2]", "7 x 2 x 2 is larger than the network, 6 x 6 x 6"),
        ("[2, 2, 1]", "2 x 2 x 1 has 4 hosts, and the job needs 8"),
    ] {
        let error =
            on_torus("[6, 6, 6]", 8, &format!("{{ kind = \"block\", shape = {shape} }}")).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let flags = config::placement_overrides(Some(&"block:2x3".into()), None, &Texts::default()).unwrap();
    let crossbar = config::load("crossbar", &flags, &Texts::default()).unwrap();
    let error = crossbar.place(&*crossbar.topology().unwrap(), 8, 1, None).unwrap_err().message;
    assert!(error.contains("a shape is for grids"), "{error}");
    let error =
        config::placement_overrides(Some(&"block:2yes".into()), None, &Texts::default()).unwrap_err().message;
    assert!(error.contains("as in 4x3x2"), "{error}");
}

/// Fugaku's jobs are boxes: 48 hosts fill four groups of 2 x 3 x 2 before a second axis grows long.
#[test]
fn tofu_places_jobs_in_blocks() {
    let platform = config::load("tofu", &[], &Texts::default()).unwrap();
    assert_eq!(platform.placement_kind(), "block");
    let topology = platform.topology().unwrap();
    let placed = platform.place(&*topology, 48 * 48, 1, None).unwrap();
    let hosts: BTreeSet<u32> = placed.iter().map(|endpoint| endpoint.host.0).collect();
    assert_eq!(hosts.len(), 48);
    let group = 24 * 23 * 24;
    let groups: BTreeSet<u32> = hosts.iter().map(|host| host % group).collect();
    assert_eq!(groups, BTreeSet::from([0, 24, 552, 576]));
}
