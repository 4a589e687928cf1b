/* HPL's own test, which generates, solves, times and checks a linear system, as one of the testbed's programs.
 *
 * It takes the order of the matrix, the size of its blocks and repeats, and prints lines `took SECONDS` by HPL's clock and
 * a checksum: the residual that HPL computes. The settings are those of hpl.py. */
#include "hpl.h"

/* HPCC's values where there is no input file: HPL's reader of such files, which is not called here, wants them. */
int HPCC_Defaults(HPL_T_test *test) { return test != 0; }

static int number(int count, char **words, int place) {
    int value = place < count ? atoi(words[place]) : 0;
    if (value <= 0) {
        fprintf(stderr, "error: three positive numbers are wanted: order, block, repeats\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return value;
}

/* The grid that is nearest to a square, and no higher than wide. */
static int rows_of(int ranks) {
    int rows = 1;
    for (int some = 1; some * some <= ranks; ++some)
        if (ranks % some == 0)
            rows = some;
    return rows;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int order = number(argc, argv, 1), block = number(argc, argv, 2), repeats = number(argc, argv, 3);
    HPL_T_grid grid;
    HPL_grid_init(MPI_COMM_WORLD, HPL_ROW_MAJOR, rows_of(ranks), ranks / rows_of(ranks), &grid);
    FILE *nowhere = fopen("/dev/null", "w");
    HPL_T_test test = {.epsil = HPL_pdlamch(grid.all_comm, HPL_MACH_EPS), .thrsh = 16.0, .outfp = nowhere};
    HPL_T_palg algorithm = {
        .btopo = HPL_2RING,
        .depth = 1,
        .nbdiv = 2,
        .nbmin = 2,
        .pfact = HPL_CROUT,
        .pffun = HPL_pdpancrT,
        .rfact = HPL_RIGHT_LOOKING,
        .rffun = HPL_pdrpanrlT,
        .upfun = HPL_pdupdateTT,
        .fswap = HPL_SWAP00,
        .fsthr = block,
        .equil = 1,
        .align = 8,
    };
    HPL_RuntimeData found = {0};
    /* Connections are made in the first run, which is not printed. */
    for (int run = 0; run <= repeats; ++run) {
        HPL_pdtest(&test, &grid, &algorithm, order, block, &found);
        if (rank == 0 && run > 0)
            printf("took %.6f\n", found.time);
    }
    if (rank == 0)
        printf("checksum %.10e\n", found.RnormI);
    int failed = test.kpass != repeats + 1;
    if (rank == 0 && failed)
        fprintf(stderr, "error: HPL's own check of the solution fails\n");
    HPL_grid_exit(&grid);
    MPI_Finalize();
    return failed;
}
