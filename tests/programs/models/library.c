/* A library with routines of BLAS, which count their runs. */
static int runs;

int library_runs(void) { return runs; }

void cblas_dtrsm(int layout, int side, int uplo, int trans, int diag, int m, int n, double alpha, const double *a,
                 int lda, double *b, int ldb) {
    runs++;
    (void)layout, (void)side, (void)uplo, (void)trans, (void)diag, (void)m, (void)n, (void)alpha;
    (void)a, (void)lda, (void)b, (void)ldb;
}

int cblas_idamax(int n, const double *x, int step) {
    int largest = 0;
    runs++;
    for (int i = 1; i < n; i++)
        if (x[i * step] > x[largest * step])
            largest = i;
    return largest;
}

int idamax_(const int *n, const double *x, const int *step) { return cblas_idamax(*n, x, *step) + 1; }
