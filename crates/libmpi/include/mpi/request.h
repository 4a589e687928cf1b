/* Functions of the MPI 5.0 standard: request. See ../mpi.h for how this table is read. */
int MPI_FN(Cancel)(MPI_Request *request); /* request::cancel */
int MPI_FN(Grequest_complete)(MPI_Request request); /* request::grequest_complete */
int MPI_FN(Grequest_start)(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn, MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *request); /* request::grequest_start */
int MPI_FN(Request_free)(MPI_Request *request); /* request::request_free */
int MPI_FN(Request_get_status)(MPI_Request request, int *flag, MPI_Status *status); /* request::get_status */
int MPI_FN(Request_get_status_all)(int count, const MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses); /* request::get_status_all */
int MPI_FN(Request_get_status_any)(int count, const MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status); /* request::get_status_any */
int MPI_FN(Request_get_status_some)(int incount, const MPI_Request array_of_requests[], int *outcount, int array_of_indices[], MPI_Status *array_of_statuses); /* request::get_status_some */
int MPI_FN(Start)(MPI_Request *request); /* request::start */
int MPI_FN(Startall)(int count, MPI_Request array_of_requests[]); /* request::startall */
int MPI_FN(Status_get_error)(const MPI_Status *status, int *error); /* request::get_error */
int MPI_FN(Status_get_source)(const MPI_Status *status, int *source); /* request::get_source */
int MPI_FN(Status_get_tag)(const MPI_Status *status, int *tag); /* request::get_tag */
int MPI_FN(Status_set_cancelled)(MPI_Status *status, int flag); /* request::set_cancelled */
int MPI_FN(Status_set_error)(MPI_Status *status, int error); /* request::set_error */
int MPI_FN(Status_set_source)(MPI_Status *status, int source); /* request::set_source */
int MPI_FN(Status_set_tag)(MPI_Status *status, int tag); /* request::set_tag */
int MPI_FN(Test)(MPI_Request *request, int *flag, MPI_Status *status); /* request::test */
int MPI_FN(Test_cancelled)(const MPI_Status *status, int *flag); /* request::test_cancelled */
int MPI_FN(Testall)(int count, MPI_Request array_of_requests[], int *flag, MPI_Status *array_of_statuses); /* request::testall */
int MPI_FN(Testany)(int count, MPI_Request array_of_requests[], int *indx, int *flag, MPI_Status *status); /* request::testany */
int MPI_FN(Testsome)(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[], MPI_Status *array_of_statuses); /* request::testsome */
int MPI_FN(Wait)(MPI_Request *request, MPI_Status *status); /* request::wait */
int MPI_FN(Waitall)(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses); /* request::waitall */
int MPI_FN(Waitany)(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status); /* request::waitany */
int MPI_FN(Waitsome)(int incount, MPI_Request array_of_requests[], int *outcount, int array_of_indices[], MPI_Status *array_of_statuses); /* request::waitsome */
