/* Functions of MPI 1 that MPI 3.0 has removed, for programs that still call them. See ../mpi.h for how this table is read. */
int MPI_FN(Address)(const void *location, MPI_Aint *address); /* datatype::get_address */
int MPI_FN(Errhandler_create)(MPI_Handler_function *comm_errhandler_fn, MPI_Errhandler *errhandler); /* error::comm_create_errhandler */
int MPI_FN(Errhandler_get)(MPI_Comm comm, MPI_Errhandler *errhandler); /* error::get_errhandler */
int MPI_FN(Errhandler_set)(MPI_Comm comm, MPI_Errhandler errhandler); /* error::set_errhandler */
int MPI_FN(Type_extent)(MPI_Datatype datatype, MPI_Aint *extent); /* datatype::type_extent */
int MPI_FN(Type_hindexed)(int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype); /* datatype::type_create_hindexed */
int MPI_FN(Type_hvector)(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype); /* datatype::type_create_hvector */
int MPI_FN(Type_lb)(MPI_Datatype datatype, MPI_Aint *displacement); /* datatype::type_lb */
int MPI_FN(Type_struct)(int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[], const MPI_Datatype array_of_types[], MPI_Datatype *newtype); /* datatype::type_create_struct */
int MPI_FN(Type_ub)(MPI_Datatype datatype, MPI_Aint *displacement); /* datatype::type_ub */
