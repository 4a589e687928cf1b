"""Conjugate gradients with mpi4py and numpy: Poisson's equation on the unit square, on a grid of ranks.

    mpiexec -n 4 python examples/conjugate.py 64
    hopcast run hopper -n 16 examples/conjugate.py 64

The right side is that of u = x (1 - x) y (1 - y), for which the five-point formula is exact: the error that
it prints is what the iteration has left. Any number of ranks prints the same, but for the time.
"""

import sys

import numpy as np
from mpi4py import MPI

TOLERANCE = 1e-12
"""Residual, over that of the beginning, at which the solver ends."""


class Part:
    """A rank's part of the N x N points within the square, with a border of its neighbours' points."""

    def __init__(self, comm, n):
        self.grid = comm.Create_cart(MPI.Compute_dims(comm.size, 2))
        self.h = 1 / (n + 1)
        points = [
            np.arange(n * place // parts + 1, n * (place + 1) // parts + 1)
            for place, parts in zip(self.grid.coords, self.grid.dims, strict=True)
        ]
        self.x, self.y = points[0][:, None] * self.h, points[1][None, :] * self.h
        self.bordered = np.zeros((len(points[0]) + 2, len(points[1]) + 2))

    def exchange(self):
        """Fills the border with what the neighbours have; at the edge of the square it stays 0."""
        b = self.bordered
        for direction in 0, 1:
            lines = b if direction == 0 else b.T
            for first, last, shift in (1, -1, -1), (-2, 0, 1):
                source, target = self.grid.Shift(direction, shift)
                got = np.zeros_like(lines[last])
                self.grid.Sendrecv(np.ascontiguousarray(lines[first]), target, recvbuf=got, source=source)
                lines[last] = got

    def laplacian(self, values):
        """Minus the five-point formula, times h²."""
        b = self.bordered
        b[1:-1, 1:-1] = values
        self.exchange()
        return 4 * values - b[:-2, 1:-1] - b[2:, 1:-1] - b[1:-1, :-2] - b[1:-1, 2:]

    def dot(self, one, other):
        """Dot product of two vectors, each in parts on all ranks."""
        return self.grid.allreduce(float(np.vdot(one, other)))


def solve(part):
    """u, and after how many iterations."""
    x, y = part.x, part.y
    residual = part.h**2 * 2 * (x * (1 - x) + y * (1 - y))
    u, direction = np.zeros_like(residual), residual
    square = first = part.dot(residual, residual)
    iterations = 0
    while square > TOLERANCE**2 * first:
        applied = part.laplacian(direction)
        step = square / part.dot(direction, applied)
        u, residual = u + step * direction, residual - step * applied
        before, square = square, part.dot(residual, residual)
        direction = residual + square / before * direction
        iterations += 1
    return u, iterations


def main():
    comm = MPI.COMM_WORLD
    settings = {"n": int(sys.argv[1]) if len(sys.argv) > 1 else 64} if comm.rank == 0 else None
    n = comm.bcast(settings)["n"]
    part = Part(comm, n)
    comm.Barrier()
    begin = MPI.Wtime()
    u, iterations = solve(part)
    seconds = MPI.Wtime() - begin
    x, y = part.x, part.y
    error = comm.reduce(float(np.abs(u - x * (1 - x) * y * (1 - y)).max(initial=0)), MPI.MAX)
    if comm.rank == 0:
        print(f"{n} x {n} points: {iterations} iterations, error below 1e{int(np.ceil(np.log10(error)))}")
        print(f"{comm.size} ranks: {seconds * 1e6:.1f} µs")


if __name__ == "__main__":
    main()
