/* Functions of the MPI 5.0 standard: tool. See ../mpi.h for how this table is read. */
int MPI_FN(T_category_changed)(int *update_number); /* tool::category_changed */
int MPI_FN(T_category_get_categories)(int cat_index, int len, int indices[]); /* tool::category_get_none */
int MPI_FN(T_category_get_cvars)(int cat_index, int len, int indices[]); /* tool::category_get_cvars */
int MPI_FN(T_category_get_events)(int cat_index, int len, int indices[]); /* tool::category_get_none */
int MPI_FN(T_category_get_index)(const char *name, int *cat_index); /* tool::category_get_index */
int MPI_FN(T_category_get_info)(int cat_index, char *name, int *name_len, char *desc, int *desc_len, int *num_cvars, int *num_pvars, int *num_categories); /* tool::category_get_info */
int MPI_FN(T_category_get_num)(int *num_cat); /* tool::category_get_num */
int MPI_FN(T_category_get_num_events)(int cat_index, int *num_events); /* tool::category_get_num_events */
int MPI_FN(T_category_get_pvars)(int cat_index, int len, int indices[]); /* tool::category_get_pvars */
int MPI_FN(T_cvar_get_index)(const char *name, int *cvar_index); /* tool::cvar_get_index */
int MPI_FN(T_cvar_get_info)(int cvar_index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *scope); /* tool::cvar_get_info */
int MPI_FN(T_cvar_get_num)(int *num_cvar); /* tool::cvar_get_num */
int MPI_FN(T_cvar_handle_alloc)(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count); /* tool::cvar_handle_alloc */
int MPI_FN(T_cvar_handle_free)(MPI_T_cvar_handle *handle); /* tool::cvar_handle_free */
int MPI_FN(T_cvar_read)(MPI_T_cvar_handle handle, void *buf); /* tool::cvar_read */
int MPI_FN(T_cvar_write)(MPI_T_cvar_handle handle, const void *buf); /* tool::cvar_write */
int MPI_FN(T_enum_get_info)(MPI_T_enum enumtype, int *num, char *name, int *name_len); /* tool::enum_get_info */
int MPI_FN(T_enum_get_item)(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len); /* tool::enum_get_item */
int MPI_FN(T_event_callback_get_info)(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info *info_used); /* tool::event_callback_get_info */
int MPI_FN(T_event_callback_set_info)(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info info); /* tool::event_callback_set_info */
int MPI_FN(T_event_copy)(MPI_T_event_instance event_instance, void *buffer); /* tool::event_copy */
int MPI_FN(T_event_get_index)(const char *name, int *event_index); /* tool::event_get_index */
int MPI_FN(T_event_get_info)(int event_index, char *name, int *name_len, int *verbosity, MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[], int *num_elements, MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len, int *bind); /* tool::event_get_info */
int MPI_FN(T_event_get_num)(int *num_events); /* tool::event_get_num */
int MPI_FN(T_event_get_source)(MPI_T_event_instance event_instance, int *source_index); /* tool::event_get_source */
int MPI_FN(T_event_get_timestamp)(MPI_T_event_instance event_instance, MPI_Count *event_timestamp); /* tool::event_get_timestamp */
int MPI_FN(T_event_handle_alloc)(int event_index, void *obj_handle, MPI_Info info, MPI_T_event_registration *event_registration); /* tool::event_handle_alloc */
int MPI_FN(T_event_handle_free)(MPI_T_event_registration event_registration, void *user_data, MPI_T_event_free_cb_function free_cb_function); /* tool::event_handle_free */
int MPI_FN(T_event_handle_get_info)(MPI_T_event_registration event_registration, MPI_Info *info_used); /* tool::event_handle_get_info */
int MPI_FN(T_event_handle_set_info)(MPI_T_event_registration event_registration, MPI_Info info); /* tool::event_handle_set_info */
int MPI_FN(T_event_read)(MPI_T_event_instance event_instance, int element_index, void *buffer); /* tool::event_read */
int MPI_FN(T_event_register_callback)(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info info, void *user_data, MPI_T_event_cb_function event_cb_function); /* tool::event_register_callback */
int MPI_FN(T_event_set_dropped_handler)(MPI_T_event_registration event_registration, MPI_T_event_dropped_cb_function dropped_cb_function); /* tool::event_set_dropped_handler */
int MPI_FN(T_finalize)(void); /* tool::finalize */
int MPI_FN(T_init_thread)(int required, int *provided); /* tool::init_thread */
int MPI_FN(T_pvar_get_index)(const char *name, int var_class, int *pvar_index); /* tool::pvar_get_index */
int MPI_FN(T_pvar_get_info)(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class, MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *readonly, int *continuous, int *atomic); /* tool::pvar_get_info */
int MPI_FN(T_pvar_get_num)(int *num_pvar); /* tool::pvar_get_num */
int MPI_FN(T_pvar_handle_alloc)(MPI_T_pvar_session session, int pvar_index, void *obj_handle, MPI_T_pvar_handle *handle, int *count); /* tool::pvar_handle_alloc */
int MPI_FN(T_pvar_handle_free)(MPI_T_pvar_session session, MPI_T_pvar_handle *handle); /* tool::pvar_handle_free */
int MPI_FN(T_pvar_read)(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf); /* tool::pvar_read */
int MPI_FN(T_pvar_readreset)(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf); /* tool::pvar_readreset */
int MPI_FN(T_pvar_reset)(MPI_T_pvar_session session, MPI_T_pvar_handle handle); /* tool::pvar_reset */
int MPI_FN(T_pvar_session_create)(MPI_T_pvar_session *session); /* tool::pvar_session_create */
int MPI_FN(T_pvar_session_free)(MPI_T_pvar_session *session); /* tool::pvar_session_free */
int MPI_FN(T_pvar_start)(MPI_T_pvar_session session, MPI_T_pvar_handle handle); /* tool::pvar_start_or_stop */
int MPI_FN(T_pvar_stop)(MPI_T_pvar_session session, MPI_T_pvar_handle handle); /* tool::pvar_start_or_stop */
int MPI_FN(T_pvar_write)(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf); /* tool::pvar_write */
int MPI_FN(T_source_get_info)(int source_index, char *name, int *name_len, char *desc, int *desc_len, MPI_T_source_order *ordering, MPI_Count *ticks_per_second, MPI_Count *max_ticks, MPI_Info *info); /* tool::source_get_info */
int MPI_FN(T_source_get_num)(int *num_sources); /* tool::source_get_num */
int MPI_FN(T_source_get_timestamp)(int source_index, MPI_Count *timestamp); /* tool::source_get_timestamp */
