//! Valid and invalid platform files: `platform_errors.md`, the JSON schema, and overrides.

use engine::registry::Kind;
use network::topology::TOPOLOGIES;
use sim::config::{self, Disk, InputError, Override, PRESETS, Texts};

const CASES: &str = include_str!("platform_errors.md");

/// A case of the Markdown file.
struct Case {
    /// True if the schema refuses it, too.
    schema: bool,
    text: String,
    set: Vec<Override>,
    error: String,
}

/// Platform that the cases change, and the cases.
fn cases() -> (String, Vec<Case>) {
    let block = |rest: &'static str| rest.split("\n```").next().unwrap();
    let base = block(CASES.split("```toml\n").nth(1).unwrap());
    let cases = CASES.split("```diff ").skip(1).map(|rest| case(base, block(rest))).collect();
    (base.to_string(), cases)
}

fn case(base: &str, block: &str) -> Case {
    let known: Vec<_> = TOPOLOGIES.iter().map(|entry| entry.name).collect();
    let mut lines: Vec<String> = base.lines().map(str::to_string).collect();
    let mut case = Case {
        schema: block.starts_with("schema\n"),
        text: String::new(),
        set: Vec::new(),
        error: String::new(),
    };
    let mut at = lines.len();
    for line in block.lines().skip(1) {
        if let Some(old) = line.strip_prefix("- ") {
            at = lines
                .iter()
                .position(|line| line == old)
                .unwrap_or_else(|| panic!("'{old}' is not in the base"));
            lines.remove(at);
        } else if let Some(new) = line.strip_prefix("+ ") {
            lines.insert(at, new.to_string());
            at += 1;
        } else if let Some(flag) = line.strip_prefix("--set ") {
            let (key, value) = flag.split_once('=').unwrap();
            case.set.push(Override::set(key, value));
        } else if let Some(error) = line.strip_prefix("> ") {
            let between = if case.error.is_empty() { "" } else { "\n" };
            case.error += &format!("{between}{}", error.replace("{topologies}", &known.join(", ")));
        }
    }
    case.text = lines.join("\n");
    case
}

/// Loads `text` and builds everything that it describes.
fn build(text: &str, set: &[Override]) -> Result<(), InputError> {
    let mut files = Texts::default();
    files.0.insert("small.toml".to_string(), text.to_string());
    let platform = config::load("small.toml", set, &files)?;
    let fabric = platform.fabric(1)?;
    platform.place(&*fabric.topology, 2, 1, None)?;
    platform.statistics()?;
    Ok(())
}

#[test]
fn wrong_files_are_told_where_and_why() {
    let (base, cases) = cases();
    build(&base, &[]).unwrap_or_else(|error| panic!("the base is right: {error}"));
    assert!(cases.len() > 30);
    let mut wrong = String::new();
    for case in cases {
        let error =
            build(&case.text, &case.set).err().map_or("nothing".to_string(), |error| error.to_string());
        if error != case.error {
            wrong.push_str(&format!("\nwanted: {}\n   got: {error}\n", case.error));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn json(text: &str) -> serde_json::Value {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_schema_takes_the_presets_and_refuses_what_is_refused() {
    let schema = config::schema();
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is a schema");
    jsonschema::draft202012::meta::validate(&schema).expect("of the draft that it names");
    for preset in PRESETS {
        let errors: Vec<_> =
            validator.iter_errors(&json(preset.text)).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", preset.name);
    }
    let (base, cases) = cases();
    assert!(validator.is_valid(&json(&base)));
    for case in cases.iter().filter(|case| case.schema) {
        assert!(!validator.is_valid(&json(&case.text)), "the schema takes what is wrong: {}", case.error);
    }
}

#[test]
fn flags_replace_values() {
    let nowhere = Texts::default();
    let flags = [
        Override::set("topology.sizes", "[4, 4, 2]"),
        Override::set("link.latency", "50 ns"),
        Override::set("mpi.regimes.0.send_overhead", "1 us"),
        Override::set("mpi.regimes[0].receive_overhead", "2 us"),
        Override::set("mpi.regimes.all.nic_rate", "infinite"),
        Override::set("mpi.eager_limit", "1 KiB"),
    ];
    let platform = config::load("nsim-torus", &flags, &nowhere).unwrap();
    assert_eq!(platform.topology().unwrap().hosts(), 32);
    assert_eq!(platform.host_parameters().regimes[0].send_overhead, "1 us".parse().unwrap());
    assert_eq!(platform.host_parameters().regimes[0].receive_overhead, "2 us".parse().unwrap());
    assert_eq!(platform.host_parameters().regimes[0].nic_rate, engine::Bandwidth::INFINITE);
    assert_eq!(platform.mpi().size("eager_limit"), Some("1 KiB".parse().unwrap()));
    let link = platform.topology().unwrap().link(network::LinkId(64));
    assert_eq!(link.latency, "50 ns".parse().unwrap());
}

/// The preset sets `ties`, which other routings do not have; keys of a flag must still be valid.
#[test]
fn another_kind_replaces_the_keys_of_the_old_one() {
    let kind = Override::set("routing.kind", "d-mod-k");
    assert!(config::load("nsim-torus", std::slice::from_ref(&kind), &Texts::default()).is_ok());
    let wrong = config::load("nsim-torus", &[kind, Override::set("routing.ties", "up")], &Texts::default());
    assert!(wrong.unwrap_err().to_string().contains("unknown key 'ties' in [routing] of kind 'd-mod-k'"));
}

#[test]
fn a_section_can_be_replaced_as_a_whole() {
    let flags = [
        Override::set("topology", "{ kind = \"crossbar\", hosts = 5 }"),
        Override::set("hosts", "{}"),
        Override::set("routing", "{ kind = \"dimension-order\" }"),
    ];
    let platform = config::load("hopper", &flags, &Texts::default()).unwrap();
    assert_eq!(platform.topology().unwrap().hosts(), 5);
}

#[test]
fn an_unknown_platform_is_answered_with_the_presets() {
    let error = config::load("hoper", &[], &Texts::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("hoper: unknown platform 'hoper'; did you mean 'hopper'? known: hopper,")
    );
    let error = config::load("my/hoper.toml", &[], &Disk::new("/nowhere")).unwrap_err();
    assert!(error.to_string().starts_with("my/hoper.toml: cannot read this platform file: "), "{error}");
}

#[test]
fn a_negative_r_ci_is_a_loss() {
    let regime = r#"[{ name = "all", process_rate = "0.63 GB/s", further_process_loss = "0.18 GB/s" }]"#;
    let flags = [Override::set("mpi.regimes", regime)];
    let platform = config::load("crossbar", &flags, &Texts::default()).unwrap();
    // R_Ci - R_Cb: -0.18 - 0.63 GB/s.
    assert_eq!(platform.host_parameters().regimes[0].process_rate_change, -0.81e9);
    let doubts = platform.doubts();
    assert!(doubts.len() == 1 && doubts[0].contains("in the regime 'all'"), "{doubts:?}");
}

/// k processes of a host that send together move no less than one alone, in any regime of any preset: a preset that
/// copied a fit with a negative R_Ci would slow down several senders without a cause.
#[test]
fn no_preset_slows_down_with_more_senders() {
    for name in config::PRESETS.iter().map(|preset| preset.name) {
        let platform = config::load(name, &[], &Texts::default()).unwrap();
        assert!(platform.doubts().is_empty(), "{name}: {:?}", platform.doubts());
        for regime in &platform.host_parameters().regimes {
            let further = regime.process_rate.0 as f64 + regime.process_rate_change;
            assert!(further >= 0.0, "{name}: each further process takes {further} B/s away");
        }
    }
    // R_Ci - R_Cb of hopper-max-rate's rendezvous: 0.61 - 3.6 GB/s.
    let hosts = config::load("hopper-max-rate", &[], &Texts::default()).unwrap().host_parameters().clone();
    assert_eq!(hosts.regimes[2].process_rate_change, -2.99e9);
}

#[test]
fn every_parameter_of_every_registry_has_a_default_of_its_kind() {
    // Filling the defaults checks them; the schema visits every registry.
    let page = config::reference();
    for entry in TOPOLOGIES {
        assert!(page.contains(&format!("`kind = \"{}\"`", entry.name)));
    }
    assert!(page.contains("| `nic.gap` | a time such as \"635 ns\" | `0 ns` |"));
}

/// A platform that names no routing gets one that suits its topology, with that one's own defaults.
#[test]
fn every_topology_has_a_routing_where_none_is_named() {
    let examples = TOPOLOGIES.iter().flat_map(|entry| entry.examples.iter().map(move |text| (entry, *text)));
    for (entry, example) in examples {
        let (kind, mut files) = (entry.name, Texts::default());
        let mut parameters: toml::Table = example.parse().unwrap();
        // An example holds the content of a file, a platform file its name.
        for parameter in entry.parameters.iter().filter(|parameter| parameter.kind == Kind::File) {
            let name = toml::Value::String("content".to_string());
            let content = parameters.insert(parameter.name.to_string(), name);
            let content = content.and_then(|content| Some(content.as_str()?.to_string()));
            files.0.insert("content".to_string(), content.unwrap());
        }
        let text = format!(
            "name = \"small\"\n[topology]\nkind = \"{kind}\"\n{parameters}\n\
             [link]\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\n\
             [host]\nprocesses = 1\n[host.memory]\nlatency = \"0 ns\"\nbandwidth = \"1 GB/s\"\n\
             [nic]\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\n[compute]\nflop_rate = \"1 Gflop/s\"\n"
        );
        files.0.insert("small.toml".to_string(), text);
        let platform =
            config::load("small.toml", &[], &files).unwrap_or_else(|error| panic!("{kind}: {error}"));
        let fabric = platform.fabric(1).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert!(fabric.routing.channel_count() >= 1, "{kind}");
    }
}

/// Values that were spelled with underscores are taken, with a warning for each; so is the section of a model.
#[test]
fn old_spellings_are_taken_with_a_warning() {
    let (old, _) = cases();
    let set = [
        Override::set("network.model", "max_rate"),
        Override::set("network.flow.sharing", "equal_share"),
        Override::set("network.max_rate", "{}"),
    ];
    let mut files = Texts::default();
    files.0.insert("old.toml".to_string(), old);
    let platform = config::load("old.toml", &set, &files).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(platform.model_name().as_deref(), Some("max-rate"));
    let warned =
        ["network.model: 'max_rate' is now spelled 'max-rate'", "network.flow.sharing: 'equal_share'"];
    let warnings = platform.old_spellings();
    for text in warned.into_iter().chain(["[network.max_rate]: 'max_rate'"]) {
        assert_eq!(warnings.iter().filter(|warning| warning.starts_with(text)).count(), 1, "{warnings:?}");
    }
    assert_eq!(warnings.len(), 3);
    // A report's copy of the platform has the names of today.
    assert!(platform.to_toml().contains("model = \"max-rate\""));
    assert!(!platform.to_toml().contains("max_rate") && !platform.to_toml().contains("equal_share"));
}

/// Modes under headers of their own are the same platform, and its copy in reports can be read again.
#[test]
fn tables_under_headers_are_written_as_values() {
    let (base, _) = cases();
    let regime = "\n[[mpi.regimes]]\nname = \"all\"\nsend_overhead = \"1 us\"\n";
    let inline = "send_modes = [{ weight = 1.0, mean = \"80 ns\", deviation = \"9 ns\" }]\n";
    let headers = "[[mpi.regimes.send_modes]]\nweight = 1.0\nmean = \"80 ns\"\ndeviation = \"9 ns\"\n";
    let resolved = [inline, headers].map(|modes| {
        let mut files = Texts::default();
        files.0.insert("modes.toml".to_string(), format!("{base}{regime}{modes}"));
        let platform = config::load("modes.toml", &[], &files).unwrap_or_else(|error| panic!("{error}"));
        platform.to_toml()
    });
    for text in &resolved {
        let mut files = Texts::default();
        files.0.insert("again.toml".to_string(), text.clone());
        let again = config::load("again.toml", &[], &files).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let value =
            toml::from_str::<toml::Table>(&again.to_toml()).unwrap()["mpi"]["regimes"][0]["send_modes"]
                .clone();
        assert_eq!(value[0]["mean"].as_str(), Some("80 ns"));
        assert_eq!(value[0]["deviation"].as_str(), Some("9 ns"));
    }
}
