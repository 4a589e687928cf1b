//! Every preset loads, builds, has sources, and agrees with its paper.

use network::HostId;
use sim::config::{self, Disk, Override, PRESETS};

fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/platforms")
}

fn preset(name: &str) -> sim::Platform {
    config::load(name, &[], &Disk::new(folder().join("nowhere"))).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_file_is_a_preset_and_every_preset_builds() {
    let mut files: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".toml").map(str::to_string))
        .collect();
    files.sort();
    let mut names: Vec<_> = PRESETS.iter().map(|preset| preset.name.to_string()).collect();
    names.sort();
    assert_eq!(files, names, "a file in data/platforms has its line in preset.rs");
    for preset in PRESETS {
        let platform = self::preset(preset.name);
        assert_eq!(platform.name(), preset.name);
        assert!(!platform.summary().is_empty(), "{}", preset.name);
        let fabric = platform.fabric(1).unwrap_or_else(|error| panic!("{error}"));
        let ranks = fabric.topology.hosts().min(1000);
        let placed = platform.place(&*fabric.topology, ranks, 1, None).unwrap();
        assert_eq!(placed.len(), ranks as usize);
        platform.host_names(&*fabric.topology).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// A number stands beside its source: in the comment of its line, or in the comment above it.
#[test]
fn every_number_has_a_source() {
    for preset in PRESETS {
        assert!(preset.text.starts_with("# ") && preset.text.contains("ources"), "{}", preset.name);
        let mut above = "";
        for (number, line) in (1..).zip(preset.text.lines()) {
            if line.trim_start().starts_with('#') {
                above = line;
                continue;
            }
            let (code, comment) = line.split_once('#').unwrap_or((line, ""));
            let is_text = ["name", "summary", "source", "note", "kind", "model", "unmeasured"]
                .iter()
                .any(|key| code.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('=')));
            let numeric = code.contains('=') && !is_text && code.contains(|c: char| c.is_ascii_digit());
            let sourced = comment.len() > 3 || !above.is_empty();
            assert!(!numeric || sourced, "{}.toml:{number}: no source: {line}", preset.name);
            // A comment above a list applies to all its entries.
            if !line.starts_with("    ") {
                above = "";
            }
        }
    }
}

/// The output of `show --resolved` is the same platform.
#[test]
fn a_resolved_platform_reads_back_to_itself() {
    for preset in PRESETS {
        let platform = self::preset(preset.name);
        let resolved = platform.to_toml();
        let mut files = config::Texts::default();
        files.0.insert("resolved.toml".to_string(), resolved.clone());
        for (name, text) in config::preset_files() {
            files.0.insert(name.to_string(), text.to_string());
        }
        let again =
            config::load("resolved.toml", &[], &files).unwrap_or_else(|error| panic!("{error}\n{resolved}"));
        assert_eq!(again.host_parameters(), platform.host_parameters());
        assert_eq!(again.to_toml().replace(" # default", ""), resolved.replace(" # default", ""));
    }
}

/// Latency from one to all of Hopper's nodes, section 6 of the Gemini paper: 1.27 to 3.88 us with MPI, of which the
/// processors have 2 * 285 ns in the preset, and nothing in the paper's own simulation. A hop takes 108.75 ns, and
/// 17 x 8 x 24 are at most 8 + 4 + 12 hops apart.
#[test]
fn hopper_has_the_latencies_of_its_paper() {
    let paper =
        config::load("validation/platforms/hopper-2016.toml", &[], &Disk::new(folder().join("../..")));
    for (platform, overheads) in [(preset("hopper"), 570), (paper.unwrap(), 0)] {
        let fabric = platform.fabric(1).unwrap();
        let regime = &platform.host_parameters().regimes[0];
        assert_eq!(
            regime.send_overhead.constant + regime.receive_overhead.constant,
            engine::Duration::from_ns(overheads)
        );
        let latency = |to| {
            fabric.idle(HostId(0), HostId(to)).latency
                + regime.send_overhead.constant
                + regime.receive_overhead.constant
        };
        let all: Vec<_> = (1..6528).map(latency).collect();
        assert_eq!(all.iter().min(), Some(&"1.27 us".parse().unwrap()));
        assert_eq!(all.iter().max(), Some(&"3.88 us".parse().unwrap()));
        assert_eq!(latency(2), "1378.75 ns".parse().unwrap());
    }
}

/// Mean that the modes of a regime add to its times.
fn mean_of_modes(platform: &str, regime: usize, keys: &[&str]) -> engine::Duration {
    let platform: toml::Table = toml::from_str(platform).unwrap();
    let Some(regimes) = platform["mpi"].get("regimes") else { return engine::Duration::ZERO };
    let modes = keys.iter().filter_map(|key| regimes[regime].get(key)?.as_array()).flatten();
    let nanoseconds = modes.map(|mode| {
        let mean = mode["mean"].as_str().unwrap().strip_suffix(" ns").unwrap();
        mode["weight"].as_float().unwrap() * mean.parse::<f64>().unwrap()
    });
    engine::Duration::from_ns(nanoseconds.sum::<f64>() as u64)
}

/// Every preset has the costs of MPI's software, memory between processes and reductions, or warns that its values
/// come from another kind of machine; one process per node needs no memory.
#[test]
fn every_preset_has_the_software_of_mpi() {
    for each in PRESETS {
        let platform = preset(each.name);
        let host = platform.host_parameters();
        let modes = |regime: usize, keys: &[&str]| mean_of_modes(&platform.to_toml(), regime, keys);
        for (number, regime) in host.regimes.iter().enumerate() {
            let cost = regime.send_overhead.constant + regime.receive_overhead.constant + regime.latency;
            let varying = modes(number, &["send_modes", "receive_modes", "latency_modes"]);
            assert!(cost + varying > engine::Duration::ZERO, "{}: nothing in a regime", each.name);
        }
        let (first, memory) = (&host.regimes[0], &host.memory);
        let send = memory.regimes[0].send_overhead.unwrap_or(first.send_overhead).constant;
        let receive = memory.regimes[0].receive_overhead.unwrap_or(first.receive_overhead).constant;
        let within = memory.regimes[0].latency + send + receive + modes(0, &["send_modes", "receive_modes"]);
        assert!(within >= engine::Duration::from_ns(200), "{}: {within:?} within a node", each.name);
        // Presets with one process per node pay the costs of the network; dahu's calibration has its overheads within
        // nodes, too.
        let all_alike = host.processes == 1 || each.name == "dahu";
        let most = engine::Duration::from_ns(if all_alike { 2000 } else { 1000 });
        assert!(within <= most, "{}: {within:?} within a node", each.name);
        // No pair of cores copies faster than this; dies of a GPU may.
        let copy = memory.regimes.iter().map(|regime| regime.bandwidth).max().expect("one");
        assert!(copy <= engine::Bandwidth(50_000_000_000), "{}: {copy} within a node", each.name);
        assert!(each.text.contains("reduce_rate"), "{}: reductions take no time", each.name);
    }
    let warning =
        PRESETS.iter().filter(|each| preset(each.name).unmeasured().is_some()).map(|each| each.name);
    let borrowing =
        ["fat-tree", "dragonfly", "tofu", "crossbar", "slingshot-11", "ndr", "ethernet-25", "ethernet-100"];
    assert_eq!(warning.collect::<Vec<_>>(), borrowing);
    let said = preset("tofu").unmeasured().unwrap();
    assert!(said.contains("'tofu' has no measured MPI software: the overheads are those of"), "{said}");
}

/// Start-ups of short, eager and rendezvous messages [ns] between near hosts, which presets must add up to: those of the
/// machine whose numbers a preset has, all shares of them together. A preset that has the processors' share of one
/// machine and drops its NIC's is too fast. The second column is the other host.
///
/// ARCHER2 2.64, 3.46, 7.60 us (`validation/microbenchmarks.py --fit`), for all of Slingshot; ARCHER 1.36, with one hop in
/// it, and eager messages start no later; Tesseract 1.05, 3.03, 11.35; Stampede 1.31, 2.09, 5.63; Taurus 15.8 (one byte),
/// 46.7, 93.3. HDR and NDR: 2 * 160 ns of Summit's processors and 0.6 us by the NIC's product brief; further as
/// Stampede, 0.78 us for eager messages, and 1.70 us and a handshake of two short ones for others. Hopper: 1.27 us with MPI
/// (Ahmed et al. 2016), or s/2 = 2 us (Gropp et al. 2016), which also has 11/2 and 20/2 us.
#[rustfmt::skip]
const START_UPS: &[(&str, u32, [u64; 3])] = &[
    ("slingshot-10", 1, [2640, 3460, 7600]),
    ("slingshot-11", 1, [2640, 3460, 7600]),
    ("dragonfly", 1, [2640, 3460, 7600]),
    ("aries", 4, [1360, 1360, 1360 + 388 + 2 * 1360]),
    ("omni-path", 1, [1050, 3030, 11_350]),
    ("stampede", 1, [1310, 2090, 5630]),
    ("ethernet-25", 1, [15_800, 46_700, 93_300]),
    ("ethernet-100", 1, [15_800, 46_700, 93_300]),
    ("fat-tree", 1, [920, 1700, 920 + 1700 + 2 * 920]),
    ("crossbar", 1, [920, 1700, 920 + 1700 + 2 * 920]),
    ("ndr", 1, [920, 1700, 920 + 1700 + 2 * 920]),
    ("hopper", 1, [1270, 5500, 10_000]),
    ("hopper-max-rate", 2, [2000, 5500, 10_000]),
];

/// See [`START_UPS`]; within 5 %, since a rendezvous of Slingshot 10 takes a little less than three short messages.
#[test]
fn start_ups_are_those_of_the_machines_that_presets_borrow_from() {
    for &(name, to, expected) in START_UPS {
        let platform = preset(name);
        let network = platform.fabric(1).unwrap().idle(HostId(0), HostId(to)).latency;
        let regimes = &platform.host_parameters().regimes;
        assert_eq!(regimes.len(), 3, "{name}");
        let alone = |index: usize| {
            let regime = &regimes[index];
            (network + regime.send_overhead.constant + regime.receive_overhead.constant + regime.latency).0
                as f64
                / 1000.0
        };
        let found = [alone(0), alone(1), alone(2) + 2.0 * alone(0)];
        for (found, expected) in found.into_iter().zip(expected) {
            let ratio = found / expected as f64;
            assert!((0.95..1.05).contains(&ratio), "{name}: {found} ns where {expected} ns were measured");
        }
    }
}

/// A run on `hopper-max-rate` warns about the published value that it does not use, and the one that it uses instead.
#[test]
fn hopper_max_rate_says_what_it_took_instead_of_the_published_value() {
    let platform = preset("hopper-max-rate");
    let said = platform.note().unwrap();
    let short = &platform.host_parameters().regimes[0];
    // Each further process adds R_C itself: no change of the rate.
    assert_eq!((short.process_rate.to_string(), short.process_rate_change), ("630 MB/s".to_string(), 0.0));
    for words in ["'hopper-max-rate'", "R_Ci = -0.18 GB/s", "0.63 GB/s", "would move nothing"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let noted = PRESETS.iter().filter(|each| preset(each.name).note().is_some()).map(|each| each.name);
    assert_eq!(noted.collect::<Vec<_>>(), ["hopper-max-rate", "nsim-torus"]);
}

/// Cray's limits begin the next protocol: messages of 512 and 8,192 bytes are no longer short and eager.
#[test]
fn crays_protocols_begin_at_their_limits() {
    for name in ["hopper", "hopper-max-rate", "aries"] {
        let platform = preset(name);
        let host = platform.host_parameters();
        let names = [511, 512, 8191, 8192].map(|size| host.regime_of(engine::Bytes(size)));
        assert_eq!(names, [0, 1, 1, 2], "{name}");
    }
}

/// A message leaves a node of Tofu D by one of its six interfaces, at 6.8 GB/s; together they have 40.8 GB/s.
#[test]
fn tofu_has_six_interfaces() {
    let platform = preset("tofu");
    let fabric = platform.fabric(1).unwrap();
    let topology = &fabric.topology;
    assert_eq!(topology.nics(), 6);
    let rates = (0..6).map(|nic| topology.link(topology.nic_up(HostId(7), nic)).bandwidth.0);
    assert_eq!(rates.sum::<u64>(), 40_800_000_000);
    assert_eq!(fabric.idle(HostId(0), HostId(7)).bandwidth.0, 6_800_000_000);
}

/// Published sizes: hosts, routers.
#[test]
fn machines_have_their_published_sizes() {
    for (name, hosts, routers) in [
        ("hopper", 6528, 17 * 8 * 24),
        ("mustang", 18 * 6 * 16, 96 + 96 + 108),
        ("mustang-torus", 2048, 2048),
        ("endeavor", 256, 32),
        ("nsim-torus", 2048, 2048),
        ("tofu", 158_976, 158_976),
        ("dragonfly", 74 * 512, 74 * 32),
        ("dahu", 32, 1),
        ("stampede", 6400, 320 + 8),
        ("aries", 15 * 384, 15 * 96),
        ("slingshot-10", 46 * 128, 46 * 16),
        ("slingshot-11", 16 * 256, 16 * 16),
        ("ndr", 2048, 64 + 32),
        ("omni-path", 576, 24 + 12),
        ("ethernet-25", 256, 8 + 4),
        ("ethernet-100", 512, 16 + 4),
    ] {
        let topology = preset(name).topology().unwrap();
        assert_eq!((topology.hosts(), topology.routers()), (hosts, routers), "{name}");
    }
}

/// Hosts hang on the routers of the first of several planes, at the places that they have in one.
#[test]
fn hosts_have_their_names_in_planes() {
    let of = |set: &[Override]| {
        let platform = config::load("hopper", set, &Disk::new("/")).unwrap();
        let topology = platform.topology().unwrap();
        let names = platform.host_names(&*topology).unwrap();
        ["nid00000", "nid06527"].map(|name| names.find(name).unwrap())
    };
    let planes = [Override::set("nic.count", "2"), Override::set("nic.attachment", "planes")];
    assert_eq!(of(&planes), of(&[]));
}

/// The shipped map agrees with the map that SST/macro has, for every node.
#[test]
#[cfg_attr(not(recorded_data), ignore = "needs recordings of real machines: set HOPCAST_DATA")]
fn the_host_map_of_hopper_is_the_real_one() {
    let Some(data) = option_env!("RECORDED_DATA") else { panic!("this test is ignored without recordings") };
    let map = std::path::Path::new(data).join("topology-maps/hopper_nodemap.txt");
    let set = [Override::set("hosts.map", &map.display().to_string())];
    let theirs = config::load("hopper", &set, &Disk::new("/")).unwrap_or_else(|error| panic!("{error}"));
    let ours = preset("hopper");
    let topology = ours.topology().unwrap();
    let (ours, theirs) = (ours.host_names(&*topology).unwrap(), theirs.host_names(&*topology).unwrap());
    for host in (0..6528).map(HostId) {
        assert!(ours.name(host).is_some());
        assert_eq!(ours.name(host), theirs.name(host));
    }
    assert!(ours.find("nid06528").is_err());
}
