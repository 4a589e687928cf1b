/* HPCC's benchmark of latency and bandwidth alone, as HPCC runs it among others. */
#include <hpcc.h>

int main(int argc, char **argv) {
    HPCC_Params parameters = {0};
    strcpy(parameters.outFname, "hpccoutf.txt");
    MPI_Init(&argc, &argv);
    main_bench_lat_bw(&parameters);
    MPI_Finalize();
    return 0;
}
