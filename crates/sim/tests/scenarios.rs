//! Literate scenarios: each Markdown file in `tests/scenarios` derives a closed form in its prose and has the
//! platform, the program and the expectations in fenced blocks. Every scenario runs under each model that it names,
//! twice, with its hosts renumbered if it says that symmetry allows it, and cut into 1, 2, 3 and 8 domains, and into
//! 2 and 3 processes: reports and tables are the same.

use crate::cuts;
use crate::script;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::Duration;
use script::Script;
use sim::report::Outcome;
use sim::run::Unwatched;
use sim::{PlacementChoice, RunRequest, Sources, Workload, prepare};

/// Expectations of a `toml expect` block.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    /// Models that must meet them.
    models: Vec<String>,
    /// Predicted time, with its unit.
    makespan: Option<String>,
    /// Tolerance; one nanosecond by default.
    tolerance: Option<String>,
    /// Times at which single ranks finish.
    #[serde(default)]
    finish: BTreeMap<String, String>,
    /// Causes of the time of single ranks in MPI; causes that are not named are zero.
    #[serde(default)]
    causes: BTreeMap<String, BTreeMap<String, String>>,
    /// Placements (host of each rank) that must give the same makespan.
    #[serde(default)]
    renumbered: Vec<Vec<u32>>,
    /// Ranks of a pattern; a program has as many as it lists.
    ranks: Option<u32>,
    /// A pattern with its arguments instead of a program: `["allreduce", "--bytes", "8 B"]`.
    pattern: Option<Vec<String>>,
    /// Kind of the failure that the program must have.
    failure: Option<String>,
    /// All warnings of the report.
    #[serde(default)]
    warnings: Vec<String>,
    /// Time at which the run is stopped.
    stop_at: Option<String>,
    /// Energy by cause \[J\]; causes that are not named are not counted.
    energy: Option<BTreeMap<String, f64>>,
    /// Text of the error, for a scenario without a result.
    error: Option<String>,
}

struct Scenario {
    name: String,
    platform: PathBuf,
    program: Option<String>,
    expect: Expect,
    _folder: tempfile::TempDir,
}

fn block<'a>(text: &'a str, kind: &str) -> Option<&'a str> {
    let begin = text.find(&format!("```{kind}\n"))? + kind.len() + 4;
    let end = begin + text[begin..].find("```")?;
    Some(&text[begin..end])
}

fn read(path: &Path) -> Vec<Scenario> {
    let text = fs::read_to_string(path).unwrap();
    let platform_text =
        block(&text, "toml platform").unwrap_or_else(|| panic!("{}: no platform", path.display()));
    let cases: Vec<&str> = text.split("\n## ").skip(1).collect();
    assert!(!cases.is_empty(), "{}: a scenario has at least one case under a '## ' heading", path.display());
    let scenario = |case: &&str| {
        let title = case.lines().next().unwrap();
        let name = format!("{}: {title}", path.file_stem().unwrap().to_str().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let platform = folder.path().join("platform.toml");
        fs::write(&platform, block(case, "toml platform").unwrap_or(platform_text)).unwrap();
        let expect = block(case, "toml expect").unwrap_or_else(|| panic!("{name}: expects nothing"));
        let expect = toml::from_str(expect).unwrap_or_else(|error| panic!("{name}: {error}"));
        let program = block(case, "text program").map(String::from);
        Scenario { name, platform, program, expect, _folder: folder }
    };
    cases.iter().map(scenario).collect()
}

impl Scenario {
    fn run(&self, model: &str, hosts: Option<&[u32]>) -> Outcome {
        self.try_run(model, hosts, 1).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    fn try_run(&self, model: &str, hosts: Option<&[u32]>, threads: u32) -> Result<Outcome, sim::InputError> {
        prepare(&self.request(model, hosts, threads))?.run(None, &mut Unwatched)
    }

    fn request(&self, model: &str, hosts: Option<&[u32]>, threads: u32) -> RunRequest {
        let script = self.program.as_ref().map(|text| Script::read(text, &self.name));
        let ranks = script.as_ref().map_or(self.expect.ranks, |script| Some(script.ranks()));
        let placement = hosts.map(|hosts| {
            let lines: Vec<String> =
                hosts.iter().enumerate().map(|(rank, host)| format!("{rank} {host}")).collect();
            let file = self.platform.with_file_name("placement.txt");
            fs::write(&file, lines.join("\n")).unwrap();
            file.to_str().unwrap().to_string()
        });
        RunRequest {
            ranks,
            model: Some(model.to_string()),
            seed: Some(0),
            placement: placement.map(PlacementChoice::Named),
            records: Some(1000),
            stop_at: self.expect.stop_at.clone(),
            threads: Some(threads),
            ..RunRequest::new(self.platform.to_str().unwrap(), self.workload())
        }
    }

    /// Runs the scenario cut into domains and processes, and returns the number of runs that were cut.
    fn check_cuts(&self, model: &str) -> u32 {
        let Ok(whole) = self.try_run(model, None, 1) else { return 0 };
        let mut cut = 0;
        for threads in cuts::CUTS {
            let what = format!("{} under {model} on {threads} threads", self.name);
            let parts = self.try_run(model, None, threads).unwrap_or_else(|error| panic!("{what}: {error}"));
            cuts::assert_same(&parts, &whole, &what);
            cut += u32::from(cuts::is_cut(&parts));
        }
        for processes in [2, 3] {
            let what = format!("{} under {model} in {processes} processes", self.name);
            let parts = cuts::run_in_processes(&self.request(model, None, 2), processes);
            let parts = parts.unwrap_or_else(|error| panic!("{what}: {error}"));
            cuts::assert_same_in_processes(&parts, &whole, &what);
            cut += u32::from(cuts::is_cut(&parts));
        }
        cut
    }

    fn workload(&self) -> Workload {
        let Some(pattern) = &self.expect.pattern else {
            let (text, name) = (self.program.clone().unwrap_or_default(), self.name.clone());
            let source = move || Box::new(Script::read(&text, &name)) as Box<dyn mpi::Source + Send>;
            return Workload::Sources { name: self.name.clone(), make: Sources(Arc::new(source)) };
        };
        let arguments = pattern[1..].chunks(2).map(|pair| {
            let key = pair[0].strip_prefix("--").unwrap_or_else(|| panic!("{}: {}", self.name, pair[0]));
            (key.to_string(), pair[1].clone())
        });
        Workload::pattern(pattern[0].clone(), arguments.collect())
    }

    /// Compares causes to the picosecond.
    fn check_causes(&self, outcome: &Outcome, rank: usize, causes: &BTreeMap<String, String>, what: &str) {
        let known: Vec<&str> = mpi::Cause::ALL.into_iter().map(mpi::Cause::name).collect();
        assert!(causes.keys().all(|name| known.contains(&name.as_str())), "{what}: the causes are {known:?}");
        for name in known {
            let wanted = causes.get(name).map_or(Duration::ZERO, |text| text.parse().unwrap());
            let got = Duration::from_seconds(seconds_of(outcome, rank, &format!("{name}_s")));
            assert_eq!(got, wanted, "{what}: rank {rank}, {name}");
        }
    }

    fn check(&self, model: &str) {
        let what = format!("{} under {model}", self.name);
        if let Some(wanted) = &self.expect.error {
            let error = self.try_run(model, None, 1).expect_err(&what).to_string();
            assert!(error.contains(wanted), "{what}: the error is '{error}'");
            return;
        }
        let outcome = self.run(model, None);
        assert_eq!(outcome.report.warnings, self.expect.warnings, "{what}");
        let failed = outcome.report.failure.as_ref().map(|failure| failure.kind.to_string());
        assert_eq!(failed, self.expect.failure, "{what}: {:?}", outcome.report.failure);
        let tolerance =
            self.expect.tolerance.as_deref().unwrap_or("1 ns").parse::<Duration>().unwrap().seconds();
        let near = |got: f64, wanted: &str, of: &str| {
            let wanted =
                wanted.parse::<Duration>().unwrap_or_else(|error| panic!("{what}: {error}")).seconds();
            assert!(
                (got - wanted).abs() <= tolerance * (1.0 + 1e-9),
                "{what}: {of} is {got} s, not {wanted} s"
            );
        };
        if let Some(makespan) = &self.expect.makespan {
            near(outcome.report.makespan_s, makespan, "the makespan");
        }
        for (rank, finish) in &self.expect.finish {
            near(finish_of(&outcome, rank.parse().unwrap()), finish, &format!("the end of rank {rank}"));
        }
        for (rank, causes) in &self.expect.causes {
            self.check_causes(&outcome, rank.parse().unwrap(), causes, &what);
        }
        if let Some(causes) = &self.expect.energy {
            check_energy(&outcome, causes, &what);
        }
        let again = self.run(model, None);
        assert_eq!(again.report.outcome_hash, outcome.report.outcome_hash, "{what}: a repeat differs");
        for hosts in &self.expect.renumbered {
            let renumbered = self.run(model, Some(hosts));
            assert_eq!(renumbered.report.makespan_s, outcome.report.makespan_s, "{what}: on hosts {hosts:?}");
        }
    }
}

/// Compares energies to a millionth.
fn check_energy(outcome: &Outcome, wanted: &BTreeMap<String, f64>, what: &str) {
    let report = serde_json::to_value(&outcome.report).unwrap();
    let causes = report["energy"].as_object().unwrap_or_else(|| panic!("{what}: no energy"));
    let near = |got: f64, wanted: f64| (got - wanted).abs() <= 1e-6 * wanted;
    let named: BTreeMap<_, _> =
        causes.iter().filter_map(|(cause, energy)| Some((cause.clone(), energy.as_f64()?))).collect();
    assert!(named.keys().eq(wanted.keys()), "{what}: energy is counted for {named:?}");
    for (cause, wanted) in wanted {
        assert!(near(named[cause], *wanted), "{what}: {cause} is {}, not {wanted}", named[cause]);
    }
    let (all, time) = (wanted.values().sum::<f64>(), outcome.report.makespan_s);
    let of = |key: &str| report[key].as_f64().unwrap();
    assert!(near(of("energy_J"), all) && near(of("mean_power_W") * time, all), "{what}: {report}");
}

fn finish_of(outcome: &Outcome, rank: usize) -> f64 {
    seconds_of(outcome, rank, "finish_s")
}

/// Time of a rank, from a column of its table.
fn seconds_of(outcome: &Outcome, rank: usize, column: &str) -> f64 {
    let ranks = outcome.tables.iter().find(|table| table.name == "ranks").unwrap();
    let times = ranks.columns.iter().find(|(name, _)| *name == column).unwrap();
    let sim::table::Column::F64(values) = &times.1 else { panic!("{column} holds numbers") };
    values[rank]
}

#[test]
fn every_scenario_meets_its_closed_form() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 5, "the scenarios are there");
    let mut cut = 0;
    for scenario in files.iter().flat_map(|file| read(file)) {
        assert!(!scenario.expect.models.is_empty(), "{}: names no model", scenario.name);
        for model in &scenario.expect.models {
            scenario.check(model);
            cut += scenario.check_cuts(model);
        }
    }
    assert!(cut > 100, "most runs of the models that can be cut are cut, not {cut}");
}
