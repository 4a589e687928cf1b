/* Whether this recorder is one for the program's MPI library. Of another one it knows neither handles nor constants, and
 * cannot even pass on what the program gives: such a program is run again without it, before it has begun. */

/* What each library of MPI has, and no wrapper. */
#define MARK "PMPI_Wtime"

struct loaded { char **names; size_t count; };

static int add_loaded(struct dl_phdr_info *info, size_t size, void *into) {
    (void)size;
    struct loaded *loaded = into;
    if (!info->dlpi_name || !*info->dlpi_name) return 0;
    loaded->names = memory(loaded->names, (loaded->count + 1) * sizeof *loaded->names);
    loaded->names[loaded->count++] = strdup(info->dlpi_name);
    return 0;
}

/* The library of MPI that `name`, which is loaded, is or needs. */
static int library_of(const char *name, Dl_info *found) {
    void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    void *mark = library ? dlsym(library, MARK) : NULL;
    int known = mark && dladdr(mark, found);
    if (library) dlclose(library);
    return known;
}

/* The path of a library of MPI that is loaded besides the recorder's own; which that is, too. */
static char *other_library(Dl_info *here, Dl_info *own) {
    if (!dladdr((void *)other_library, here) || !library_of(here->dli_fname, own)) return NULL;
    struct loaded loaded = {NULL, 0};
    dl_iterate_phdr(add_loaded, &loaded);
    char *other = NULL;
    for (size_t at = 0; at < loaded.count; at++) {
        Dl_info found;
        if (!other && library_of(loaded.names[at], &found) && found.dli_fbase != own->dli_fbase) {
            other = strdup(found.dli_fname);
        }
        free(loaded.names[at]);
    }
    free(loaded.names);
    return other;
}

/* Of processes that a launcher has started, the first speaks. */
static int is_first(void) {
    static const char *const ranks[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
    for (size_t at = 0; at < sizeof ranks / sizeof *ranks; at++) {
        const char *rank = getenv(ranks[at]);
        if (rank && strcmp(rank, "0")) return 0;
    }
    return 1;
}

/* What is preloaded, without `path`. */
static void preload_without(const char *path) {
    const char *all = getenv("LD_PRELOAD");
    char *copy = strdup(all ? all : ""), *kept = memory(NULL, strlen(copy) + 1), *left = NULL;
    *kept = 0;
    for (char *one = strtok_r(copy, " :", &left); one; one = strtok_r(NULL, " :", &left)) {
        if (!strcmp(one, path)) continue;
        if (*kept) strcat(kept, " ");
        strcat(kept, one);
    }
    if (*kept) setenv("LD_PRELOAD", kept, 1);
    else unsetenv("LD_PRELOAD");
    free(copy);
    free(kept);
}

/* Before main, with whose arguments the C library calls it. */
__attribute__((constructor)) static void begun(int count, char **arguments) {
    (void)count;
    Dl_info here, own;
    char program[4096] = "", *other = getenv("HOPCAST_TRACE") ? other_library(&here, &own) : NULL;
    if (!other) return;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (is_first()) {
        fprintf(stderr, "hopcast trace: a program is not recorded: it uses %s, and the recorder was compiled for %s; "
                        "--mpicc names the compiler of the program's library\n", other, own.dli_fname);
    }
    preload_without(here.dli_fname);
    unsetenv("HOPCAST_TRACE");
    if (length > 0) execv(program, arguments);
    fprintf(stderr, "hopcast trace: %s cannot be run without the recorder: %s\n", program, strerror(errno));
    _exit(127);
}

/* Before MPI_Init, of a program that has loaded its library itself: there is no way back. */
static void check_library(void) {
    Dl_info here, own;
    char *other = getenv("HOPCAST_TRACE") ? other_library(&here, &own) : NULL;
    if (!other) return;
    fprintf(stderr, "hopcast trace: the program has loaded %s, and the recorder was compiled for %s: it ends here; "
                    "--mpicc names the compiler of the program's library\n", other, own.dli_fname);
    exit(1);
}
