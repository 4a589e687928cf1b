/* Virtual topologies, and collectives among the neighbours in them. */
#include "check.h"

/* MPICH 4.0 copies what a rank gives to itself when a persistent request is made, not when it is started, and takes
 * blocks of their own lengths from the wrong side in a ring of one or two (MPI 4.0 has made clear which is right). */
#ifdef MPICH_VERSION
enum { STARTS = 1, LEAST_RING = 3 };
#else
enum { STARTS = 3, LEAST_RING = 1 };
#endif

enum { MOST = 16, EACH = 2, ROOM = MOST * EACH * 2 };

static int in_degree, out_degree, sources[MOST], destinations[MOST];
static int out[ROOM], in[ROOM], edge_block[MOST]; /* which block of a source is for this rank */
static int counts_out[MOST], counts_in[MOST], starts[MOST];
static MPI_Count large_out[MOST], large_in[MOST];
static MPI_Aint large_starts[MOST], places[MOST];
static MPI_Datatype ints[MOST];

static int value(int from, int block, int index) { return from * 1000 + block * 10 + index; }

static void prepare(void) {
    for (int i = 0; i < ROOM; i++)
        out[i] = in[i] = -1;
    for (int block = 0; block < out_degree; block++)
        for (int j = 0; j < EACH; j++)
            out[block * EACH + j] = value(rank, block, j);
    for (int i = 0; i < MOST; i++) {
        large_starts[i] = starts[i] = i * EACH;
        places[i] = i * EACH * (int)sizeof(int);
        ints[i] = MPI_INT;
    }
}

/* Blocks of `whole` ints, or of one between two ranks whose sum is odd. */
static void lengths(void) {
    prepare();
    for (int i = 0; i < out_degree; i++)
        large_out[i] = counts_out[i] = destinations[i] < 0 || (rank + destinations[i]) % 2 ? 1 : EACH;
    for (int i = 0; i < in_degree; i++)
        large_in[i] = counts_in[i] = sources[i] < 0 || (rank + sources[i]) % 2 ? 1 : EACH;
}

/* What one source gives all: one int, if it is odd. */
static void lengths_by_source(void) {
    prepare();
    for (int i = 0; i < in_degree; i++)
        large_in[i] = counts_in[i] = sources[i] < 0 || sources[i] % 2 ? 1 : EACH;
}

static void check(int alike, const int *counts) {
    for (int i = 0; i < in_degree; i++)
        for (int j = 0; j < EACH; j++) {
            int there = sources[i] >= 0 && j < (counts ? counts[i] : EACH);
            CHECK(in[i * EACH + j] == (there ? value(sources[i], alike ? 0 : edge_block[i], j) : -1));
        }
}

#define FORMS(Name, Iname, SUFFIX, READY, CHECKS, ...)                       \
    do {                                                                     \
        MPI_Request request;                                                 \
        READY;                                                               \
        MPI_##Name##SUFFIX(__VA_ARGS__);                                     \
        CHECKS;                                                              \
        READY;                                                               \
        MPI_##Iname##SUFFIX(__VA_ARGS__, &request);                          \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                               \
        CHECKS;                                                              \
        READY;                                                               \
        MPI_##Name##_init##SUFFIX(__VA_ARGS__, MPI_INFO_NULL, &request);     \
        for (int again = 0; again < STARTS; again++) {                       \
            if (again)                                                       \
                READY;                                                       \
            MPI_Start(&request);                                             \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                           \
            CHECKS;                                                          \
        }                                                                    \
        MPI_Request_free(&request);                                          \
    } while (0)

static void exchange(MPI_Comm comm) {
    int odd = rank % 2 ? 1 : EACH;
    FORMS(Neighbor_allgather, Ineighbor_allgather, , prepare(), check(1, 0), out, EACH, MPI_INT, in, EACH, MPI_INT,
          comm);
    FORMS(Neighbor_allgather, Ineighbor_allgather, _c, prepare(), check(1, 0), out, EACH, MPI_INT, in, EACH,
          MPI_INT, comm);
    FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, , lengths_by_source(), check(1, counts_in), out, odd, MPI_INT,
          in, counts_in, starts, MPI_INT, comm);
    FORMS(Neighbor_allgatherv, Ineighbor_allgatherv, _c, lengths_by_source(), check(1, counts_in), out, odd,
          MPI_INT, in, large_in, large_starts, MPI_INT, comm);
    FORMS(Neighbor_alltoall, Ineighbor_alltoall, , prepare(), check(0, 0), out, EACH, MPI_INT, in, EACH, MPI_INT,
          comm);
    FORMS(Neighbor_alltoall, Ineighbor_alltoall, _c, prepare(), check(0, 0), out, EACH, MPI_INT, in, EACH, MPI_INT,
          comm);
    FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, , lengths(), check(0, counts_in), out, counts_out, starts,
          MPI_INT, in, counts_in, starts, MPI_INT, comm);
    FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, _c, lengths(), check(0, counts_in), out, large_out,
          large_starts, MPI_INT, in, large_in, large_starts, MPI_INT, comm);
}

/* With a datatype for each edge. MPICH 4.0 delivers nothing to a rank that sends nothing. */
static void exchange_typed(MPI_Comm comm) {
    lengths();
    FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, , lengths(), check(0, counts_in), out, counts_out, places, ints,
          in, counts_in, places, ints, comm);
    FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, _c, lengths(), check(0, counts_in), out, large_out, places,
          ints, in, large_in, places, ints, comm);
}

/* Who sends which block: in a grid, what goes down comes from above. */
static void around_grid(MPI_Comm comm, int dimensions) {
    in_degree = out_degree = 2 * dimensions;
    for (int d = 0; d < dimensions; d++)
        MPI_Cart_shift(comm, d, 1, &sources[2 * d], &sources[2 * d + 1]);
    for (int i = 0; i < in_degree; i++)
        destinations[i] = sources[i], edge_block[i] = i ^ 1;
}

static void sizes(void) {
    int free2[2] = {0, 0}, free3[3] = {0, 0, 0}, fixed[3] = {0, 3, 0}, one[1] = {0};
    MPI_Dims_create(6, 2, free2);
    CHECK(free2[0] == 3 && free2[1] == 2);
    MPI_Dims_create(64, 3, free3);
    CHECK(free3[0] == 4 && free3[1] == 4 && free3[2] == 4);
    MPI_Dims_create(6, 3, fixed);
    CHECK(fixed[0] == 2 && fixed[1] == 3 && fixed[2] == 1);
    MPI_Dims_create(7, 1, one);
    CHECK(one[0] == 7);
    int balanced[3] = {0, 0, 0};
    MPI_Dims_create(36, 3, balanced);
    CHECK(balanced[0] == 4 && balanced[1] == 3 && balanced[2] == 3);
}

static void grids(void) {
    MPI_Comm ring, grid, line, copy;
    int wraps = 1, status, most, place;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &wraps, 0, &ring);
    MPI_Topo_test(ring, &status);
    CHECK(status == MPI_CART);
    around_grid(ring, 1);
    CHECK(sources[0] == (rank + size - 1) % size && sources[1] == (rank + 1) % size);
    if (size >= LEAST_RING)
        exchange(ring), exchange_typed(ring);
    int sides[2] = {0, 0}, periods[2] = {0, 0}, got[2], got_periods[2], at[2], back;
    MPI_Dims_create(size, 2, sides);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 1, &grid);
    MPI_Cartdim_get(grid, &most);
    MPI_Cart_get(grid, 2, got, got_periods, at);
    CHECK(most == 2 && got[0] == sides[0] && got[1] == sides[1] && !got_periods[0] && !got_periods[1]);
    CHECK(at[0] == rank / sides[1] && at[1] == rank % sides[1]);
    MPI_Cart_rank(grid, at, &back);
    MPI_Cart_map(MPI_COMM_WORLD, 2, sides, periods, &place);
    CHECK(back == rank && place == rank);
    MPI_Cart_coords(grid, size - 1, 2, at);
    CHECK(at[0] == sides[0] - 1 && at[1] == sides[1] - 1);
    around_grid(grid, 2);
    exchange(grid);
    exchange_typed(grid);
    MPI_Comm_dup(grid, &copy);
    exchange(copy);
    int remain[2] = {0, 1}, in_line;
    MPI_Cart_sub(grid, remain, &line);
    MPI_Comm_size(line, &in_line);
    MPI_Cart_get(line, 1, got, got_periods, at);
    CHECK(in_line == sides[1] && got[0] == sides[1] && at[0] == rank % sides[1]);
    MPI_Comm_free(&line);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&ring);
    /* A grid that leaves a rank out, and one without dimensions. */
    int fewer = size > 1 ? size - 1 : 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &fewer, &wraps, 0, &ring);
    CHECK((ring == MPI_COMM_NULL) == (rank >= fewer));
    if (ring != MPI_COMM_NULL)
        MPI_Comm_free(&ring);
    MPI_Cart_create(MPI_COMM_WORLD, 0, &fewer, &wraps, 0, &ring);
    CHECK((ring == MPI_COMM_NULL) == (rank > 0));
    if (ring != MPI_COMM_NULL) {
        MPI_Cartdim_get(ring, &most);
        CHECK(most == 0);
        MPI_Comm_free(&ring);
    }
}

/* A star: rank 0 is everybody's neighbour. */
static void star(void) {
    int index[MOST], edges[2 * MOST], count, nodes = size < MOST ? size : MOST;
    for (int i = 0; i < nodes; i++) {
        index[i] = nodes - 1 + i;
        edges[i] = i + 1;
    }
    for (int i = nodes - 1; i < 2 * (nodes - 1); i++)
        edges[i] = 0;
    MPI_Comm graph;
    MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 0, &graph);
    CHECK((graph == MPI_COMM_NULL) == (rank >= nodes));
    if (graph == MPI_COMM_NULL)
        return;
    int status, got_nodes, got_edges, got_index[MOST], got[2 * MOST];
    MPI_Topo_test(graph, &status);
    CHECK(status == MPI_GRAPH);
    MPI_Graphdims_get(graph, &got_nodes, &got_edges);
    CHECK(got_nodes == nodes && got_edges == 2 * (nodes - 1));
    MPI_Graph_get(graph, MOST, 2 * MOST, got_index, got);
    CHECK(!memcmp(got_index, index, nodes * sizeof(int)) && !memcmp(got, edges, got_edges * sizeof(int)));
    MPI_Graph_neighbors_count(graph, rank, &count);
    CHECK(count == (rank ? 1 : nodes - 1));
    MPI_Graph_neighbors(graph, rank, MOST, sources);
    in_degree = out_degree = count;
    for (int i = 0; i < count; i++) {
        destinations[i] = sources[i];
        edge_block[i] = rank ? rank - 1 : 0;
        CHECK(sources[i] == (rank ? 0 : i + 1));
    }
    exchange(graph);
    exchange_typed(graph);
    MPI_Comm_free(&graph);
}

/* Rank r sends to r + 1 and r + 2, and weighs what it sends. */
static void directed(MPI_Comm comm, int weighted) {
    int ins, outs, is_weighted, status, from_weights[2] = {0}, to_weights[2] = {0};
    MPI_Topo_test(comm, &status);
    CHECK(status == MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(comm, &ins, &outs, &is_weighted);
    CHECK(ins == 2 && outs == 2 && !is_weighted == !weighted);
    MPI_Dist_graph_neighbors(comm, 2, sources, weighted ? from_weights : MPI_UNWEIGHTED, 2, destinations,
                             weighted ? to_weights : MPI_UNWEIGHTED);
    in_degree = out_degree = 2;
    for (int i = 0; i < 2; i++) {
        int by = (destinations[i] - rank + size) % size, from = (rank - sources[i] + size) % size;
        CHECK(by == 1 || by == 2);
        CHECK(from == 1 || from == 2);
        CHECK(!weighted || (to_weights[i] == 10 * rank + by && from_weights[i] == 10 * sources[i] + from));
    }
    CHECK(sources[0] != sources[1] && destinations[0] != destinations[1]);
    /* Every rank has its destinations in the same order, but who has which first is the library's choice. */
    int order[2] = {(destinations[0] - rank + size) % size, (destinations[1] - rank + size) % size};
    int orders[2 * 64];
    MPI_Allgather(order, 2, MPI_INT, orders, 2, MPI_INT, comm);
    for (int i = 0; i < 2; i++)
        edge_block[i] = orders[2 * sources[i]] == (rank - sources[i] + size) % size ? 0 : 1;
    exchange(comm);
    exchange_typed(comm);
}

static void distributed(void) {
    if (size < 3)
        return;
    int to[2] = {(rank + 1) % size, (rank + 2) % size}, from[2] = {(rank + size - 1) % size, (rank + size - 2) % size};
    int to_weights[2] = {10 * rank + 1, 10 * rank + 2}, from_weights[2] = {10 * from[0] + 1, 10 * from[1] + 2};
    MPI_Comm graph, copy;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, from_weights, 2, to, to_weights, MPI_INFO_NULL, 0, &graph);
    directed(graph, 1);
    MPI_Comm_dup(graph, &copy);
    directed(copy, 1);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    directed(graph, 0);
    MPI_Comm_free(&graph);
    /* The same edges, each named by the rank after the one that it leaves. */
    int named = from[0], degree = 2, ends[2] = {(named + 1) % size, (named + 2) % size};
    int weights[2] = {10 * named + 1, 10 * named + 2};
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &named, &degree, ends, weights, MPI_INFO_NULL, 0, &graph);
    directed(graph, 1);
    MPI_Comm_free(&graph);
    /* All named by rank 0. */
    int all[64], degrees[64], heads[128];
    for (int i = 0; i < size; i++)
        all[i] = i, degrees[i] = 2, heads[2 * i] = (i + 1) % size, heads[2 * i + 1] = (i + 2) % size;
    MPI_Dist_graph_create(MPI_COMM_WORLD, rank ? 0 : size, all, degrees, heads, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                          &graph);
    directed(graph, 0);
    MPI_Comm_free(&graph);
    /* A chain: rank 0 has nothing that comes, the last nothing that goes. */
    in_degree = rank > 0, out_degree = rank < size - 1;
    sources[0] = rank - 1, destinations[0] = rank + 1, edge_block[0] = 0;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in_degree, sources, in_degree ? from_weights : MPI_WEIGHTS_EMPTY,
                                   out_degree, destinations, out_degree ? to_weights : MPI_WEIGHTS_EMPTY,
                                   MPI_INFO_NULL, 0, &graph);
    exchange(graph);
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int status;
    MPI_Topo_test(MPI_COMM_WORLD, &status);
    CHECK(status == MPI_UNDEFINED);
    sizes();
    grids();
    star();
    distributed();
    printf("rank %d: grids and graphs\n", rank);
    MPI_Finalize();
    return 0;
}
