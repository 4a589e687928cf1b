//! Error classes of the standard, and what becomes of an error.
//!
//! Error codes are error classes. An error goes to the error handler of its communicator, which ends the program
//! (MPI_ERRORS_ARE_FATAL, the default) or lets the call return the code.

use std::ffi::c_int;
use std::fmt;

use super::handle::Object;

/// A class, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class(pub c_int);

/// Name and meaning of each class; the number is the place.
const CLASSES: [(&str, &str); 63] = [
    ("MPI_SUCCESS", "no error"),
    ("MPI_ERR_BUFFER", "a buffer that cannot be used"),
    ("MPI_ERR_COUNT", "a count that is negative or too large"),
    ("MPI_ERR_TYPE", "not a datatype, or one that has not been committed"),
    ("MPI_ERR_TAG", "a tag below 0 or above MPI_TAG_UB"),
    ("MPI_ERR_COMM", "not a communicator"),
    ("MPI_ERR_RANK", "not a rank of the communicator"),
    ("MPI_ERR_REQUEST", "not a request"),
    ("MPI_ERR_ROOT", "not a rank that can be the root"),
    ("MPI_ERR_GROUP", "not a group"),
    ("MPI_ERR_OP", "not an operation, or not one for this datatype"),
    ("MPI_ERR_TOPOLOGY", "not a communicator with this topology"),
    ("MPI_ERR_DIMS", "dimensions that do not fit"),
    ("MPI_ERR_ARG", "an argument that is not allowed"),
    ("MPI_ERR_UNKNOWN", "an unknown error"),
    ("MPI_ERR_TRUNCATE", "a message that does not fit into the receive"),
    ("MPI_ERR_OTHER", "an error that the text says"),
    ("MPI_ERR_INTERN", "an error of the library"),
    ("MPI_ERR_PENDING", "a request that is not complete"),
    ("MPI_ERR_IN_STATUS", "an error that a status says"),
    ("MPI_ERR_ACCESS", "permission denied"),
    ("MPI_ERR_AMODE", "a mode that a file cannot be opened with"),
    ("MPI_ERR_ASSERT", "an assertion that is not allowed"),
    ("MPI_ERR_BAD_FILE", "not a file name"),
    ("MPI_ERR_BASE", "a base address that cannot be used"),
    ("MPI_ERR_CONVERSION", "an error of a data conversion"),
    ("MPI_ERR_DISP", "not a displacement"),
    ("MPI_ERR_DUP_DATAREP", "a data representation that exists"),
    ("MPI_ERR_FILE_EXISTS", "a file that exists"),
    ("MPI_ERR_FILE_IN_USE", "a file that is open"),
    ("MPI_ERR_FILE", "not a file"),
    ("MPI_ERR_INFO_KEY", "a key that is too long"),
    ("MPI_ERR_INFO_NOKEY", "a key that is not there"),
    ("MPI_ERR_INFO_VALUE", "a value that is too long, or not one that its key knows"),
    ("MPI_ERR_INFO", "not an info"),
    ("MPI_ERR_IO", "an error of input or output"),
    ("MPI_ERR_KEYVAL", "not an attribute key"),
    ("MPI_ERR_LOCKTYPE", "not a kind of lock"),
    ("MPI_ERR_NAME", "a service that has no port"),
    ("MPI_ERR_NO_MEM", "no memory"),
    ("MPI_ERR_NOT_SAME", "arguments that differ between ranks"),
    ("MPI_ERR_NO_SPACE", "no space"),
    ("MPI_ERR_NO_SUCH_FILE", "no such file"),
    ("MPI_ERR_PORT", "not a port"),
    ("MPI_ERR_QUOTA", "a quota that is reached"),
    ("MPI_ERR_READ_ONLY", "a file that can only be read"),
    ("MPI_ERR_RMA_ATTACH", "memory that cannot be attached"),
    ("MPI_ERR_RMA_CONFLICT", "accesses that conflict"),
    ("MPI_ERR_RMA_RANGE", "memory that is not in the window"),
    ("MPI_ERR_RMA_SHARED", "memory that cannot be shared"),
    ("MPI_ERR_RMA_SYNC", "calls of one-sided communication in the wrong order"),
    ("MPI_ERR_SERVICE", "not a service that was published"),
    ("MPI_ERR_SIZE", "not a size"),
    ("MPI_ERR_SPAWN", "processes that cannot be started"),
    ("MPI_ERR_UNSUPPORTED_DATAREP", "a data representation that is not supported"),
    ("MPI_ERR_UNSUPPORTED_OPERATION", "a function that is not simulated"),
    ("MPI_ERR_WIN", "not a window"),
    ("MPI_ERR_RMA_FLAVOR", "a window of another flavour"),
    ("MPI_ERR_PROC_ABORTED", "a process that has ended"),
    ("MPI_ERR_VALUE_TOO_LARGE", "a value that does not fit"),
    ("MPI_ERR_SESSION", "not a session"),
    ("MPI_ERR_ERRHANDLER", "not an error handler"),
    ("MPI_ERR_ABI", "an error of the binary interface"),
];

/// Those of the interface for tools, from this number on.
const FIRST_OF_TOOLS: usize = 1001;
const TOOL_CLASSES: [(&str, &str); 18] = [
    ("MPI_T_ERR_CANNOT_INIT", "the interface for tools cannot be initialised"),
    ("MPI_T_ERR_NOT_ACCESSIBLE", "a function that is not accessible now"),
    ("MPI_T_ERR_NOT_INITIALIZED", "the interface for tools is not initialised"),
    ("MPI_T_ERR_NOT_SUPPORTED", "a function that is not supported"),
    ("MPI_T_ERR_MEMORY", "no memory"),
    ("MPI_T_ERR_INVALID", "an argument that is not allowed"),
    ("MPI_T_ERR_INVALID_INDEX", "not the number of a variable or category"),
    ("MPI_T_ERR_INVALID_ITEM", "not the number of an item"),
    ("MPI_T_ERR_INVALID_SESSION", "not a session of performance variables"),
    ("MPI_T_ERR_INVALID_HANDLE", "not a handle of a variable"),
    ("MPI_T_ERR_INVALID_NAME", "not the name of a variable or category"),
    ("MPI_T_ERR_OUT_OF_HANDLES", "no more handles"),
    ("MPI_T_ERR_OUT_OF_SESSIONS", "no more sessions"),
    ("MPI_T_ERR_CVAR_SET_NOT_NOW", "a control variable that cannot be set now"),
    ("MPI_T_ERR_CVAR_SET_NEVER", "a control variable that cannot be set"),
    ("MPI_T_ERR_PVAR_NO_WRITE", "a performance variable that cannot be written"),
    ("MPI_T_ERR_PVAR_NO_STARTSTOP", "a performance variable that cannot be started or stopped"),
    ("MPI_T_ERR_PVAR_NO_ATOMIC", "a performance variable that cannot be read and reset at once"),
];

macro_rules! classes {
    ($($name:ident = $number:expr;)*) => {
        impl Class {
            $(#[doc = concat!("MPI_ERR_", stringify!($name))] pub const $name: Class = Class($number);)*
        }
    };
}

classes! {
    SUCCESS = 0;
    BUFFER = 1;
    COUNT = 2;
    TYPE = 3;
    TAG = 4;
    COMM = 5;
    RANK = 6;
    REQUEST = 7;
    ROOT = 8;
    GROUP = 9;
    OP = 10;
    TOPOLOGY = 11;
    DIMS = 12;
    ARG = 13;
    UNKNOWN = 14;
    TRUNCATE = 15;
    OTHER = 16;
    INTERN = 17;
    PENDING = 18;
    IN_STATUS = 19;
    ACCESS = 20;
    AMODE = 21;
    ASSERT = 22;
    BAD_FILE = 23;
    BASE = 24;
    CONVERSION = 25;
    DISP = 26;
    DUP_DATAREP = 27;
    FILE_EXISTS = 28;
    FILE_IN_USE = 29;
    FILE = 30;
    INFO_KEY = 31;
    INFO_NOKEY = 32;
    INFO_VALUE = 33;
    INFO = 34;
    IO = 35;
    KEYVAL = 36;
    LOCKTYPE = 37;
    NAME = 38;
    NO_MEM = 39;
    NOT_SAME = 40;
    NO_SPACE = 41;
    NO_SUCH_FILE = 42;
    PORT = 43;
    QUOTA = 44;
    READ_ONLY = 45;
    RMA_ATTACH = 46;
    RMA_CONFLICT = 47;
    RMA_RANGE = 48;
    RMA_SHARED = 49;
    RMA_SYNC = 50;
    SERVICE = 51;
    SIZE = 52;
    SPAWN = 53;
    UNSUPPORTED_DATAREP = 54;
    UNSUPPORTED_OPERATION = 55;
    WIN = 56;
    RMA_FLAVOR = 57;
    PROC_ABORTED = 58;
    VALUE_TOO_LARGE = 59;
    SESSION = 60;
    ERRHANDLER = 61;
    ABI = 62;
}

impl Class {
    /// "MPI_ERR_RANK".
    pub fn name(self) -> &'static str {
        self.row().map_or("an unknown error code", |row| row.0)
    }

    /// True if it is one of the standard's.
    pub fn is_known(self) -> bool {
        self.row().is_some() || self.0 == super::LAST_CODE
    }

    /// "MPI_ERR_RANK: not a rank of the communicator".
    pub fn sentence(self) -> String {
        match self.row() {
            Some((name, meaning)) => format!("{name}: {meaning}"),
            None => format!("{}: {}", self.0, self.name()),
        }
    }

    fn row(self) -> Option<&'static (&'static str, &'static str)> {
        let number = usize::try_from(self.0).ok()?;
        CLASSES.get(number).or_else(|| TOOL_CLASSES.get(number.checked_sub(FIRST_OF_TOOLS)?))
    }
}

/// Number and name of each class.
pub fn classes() -> impl Iterator<Item = (usize, &'static str)> {
    let tools = (FIRST_OF_TOOLS..).zip(&TOOL_CLASSES);
    CLASSES.iter().enumerate().chain(tools).map(|(number, row)| (number, row.0))
}

/// Refusal of a call, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Its class.
    pub class: Class,
    /// The value, and what would be right.
    pub reason: String,
    /// Object whose error handler is asked; without one, MPI_COMM_SELF's.
    pub of: Option<Object>,
}

impl Error {
    /// An error of no object.
    pub fn new(class: Class, reason: impl Into<String>) -> Error {
        Error { class, reason: reason.into(), of: None }
    }

    /// The same, of that communicator, window, file or session.
    pub fn of(self, whose: impl Into<Object>) -> Error {
        Error { of: Some(whose.into()), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.class.name(), self.reason)
    }
}

/// Result of a call.
pub type Answer<T = ()> = Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_the_number_of_the_standard() {
        assert_eq!(Class::UNSUPPORTED_OPERATION.name(), "MPI_ERR_UNSUPPORTED_OPERATION");
        assert_eq!(Class::RANK.sentence(), "MPI_ERR_RANK: not a rank of the communicator");
        assert_eq!(Class(CLASSES.len() as c_int).name(), "an unknown error code");
        assert_eq!(Class(-1).name(), "an unknown error code");
    }
}
