/* Functions of the MPI 5.0 standard: session. See ../mpi.h for how this table is read. */
int MPI_FN(Session_attach_buffer)(MPI_Session session, void *buffer, int size); /* point_to_point::session_attach_buffer */
int MPI_FN(Session_attach_buffer_c)(MPI_Session session, void *buffer, MPI_Count size); /* point_to_point::session_attach_buffer */
int MPI_FN(Session_call_errhandler)(MPI_Session session, int errorcode); /* error::call_errhandler */
int MPI_FN(Session_create_errhandler)(MPI_Session_errhandler_function *session_errhandler_fn, MPI_Errhandler *errhandler); /* error::session_create_errhandler */
int MPI_FN(Session_detach_buffer)(MPI_Session session, void *buffer_addr, int *size); /* point_to_point::session_detach_buffer */
int MPI_FN(Session_detach_buffer_c)(MPI_Session session, void *buffer_addr, MPI_Count *size); /* point_to_point::session_detach_buffer */
int MPI_FN(Session_finalize)(MPI_Session *session); /* session::finalize */
int MPI_FN(Session_flush_buffer)(MPI_Session session); /* point_to_point::session_flush_buffer */
int MPI_FN(Session_get_errhandler)(MPI_Session session, MPI_Errhandler *errhandler); /* error::get_errhandler */
int MPI_FN(Session_get_info)(MPI_Session session, MPI_Info *info_used); /* session::get_info */
int MPI_FN(Session_get_nth_pset)(MPI_Session session, MPI_Info info, int n, int *pset_len, char *pset_name); /* session::get_nth_pset */
int MPI_FN(Session_get_num_psets)(MPI_Session session, MPI_Info info, int *npset_names); /* session::get_num_psets */
int MPI_FN(Session_get_pset_info)(MPI_Session session, const char *pset_name, MPI_Info *info); /* session::get_pset_info */
int MPI_FN(Session_iflush_buffer)(MPI_Session session, MPI_Request *request); /* point_to_point::session_iflush_buffer */
int MPI_FN(Session_init)(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session); /* session::init */
int MPI_FN(Session_set_errhandler)(MPI_Session session, MPI_Errhandler errhandler); /* error::set_errhandler */
