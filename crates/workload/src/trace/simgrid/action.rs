//! Words of a line: the action and its arguments.

/// An action of a rank, and the MPI function that it stands for.
pub struct Action {
    /// Keyword in lower case.
    pub keyword: &'static str,
    /// Function, or another name for reports.
    pub call: &'static str,
}

const fn action(keyword: &'static str, call: &'static str) -> Action {
    Action { keyword, call }
}

/// All actions. Older traces write some with capitals ("Isend", "allReduce").
pub const ACTIONS: &[Action] = &[
    action("init", "MPI_Init"),
    action("finalize", "MPI_Finalize"),
    action("comm_size", "MPI_Comm_size"),
    action("comm_split", "MPI_Comm_split"),
    action("comm_dup", "MPI_Comm_dup"),
    action("compute", "compute"),
    action("sleep", "sleep"),
    action("location", "location"),
    action("send", "MPI_Send"),
    action("isend", "MPI_Isend"),
    action("recv", "MPI_Recv"),
    action("irecv", "MPI_Irecv"),
    action("test", "MPI_Test"),
    action("wait", "MPI_Wait"),
    action("waitall", "MPI_Waitall"),
    action("barrier", "MPI_Barrier"),
    action("bcast", "MPI_Bcast"),
    action("reduce", "MPI_Reduce"),
    action("allreduce", "MPI_Allreduce"),
    action("alltoall", "MPI_Alltoall"),
    action("alltoallv", "MPI_Alltoallv"),
    action("gather", "MPI_Gather"),
    action("gatherv", "MPI_Gatherv"),
    action("scatter", "MPI_Scatter"),
    action("scatterv", "MPI_Scatterv"),
    action("allgather", "MPI_Allgather"),
    action("allgatherv", "MPI_Allgatherv"),
    action("reducescatter", "MPI_Reduce_scatter"),
    action("scan", "MPI_Scan"),
    action("exscan", "MPI_Exscan"),
];

/// Action with the keyword `word`; the error lists the known ones.
pub fn find(word: &str) -> Result<&'static Action, String> {
    ACTIONS.iter().find(|action| action.keyword.eq_ignore_ascii_case(word)).ok_or_else(|| {
        let known: Vec<_> = ACTIONS.iter().map(|action| action.keyword).collect();
        format!("unknown action '{word}'; known: {}", known.join(", "))
    })
}

/// Sizes of SimGrid's datatypes \[bytes\], by number: MPI_DOUBLE, MPI_INT, MPI_CHAR, …
const DATATYPES: [u8; 60] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1,
    1, // DOUBLE INT CHAR SHORT LONG FLOAT BYTE LONG_LONG SIGNED_CHAR UNSIGNED_CHAR
    2, 4, 8, 8, 16, 4, 1, 1, 2,
    4, // UNSIGNED_SHORT UNSIGNED _LONG _LONG_LONG LONG_DOUBLE WCHAR BOOL INT8 INT16 INT32
    8, 1, 2, 4, 8, 8, 16, 32, 8,
    8, // INT64 UINT8 UINT16 UINT32 UINT64, complex of float, double, long; AINT OFFSET
    8, 16, 16, 8, 8, 8, 16, 16, 4, 4, // pairs: FLOAT_INT … 2LONG; REAL REAL4
    8, 16, 8, 16, 16, 4, 2, 4, 8, 16, // REAL8 REAL16 COMPLEX8 _16 _32 INTEGER1 _2 _4 _8 _16
    32, 1, 8, 16, 32, 0, 0, 1, 8, 8, // LONG_DOUBLE_INT, of C++, UB LB PACKED, a pointer, COUNT
];

/// Largest message that is not taken for damage \[bytes\].
const LARGEST_MESSAGE: f64 = (1_u64 << 40) as f64;

/// Arguments of an action.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// The words.
    pub words: &'a [&'a str],
    /// Size of an element if the line names no datatype \[bytes\].
    pub element: u64,
}

impl Words<'_> {
    /// Number at index `at`; `what` names it in errors.
    pub fn number(&self, at: usize, what: &str) -> Result<f64, String> {
        let word = self.words.get(at).ok_or_else(|| format!("has no {what}"))?;
        let number = word.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| format!("has '{word}' as {what}, which is not a number"))
    }

    /// Nonnegative number.
    pub fn amount(&self, at: usize, what: &str) -> Result<f64, String> {
        let number = self.number(at, what)?;
        if number < 0.0 { Err(format!("has {number} as {what}, which is below zero")) } else { Ok(number) }
    }

    /// Signed integer of 32 bits.
    pub fn int(&self, at: usize, what: &str) -> Result<i32, String> {
        let number = self.number(at, what)?;
        let fits = number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
        if fits {
            Ok(number as i32)
        } else {
            Err(format!("has {number} as {what}, which is not a whole number"))
        }
    }

    /// Size of the datatype at index `at`, or the default if there is none \[bytes\].
    pub fn element(&self, at: usize) -> Result<u64, String> {
        if self.words.len() <= at {
            return Ok(self.element);
        }
        let number = self.int(at, "a datatype")?;
        let size = usize::try_from(number).ok().and_then(|at| DATATYPES.get(at));
        let size =
            size.ok_or_else(|| format!("names datatype {number}; known: 0 to {}", DATATYPES.len() - 1))?;
        Ok(u64::from(*size))
    }

    /// Total size of the elements at index `at`, each of `element` bytes.
    pub fn bytes(&self, at: usize, what: &str, element: u64) -> Result<u64, String> {
        let bytes = self.amount(at, what)? * element as f64;
        if bytes > LARGEST_MESSAGE {
            Err(format!("sends {bytes} bytes, no length of a message"))
        } else {
            Ok(bytes.round() as u64)
        }
    }

    /// Total sizes of the `count` numbers of elements from index `at` on.
    pub fn list(&self, at: usize, count: u32, what: &str, element: u64) -> Result<Vec<u64>, String> {
        let there = self.words.len().saturating_sub(at);
        if there < count as usize {
            return Err(format!("has {there} numbers for {what} of {count} ranks"));
        }
        (at..at + count as usize).map(|at| self.bytes(at, what, element)).collect()
    }
}
