"""Halo exchange on a grid of ranks in two or three dimensions: each sends its faces to its neighbours.

    python examples/halo.py
    hopcast run hopper -n 64 examples/halo.py 3 128

Each rank owns a cube of `cells` cells along each dimension, 8 bytes each. A step exchanges the faces with
both neighbours of every dimension, all at once, and then updates the cells.
"""

import sys

import hopcast

DIMENSIONS = 3
CELLS = 128
STEPS = 10
FLOPS_PER_CELL = 8
CELL_BYTES = 8


def main(comm):
    """Gives the time of one step [s]."""
    words = [int(word) for word in sys.argv[1:]]
    dimensions, cells = (words + [DIMENSIONS, CELLS][len(words) :])[:2]
    return halo(comm, dimensions, cells)


def halo(comm, dimensions, cells, steps=STEPS):
    """Exchanges `steps` times; gives the time of one step [s]."""
    grid = comm.Create_cart(hopcast.Compute_dims(comm.Get_size(), dimensions), periods=[True] * dimensions)
    face = CELL_BYTES * cells ** (dimensions - 1)
    neighbours = [grid.Shift(dimension, 1) for dimension in range(dimensions)]
    grid.barrier()
    begin = grid.Wtime()
    for _ in range(steps):
        requests = []
        for dimension, (before, after) in enumerate(neighbours):
            requests.append(grid.irecv(source=before, tag=2 * dimension))
            requests.append(grid.irecv(source=after, tag=2 * dimension + 1))
        for dimension, (before, after) in enumerate(neighbours):
            requests.append(grid.isend(nbytes=face, dest=after, tag=2 * dimension))
            requests.append(grid.isend(nbytes=face, dest=before, tag=2 * dimension + 1))
        hopcast.Request.waitall(requests)
        grid.compute(flops=FLOPS_PER_CELL * cells**dimensions)
    return (grid.Wtime() - begin) / steps


if __name__ == "__main__":
    for dimensions, ranks in ((2, 64), (3, 64)):
        report = hopcast.run("hopper", halo, ranks=ranks, ppn=1, args=(dimensions, CELLS))
        step_s = max(report.results)
        print(f"{dimensions}-D, {ranks} ranks: {step_s * 1e6:9.3f} us per step")
