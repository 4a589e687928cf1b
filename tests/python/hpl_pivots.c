/* HPL's list of exchanged rows, and that of validation/hpl_pipid.c, on random pivots: at or below their rows, and in every
 * fifth case some above. */
#include "hpl.h"

enum { LISTS = 2000, WIDEST = 1024 };

void __real_HPL_pipid(HPL_T_panel *, int *, int *);

int main(int argc, char **argv) {
    static double pivots[WIDEST];
    static int own[4 * WIDEST + 4], other[4 * WIDEST + 4];
    int same = 0;
    MPI_Init(&argc, &argv);
    srand(1);
    for (int list = 0; list < LISTS; list++) {
        HPL_T_panel panel = {0};
        int own_length = 0, other_length = 0;
        panel.jb = 1 + rand() % (list % 20 ? 50 : WIDEST);
        panel.ia = 1 + rand() % 1000;
        panel.DPIV = pivots;
        int rows = panel.jb + rand() % 3000;
        for (int i = 0; i < panel.jb; i++)
            pivots[i] = panel.ia + i + rand() % (rows - i) - (list % 5 == 0 && rand() % 10 == 0);
        __real_HPL_pipid(&panel, &own_length, own);
        HPL_pipid(&panel, &other_length, other);
        same += own_length == other_length && !memcmp(own, other, own_length * sizeof *own);
    }
    printf("%d lists are the same\n", same);
    MPI_Finalize();
    return same != LISTS;
}
