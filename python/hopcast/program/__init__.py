"""Programs of ranks in Python: a function of a communicator, in mpi4py's words."""
