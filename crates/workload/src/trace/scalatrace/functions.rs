//! The functions of MPI by their numbers.

/// Replay of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Becomes {
    /// An operation that is simulated: a send, a receive, a wait, a collective, a new communicator.
    Operation,
    /// A call that takes its measured time.
    Overhead,
}

/// Functions that can be replayed: number, name, and kind of replay.
const FUNCTIONS: &[(u16, &str, Becomes)] = {
    use Becomes::{Operation, Overhead};
    &[
        (1001, "MPI_Address", Overhead),
        (1002, "MPI_Allgather", Operation),
        (1004, "MPI_Allreduce", Operation),
        (1005, "MPI_Alltoall", Operation),
        (1007, "MPI_Attr_delete", Overhead),
        (1008, "MPI_Attr_get", Overhead),
        (1009, "MPI_Attr_put", Overhead),
        (1010, "MPI_Barrier", Operation),
        (1011, "MPI_Bcast", Operation),
        (1014, "MPI_Buffer_attach", Overhead),
        (1015, "MPI_Buffer_detach", Overhead),
        (1017, "MPI_Cart_coords", Overhead),
        (1019, "MPI_Cart_get", Overhead),
        (1021, "MPI_Cart_rank", Overhead),
        (1022, "MPI_Cart_shift", Overhead),
        (1024, "MPI_Cartdim_get", Overhead),
        (1025, "MPI_Comm_compare", Overhead),
        (1027, "MPI_Comm_dup", Operation),
        (1028, "MPI_Comm_free", Operation),
        (1029, "MPI_Comm_get_name", Overhead),
        (1030, "MPI_Comm_group", Overhead),
        (1031, "MPI_Comm_rank", Overhead),
        (1034, "MPI_Comm_set_name", Overhead),
        (1035, "MPI_Comm_size", Overhead),
        (1036, "MPI_Comm_split", Operation),
        (1038, "MPI_Dims_create", Overhead),
        (1039, "MPI_Errhandler_create", Overhead),
        (1040, "MPI_Errhandler_free", Overhead),
        (1041, "MPI_Errhandler_get", Overhead),
        (1042, "MPI_Errhandler_set", Overhead),
        (1043, "MPI_Error_class", Overhead),
        (1044, "MPI_Error_string", Overhead),
        (1045, "MPI_Finalize", Operation),
        (1046, "MPI_Finalized", Overhead),
        (1049, "MPI_Get_count", Overhead),
        (1050, "MPI_Get_elements", Overhead),
        (1051, "MPI_Get_processor_name", Overhead),
        (1052, "MPI_Get_version", Overhead),
        (1059, "MPI_Group_compare", Overhead),
        (1060, "MPI_Group_difference", Overhead),
        (1061, "MPI_Group_excl", Overhead),
        (1062, "MPI_Group_free", Overhead),
        (1063, "MPI_Group_incl", Overhead),
        (1064, "MPI_Group_intersection", Overhead),
        (1065, "MPI_Group_range_excl", Overhead),
        (1066, "MPI_Group_range_incl", Overhead),
        (1067, "MPI_Group_rank", Overhead),
        (1068, "MPI_Group_size", Overhead),
        (1069, "MPI_Group_translate_ranks", Overhead),
        (1070, "MPI_Group_union", Overhead),
        (1084, "MPI_Init", Overhead),
        (1085, "MPI_Initialized", Overhead),
        (1090, "MPI_Irecv", Operation),
        (1091, "MPI_Irsend", Operation),
        (1092, "MPI_Isend", Operation),
        (1093, "MPI_Issend", Operation),
        (1094, "MPI_Keyval_create", Overhead),
        (1095, "MPI_Keyval_free", Overhead),
        (1096, "MPI_Op_create", Overhead),
        (1097, "MPI_Op_free", Overhead),
        (1098, "MPI_Pack", Overhead),
        (1099, "MPI_Pack_size", Overhead),
        (1100, "MPI_Pcontrol", Overhead),
        (1102, "MPI_Recv", Operation),
        (1104, "MPI_Reduce", Operation),
        (1108, "MPI_Rsend", Operation),
        (1110, "MPI_Scan", Operation),
        (1113, "MPI_Send", Operation),
        (1117, "MPI_Ssend", Operation),
        (1128, "MPI_Topo_test", Overhead),
        (1129, "MPI_Type_commit", Overhead),
        (1134, "MPI_Type_extent", Overhead),
        (1135, "MPI_Type_free", Overhead),
        (1143, "MPI_Type_size", Overhead),
        (1147, "MPI_Unpack", Overhead),
        (1148, "MPI_Wait", Operation),
        (1149, "MPI_Waitall", Operation),
        (1152, "MPI_Wtick", Overhead),
        (1153, "MPI_Wtime", Overhead),
    ]
};

/// A function of MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Replay of its calls.
    pub becomes: Becomes,
}

/// The function of a number, if it can be replayed.
pub fn function(number: u16) -> Result<Function, String> {
    let found = FUNCTIONS.binary_search_by_key(&number, |(number, ..)| *number);
    let (_, name, becomes) = FUNCTIONS[found.map_err(|_| {
        let known: Vec<_> = FUNCTIONS
            .iter()
            .filter(|(.., becomes)| *becomes == Becomes::Operation)
            .map(|(_, name, _)| &name[4..])
            .collect();
        format!(
            "function {number} cannot be replayed: it is not known, or needs what is not recorded; known: {}",
            known.join(", ")
        )
    })?];
    Ok(Function { name, becomes })
}

/// Bytes of a predefined datatype; an error for one that the program made, or whose number depends on the MPI library.
pub fn datatype_size(number: i64) -> Result<u64, String> {
    const SIZES: [u64; 29] =
        [1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 16, 1, 1, 4, 4, 8, 8, 16, 4, 1, 8, 12, 12, 8, 6, 20, 8, 16, 8];
    let size = usize::try_from(number - 1).ok().and_then(|at| SIZES.get(at)).copied();
    size.ok_or_else(|| format!("datatype {number} has a size that is not recorded"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_their_numbers() {
        assert!(FUNCTIONS.is_sorted_by_key(|(number, ..)| number));
        assert_eq!(function(1113).unwrap().name, "MPI_Send");
        assert!(function(1151).is_err(), "MPI_Waitsome does not say what it completed");
        assert_eq!([3, 10, 29].map(|number| datatype_size(number).unwrap()), [4, 8, 8]);
        assert!(datatype_size(0).is_err() && datatype_size(30).is_err() && datatype_size(1000).is_err());
    }
}
