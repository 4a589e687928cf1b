/* Places of processes: chip of the node, node, and coordinates of the interconnect; and partners along a dimension.
 *
 * Nodes are found by MPI_Comm_split_type. Chips are what the MPI library calls socket or package, else what the kernel
 * says of the processor that the process is on. Coordinates of nodes come from a file; without one there is one
 * dimension, the node's number. */
#ifndef HOPCAST_CALIBRATE_PLACES_H
#define HOPCAST_CALIBRATE_PLACES_H

#include "common.h"
#include <limits.h>
#include <sched.h>

#define DIMENSIONS_MOST 8

struct places {
    int ranks, dimensions;
    int levels;                            /* the chip, then the dimensions */
    char names[DIMENSIONS_MOST + 2][8];    /* of the levels, then of the cores of a chip */
    int *node, *chip;                      /* of each rank */
    int *coordinates;                      /* dimensions for each rank */
};

/* Number of the part of the machine that a split by hardware puts this rank in: its first rank; -1 where there is none. */
static inline int hardware_part(MPI_Comm node) {
    int part = -1;
#if MPI_VERSION >= 4
    static const char *kinds[] = {"hopcast://socket", "hwloc://Package", "hwloc://package", "hwloc://socket", "package",
                                  "socket"};
    for (size_t i = 0; part < 0 && i < sizeof kinds / sizeof *kinds; i++) {
        MPI_Info info;
        MPI_Comm chip = MPI_COMM_NULL;
        int rank, size, whole;
        MPI_Comm_size(node, &whole);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_hw_resource_type", kinds[i]);
        MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
        if (MPI_Comm_split_type(node, MPI_COMM_TYPE_HW_GUIDED, 0, info, &chip) == MPI_SUCCESS && chip != MPI_COMM_NULL) {
            MPI_Comm_size(chip, &size);
            MPI_Bcast(&rank, 1, MPI_INT, 0, chip);
            MPI_Comm_free(&chip);
            if (size < whole)
                part = rank;
        }
        MPI_Info_free(&info);
        int some, found = part >= 0;
        MPI_Allreduce(&found, &some, 1, MPI_INT, MPI_MIN, node);
        if (!some)
            part = -1;
    }
#endif
    (void)node;
    return part;
}

/* Package of the processor that this process is on, as the kernel says; 0 where it does not. */
static inline int package(void) {
#ifdef HOPCAST
    return 0; /* the kernel knows the machine of the simulation, not the simulated one */
#else
    char name[128];
    int number = 0;
    snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", sched_getcpu());
    FILE *file = fopen(name, "r");
    if (!file)
        return 0;
    if (fscanf(file, "%d", &number) != 1)
        number = 0;
    fclose(file);
    return number;
#endif
}

/* Lines `RANK X Y …` of all ranks; all have as many coordinates. */
static inline void read_map(const char *name, struct places *places) {
    FILE *file = opened(name, "r");
    char line[1024];
    int lines = 0;
    while (fgets(line, sizeof line, file)) {
        char *at = line + strspn(line, " \t"), *end;
        if (*at == '#' || *at == '\n')
            continue;
        long rank = strtol(at, &end, 10);
        int count = 0, values[DIMENSIONS_MOST];
        for (at = end; count < DIMENSIONS_MOST; at = end) {
            long value = strtol(at, &end, 10);
            if (end == at)
                break;
            values[count++] = (int)value;
        }
        if (rank < 0 || rank >= places->ranks || !count || at[strspn(at, " \t\r\n")])
            fail("%s: '%.40s' is no line 'RANK X Y …' of %d ranks", name, line, places->ranks);
        if (lines && count != places->dimensions)
            fail("%s: rank %ld has %d coordinates, others have %d", name, rank, count, places->dimensions);
        places->dimensions = count;
        memcpy(places->coordinates + rank * DIMENSIONS_MOST, values, sizeof values);
        lines++;
    }
    fclose(file);
    if (lines != places->ranks)
        fail("%s: %d lines for %d ranks", name, lines, places->ranks);
}

static inline struct places find_places(const char *map) {
    struct places places;
    MPI_Comm node;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &places.ranks);
    places.node = allocated((size_t)places.ranks * sizeof(int));
    places.chip = allocated((size_t)places.ranks * sizeof(int));
    places.coordinates = allocated((size_t)places.ranks * DIMENSIONS_MOST * sizeof(int));
    hosts_of_ranks(places.node);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    int chip = hardware_part(node);
    MPI_Comm_free(&node);
    if (chip < 0)
        chip = package();
    MPI_Allgather(&chip, 1, MPI_INT, places.chip, 1, MPI_INT, MPI_COMM_WORLD);
    places.dimensions = 1;
    for (int i = 0; i < places.ranks; i++)
        places.coordinates[i * DIMENSIONS_MOST] = places.node[i];
    if (map) {
        if (rank == 0)
            read_map(map, &places);
        MPI_Bcast(&places.dimensions, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Bcast(places.coordinates, places.ranks * DIMENSIONS_MOST, MPI_INT, 0, MPI_COMM_WORLD);
    }
    places.levels = 1 + places.dimensions;
    snprintf(places.names[0], sizeof places.names[0], "chip");
    for (int level = 1; level < places.levels; level++)
        snprintf(places.names[level], sizeof places.names[level], map ? "x%d" : "node", level - 1);
    snprintf(places.names[places.levels], sizeof places.names[0], "core");
    return places;
}

static inline void free_places(struct places *places) {
    free(places->node);
    free(places->chip);
    free(places->coordinates);
}

static inline void print_places(FILE *file, const struct places *places) {
    for (int rank = 0; rank < places->ranks; rank++) {
        fprintf(file, "%d\tnode %d\tchip %d\t(", rank, places->node[rank], places->chip[rank]);
        for (int i = 0; i < places->dimensions; i++)
            fprintf(file, "%s%d", i ? ", " : "", places->coordinates[rank * DIMENSIONS_MOST + i]);
        fputs(")\n", file);
    }
}

/* Distance of a rank's node from that of rank 0 along a dimension, or LONG_MAX where it is the same coordinate: an
 * offset in another dimension counts a hundred times. */
static inline long distance(const struct places *places, int rank, int dimension) {
    const int *here = places->coordinates, *there = here + rank * DIMENSIONS_MOST;
    long sum = labs((long)there[dimension] - here[dimension]);
    if (!sum)
        return LONG_MAX;
    for (int other = 0; other < places->dimensions; other++)
        if (other != dimension)
            sum += 100 * labs((long)there[other] - here[other]);
    return sum;
}

/* Pairs along a level in the order of ranks: masters of the node of rank 0, or of its chip; partners of the nearest other
 * one, ties going to the lowest rank. Gives their number, 0 where there is no other. */
static inline int pair_up(const struct places *places, int level, int *masters, int *partners) {
    int nearest = -1, own = 0, others = 0;
    long least = LONG_MAX;
    for (int rank = 0; rank < places->ranks; rank++) {
        long away = level ? distance(places, rank, level - 1) : LONG_MAX;
        if (!level && places->node[rank] == places->node[0] && places->chip[rank] != places->chip[0])
            away = labs((long)places->chip[rank] - places->chip[0]);
        if (away < least) {
            least = away;
            nearest = rank;
        }
    }
    if (nearest < 0)
        return 0;
    for (int rank = 0; rank < places->ranks; rank++) {
        int chip_matters = !level;
        if (places->node[rank] == places->node[0] && (!chip_matters || places->chip[rank] == places->chip[0]))
            masters[own++] = rank;
        else if (places->node[rank] == places->node[nearest] && (!chip_matters || places->chip[rank] == places->chip[nearest]))
            partners[others++] = rank;
    }
    return own < others ? own : others;
}

/* Pairs of all processes, the first half with the second. */
static inline int pair_cores(const struct places *places, int *masters, int *partners) {
    for (int i = 0; i < places->ranks / 2; i++) {
        masters[i] = i;
        partners[i] = i + places->ranks / 2;
    }
    return places->ranks / 2;
}

#endif
