/* Functions of a Fortran program that the library calls: by address where C passes values.
 *
 * Operators and error handlers need nothing: C passes the address of a handle, whose lower half is Fortran's
 * integer (the machine is little-endian). The others are called by a function of C that has the Fortran function and
 * the program's extra state behind its own extra state.
 */
#include "entries.h"

#define HANDLE(kind, place) ((kind)(intptr_t) * (place))
#define FINT(handle) ((MPI_Fint)(intptr_t)(handle))

/* Attributes: values are as wide as addresses, or of the functions of MPI-1 as integers (MPI 5.0, 19.3.7).
 *
 * What Fortran sets is in a box of its own, and C gets its address; an integer lies in the lower half of a box, whose
 * upper half is its sign. What C sets is a pointer that lies in no box, and Fortran gets it as a number. Boxes are cut
 * from blocks, each twice as long as the one before, so that few comparisons tell whether an address is one.
 */
union box {
    MPI_Aint value;
    union box *next;
};

static struct {
    union box *boxes;
    size_t count;
} blocks[48];
static union box *unused;

static int is_box(const void *place) {
    for (size_t at = 0; blocks[at].count; at++)
        if ((union box *)place >= blocks[at].boxes && (union box *)place < blocks[at].boxes + blocks[at].count)
            return 1;
    return 0;
}

static void *boxed(MPI_Aint value) {
    if (!unused) {
        size_t at = 0;
        while (blocks[at].count) at++;
        size_t count = (size_t)64 << at;
        blocks[at].boxes = malloc(count * sizeof *unused);
        if (!blocks[at].boxes) abort();
        blocks[at].count = count;
        for (size_t box = 0; box < count; box++) {
            blocks[at].boxes[box].next = unused;
            unused = blocks[at].boxes + box;
        }
    }
    union box *box = unused;
    unused = box->next;
    box->value = value;
    return box;
}

static MPI_Aint opened(void *place) { return is_box(place) ? ((union box *)place)->value : (MPI_Aint)place; }

/* The attribute is no more. */
static void thrown_away(void *place) {
    if (!is_box(place)) return;
    ((union box *)place)->next = unused;
    unused = place;
}

typedef void CopyAttribute(MPI_Fint *object, int *keyval, MPI_Aint *extra, MPI_Aint *in, MPI_Aint *out, int *flag,
                           MPI_Fint *ierror);
typedef void DeleteAttribute(MPI_Fint *object, int *keyval, MPI_Aint *value, MPI_Aint *extra, MPI_Fint *ierror);
typedef void CopyInteger(MPI_Fint *object, int *keyval, MPI_Fint *extra, MPI_Fint *in, MPI_Fint *out, int *flag,
                         MPI_Fint *ierror);
typedef void DeleteInteger(MPI_Fint *object, int *keyval, MPI_Fint *value, MPI_Fint *extra, MPI_Fint *ierror);

struct attribute {
    void *copy;
    void *delete;
    MPI_Aint extra;
};

static struct attribute *attribute(void *copy, void *delete, MPI_Aint extra) {
    struct attribute *made = malloc(sizeof *made);
    *made = (struct attribute){copy, delete, extra};
    return made;
}

static int copied(MPI_Fint object, int keyval, void *state, void *in, void *out, int *flag) {
    struct attribute *of = state;
    MPI_Aint from = opened(in), to = 0;
    MPI_Fint code = MPI_SUCCESS;
    *flag = 0;
    ((CopyAttribute *)of->copy)(&object, &keyval, &of->extra, &from, &to, flag, &code);
    *flag = *flag != 0;
    *(void **)out = *flag && is_box(in) ? boxed(to) : (void *)to;
    return code;
}

static int deleted(MPI_Fint object, int keyval, void *value, void *state) {
    struct attribute *of = state;
    MPI_Aint what = opened(value);
    MPI_Fint code = MPI_SUCCESS;
    ((DeleteAttribute *)of->delete)(&object, &keyval, &what, &of->extra, &code);
    if (!code) thrown_away(value);
    return code;
}

/* Keys of an object: creation, and the attributes themselves. A predefined one is an integer behind C's pointer. */
#define KEYS(handle, kind, name)                                                                                  \
    static int name##_copied(handle object, int keyval, void *state, void *in, void *out, int *flag) {            \
        return copied(FINT(object), keyval, state, in, out, flag);                                                \
    }                                                                                                             \
    static int name##_deleted(handle object, int keyval, void *value, void *state) {                              \
        return deleted(FINT(object), keyval, value, state);                                                       \
    }                                                                                                             \
    void pmpi_##name##_create_keyval_(CopyAttribute *copy, DeleteAttribute *delete, int *keyval, MPI_Aint *extra, \
                                      MPI_Fint *ierror) {                                                         \
        int code = MPI_##kind##_create_keyval(name##_copied, name##_deleted, keyval,                              \
                                              attribute(copy, delete, *extra));                                   \
        if (ierror) *ierror = code;                                                                               \
    }                                                                                                             \
    NAMES(name##_create_keyval)                                                                                   \
    void pmpi_##name##_set_attr_(MPI_Fint *object, int *keyval, MPI_Aint *value, MPI_Fint *ierror) {              \
        void *box = boxed(*value);                                                                                \
        int code = MPI_##kind##_set_attr(HANDLE(handle, object), *keyval, box);                                   \
        if (code) thrown_away(box);                                                                               \
        if (ierror) *ierror = code;                                                                               \
    }                                                                                                             \
    NAMES(name##_set_attr)                                                                                        \
    void pmpi_##name##_get_attr_(MPI_Fint *object, int *keyval, MPI_Aint *value, int *flag, MPI_Fint *ierror) {   \
        void *place = NULL;                                                                                       \
        int code = MPI_##kind##_get_attr(HANDLE(handle, object), *keyval, &place, flag);                          \
        if (!code && *flag) *value = predefined(*keyval, place);                                                  \
        if (ierror) *ierror = code;                                                                               \
    }                                                                                                             \
    NAMES(name##_get_attr)

static MPI_Aint predefined(int keyval, void *place) {
    switch (keyval) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL:
        return *(int *)place;
    case MPI_WIN_SIZE:
        return *(MPI_Aint *)place;
    default:
        return opened(place);
    }
}

KEYS(MPI_Comm, Comm, comm)
KEYS(MPI_Datatype, Type, type)
KEYS(MPI_Win, Win, win)

/* The same of MPI-1, for communicators. */
static int integer_copied(MPI_Comm comm, int keyval, void *state, void *in, void *out, int *flag) {
    struct attribute *of = state;
    MPI_Fint object = FINT(comm), extra = (MPI_Fint)of->extra, from = (MPI_Fint)opened(in), to = 0, code = 0;
    *flag = 0;
    ((CopyInteger *)of->copy)(&object, &keyval, &extra, &from, &to, flag, &code);
    *(void **)out = *flag && is_box(in) ? boxed(to) : (void *)(intptr_t)to;
    return code;
}

static int integer_deleted(MPI_Comm comm, int keyval, void *value, void *state) {
    struct attribute *of = state;
    MPI_Fint object = FINT(comm), extra = (MPI_Fint)of->extra, what = (MPI_Fint)opened(value), code = 0;
    ((DeleteInteger *)of->delete)(&object, &keyval, &what, &extra, &code);
    if (!code) thrown_away(value);
    return code;
}

void pmpi_keyval_create_(CopyInteger *copy, DeleteInteger *delete, int *keyval, MPI_Fint *extra, MPI_Fint *ierror) {
    int code = MPI_Comm_create_keyval(integer_copied, integer_deleted, keyval, attribute(copy, delete, *extra));
    if (ierror) *ierror = code;
}
NAMES(keyval_create)

void pmpi_attr_put_(MPI_Fint *comm, int *keyval, MPI_Fint *value, MPI_Fint *ierror) {
    void *box = boxed(*value);
    int code = MPI_Comm_set_attr(HANDLE(MPI_Comm, comm), *keyval, box);
    if (code) thrown_away(box);
    if (ierror) *ierror = code;
}
NAMES(attr_put)

void pmpi_attr_get_(MPI_Fint *comm, int *keyval, MPI_Fint *value, int *flag, MPI_Fint *ierror) {
    void *place = NULL;
    int code = MPI_Comm_get_attr(HANDLE(MPI_Comm, comm), *keyval, &place, flag);
    if (!code && *flag) *value = (MPI_Fint)predefined(*keyval, place);
    if (ierror) *ierror = code;
}
NAMES(attr_get)

/* What a program may name instead of functions of its own. */
#define NULL_AND_DUP(name, value)                                                                              \
    void mpi_##name##null_copy_fn_(MPI_Fint *object, int *keyval, value *extra, value *in, value *out, int *flag, \
                                   MPI_Fint *ierror) {                                                         \
        (void)object, (void)keyval, (void)extra, (void)in, (void)out;                                           \
        *flag = 0, *ierror = MPI_SUCCESS;                                                                      \
    }                                                                                                          \
    void mpi_##name##dup_fn_(MPI_Fint *object, int *keyval, value *extra, value *in, value *out, int *flag,        \
                             MPI_Fint *ierror) {                                                               \
        (void)object, (void)keyval, (void)extra;                                                               \
        *out = *in, *flag = 1, *ierror = MPI_SUCCESS;                                                          \
    }                                                                                                          \
    void mpi_##name##null_delete_fn_(MPI_Fint *object, int *keyval, value *what, value *extra, MPI_Fint *ierror) { \
        (void)object, (void)keyval, (void)what, (void)extra;                                                    \
        *ierror = MPI_SUCCESS;                                                                                 \
    }
NULL_AND_DUP(, MPI_Fint)
NULL_AND_DUP(comm_, MPI_Aint)
NULL_AND_DUP(type_, MPI_Aint)
NULL_AND_DUP(win_, MPI_Aint)

/* Generalised requests. */
typedef void Query(MPI_Aint *extra, MPI_Status *status, MPI_Fint *ierror);
typedef void Free(MPI_Aint *extra, MPI_Fint *ierror);
typedef void Cancel(MPI_Aint *extra, int *complete, MPI_Fint *ierror);

struct general {
    Query *query;
    Free *free;
    Cancel *cancel;
    /* The program's variable: its functions may change it. */
    MPI_Aint *extra;
};

static int general_query(void *state, MPI_Status *status) {
    struct general *of = state;
    MPI_Fint code = MPI_SUCCESS;
    of->query(of->extra, status, &code);
    return code;
}

static int general_free(void *state) {
    struct general *of = state;
    MPI_Fint code = MPI_SUCCESS;
    of->free(of->extra, &code);
    free(of);
    return code;
}

static int general_cancel(void *state, int complete) {
    struct general *of = state;
    MPI_Fint code = MPI_SUCCESS;
    of->cancel(of->extra, &complete, &code);
    return code;
}

void pmpi_grequest_start_(Query *query, Free *free, Cancel *cancel, MPI_Aint *extra, MPI_Fint *request,
                          MPI_Fint *ierror) {
    struct general *of = malloc(sizeof *of);
    *of = (struct general){query, free, cancel, extra};
    MPI_Request c_request = MPI_REQUEST_NULL;
    int code = MPI_Grequest_start(general_query, general_free, general_cancel, of, &c_request);
    *request = FINT(c_request);
    if (ierror) *ierror = code;
}
NAMES(grequest_start)

/* Representations of data in files. */
typedef void Extent(MPI_Fint *datatype, MPI_Aint *extent, MPI_Aint *extra, MPI_Fint *ierror);
typedef void Convert(void *user, MPI_Fint *datatype, int *count, void *file, MPI_Offset *position, MPI_Aint *extra,
                     MPI_Fint *ierror);

struct representation {
    Convert *read;
    Convert *write;
    Extent *extent;
    MPI_Aint extra;
};

static int represented_extent(MPI_Datatype datatype, MPI_Aint *extent, void *state) {
    struct representation *of = state;
    MPI_Fint handle = FINT(datatype), code = MPI_SUCCESS;
    of->extent(&handle, extent, &of->extra, &code);
    return code;
}

static int represented_read(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset at, void *state) {
    struct representation *of = state;
    MPI_Fint handle = FINT(datatype), code = MPI_SUCCESS;
    of->read(user, &handle, &count, file, &at, &of->extra, &code);
    return code;
}

static int represented_write(void *user, MPI_Datatype datatype, int count, void *file, MPI_Offset at, void *state) {
    struct representation *of = state;
    MPI_Fint handle = FINT(datatype), code = MPI_SUCCESS;
    of->write(user, &handle, &count, file, &at, &of->extra, &code);
    return code;
}

void mpi_conversion_fn_null_(void *user, MPI_Fint *datatype, int *count, void *file, MPI_Offset *position,
                             MPI_Aint *extra, MPI_Fint *ierror) {
    (void)user, (void)datatype, (void)count, (void)file, (void)position, (void)extra;
    *ierror = MPI_SUCCESS;
}

void pmpi_register_datarep_(char *datarep, Convert *read, Convert *write, Extent *extent, MPI_Aint *extra,
                            MPI_Fint *ierror, size_t datarep_length) {
    struct representation *of = malloc(sizeof *of);
    *of = (struct representation){read, write, extent, *extra};
    char *name = text(datarep, datarep_length);
    MPI_Datarep_conversion_function *c_read =
        read == mpi_conversion_fn_null_ ? MPI_CONVERSION_FN_NULL : represented_read;
    MPI_Datarep_conversion_function *c_write =
        write == mpi_conversion_fn_null_ ? MPI_CONVERSION_FN_NULL : represented_write;
    int code = MPI_Register_datarep(name, c_read, c_write, represented_extent, of);
    free(name);
    if (ierror) *ierror = code;
}
NAMES(register_datarep)
