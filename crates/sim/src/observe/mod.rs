//! Observers: each keeps one view of a run in bounded memory, and makes tables of it.
//!
//! Adding one is a file here and a line in [`OBSERVERS`].

mod algorithms;
mod busy_link;
mod calls;
mod causes;
mod contention;
mod extrapolation;
mod faults;
mod histogram;
mod latency;
mod links;
mod live;
mod live_links;
mod matrix;
mod matrix_periods;
mod messages;
mod moved;
mod names;
mod network;
mod node_memory;
mod rank_progress;
mod ranks;
mod records;
mod statistics;
mod utilisation;

use std::any::Any;
use std::sync::Arc;

use ::network::{Endpoint, Fabric, HostParameters};
use engine::{Observer, Time};
use mpi::Record;
use serde::{Serialize, de::DeserializeOwned};

pub use algorithms::AlgorithmUse;
pub use busy_link::{BusyLink, busiest_links};
pub use calls::{CallSummary, CallTotals, Calls};
pub use causes::{Balance, CausesReport, CriticalPath};
pub use contention::{Contended, Contention};
pub use faults::{FaultsReport, OutageReport, cut_off, faults};
pub use latency::LatencyReport;
pub use links::{LinkNames, Links};
pub use live::{Given, LiveRows, Pace};
pub use messages::MessagesReport;
pub use moved::{Moved, RouteBytes, knows_links};
pub use network::{NetworkScope, NetworkViews, PacketView};
pub use node_memory::{BusyMemory, LevelTraffic, NodeMemoryReport};
pub use rank_progress::rank_progress;
pub use ranks::{RankTotals, Ranks};
pub use statistics::StatisticsReport;
pub use utilisation::Utilisation;

use crate::config::MeasuredSizes;
use crate::profile::{Layer, Marker};
use crate::table::Table;

/// Amount of detail that a run keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Summary for one screen.
    Screen,
    /// Tables of a report.
    Tables,
    /// Tables, and every single MPI call up to this number.
    Records(u32),
}

/// Records that a run keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Amount of detail.
    pub detail: Detail,
    /// Largest number of rows of the table of messages; 0 for no such table.
    pub messages: u32,
    /// Largest number of rows of each matrix by period; 0 for no such tables.
    pub matrix_periods: u32,
}

/// Ranks that are observed, and what is asked of it.
#[derive(Clone)]
pub struct RankScope {
    /// Place of each rank.
    pub placement: Arc<[Endpoint]>,
    /// Hosts, routers, links and routes.
    pub fabric: Arc<Fabric>,
    /// Properties of every host.
    pub host: Arc<HostParameters>,
    /// Sizes of messages to which the platform was fitted.
    pub measured: MeasuredSizes,
    /// Records that the run keeps.
    pub kept: Kept,
}

/// A view of the ranks' activity: of all ranks of a run, or of those in one domain.
pub trait View: Observer<Record> + Any + Send {
    /// Tables at the end. Their order of rows must not depend on the order in which ranks of equal times were
    /// handled.
    fn tables(&self) -> Vec<Table>;
    /// Rows that are new since the last call, for a reader that follows the run; all events before `now` have been
    /// observed. Rows with the same keys add up.
    fn new_rows(&mut self, now: Time) -> Vec<Table> {
        let _ = now;
        Vec::new()
    }
    /// Adds its part to `report.json`.
    fn summarize(&self, summary: &mut Summary) {
        let _ = summary;
    }
    /// Records that it observes.
    fn interest(&self) -> Interest {
        Interest::Everything
    }
    /// Warning about tables that are incomplete, or about the prediction.
    fn warning(&self) -> Option<String> {
        None
    }

    /// Adds the contents of a view of the same kind in another domain of the run.
    fn absorb(&mut self, other: Box<dyn View>);

    /// Serialised state, for another process.
    fn save(&self) -> Vec<u8>;

    /// Restores the state that another process has saved.
    fn restore(&mut self, saved: &[u8]);
}

/// Parts of `report.json` that optional views add.
#[derive(Debug, Default)]
pub struct Summary {
    /// See [`crate::Report::message_latency`].
    pub message_latency: Option<LatencyReport>,
    /// See [`crate::Report::kept_messages`].
    pub kept_messages: Option<MessagesReport>,
    /// See [`crate::Report::node_memory`].
    pub node_memory: NodeMemoryReport,
    /// See [`crate::Report::collectives`].
    pub collectives: Vec<AlgorithmUse>,
    /// See [`crate::Report::statistics`].
    pub statistics: Option<StatisticsReport>,
}

/// Records that a view observes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// All records of a rank.
    Everything,
    /// Only [`Record::Message`] and [`Record::Collective`].
    Messages,
}

/// Serialises `what` to bytes that [`restored`] reads.
pub fn saved<T: Serialize>(what: &T) -> Vec<u8> {
    postcard::to_stdvec(what).expect("everything observed can be written")
}

/// Reads what [`saved`] wrote, in the same version of hopcast.
pub fn restored<T: DeserializeOwned>(saved: &[u8]) -> T {
    postcard::from_bytes(saved).expect("processes of a run are of one version of hopcast")
}

/// Downcasts the view of another domain, which is of the same kind.
fn of_kind<V: View>(other: Box<dyn View>) -> V {
    let other: Box<dyn Any> = other;
    *other.downcast().expect("domains have views of the same kinds")
}

/// Makes a view of ranks, if the scope includes it.
pub type BuildView = fn(&RankScope) -> Option<Box<dyn View>>;

/// Constructor of a view, by what it observes.
#[derive(Clone, Copy)]
pub enum Build {
    /// Activity of ranks: records of the MPI layer.
    Ranks(BuildView),
    /// Packets: records of the network.
    Packets(network::BuildPacketView),
}

/// A view and its name.
pub struct Entry {
    /// Name in `hopcast list observers`.
    pub name: &'static str,
    /// Contents of its tables.
    pub summary: &'static str,
    /// Makes the view.
    pub build: Build,
}

/// All optional views, of ranks and of the network; totals by rank, by call and by link are always kept.
pub const OBSERVERS: &[Entry] = &[
    Entry {
        name: "matrix",
        summary: "messages and bytes from rank to rank (in bins beyond 1,024 ranks)",
        build: Build::Ranks(|scope| match scope.kept.detail {
            Detail::Screen => None,
            _ => Some(Box::new(matrix::Matrix::new(scope.placement.len() as u32))),
        }),
    },
    Entry {
        name: "node-memory",
        summary: "messages and bytes between ranks of one host, by host and level",
        build: Build::Ranks(|scope| match scope.kept.detail {
            Detail::Screen => None,
            _ => Some(Box::new(node_memory::NodeMemory::new(&scope.placement, &scope.host))),
        }),
    },
    Entry {
        name: "collectives",
        summary: "which algorithm collectives took, by members and size",
        build: Build::Ranks(|scope| match scope.kept.detail {
            Detail::Screen => None,
            _ => Some(Box::new(algorithms::Algorithms::default())),
        }),
    },
    Entry {
        name: "message-latency",
        summary: "how long messages take, from the sender's call to the receiver's buffer",
        build: Build::Ranks(|scope| match scope.kept.detail {
            Detail::Screen => None,
            _ => Some(Box::new(latency::Latency::default())),
        }),
    },
    Entry {
        name: "messages",
        summary: "each message with its latency, or an equal share of them, up to a limit",
        build: Build::Ranks(|scope| match scope.kept.messages {
            0 => None,
            rows => Some(Box::new(messages::Messages::new(rows))),
        }),
    },
    Entry {
        name: "matrix-periods",
        summary: "messages and bytes from rank to rank and from router to router, by period of simulated time",
        build: Build::Ranks(|scope| match scope.kept.matrix_periods {
            0 => None,
            _ => Some(Box::new(matrix_periods::MatrixPeriods::new(scope))),
        }),
    },
    Entry {
        name: "extrapolation",
        summary: "share of the messages, and of their time, of sizes to which the platform was not fitted, if it says which were",
        build: Build::Ranks(|scope| {
            extrapolation::Extrapolation::new(scope).map(|view| Box::new(view) as Box<dyn View>)
        }),
    },
    Entry {
        name: "call-records",
        summary: "every MPI call and message with begin, end and bytes, up to a limit",
        build: Build::Ranks(|scope| match scope.kept.detail {
            Detail::Records(limit) => Some(Box::new(records::Records::new(limit))),
            _ => None,
        }),
    },
    Entry {
        name: "statistics",
        summary: "traffic of links, bytes in buffers, latency and slow packets over time, if the platform asks for them",
        build: Build::Packets(|scope| {
            let view =
                |options| Box::new(statistics::StatisticsView::new(&options, scope)) as Box<dyn PacketView>;
            scope.statistics.map(view)
        }),
    },
];

/// All views of one run, to which the MPI layer reports.
pub struct Views {
    /// Totals by rank.
    pub ranks: Ranks,
    /// Totals by call.
    pub calls: Calls,
    /// Resources at which messages delayed each other.
    pub contention: Contention,
    /// Bytes by route, if their energy counts in a model without links.
    pub route_bytes: Option<RouteBytes>,
    scope: RankScope,
    others: Vec<Box<dyn View>>,
    /// Marker of the thread that records.
    pub marker: Marker,
    /// True if a view observes more than messages.
    observe_everything: bool,
}

impl Views {
    /// Views in `scope`.
    pub fn new(scope: RankScope) -> Views {
        let others = OBSERVERS.iter().filter_map(|entry| match entry.build {
            Build::Ranks(build) => build(&scope),
            Build::Packets(_) => None,
        });
        let others: Vec<Box<dyn View>> = others.collect();
        let observe_everything = others.iter().any(|view| view.interest() == Interest::Everything);
        let ranks = Ranks::new(&scope.placement);
        let calls = Calls::new(scope.placement.len() as u32, scope.kept.detail);
        let contention = Contention::default();
        let (route_bytes, marker) = (None, Marker::default());
        Views { ranks, calls, contention, route_bytes, scope, others, marker, observe_everything }
    }

    /// Parts of `report.json`.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        self.others.iter().for_each(|view| view.summarize(&mut summary));
        summary
    }

    /// See [`View::new_rows`].
    pub fn new_rows(&mut self, now: Time) -> Vec<Table> {
        self.others.iter_mut().flat_map(|view| view.new_rows(now)).collect()
    }

    /// Warnings of the views about their tables.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.others.iter().filter_map(|view| view.warning())
    }

    /// Serialised state of all views, for another process.
    pub fn save(&self) -> Vec<Vec<u8>> {
        let moved = saved(&self.route_bytes.as_ref().map(RouteBytes::moved));
        let first = [self.ranks.save(), self.calls.save(), self.contention.save(), moved];
        first.into_iter().chain(self.others.iter().map(|view| view.save())).collect()
    }

    /// Restores views from the state that views of the same kinds in another process have saved.
    pub fn restored(&self, saved: &[Vec<u8>]) -> Views {
        let moved: Option<Moved> = restored(&saved[3]);
        let mut views = Views::new(self.scope.clone());
        views.ranks.restore(&saved[0]);
        views.calls.restore(&saved[1]);
        views.contention.restore(&saved[2]);
        views.route_bytes = self.route_bytes.as_ref().zip(moved).map(|(routes, moved)| routes.with(moved));
        views.others.iter_mut().zip(&saved[4..]).for_each(|(view, saved)| view.restore(saved));
        views
    }

    /// Adds the views of another domain.
    pub fn and(mut self, other: Views) -> Views {
        self.ranks.absorb(Box::new(other.ranks));
        self.calls.absorb(Box::new(other.calls));
        self.contention.absorb(Box::new(other.contention));
        if let (Some(routes), Some(others)) = (&mut self.route_bytes, &other.route_bytes) {
            routes.absorb(others);
        }
        for (view, other) in self.others.iter_mut().zip(other.others) {
            view.absorb(other);
        }
        self
    }

    /// Tables of all views.
    pub fn tables(&self) -> Vec<Table> {
        let mut tables = self.ranks.tables();
        tables.extend(self.calls.tables());
        tables.extend(self.others.iter().flat_map(|view| view.tables()));
        tables
    }
}

impl Observer<Record> for Views {
    fn record(&mut self, now: Time, record: &Record) {
        let before = self.marker.enter(Layer::Observers);
        self.note(now, record);
        self.marker.leave(before);
    }
}

impl Views {
    /// Takes note of `record`.
    #[inline]
    fn note(&mut self, now: Time, record: &Record) {
        match record {
            Record::Contention { .. } => return self.contention.record(now, record),
            Record::Message { .. } => {
                self.ranks.record(now, record);
                if let Some(routes) = &mut self.route_bytes {
                    routes.record(now, record);
                }
            }
            Record::Collective { .. } => {}
            Record::Compute { .. } | Record::Call { .. } | Record::Finish { .. } => {
                self.ranks.record(now, record);
                self.calls.record(now, record);
                if !self.observe_everything {
                    return;
                }
            }
        }
        self.others.iter_mut().for_each(|view| view.record(now, record));
    }
}
