/* Half of a round trip between two ranks by the size of the message: of many, the median. Prints "bytes seconds". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 1 << 22, BATCHES = 51 };

static int ascending(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int main(int count, char **arguments) {
    static char buffer[LARGEST];
    static double took[BATCHES];
    int rank;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int bytes = 1; bytes <= LARGEST; bytes *= 4) {
        int trips = bytes < 65536 ? 200 : 10;
        for (int batch = 0; batch < BATCHES; batch++) {
            double begin = MPI_Wtime();
            for (int trip = 0; trip < trips; trip++) {
                if (rank == 0) MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(buffer, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (rank == 1) MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            }
            took[batch] = (MPI_Wtime() - begin) / trips / 2;
        }
        qsort(took, BATCHES, sizeof took[0], ascending);
        if (rank == 0) printf("%d %.9f\n", bytes, took[BATCHES / 2]);
    }
    MPI_Finalize();
    return 0;
}
