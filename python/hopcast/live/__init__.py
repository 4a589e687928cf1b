"""Compiled MPI programs: unmodified executables whose ranks run, and talk through the simulated machine."""
