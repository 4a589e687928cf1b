/* The routines of BLAS that kernels.c calls, as short as they can be: a machine of the tests may have no other. */
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k, const double *alpha, const double *a,
            const int *lda, const double *b, const int *ldb, const double *beta, double *c, const int *ldc) {
    (void)ta, (void)tb;
    for (int j = 0; j < *n; j++)
        for (int i = 0; i < *m; i++) {
            double sum = 0;
            for (int l = 0; l < *k; l++)
                sum += a[i + l * *lda] * b[l + j * *ldb];
            c[i + j * *ldc] = *alpha * sum + *beta * c[i + j * *ldc];
        }
}

void dtrsm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m, const int *n,
            const double *alpha, const double *a, const int *lda, double *b, const int *ldb) {
    (void)side, (void)uplo, (void)trans, (void)diag;
    for (int j = 0; j < *n; j++)
        for (int i = 0; i < *m; i++) {
            b[i + j * *ldb] *= *alpha;
            for (int l = 0; l < i; l++)
                b[i + j * *ldb] -= a[i + l * *lda] * b[l + j * *ldb];
        }
}

void dtrsv_(const char *uplo, const char *trans, const char *diag, const int *n, const double *a, const int *lda, double *x,
            const int *incx) {
    const int one = 1;
    const double scale = 1;
    (void)incx;
    dtrsm_("L", uplo, trans, diag, n, &one, &scale, a, lda, x, n);
}

void dgemv_(const char *trans, const int *m, const int *n, const double *alpha, const double *a, const int *lda,
            const double *x, const int *incx, const double *beta, double *y, const int *incy) {
    const int one = 1;
    (void)incx, (void)incy;
    dgemm_(trans, "N", m, &one, n, alpha, a, lda, x, n, beta, y, m);
}

void dger_(const int *m, const int *n, const double *alpha, const double *x, const int *incx, const double *y,
           const int *incy, double *a, const int *lda) {
    (void)incx, (void)incy;
    for (int j = 0; j < *n; j++)
        for (int i = 0; i < *m; i++)
            a[i + j * *lda] += *alpha * x[i] * y[j];
}

void dswap_(const int *n, double *x, const int *incx, double *y, const int *incy) {
    (void)incx, (void)incy;
    for (int i = 0; i < *n; i++) {
        double value = x[i];
        x[i] = y[i], y[i] = value;
    }
}

void daxpy_(const int *n, const double *alpha, const double *x, const int *incx, double *y, const int *incy) {
    (void)incx, (void)incy;
    for (int i = 0; i < *n; i++)
        y[i] += *alpha * x[i];
}

void dscal_(const int *n, const double *alpha, double *x, const int *incx) {
    (void)incx;
    for (int i = 0; i < *n; i++)
        x[i] *= *alpha;
}

int idamax_(const int *n, const double *x, const int *incx) {
    int best = 0;
    (void)incx;
    for (int i = 1; i < *n; i++)
        best = x[i] * x[i] > x[best] * x[best] ? i : best;
    return best + 1;
}
