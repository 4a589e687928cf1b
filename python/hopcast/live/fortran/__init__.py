"""Fortran: mpif.h, the modules mpi and mpi_f08, and what they call, made from the C header for a compiler.

A `.mod` file belongs to the version of a compiler, so all is made when a program is compiled for the first
time, and kept. What Fortran calls is a static library of C functions, which becomes a part of the program: so
each rank has its own copy of what stands for MPI_BOTTOM, MPI_STATUS_IGNORE and the like.
"""
