"""Cannon's matrix multiplication on a square grid of ranks, as in the Gemini paper (its figures 4 and 5).

    python examples/cannon.py
    hopcast run hopper -n 16 examples/cannon.py 10000

Each rank holds a block of m x m numbers of A and of B, m = n / sqrt(ranks). The blocks are aligned once;
then every rank multiplies, and shifts A to the left and B up, until it has seen all blocks.
`multiply` moves real blocks and computes; `main` moves phantoms of the same lengths and takes the time of
the multiplications from the platform.

Source: Ahmed et al., "An Integrated Interconnection Network Model for Large-Scale Performance Prediction"
(SIGSIM-PADS 2016), section 5.
"""

import math
import sys

import numpy as np

import hopcast

N = 10_000
"""Rows and columns of the matrices."""


def main(comm):
    """The skeleton: phantoms and predicted compute times."""
    cannon(comm, int(sys.argv[1]) if len(sys.argv) > 1 else N)


def square_grid(comm):
    """The ranks on a square torus."""
    side = math.isqrt(comm.Get_size())
    if side * side != comm.Get_size():
        raise ValueError(f"Cannon's algorithm takes a square number of ranks, not {comm.Get_size()}")
    return comm.Create_cart([side, side], periods=[True, True])


def cannon(comm, n):
    """Multiplies two matrices of n x n phantom numbers."""
    grid = square_grid(comm)
    side = grid.dims[0]
    row, column = grid.Get_coords(grid.Get_rank())
    m = n // side
    block = 8 * m * m

    comm.compute(bytes=2 * block)  # reads both blocks

    right, left = grid.Shift(1, -row)  # aligns A: row i moves i columns to the left
    grid.sendrecv(nbytes=block, dest=left, source=right)
    below, above = grid.Shift(0, -column)  # aligns B: column j moves j rows up
    grid.sendrecv(nbytes=block, dest=above, source=below)

    right, left = grid.Shift(1, -1)
    below, above = grid.Shift(0, -1)
    comm.compute(flops=2 * m**3)
    for _ in range(side - 1):
        grid.sendrecv(nbytes=block, dest=left, source=right)
        grid.sendrecv(nbytes=block, dest=above, source=below)
        comm.compute(flops=2 * m**3)


def multiply(comm, a, b):
    """Multiplies two real matrices; gives this rank's block of the product."""
    grid = square_grid(comm)
    side = grid.dims[0]
    row, column = grid.Get_coords(grid.Get_rank())
    m = len(a) // side
    mine = np.s_[row * m : (row + 1) * m, column * m : (column + 1) * m]
    a, b = a[mine], b[mine]

    right, left = grid.Shift(1, -row)
    a = grid.sendrecv(a, dest=left, source=right)
    below, above = grid.Shift(0, -column)
    b = grid.sendrecv(b, dest=above, source=below)

    right, left = grid.Shift(1, -1)
    below, above = grid.Shift(0, -1)
    product = a @ b
    for _ in range(side - 1):
        a = grid.sendrecv(a, dest=left, source=right)
        b = grid.sendrecv(b, dest=above, source=below)
        product += a @ b
    return product


if __name__ == "__main__":
    for ranks in (16, 64, 256, 1024):
        report = hopcast.run("hopper", main, ranks=ranks)
        print(f"{ranks:>5} ranks: {report.makespan_s:9.4f} s")
