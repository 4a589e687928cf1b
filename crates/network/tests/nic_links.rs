//! Several links of a NIC: their numbers on every topology.

use crate::support;

use network::topology::TOPOLOGIES;
use network::topology::nic_links::with_nic_links;
use network::topology::planes::with_planes;
use network::topology::several_nics::with_nics;
use network::{HostId, Link, LinkId, Topology};
use support::topology;

/// The links of a NIC have equal parts of its bandwidth, the same ends, and numbers of their own.
#[test]
fn nics_have_several_links() {
    let check = |text: &str, name: &str, in_planes: bool| {
        let whole = |links| match in_planes {
            true => with_planes(with_nic_links(topology(name, text), links), 2),
            false => with_nic_links(with_nics(topology(name, text), 2), links),
        };
        let (one, four) = (whole(1), whole(4));
        let further = 2 * 2 * 3 * u64::from(one.hosts());
        let counts = |links: u64| (links + further, links + further);
        assert_eq!((u64::from(four.links()), four.formula().links), counts(one.links().into()));
        assert_eq!((four.nics(), four.nic_links(), four.planes()), (2, 4, one.planes()));
        let mut seen = vec![false; four.links() as usize];
        let firsts = (0..one.hosts()).flat_map(|host| (0..2).map(move |nic| (HostId(host), nic)));
        for (host, nic) in firsts {
            let pairs = [
                (one.nic_up(host, nic), four.nic_up(host, nic)),
                (one.nic_down(host, nic), four.nic_down(host, nic)),
            ];
            for (single, first) in pairs {
                for number in 0..4 {
                    let id = four.nic_link(first, number);
                    let (link, expected) = (four.link(id), one.link(single));
                    assert_eq!(Link { bandwidth: expected.bandwidth, ..link }, expected);
                    assert_eq!(link.bandwidth.0, expected.bandwidth.0 / 4);
                    assert_eq!(four.whole_link(id), expected);
                    assert_eq!((four.first_nic_link(id), four.nic_of(id)), (first, nic));
                    assert_eq!(four.position(id), one.position(single));
                    assert!(!std::mem::replace(&mut seen[id.0 as usize], true), "{id:?} twice");
                }
            }
        }
        let between = |topology: &dyn Topology| {
            let links =
                (0..topology.links()).map(LinkId).filter(|id| topology.link(*id).is_between_routers());
            links.map(|id| (topology.link(id), topology.first_nic_link(id) == id)).collect::<Vec<_>>()
        };
        assert_eq!(between(&*four), between(&*one));
        assert!(between(&*four).iter().all(|(_, is_itself)| *is_itself));
        assert_eq!(between(&*four).len() + seen.iter().filter(|seen| **seen).count(), seen.len());
    };
    for entry in TOPOLOGIES {
        let mut runner = support::runner(6);
        let result = runner.run(&support::parameters(entry.name), |text| {
            [false, true].iter().for_each(|in_planes| check(&text, entry.name, *in_planes));
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
    }
}
