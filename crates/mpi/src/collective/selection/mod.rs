//! Selection of a call's algorithm by MPI libraries: tables of limits, which are data, and their reader.
//!
//! A library has a list of tables. For a call the tables of its kind are read in order, leaving out
//! those for other operations or numbers of ranks; in a table the first band of ranks and in it the
//! first limit of bytes that the call stays below gives the algorithm. Where that cannot do the call,
//! the table may name a stand-in; then comes the next table. A user's own choice replaces all this.

mod mpich;
mod openmpi;

use engine::Bytes;
use engine::registry::Entry;

use super::{Algorithm, Kind, Shape, find, of_kind};

/// The rules of one library.
#[derive(Debug)]
pub struct Library {
    /// Value of a platform's `library`.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Source of its limits.
    pub source: &'static str,
    /// The segment that its tables mean for pipelined algorithms, 0 for whole vectors; `None` where
    /// they name no such algorithm.
    pub segment: Option<Bytes>,
    /// Its tables, in order.
    pub tables: &'static [Table],
}

/// The limits for one kind of collective.
#[derive(Debug)]
pub struct Table {
    /// Kind of collective that it is for.
    pub kind: Kind,
    /// For which operations.
    pub operations: Operations,
    /// For which numbers of ranks.
    pub ranks: Ranks,
    /// Size that the limits are about.
    pub measure: Measure,
    /// In ascending order of ranks; the last one has no limit.
    pub bands: &'static [Band],
    /// Algorithm and its stand-in, where it cannot do the call.
    pub instead: &'static [(&'static str, &'static str)],
}

/// Up to how many ranks (exclusive), and for them up to how many bytes (exclusive) which algorithm.
pub type Band = (u32, &'static [(u64, &'static str)]);

/// No limit.
pub const ANY: u32 = u32::MAX;
/// No limit.
pub const REST: u64 = u64::MAX;

/// The operations of a reduction that a table is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operations {
    /// All, and collectives that do not reduce.
    All,
    /// Those that commute.
    Commutative,
    /// Those that do not.
    Ordered,
}

/// The numbers of ranks that a table is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ranks {
    /// All.
    All,
    /// Powers of two.
    PowersOfTwo,
}

/// The size that a table's limits are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// All blocks together, or the whole vector.
    Total,
    /// One block (with sizes by rank: the mean); where there are no blocks, the vector.
    Block,
}

/// Every library.
pub const LIBRARIES: &[Library] = &[mpich::LIBRARY, openmpi::LIBRARY];

/// Their names, as a platform's choices.
pub const LIBRARY_NAMES: &[&str] = &[mpich::LIBRARY.name, openmpi::LIBRARY.name];

/// A library's rules, and what the user has set above them.
#[derive(Debug, Clone, Copy)]
pub struct Selection {
    library: &'static Library,
    /// By kind.
    own: [Option<&'static str>; KINDS],
}

const KINDS: usize = Kind::NeighborAlltoallw as usize + 1;

/// Algorithm that was chosen.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
    /// The algorithm, an element of [`super::ALGORITHMS`].
    pub entry: &'static Entry<Algorithm>,
    /// The segment that goes with it; `None` means the platform's.
    pub segment: Option<Bytes>,
}

impl Default for Selection {
    /// MPICH's rules.
    fn default() -> Selection {
        Selection { library: &mpich::LIBRARY, own: [None; KINDS] }
    }
}

impl Selection {
    /// The rules of the library called `name`, or an error that lists the choices.
    pub fn library(name: &str) -> Result<Selection, String> {
        let library = LIBRARIES.iter().find(|library| library.name == name);
        let library = library
            .ok_or_else(|| format!("unknown MPI library '{name}'; known: {}", LIBRARY_NAMES.join(", ")))?;
        Ok(Selection { library, own: [None; KINDS] })
    }

    /// With the algorithm called `name` for all calls of `kind` that it can do. The error lists the
    /// algorithms of the kind.
    pub fn with(mut self, kind: Kind, name: &str) -> Result<Selection, String> {
        self.own[kind as usize] = Some(find(kind, name)?.name);
        Ok(self)
    }

    /// The algorithm for a call: the one that the call names, else the user's for this kind, if it can
    /// do the call, else the library's. An error where the call names one that cannot do it.
    pub fn choose(&self, shape: &Shape) -> Result<Choice, String> {
        let kind = shape.call.kind;
        if let Some(name) = shape.call.algorithm {
            let entry = find(kind, name)?;
            if !(entry.build.fits)(shape) {
                return Err(refusal(entry, shape));
            }
            return Ok(Choice { entry, segment: None });
        }
        if let Some(name) = self.own[kind as usize] {
            let entry = find(kind, name)?;
            if (entry.build.fits)(shape) {
                return Ok(Choice { entry, segment: None });
            }
        }
        let named = self.library.names(shape).filter_map(|name| find(kind, name).ok());
        let entry = named.chain(of_kind(kind)).find(|entry| usable(entry, shape));
        let entry = entry.ok_or_else(|| format!("no algorithm can do {} of this shape", kind.name()))?;
        Ok(Choice { entry, segment: self.library.segment })
    }
}

impl Library {
    /// The algorithms that the tables name for a call, the best one first.
    fn names(&self, shape: &Shape) -> impl Iterator<Item = &'static str> {
        let tables = self.tables.iter().filter(move |table| table.is_for(shape));
        tables.flat_map(move |table| {
            let bytes = table.measure.bytes(shape);
            let band = table.bands.iter().find(|band| shape.size < band.0);
            let row = band.and_then(|band| band.1.iter().find(|row| bytes < row.0 || row.0 == REST));
            let stand_in = row.and_then(|row| table.instead.iter().find(|pair| pair.0 == row.1));
            row.map(|row| row.1).into_iter().chain(stand_in.map(|pair| pair.1))
        })
    }
}

impl Table {
    fn is_for(&self, shape: &Shape) -> bool {
        let operation = match self.operations {
            Operations::All => true,
            Operations::Commutative => shape.call.commutative,
            Operations::Ordered => !shape.call.commutative,
        };
        let ranks = self.ranks == Ranks::All || shape.power_of_two();
        self.kind == shape.call.kind && operation && ranks
    }
}

impl Measure {
    fn bytes(self, shape: &Shape) -> u64 {
        let blocks = !matches!(
            shape.call.kind,
            Kind::Barrier | Kind::Bcast | Kind::Reduce | Kind::Allreduce | Kind::Scan | Kind::Exscan
        );
        match (self, &shape.call.sizes) {
            (Measure::Total, super::Sizes::Equal(bytes)) if blocks => bytes.0 * u64::from(shape.size),
            (Measure::Block, super::Sizes::ByRank(list)) => list.iter().sum::<u64>() / u64::from(shape.size),
            (_, super::Sizes::Equal(bytes)) => bytes.0,
            _ => shape.vector(),
        }
    }
}

/// True if a library would run the algorithm: it can do the call and, where it gives each rank a chunk
/// of a vector to reduce, there is an element for each.
fn usable(entry: &Entry<Algorithm>, shape: &Shape) -> bool {
    let cuts = matches!(shape.call.kind, Kind::Reduce | Kind::Allreduce)
        && ["rabenseifner", "ring", "segmented-ring"].contains(&entry.name);
    let needed = if entry.name == "rabenseifner" { 1 << shape.size.ilog2() } else { u64::from(shape.size) };
    (entry.build.fits)(shape) && !(cuts && shape.vector() / shape.element() < needed)
}

/// Reason why `entry` cannot do the call, in words.
fn refusal(entry: &Entry<Algorithm>, shape: &Shape) -> String {
    let kind = shape.call.kind;
    let fitting: Vec<_> =
        of_kind(kind).filter(|other| (other.build.fits)(shape)).map(|other| other.name).collect();
    let operation = match (kind.reduces(), shape.call.commutative) {
        (true, false) => " with an operation that does not commute",
        _ => "",
    };
    format!(
        "the algorithm '{}' cannot do {} on {} ranks{operation}; those that can: {}",
        entry.name,
        kind.name(),
        shape.size,
        fitting.join(", ")
    )
}
