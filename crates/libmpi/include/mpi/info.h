/* Functions of the MPI 5.0 standard: info. See ../mpi.h for how this table is read. */
int MPI_FN(Info_create)(MPI_Info *info);
int MPI_FN(Info_create_env)(int argc, char *argv[], MPI_Info *info);
int MPI_FN(Info_delete)(MPI_Info info, const char *key);
int MPI_FN(Info_dup)(MPI_Info info, MPI_Info *newinfo);
int MPI_FN(Info_free)(MPI_Info *info);
int MPI_FN(Info_get)(MPI_Info info, const char *key, int valuelen, char *value, int *flag);
int MPI_FN(Info_get_nkeys)(MPI_Info info, int *nkeys);
int MPI_FN(Info_get_nthkey)(MPI_Info info, int n, char *key);
int MPI_FN(Info_get_string)(MPI_Info info, const char *key, int *buflen, char *value, int *flag);
int MPI_FN(Info_get_valuelen)(MPI_Info info, const char *key, int *valuelen, int *flag);
int MPI_FN(Info_set)(MPI_Info info, const char *key, const char *value);
