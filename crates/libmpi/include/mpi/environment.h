/* Functions of the MPI 5.0 standard: environment. See ../mpi.h for how this table is read. */
int MPI_FN(Abort)(MPI_Comm comm, int errorcode); /* environment::abort */
int MPI_FN(Alloc_mem)(MPI_Aint size, MPI_Info info, void *baseptr); /* environment::alloc_mem */
int MPI_FN(Finalize)(void); /* environment::finalize */
int MPI_FN(Finalized)(int *flag); /* environment::finalized */
int MPI_FN(Free_mem)(void *base); /* environment::free_mem */
int MPI_FN(Get_hw_resource_info)(MPI_Info *hw_info); /* info::get_hw_resource_info */
int MPI_FN(Get_library_version)(char *version, int *resultlen); /* environment::get_library_version */
int MPI_FN(Get_processor_name)(char *name, int *resultlen); /* environment::get_processor_name */
int MPI_FN(Get_version)(int *version, int *subversion); /* environment::get_version */
int MPI_FN(Init)(int *argc, char * * *argv); /* environment::init */
int MPI_FN(Init_thread)(int *argc, char * * *argv, int required, int *provided); /* environment::init_thread */
int MPI_FN(Initialized)(int *flag); /* environment::initialized */
int MPI_FN(Is_thread_main)(int *flag); /* environment::is_thread_main */
int MPI_FN(Pcontrol)(const int level, ...); /* environment::pcontrol */
int MPI_FN(Query_thread)(int *provided); /* environment::query_thread */
double MPI_FN(Wtick)(void); /* environment::wtick */
double MPI_FN(Wtime)(void); /* environment::wtime */
