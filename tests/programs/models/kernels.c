/* Calls of kernels: in the program itself, and in a library. Prints the simulated time that each takes, and whether
 * it has run. */
#include "../check.h"

static int runs;

void dgemm_(const char *transA, const char *transB, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc) {
    runs++;
    for (int i = 0; i < *m; i++)
        for (int j = 0; j < *n; j++) {
            double sum = 0;
            for (int l = 0; l < *k; l++)
                sum += a[i + l * *lda] * b[l + j * *ldb];
            c[i + j * *ldc] = *alpha * sum + *beta * c[i + j * *ldc];
        }
    (void)transA, (void)transB;
}

__attribute__((noinline)) double relax(int n, double x, const long *extra) {
    runs++;
    return n * x + *extra;
}

/* Of the library. */
void cblas_dtrsm(int layout, int side, int uplo, int trans, int diag, int m, int n, double alpha, const double *a,
                 int lda, double *b, int ldb);
int cblas_idamax(int n, const double *x, int step);
int idamax_(const int *n, const double *x, const int *step);
int library_runs(void);

#define TIMED(name, call)                                                                \
    do {                                                                                 \
        int before = runs + library_runs();                                              \
        double start = MPI_Wtime();                                                      \
        call;                                                                            \
        double time = MPI_Wtime() - start;                                               \
        printf("%s %d %.1f ns ran %d\n", name, rank, time * 1e9, runs + library_runs() - before); \
    } while (0)

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const int m = 2, n = 3, k = 4;
    const double one = 1, zero = 0, a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1};
    double c[6] = {0}, x[1000] = {0}, got = 0;
    long extra = 7;
    TIMED("dgemm", dgemm_("N", "N", &m, &n, &k, &one, a, &m, b, &k, &zero, c, &m));
    if (runs)
        CHECK(c[0] == 1 && c[1] == 2 && c[2] == 3 && c[5] == 14);
    TIMED("relax", got = relax(5, 2.5, &extra));
    printf("relax gives %g\n", got);
    TIMED("left", cblas_dtrsm(102, 141, 121, 111, 131, 10, 20, 1, x, 10, x, 10));
    TIMED("right", cblas_dtrsm(102, 142, 121, 111, 131, 10, 20, 1, x, 20, x, 10));
    TIMED("rows", cblas_dtrsm(101, 141, 121, 111, 131, 10, 20, 1, x, 20, x, 20));
    const int many = 1000, step = 1;
    int least = many, most = -1, at = 0;
    double sum = 0;
    for (int i = 0; i < 200; i++) {
        at = cblas_idamax(many, x, 1);
        least = at < least ? at : least;
        most = at > most ? at : most;
        sum += x[at];
    }
    at = idamax_(&many, x, &step);
    printf("idamax %d %d %d, largest %d\n", least >= 0 && most < many, most - least > 500, at >= 1 && at <= many,
           sum > 190 && sum < 200);
    MPI_Finalize();
    return 0;
}
