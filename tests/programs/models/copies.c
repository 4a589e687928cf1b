/* The copies of BLAS in a program that folds memory: those of shared memory are left out, all others are made. The
 * library beside it is copies_library.c, whose own copies run where nothing is folded. */
#include "../check.h"

void cblas_dcopy(int count, const double *from, int step, double *to, int to_step);
void dcopy_(const int *count, const double *from, const int *step, double *to, const int *to_step);
int copies_made(void);

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int folded = argc > 1 && argv[1][0] == 'f', count = 3, one = 1, back = -2;
    double *matrix = malloc(4 << 20), from[6] = {1, 2, 3, 4, 5, 6}, to[6] = {0};
    CHECK(matrix);
    for (int index = 0; index < 6; index++)
        from[index] += 10 * rank;
    matrix[0] = 7;

    cblas_dcopy(3, from, 2, to, 1);
    CHECK(to[0] == 10 * rank + 1 && to[1] == 10 * rank + 3 && to[2] == 10 * rank + 5 && to[3] == 0);
    dcopy_(&count, from, &one, to, &back);
    CHECK(to[4] == 10 * rank + 1 && to[2] == 10 * rank + 2 && to[0] == 10 * rank + 3);

    /* From the matrix and into it. */
    cblas_dcopy(1, matrix, 1, to, 1);
    CHECK(to[0] == (folded ? 10 * rank + 3 : 7));
    cblas_dcopy(1, from, 1, matrix, 1);
    CHECK(matrix[0] == (folded ? 7 : 10 * rank + 1));
    CHECK(copies_made() == (folded ? 0 : 4));
    free(matrix);
    MPI_Finalize();
    return 0;
}
