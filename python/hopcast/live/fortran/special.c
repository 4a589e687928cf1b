/* Procedures for Fortran that differ from C's functions in more than how arguments are passed. */
#include "entries.h"

MPI_Fint hopcast_bottom_[1] __attribute__((common));
MPI_Fint hopcast_in_place_[1] __attribute__((common));
MPI_Fint hopcast_automatic_[1] __attribute__((common));
MPI_Fint hopcast_status_ignore_[MPI_F_STATUS_SIZE] __attribute__((common));
MPI_Fint hopcast_statuses_ignore_[MPI_F_STATUS_SIZE] __attribute__((common));
MPI_Fint hopcast_errcodes_ignore_[1] __attribute__((common));
MPI_Fint hopcast_unweighted_[1] __attribute__((common));
MPI_Fint hopcast_weights_empty_[1] __attribute__((common));
MPI_Fint hopcast_argv_null_[1] __attribute__((common));
MPI_Fint hopcast_argvs_null_[1] __attribute__((common));

#define HANDLE(kind, place) ((kind)(intptr_t) * (place))
#define DONE(call)                     \
    do {                               \
        int code_ = (call);            \
        if (ierror) *ierror = code_;   \
    } while (0)

char *hopcast_text(const char *fortran, size_t length) {
    while (length && fortran[length - 1] == ' ') length--;
    while (length && *fortran == ' ') fortran++, length--;
    char *c = malloc(length + 1);
    memcpy(c, fortran, length);
    c[length] = 0;
    return c;
}

void hopcast_pad(int code, const char *c, char *fortran, size_t length) {
    if (code) return;
    size_t used = strnlen(c, length);
    memcpy(fortran, c, used);
    memset(fortran + used, ' ', length - used);
}

void **hopcast_taken(const MPI_Fint *handles, size_t number, int read) {
    void **c = calloc(number + 1, sizeof *c);
    for (size_t i = 0; read && i < number; i++) c[i] = (void *)(intptr_t)handles[i];
    return c;
}

void hopcast_given(void **c, MPI_Fint *handles, size_t number) {
    for (size_t i = 0; i < number; i++)
        if (c[i]) handles[i] = (MPI_Fint)(intptr_t)c[i];
    free(c);
}

size_t hopcast_peers(MPI_Fint comm) {
    int size = 0, inter = 0;
    MPI_Comm_test_inter(HANDLE(MPI_Comm, &comm), &inter);
    (inter ? MPI_Comm_remote_size : MPI_Comm_size)(HANDLE(MPI_Comm, &comm), &size);
    return size;
}

size_t hopcast_neighbours(MPI_Fint handle, int outwards) {
    MPI_Comm comm = HANDLE(MPI_Comm, &handle);
    int kind = MPI_UNDEFINED, in = 0, out = 0, weighted, rank;
    MPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        MPI_Cartdim_get(comm, &in);
        in = out = 2 * in;
    } else if (kind == MPI_GRAPH) {
        MPI_Comm_rank(comm, &rank);
        MPI_Graph_neighbors_count(comm, rank, &in);
        out = in;
    } else if (kind == MPI_DIST_GRAPH) {
        MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    }
    return outwards ? out : in;
}

/* Beginning, time, addresses. */
void pmpi_init_(MPI_Fint *ierror) { DONE(MPI_Init(NULL, NULL)); }
NAMES(init)

void pmpi_init_thread_(int *required, int *provided, MPI_Fint *ierror) {
    DONE(MPI_Init_thread(NULL, NULL, *required, provided));
}
NAMES(init_thread)

void pmpi_pcontrol_(int *level) { MPI_Pcontrol(*level); }
NAMES(pcontrol)

double pmpi_wtime_(void) { return MPI_Wtime(); }
NAMES(wtime)

double pmpi_wtick_(void) { return MPI_Wtick(); }
NAMES(wtick)

MPI_Aint pmpi_aint_add_(MPI_Aint *base, MPI_Aint *disp) { return *base + *disp; }
NAMES(aint_add)

MPI_Aint pmpi_aint_diff_(MPI_Aint *first, MPI_Aint *second) { return *first - *second; }
NAMES(aint_diff)

/* The address of the buffer goes to a type(c_ptr) of mpi_f08; mpif.h and mpi have no variable for it. */
#define DETACH(name, function, kind, number, ...)                                                          \
    void pmpi_##name##_ kind { void *place; (void)buffer; DONE(function(__VA_ARGS__ &place, size)); }        \
    extern __typeof(pmpi_##name##_) mpi_##name##_ __attribute__((weak, alias("pmpi_" #name "_")));          \
    void pmpi_##name##_f08_ kind { DONE(function(__VA_ARGS__ buffer, size)); }                              \
    extern __typeof(pmpi_##name##_) mpi_##name##_f08_ __attribute__((weak, alias("pmpi_" #name "_f08_")));
DETACH(buffer_detach, MPI_Buffer_detach, (void *buffer, int *size, MPI_Fint *ierror), int, )
DETACH(buffer_detach_c, MPI_Buffer_detach_c, (void *buffer, MPI_Count *size, MPI_Fint *ierror), MPI_Count, )
DETACH(comm_detach_buffer, MPI_Comm_detach_buffer, (MPI_Fint *comm, void *buffer, int *size, MPI_Fint *ierror), int,
       HANDLE(MPI_Comm, comm), )
DETACH(comm_detach_buffer_c, MPI_Comm_detach_buffer_c,
       (MPI_Fint *comm, void *buffer, MPI_Count *size, MPI_Fint *ierror), MPI_Count, HANDLE(MPI_Comm, comm), )
DETACH(session_detach_buffer, MPI_Session_detach_buffer,
       (MPI_Fint *session, void *buffer, int *size, MPI_Fint *ierror), int, HANDLE(MPI_Session, session), )
DETACH(session_detach_buffer_c, MPI_Session_detach_buffer_c,
       (MPI_Fint *session, void *buffer, MPI_Count *size, MPI_Fint *ierror), MPI_Count,
       HANDLE(MPI_Session, session), )

/* Texts whose lengths are arguments. */
void pmpi_info_get_(MPI_Fint *info, char *key, int *valuelen, char *value, int *flag, MPI_Fint *ierror,
                    size_t key_length, size_t value_length) {
    char *c_key = text(key, key_length);
    char *c_value = calloc(1, *valuelen < 0 ? 1 : *valuelen + 1);
    int code = MPI_Info_get(HANDLE(MPI_Info, info), c_key, *valuelen, c_value, flag);
    if (!code && *flag) pad(code, c_value, value, value_length);
    free(c_key);
    free(c_value);
    if (ierror) *ierror = code;
}
NAMES(info_get)

void pmpi_info_get_string_(MPI_Fint *info, char *key, int *buflen, char *value, int *flag, MPI_Fint *ierror,
                           size_t key_length, size_t value_length) {
    char *c_key = text(key, key_length);
    int length = *buflen > 0 ? *buflen + 1 : 0;
    char *c_value = calloc(1, length + 1);
    int code = MPI_Info_get_string(HANDLE(MPI_Info, info), c_key, &length, c_value, flag);
    if (!code && *flag) {
        if (*buflen > 0) pad(code, c_value, value, value_length);
        *buflen = length - 1;
    }
    free(c_key);
    free(c_value);
    if (ierror) *ierror = code;
}
NAMES(info_get_string)

void pmpi_session_get_nth_pset_(MPI_Fint *session, MPI_Fint *info, int *n, int *pset_len, char *pset_name,
                                MPI_Fint *ierror, size_t pset_name_length) {
    int length = *pset_len > 0 ? *pset_len + 1 : 0;
    char *c_name = calloc(1, length + 1);
    int code = MPI_Session_get_nth_pset(HANDLE(MPI_Session, session), HANDLE(MPI_Info, info), *n, &length, c_name);
    if (!code && *pset_len > 0) pad(code, c_name, pset_name, pset_name_length);
    if (!code) *pset_len = length - 1;
    free(c_name);
    if (ierror) *ierror = code;
}
NAMES(session_get_nth_pset)

void pmpi_info_create_env_(MPI_Fint *info, MPI_Fint *ierror) {
    MPI_Info c_info;
    DONE(MPI_Info_create_env(0, NULL, &c_info));
    *info = (MPI_Fint)(intptr_t)c_info;
}
NAMES(info_create_env)

/* Statuses of the two kinds are the same. */
void pmpi_status_f2f08_(MPI_Status *from, MPI_Status *to, MPI_Fint *ierror) { 
    *to = *from;
    if (ierror) *ierror = MPI_SUCCESS;
}
NAMES(status_f2f08)

void pmpi_status_f082f_(MPI_Status *from, MPI_Status *to, MPI_Fint *ierror) { 
    *to = *from;
    if (ierror) *ierror = MPI_SUCCESS;
}
NAMES(status_f082f)

/* Processes are not started while a program runs: the library says so. */
void pmpi_comm_spawn_(char *command, char *argv, int *maxprocs, MPI_Fint *info, int *root, MPI_Fint *comm,
                      MPI_Fint *intercomm, int *errcodes, MPI_Fint *ierror, size_t command_length, size_t argv_length) {
    MPI_Comm c_intercomm = MPI_COMM_NULL;
    char *c_command = text(command, command_length);
    (void)argv, (void)argv_length;
    int *codes = errcodes == hopcast_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : errcodes;
    DONE(MPI_Comm_spawn(c_command, MPI_ARGV_NULL, *maxprocs, HANDLE(MPI_Info, info), *root, HANDLE(MPI_Comm, comm),
                        &c_intercomm, codes));
    *intercomm = (MPI_Fint)(intptr_t)c_intercomm;
    free(c_command);
}
NAMES(comm_spawn)

void pmpi_comm_spawn_multiple_(int *count, char *commands, char *argvs, int *maxprocs, MPI_Fint *infos, int *root,
                               MPI_Fint *comm, MPI_Fint *intercomm, int *errcodes, MPI_Fint *ierror,
                               size_t commands_length, size_t argvs_length) {
    MPI_Comm c_intercomm = MPI_COMM_NULL;
    (void)commands, (void)argvs, (void)infos, (void)commands_length, (void)argvs_length;
    int *codes = errcodes == hopcast_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : errcodes;
    DONE(MPI_Comm_spawn_multiple(*count, NULL, MPI_ARGVS_NULL, maxprocs, NULL, *root, HANDLE(MPI_Comm, comm),
                                 &c_intercomm, codes));
    *intercomm = (MPI_Fint)(intptr_t)c_intercomm;
}
NAMES(comm_spawn_multiple)
