"""Random MPI programs, run under MPICH and under hopcast, whose answers must be the same."""
