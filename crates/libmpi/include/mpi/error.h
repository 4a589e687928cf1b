/* Functions of the MPI 5.0 standard: error. See ../mpi.h for how this table is read. */
int MPI_FN(Add_error_class)(int *errorclass); /* error::add_error_class */
int MPI_FN(Add_error_code)(int errorclass, int *errorcode); /* error::add_error_code */
int MPI_FN(Add_error_string)(int errorcode, const char *string); /* error::add_error_string */
int MPI_FN(Comm_call_errhandler)(MPI_Comm comm, int errorcode); /* error::call_errhandler */
int MPI_FN(Comm_create_errhandler)(MPI_Comm_errhandler_function *comm_errhandler_fn, MPI_Errhandler *errhandler); /* error::comm_create_errhandler */
int MPI_FN(Comm_get_errhandler)(MPI_Comm comm, MPI_Errhandler *errhandler); /* error::get_errhandler */
int MPI_FN(Comm_set_errhandler)(MPI_Comm comm, MPI_Errhandler errhandler); /* error::set_errhandler */
int MPI_FN(Errhandler_free)(MPI_Errhandler *errhandler); /* error::errhandler_free */
int MPI_FN(Error_class)(int errorcode, int *errorclass); /* error::error_class */
int MPI_FN(Error_string)(int errorcode, char *string, int *resultlen); /* error::error_string */
int MPI_FN(Remove_error_class)(int errorclass); /* error::remove_error_class */
int MPI_FN(Remove_error_code)(int errorcode); /* error::remove_error_code */
int MPI_FN(Remove_error_string)(int errorcode); /* error::remove_error_string */
