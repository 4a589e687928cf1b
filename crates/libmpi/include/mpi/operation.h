/* Functions of the MPI 5.0 standard: operation. See ../mpi.h for how this table is read. */
int MPI_FN(Op_commutative)(MPI_Op op, int *commute); /* operation::op_commutative */
int MPI_FN(Op_create)(MPI_User_function *user_fn, int commute, MPI_Op *op); /* operation::op_create */
int MPI_FN(Op_create_c)(MPI_User_function_c *user_fn, int commute, MPI_Op *op); /* operation::op_create_c */
int MPI_FN(Op_free)(MPI_Op *op); /* operation::op_free */
