/* usage: gone exit|_exit   ends after MPI_Init, without MPI_Finalize: as it should, or at once */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **arguments) {
    int at_once = !strcmp(arguments[1], "_exit");
    MPI_Init(&count, &arguments);
    MPI_Barrier(MPI_COMM_WORLD);
    if (at_once) _exit(0);
    exit(0);
}
