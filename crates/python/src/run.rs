//! Runs: a request from Python, a report and its tables back.

use engine::Time;
use mpi::{Rank, Source};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use sim::observe::Detail;
use sim::run::Alone;
use sim::table::{Column, Table};
use sim::trace::Flags;
use sim::{Control, InputError, Look, Monitor, Peers, Progress, Request, Workload};

use crate::errors::{input_error, told_error};
use crate::peers::Talker;
use crate::source::Greenlets;

/// How a trace is replayed: the flags that were given.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Replay {
    mode: Option<String>,
    time_shift: Option<bool>,
    ignore: Option<String>,
    rematch: Option<bool>,
    check_clocks: Option<bool>,
    compute_by: Option<String>,
    compute_scale: Option<f64>,
}

impl Replay {
    fn flags(self) -> Flags {
        let Replay { mode, time_shift, ignore, rematch, check_clocks, compute_by, compute_scale } = self;
        Flags { mode, time_shift, ignore, rematch, check_clocks, compute_by, compute_scale }
    }
}

/// One of several jobs; see `hopcast.jobs`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct OneJob {
    name: String,
    workload: String,
    what: String,
    arguments: Vec<(String, String)>,
    ranks: Option<u32>,
    start: Option<String>,
    hosts: Option<String>,
    placement: Option<String>,
    ppn: Option<u16>,
    replay: Replay,
}

impl OneJob {
    fn job(self) -> PyResult<sim::jobs::Job> {
        let wrong = |error: InputError| input_error(error.of_job(&self.name));
        let start = self.start.as_deref().map_or(Ok(Time::ZERO), str::parse::<Time>);
        let start = start.map_err(|error| wrong(InputError::whole("start", error.to_string())))?;
        let workload = match self.workload.as_str() {
            "trace" => {
                Workload::Trace { options: self.replay.flags().options().map_err(wrong)?, path: self.what }
            }
            _ => Workload::Pattern { name: self.what, arguments: self.arguments },
        };
        Ok(sim::jobs::Job {
            workload,
            start,
            name: self.name,
            ranks: self.ranks,
            placement: self.placement,
            hosts: self.hosts,
            processes_per_host: self.ppn,
        })
    }
}

/// What Python asks for; see `hopcast.api.Job`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Job {
    platform: String,
    overrides: Vec<(String, String)>,
    workload: String,
    name: String,
    arguments: Vec<(String, String)>,
    ranks: Option<u32>,
    model: Option<String>,
    seed: u64,
    placement: Option<String>,
    ppn: Option<u16>,
    records: u32,
    threads: u32,
    stop_at: Option<String>,
    replay: Replay,
    statistics: Option<String>,
    jobs: Vec<OneJob>,
    only: Vec<String>,
}

impl Job {
    fn request(self) -> PyResult<Request> {
        let workload = match self.workload.as_str() {
            "program" => Workload::Program(self.name),
            "pattern" => Workload::Pattern { name: self.name, arguments: self.arguments },
            "trace" => Workload::Trace {
                path: self.name,
                options: self.replay.flags().options().map_err(input_error)?,
            },
            "jobs" => {
                let jobs = self.jobs.into_iter().map(OneJob::job).collect::<PyResult<_>>()?;
                Workload::Jobs { jobs, only: self.only }
            }
            other => return Err(PyValueError::new_err(format!("no workload is a '{other}'"))),
        };
        let stop_at = self.stop_at.as_deref().map(str::parse::<Time>).transpose();
        let stop_at =
            stop_at.map_err(|error| input_error(InputError::whole("stop-at", error.to_string())))?;
        Ok(Request {
            platform: self.platform,
            overrides: self.overrides,
            workload,
            ranks: self.ranks,
            model: self.model,
            seed: self.seed,
            placement: self.placement,
            processes_per_host: self.ppn,
            threads: self.threads,
            statistics: self.statistics,
            stop_at,
            detail: if self.records > 0 { Detail::Records(self.records) } else { Detail::Tables },
        })
    }
}

/// A Python function that is told where the run stands, and gives a number of [`WISHES`].
struct Watch<'a, 'py> {
    function: &'a Bound<'py, PyAny>,
    ranks: u32,
    /// What the function raised: it stops the run.
    error: Option<PyErr>,
}

impl Monitor for Watch<'_, '_> {
    fn poll(&mut self, progress: Progress) -> Control {
        let told = self.function.py().check_signals();
        let told = told.and_then(|()| {
            let Progress { now, events, share_done, look } = progress;
            let look = look.map(|Look { unfinished, in_flight, behind }| {
                let behind = behind.map(|(reached, rank)| (reached.seconds(), rank.0));
                (self.ranks, self.ranks - unfinished, in_flight, behind)
            });
            self.function.call1((now.seconds(), events, share_done, look))
        });
        match told.and_then(|wish| wish.extract::<usize>()) {
            Ok(wish) => WISHES[wish].1,
            Err(error) => {
                self.error = Some(error);
                Control::Stop
            }
        }
    }
}

/// What the function may want: the constants of the module that say so.
const WISHES: [(&str, Control); 3] =
    [("GO_ON", Control::Continue), ("STOP", Control::Stop), ("LOOK", Control::Look)];

/// Puts the numbers of [`WISHES`] into the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    (0..).zip(WISHES).try_for_each(|(number, (name, _)): (u8, _)| module.add(name, number))
}

/// `(report.json, tables, (rank, time, exception) or None, greenlets that have not finished)`.
type Ended<'py> = (String, Bound<'py, PyDict>, Option<(u32, f64, Bound<'py, PyAny>)>, Vec<Bound<'py, PyAny>>);

/// Runs `job`; the ranks of a program workload are those of `program`. With `peers`, this is one of several
/// processes that run it, and all but the first get `None`.
#[pyfunction]
pub fn run<'py>(
    py: Python<'py>,
    job: Job,
    program: Option<&Bound<'py, PyAny>>,
    monitor: &Bound<'py, PyAny>,
    peers: Option<Bound<'py, PyAny>>,
) -> PyResult<Option<Ended<'py>>> {
    let mut peers: Box<dyn Peers + 'py> = match peers {
        Some(object) => Box::new(Talker::new(object)?),
        None => Box::new(Alone),
    };
    let prepared = sim::prepare_share(&job.request()?, &*peers);
    // What is wrong for one of them is wrong for all: nobody waits for who has given up.
    let told = prepared.as_ref().err().map_or(String::new(), |error| error.to_string());
    let told = peers.share(told.into_bytes()).into_iter().find(|told| !told.is_empty());
    let prepared = match (prepared, told) {
        (Err(error), _) => return Err(input_error(error)),
        (Ok(_), Some(told)) => return Err(told_error(&told)),
        (Ok(prepared), None) => prepared,
    };
    let mut watch = Watch { function: monitor, ranks: prepared.ranks(), error: None };
    let mut greenlets = None;
    if let Some(program) = program {
        program.setattr("host_of_rank", prepared.host_of_rank().to_vec())?;
        greenlets = Some(Greenlets::new(program, prepared.ranks())?);
    }
    let source = greenlets.as_mut().map(|source| source as &mut dyn Source);
    let outcome = prepared.run_share(source, &mut watch, &mut *peers).map_err(input_error)?;
    if let Some(error) = watch.error {
        return Err(error);
    }
    let Some(mut outcome) = outcome else { return Ok(None) };
    let mut failed = None;
    let mut unfinished = Vec::new();
    if let Some(source) = greenlets {
        let failure = outcome.report.failure.iter_mut();
        for stuck in failure.flat_map(|failure| &mut failure.ranks) {
            stuck.place = stuck.place.take().or_else(|| source.place(Rank(stuck.rank)));
        }
        unfinished = source.unfinished().collect::<PyResult<_>>()?;
        failed = source.error.map(|failed| (failed.rank.0, failed.at.seconds(), failed.error));
    }
    Ok(Some((outcome.json(), tables(py, &outcome.tables)?, failed, unfinished)))
}

/// Every MPI call of the recorded run at `path`, as the columns of a table.
#[pyfunction]
pub fn recorded_calls<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyList>> {
    columns(py, &sim::trace::recorded_calls(path).map_err(input_error)?)
}

/// `{table: [(column, type, bytes or texts)]}`
fn tables<'py>(py: Python<'py>, tables: &[Table]) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for table in tables {
        all.set_item(table.name, columns(py, table)?)?;
    }
    Ok(all)
}

fn columns<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyList>> {
    let columns = PyList::empty(py);
    for (name, column) in &table.columns {
        let (kind, content) = column_content(py, column)?;
        columns.append((*name, kind, content))?;
    }
    Ok(columns)
}

fn column_content<'py>(py: Python<'py>, column: &Column) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    Ok(match column {
        Column::U32(values) => ("u32", bytes(py, values, |value| value.to_le_bytes())?),
        Column::U64(values) => ("u64", bytes(py, values, |value| value.to_le_bytes())?),
        Column::F64(values) => ("f64", bytes(py, values, |value| value.to_le_bytes())?),
        Column::Text(values) => ("text", PyList::new(py, values)?.into_any()),
    })
}

/// The values as they lie in memory, little endian, as NumPy reads them.
fn bytes<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    write: impl Fn(T) -> [u8; N],
) -> PyResult<Bound<'py, PyAny>> {
    let filled = PyBytes::new_with(py, values.len() * N, |into| {
        for (place, value) in into.chunks_exact_mut(N).zip(values) {
            place.copy_from_slice(&write(*value));
        }
        Ok(())
    })?;
    Ok(filled.into_any())
}
