/* Functions of the MPI 5.0 standard: one sided. See ../mpi.h for how this table is read. */
int MPI_FN(Accumulate)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win); /* one_sided::accumulate */
int MPI_FN(Accumulate_c)(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win); /* one_sided::accumulate */
int MPI_FN(Compare_and_swap)(const void *origin_addr, const void *compare_addr, void *result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win); /* one_sided::compare_and_swap */
int MPI_FN(Fetch_and_op)(const void *origin_addr, void *result_addr, MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win); /* one_sided::fetch_and_op */
int MPI_FN(Get)(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win); /* one_sided::get */
int MPI_FN(Get_c)(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win); /* one_sided::get */
int MPI_FN(Get_accumulate)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr, int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win); /* one_sided::get_accumulate */
int MPI_FN(Get_accumulate_c)(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, void *result_addr, MPI_Count result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win); /* one_sided::get_accumulate */
int MPI_FN(Put)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win); /* one_sided::put */
int MPI_FN(Put_c)(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win); /* one_sided::put */
int MPI_FN(Raccumulate)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request); /* one_sided::raccumulate */
int MPI_FN(Raccumulate_c)(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request); /* one_sided::raccumulate */
int MPI_FN(Rget)(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request); /* one_sided::rget */
int MPI_FN(Rget_c)(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request); /* one_sided::rget */
int MPI_FN(Rget_accumulate)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, void *result_addr, int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request); /* one_sided::rget_accumulate */
int MPI_FN(Rget_accumulate_c)(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, void *result_addr, MPI_Count result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request *request); /* one_sided::rget_accumulate */
int MPI_FN(Rput)(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request); /* one_sided::rput */
int MPI_FN(Rput_c)(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request); /* one_sided::rput */
int MPI_FN(Win_allocate)(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win); /* one_sided::allocate_window */
int MPI_FN(Win_allocate_c)(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win); /* one_sided::allocate_window */
int MPI_FN(Win_allocate_shared)(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win); /* one_sided::allocate_shared */
int MPI_FN(Win_allocate_shared_c)(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr, MPI_Win *win); /* one_sided::allocate_shared */
int MPI_FN(Win_attach)(MPI_Win win, void *base, MPI_Aint size); /* one_sided::attach */
int MPI_FN(Win_call_errhandler)(MPI_Win win, int errorcode); /* error::call_errhandler */
int MPI_FN(Win_complete)(MPI_Win win); /* one_sided::complete */
int MPI_FN(Win_create)(void *base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win); /* one_sided::create */
int MPI_FN(Win_create_c)(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win); /* one_sided::create */
int MPI_FN(Win_create_dynamic)(MPI_Info info, MPI_Comm comm, MPI_Win *win); /* one_sided::create_dynamic */
int MPI_FN(Win_create_errhandler)(MPI_Win_errhandler_function *win_errhandler_fn, MPI_Errhandler *errhandler); /* error::win_create_errhandler */
int MPI_FN(Win_create_keyval)(MPI_Win_copy_attr_function *win_copy_attr_fn, MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval, void *extra_state); /* attribute::win_create_keyval */
int MPI_FN(Win_delete_attr)(MPI_Win win, int win_keyval); /* attribute::delete_attr */
int MPI_FN(Win_detach)(MPI_Win win, const void *base); /* one_sided::detach */
int MPI_FN(Win_fence)(int assert, MPI_Win win); /* one_sided::fence */
int MPI_FN(Win_flush)(int rank, MPI_Win win); /* one_sided::flush */
int MPI_FN(Win_flush_all)(MPI_Win win); /* one_sided::flush_all */
int MPI_FN(Win_flush_local)(int rank, MPI_Win win); /* one_sided::flush */
int MPI_FN(Win_flush_local_all)(MPI_Win win); /* one_sided::flush_all */
int MPI_FN(Win_free)(MPI_Win *win); /* one_sided::free */
int MPI_FN(Win_free_keyval)(int *win_keyval); /* attribute::free_keyval */
int MPI_FN(Win_get_attr)(MPI_Win win, int win_keyval, void *attribute_val, int *flag); /* attribute::get_attr */
int MPI_FN(Win_get_errhandler)(MPI_Win win, MPI_Errhandler *errhandler); /* error::get_errhandler */
int MPI_FN(Win_get_group)(MPI_Win win, MPI_Group *group); /* one_sided::get_group */
int MPI_FN(Win_get_info)(MPI_Win win, MPI_Info *info_used); /* one_sided::get_info */
int MPI_FN(Win_get_name)(MPI_Win win, char *win_name, int *resultlen); /* one_sided::get_name */
int MPI_FN(Win_lock)(int lock_type, int rank, int assert, MPI_Win win); /* one_sided::lock */
int MPI_FN(Win_lock_all)(int assert, MPI_Win win); /* one_sided::lock_all */
int MPI_FN(Win_post)(MPI_Group group, int assert, MPI_Win win); /* one_sided::post */
int MPI_FN(Win_set_attr)(MPI_Win win, int win_keyval, void *attribute_val); /* attribute::set_attr */
int MPI_FN(Win_set_errhandler)(MPI_Win win, MPI_Errhandler errhandler); /* error::set_errhandler */
int MPI_FN(Win_set_info)(MPI_Win win, MPI_Info info); /* one_sided::set_info */
int MPI_FN(Win_set_name)(MPI_Win win, const char *win_name); /* one_sided::set_name */
int MPI_FN(Win_shared_query)(MPI_Win win, int rank, MPI_Aint *size, int *disp_unit, void *baseptr); /* one_sided::shared_query */
int MPI_FN(Win_shared_query_c)(MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *disp_unit, void *baseptr); /* one_sided::shared_query */
int MPI_FN(Win_start)(MPI_Group group, int assert, MPI_Win win); /* one_sided::start */
int MPI_FN(Win_sync)(MPI_Win win); /* one_sided::sync */
int MPI_FN(Win_test)(MPI_Win win, int *flag); /* one_sided::test */
int MPI_FN(Win_unlock)(int rank, MPI_Win win); /* one_sided::unlock */
int MPI_FN(Win_unlock_all)(MPI_Win win); /* one_sided::unlock_all */
int MPI_FN(Win_wait)(MPI_Win win); /* one_sided::wait */
