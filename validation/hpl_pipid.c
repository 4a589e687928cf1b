/* HPL's list of the rows that a panel exchanges, built in linear time. HPL_pipid searches its list for each of the NB
 * pivots, NB^2 steps in each process, which at NB = 1,024 is a third of a simulation. Here a hash table holds the place
 * of each destination. The answer is the same: no destination leaves the list, and each stands in it once as long as no
 * pivot is above its row, for which the original answers. Linked with --wrap=HPL_pipid. */
#include "hpl.h"

enum { WIDEST = 1024 }; /* wider panels need a table that --fold-memory would share */

typedef struct {
    unsigned mask;
    int *rows; /* -1: empty */
    int *places;
} Table;

void __real_HPL_pipid(HPL_T_panel *, int *, int *);

/* The slot of a row, or the empty slot where it belongs. */
static unsigned slot(const Table *table, int row) {
    unsigned at = (unsigned)row * 2654435769u >> 7 & table->mask;
    while (table->rows[at] != row && table->rows[at] != -1)
        at = (at + 1) & table->mask;
    return at;
}

/* The place of a destination in the list, or 0. */
static int place(const Table *table, int row) {
    unsigned at = slot(table, row);
    return table->rows[at] == row ? table->places[at] : 0;
}

/* Puts a destination into the list. */
static void put(const Table *table, int *ipid, int at, int row) {
    unsigned into = slot(table, row);
    ipid[at] = row;
    table->rows[into] = row;
    table->places[into] = at;
}

/* Fills the list; false if a pivot is above its row. */
static int fill(const HPL_T_panel *panel, const Table *table, int *k, int *ipid) {
    const double *dpiv = panel->DPIV;
    int ia = panel->ia, count = 0;
    for (int i = 0; i < panel->jb; i++) {
        int src = ia + i, dst = (int)dpiv[i];
        if (dst < src)
            return 0;
        int source_at = place(table, src), destination_at = place(table, dst), pair;
        if (src == dst) {
            pair = source_at ? source_at - 1 : count;
            if (!source_at) {
                ipid[count] = src;
                count += 2;
            }
            put(table, ipid, pair + 1, dst);
        } else if (i == 0) {
            ipid[0] = dst;
            put(table, ipid, 1, src);
            ipid[2] = src;
            put(table, ipid, 3, dst);
            pair = 0;
            count = 4;
        } else {
            if (!source_at) {
                ipid[count] = src;
                source_at = count + 1;
                count += 2;
            }
            put(table, ipid, source_at, dst);
            pair = destination_at ? destination_at - 1 : count;
            if (!destination_at) {
                ipid[count] = dst;
                count += 2;
            }
            put(table, ipid, pair + 1, src);
        }
        if (pair != 2 * i) {
            int from = ipid[2 * i], to = ipid[2 * i + 1];
            ipid[2 * i] = ipid[pair];
            ipid[pair] = from;
            put(table, ipid, 2 * i + 1, ipid[pair + 1]);
            put(table, ipid, pair + 1, to);
        }
    }
    *k = count;
    return 1;
}

void __wrap_HPL_pipid(HPL_T_panel *panel, int *k, int *ipid) {
    unsigned slots = 4;
    int filled = 0;
    while (slots < 4u * panel->jb)
        slots *= 2;
    int *memory = panel->jb <= WIDEST ? malloc(2 * slots * sizeof(int)) : NULL;
    if (memory) {
        Table table = {slots - 1, memory, memory + slots};
        for (unsigned at = 0; at < slots; at++)
            table.rows[at] = -1;
        filled = fill(panel, &table, k, ipid);
        free(memory);
    }
    if (!filled)
        __real_HPL_pipid(panel, k, ipid);
}
