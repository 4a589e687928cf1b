/* The main program that Debian's HPL lacks, which is a part of HPCC: everything else is HPL's own. */
#include "hpl.h"

/* HPCC's values where there is no input file: there is one. */
int HPCC_Defaults(HPL_T_test *test) { return test != 0; }

int main(int argc, char **argv) {
    HPL_RuntimeData data = {0};
    int failure = 0;
    MPI_Init(&argc, &argv);
    HPL_main(argc, argv, &data, &failure);
    MPI_Finalize();
    return failure;
}
