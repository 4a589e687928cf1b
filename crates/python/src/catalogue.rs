//! Catalogue of everything that hopcast offers without a run: registries, platforms and the format of their files.

use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use engine::Time;
use pyo3::prelude::*;
use sim::config::{self, Disk, Override};
use sim::request::Spelling;
use sim::trace::Stop;
use sim::{InputError, RunRequest};

/// Every registry, as JSON: see `sim::catalogue`.
#[pyfunction]
pub fn catalogue() -> String {
    sim::catalogue().to_string()
}

/// The JSON schema of platform files.
#[pyfunction]
pub fn platform_schema() -> String {
    format!("{:#}", config::schema())
}

/// The reference page of platform files, in Markdown.
#[pyfunction]
pub fn platform_reference() -> String {
    config::reference()
}

/// The platform file `name` as written, or in full: overrides applied, defaults filled in.
#[pyfunction]
pub fn platform_text(name: &str, overrides: Vec<(String, String)>, resolved: bool) -> PyResult<String> {
    let platform = load(name, &overrides)?;
    Ok(if resolved { platform.to_toml() } else { platform.text().to_string() })
}

/// The platform of a request as written, or in full with its overrides; its placement is not laid over it.
#[pyfunction]
pub fn platform_of(request: &str, resolved: bool) -> PyResult<String> {
    let request = RunRequest::from_json(request, Spelling::Keys).map_err(crate::errors::input_error)?;
    let set = request.set.iter().flat_map(|set| &set.0);
    let overrides: Vec<_> = set.map(|(key, value)| Override::set(key, value)).collect();
    let platform = config::load_source(&request.platform, &overrides, &Disk::new(""));
    let platform = platform.map_err(crate::errors::input_error)?;
    Ok(if resolved { platform.to_toml() } else { platform.text().to_string() })
}

/// Survey of a platform's network without simulating it, as JSON: see `sim::survey`.
#[pyfunction]
pub fn topology_survey(
    py: Python<'_>,
    name: &str,
    overrides: Vec<(String, String)>,
    seed: u64,
) -> PyResult<String> {
    let platform = load(name, &overrides)?;
    let survey = py.detach(|| sim::survey(&platform, seed));
    Ok(survey.map_err(crate::errors::input_error)?.to_string())
}

/// Mean times \[s\] of calls of a kernel on a socket of a host, as the platform's formulas have them: see
/// `sim::kernel_times`.
#[pyfunction]
pub fn kernel_times(
    name: &str,
    function: &str,
    place: (String, u16),
    calls: usize,
    arguments: std::collections::BTreeMap<String, Vec<f64>>,
) -> PyResult<Vec<f64>> {
    let place = (place.0.as_str(), place.1);
    let times = sim::kernel_times(&load(name, &[])?, name, function, place, calls, &arguments);
    times.map_err(crate::errors::input_error)
}

/// Picture of a platform's network, as SVG.
#[pyfunction]
pub fn topology_picture(name: &str, overrides: Vec<(String, String)>) -> PyResult<String> {
    sim::picture(&load(name, &overrides)?).map_err(crate::errors::input_error)
}

/// Summary of a recorded run, as JSON: see `sim::trace::summary`.
#[pyfunction]
pub fn trace_summary(py: Python<'_>, path: &str) -> PyResult<String> {
    let summary = py.detach(|| sim::trace::summary(path));
    Ok(summary.map_err(crate::errors::input_error)?.to_string())
}

/// Files of the recorded run at `path`, as the readers find them.
#[pyfunction]
pub fn trace_files(path: &str) -> PyResult<Vec<std::path::PathBuf>> {
    let files = sim::trace::files(path).map_err(crate::errors::input_error)?;
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// Summary of the recording that a program has just left in a folder, as JSON: see `sim::trace::recorded`.
#[pyfunction]
pub fn trace_recorded(py: Python<'_>, path: &str) -> PyResult<String> {
    let recorded = py.detach(|| sim::trace::recorded(path));
    Ok(recorded.map_err(crate::errors::input_error)?.to_string())
}

/// Converts a time such as "500 ms" to seconds; errors name `place`.
#[pyfunction]
pub fn seconds(place: &str, text: &str) -> PyResult<f64> {
    let parsed = text.parse::<Time>().map(Time::seconds);
    parsed.map_err(|error| crate::errors::input_error(InputError::whole(place, error.to_string())))
}

/// Path of a recorded run, folder for the result, and rate of computing for formats that count operations.
#[derive(FromPyObject)]
pub struct OneTask(String, String, Option<String>);

impl OneTask {
    fn task(&self) -> sim::trace::Task<'_> {
        sim::trace::Task { path: &self.0, out: &self.1, flop_rate: self.2.as_deref() }
    }
}

/// Writes a recorded run into a folder in hopcast's own format, and returns a summary as JSON: see
/// `sim::trace::convert`.
#[pyfunction]
pub fn trace_convert(py: Python<'_>, task: OneTask, tallied: Option<bool>) -> PyResult<String> {
    interruptible(py, |stop| Ok(sim::trace::convert(&task.task(), tallied, stop)?.to_string()))
}

/// Scales a regular recorded run to more ranks, and returns a summary as JSON: see `sim::trace::scale`.
#[pyfunction]
pub fn trace_scale(
    py: Python<'_>,
    task: OneTask,
    grid: Option<Vec<u32>>,
    to: Vec<u32>,
    tallied: Option<bool>,
) -> PyResult<String> {
    interruptible(py, |stop| Ok(sim::trace::scale(&task.task(), grid, &to, tallied, stop)?.to_string()))
}

/// Writes a part of a recorded run, and returns a summary with the cut operations as JSON: see `sim::trace::slice`.
#[pyfunction]
pub fn trace_slice(
    py: Python<'_>,
    task: OneTask,
    times: (Option<String>, Option<String>),
    meetings: Option<(u64, u64)>,
    ranks: Option<Vec<(u32, u32)>>,
    outside: Option<String>,
) -> PyResult<String> {
    let (from, to) = times;
    let part = sim::trace::Part { from, to, meetings, ranks, outside };
    interruptible(py, |stop| Ok(sim::trace::slice(&task.task(), &part, stop)?.to_string()))
}

/// Interval at which signals are checked meanwhile.
const LOOK: Duration = Duration::from_millis(100);

/// Runs `work` in a thread of its own, and stops it when a signal raises an exception here.
fn interruptible(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> Result<String, InputError> + Send,
) -> PyResult<String> {
    let stop = Stop::default();
    let done = std::thread::scope(|scope| {
        let (over, mut ended) = std::sync::mpsc::channel::<()>();
        let stop = &stop;
        let thread = scope.spawn(move || {
            // Dropped when this thread ends, in whatever way.
            let _over = over;
            work(stop)
        });
        let mut raised = None;
        loop {
            let ended = &mut ended;
            if py.detach(move || ended.recv_timeout(LOOK)) != Err(RecvTimeoutError::Timeout) {
                break;
            }
            if let Err(error) = py.check_signals() {
                stop.now();
                raised.get_or_insert(error);
            }
        }
        let done = py.detach(|| thread.join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        raised.map_or(Ok(done), Err)
    })?;
    done.map_err(crate::errors::input_error)
}

/// Passes the calls of a recorded run to `write`, some lines at a time: see `sim::trace::dump`.
#[pyfunction]
pub fn trace_dump(
    path: &str,
    ranks: Vec<u32>,
    clocks: bool,
    as_json: bool,
    write: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let mut failed = None;
    let mut hand_over = |lines: &str| match write.call1((lines,)) {
        Ok(_) => true,
        Err(error) => {
            failed = Some(error);
            false
        }
    };
    let dumped = sim::trace::dump(path, &ranks, clocks, as_json, &mut hand_over);
    match failed {
        Some(error) => Err(error),
        None => dumped.map_err(crate::errors::input_error),
    }
}

/// Findings in a recorded run, as JSON: see `sim::trace::lint`.
#[pyfunction]
pub fn trace_lint(py: Python<'_>, path: &str) -> PyResult<String> {
    let found = py.detach(|| sim::trace::lint(path));
    Ok(found.map_err(crate::errors::input_error)?.to_string())
}

/// Loads a platform from the working directory, or a preset.
pub fn load(name: &str, overrides: &[(String, String)]) -> PyResult<sim::Platform> {
    let overrides: Vec<_> = overrides.iter().map(|(key, value)| Override::set(key, value)).collect();
    config::load(name, &overrides, &Disk::new("")).map_err(crate::errors::input_error)
}
