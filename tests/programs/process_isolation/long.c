/* More than 2^31 bytes, and more than 2^31 values: all blocks of a message are the same memory. */
#include "../check.h"

enum { BLOCK = 1 << 20 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    static char block[BLOCK];
    MPI_Datatype bytes, again, nothing;
    MPI_Status status;
    MPI_Count got, count = ((MPI_Count)1 << 31) / BLOCK + 1, many = ((MPI_Count)1 << 33) + 3;
    MPI_Type_contiguous(BLOCK, MPI_CHAR, &bytes);
    MPI_Type_create_resized(bytes, 0, 0, &again);
    MPI_Type_commit(&again);
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    if (rank == 0) {
        for (int at = 0; at < BLOCK; at++) block[at] = (char)(at % 101);
        MPI_Send_c(block, count, again, 1, 0, MPI_COMM_WORLD);
        MPI_Send_c(NULL, many, nothing, 1, 1, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        MPI_Recv_c(block, count + 7, again, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count_c(&status, MPI_CHAR, &got);
        CHECK(got == count * BLOCK && got > (MPI_Count)1 << 31);
        for (int at = 0; at < BLOCK; at++) CHECK(block[at] == at % 101);
        MPI_Recv_c(NULL, many, nothing, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Get_elements_c(&status, MPI_INT, &got);
        CHECK(got == 0);
    }
    MPI_Finalize();
    return 0;
}
