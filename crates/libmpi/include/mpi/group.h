/* Functions of the MPI 5.0 standard: group. See ../mpi.h for how this table is read. */
int MPI_FN(Group_compare)(MPI_Group group1, MPI_Group group2, int *result); /* group::compare */
int MPI_FN(Group_difference)(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup); /* group::difference */
int MPI_FN(Group_excl)(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup); /* group::excl */
int MPI_FN(Group_free)(MPI_Group *group); /* group::free */
int MPI_FN(Group_from_session_pset)(MPI_Session session, const char *pset_name, MPI_Group *newgroup); /* session::group_from_pset */
int MPI_FN(Group_incl)(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup); /* group::incl */
int MPI_FN(Group_intersection)(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup); /* group::intersection */
int MPI_FN(Group_range_excl)(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup); /* group::range_excl */
int MPI_FN(Group_range_incl)(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup); /* group::range_incl */
int MPI_FN(Group_rank)(MPI_Group group, int *rank); /* group::rank */
int MPI_FN(Group_size)(MPI_Group group, int *size); /* group::size */
int MPI_FN(Group_translate_ranks)(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[]); /* group::translate_ranks */
int MPI_FN(Group_union)(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup); /* group::union */
