/* Functions of the MPI 5.0 standard: info. See ../mpi.h for how this table is read. */
int MPI_FN(Info_create)(MPI_Info *info); /* info::create */
int MPI_FN(Info_create_env)(int argc, char *argv[], MPI_Info *info); /* info::create_env */
int MPI_FN(Info_delete)(MPI_Info info, const char *key); /* info::delete */
int MPI_FN(Info_dup)(MPI_Info info, MPI_Info *newinfo); /* info::dup */
int MPI_FN(Info_free)(MPI_Info *info); /* info::free */
int MPI_FN(Info_get)(MPI_Info info, const char *key, int valuelen, char *value, int *flag); /* info::get */
int MPI_FN(Info_get_nkeys)(MPI_Info info, int *nkeys); /* info::get_nkeys */
int MPI_FN(Info_get_nthkey)(MPI_Info info, int n, char *key); /* info::get_nthkey */
int MPI_FN(Info_get_string)(MPI_Info info, const char *key, int *buflen, char *value, int *flag); /* info::get_string */
int MPI_FN(Info_get_valuelen)(MPI_Info info, const char *key, int *valuelen, int *flag); /* info::get_valuelen */
int MPI_FN(Info_set)(MPI_Info info, const char *key, const char *value); /* info::set */
