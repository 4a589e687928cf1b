/* Prints through Fortran, whose library keeps the units. */
#include "../check.h"

void say(int rank), more(int rank);

int main(int argc, char **argv) {
    begin(&argc, &argv);
    say(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    more(rank);
    MPI_Finalize();
    return 0;
}
