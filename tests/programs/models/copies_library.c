/* The copies of BLAS, which count themselves. With so many variables, each rank has the library for itself. */
static int made[16];

int copies_made(void) { return made[0]; }

static long first(int count, int step) { return step < 0 ? (1L - count) * step : 0; }

void cblas_dcopy(int count, const double *from, int step, double *to, int to_step) {
    from += first(count, step);
    to += first(count, to_step);
    for (long index = 0; index < count; index++)
        to[index * to_step] = from[index * step];
    made[0]++;
}

void dcopy_(const int *count, const double *from, const int *step, double *to, const int *to_step) {
    cblas_dcopy(*count, from, *step, to, *to_step);
}
