/* usage: loads PLUGIN   loads this file once more, compiled with -DPLUGIN and with an MPI library, which it lacks itself */
#include <stdio.h>

#ifdef PLUGIN
#include <mpi.h>

int begin(void) {
    MPI_Init(NULL, NULL);
    puts("begun");
    return MPI_Finalize();
}
#else
#include <dlfcn.h>

int main(int count, char **arguments) {
    void *plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    int (*begin)(void) = plugin ? (int (*)(void))dlsym(plugin, "begin") : NULL;
    return begin ? begin() : count + 100;
}
#endif
