//! Runs: take a request from Python, and return a report and its tables.

use std::time::{Duration, Instant};

use mpi::{Rank, Source};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use sim::request::{self, Spelling};
use sim::run::SingleProcess;
use sim::{Control, InputError, Look, Monitor, Outcome, Peers, Prepared, Progress, RunRequest};

use crate::errors::{input_error, told_error};
use crate::live::Follower;
use crate::peers::Talker;
use crate::source::Greenlets;
use crate::tables::{columns, tables};

/// Real time between two calls of the Python monitor, each of which takes the interpreter's lock.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Monitor that calls a Python function with the progress of the run; the function returns a number of [`WISHES`].
struct Watch {
    function: Py<PyAny>,
    ranks: u32,
    next: Option<Instant>,
    follower: Option<Follower>,
    /// Exception that the function raised, which stops the run.
    error: Option<PyErr>,
}

impl Watch {
    fn ask(&self, progress: Progress) -> PyResult<usize> {
        Python::attach(|py| {
            py.check_signals()?;
            let Progress { now, events, share_done, look } = progress;
            let look = look.map(|Look { unfinished, in_flight, behind }| {
                let behind = behind.map(|(reached, rank)| (reached.seconds(), rank.0));
                (self.ranks, self.ranks - unfinished, in_flight, behind)
            });
            self.function.bind(py).call1((now.seconds(), events, share_done, look))?.extract()
        })
    }
}

impl Monitor for Watch {
    #[expect(clippy::disallowed_methods, reason = "how often Python is asked is no part of the simulation")]
    fn poll(&mut self, progress: Progress) -> Control {
        let now = Instant::now();
        if progress.look.is_none() && self.next.is_some_and(|next| now < next) {
            return Control::Continue;
        }
        self.next = Some(now + ASK_EVERY);
        let followed = self.follower.as_mut().map_or(Ok(()), |follower| follower.poll(&progress));
        match followed.and_then(|()| self.ask(progress)) {
            Ok(wish) => WISHES[wish].1,
            Err(error) => {
                self.error = Some(error);
                Control::Stop
            }
        }
    }
}

/// Answers of the function: constants of the module.
const WISHES: [(&str, Control); 3] =
    [("GO_ON", Control::Continue), ("STOP", Control::Stop), ("LOOK", Control::Look)];

/// Adds the numbers of [`WISHES`] to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    (0..).zip(WISHES).try_for_each(|(number, (name, _)): (u8, _)| module.add(name, number))
}

/// The table of a run's options, as JSON: see `sim::request::options`.
#[pyfunction]
pub fn run_options() -> String {
    request::options().to_string()
}

/// The JSON schema of requests.
#[pyfunction]
pub fn request_schema() -> String {
    format!("{:#}", request::schema())
}

/// Checks a request in JSON; the error lists all mistakes. `as_flags`: with options as the command line spells them.
#[pyfunction]
pub fn check_request(request: &str, as_flags: bool) -> PyResult<()> {
    let spelling = if as_flags { Spelling::Flags } else { Spelling::Keys };
    RunRequest::from_json(request, spelling).map(|_| ()).map_err(input_error)
}

/// `(report.json, tables)`.
type Ended<'py> = (String, Bound<'py, PyDict>);

/// Runs a request in JSON; the ranks of a rank function are those of `program`, which then gets `error`, `(rank, time,
/// exception)` or None, and `unfinished`, the greenlets of ranks that have not finished. Without a program, the
/// interpreter is free for other threads meanwhile. With `peers`, this is one of several processes that run it, and all but
/// the first get `None`. `live` is called now and then with new rows, see [`Follower`].
#[pyfunction]
pub fn run<'py>(
    py: Python<'py>,
    request: &str,
    program: Option<&Bound<'py, PyAny>>,
    monitor: Py<PyAny>,
    peers: Option<Bound<'py, PyAny>>,
    live: Option<Py<PyAny>>,
) -> PyResult<Option<Ended<'py>>> {
    let request = RunRequest::from_json(request, Spelling::Keys).map_err(input_error)?;
    let mut peers: Box<dyn Peers + Send> = match peers {
        Some(object) => Box::new(Talker::new(object)?),
        None => Box::new(SingleProcess),
    };
    let mut prepared = py.detach(|| prepare(&request, &mut *peers)).map_err(|refused| match refused {
        Refused::Here(error) => input_error(error),
        Refused::Elsewhere(text) => told_error(&text),
    })?;
    let follower = live.map(Follower::new);
    follower.iter().for_each(|follower| prepared.follow(follower.rows.clone()));
    let mut watch = Watch { function: monitor, ranks: prepared.ranks(), next: None, follower, error: None };
    let outcome = match program {
        None => py.detach(|| prepared.run_share(None, &mut watch, &mut *peers)),
        Some(program) => {
            program.setattr("host_of_rank", prepared.host_of_rank().to_vec())?;
            if let Some(process_of_rank) = prepared.process_of_rank() {
                program.call_method1("spread_over", (peers.rank(), process_of_rank))?;
            }
            let wtime_costs = prepared.function_times().of("MPI_Wtime").is_some();
            let mut source = Greenlets::new(program, prepared.ranks(), wtime_costs)?;
            let mut outcome =
                prepared.run_share(Some(&mut source as &mut dyn Source), &mut watch, &mut *peers);
            if let Ok(Some(outcome)) = &mut outcome {
                add_places(outcome, &source);
            }
            tell(program, source)?;
            outcome
        }
    };
    let outcome = outcome.map_err(input_error)?;
    if let Some(error) = watch.error {
        return Err(error);
    }
    let ended = |outcome: Outcome| Ok((outcome.json(), tables(py, &outcome.tables)?));
    outcome.map(ended).transpose()
}

/// Error in a request, found here or by another process.
enum Refused {
    Here(InputError),
    Elsewhere(Vec<u8>),
}

/// Builds this process's share. An error in one process ends all of them, so that nobody waits for it.
fn prepare(request: &RunRequest, peers: &mut (dyn Peers + Send)) -> Result<Prepared, Refused> {
    let prepared = sim::prepare_share(request, peers);
    let told = prepared.as_ref().err().map_or(String::new(), |error| error.to_string());
    let told = peers.share(told.into_bytes()).into_iter().find(|told| !told.is_empty());
    match (prepared, told) {
        (Err(error), _) => Err(Refused::Here(error)),
        (Ok(_), Some(told)) => Err(Refused::Elsewhere(told)),
        (Ok(prepared), None) => Ok(prepared),
    }
}

/// Adds the places in the user's program of ranks that the failure names.
fn add_places(outcome: &mut Outcome, source: &Greenlets) {
    for stuck in outcome.report.failure.iter_mut().flat_map(|failure| &mut failure.ranks) {
        stuck.place = stuck.place.take().or_else(|| source.place(Rank(stuck.rank)));
    }
}

/// Tells the program how its ranks in this process have ended.
fn tell(program: &Bound<'_, PyAny>, source: Greenlets) -> PyResult<()> {
    let unfinished = PyDict::new(program.py());
    for (rank, greenlet) in source.unfinished() {
        unfinished.set_item(rank.0, greenlet?)?;
    }
    program.setattr("unfinished", unfinished)?;
    let failed = source.error.map(|failed| (failed.rank.0, failed.at.seconds(), failed.error));
    program.setattr("error", failed)
}

/// Every MPI call of the recorded run at `path`, as the columns of a table.
#[pyfunction]
pub fn recorded_calls<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyList>> {
    columns(py, &py.detach(|| sim::trace::recorded_calls(path)).map_err(input_error)?)
}
