/* Functions of the MPI 5.0 standard: topology. See ../mpi.h for how this table is read. */
int MPI_FN(Cart_coords)(MPI_Comm comm, int rank, int maxdims, int coords[]); /* topology::cart_coords */
int MPI_FN(Cart_create)(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder, MPI_Comm *comm_cart); /* topology::cart_create */
int MPI_FN(Cart_get)(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[]); /* topology::cart_get */
int MPI_FN(Cart_map)(MPI_Comm comm, int ndims, const int dims[], const int periods[], int *newrank); /* topology::cart_map */
int MPI_FN(Cart_rank)(MPI_Comm comm, const int coords[], int *rank); /* topology::cart_rank */
int MPI_FN(Cart_shift)(MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest); /* topology::cart_shift */
int MPI_FN(Cart_sub)(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm); /* topology::cart_sub */
int MPI_FN(Cartdim_get)(MPI_Comm comm, int *ndims); /* topology::cartdim_get */
int MPI_FN(Dims_create)(int nnodes, int ndims, int dims[]); /* topology::dims_create */
int MPI_FN(Dist_graph_create)(MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[], const int *weights, MPI_Info info, int reorder, MPI_Comm *comm_dist_graph); /* topology::dist_graph_create */
int MPI_FN(Dist_graph_create_adjacent)(MPI_Comm comm_old, int indegree, const int sources[], const int *sourceweights, int outdegree, const int destinations[], const int *destweights, MPI_Info info, int reorder, MPI_Comm *comm_dist_graph); /* topology::dist_graph_create_adjacent */
int MPI_FN(Dist_graph_neighbors)(MPI_Comm comm, int maxindegree, int sources[], int *sourceweights, int maxoutdegree, int destinations[], int *destweights); /* topology::dist_graph_neighbors */
int MPI_FN(Dist_graph_neighbors_count)(MPI_Comm comm, int *indegree, int *outdegree, int *weighted); /* topology::dist_graph_neighbors_count */
int MPI_FN(Graph_create)(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[], int reorder, MPI_Comm *comm_graph); /* topology::graph_create */
int MPI_FN(Graph_get)(MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[]); /* topology::graph_get */
int MPI_FN(Graph_map)(MPI_Comm comm, int nnodes, const int indx[], const int edges[], int *newrank); /* topology::graph_map */
int MPI_FN(Graph_neighbors)(MPI_Comm comm, int rank, int maxneighbors, int neighbors[]); /* topology::graph_neighbors */
int MPI_FN(Graph_neighbors_count)(MPI_Comm comm, int rank, int *nneighbors); /* topology::graph_neighbors_count */
int MPI_FN(Graphdims_get)(MPI_Comm comm, int *nnodes, int *nedges); /* topology::graphdims_get */
int MPI_FN(Topo_test)(MPI_Comm comm, int *status); /* topology::topo_test */
