/* HPL's search for a pivot, where all processes have found the same largest value, as in the published simulations:
 * memory is shared there, and their HPL_pdmxswp sets the value (Ezibenroc/hpl), so that no process leaves the others.
 * HPL takes the first process row of those with equal values: all rows that are exchanged come from there.
 * Linked with --wrap=HPL_pdmxswp. */
#include "hpl.h"

void __real_HPL_pdmxswp(HPL_T_panel *, const int, const int, const int, double *);

void __wrap_HPL_pdmxswp(HPL_T_panel *panel, const int rows, const int row, const int column, double *work) {
    work[0] = 0.42;
    __real_HPL_pdmxswp(panel, rows, row, column, work);
}
