/* Functions of the MPI 5.0 standard: dynamic. See ../mpi.h for how this table is read. */
int MPI_FN(Close_port)(const char *port_name); /* dynamic::close_port */
int MPI_FN(Comm_accept)(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm); /* dynamic::meet */
int MPI_FN(Comm_connect)(const char *port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *newcomm); /* dynamic::meet */
int MPI_FN(Comm_disconnect)(MPI_Comm *comm); /* communicator::free */
int MPI_FN(Comm_get_parent)(MPI_Comm *parent); /* dynamic::get_parent */
int MPI_FN(Comm_join)(int fd, MPI_Comm *intercomm); /* dynamic::join */
int MPI_FN(Comm_spawn)(const char *command, char *argv[], int maxprocs, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[]); /* dynamic::spawn */
int MPI_FN(Comm_spawn_multiple)(int count, char *array_of_commands[], char * *array_of_argv[], const int array_of_maxprocs[], const MPI_Info array_of_info[], int root, MPI_Comm comm, MPI_Comm *intercomm, int array_of_errcodes[]); /* dynamic::spawn_multiple */
int MPI_FN(Lookup_name)(const char *service_name, MPI_Info info, char *port_name); /* dynamic::lookup_name */
int MPI_FN(Open_port)(MPI_Info info, char *port_name); /* dynamic::open_port */
int MPI_FN(Publish_name)(const char *service_name, MPI_Info info, const char *port_name); /* dynamic::publish_name */
int MPI_FN(Unpublish_name)(const char *service_name, MPI_Info info, const char *port_name); /* dynamic::unpublish_name */
