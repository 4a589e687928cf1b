/* Functions of the MPI 5.0 standard: communicator. See ../mpi.h for how this table is read. */
int MPI_FN(Comm_compare)(MPI_Comm comm1, MPI_Comm comm2, int *result); /* communicator::compare */
int MPI_FN(Comm_create)(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm); /* creation::create */
int MPI_FN(Comm_create_from_group)(MPI_Group group, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newcomm); /* creation::create_from_group */
int MPI_FN(Comm_create_group)(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm); /* creation::create_group */
int MPI_FN(Comm_dup)(MPI_Comm comm, MPI_Comm *newcomm); /* creation::dup */
int MPI_FN(Comm_dup_with_info)(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm); /* creation::dup_with_info */
int MPI_FN(Comm_free)(MPI_Comm *comm); /* communicator::free */
int MPI_FN(Comm_get_info)(MPI_Comm comm, MPI_Info *info_used); /* info::comm_get_info */
int MPI_FN(Comm_get_name)(MPI_Comm comm, char *comm_name, int *resultlen); /* communicator::get_name */
int MPI_FN(Comm_group)(MPI_Comm comm, MPI_Group *group); /* group::comm_group */
int MPI_FN(Comm_idup)(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request); /* creation::idup */
int MPI_FN(Comm_idup_with_info)(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request); /* creation::idup_with_info */
int MPI_FN(Comm_rank)(MPI_Comm comm, int *rank); /* communicator::rank */
int MPI_FN(Comm_remote_group)(MPI_Comm comm, MPI_Group *group); /* group::comm_remote_group */
int MPI_FN(Comm_remote_size)(MPI_Comm comm, int *size); /* communicator::remote_size */
int MPI_FN(Comm_set_info)(MPI_Comm comm, MPI_Info info); /* info::comm_set_info */
int MPI_FN(Comm_set_name)(MPI_Comm comm, const char *comm_name); /* communicator::set_name */
int MPI_FN(Comm_size)(MPI_Comm comm, int *size); /* communicator::size */
int MPI_FN(Comm_split)(MPI_Comm comm, int color, int key, MPI_Comm *newcomm); /* creation::split */
int MPI_FN(Comm_split_type)(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm); /* creation::split_type */
int MPI_FN(Comm_test_inter)(MPI_Comm comm, int *flag); /* communicator::test_inter */
int MPI_FN(Intercomm_create)(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag, MPI_Comm *newintercomm); /* creation::intercomm_create */
int MPI_FN(Intercomm_create_from_groups)(MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newintercomm); /* creation::intercomm_create_from_groups */
int MPI_FN(Intercomm_merge)(MPI_Comm intercomm, int high, MPI_Comm *newintracomm); /* creation::intercomm_merge */
