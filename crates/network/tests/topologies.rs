//! Properties of every topology of the registry, on random parameters, and published facts of some.

use crate::support;

use network::topology::TOPOLOGIES;
use network::topology::several_nics::with_nics;
use network::{HostId, LinkId, Node, RouterId, Topology};
use support::{distances, links, topology, try_topology};

/// Runs `check` on random networks of every entry.
fn on_every_topology(check: impl Fn(&dyn Topology)) {
    for entry in TOPOLOGIES {
        let mut runner = support::runner(60);
        let result = runner.run(&support::parameters(entry.name), |text| {
            check(&*topology(entry.name, &text));
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
    }
}

/// Further NICs of a host have links like those of the first, at the same router, behind all others.
#[test]
fn several_nics_are_like_the_first() {
    let check = |base: Box<dyn Topology>| {
        let (hosts, own) = (base.hosts(), base.links());
        let first: Vec<_> = (0..own).map(|id| (base.link(LinkId(id)), base.position(LinkId(id)))).collect();
        let (classes, expected) = (base.classes(), base.formula().links + 4 * u64::from(hosts));
        let several = with_nics(base, 3);
        assert_eq!((several.nics(), several.classes()), (3, classes));
        assert_eq!((u64::from(several.links()), several.formula().links), (expected, expected));
        let mut seen = vec![false; several.links() as usize];
        for host in (0..hosts).map(HostId) {
            for nic in 0..3 {
                let links = [several.nic_up(host, nic), several.nic_down(host, nic)];
                let alike = [several.up(host), several.down(host)];
                for (link, alike) in links.into_iter().zip(alike) {
                    let (of_first, position) = first[alike.0 as usize];
                    assert_eq!((several.link(link), several.position(link)), (of_first, position));
                    assert_eq!((several.nic_of(link), link == alike), (nic, nic == 0));
                    assert!(!std::mem::replace(&mut seen[link.0 as usize], true), "{link:?} twice");
                }
            }
        }
        for id in (2 * hosts..own).map(LinkId) {
            assert_eq!(several.link(id), first[id.0 as usize].0);
            assert!(several.link(id).is_between_routers() && !seen[id.0 as usize]);
        }
    };
    for entry in TOPOLOGIES {
        let mut runner = support::runner(10);
        let result = runner.run(&support::parameters(entry.name), |text| {
            check(topology(entry.name, &text));
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
    }
}

#[test]
fn counts_and_diameter_are_the_formulas() {
    on_every_topology(|topology| {
        let formula = topology.formula();
        assert_eq!(formula.hosts, u64::from(topology.hosts()), "hosts by formula");
        assert_eq!(formula.routers, u64::from(topology.routers()), "routers by formula");
        assert_eq!(formula.links, u64::from(topology.links()), "links by formula");
        let with_hosts: Vec<_> = (0..topology.routers())
            .map(RouterId)
            .filter(|router| !topology.hosts_of(*router).is_empty())
            .collect();
        let farthest = |from: &RouterId| {
            let distances = distances(topology, *from);
            with_hosts.iter().map(|to| distances[to.0 as usize]).max().unwrap()
        };
        let diameter = with_hosts.iter().map(farthest).max().unwrap();
        assert_ne!(diameter, u32::MAX, "not connected");
        if let Some(formula) = formula.diameter {
            assert_eq!(diameter, formula, "diameter by formula");
        }
    });
}

#[test]
fn links_ports_and_hosts_agree() {
    on_every_topology(|topology| {
        let classes = topology.classes();
        let mut ports: Vec<Vec<LinkId>> = vec![Vec::new(); topology.routers() as usize];
        for id in links(topology) {
            let link = topology.link(id);
            assert!(usize::from(link.class) < classes.len());
            match (link.from, link.to) {
                (Node::Host(host), Node::Router(router)) => {
                    assert_eq!((topology.up(host), topology.router_of(host)), (id, router));
                    assert_eq!(classes[usize::from(link.class)], "host up");
                }
                (Node::Router(router), Node::Host(host)) => {
                    assert_eq!((topology.down(host), topology.router_of(host)), (id, router));
                    assert_eq!(classes[usize::from(link.class)], "host down");
                }
                (Node::Router(from), Node::Router(to)) => {
                    assert!(to.0 < topology.routers() && from != to, "{id:?} runs from {from:?} to {to:?}");
                    assert!(link.bandwidth.0 > 0);
                    ports[from.0 as usize].push(id);
                }
                ends => panic!("{id:?} connects {ends:?}"),
            }
        }
        let mut next_host = 0;
        for (number, leaving) in ports.iter_mut().enumerate() {
            let router = RouterId(number as u32);
            let mut listed = Vec::new();
            topology.ports(router, &mut listed);
            listed.sort();
            leaving.sort();
            assert_eq!(&listed, leaving, "the ports of {}", topology.router_name(router));
            let hosts = topology.hosts_of(router);
            if !hosts.is_empty() {
                assert_eq!(hosts.start, next_host, "hosts are numbered in the order of their routers");
                next_host = hosts.end;
            }
            assert!(hosts.clone().all(|host| topology.router_of(HostId(host)) == router));
        }
        assert_eq!(next_host, topology.hosts());
    });
}

/// Routers of a unit are no farther from each other, on average, than those of different units, and a group is a unit.
#[test]
fn units_hang_together() {
    on_every_topology(|topology| {
        let unit = topology.unit();
        let in_a_plane = topology.routers() / topology.planes();
        assert!((1..=in_a_plane).contains(&unit), "{unit} routers of {in_a_plane}");
        if let Some(groups) = topology.grouped() {
            assert_eq!(groups.groups() * unit, in_a_plane, "groups are units");
            assert!(
                (0..in_a_plane).all(|router| groups.group_of(router) == router / unit),
                "groups are units"
            );
        }
        let with_hosts: Vec<u32> =
            (0..in_a_plane).filter(|router| !topology.hosts_of(RouterId(*router)).is_empty()).collect();
        let (mut inside, mut outside) = ((0, 0), (0, 0));
        for from in &with_hosts {
            let distances = distances(topology, RouterId(*from));
            for to in with_hosts.iter().filter(|to| *to != from) {
                let (pairs, hops) = if from / unit == to / unit { &mut inside } else { &mut outside };
                *pairs += 1;
                *hops += u64::from(distances[*to as usize]);
            }
        }
        let (inside, outside) = (inside.1 * outside.0, outside.1 * inside.0);
        assert!(
            inside <= outside,
            "mean hops times pairs: {inside} in units of {unit}, {outside} between them"
        );
    });
}

/// A link has a position of its class, those of a host have one; where a class has positions of its own, none
/// lies idle.
#[test]
fn links_have_positions() {
    on_every_topology(|topology| {
        let classes = 0..topology.classes().len() as u16;
        let mut used: Vec<_> =
            classes.map(|class| vec![false; topology.positions(class).count as usize]).collect();
        for id in links(topology) {
            used[usize::from(topology.link(id).class)][topology.position(id) as usize] = true;
        }
        for host in (0..topology.hosts()).map(HostId) {
            assert_eq!(topology.position(topology.up(host)), topology.position(topology.down(host)));
        }
        for (class, used) in used.iter().enumerate().filter(|(_, used)| used.contains(&true)) {
            // At the open end of a line there is no link outwards.
            let gaps = used[1..used.len().max(2) - 1].iter().any(|used| !used);
            let own = topology.positions(class as u16).of != "router";
            assert!(!(own && gaps), "{} has positions without links", topology.classes()[class]);
        }
    });
}

#[test]
fn every_link_has_a_way_back_to_where_it_starts() {
    on_every_topology(|topology| {
        let mut there = Vec::new();
        for id in links(topology) {
            let link = topology.link(id);
            there.push((link.from, link.to));
        }
        let mut back: Vec<_> = there.iter().map(|(from, to)| (*to, *from)).collect();
        there.sort();
        back.sort();
        there.dedup();
        back.dedup();
        let alone = there.iter().find(|link| back.binary_search(link).is_err());
        assert_eq!(alone, None, "a link without one that leads back");
    });
}

/// Gropp's, Öhring's and the vendors' own numbers.
#[test]
fn published_counts() {
    let facts: &[(&str, &str, u32, u32, u32)] = &[
        // Gemini of Hopper: 17 x 8 x 24, two hosts on each; diameter 8 + 4 + 12.
        ("torus", "sizes = [17, 8, 24]\nhosts_per_router = 2\nlanes = [2, 1, 2]", 6_528, 3_264, 24),
        // Mustang: 18 x 6 x 16 hosts; 96 leaves, 16 x 6 in the middle, 108 on top.
        ("fat-tree", "m = [18, 6, 16]\nw = [1, 6, 18]", 1_728, 96 + 96 + 108, 4),
        // k-ary n-tree: k^n hosts, n k^(n-1) routers.
        ("fat-tree", "k = 4\nlevels = 3", 64, 48, 4),
        // The K computer's Tofu: 24 x 18 x 17 x 2 x 3 x 2 (Ajima et al. 2009), X, Y, Z and b wrapped.
        (
            "torus",
            "sizes = [24, 18, 17, 2, 3, 2]\nwrap = [true, true, true, false, true, false]",
            88_128,
            88_128,
            12 + 9 + 8 + 1 + 1 + 1,
        ),
        // Kim et al. 2008, figure 6: p = h = 2, a = 4 gives 9 groups and 72 hosts; the balanced
        // dragonfly of 16-port routers (p = h = 4, a = 8) has 1,056 hosts.
        ("dragonfly", "routers_per_group = 4\nhosts_per_router = 2\nglobal_links_per_router = 2", 72, 36, 3),
        (
            "dragonfly",
            "routers_per_group = 8\nhosts_per_router = 4\nglobal_links_per_router = 4",
            1_056,
            264,
            3,
        ),
        // Besta and Hoefler 2014, section 3: q = 5 is the graph of Hoffman and Singleton, 50 routers of degree 7; q = 19
        // has 722 routers of degree 29 and, with 15 hosts on each, 10,830 hosts.
        ("slim-fly", "q = 5", 200, 50, 2),
        ("slim-fly", "q = 19", 10_830, 722, 2),
        // Fields of 2³, 3² and 3³ elements.
        ("slim-fly", "q = 8\nhosts_per_router = 1", 128, 128, 2),
        ("slim-fly", "q = 9\nhosts_per_router = 1", 162, 162, 2),
        ("slim-fly", "q = 27\nhosts_per_router = 1", 1_458, 1_458, 2),
        // All ports of a router in halves, p = l = s = h = 8 (Flajslik et al. 2018): l² + 1 = 65 groups of 64 hosts and 16
        // routers.
        (
            "dragonfly-plus",
            "leaves_per_group = 8\nspines_per_group = 8\nhosts_per_leaf = 8\nglobal_links_per_spine = 8",
            4_160,
            1_040,
            3,
        ),
        ("hypercube", "dimensions = 10", 1_024, 1_024, 10),
        ("hyperx", "sizes = [8, 8]\nhosts_per_router = 8", 512, 64, 2),
        ("ring", "size = 9", 9, 9, 4),
        ("mesh", "sizes = [16, 16]", 256, 256, 30),
        ("crossbar", "hosts = 48", 48, 1, 0),
    ];
    for (name, text, hosts, routers, diameter) in facts {
        let formula = topology(name, text).formula();
        let expected = (u64::from(*hosts), u64::from(*routers), Some(*diameter));
        assert_eq!((formula.hosts, formula.routers, formula.diameter), expected, "{name} {text}");
    }
}

/// A group of Cray's Cascade: 96 routers in 6 rows (chassis) of 16; 15 links to the others of its row, 5 x 3 to
/// those of its column, and 10 global ports (Faanes et al., SC 2012). Edison's 15 groups have 24 links between
/// each two, of which 5,040 are in the map of its cables.
#[test]
fn a_group_of_cascade_has_rows_and_columns() {
    let edison = "groups = 15\nrouters_per_group = 96\nrows = 6\nhosts_per_router = 4\ncolumn_lanes = 3\n\
                  global_links_per_router = 10\nglobal_links_per_pair = 24";
    let topology = topology("dragonfly", edison);
    assert_eq!((topology.hosts(), topology.routers()), (5_760, 1_440));
    assert_eq!(topology.classes(), ["host up", "host down", "local", "column", "global"]);
    let mut counts = [0u32; 5];
    (0..topology.links()).for_each(|link| counts[usize::from(topology.link(LinkId(link)).class)] += 1);
    assert_eq!(counts, [5_760, 5_760, 1_440 * 15, 1_440 * 15, 5_040]);
    let mut ports = Vec::new();
    topology.ports(RouterId(96 + 2 * 16 + 5), &mut ports);
    let ends: Vec<u32> = ports
        .iter()
        .filter(|link| topology.link(**link).class == 3)
        .map(|link| match topology.link(*link).to {
            Node::Router(RouterId(router)) => router,
            Node::Host(_) => panic!("a column has routers"),
        })
        .collect();
    let rows = [0, 1, 3, 4, 5].map(|row| [96 + row * 16 + 5; 3]);
    assert_eq!(ends, rows.concat());
}

/// The graph of Hoffman and Singleton has no triangles and no squares: any two routers that are no neighbours have one
/// common neighbour (Besta and Hoefler 2014, section 2.2: it reaches Moore's bound, 1 + 7 + 7 · 6 = 50).
#[test]
fn slim_fly_of_five_reaches_moores_bound() {
    let topology = topology("slim-fly", "q = 5\nhosts_per_router = 1");
    let neighbours = |router: u32| -> Vec<u32> {
        let mut ports = Vec::new();
        topology.ports(RouterId(router), &mut ports);
        let end = |link: &LinkId| match topology.link(*link).to {
            Node::Router(RouterId(router)) => router,
            Node::Host(_) => panic!("ports lead to routers"),
        };
        ports.iter().map(end).collect()
    };
    let all: Vec<Vec<u32>> = (0..50).map(neighbours).collect();
    for from in 0..50 {
        assert_eq!(all[from].len(), 7);
        for to in (0..50).filter(|to| *to != from) {
            let common = all[from].iter().filter(|router| all[to].contains(router)).count();
            let expected = if all[from].contains(&(to as u32)) { 0 } else { 1 };
            assert_eq!(common, expected, "{from} and {to}");
        }
    }
}

/// Fields of primes and of powers of primes give graphs of diameter 2.
#[test]
fn every_slim_fly_has_diameter_two() {
    for q in [3, 4, 5, 7, 8, 9, 11, 13, 16, 25, 27] {
        let topology = topology("slim-fly", &format!("q = {q}\nhosts_per_router = 1"));
        let step = (topology.routers() as usize).div_ceil(60);
        for from in (0..topology.routers()).step_by(step).map(RouterId) {
            assert_eq!(distances(&*topology, from).into_iter().max(), Some(2), "q = {q}, from {from:?}");
        }
    }
}

/// Racks of q = 5: 2 q routers, and 2 q cables between any two (Besta and Hoefler 2014, section 6.2).
#[test]
fn racks_of_a_slim_fly_are_linked_evenly() {
    let topology = topology("slim-fly", "q = 5\nhosts_per_router = 1");
    let mut cables = [[0; 5]; 5];
    for link in links(&*topology).map(|id| topology.link(id)) {
        if let (Node::Router(from), Node::Router(to)) = (link.from, link.to) {
            cables[from.0 as usize / 10][to.0 as usize / 10] += 1;
            let is_global = from.0 / 10 != to.0 / 10;
            assert_eq!(
                topology.classes()[usize::from(link.class)],
                if is_global { "global" } else { "local" }
            );
        }
    }
    for (one, row) in cables.iter().enumerate() {
        for (other, count) in row.iter().enumerate() {
            // Within a rack: two rings of 5, and the 5 links between their sides, both directions.
            assert_eq!(*count, if one == other { 10 + 10 + 10 } else { 10 }, "{one} and {other}");
        }
    }
}

/// The same network in both formats: two hosts on each of two routers, two cables between them.
#[test]
fn both_file_formats_say_the_same() {
    let list = "# two racks\nhost a b c d\na left 10 GB/s 500 ns\nb left 10 GB/s 500 ns\n\
                c right 10 GB/s 500 ns\nd right 10 GB/s 500 ns\nleft right 100 Gbit/s 1.2 us x2\n";
    let node = |name, kind| format!("<node id='{name}'><data key='t'>{kind}</data></node>");
    let edge = |from, to, latency, lanes| {
        format!(
            "<edge source='{from}' target='{to}'><data key='b'>{}</data><data key='l'>{latency}</data>\
             <data key='n'>{lanes}</data></edge>",
            if lanes == 1 { "10 GB/s" } else { "100 Gbit/s" }
        )
    };
    let xml = [
        "<graphml xmlns='http://graphml.graphdrawing.org/xmlns'>".to_string(),
        "<key id='t' for='node' attr.name='type' attr.type='string'><default>router</default></key>"
            .to_string(),
        "<key id='b' for='edge' attr.name='bandwidth' attr.type='string'/>".to_string(),
        "<key id='l' for='edge' attr.name='latency' attr.type='string'/>".to_string(),
        "<key id='n' for='edge' attr.name='lanes' attr.type='int'/><graph edgedefault='undirected'>"
            .to_string(),
        ["a", "b", "c", "d"].map(|name| node(name, "host")).concat(),
        "<node id='left'/>".to_string() + &node("right", "router"),
        [("a", "left"), ("b", "left"), ("c", "right"), ("d", "right")]
            .map(|(a, b)| edge(a, b, "500 ns", 1))
            .concat(),
        edge("left", "right", "1.2 us", 2),
        "</graph></graphml>".to_string(),
    ]
    .concat();
    let [list, xml] = [list, &xml].map(|text| topology("graph", &format!("file = \"\"\"\n{text}\"\"\"")));
    assert_eq!((list.hosts(), list.routers(), list.links()), (4, 2, 8 + 4));
    assert_eq!(list.host_name(HostId(2)), "c");
    assert_eq!(list.classes(), xml.classes());
    assert_eq!(list.classes().last().unwrap(), "12.5 GB/s, 1.2 us");
    for id in links(&*list) {
        assert_eq!(list.link(id), xml.link(id));
    }
}

#[test]
fn a_million_hosts_are_not_stored() {
    for (name, text) in [
        ("torus", "sizes = [100, 100, 100]"),
        ("fat-tree", "m = [32, 32, 32, 32]\nw = [1, 32, 32, 32]"),
        ("crossbar", "hosts = 1000000"),
    ] {
        let topology = topology(name, text);
        assert!(topology.hosts() >= 1_000_000);
        let last = LinkId(topology.links() - 1);
        assert!(matches!(topology.link(last).to, Node::Router(_) | Node::Host(_)));
    }
}

#[test]
fn wrong_parameters_are_named_with_what_would_do() {
    let dragonfly = |more: &str| {
        format!("routers_per_group = 4\nhosts_per_router = 2\nglobal_links_per_router = 2\n{more}")
    };
    for (name, text, parameter, parts) in [
        ("torus", "sizes = []", "sizes", ["[]", "[8, 8, 8]"]),
        ("torus", "sizes = [4, 4, 4]\nwrap = [true, false]", "wrap", ["2 values", "3 dimensions"]),
        ("torus", "sizes = [4, 4, 4]\nlanes = [1, 2]", "lanes", ["2 values", "6 (up and down each)"]),
        ("torus", "sizes = [4]\nbandwidth = \"0 B/s\"", "bandwidth", ["0 B/s", "write more"]),
        ("torus", "sizes = [70000, 70000]", "sizes", ["70000x70000", "smaller"]),
        ("hyperx", "sizes = [4, 4]\nlanes = [1, 2, 3, 4]", "lanes", ["4 values", "one each"]),
        ("fat-tree", "m = [4, 4]\nw = [2, 2]", "w", ["2 parents", "write 1"]),
        ("fat-tree", "m = [4, 4]\nw = [1]", "w", ["1 values", "m has 2"]),
        ("fat-tree", "m = [4, 4]\nw = [1, 2]\nk = 4", "k", ["4", "exclude"]),
        ("fat-tree", "k = 4", "levels", ["missing", "n"]),
        ("fat-tree", "m = [4]\nw = [1]\nlevels = 3", "levels", ["3", "together with k"]),
        ("fat-tree", "", "m", ["missing", "k and levels"]),
        ("fat-tree", "k = 1000\nlevels = 5", "k", ["1000", "smaller"]),
        ("dragonfly", &dragonfly("groups = 10"), "groups", ["10 groups", "at most 9"]),
        (
            "dragonfly",
            &dragonfly("groups = 5\nglobal_links_per_pair = 3"),
            "global_links_per_pair",
            ["3 links", "at most 2"],
        ),
        ("dragonfly", &dragonfly("rows = 3"), "rows", ["3 rows", "divisors of 4"]),
        ("dragonfly", &dragonfly("local_bandwidth = \"0 B/s\""), "local_bandwidth", ["0 B/s", "write more"]),
        (
            "dragonfly-plus",
            "groups = 6\nleaves_per_group = 2\nspines_per_group = 2\nhosts_per_leaf = 1\nglobal_links_per_spine = 2",
            "groups",
            ["6 groups", "at most 5"],
        ),
        ("slim-fly", "q = 6", "q", ["6 is no power of a prime", "5 and 7"]),
        (
            "slim-fly",
            "q = 64\nhosts_per_router = 1000000",
            "hosts_per_router",
            ["1000000 hosts", "8192 routers"],
        ),
        ("graph", "file = \"a b 3 parsecs\"", "file", ["line 1", "3 parsecs"]),
        ("graph", "file = \"\"\"host h\nh s 10 GB/s\nt u\"\"\"", "file", ["from s to t", "add"]),
        ("graph", "file = \"\"\"host h\nh s\nh t\"\"\"", "file", ["line 3", "host h has one cable"]),
        ("graph", "file = \"a b\"", "file", ["no node is a host", "host NAME"]),
        ("graph", "file = \"<graphml/>\"", "file", ["no <graph>", "GraphML"]),
        ("fat-tree", "k = 2\nlevels = 3\ntaper = [1, 2, 3]", "taper", ["3 values", "2 levels"]),
    ] {
        let error = try_topology(name, text).err().unwrap_or_else(|| panic!("{name} {text} was accepted"));
        assert_eq!(error.parameter, parameter, "{name} {text}: {error}");
        for part in parts {
            assert!(error.reason.contains(part), "{name} {text}: '{error}' lacks '{part}'");
        }
    }
}
