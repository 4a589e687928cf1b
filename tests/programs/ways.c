/* Messages that name NICs and copies, and work that is only stated: under another MPI they are plain messages. */
#include "check.h"
#include "../../crates/libmpi/include/hopcast.h"

enum { LENGTH = 20000 };
static char sent[3][LENGTH], received[3][LENGTH];

/* Exchanges with both neighbours in a ring, one message for each way. */
static void ring(MPI_Comm comm) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int nics[] = {HOPCAST_ANY_NIC, 0, 0}, copies[] = {HOPCAST_PLATFORM_COPIES, HOPCAST_ZERO_COPY, HOPCAST_TWO_COPY};
    MPI_Request requests[6];
    for (int way = 0; way < 3; way++) {
        memset(sent[way], rank + way, LENGTH);
        CHECK(MPI_Irecv(received[way], LENGTH, MPI_CHAR, left, way, comm, &requests[way]) == MPI_SUCCESS);
    }
    for (int way = 0; way < 3; way++)
        CHECK(hopcast_isend(sent[way], LENGTH, MPI_CHAR, right, way, comm, &requests[3 + way], nics[way], nics[way],
                            copies[way]) == MPI_SUCCESS);
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    for (int way = 0; way < 3; way++)
        for (int i = 0; i < LENGTH; i++)
            CHECK(received[way][i] == (char)(left + way));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(hopcast_compute(1e-3) == MPI_SUCCESS);
    CHECK(hopcast_compute_flops(1e6, 0) == MPI_SUCCESS);
    ring(MPI_COMM_WORLD);
    MPI_Info info;
    MPI_Comm comm;
    MPI_Info_create(&info);
    MPI_Info_set(info, "hopcast_source_nic", "0");
    MPI_Info_set(info, "hopcast_destination_nic", "0");
    MPI_Info_set(info, "hopcast_copies", "zero-copy");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    ring(comm);
    /* A short message that is zero-copy waits for its receive. */
    MPI_Request request;
    int told = rank, from = -1;
    MPI_Irecv(&from, 1, MPI_INT, (rank + size - 1) % size, 7, comm, &request);
    CHECK(MPI_Send(&told, 1, MPI_INT, (rank + 1) % size, 7, comm) == MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(from == (rank + size - 1) % size);
    MPI_Irecv(&from, 1, MPI_INT, (rank + size - 1) % size, 8, comm, &request);
    CHECK(hopcast_send(&told, 1, MPI_INT, (rank + 1) % size, 8, comm, 0, 0, HOPCAST_TWO_COPY) == MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(from == (rank + size - 1) % size);
    MPI_Comm_free(&comm);
    int *memory = hopcast_malloc_partial(sizeof(int), (size_t[]){0, sizeof(int)}, 1), runs = 0;
    for (int i = 0; i < 3; i++)
        HOPCAST_SAMPLE_LOCAL(1 << 20, 0.0) *memory = runs += 1;
    CHECK(*memory == runs && runs >= 1);
    free(memory);
    printf("rank %d has sent in each way\n", rank);
    MPI_Finalize();
    return 0;
}
