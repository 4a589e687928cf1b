/* What starting and ending MPI takes. */
#include <mpi.h>

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    return MPI_Finalize();
}
