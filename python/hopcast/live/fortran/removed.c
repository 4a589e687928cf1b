/* Procedures of MPI 1 that MPI 3.0 has removed: addresses and extents are default integers. */
#include "entries.h"

#include <limits.h>

#define HANDLE(kind, place) ((kind)(intptr_t) * (place))

/* A number of bytes for a default integer: what does not fit is an error. */
static void fitted(int code, MPI_Aint bytes, MPI_Fint *place, MPI_Fint *ierror) {
    *place = (MPI_Fint)bytes;
    if (!code && (bytes > INT_MAX || bytes < INT_MIN)) code = MPI_ERR_ARG;
    if (ierror) *ierror = code;
}

static MPI_Aint *widened(const MPI_Fint *numbers, int count) {
    MPI_Aint *wide = calloc(count > 0 ? count : 1, sizeof *wide);
    for (int i = 0; i < count; i++) wide[i] = numbers[i];
    return wide;
}

static void made(int code, MPI_Datatype type, MPI_Fint *place, MPI_Fint *ierror) {
    if (!code) *place = (MPI_Fint)(intptr_t)type;
    if (ierror) *ierror = code;
}

void pmpi_address_(void *location, MPI_Fint *address, MPI_Fint *ierror) {
    MPI_Aint bytes = 0;
    int code = MPI_Get_address(BUFFER(location), &bytes);
    fitted(code, bytes, address, ierror);
}
NAMES(address)

#define DISTANCE(name, function)                                                          \
    void pmpi_##name##_(MPI_Fint *datatype, MPI_Fint *distance, MPI_Fint *ierror) {       \
        MPI_Aint bytes = 0;                                                               \
        int code = function(HANDLE(MPI_Datatype, datatype), &bytes);                      \
        fitted(code, bytes, distance, ierror);                                            \
    }                                                                                     \
    NAMES(name)
DISTANCE(type_extent, MPI_Type_extent)
DISTANCE(type_lb, MPI_Type_lb)
DISTANCE(type_ub, MPI_Type_ub)

void pmpi_type_hvector_(int *count, int *blocklength, MPI_Fint *stride, MPI_Fint *oldtype, MPI_Fint *newtype,
                        MPI_Fint *ierror) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int code = MPI_Type_create_hvector(*count, *blocklength, *stride, HANDLE(MPI_Datatype, oldtype), &type);
    made(code, type, newtype, ierror);
}
NAMES(type_hvector)

void pmpi_type_hindexed_(int *count, int *blocklengths, MPI_Fint *displacements, MPI_Fint *oldtype, MPI_Fint *newtype,
                         MPI_Fint *ierror) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Aint *places = widened(displacements, *count);
    int code = MPI_Type_create_hindexed(*count, blocklengths, places, HANDLE(MPI_Datatype, oldtype), &type);
    free(places);
    made(code, type, newtype, ierror);
}
NAMES(type_hindexed)

void pmpi_type_struct_(int *count, int *blocklengths, MPI_Fint *displacements, MPI_Fint *types, MPI_Fint *newtype,
                       MPI_Fint *ierror) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Aint *places = widened(displacements, *count);
    size_t number = *count > 0 ? *count : 0;
    MPI_Datatype *c_types = (void *)taken(types, number, 1);
    int code = MPI_Type_create_struct(*count, blocklengths, places, c_types, &type);
    free(places);
    free(c_types);
    made(code, type, newtype, ierror);
}
NAMES(type_struct)

/* Error handlers of communicators, under their first names. */
extern void pmpi_comm_create_errhandler_(void *function, MPI_Fint *errhandler, MPI_Fint *ierror);
extern void pmpi_comm_get_errhandler_(MPI_Fint *comm, MPI_Fint *errhandler, MPI_Fint *ierror);
extern void pmpi_comm_set_errhandler_(MPI_Fint *comm, MPI_Fint *errhandler, MPI_Fint *ierror);

void pmpi_errhandler_create_(void *function, MPI_Fint *errhandler, MPI_Fint *ierror) {
    pmpi_comm_create_errhandler_(function, errhandler, ierror);
}
NAMES(errhandler_create)

void pmpi_errhandler_get_(MPI_Fint *comm, MPI_Fint *errhandler, MPI_Fint *ierror) {
    pmpi_comm_get_errhandler_(comm, errhandler, ierror);
}
NAMES(errhandler_get)

void pmpi_errhandler_set_(MPI_Fint *comm, MPI_Fint *errhandler, MPI_Fint *ierror) {
    pmpi_comm_set_errhandler_(comm, errhandler, ierror);
}
NAMES(errhandler_set)
