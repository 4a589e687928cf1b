//! Names of the format's numeric constants. Source: sst-dumpi 1.1.

use super::calls::Kind;

/// Datatypes below [`FIRST_USER_DATATYPE`].
pub const DATATYPES: &[&str] = &[
    "MPI_DATATYPE_ERROR",
    "MPI_DATATYPE_NULL",
    "MPI_CHAR",
    "MPI_SIGNED_CHAR",
    "MPI_UNSIGNED_CHAR",
    "MPI_BYTE",
    "MPI_WCHAR",
    "MPI_SHORT",
    "MPI_UNSIGNED_SHORT",
    "MPI_INT",
    "MPI_UNSIGNED",
    "MPI_LONG",
    "MPI_UNSIGNED_LONG",
    "MPI_FLOAT",
    "MPI_DOUBLE",
    "MPI_LONG_DOUBLE",
    "MPI_LONG_LONG_INT",
    "MPI_UNSIGNED_LONG_LONG",
    "MPI_LONG_LONG",
    "MPI_PACKED",
    "MPI_LB",
    "MPI_UB",
    "MPI_FLOAT_INT",
    "MPI_DOUBLE_INT",
    "MPI_LONG_INT",
    "MPI_SHORT_INT",
    "MPI_2INT",
    "MPI_LONG_DOUBLE_INT",
];
/// First number of a datatype that the program made.
pub const FIRST_USER_DATATYPE: i64 = DATATYPES.len() as i64;

const COMMS: &[&str] = &["MPI_COMM_ERROR", "MPI_COMM_NULL", "MPI_COMM_WORLD", "MPI_COMM_SELF"];
/// MPI_COMM_NULL.
pub const COMM_NULL: i64 = 1;
/// MPI_COMM_WORLD.
pub const COMM_WORLD: i64 = 2;
/// MPI_COMM_SELF.
pub const COMM_SELF: i64 = 3;

const GROUPS: &[&str] = &["MPI_GROUP_ERROR", "MPI_GROUP_NULL", "MPI_GROUP_EMPTY"];
/// MPI_GROUP_EMPTY.
pub const GROUP_EMPTY: i64 = 2;

/// MPI_ANY_SOURCE, in a receive or probe.
pub const ANY_SOURCE: i64 = -1;
/// MPI_ANY_TAG, in a receive or probe.
pub const ANY_TAG: i64 = -1;
const ROOT: i64 = -2;

const REDUCTIONS: &[&str] = &[
    "MPI_OP_ERROR",
    "MPI_MAX",
    "MPI_MIN",
    "MPI_SUM",
    "MPI_PROD",
    "MPI_LAND",
    "MPI_BAND",
    "MPI_LOR",
    "MPI_BOR",
    "MPI_LXOR",
    "MPI_BXOR",
    "MPI_MINLOC",
    "MPI_MAXLOC",
    "MPI_REPLACE",
    "MPI_OP_NULL",
];
const KEYVALS: &[&str] = &[
    "MPI_TAG_UB",
    "MPI_HOST",
    "MPI_IO",
    "MPI_WTIME_IS_GLOBAL",
    "MPI_UNIVERSE_SIZE",
    "MPI_LASTUSEDCODE",
    "MPI_APPNUM",
    "MPI_WIN_BASE",
    "MPI_WIN_SIZE",
    "MPI_WIN_DISP_UNIT",
];
const COMBINERS: &[&str] = &[
    "MPI_COMBINER_ERROR",
    "MPI_COMBINER_NAMED",
    "MPI_COMBINER_DUP",
    "MPI_COMBINER_CONTIGUOUS",
    "MPI_COMBINER_VECTOR",
    "MPI_COMBINER_HVECTOR_INTEGER",
    "MPI_COMBINER_HVECTOR",
    "MPI_COMBINER_INDEXED",
    "MPI_COMBINER_HINDEXED_INTEGER",
    "MPI_COMBINER_HINDEXED",
    "MPI_COMBINER_INDEXED_BLOCK",
    "MPI_COMBINER_STRUCT_INTEGER",
    "MPI_COMBINER_STRUCT",
    "MPI_COMBINER_SUBARRAY",
    "MPI_COMBINER_DARRAY",
    "MPI_COMBINER_F90_REAL",
    "MPI_COMBINER_F90_COMPLEX",
    "MPI_COMBINER_F90_INTEGER",
    "MPI_COMBINER_RESIZED",
];
const COMPARISONS: &[&str] =
    &["MPI_COMPARISON_ERROR", "MPI_IDENT", "MPI_CONGRUENT", "MPI_SIMILAR", "MPI_UNEQUAL"];
const TOPOLOGIES: &[&str] = &["DUMPI_TOPOLOGY_ERROR", "MPI_GRAPH", "MPI_CART", "MPI_UNDEFINED"];
const FILE_MODES: &[&str] = &[
    "DUMPI_FILEMODE_ERROR",
    "MPI_MODE_RDONLY",
    "MPI_MODE_RDWR",
    "MPI_MODE_WRONLY",
    "MPI_MODE_CREATE",
    "MPI_MODE_EXCL",
    "MPI_MODE_DELETE_ON_CLOSE",
    "MPI_MODE_UNIQUE_OPEN",
    "MPI_MODE_SEQUENTIAL",
    "MPI_MODE_APPEND",
];
const LOCK_TYPES: &[&str] = &["DUMPI_LOCKTYPE_ERROR", "MPI_LOCK_SHARED", "MPI_LOCK_EXCLUSIVE"];
const ORDERINGS: &[&str] = &["DUMPI_ORDERING_ERROR", "MPI_ORDER_C", "MPI_ORDER_FORTRAN"];
const THREAD_LEVELS: &[&str] = &[
    "DUMPI_THREADLEVEL_ERROR",
    "MPI_THREAD_SINGLE",
    "MPI_THREAD_FUNNELED",
    "MPI_THREAD_SERIALIZED",
    "MPI_THREAD_MULTIPLE",
];
const TYPE_CLASSES: &[&str] =
    &["DUMPI_TYPECLASS_ERROR", "MPI_TYPECLASS_REAL", "MPI_TYPECLASS_INTEGER", "MPI_TYPECLASS_COMPLEX"];
const WHENCES: &[&str] = &["DUMPI_WHENCE_ERROR", "MPI_SEEK_SET", "MPI_SEEK_CUR", "MPI_SEEK_END"];
const WIN_MODES: &[&str] =
    &["MPI_MODE_NOCHECK", "MPI_MODE_NOSTORE", "MPI_MODE_NOPUT", "MPI_MODE_NOPRECEDE", "MPI_MODE_NOSUCCEED"];

/// Name of the constant `number` in an argument of this kind; `None` for a plain number.
pub fn meaning(kind: Kind, number: i64) -> Option<String> {
    let listed = |names: &[&str], otherwise: &str| {
        let name = usize::try_from(number).ok().and_then(|at| names.get(at).copied());
        Some(name.unwrap_or(otherwise).to_string())
    };
    match kind {
        Kind::Source if number == ANY_SOURCE => Some("MPI_ANY_SOURCE".into()),
        Kind::Source | Kind::Dest if number == ROOT => Some("MPI_ROOT".into()),
        Kind::Tag if number == ANY_TAG => Some("MPI_ANY_TAG".into()),
        Kind::Comm => listed(COMMS, "user-defined-comm"),
        Kind::Datatype => listed(DATATYPES, "user-defined-datatype"),
        Kind::Group => listed(GROUPS, "user-defined-group"),
        Kind::Reduction => listed(REDUCTIONS, "user-defined-op"),
        Kind::Keyval => listed(KEYVALS, "user-defined-keyval"),
        Kind::Win => listed(&["DUMPI_WIN_NULL"], "user-defined-win"),
        Kind::File => listed(&["DUMPI_FILE_NULL"], "user-file"),
        Kind::Info => listed(&["MPI_INFO_NULL"], "user-info"),
        Kind::Errhandler => {
            listed(&["DUMPI_ERRHANDLER_ERROR", "MPI_ERRHANDLER_NULL"], "user-defined-errhandler")
        }
        Kind::Comparison => listed(COMPARISONS, "undefined-comparison"),
        Kind::Topology => listed(TOPOLOGIES, TOPOLOGIES[0]),
        Kind::Combiner => listed(COMBINERS, "DUMPI_COMBINER_ERROR"),
        Kind::FileMode => listed(FILE_MODES, FILE_MODES[0]),
        Kind::LockType => listed(LOCK_TYPES, LOCK_TYPES[0]),
        Kind::Ordering => listed(ORDERINGS, ORDERINGS[0]),
        Kind::ThreadLevel => listed(THREAD_LEVELS, THREAD_LEVELS[0]),
        Kind::TypeClass => listed(TYPE_CLASSES, TYPE_CLASSES[0]),
        Kind::Whence => listed(WHENCES, WHENCES[0]),
        Kind::WinAssert => Some(win_modes(number)),
        _ => None,
    }
}

fn win_modes(bits: i64) -> String {
    if bits == 0 {
        return "DUMPI_MODE_NONE".into();
    }
    if bits >= 1 << WIN_MODES.len() {
        return "DUMPI_MODE_ERROR".into();
    }
    let set = WIN_MODES.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| *name);
    set.collect::<Vec<_>>().join("|")
}
