"""Recording: what is preloaded into a program of any MPI library, and the run of that program."""
