//! Placement: the process slot and host of each rank.
//!
//! Adding one is an entry in [`PLACEMENTS`] and its function here.

use engine::random::{Stream, stream};
use engine::registry::{Arguments, BuildError, Entry, Kind, Parameter};
use network::topology::grid::Grid;
use network::{Endpoint, HostId};
use rand_chacha::rand_core::RngCore;

use crate::host_names::HostNames;

mod block;

/// Ranks to be placed, and the hosts for them.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Number of ranks.
    pub ranks: u32,
    /// Number of hosts.
    pub hosts: u32,
    /// Coordinates of the routers, if they have any.
    pub grid: Option<&'a Grid>,
    /// Process slots of a host.
    pub processes: u16,
    /// Seed of the run, for random placements.
    pub seed: u64,
    /// Names of the hosts; may be empty.
    pub names: &'a HostNames,
    /// Name of each rank's host in the recording, if there is one.
    pub recorded: Option<&'a [String]>,
    /// Hosts to choose from, ascending; all if `None`.
    pub among: Option<&'a [u32]>,
}

/// Parameter name in errors that no parameter of `[placement]` could avoid: there are too many ranks.
pub const RANKS: &str = "ranks";

/// Computes the place of each rank, in order of ranks.
pub type Build = fn(&Arguments, &Request) -> Result<Vec<Endpoint>, BuildError>;

const PROCESSES_PER_HOST: Parameter = Parameter {
    name: "processes_per_host",
    kind: Kind::Integer(1, 65_535),
    default: Some(""),
    summary: "Ranks on each host before the next one is taken. Default: host.processes",
};

/// All placements, for platform files and `--placement`.
pub const PLACEMENTS: &[Entry<Build>] = &[
    Entry {
        name: "linear",
        summary: "Host after host is filled, in order of their numbers",
        source: "block distribution, the default of batch systems (SLURM's --distribution=block)",
        parameters: &[PROCESSES_PER_HOST],
        examples: &[""],
        build: linear,
    },
    Entry {
        name: "cyclic",
        summary: "Rank after rank goes to the next host, in turns, over as many hosts as are needed",
        source: "cyclic distribution (SLURM's --distribution=cyclic)",
        parameters: &[PROCESSES_PER_HOST],
        examples: &[""],
        build: cyclic,
    },
    Entry {
        name: "block",
        summary: "A compact box of a grid (torus, mesh, …) is filled; as linear on other networks",
        source: "contiguous allocation: Ajima, Sumimoto, Shimizu, \"Tofu: A 6D mesh/torus interconnect for exascale \
                 computers\" (IEEE Computer 42(11), 2009); Blue Gene's partitions",
        parameters: &[
            PROCESSES_PER_HOST,
            Parameter {
                name: "shape",
                kind: Kind::List(&Kind::Integer(1, 1 << 24)),
                default: Some(""),
                summary: "Routers of the box along each dimension; missing: the box of least diameter that holds the job",
            },
        ],
        examples: &[""],
        build: block,
    },
    Entry {
        name: "random",
        summary: "Hosts are shuffled, then filled one after the other",
        source: "Fisher-Yates shuffle (Knuth, TAOCP 2, algorithm P); the shuffled torus of Pakin, Yuan and Lang, \
                 \"Predicting the performance of extreme-scale supercomputer networks\" (2013)",
        parameters: &[PROCESSES_PER_HOST],
        examples: &[""],
        build: random,
    },
    Entry {
        name: "recorded",
        summary: "The places that ranks had in the recorded run, through the names of [hosts]",
        source: "the trace",
        parameters: &[],
        examples: &[""],
        build: recorded,
    },
    Entry {
        name: "file",
        summary: "As a file says: lines \"rank host[:slot]\", or one \"host[:slot]\" per rank; hosts by number or name",
        source: "the file",
        parameters: &[Parameter {
            name: "file",
            kind: Kind::File,
            default: None,
            summary: "The file; # begins a comment; without a slot the next free one is taken",
        }],
        examples: &["file = \"0 0:1\\n1 0:0\\n\""],
        build: file,
    },
    Entry {
        name: "list",
        summary: "As a list says: the place of each rank, \"host\" or \"host:slot\", in order of ranks",
        source: "the list that start_mpi takes: Ahmed, Obaida, Liu, Eidenbenz, Santhi, Chapuis, \"An integrated \
                 interconnection network model for large-scale performance prediction\" (SIGSIM-PADS 2016), section 5",
        parameters: &[Parameter {
            name: "hosts",
            kind: Kind::List(&Kind::Text),
            default: None,
            summary: "Place of each rank; hosts by number or name; without a slot the next free one is taken",
        }],
        examples: &["hosts = [\"0:1\", \"0:0\"]"],
        build: list,
    },
];

impl Request<'_> {
    /// Number of hosts to choose from.
    fn choice(&self) -> u32 {
        self.among.map_or(self.hosts, |among| among.len() as u32)
    }

    /// Host with this index among those to choose from.
    fn host(&self, index: u32) -> HostId {
        HostId(self.among.map_or(index, |among| among[index as usize]))
    }
}

fn linear(arguments: &Arguments, request: &Request) -> Result<Vec<Endpoint>, BuildError> {
    fill(arguments, request, |index| request.host(index))
}

fn random(arguments: &Arguments, request: &Request) -> Result<Vec<Endpoint>, BuildError> {
    let mut hosts: Vec<u32> = (0..request.choice()).collect();
    let mut random = stream(request.seed, "placement", 0);
    for last in (1..hosts.len()).rev() {
        let other = below(&mut random, last as u64 + 1) as usize;
        hosts.swap(last, other);
    }
    fill(arguments, request, |index| request.host(hosts[index as usize]))
}

fn cyclic(arguments: &Arguments, request: &Request) -> Result<Vec<Endpoint>, BuildError> {
    let filled = fill(arguments, request, |index| request.host(index))?;
    let used = filled.iter().filter(|one| one.process == 0).count() as u32;
    let place = |rank: u32| Endpoint { host: request.host(rank % used), process: (rank / used) as u16 };
    Ok((0..request.ranks).map(place).collect())
}

fn block(arguments: &Arguments, request: &Request) -> Result<Vec<Endpoint>, BuildError> {
    // A first attempt without a box checks the number of slots, and counts the hosts needed.
    let filled = fill(arguments, request, |index| request.host(index))?;
    let needed = filled.iter().filter(|one| one.process == 0).count() as u32;
    match block::hosts(arguments, request, needed)? {
        Some(hosts) => fill(arguments, request, |index| hosts[index as usize]),
        None => Ok(filled),
    }
}

/// Random number below `bound`, uniform (Lemire, "Fast random integer generation in an interval", 2019).
fn below(random: &mut Stream, bound: u64) -> u64 {
    loop {
        let product = u128::from(random.next_u64()) * u128::from(bound);
        if product as u64 >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}

/// Fills the hosts in the order of `host`.
fn fill(
    arguments: &Arguments,
    request: &Request,
    host: impl Fn(u32) -> HostId,
) -> Result<Vec<Endpoint>, BuildError> {
    let Request { ranks, processes, .. } = *request;
    let hosts = request.choice();
    let per_host = arguments.integer("processes_per_host").unwrap_or(processes.into());
    if per_host > processes.into() {
        let reason = format!("{per_host} ranks per host do not fit: a host has {processes} process slots");
        return Err(BuildError::new("processes_per_host", reason));
    }
    let per_host = per_host as u32;
    let room = u64::from(hosts) * u64::from(per_host);
    if u64::from(ranks) > room {
        let all = u64::from(hosts) * u64::from(processes);
        let more = if all >= ranks.into() {
            format!("; all {processes} slots of each host would do")
        } else {
            String::new()
        };
        let place = match hosts {
            1 => format!("1 host takes {room}"),
            _ => format!("{hosts} hosts with {per_host} each take {room}"),
        };
        return Err(BuildError::new(RANKS, format!("{ranks} ranks do not fit: {place}{more}")));
    }
    let place = |rank: u32| Endpoint { host: host(rank / per_host), process: (rank % per_host) as u16 };
    Ok((0..ranks).map(place).collect())
}

fn recorded(_: &Arguments, request: &Request) -> Result<Vec<Endpoint>, BuildError> {
    let error = |reason: String| BuildError::new("kind", reason);
    let Some(names) = request.recorded else {
        let reason = "'recorded' needs a recorded run whose trace names hosts; known otherwise: linear, cyclic, block, random, \
             file";
        return Err(error(reason.to_string()));
    };
    if names.len() != request.ranks as usize {
        return Err(error(format!(
            "the trace names the hosts of {} ranks, not of {}",
            names.len(),
            request.ranks
        )));
    }
    let mut slots = Slots::new(request);
    names
        .iter()
        .enumerate()
        .map(|(rank, name)| {
            let host = request.names.find(name).map_err(|reason| error(format!("rank {rank}: {reason}")))?;
            slots.take(host, None).map_err(|reason| error(format!("rank {rank} on '{name}': {reason}")))
        })
        .collect()
}

fn file(arguments: &Arguments, request: &Request) -> Result<Vec<Endpoint>, BuildError> {
    let text = arguments.text("file").expect("the file is required");
    let mut places = vec![None; request.ranks as usize];
    let mut slots = Slots::new(request);
    let mut next = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let error = |reason: String| BuildError::new("file", format!("line {number}: {reason}"));
        let words: Vec<_> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        let (rank, place) = match words[..] {
            [] => continue,
            [place] => (next, place),
            [rank, place] => (rank.parse().map_err(|_| error(format!("'{rank}' is not a rank")))?, place),
            _ => return Err(error(format!("'{}' is not \"rank host[:slot]\"", line.trim()))),
        };
        let (host, slot) = place_in_words(place, request.names).map_err(error)?;
        // A longer file may place more ranks than the run has.
        if let Some(entry) = places.get_mut(rank as usize) {
            let endpoint = slots.take(host, slot).map_err(error)?;
            if entry.replace(endpoint).is_some() {
                return Err(error(format!("rank {rank} is placed twice")));
            }
        }
        next = rank + 1;
    }
    let missing = |rank| BuildError::new("file", format!("rank {rank} of {} has no place", request.ranks));
    places.into_iter().enumerate().map(|(rank, place)| place.ok_or_else(|| missing(rank))).collect()
}

fn list(arguments: &Arguments, request: &Request) -> Result<Vec<Endpoint>, BuildError> {
    let places = arguments.texts("hosts");
    let error = |reason: String| BuildError::new("hosts", reason);
    if places.len() != request.ranks as usize {
        return Err(error(format!("{} places for {} ranks: each has one", places.len(), request.ranks)));
    }
    let mut slots = Slots::new(request);
    let place = |(rank, place): (usize, &String)| {
        let found = place_in_words(place, request.names).and_then(|(host, slot)| slots.take(host, slot));
        found.map_err(|reason| error(format!("rank {rank}: {reason}")))
    };
    places.iter().enumerate().map(place).collect()
}

/// Host and slot of a text `host[:slot]`.
fn place_in_words(place: &str, names: &HostNames) -> Result<(HostId, Option<u16>), String> {
    let (host, slot) = match place.split_once(':') {
        Some((host, slot)) => {
            let slot = slot.parse::<u16>();
            (host, Some(slot.map_err(|_| format!("'{place}' has no slot number after ':'"))?))
        }
        None => (place, None),
    };
    let host = match host.parse() {
        Ok(host) => HostId(host),
        Err(_) => names.find(host)?,
    };
    Ok((host, slot))
}

/// Slots that are taken.
struct Slots<'a> {
    processes: u16,
    among: Option<&'a [u32]>,
    taken: Vec<Vec<u16>>,
}

impl<'a> Slots<'a> {
    fn new(request: &Request<'a>) -> Slots<'a> {
        let taken = vec![Vec::new(); request.hosts as usize];
        Slots { processes: request.processes, among: request.among, taken }
    }

    /// Takes `slot` of `host`, or the first free one.
    fn take(&mut self, host: HostId, slot: Option<u16>) -> Result<Endpoint, String> {
        let (hosts, processes) = (self.taken.len(), self.processes);
        let taken = self
            .taken
            .get_mut(host.0 as usize)
            .ok_or_else(|| format!("no host {}: the platform has {hosts}, from 0", host.0))?;
        if self.among.is_some_and(|among| among.binary_search(&host.0).is_err()) {
            return Err(format!(
                "host {} is another job's, or none of the hosts that this job may have",
                host.0
            ));
        }
        let free = |slot: &u16| !taken.contains(slot);
        let process = match slot {
            Some(slot) if slot >= processes => {
                return Err(format!("no slot {slot} on host {}: it has {processes}, from 0", host.0));
            }
            Some(slot) if !free(&slot) => return Err(format!("slot {slot} of host {} is taken", host.0)),
            Some(slot) => slot,
            None => (0..processes)
                .find(free)
                .ok_or_else(|| format!("host {} has only {processes} process slots", host.0))?,
        };
        taken.push(process);
        Ok(Endpoint { host, process })
    }
}
