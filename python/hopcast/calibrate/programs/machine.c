/* Facts of the machine that a measurement runs on: one JSON document of ranks, hosts, processors, clock and library.
 *
 *   machine FILE
 *
 * Rank 0 writes FILE. The measuring programs themselves know nothing of it. */
#include "common.h"
#include <sched.h>
#include <sys/utsname.h>

#define TEXT 256

struct facts {
    char host[MPI_MAX_PROCESSOR_NAME];
    char processor[TEXT];
    char system[TEXT];
    char governor[TEXT];
    int core, cores, sockets;
    double step;
};

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
        fputs("}", file);
    }
    fputs("]}\n", file);
    fclose(file);
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
