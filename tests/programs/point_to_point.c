/* Messages: their data, tags, sources, lengths, order and modes; requests; probes. */
#include "check.h"

static void ring(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, got = -1, count = -1;
    MPI_Status status;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 7, &got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(got == left && status.MPI_SOURCE == left && status.MPI_TAG == 7 && count == 1);
    got = rank;
    MPI_Sendrecv_replace(&got, 1, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == left);
    MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status);
    CHECK(got == left && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    printf("rank %d got %d\n", rank, got);
}

/* Short ones are eager, long ones ask first: both arrive whole, though the sender writes on at once. */
static void lengths(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int n = 0; n <= 1000000; n = n * 10 + 1) {
        char *out = malloc(n + 1), *in = calloc(n + 1, 1);
        memset(out, rank + 1, n + 1);
        MPI_Request requests[2];
        MPI_Irecv(in, n + 1, MPI_CHAR, left, n % 1000, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, n, MPI_CHAR, right, n % 1000, MPI_COMM_WORLD, &requests[1]);
        MPI_Status statuses[2];
        MPI_Waitall(2, requests, statuses);
        int count;
        MPI_Get_count(&statuses[0], MPI_CHAR, &count);
        CHECK(count == n && requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
        for (int i = 0; i < n; i++)
            CHECK(in[i] == left + 1);
        CHECK(in[n] == 0);
        free(out);
        free(in);
    }
}

static void many(void) {
    enum { N = 20 };
    if (rank == 0) {
        int got[N], seen = 0;
        MPI_Request requests[N];
        int total = N / (size - 1) * (size - 1);
        for (int i = 0; i < total; i++)
            MPI_Irecv(&got[i], 1, MPI_INT, 1 + i % (size - 1), i, MPI_COMM_WORLD, &requests[i]);
        while (seen < total) {
            int index, flag, done, indices[N];
            MPI_Status status, statuses[N];
            MPI_Waitany(total, requests, &index, &status);
            CHECK(status.MPI_TAG == index && got[index] == index * 100 && requests[index] == MPI_REQUEST_NULL);
            seen++;
            MPI_Testany(total, requests, &index, &flag, &status);
            if (flag && index != MPI_UNDEFINED)
                seen++;
            if (seen == total)
                break;
            MPI_Waitsome(total, requests, &done, indices, statuses);
            CHECK(done >= 1);
            for (int i = 0; i < done; i++)
                CHECK(got[indices[i]] == statuses[i].MPI_TAG * 100);
            seen += done;
        }
        int flag = 0;
        MPI_Testall(total, requests, &flag, MPI_STATUSES_IGNORE);
        CHECK(flag);
    } else {
        int total = N / (size - 1) * (size - 1);
        for (int i = total - 1; i >= 0; i--)
            if (1 + i % (size - 1) == rank) {
                int value = i * 100;
                MPI_Ssend(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
            }
    }
}

static void probes(void) {
    if (rank == 0) {
        for (int from = 1; from < size; from++) {
            MPI_Status status;
            int count;
            MPI_Probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_DOUBLE, &count);
            CHECK(count == from && status.MPI_TAG == from);
            double *values = malloc(count * sizeof *values);
            MPI_Recv(values, count, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
            CHECK(values[count - 1] == from + 0.5);
            free(values);
        }
    } else {
        double values[64];
        for (int i = 0; i < rank; i++)
            values[i] = i + 1.5;
        MPI_Send(values, rank, MPI_DOUBLE, 0, rank, MPI_COMM_WORLD);
    }
    int flag = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        for (int to = 1; to < size; to++)
            MPI_Send(&to, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    else {
        for (flag = 0; !flag;)
            MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        int got;
        MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got == rank);
    }
}

static void persistent(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, out, in = -1;
    MPI_Request requests[2];
    MPI_Send_init(&out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 3; round++) {
        out = rank * 10 + round;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in == left * 10 + round && requests[0] != MPI_REQUEST_NULL);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    MPI_Request unmatched;
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, left, 99, MPI_COMM_WORLD, &unmatched);
    MPI_Cancel(&unmatched);
    MPI_Wait(&unmatched, &status);
    int cancelled = 0;
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    ring();
    lengths();
    if (size > 1)
        many();
    probes();
    persistent();
    MPI_Finalize();
    return 0;
}
