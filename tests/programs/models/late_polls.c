/* A rank that polls by probes and by tests for messages, each of which is sent a little later than the one before. */
#include "../check.h"
#include <hopcast.h>

enum { ROUNDS = 300, LENGTH = 20000 };

int main(int argc, char **argv) {
    static char data[LENGTH];
    begin(&argc, &argv);
    int looks = strcmp(argv[1], "look") == 0;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (rank == 0) {
            hopcast_compute(100e-6 + round * 370e-9);
            MPI_Send(data, round % 2 ? 4 : LENGTH, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        } else {
            MPI_Request request;
            int there = 0;
            if (round % 3)
                MPI_Irecv(data, LENGTH, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
            while (!there) {
                if (looks)
                    MPI_Wtime();
                if (round % 3)
                    MPI_Test(&request, &there, MPI_STATUS_IGNORE);
                else
                    MPI_Iprobe(0, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
            }
            printf("%.12f\n", MPI_Wtime() - start);
            if (round % 3 == 0)
                MPI_Recv(data, LENGTH, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
