/* Functions of the MPI 5.0 standard: attribute. See ../mpi.h for how this table is read. */
int MPI_FN(Attr_delete)(MPI_Comm comm, int keyval); /* attribute::delete_attr */
int MPI_FN(Attr_get)(MPI_Comm comm, int keyval, void *attribute_val, int *flag); /* attribute::get_attr */
int MPI_FN(Attr_put)(MPI_Comm comm, int keyval, void *attribute_val); /* attribute::set_attr */
int MPI_FN(Comm_create_keyval)(MPI_Comm_copy_attr_function *comm_copy_attr_fn, MPI_Comm_delete_attr_function *comm_delete_attr_fn, int *comm_keyval, void *extra_state); /* attribute::comm_create_keyval */
int MPI_FN(Comm_delete_attr)(MPI_Comm comm, int comm_keyval); /* attribute::delete_attr */
int MPI_FN(Comm_free_keyval)(int *comm_keyval); /* attribute::free_keyval */
int MPI_FN(Comm_get_attr)(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag); /* attribute::get_attr */
int MPI_FN(Comm_set_attr)(MPI_Comm comm, int comm_keyval, void *attribute_val); /* attribute::set_attr */
int MPI_FN(Keyval_create)(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval, void *extra_state); /* attribute::comm_create_keyval */
int MPI_FN(Keyval_free)(int *keyval); /* attribute::free_keyval */
int MPI_FN(Type_create_keyval)(MPI_Type_copy_attr_function *type_copy_attr_fn, MPI_Type_delete_attr_function *type_delete_attr_fn, int *type_keyval, void *extra_state); /* attribute::type_create_keyval */
int MPI_FN(Type_delete_attr)(MPI_Datatype datatype, int type_keyval); /* attribute::delete_attr */
int MPI_FN(Type_free_keyval)(int *type_keyval); /* attribute::free_keyval */
int MPI_FN(Type_get_attr)(MPI_Datatype datatype, int type_keyval, void *attribute_val, int *flag); /* attribute::get_attr */
int MPI_FN(Type_set_attr)(MPI_Datatype datatype, int type_keyval, void *attribute_val); /* attribute::set_attr */
