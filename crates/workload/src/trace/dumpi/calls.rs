//! The calls of the DUMPI format: for each function number its name and the arguments of its record.
//!
//! A record is `function: u16, mask: u8, thread: u16, times, counters`, then the arguments below, in
//! this order, big-endian, without padding. Source: the on-disk format of sst-dumpi 1.1 (function
//! labels and record layouts), held to by the reference decodings in the tests.

use Kind::*;

/// Encoding of an argument. The comments give the sizes in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    // 4 bytes
    Int,
    Dest,
    Source,
    Tag,
    Request,
    IoRequest,
    /// Rank of the caller in the communicator, which `at_root` arguments compare with the root.
    OwnRank,
    /// Root of a collective.
    Root,
    // 8 bytes
    Int64,
    /// Address of an instrumented function of the program.
    Address,
    // 2 bytes
    Comm,
    Datatype,
    Group,
    Win,
    File,
    Info,
    Errhandler,
    Keyval,
    // 1 byte
    Reduction,
    Comparison,
    Topology,
    Combiner,
    FileMode,
    LockType,
    Ordering,
    ThreadLevel,
    TypeClass,
    Whence,
    WinAssert,
    // a count of 4 bytes, then as many elements
    Ints,
    Requests,
    IoRequests,
    Datatypes,
    Infos,
    Distributions,
    Text,
    Texts,
    /// A list of lists of integers.
    IntTable,
    /// A list of lists of texts.
    TextTable,
    /// A count and that many statuses, if the record's mask says so.
    Status,
    /// Like `Status`, for an array of statuses.
    Statuses,
}

/// One argument.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    /// Name in the standard's C binding.
    pub name: &'static str,
    /// Encoding in the record.
    pub kind: Kind,
    /// True if only the root's record has it.
    pub at_root: bool,
}

/// One function.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    /// Name: "MPI_Send".
    pub name: &'static str,
    /// Arguments in the order of the record.
    pub arguments: &'static [Argument],
}

macro_rules! calls {
    ($($name:ident: $($kind:ident $argument:ident $(@ $root:ident)?),*;)*) => {
        &[$(Call {
            name: stringify!($name),
            arguments: &[$(Argument {
                name: stringify!($argument),
                kind: $kind,
                at_root: calls!(@flag $($root)?),
            }),*],
        }),*]
    };
    (@flag root) => { true };
    (@flag) => { false };
}

/// All functions, indexed by number. The last three are the format's own: the sum in the footer's counts, and the
/// entry and exit of an instrumented function of the program.
#[rustfmt::skip]
pub const CALLS: &[Call] = calls! {
    MPI_Send: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm;
    MPI_Recv: Int count, Datatype datatype, Source source, Tag tag, Comm comm, Status status;
    MPI_Get_count: Status status, Datatype datatype, Int count;
    MPI_Bsend: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm;
    MPI_Ssend: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm;
    MPI_Rsend: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm;
    MPI_Buffer_attach: Int size;
    MPI_Buffer_detach: Int size;
    MPI_Isend: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm, Request request;
    MPI_Ibsend: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm, Request request;
    MPI_Issend: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm, Request request;
    MPI_Irsend: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm, Request request;
    MPI_Irecv: Int count, Datatype datatype, Source source, Tag tag, Comm comm, Request request;
    MPI_Wait: Request request, Status status;
    MPI_Test: Request request, Int flag, Status status;
    MPI_Request_free: Request request;
    MPI_Waitany: Int count, Requests requests, Int index, Status status;
    MPI_Testany: Int count, Requests requests, Int index, Int flag, Status status;
    MPI_Waitall: Int count, Requests requests, Statuses statuses;
    MPI_Testall: Int count, Requests requests, Int flag, Statuses statuses;
    MPI_Waitsome: Int count, Requests requests, Int outcount, Ints indices, Statuses statuses;
    MPI_Testsome: Int count, Requests requests, Int outcount, Ints indices, Statuses statuses;
    MPI_Iprobe: Source source, Tag tag, Comm comm, Int flag, Status status;
    MPI_Probe: Source source, Tag tag, Comm comm, Status status;
    MPI_Cancel: Request request;
    MPI_Test_cancelled: Status status, Int cancelled;
    MPI_Send_init: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm, Request request;
    MPI_Bsend_init: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm, Request request;
    MPI_Ssend_init: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm, Request request;
    MPI_Rsend_init: Int count, Datatype datatype, Dest dest, Tag tag, Comm comm, Request request;
    MPI_Recv_init: Int count, Datatype datatype, Source source, Tag tag, Comm comm, Request request;
    MPI_Start: Request request;
    MPI_Startall: Int count, Requests requests;
    MPI_Sendrecv: Int sendcount, Datatype sendtype, Dest dest, Tag sendtag, Int recvcount, Datatype recvtype,
        Source source, Tag recvtag, Comm comm, Status status;
    MPI_Sendrecv_replace: Int count, Datatype datatype, Dest dest, Tag sendtag, Source source, Tag recvtag,
        Comm comm, Status status;
    MPI_Type_contiguous: Int count, Datatype oldtype, Datatype newtype;
    MPI_Type_vector: Int count, Int blocklength, Int stride, Datatype oldtype, Datatype newtype;
    MPI_Type_hvector: Int count, Int blocklength, Int stride, Datatype oldtype, Datatype newtype;
    MPI_Type_indexed: Int count, Ints lengths, Ints indices, Datatype oldtype, Datatype newtype;
    MPI_Type_hindexed: Int count, Ints lengths, Ints indices, Datatype oldtype, Datatype newtype;
    MPI_Type_struct: Int count, Ints lengths, Ints indices, Datatypes oldtypes, Datatype newtype;
    MPI_Address: Int address;
    MPI_Type_extent: Datatype datatype, Int extent;
    MPI_Type_size: Datatype datatype, Int size;
    MPI_Type_lb: Datatype datatype, Int lb;
    MPI_Type_ub: Datatype datatype, Int ub;
    MPI_Type_commit: Datatype datatype;
    MPI_Type_free: Datatype datatype;
    MPI_Get_elements: Status status, Datatype datatype, Int elements;
    MPI_Pack: Int incount, Datatype datatype, Int outcount, Int position_in, Int position_out, Comm comm;
    MPI_Unpack: Int incount, Int position_in, Int position_out, Int outcount, Datatype datatype, Comm comm;
    MPI_Pack_size: Int incount, Datatype datatype, Comm comm, Int size;
    MPI_Barrier: Comm comm;
    MPI_Bcast: Int count, Datatype datatype, Root root, Comm comm;
    MPI_Gather: OwnRank commrank, Int sendcount, Datatype sendtype, Root root, Comm comm,
        Int recvcount @root, Datatype recvtype @root;
    MPI_Gatherv: OwnRank commrank, Int commsize, Int sendcount, Datatype sendtype, Root root, Comm comm,
        Ints recvcounts @root, Ints displs @root, Datatype recvtype;
    MPI_Scatter: OwnRank commrank, Int recvcount, Datatype recvtype, Root root, Comm comm,
        Int sendcount @root, Datatype sendtype @root;
    MPI_Scatterv: OwnRank commrank, Int commsize, Datatype sendtype, Int recvcount, Datatype recvtype, Root root,
        Comm comm, Ints sendcounts @root, Ints displs @root;
    MPI_Allgather: Int sendcount, Datatype sendtype, Int recvcount, Datatype recvtype, Comm comm;
    MPI_Allgatherv: Int commsize, Int sendcount, Datatype sendtype, Ints recvcounts, Ints displs,
        Datatype recvtype, Comm comm;
    MPI_Alltoall: Int sendcount, Datatype sendtype, Int recvcount, Datatype recvtype, Comm comm;
    MPI_Alltoallv: Int commsize, Ints sendcounts, Ints senddispls, Datatype sendtype, Ints recvcounts,
        Ints recvdispls, Datatype recvtype, Comm comm;
    MPI_Reduce: Int count, Datatype datatype, Reduction op, Root root, Comm comm;
    MPI_Op_create: Int commute, Reduction op;
    MPI_Op_free: Reduction op;
    MPI_Allreduce: Int count, Datatype datatype, Reduction op, Comm comm;
    MPI_Reduce_scatter: Int commsize, Ints recvcounts, Datatype datatype, Reduction op, Comm comm;
    MPI_Scan: Int count, Datatype datatype, Reduction op, Comm comm;
    MPI_Group_size: Group group, Int size;
    MPI_Group_rank: Group group, Int rank;
    MPI_Group_translate_ranks: Group group1, Int count, Ints ranks1, Group group2, Ints ranks2;
    MPI_Group_compare: Group group1, Group group2, Comparison result;
    MPI_Comm_group: Comm comm, Group group;
    MPI_Group_union: Group group1, Group group2, Group newgroup;
    MPI_Group_intersection: Group group1, Group group2, Group newgroup;
    MPI_Group_difference: Group group1, Group group2, Group newgroup;
    MPI_Group_incl: Group group, Int count, Ints ranks, Group newgroup;
    MPI_Group_excl: Group group, Int count, Ints ranks, Group newgroup;
    MPI_Group_range_incl: Group group, Int count, IntTable ranges, Group newgroup;
    MPI_Group_range_excl: Group group, Int count, IntTable ranges, Group newgroup;
    MPI_Group_free: Group group;
    MPI_Comm_size: Comm comm, Int size;
    MPI_Comm_rank: Comm comm, Int rank;
    MPI_Comm_compare: Comm comm1, Comm comm2, Comparison result;
    MPI_Comm_dup: Comm oldcomm, Comm newcomm;
    MPI_Comm_create: Comm oldcomm, Group group, Comm newcomm;
    MPI_Comm_split: Comm oldcomm, Int color, Int key, Comm newcomm;
    MPI_Comm_free: Comm comm;
    MPI_Comm_test_inter: Comm comm, Int inter;
    MPI_Comm_remote_size: Comm comm, Int size;
    MPI_Comm_remote_group: Comm comm, Group group;
    MPI_Intercomm_create: Comm localcomm, Int localleader, Comm remotecomm, Int remoteleader, Tag tag,
        Comm newcomm;
    MPI_Intercomm_merge: Comm comm, Int high, Comm newcomm;
    MPI_Keyval_create: Keyval key;
    MPI_Keyval_free: Keyval key;
    MPI_Attr_put: Comm comm, Int key;
    MPI_Attr_get: Comm comm, Int key, Int flag;
    MPI_Attr_delete: Comm comm, Int key;
    MPI_Topo_test: Comm comm, Topology topo;
    MPI_Cart_create: Comm oldcomm, Int ndim, Ints dims, Ints periods, Int reorder, Comm newcomm;
    MPI_Dims_create: Int nodes, Int ndim, Ints dims_in, Ints dims_out;
    MPI_Graph_create: Int numedges, Comm oldcomm, Int nodes, Ints index, Ints edges, Int reorder, Comm newcomm;
    MPI_Graphdims_get: Comm comm, Int nodes, Int edges;
    MPI_Graph_get: Int totedges, Int totnodes, Comm comm, Int maxindex, Int maxedges, Ints index, Ints edges;
    MPI_Cartdim_get: Comm comm, Int ndim;
    MPI_Cart_get: Int ndim, Comm comm, Int maxdims, Ints dims, Ints periods, Ints coords;
    MPI_Cart_rank: Int ndim, Comm comm, Ints coords, Int rank;
    MPI_Cart_coords: Int ndim, Comm comm, Int rank, Int maxdims, Ints coords;
    MPI_Graph_neighbors_count: Comm comm, Int rank, Int nneigh;
    MPI_Graph_neighbors: Int nneigh, Comm comm, Int rank, Int maxneighbors, Ints neighbors;
    MPI_Cart_shift: Comm comm, Int direction, Int displ, Source source, Dest dest;
    MPI_Cart_sub: Int ndim, Comm oldcomm, Ints remain_dims, Comm newcomm;
    MPI_Cart_map: Comm comm, Int ndim, Ints dims, Ints period, Int newrank;
    MPI_Graph_map: Int numedges, Comm comm, Int nodes, Ints index, Ints edges, Int newrank;
    MPI_Get_processor_name: Text name, Int resultlen;
    MPI_Get_version: Int version, Int subversion;
    MPI_Errhandler_create: Errhandler errhandler;
    MPI_Errhandler_set: Comm comm, Errhandler errhandler;
    MPI_Errhandler_get: Comm comm, Errhandler errhandler;
    MPI_Errhandler_free: Errhandler errhandler;
    MPI_Error_string: Int errorcode, Text errorstring, Int resultlen;
    MPI_Error_class: Int errorcode, Int errorclass;
    MPI_Wtime: ;
    MPI_Wtick: ;
    MPI_Init: Texts argv;
    MPI_Finalize: ;
    MPI_Initialized: Int result;
    MPI_Abort: Comm comm, Int errorcode;
    MPI_Pcontrol: ;
    MPI_Close_port: Text portname;
    MPI_Comm_accept: Text portname, Info info, Int root, Comm oldcomm, Comm newcomm;
    MPI_Comm_connect: Text portname, Info info, Int root, Comm oldcomm, Comm newcomm;
    MPI_Comm_disconnect: Comm comm;
    MPI_Comm_get_parent: Comm parent;
    MPI_Comm_join: Int fd, Comm comm;
    MPI_Comm_spawn: OwnRank oldcommrank, Root root, Comm oldcomm, Comm newcomm, Text command @root,
        Texts argv @root, Int maxprocs @root, Info info @root, Ints errcodes @root;
    MPI_Comm_spawn_multiple: Int totprocs, OwnRank oldcommrank, Root root, Comm oldcomm, Comm newcomm,
        Int count @root, Texts commands @root, TextTable argvs @root, Ints maxprocs @root, Infos info @root,
        Ints errcodes @root;
    MPI_Lookup_name: Text servicename, Info info, Text portname;
    MPI_Open_port: Info info, Text portname;
    MPI_Publish_name: Text servicename, Info info, Text portname;
    MPI_Unpublish_name: Text servicename, Info info, Text portname;
    MPI_Accumulate: Int origincount, Datatype origintype, Int targetrank, Int targetdisp, Int targetcount,
        Datatype targettype, Reduction op, Win win;
    MPI_Get: Int origincount, Datatype origintype, Int targetrank, Int targetdisp, Int targetcount,
        Datatype targettype, Win win;
    MPI_Put: Int origincount, Datatype origintype, Int targetrank, Int targetdisp, Int targetcount,
        Datatype targettype, Win win;
    MPI_Win_complete: Win win;
    MPI_Win_create: Int size, Int dispunit, Info info, Comm comm, Win win;
    MPI_Win_fence: WinAssert assertion, Win win;
    MPI_Win_free: Win win;
    MPI_Win_get_group: Win win, Group group;
    MPI_Win_lock: LockType locktype, Int winrank, WinAssert assertion, Win win;
    MPI_Win_post: Group group, WinAssert assertion, Win win;
    MPI_Win_start: Group group, WinAssert assertion, Win win;
    MPI_Win_test: Win win, Int flag;
    MPI_Win_unlock: Int winrank, Win win;
    MPI_Win_wait: Win win;
    MPI_Alltoallw: Int commsize, Ints sendcounts, Ints senddispls, Datatypes sendtypes, Ints recvcounts,
        Ints recvdispls, Datatypes recvtypes, Comm comm;
    MPI_Exscan: Int count, Datatype datatype, Reduction op, Comm comm;
    MPI_Add_error_class: Int errorclass;
    MPI_Add_error_code: Int errorclass, Int errorcode;
    MPI_Add_error_string: Int errorcode, Text errorstring;
    MPI_Comm_call_errhandler: Comm comm, Int errorcode;
    MPI_Comm_create_keyval: Keyval keyval;
    MPI_Comm_delete_attr: Comm comm, Keyval keyval;
    MPI_Comm_free_keyval: Keyval keyval;
    MPI_Comm_get_attr: Comm comm, Keyval keyval, Int flag;
    MPI_Comm_get_name: Comm comm, Text name, Int resultlen;
    MPI_Comm_set_attr: Comm comm, Keyval keyval;
    MPI_Comm_set_name: Comm comm, Text name;
    MPI_File_call_errhandler: File file, Int errorcode;
    MPI_Grequest_complete: Request request;
    MPI_Grequest_start: Request request;
    MPI_Init_thread: Texts argv, ThreadLevel required, ThreadLevel provided;
    MPI_Is_thread_main: Int flag;
    MPI_Query_thread: ThreadLevel supported;
    MPI_Status_set_cancelled: Status status, Int flag;
    MPI_Status_set_elements: Status status, Datatype datatype, Int count;
    MPI_Type_create_keyval: Keyval keyval;
    MPI_Type_delete_attr: Datatype datatype, Keyval keyval;
    MPI_Type_dup: Datatype oldtype, Datatype newtype;
    MPI_Type_free_keyval: Keyval keyval;
    MPI_Type_get_attr: Datatype datatype, Keyval keyval, Int flag;
    MPI_Type_get_contents: Int numdatatypes, Int numaddresses, Int numintegers, Datatype datatype,
        Int maxintegers, Int maxaddresses, Int maxdatatypes, Ints arrintegers, Ints arraddresses,
        Datatypes arrdatatypes;
    MPI_Type_get_envelope: Datatype datatype, Int numintegers, Int numaddresses, Int numdatatypes,
        Combiner combiner;
    MPI_Type_get_name: Datatype datatype, Text name, Int resultlen;
    MPI_Type_set_attr: Datatype datatype, Keyval keyval;
    MPI_Type_set_name: Datatype datatype, Text name;
    MPI_Type_match_size: TypeClass typeclass, Int size, Datatype datatype;
    MPI_Win_call_errhandler: Win win, Int errorcode;
    MPI_Win_create_keyval: Keyval keyval;
    MPI_Win_delete_attr: Win win, Keyval keyval;
    MPI_Win_free_keyval: Keyval keyval;
    MPI_Win_get_attr: Win win, Keyval keyval, Int flag;
    MPI_Win_get_name: Win win, Text name, Int resultlen;
    MPI_Win_set_attr: Win win, Keyval keyval;
    MPI_Win_set_name: Win win, Text name;
    MPI_Alloc_mem: Int size, Info info;
    MPI_Comm_create_errhandler: Errhandler errhandler;
    MPI_Comm_get_errhandler: Comm comm, Errhandler errhandler;
    MPI_Comm_set_errhandler: Comm comm, Errhandler errhandler;
    MPI_File_create_errhandler: Errhandler errhandler;
    MPI_File_get_errhandler: File file, Errhandler errhandler;
    MPI_File_set_errhandler: File file, Errhandler errhandler;
    MPI_Finalized: Int flag;
    MPI_Free_mem: ;
    MPI_Get_address: Int address;
    MPI_Info_create: Info info;
    MPI_Info_delete: Info info, Text key;
    MPI_Info_dup: Info oldinfo, Info newinfo;
    MPI_Info_free: Info info;
    MPI_Info_get: Info info, Text key, Int valuelength, Text value, Int flag;
    MPI_Info_get_nkeys: Info info, Int nkeys;
    MPI_Info_get_nthkey: Info info, Int n, Text key;
    MPI_Info_get_valuelen: Info info, Text key, Int valuelen, Int flag;
    MPI_Info_set: Info info, Text key, Text value;
    MPI_Pack_external: Text datarep, Int incount, Datatype intype, Int outcount, Int position_in,
        Int position_out;
    MPI_Pack_external_size: Text datarep, Int incount, Datatype datatype, Int size;
    MPI_Request_get_status: Request request, Int flag, Status status;
    MPI_Type_create_darray: Int size, Int rank, Int ndims, Ints gsizes, Distributions distribs, Ints dargs,
        Ints psizes, Ordering order, Datatype oldtype, Datatype newtype;
    MPI_Type_create_hindexed: Int count, Ints blocklengths, Ints displacements, Datatype oldtype, Datatype newtype;
    MPI_Type_create_hvector: Int count, Int blocklength, Int stride, Datatype oldtype, Datatype newtype;
    MPI_Type_create_indexed_block: Int count, Int blocklength, Ints displacments, Datatype oldtype,
        Datatype newtype;
    MPI_Type_create_resized: Datatype oldtype, Int lb, Int extent, Datatype newtype;
    MPI_Type_create_struct: Int count, Ints blocklengths, Ints displacements, Datatypes oldtypes, Datatype newtype;
    MPI_Type_create_subarray: Int ndims, Ints sizes, Ints subsizes, Ints starts, Ordering order, Datatype oldtype,
        Datatype newtype;
    MPI_Type_get_extent: Datatype datatype, Int lb, Int extent;
    MPI_Type_get_true_extent: Datatype datatype, Int lb, Int extent;
    MPI_Unpack_external: Text datarep, Int insize, Int position_in, Int position_out, Int outcount,
        Datatype datatype;
    MPI_Win_create_errhandler: Errhandler errhandler;
    MPI_Win_get_errhandler: Win win, Errhandler errhandler;
    MPI_Win_set_errhandler: Win win, Errhandler errhandler;
    MPI_File_open: Comm comm, Text filename, FileMode amode, Info info, File file;
    MPI_File_close: File file;
    MPI_File_delete: Text filename, Info info;
    MPI_File_set_size: File file, Int64 size;
    MPI_File_preallocate: File file, Int64 size;
    MPI_File_get_size: File file, Int64 size;
    MPI_File_get_group: File file, Group group;
    MPI_File_get_amode: File file, FileMode amode;
    MPI_File_set_info: File file, Info info;
    MPI_File_get_info: File file, Info info;
    MPI_File_set_view: File file, Int64 offset, Datatype hosttype, Datatype filetype, Text datarep, Info info;
    MPI_File_get_view: File file, Int64 offset, Datatype hosttype, Datatype filetype, Text datarep;
    MPI_File_read_at: File file, Int64 offset, Int count, Datatype datatype, Status status;
    MPI_File_read_at_all: File file, Int64 offset, Int count, Datatype datatype, Status status;
    MPI_File_write_at: File file, Int64 offset, Int count, Datatype datatype, Status status;
    MPI_File_write_at_all: File file, Int64 offset, Int count, Datatype datatype, Status status;
    MPI_File_iread_at: File file, Int64 offset, Int count, Datatype datatype, IoRequest request;
    MPI_File_iwrite_at: File file, Int64 offset, Int count, Datatype datatype, IoRequest request;
    MPI_File_read: File file, Int count, Datatype datatype, Status status;
    MPI_File_read_all: File file, Int count, Datatype datatype, Status status;
    MPI_File_write: File file, Int count, Datatype datatype, Status status;
    MPI_File_write_all: File file, Int count, Datatype datatype, Status status;
    MPI_File_iread: File file, Int count, Datatype datatype, IoRequest request;
    MPI_File_iwrite: File file, Int count, Datatype datatype, IoRequest request;
    MPI_File_seek: File file, Int64 offset, Whence whence;
    MPI_File_get_position: File file, Int64 offset;
    MPI_File_get_byte_offset: File file, Int64 offset, Int64 bytes;
    MPI_File_read_shared: File file, Int count, Datatype datatype, Status status;
    MPI_File_write_shared: File file, Int count, Datatype datatype, Status status;
    MPI_File_iread_shared: File file, Int count, Datatype datatype, IoRequest request;
    MPI_File_iwrite_shared: File file, Int count, Datatype datatype, IoRequest request;
    MPI_File_read_ordered: File file, Int count, Datatype datatype, Status status;
    MPI_File_write_ordered: File file, Int count, Datatype datatype, Status status;
    MPI_File_seek_shared: File file, Int64 offset, Whence whence;
    MPI_File_get_position_shared: File file, Int64 offset;
    MPI_File_read_at_all_begin: File file, Int64 offset, Int count, Datatype datatype;
    MPI_File_read_at_all_end: File file, Status status;
    MPI_File_write_at_all_begin: File file, Int64 offset, Int count, Datatype datatype;
    MPI_File_write_at_all_end: File file, Status status;
    MPI_File_read_all_begin: File file, Int count, Datatype datatype;
    MPI_File_read_all_end: File file, Status status;
    MPI_File_write_all_begin: File file, Int count, Datatype datatype;
    MPI_File_write_all_end: File file, Status status;
    MPI_File_read_ordered_begin: File file, Int count, Datatype datatype;
    MPI_File_read_ordered_end: File file, Status status;
    MPI_File_write_ordered_begin: File file, Int count, Datatype datatype;
    MPI_File_write_ordered_end: File file, Status status;
    MPI_File_get_type_extent: File file, Datatype datatype, Int extent;
    MPI_Register_datarep: Text name;
    MPI_File_set_atomicity: File file, Int flag;
    MPI_File_get_atomicity: File file, Int flag;
    MPI_File_sync: File file;
    MPIO_Test: IoRequest request, Int flag, Status status;
    MPIO_Wait: IoRequest request, Status status;
    MPIO_Testall: Int count, IoRequests requests, Int flag, Statuses statuses;
    MPIO_Waitall: Int count, IoRequests requests, Statuses statuses;
    MPIO_Testany: Int count, IoRequests requests, Int flag, Int index, Statuses statuses;
    MPIO_Waitany: Int count, IoRequests requests, Int index, Statuses statuses;
    MPIO_Waitsome: Int count, IoRequests requests, Int outcount, Ints indices, Statuses statuses;
    MPIO_Testsome: Int count, IoRequests requests, Int outcount, Ints indices, Statuses statuses;
    MPI_ALL_FUNCTIONS: ;
    Function_enter: Address fn_address;
    Function_exit: Address fn_address;
};

/// Function with a number but no record in the format, since its arguments are variable.
pub const PCONTROL: u16 = number("MPI_Pcontrol");

/// Number of counts in the footer: one for every MPI function, and their sum.
pub const COUNTED: usize = CALLS.len() - 2;

/// Number that ends the stream of records.
pub const END_OF_STREAM: u16 = CALLS.len() as u16;

/// Number of the function called `name`; does not compile unless the table has it.
pub const fn number(name: &str) -> u16 {
    let mut at = 0;
    while at < CALLS.len() {
        if same(CALLS[at].name.as_bytes(), name.as_bytes()) {
            return at as u16;
        }
        at += 1;
    }
    panic!("the function is in the table")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}
