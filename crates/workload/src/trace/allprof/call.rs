//! One line: a function, its times and its arguments.

use crate::trace::dumpi::calls;

/// Kinds of the arguments: `p` a pointer, `n` a count, `t` a datatype, `d` a rank, `g` a tag, `c` a communicator, `r` a
/// request, `o` an operation, `s` a status, `f` where a flag goes.
pub const CALLS: &[(&str, &str)] = &[
    ("MPI_Send", "pntdgc"),
    ("MPI_Ssend", "pntdgc"),
    ("MPI_Bsend", "pntdgc"),
    ("MPI_Rsend", "pntdgc"),
    ("MPI_Isend", "pntdgcr"),
    ("MPI_Issend", "pntdgcr"),
    ("MPI_Ibsend", "pntdgcr"),
    ("MPI_Irsend", "pntdgcr"),
    ("MPI_Recv", "pntdgcs"),
    ("MPI_Irecv", "pntdgcr"),
    ("MPI_Sendrecv", "pntdgpntdgcs"),
    ("MPI_Probe", "dgcs"),
    ("MPI_Wait", "rs"),
    ("MPI_Waitall", "nrs"),
    ("MPI_Barrier", "c"),
    ("MPI_Bcast", "pntdc"),
    ("MPI_Reduce", "ppntodc"),
    ("MPI_Allreduce", "ppntoc"),
    ("MPI_Scan", "ppntoc"),
    ("MPI_Exscan", "ppntoc"),
    ("MPI_Alltoall", "pntpntc"),
    ("MPI_Allgather", "pntpntc"),
    ("MPI_Gather", "pntpntdc"),
    ("MPI_Scatter", "pntpntdc"),
];

/// Functions that take their recorded time: they send nothing and wait for nobody, or (`MPI_Comm_split` and its kin)
/// what they make is known by its size wherever it is used.
const OVERHEADS: &[&str] = &[
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Finalize",
    "MPI_Comm_size",
    "MPI_Comm_rank",
    "MPI_Comm_dup",
    "MPI_Comm_split",
    "MPI_Comm_create",
    "MPI_Comm_group",
    "MPI_Comm_free",
    "MPI_Cart_create",
    "MPI_Cart_coords",
    "MPI_Cart_rank",
    "MPI_Cart_shift",
    "MPI_Cart_sub",
    "MPI_Wtime",
    "MPI_Wtick",
    "MPI_Get_count",
    "MPI_Get_processor_name",
    "MPI_Initialized",
    "MPI_Iprobe",
    "MPI_Test",
    "MPI_Testall",
    "MPI_Testany",
    "MPI_Testsome",
    "MPI_Comm_compare",
    "MPI_Comm_get_name",
    "MPI_Comm_remote_size",
    "MPI_Comm_set_name",
    "MPI_Comm_test_inter",
    "MPI_Cart_get",
    "MPI_Cartdim_get",
    "MPI_Finalized",
    "MPI_Get_elements",
    "MPI_Get_version",
    "MPI_Is_thread_main",
    "MPI_Pack",
    "MPI_Pack_size",
    "MPI_Query_thread",
    "MPI_Test_cancelled",
    "MPI_Topo_test",
    "MPI_Unpack",
    "MPI_Op_create",
    "MPI_Op_free",
    "MPI_Dims_create",
    "MPI_Address",
    "MPI_Get_address",
    "MPI_Pcontrol",
    "MPI_Buffer_attach",
    "MPI_Buffer_detach",
];

/// Prefixes of the names of further functions that take their recorded time.
const HARMLESS: &[&str] = &[
    "MPI_Attr_",
    "MPI_Comm_create_errhandler",
    "MPI_Comm_create_keyval",
    "MPI_Comm_delete_attr",
    "MPI_Comm_free_keyval",
    "MPI_Comm_get_attr",
    "MPI_Comm_get_errhandler",
    "MPI_Comm_set_attr",
    "MPI_Comm_set_errhandler",
    "MPI_Errhandler_",
    "MPI_Error_",
    "MPI_Group_",
    "MPI_Info_",
    "MPI_Keyval_",
    "MPI_Type_",
];

/// Content of a line.
pub struct Call<'a> {
    /// The function.
    pub name: &'static str,
    /// Kinds of its arguments; `None` for a function that takes its recorded time.
    roles: Option<&'static str>,
    /// Times of its call and its return \[ns\]: the same where one of them was not recorded.
    pub ns: [i64; 2],
    arguments: Vec<&'a str>,
}

type Reason = String;

impl<'a> Call<'a> {
    /// Call of a line.
    pub fn read(line: &'a str) -> Result<Call<'a>, Reason> {
        let mut fields = line.split(':');
        let name = fields.next().unwrap_or_default();
        let mut arguments: Vec<_> = fields.collect();
        let listed = CALLS.iter().find(|(known, _)| *known == name);
        let name = match listed {
            Some((known, _)) => *known,
            None => overhead(name)?,
        };
        let roles = listed.map(|(_, roles)| *roles);
        if arguments.len() < 2 || roles.is_some_and(|roles| arguments.len() != roles.len() + 2) {
            let wanted = roles.map_or(2, |roles| roles.len() + 2);
            return Err(format!(
                "{name} has {} fields instead of {wanted}: the line is damaged",
                arguments.len()
            ));
        }
        let times = [arguments.remove(0), arguments.pop().unwrap_or_default()];
        let ns = match times {
            ["-", end] => [time_ns(end)?; 2],
            [begin, "-"] => [time_ns(begin)?; 2],
            [begin, end] => [time_ns(begin)?, time_ns(end)?],
        };
        Ok(Call { name, roles, ns, arguments })
    }

    /// True if it takes its recorded time.
    pub fn is_overhead(&self) -> bool {
        self.roles.is_none()
    }

    /// Number `part` of the `nth` argument that is a `role`.
    pub fn number(&self, role: char, nth: usize, part: usize) -> Result<i64, Reason> {
        let mut places =
            self.roles.unwrap_or_default().chars().enumerate().filter(|(_, found)| *found == role);
        let field = places.nth(nth).and_then(|(at, _)| self.arguments.get(at)).copied().unwrap_or_default();
        let word = field.split(',').nth(part).unwrap_or_default();
        word.parse().map_err(|_| format!("{}: '{field}' must be a number", self.name))
    }

    /// The rank and the size of the communicator that it names, if it names one.
    pub fn in_comm(&self) -> Result<Option<[i64; 2]>, Reason> {
        self.roles.is_some_and(|roles| roles.contains('c')).then(|| self.comm()).transpose()
    }

    /// The numbers of MPI_ANY_SOURCE and MPI_PROC_NULL in the library that made the communicator's handle.
    pub fn wildcards(&self) -> [i64; 2] {
        let mut places = self.roles.unwrap_or_default().chars().zip(&self.arguments);
        let handle = places.find(|(role, _)| *role == 'c').and_then(|(_, field)| field.split(',').next());
        // MPICH's handles are integers: two bits for the kind of handle, four for the kind of object, which is 1 for
        // communicators. Those with the highest bit are printed with their sign extended to 64 bits.
        let mpich = handle.and_then(|handle| handle.parse::<u64>().ok()).is_some_and(|handle| {
            let (high, low) = (handle >> 32, handle as u32);
            let extended = high == u64::from(u32::MAX) && low >> 31 == 1;
            (high == 0 || extended) && low >> 30 != 0 && low >> 26 & 0xf == 1
        });
        if mpich { [-2, -1] } else { [-1, -2] }
    }

    /// The communicator's rank and size.
    pub fn comm(&self) -> Result<[i64; 2], Reason> {
        Ok([self.number('c', 0, 1)?, self.number('c', 0, 2)?])
    }
}

/// Canonical name of a function that takes its recorded time, or an error for one that cannot be replayed.
fn overhead(name: &str) -> Result<&'static str, Reason> {
    let harmless = |known: &&str| HARMLESS.iter().any(|begin| known.starts_with(begin));
    let known = OVERHEADS.iter().copied().find(|known| *known == name);
    let known = known
        .or_else(|| calls::CALLS.iter().map(|call| call.name).filter(harmless).find(|known| *known == name));
    known.ok_or_else(|| {
        let known: Vec<_> = CALLS.iter().map(|(name, _)| &name[4..]).collect();
        format!(
            "'{name}' cannot be replayed: the format does not record what it would need, or does not know it; \
             known: {}",
            known.join(", ")
        )
    })
}

/// Microseconds with up to nine digits behind the point.
fn time_ns(text: &str) -> Result<i64, Reason> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let whole_us = whole.parse::<i64>().ok().filter(|_| digits(whole) && digits(fraction));
    let thousandths = format!("{fraction:0<3.3}").parse::<i64>().ok();
    let ns = whole_us.zip(thousandths).and_then(|(us, ns)| us.checked_mul(1000)?.checked_add(ns));
    ns.ok_or_else(|| format!("'{text}' is no time in microseconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_nanosecond() {
        assert_eq!(time_ns("1237666046950106.000000"), Ok(1_237_666_046_950_106_000));
        assert_eq!(time_ns("3.5"), Ok(3_500));
        assert_eq!(time_ns("7"), Ok(7_000));
        for wrong in ["", "-", "1e6", "1.x", "99999999999999999999", "-5.0"] {
            assert!(time_ns(wrong).is_err(), "{wrong}");
        }
    }
}
