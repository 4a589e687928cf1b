/* Functions of the MPI 5.0 standard: language. See ../mpi.h for how this table is read. */
int MPI_FN(Abi_get_fortran_booleans)(int logical_size, void *logical_true, void *logical_false, int *is_set); /* environment::abi_get_fortran_booleans */
int MPI_FN(Abi_get_fortran_info)(MPI_Info *info); /* environment::abi_get_fortran_info */
int MPI_FN(Abi_get_info)(MPI_Info *info); /* info::abi_get_info */
int MPI_FN(Abi_get_version)(int *abi_major, int *abi_minor); /* environment::abi_get_version */
int MPI_FN(Abi_set_fortran_booleans)(int logical_size, void *logical_true, void *logical_false); /* environment::abi_set_fortran_booleans */
int MPI_FN(Abi_set_fortran_info)(MPI_Info info); /* environment::abi_set_fortran_info */
MPI_Fint MPI_FN(Comm_c2f)(MPI_Comm comm); /* language::to_number */
MPI_Comm MPI_FN(Comm_f2c)(MPI_Fint comm); /* language::from_number */
MPI_Comm MPI_FN(Comm_fromint)(int comm); /* language::from_number */
int MPI_FN(Comm_toint)(MPI_Comm comm); /* language::to_number */
MPI_Fint MPI_FN(Errhandler_c2f)(MPI_Errhandler errhandler); /* language::to_number */
MPI_Errhandler MPI_FN(Errhandler_f2c)(MPI_Fint errhandler); /* language::from_number */
MPI_Errhandler MPI_FN(Errhandler_fromint)(int errhandler); /* language::from_number */
int MPI_FN(Errhandler_toint)(MPI_Errhandler errhandler); /* language::to_number */
MPI_Fint MPI_FN(File_c2f)(MPI_File file); /* language::to_number */
MPI_File MPI_FN(File_f2c)(MPI_Fint file); /* language::from_number */
MPI_File MPI_FN(File_fromint)(int file); /* language::from_number */
int MPI_FN(File_toint)(MPI_File file); /* language::to_number */
MPI_Fint MPI_FN(Group_c2f)(MPI_Group group); /* language::to_number */
MPI_Group MPI_FN(Group_f2c)(MPI_Fint group); /* language::from_number */
MPI_Group MPI_FN(Group_fromint)(int group); /* language::from_number */
int MPI_FN(Group_toint)(MPI_Group group); /* language::to_number */
MPI_Fint MPI_FN(Info_c2f)(MPI_Info info); /* language::to_number */
MPI_Info MPI_FN(Info_f2c)(MPI_Fint info); /* language::from_number */
MPI_Info MPI_FN(Info_fromint)(int info); /* language::from_number */
int MPI_FN(Info_toint)(MPI_Info info); /* language::to_number */
MPI_Fint MPI_FN(Message_c2f)(MPI_Message message); /* language::to_number */
MPI_Message MPI_FN(Message_f2c)(MPI_Fint message); /* language::from_number */
MPI_Message MPI_FN(Message_fromint)(int message); /* language::from_number */
int MPI_FN(Message_toint)(MPI_Message message); /* language::to_number */
MPI_Fint MPI_FN(Op_c2f)(MPI_Op op); /* language::to_number */
MPI_Op MPI_FN(Op_f2c)(MPI_Fint op); /* language::from_number */
MPI_Op MPI_FN(Op_fromint)(int op); /* language::from_number */
int MPI_FN(Op_toint)(MPI_Op op); /* language::to_number */
MPI_Fint MPI_FN(Request_c2f)(MPI_Request request); /* language::to_number */
MPI_Request MPI_FN(Request_f2c)(MPI_Fint request); /* language::from_number */
MPI_Request MPI_FN(Request_fromint)(int request); /* language::from_number */
int MPI_FN(Request_toint)(MPI_Request request); /* language::to_number */
MPI_Fint MPI_FN(Session_c2f)(MPI_Session session); /* language::to_number */
MPI_Session MPI_FN(Session_f2c)(MPI_Fint session); /* language::from_number */
MPI_Session MPI_FN(Session_fromint)(int session); /* language::from_number */
int MPI_FN(Session_toint)(MPI_Session session); /* language::to_number */
int MPI_FN(Status_c2f)(const MPI_Status *c_status, MPI_Fint *f_status); /* language::status */
int MPI_FN(Status_c2f08)(const MPI_Status *c_status, MPI_F08_status *f08_status); /* language::status */
int MPI_FN(Status_f082c)(const MPI_F08_status *f08_status, MPI_Status *c_status); /* language::status */
int MPI_FN(Status_f082f)(const MPI_F08_status *f08_status, MPI_Fint *f_status); /* language::status */
int MPI_FN(Status_f2c)(const MPI_Fint *f_status, MPI_Status *c_status); /* language::status */
int MPI_FN(Status_f2f08)(const MPI_Fint *f_status, MPI_F08_status *f08_status); /* language::status */
MPI_Fint MPI_FN(Type_c2f)(MPI_Datatype datatype); /* language::to_number */
MPI_Datatype MPI_FN(Type_f2c)(MPI_Fint datatype); /* language::from_number */
MPI_Datatype MPI_FN(Type_fromint)(int datatype); /* language::from_number */
int MPI_FN(Type_toint)(MPI_Datatype datatype); /* language::to_number */
MPI_Fint MPI_FN(Win_c2f)(MPI_Win win); /* language::to_number */
MPI_Win MPI_FN(Win_f2c)(MPI_Fint win); /* language::from_number */
MPI_Win MPI_FN(Win_fromint)(int win); /* language::from_number */
int MPI_FN(Win_toint)(MPI_Win win); /* language::to_number */
