/* Functions of the MPI 5.0 standard: file. See ../mpi.h for how this table is read. */
int MPI_FN(File_call_errhandler)(MPI_File fh, int errorcode); /* error::call_errhandler */
int MPI_FN(File_close)(MPI_File *fh); /* file::close */
int MPI_FN(File_create_errhandler)(MPI_File_errhandler_function *file_errhandler_fn, MPI_Errhandler *errhandler); /* error::file_create_errhandler */
int MPI_FN(File_delete)(const char *filename, MPI_Info info); /* file::delete */
int MPI_FN(File_get_amode)(MPI_File fh, int *amode); /* file::get_amode */
int MPI_FN(File_get_atomicity)(MPI_File fh, int *flag); /* file::get_atomicity */
int MPI_FN(File_get_byte_offset)(MPI_File fh, MPI_Offset offset, MPI_Offset *disp); /* file::position::get_byte_offset */
int MPI_FN(File_get_errhandler)(MPI_File file, MPI_Errhandler *errhandler); /* error::get_errhandler */
int MPI_FN(File_get_group)(MPI_File fh, MPI_Group *group); /* file::get_group */
int MPI_FN(File_get_info)(MPI_File fh, MPI_Info *info_used); /* file::get_info */
int MPI_FN(File_get_position)(MPI_File fh, MPI_Offset *offset); /* file::position::get_position */
int MPI_FN(File_get_position_shared)(MPI_File fh, MPI_Offset *offset); /* file::position::get_position_shared */
int MPI_FN(File_get_size)(MPI_File fh, MPI_Offset *size); /* file::get_size */
int MPI_FN(File_get_type_extent)(MPI_File fh, MPI_Datatype datatype, MPI_Aint *extent); /* file::position::get_type_extent */
int MPI_FN(File_get_type_extent_c)(MPI_File fh, MPI_Datatype datatype, MPI_Count *extent); /* file::position::get_type_extent */
int MPI_FN(File_get_view)(MPI_File fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep); /* file::position::get_view */
int MPI_FN(File_iread)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iread */
int MPI_FN(File_iread_c)(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iread */
int MPI_FN(File_iread_all)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iread_all */
int MPI_FN(File_iread_all_c)(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iread_all */
int MPI_FN(File_iread_at)(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iread_at */
int MPI_FN(File_iread_at_c)(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iread_at */
int MPI_FN(File_iread_at_all)(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iread_at_all */
int MPI_FN(File_iread_at_all_c)(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iread_at_all */
int MPI_FN(File_iread_shared)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iread_shared */
int MPI_FN(File_iread_shared_c)(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iread_shared */
int MPI_FN(File_iwrite)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iwrite */
int MPI_FN(File_iwrite_c)(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iwrite */
int MPI_FN(File_iwrite_all)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iwrite_all */
int MPI_FN(File_iwrite_all_c)(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iwrite_all */
int MPI_FN(File_iwrite_at)(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iwrite_at */
int MPI_FN(File_iwrite_at_c)(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iwrite_at */
int MPI_FN(File_iwrite_at_all)(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iwrite_at_all */
int MPI_FN(File_iwrite_at_all_c)(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iwrite_at_all */
int MPI_FN(File_iwrite_shared)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iwrite_shared */
int MPI_FN(File_iwrite_shared_c)(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Request *request); /* file::transfer::iwrite_shared */
int MPI_FN(File_open)(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh); /* file::open */
int MPI_FN(File_preallocate)(MPI_File fh, MPI_Offset size); /* file::preallocate */
int MPI_FN(File_read)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read */
int MPI_FN(File_read_c)(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read */
int MPI_FN(File_read_all)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read_all */
int MPI_FN(File_read_all_c)(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read_all */
int MPI_FN(File_read_all_begin)(MPI_File fh, void *buf, int count, MPI_Datatype datatype); /* file::transfer::read_all_begin */
int MPI_FN(File_read_all_begin_c)(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype); /* file::transfer::read_all_begin */
int MPI_FN(File_read_all_end)(MPI_File fh, void *buf, MPI_Status *status); /* file::transfer::read_all_end */
int MPI_FN(File_read_at)(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read_at */
int MPI_FN(File_read_at_c)(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read_at */
int MPI_FN(File_read_at_all)(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read_at_all */
int MPI_FN(File_read_at_all_c)(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read_at_all */
int MPI_FN(File_read_at_all_begin)(MPI_File fh, MPI_Offset offset, void *buf, int count, MPI_Datatype datatype); /* file::transfer::read_at_all_begin */
int MPI_FN(File_read_at_all_begin_c)(MPI_File fh, MPI_Offset offset, void *buf, MPI_Count count, MPI_Datatype datatype); /* file::transfer::read_at_all_begin */
int MPI_FN(File_read_at_all_end)(MPI_File fh, void *buf, MPI_Status *status); /* file::transfer::read_at_all_end */
int MPI_FN(File_read_ordered)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read_ordered */
int MPI_FN(File_read_ordered_c)(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read_ordered */
int MPI_FN(File_read_ordered_begin)(MPI_File fh, void *buf, int count, MPI_Datatype datatype); /* file::transfer::read_ordered_begin */
int MPI_FN(File_read_ordered_begin_c)(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype); /* file::transfer::read_ordered_begin */
int MPI_FN(File_read_ordered_end)(MPI_File fh, void *buf, MPI_Status *status); /* file::transfer::read_ordered_end */
int MPI_FN(File_read_shared)(MPI_File fh, void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read_shared */
int MPI_FN(File_read_shared_c)(MPI_File fh, void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::read_shared */
int MPI_FN(File_seek)(MPI_File fh, MPI_Offset offset, int whence); /* file::position::seek */
int MPI_FN(File_seek_shared)(MPI_File fh, MPI_Offset offset, int whence); /* file::position::seek_shared */
int MPI_FN(File_set_atomicity)(MPI_File fh, int flag); /* file::set_atomicity */
int MPI_FN(File_set_errhandler)(MPI_File file, MPI_Errhandler errhandler); /* error::set_errhandler */
int MPI_FN(File_set_info)(MPI_File fh, MPI_Info info); /* file::set_info */
int MPI_FN(File_set_size)(MPI_File fh, MPI_Offset size); /* file::set_size */
int MPI_FN(File_set_view)(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep, MPI_Info info); /* file::position::set_view */
int MPI_FN(File_sync)(MPI_File fh); /* file::sync */
int MPI_FN(File_write)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write */
int MPI_FN(File_write_c)(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write */
int MPI_FN(File_write_all)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write_all */
int MPI_FN(File_write_all_c)(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write_all */
int MPI_FN(File_write_all_begin)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype); /* file::transfer::write_all_begin */
int MPI_FN(File_write_all_begin_c)(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype); /* file::transfer::write_all_begin */
int MPI_FN(File_write_all_end)(MPI_File fh, const void *buf, MPI_Status *status); /* file::transfer::write_all_end */
int MPI_FN(File_write_at)(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write_at */
int MPI_FN(File_write_at_c)(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write_at */
int MPI_FN(File_write_at_all)(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write_at_all */
int MPI_FN(File_write_at_all_c)(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write_at_all */
int MPI_FN(File_write_at_all_begin)(MPI_File fh, MPI_Offset offset, const void *buf, int count, MPI_Datatype datatype); /* file::transfer::write_at_all_begin */
int MPI_FN(File_write_at_all_begin_c)(MPI_File fh, MPI_Offset offset, const void *buf, MPI_Count count, MPI_Datatype datatype); /* file::transfer::write_at_all_begin */
int MPI_FN(File_write_at_all_end)(MPI_File fh, const void *buf, MPI_Status *status); /* file::transfer::write_at_all_end */
int MPI_FN(File_write_ordered)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write_ordered */
int MPI_FN(File_write_ordered_c)(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write_ordered */
int MPI_FN(File_write_ordered_begin)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype); /* file::transfer::write_ordered_begin */
int MPI_FN(File_write_ordered_begin_c)(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype); /* file::transfer::write_ordered_begin */
int MPI_FN(File_write_ordered_end)(MPI_File fh, const void *buf, MPI_Status *status); /* file::transfer::write_ordered_end */
int MPI_FN(File_write_shared)(MPI_File fh, const void *buf, int count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write_shared */
int MPI_FN(File_write_shared_c)(MPI_File fh, const void *buf, MPI_Count count, MPI_Datatype datatype, MPI_Status *status); /* file::transfer::write_shared */
int MPI_FN(Register_datarep)(const char *datarep, MPI_Datarep_conversion_function *read_conversion_fn, MPI_Datarep_conversion_function *write_conversion_fn, MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state); /* file::representation::register */
int MPI_FN(Register_datarep_c)(const char *datarep, MPI_Datarep_conversion_function_c *read_conversion_fn, MPI_Datarep_conversion_function_c *write_conversion_fn, MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state); /* file::representation::register_c */
