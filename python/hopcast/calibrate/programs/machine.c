/* Facts of the machine that a measurement runs on: one JSON document of ranks, hosts, processors, clock and library.
 *
 *   machine FILE
 *
 * Rank 0 writes FILE. The measuring programs themselves know nothing of it. */
#include "common.h"
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TEXT 256
#define PARTS_MOST 8

/* A part of a host that this rank is in, such as a socket, and its number in the host. */
struct part {
    char name[64];
    int number;
};

struct facts {
    char host[MPI_MAX_PROCESSOR_NAME];
    char processor[TEXT];
    char system[TEXT];
    char governor[TEXT];
    int core, cores, sockets, part_count;
    struct part parts[PARTS_MOST];
    double step;
};

static void add_part(struct facts *facts, const char *name, int number) {
    if (facts->part_count == PARTS_MOST)
        return;
    snprintf(facts->parts[facts->part_count].name, sizeof facts->parts->name, "%.63s", name);
    facts->parts[facts->part_count++].number = number;
}

#ifdef HOPCAST
/* Levels of the simulated host, which the kernel of this one does not know. */
static void find_parts(struct facts *facts) {
    static const char scheme[] = "hopcast://";
    MPI_Info all;
    int keys, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_hw_resource_info(&all);
    MPI_Info_get_nkeys(all, &keys);
    for (int i = 0; i < keys; i++) {
        char name[MPI_MAX_INFO_KEY + 1];
        MPI_Info wanted;
        MPI_Comm part;
        int first = rank;
        MPI_Info_get_nthkey(all, i, name);
        MPI_Info_create(&wanted);
        MPI_Info_set(wanted, "mpi_hw_resource_type", name);
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, rank, wanted, &part);
        MPI_Info_free(&wanted);
        if (part == MPI_COMM_NULL)
            continue;
        MPI_Bcast(&first, 1, MPI_INT, 0, part);
        MPI_Comm_free(&part);
        if (!strncmp(name, scheme, sizeof scheme - 1) && strcmp(name, "hopcast://host"))
            add_part(facts, name + sizeof scheme - 1, first);
    }
    MPI_Info_free(&all);
}
#else
/* Number in a file of a processor, the first of a list; -1 where there is none. */
static int number_of(int processor, const char *file) {
    char name[TEXT];
    int number = -1;
    snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%d/%s", processor, file);
    FILE *opened = fopen(name, "r");
    if (!opened)
        return -1;
    if (fscanf(opened, "%d", &number) != 1)
        number = -1;
    fclose(opened);
    return number;
}

static int numa_node(int processor) {
    char name[TEXT];
    for (int node = 0; node < 1024; node++) {
        snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu%d/node%d", processor, node);
        if (!access(name, F_OK))
            return node;
    }
    return -1;
}

/* Parts that all processors are in on which this rank may run: more than one part is none. */
static void find_parts(struct facts *facts) {
    static const char *const names[] = {"L2", "L3", "numa", "socket"};
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    for (int kind = 0; kind < 4; kind++) {
        int part = -2;
        for (int processor = 0; processor < CPU_SETSIZE && part != -1; processor++) {
            if (!CPU_ISSET(processor, &allowed))
                continue;
            int here = kind == 0   ? number_of(processor, "cache/index2/shared_cpu_list")
                       : kind == 1 ? number_of(processor, "cache/index3/shared_cpu_list")
                       : kind == 2 ? numa_node(processor)
                                   : number_of(processor, "topology/physical_package_id");
            part = part == -2 || part == here ? here : -1;
        }
        if (part >= 0)
            add_part(facts, names[kind], part);
    }
}
#endif

/* The first line of a file, or an empty text. */
static void first_line(const char *name, char *text) {
    FILE *file = fopen(name, "r");
    text[0] = 0;
    if (!file)
        return;
    if (fgets(text, TEXT, file))
        text[strcspn(text, "\n")] = 0;
    fclose(file);
}

/* Model, cores and sockets of /proc/cpuinfo. */
static void processors(struct facts *facts) {
    char line[1024];
    unsigned long long seen = 0;
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file)
        return;
    while (fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (!value)
            continue;
        value += 1 + (value[1] == ' ');
        value[strcspn(value, "\n")] = 0;
        if (!strncmp(line, "processor", 9))
            facts->cores++;
        else if (!strncmp(line, "physical id", 11))
            seen |= 1ull << (atoi(value) & 63);
        else if (!strncmp(line, "model name", 10) && !facts->processor[0])
            snprintf(facts->processor, TEXT, "%.255s", value);
    }
    fclose(file);
    for (; seen; seen &= seen - 1)
        facts->sockets++;
}

static void collect(struct facts *facts) {
    struct utsname name;
    int length;
    memset(facts, 0, sizeof *facts);
    MPI_Get_processor_name(facts->host, &length);
    processors(facts);
    if (!uname(&name))
        snprintf(facts->system, TEXT, "%.60s %.60s %.60s", name.sysname, name.release, name.machine);
    first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", facts->governor);
    facts->core = sched_getcpu();
    find_parts(facts);
    facts->step = clock_step();
}

static void write_text(FILE *file, const char *name, const char *text) {
    fprintf(file, "\"%s\": \"", name);
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else if ((unsigned char)*text < 32)
            fputs(*text == '\n' ? "\\n" : " ", file);
        else
            fputc(*text, file);
    fputs("\"", file);
}

static void write_facts(const char *name, const struct facts *all, const int *host_of, int ranks, int hosts) {
    FILE *file = opened(name, "w");
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, major, minor;
    MPI_Get_library_version(version, &length);
    MPI_Get_version(&major, &minor);
    fputs("{", file);
    write_text(file, "mpi_library", version);
    fprintf(file, ",\n \"mpi_version\": \"%d.%d\",\n \"clock_tick_s\": %.3e,\n \"hosts\": %d,\n \"ranks\": [", major,
            minor, MPI_Wtick(), hosts);
    for (int rank = 0; rank < ranks; rank++) {
        const struct facts *facts = &all[rank];
        fprintf(file, "%s\n  {\"rank\": %d, \"host_number\": %d, ", rank ? "," : "", rank, host_of[rank]);
        write_text(file, "host", facts->host);
        fprintf(file, ", \"core\": %d, \"cores\": %d, \"sockets\": %d, \"clock_step_s\": %.3e, ", facts->core,
                facts->cores, facts->sockets, facts->step);
        write_text(file, "processor", facts->processor);
        fputs(", ", file);
        write_text(file, "system", facts->system);
        fputs(", ", file);
        write_text(file, "governor", facts->governor);
        fputs(", \"parts\": {", file);
        for (int part = 0; part < facts->part_count; part++)
            fprintf(file, "%s\"%s\": %d", part ? ", " : "", facts->parts[part].name, facts->parts[part].number);
        fputs("}}", file);
    }
    fputs("]}\n", file);
    closed(file);
}

int main(int count, char **words) {
    int rank, ranks;
    struct facts mine, *all = NULL;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (count != 2)
        fail("usage: machine FILE");
    int *host_of = allocated((size_t)ranks * sizeof *host_of);
    int hosts = hosts_of_ranks(host_of);
    collect(&mine);
    if (rank == 0)
        all = allocated((size_t)ranks * sizeof *all);
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank == 0)
        write_facts(words[1], all, host_of, ranks, hosts);
    free(all);
    free(host_of);
    MPI_Finalize();
    return 0;
}
