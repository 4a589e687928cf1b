/* Touches fresh pages between calls: as many page faults. In each round, after a first one for whatever the libraries touch
 * once: so many pages before MPI_Comm_rank; the same between polls that find nothing, before MPI_Comm_size; and, in a message
 * to itself, where it is MPI that touches them. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096

static char *fresh(int pages) {
    char *memory = mmap(NULL, (size_t)(pages + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    madvise(memory, (size_t)(pages + 1) * PAGE, MADV_NOHUGEPAGE);
    return memory;
}

static void touch(volatile char *memory, int pages) {
    for (int page = 0; page < pages; page++) memory[(size_t)page * PAGE] = 1;
}

int main(int argc, char **argv) {
    int found, number;
    MPI_Init(&argc, &argv);
    for (int round = 0; round < argc; round++) {
        int pages = round ? atoi(argv[round]) : 3;
        char *plain = fresh(pages), *polled = fresh(pages), *received = fresh(pages), *sent = calloc(pages + 1, PAGE);
        for (int page = 0; page < pages; page++) sent[(size_t)page * PAGE] = 2;
        MPI_Barrier(MPI_COMM_WORLD);
        touch(plain, pages);
        MPI_Comm_rank(MPI_COMM_WORLD, &number);
        for (int page = 0; page < pages; page++) {
            MPI_Iprobe(0, 77, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
            touch(polled + (size_t)page * PAGE, 1);
        }
        MPI_Comm_size(MPI_COMM_WORLD, &number);
        MPI_Sendrecv(sent, pages * PAGE, MPI_CHAR, 0, 5, received, pages * PAGE, MPI_CHAR, 0, 5, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        munmap(plain, (size_t)(pages + 1) * PAGE);
        munmap(polled, (size_t)(pages + 1) * PAGE);
        munmap(received, (size_t)(pages + 1) * PAGE);
        free(sent);
    }
    MPI_Finalize();
    return 0;
}
