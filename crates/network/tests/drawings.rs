//! Pictures of every kind of topology: well-formed, complete when small, honest when not.

use crate::support;

use network::topology::TOPOLOGIES;
use network::topology::drawing::draw;
use roxmltree::Document;
use support::topology;

/// The nodes of one shape that carry a name, and all texts.
fn names<'a>(picture: &'a Document, shape: &str) -> Vec<&'a str> {
    let named = picture.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", shape)));
    named
        .filter_map(|node| node.children().find(|child| child.tag_name().name() == "title")?.text())
        .collect()
}

fn texts(picture: &Document) -> String {
    let texts = picture.descendants().filter(|node| node.tag_name().name() == "text");
    texts.filter_map(|node| node.text()).collect::<Vec<_>>().join("\n")
}

#[test]
fn small_networks_are_drawn_whole() {
    for entry in TOPOLOGIES {
        let mut runner = support::runner(40);
        let result = runner.run(&support::parameters(entry.name), |text| {
            let topology = topology(entry.name, &text);
            let svg = draw(&*topology, "a <small> & fine network");
            assert_eq!(svg, draw(&*topology, "a <small> & fine network"), "the picture is always the same");
            assert!(!svg.contains("NaN") && !svg.contains("inf "), "every place is a number");
            let picture = Document::parse(&svg).unwrap_or_else(|error| panic!("{error}\n{svg}"));
            let texts = texts(&picture);
            assert!(texts.contains("a <small> & fine network"));
            let (routers, hosts) = (names(&picture, "rect"), names(&picture, "circle"));
            let left_out = texts.contains("drawn") || texts.contains("Drawn");
            let whole =
                routers.len() == topology.routers() as usize && hosts.len() == topology.hosts() as usize;
            assert_eq!(whole, !left_out, "{} routers, {} hosts\n{texts}", routers.len(), hosts.len());
            assert!(routers.contains(&topology.router_name(network::RouterId(0)).as_str()));
            Ok(())
        });
        result.unwrap_or_else(|error| panic!("{}: {error}", entry.name));
    }
}

#[test]
fn large_networks_say_what_is_left_out() {
    for (name, text, sentence) in [
        ("torus", "sizes = [100, 100, 100]", "of 100 x 100 x 100 routers"),
        ("fat-tree", "m = [18, 6, 16]\nw = [1, 6, 18]", "Of a level-1 router's 18 hosts"),
        (
            "dragonfly",
            "routers_per_group = 16\nhosts_per_router = 8\nglobal_links_per_router = 8",
            "of 129 groups",
        ),
        ("hypercube", "dimensions = 12", "routers, those with the lowest coordinates"),
        ("crossbar", "hosts = 100000", "Hosts are not drawn; each router has 100000."),
    ] {
        let svg = draw(&*topology(name, text), name);
        assert!(svg.len() < 1_000_000, "{name}: {} B", svg.len());
        let picture = Document::parse(&svg).unwrap();
        assert!(texts(&picture).contains(sentence), "{name}: {}", texts(&picture));
    }
}

#[test]
fn the_legend_names_every_kind_of_link() {
    let topology = topology("torus", "sizes = [4, 4]\nbandwidth = [\"9.375 GB/s\", \"4.68 GB/s\"]");
    let svg = draw(&*topology, "two kinds");
    for text in ["host: 8 GB/s, 635 ns (32 directed links)", "x: 9.375 GB/s, 110 ns", "y: 4.68 GB/s, 110 ns"]
    {
        assert!(svg.contains(text), "no '{text}'");
    }
}
