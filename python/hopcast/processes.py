"""Processes that share one run: `mpiexec -n P hopcast run …`, over the MPI that mpi4py was built for."""

from __future__ import annotations

import os
import sys
import traceback

from hopcast.errors import InputError

# What launchers tell a process: its rank, and how many there are (MPICH and its kin, Open MPI).
_LAUNCHERS = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))


def place() -> tuple[int, int]:
    """The rank of this process, and how many an MPI launcher has started; `(0, 1)` without one."""
    for rank, count in _LAUNCHERS:
        if rank in os.environ and count in os.environ:
            return int(os.environ[rank]), int(os.environ[count])
    return 0, 1


def is_silent() -> bool:
    """True if another process of the same launch does the talking."""
    return place()[0] > 0


def peers() -> Peers | None:
    """Connection between the processes of this launch; `None` for one by itself."""
    _, count = place()
    if count <= 1:
        return None
    try:
        return Peers()
    except (ImportError, RuntimeError) as error:
        raise InputError(
            f"{count} processes: they talk through mpi4py, which cannot be used: {error}; install it with "
            "pip install 'hopcast[mpi]', for the MPI that mpiexec belongs to"
        ) from error


def _check_launcher(vendor: str, version: str) -> None:
    """Refuses Open MPI's launcher to an MPICH without PMIx, which would end this process."""
    is_of_open_mpi = "OMPI_COMM_WORLD_SIZE" in os.environ and "PMI_RANK" not in os.environ
    if is_of_open_mpi and vendor == "MPICH" and "pmix" not in version.lower():
        raise RuntimeError("it uses MPICH, and mpiexec is Open MPI's")


class Peers:
    """One of several processes."""

    def __init__(self):
        import mpi4py

        mpi4py.rc(initialize=False, finalize=True)
        from mpi4py import MPI

        _check_launcher(MPI.get_vendor()[0], MPI.Get_library_version())
        if not MPI.Is_initialized():
            MPI.Init_thread()
        self._comm = MPI.COMM_WORLD.Dup()
        # A process that is gone ends the others: none of them waits for it.
        self._comm.Set_errhandler(MPI.ERRORS_ARE_FATAL)
        self.rank = self._comm.rank
        self.count = self._comm.size
        if self.count != place()[1]:
            raise RuntimeError(
                f"it finds {self.count} processes, as it was built for another MPI ({MPI.get_vendor()[0]})"
            )

    def exchange(self, to: list[bytes]) -> list[bytes]:
        """Gives each process its bytes, and gives what each has for this one."""
        return self._comm.alltoall(to)

    def share(self, content: bytes) -> list[bytes]:
        """Gives `content` to all, and gives what all have given, by rank."""
        return self._comm.allgather(content)

    def tell(self, error: InputError) -> None:
        """Lets the others know, who wait to hear whether all can begin."""
        if not error.all_know:
            self.share(str(error).encode())

    def end_all(self) -> None:
        """This process cannot go on for a reason that the others do not know of: ends all of them."""
        traceback.print_exc(file=sys.__stderr__)
        self._comm.Abort(70)
