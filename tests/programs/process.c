/* A rank is as a process: its output in whole lines, errno, errors of computing, environment, atexit, exit. */
#include "check.h"
#include <errno.h>
#include <xmmintrin.h>

static int ended;

static void last(void) { printf("rank %d ends after %d\n", rank, ended); }
static void before(void) { ended = rank + 100; }

int main(int argc, char **argv) {
    atexit(last);
    atexit(before);
    begin(&argc, &argv);
    CHECK(argc == 3 && !strcmp(argv[1], "one") && !strcmp(argv[2], "two words") && !argv[3]);
    CHECK(getenv("HOPCAST_TEST_VALUE") && !strcmp(getenv("HOPCAST_TEST_VALUE"), "here"));
    errno = rank + 1;
    printf("rank %d says", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(errno == rank + 1);
    _MM_SET_EXCEPTION_STATE(0);
    volatile double zero = 0, result = rank == 1 ? 1 / zero : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const unsigned seen = _MM_GET_EXCEPTION_STATE(), others = _MM_EXCEPT_INVALID | _MM_EXCEPT_OVERFLOW;
    CHECK(!(seen & _MM_EXCEPT_DIV_ZERO) == (rank != 1) && !(seen & others));
    (void)result;
    fputs(" this", stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    puts(" in one line");
    double start = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Wtime() >= start);
    char text[MPI_MAX_ERROR_STRING];
    int length, code, flag;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    CHECK(code != MPI_SUCCESS);
    MPI_Error_class(code, &code);
    CHECK(code == MPI_ERR_RANK && MPI_Error_string(code, text, &length) == MPI_SUCCESS);
    CHECK((int)strlen(text) == length && length > 0);
    MPI_Finalize();
    MPI_Finalized(&flag);
    CHECK(flag);
    exit(0);
}
