# What libmpi.so.12 is beside a jump for each function (install.sh writes those): the variables of MPICH's
# interface, which may hold the standard's values, and the function behind MPI_DUP_FN.
    .section .data.rel.ro, "aw", @progbits
    .balign 8
    .macro variable name, value
    .globl \name
    .type \name, @object
    .size \name, 8
\name:
    .quad \value
    .endm
    variable MPI_UNWEIGHTED, 10
    variable MPI_WEIGHTS_EMPTY, 11
    variable MPI_T_PVAR_ALL_HANDLES, 1
    .section .note.GNU-stack, "", @progbits

    .text
    .macro function name, behind
    .globl \name
    .type \name, @function
\name:
    jmp *\behind@GOTPCREL(%rip)
    .size \name, . - \name
    .endm
    function MPIR_Dup_fn, hopcast_mpich_dup_fn

# The functions of MPI-1 that MPI-3 has removed and MPICH still has: they are others under their old names.
    .macro removed name, behind
    function MPI_\name, hopcast_mpich_\behind
    function PMPI_\name, hopcast_mpich_\behind
    .endm
    removed Address, Get_address
    removed Errhandler_create, Comm_create_errhandler
    removed Errhandler_get, Comm_get_errhandler
    removed Errhandler_set, Comm_set_errhandler
    removed Type_hindexed, Type_create_hindexed
    removed Type_hvector, Type_create_hvector
    removed Type_struct, Type_create_struct
    removed Type_extent, Type_extent
    removed Type_lb, Type_lb
    removed Type_ub, Type_ub
