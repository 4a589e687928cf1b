//! The functions of the front that translate more than their arguments.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use super::*;
use crate::abi::UNDEFINED;
use crate::abi::handle::{Comm, Datatype, Win};

#[allow(clashing_extern_declarations, reason = "what is not simulated is exported without its arguments")]
unsafe extern "C-unwind" {
    fn MPI_Comm_test_inter(comm: Comm, flag: *mut c_int) -> c_int;
    fn MPI_Comm_remote_size(comm: Comm, size: *mut c_int) -> c_int;
    fn MPI_Comm_size(comm: Comm, size: *mut c_int) -> c_int;
    fn MPI_Topo_test(comm: Comm, status: *mut c_int) -> c_int;
    fn MPI_Cartdim_get(comm: Comm, dims: *mut c_int) -> c_int;
    fn MPI_Comm_rank(comm: Comm, rank: *mut c_int) -> c_int;
    fn MPI_Graph_neighbors_count(comm: Comm, rank: c_int, count: *mut c_int) -> c_int;
    fn MPI_Dist_graph_neighbors_count(
        comm: Comm,
        receives: *mut c_int,
        gives: *mut c_int,
        weighted: *mut c_int,
    ) -> c_int;
    fn MPI_Comm_get_attr(comm: Comm, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> c_int;
    fn MPI_Win_get_attr(win: Win, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> c_int;
    fn MPI_Type_get_envelope(
        datatype: Datatype,
        integers: *mut c_int,
        addresses: *mut c_int,
        datatypes: *mut c_int,
        combiner: *mut c_int,
    ) -> c_int;
    fn MPI_Type_get_envelope_c(
        datatype: Datatype,
        integers: *mut i64,
        addresses: *mut i64,
        counts: *mut i64,
        datatypes: *mut i64,
        combiner: *mut c_int,
    ) -> c_int;
    fn MPI_Type_get_contents(
        datatype: Datatype,
        most_integers: c_int,
        most_addresses: c_int,
        most_datatypes: c_int,
        integers: *mut c_int,
        addresses: *mut isize,
        datatypes: *mut usize,
    ) -> c_int;
    fn MPI_Type_get_contents_c(
        datatype: Datatype,
        most_integers: i64,
        most_addresses: i64,
        most_counts: i64,
        most_datatypes: i64,
        integers: *mut c_int,
        addresses: *mut isize,
        counts: *mut i64,
        datatypes: *mut usize,
    ) -> c_int;
}

/// MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH; MPI_COMBINER_SUBARRAY, _DARRAY.
const CART: c_int = 211;
const GRAPH: c_int = 212;
const DIST_GRAPH: c_int = 213;
const SUBARRAY: c_int = 111;
const DARRAY: c_int = 112;

/// From how many members, and to how many, data goes in a collective.
pub(super) unsafe fn others(comm: Comm) -> (c_int, c_int) {
    let (mut between, mut size) = (0, 0);
    // SAFETY: functions of ours that write numbers.
    unsafe {
        MPI_Comm_test_inter(comm, &raw mut between);
        match between {
            0 => MPI_Comm_size(comm, &raw mut size),
            _ => MPI_Comm_remote_size(comm, &raw mut size),
        };
    }
    (size, size)
}

/// From how many neighbours, and to how many, data goes.
pub(super) unsafe fn neighbors(comm: Comm) -> (c_int, c_int) {
    let (mut kind, mut rank, mut receives, mut gives, mut weighted) = (UNDEFINED, 0, 0, 0, 0);
    // SAFETY: as above.
    unsafe {
        MPI_Topo_test(comm, &raw mut kind);
        match kind {
            CART => {
                MPI_Cartdim_get(comm, &raw mut receives);
                (2 * receives, 2 * receives)
            }
            GRAPH => {
                MPI_Comm_rank(comm, &raw mut rank);
                MPI_Graph_neighbors_count(comm, rank, &raw mut receives);
                (receives, receives)
            }
            DIST_GRAPH => {
                MPI_Dist_graph_neighbors_count(comm, &raw mut receives, &raw mut gives, &raw mut weighted);
                (receives, gives)
            }
            _ => (0, 0),
        }
    }
}

/// MPIR_Dup_fn: what MPI_DUP_FN is there.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn hopcast_mpich_dup_fn(
    _: usize,
    _: c_int,
    _: *mut c_void,
    given: *mut c_void,
    place: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: as the standard says of copy functions.
    unsafe {
        *place.cast::<*mut c_void>() = given;
        *flag = 1;
    }
    0
}

/// Translated values of attributes, which are handed out by their address.
static VALUES: [AtomicI32; 4] = [const { AtomicI32::new(0) }; 4];
static FLAVORS: [c_int; 5] = [0, 1, 2, 3, 4];

unsafe fn translate(keyval: c_int, value: *mut c_void, flag: *mut c_int) {
    // SAFETY: as MPI_Comm_get_attr has just written them.
    unsafe {
        if *flag == 0 {
            return;
        }
        let place = value.cast::<*const c_int>();
        let (kept, number): (_, fn(c_int) -> c_int) = match keyval {
            // MPI_IO and MPI_HOST, MPI_LASTUSEDCODE.
            502 => (0, rank_out),
            503 => (1, rank_out),
            506 => (2, |code| if code <= LAST_CODE { LAST_CODE_THERE } else { error_out(code) }),
            _ => return,
        };
        let there = number(**place);
        VALUES[kept].store(there, Ordering::Relaxed);
        *place = VALUES[kept].as_ptr();
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn hopcast_mpich_Comm_get_attr(
    comm: c_int,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let (comm, keyval) = (Comm(comm_in(comm)), keyval_in(keyval));
    // SAFETY: the program's own pointers.
    let answer = unsafe { MPI_Comm_get_attr(comm, keyval, value, flag) };
    if answer == 0 {
        // SAFETY: as above.
        unsafe { translate(keyval, value, flag) };
    }
    error_out(answer)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn hopcast_mpich_Attr_get(
    comm: c_int,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the same function under its older name.
    unsafe { hopcast_mpich_Comm_get_attr(comm, keyval, value, flag) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn hopcast_mpich_Win_get_attr(
    win: c_int,
    keyval: c_int,
    value: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let keyval = keyval_in(keyval);
    // SAFETY: the program's own pointers; what is found under these two keys is an integer.
    unsafe {
        let answer = MPI_Win_get_attr(Win(win_in(win)), keyval, value, flag);
        if answer == 0 && *flag != 0 && [604, 605].contains(&keyval) {
            let place = value.cast::<*const c_int>();
            let there = if keyval == 604 { flavor_out(**place) } else { model_out(**place) };
            *place = FLAVORS.as_ptr().add(there.clamp(0, 4) as usize);
        }
        error_out(answer)
    }
}

/// Translates the integers that a subarray or a distributed array was made of.
unsafe fn translate_integers(combiner: c_int, count: i64, integers: *mut c_int, has_sizes: bool) {
    // SAFETY: `count` integers, as MPI_Type_get_contents has just written them.
    let integers = unsafe { std::slice::from_raw_parts_mut(integers, count.max(0) as usize) };
    if let (SUBARRAY | DARRAY, Some(last)) = (combiner, integers.last_mut()) {
        *last = order_out(*last);
    }
    if combiner == DARRAY {
        // The number of ranks, this rank, the dimensions, then lists: sizes, distributions, arguments.
        let dims = integers[2] as usize;
        let from = if has_sizes { 3 + dims } else { 3 };
        for value in &mut integers[from..from + dims] {
            *value = distribution_out(*value);
        }
        for value in &mut integers[from + dims..from + 2 * dims] {
            *value = argument_out(*value);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn hopcast_mpich_Type_get_contents(
    datatype: c_int,
    most_integers: c_int,
    most_addresses: c_int,
    most_datatypes: c_int,
    integers: *mut c_int,
    addresses: *mut isize,
    datatypes: *mut c_int,
) -> c_int {
    let datatype = Datatype(datatype_in(datatype));
    let (mut count, mut skip, mut of, mut combiner) = (0, 0, 0, 0);
    // SAFETY: the program's own pointers, and numbers of ours.
    unsafe {
        MPI_Type_get_envelope(datatype, &raw mut count, &raw mut skip, &raw mut of, &raw mut combiner);
        let mut kept = vec![0; most_datatypes.max(0) as usize];
        let (a, b, c) = (most_integers, most_addresses, most_datatypes);
        let answer = MPI_Type_get_contents(datatype, a, b, c, integers, addresses, kept.as_mut_ptr());
        if answer == 0 {
            translate_integers(combiner, count.into(), integers, true);
            for (index, handle) in kept.iter().take(of.max(0) as usize).enumerate() {
                *datatypes.add(index) = datatype_out(*handle);
            }
        }
        error_out(answer)
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn hopcast_mpich_Type_get_contents_c(
    datatype: c_int,
    most_integers: i64,
    most_addresses: i64,
    most_counts: i64,
    most_datatypes: i64,
    integers: *mut c_int,
    addresses: *mut isize,
    counts: *mut i64,
    datatypes: *mut c_int,
) -> c_int {
    let datatype = Datatype(datatype_in(datatype));
    let (mut count, mut skip, mut large, mut of, mut combiner) = (0, 0, 0, 0, 0);
    // SAFETY: as above.
    unsafe {
        MPI_Type_get_envelope_c(
            datatype,
            &raw mut count,
            &raw mut skip,
            &raw mut large,
            &raw mut of,
            &raw mut combiner,
        );
        let mut kept = vec![0; most_datatypes.max(0) as usize];
        let (a, b, c, d) = (most_integers, most_addresses, most_counts, most_datatypes);
        let places = (integers, addresses, counts, kept.as_mut_ptr());
        let answer = MPI_Type_get_contents_c(datatype, a, b, c, d, places.0, places.1, places.2, places.3);
        if answer == 0 {
            translate_integers(combiner, count, integers, large == 0);
            for (index, handle) in kept.iter().take(of.max(0) as usize).enumerate() {
                *datatypes.add(index) = datatype_out(*handle);
            }
        }
        error_out(answer)
    }
}

macro_rules! copies {
    ($($name:ident)*) => {$(
        /// The statuses of C and of both Fortrans are the same five integers there.
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(from: *const Foreign, to: *mut Foreign) -> c_int {
            if from as usize <= STATUS_IGNORE || to as usize <= STATUS_IGNORE {
                return error_out(13);
            }
            // SAFETY: both are statuses of the program.
            unsafe { ptr::copy(from, to, 1) };
            0
        }
    )*};
}

copies! {
    hopcast_mpich_Status_c2f hopcast_mpich_Status_f2c hopcast_mpich_Status_c2f08
    hopcast_mpich_Status_f082c hopcast_mpich_Status_f2f08 hopcast_mpich_Status_f082f
}
