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
