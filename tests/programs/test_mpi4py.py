"""mpi4py programs, unchanged, with the wheel from PyPI."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hopcast.live import library

pytest.importorskip("mpi4py")
pytestmark = pytest.mark.skipif(not library.LIBRARY.exists(), reason="built without the MPI library")


def run(folder: Path, text: str, ranks: int, *words: str, flags: tuple[str, ...] = ()) -> tuple[dict, str]:
    """The report, and the program's output on both of its streams."""
    program = folder / "program.py"
    program.write_text(text)
    command = [sys.executable, "-m", "hopcast", "run", "hopper", "-n", str(ranks), "--json", "--quiet"]
    command += ["--compute", "none", *flags]
    done = subprocess.run([*command, program, *words], capture_output=True, text=True, timeout=120)
    assert "{" in done.stdout, done.stderr
    report = json.loads(done.stdout[done.stdout.index("{") :])
    assert done.returncode == (3 if report["failure"] else 0)
    return report, done.stderr


def test_a_virtual_environment_may_be_a_link(tmp_path) -> None:
    """The kernel knows a module's file by its real path, Python by the one through the link."""
    (tmp_path / "linked").symlink_to(sys.prefix)
    (tmp_path / "program.py").write_text("from mpi4py import MPI\nassert MPI.COMM_WORLD.size == 2\n")
    python = tmp_path / "linked" / "bin" / "python"
    flags = ("-n", "2", "--quiet", "--compute", "none")
    command = [python, "-m", "hopcast", "run", "crossbar", *flags, tmp_path / "program.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


BUFFERS = """
import sys
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
assert __name__ == "__main__" and sys.argv[1:] == ["one", "two words"]
sys.argv.append(rank)
everyone = np.empty(size, "i")
comm.Allgather(np.array([rank], "i"), everyone)
assert (everyone == np.arange(size)).all()
total = np.zeros(3)
comm.Reduce(np.full(3, rank + 0.5), total, MPI.SUM, root=size - 1)
assert rank < size - 1 or (total == size * size / 2).all()
got = np.empty(4, "d")
sent = np.full(4, rank, "d")
requests = [comm.Irecv(got, (rank - 1) % size, tag=7), comm.Isend(sent, (rank + 1) % size, tag=7)]
status = [MPI.Status(), MPI.Status()]
MPI.Request.Waitall(requests, status)
assert (got == (rank - 1) % size).all()
assert status[0].source == (rank - 1) % size and status[0].tag == 7 and status[0].Get_count(MPI.DOUBLE) == 4
columns = MPI.DOUBLE.Create_vector(3, 1, 4).Commit()
matrix = np.arange(12.0).reshape(3, 4) + rank
column = np.empty(3)
comm.Sendrecv([matrix, 1, columns], rank, 1, column, rank, 1)
assert (column == matrix[:, 0]).all()
half = comm.Split(rank % 2, -rank)
assert half.rank == (size - 1 - rank) // 2 and half.allreduce(1) == (size + 1 - rank % 2) // 2
assert comm.Get_attr(MPI.TAG_UB) > 30000 and MPI.Get_processor_name().startswith("host")
assert MPI.COMM_WORLD.Get_errhandler() == MPI.ERRORS_RETURN
assert sys.argv[-1] == rank and sys.argv.count(rank) == 1
"""


@pytest.mark.parametrize("ranks", [1, 2, 5, 24])
def test_buffers_of_numpy_arrive_whole(tmp_path, ranks) -> None:
    report, printed = run(tmp_path, BUFFERS, ranks, "one", "two words")
    assert report["failure"] is None, printed
    assert report["ranks_finished"] == ranks


OBJECTS = """
from mpi4py import MPI
import shared_name
class Point:
    def __init__(self, x): self.x = x
comm = MPI.COMM_WORLD
assert shared_name.rank == comm.rank
points = comm.allgather(Point(comm.rank))
assert [point.x for point in points] == list(range(comm.size)) and all(type(p) is Point for p in points)
assert comm.bcast({"a": [1, 2], "from": comm.rank}, root=comm.size - 1)["from"] == comm.size - 1
pairs = [shared_name.Pair(r, 2 * r) for r in range(comm.size)] if comm.rank == 0 else None
assert comm.scatter(pairs).b == 2 * comm.rank
assert comm.alltoall([(comm.rank, r) for r in range(comm.size)]) == [(r, comm.rank) for r in range(comm.size)]
keyval = MPI.Comm.Create_keyval(delete_fn=lambda c, k, v: print("deleted by", v))
comm.Set_attr(keyval, comm.rank)
comm.Barrier()
assert comm.Get_attr(keyval) == comm.rank
comm.Delete_attr(keyval)
import atexit
atexit.register(print, "the end of", comm.rank)
print("a line", end=" ")
comm.Barrier()
print("of", comm.rank)
"""

NEIGHBOUR = """
from mpi4py import MPI
from dataclasses import dataclass
rank = MPI.COMM_WORLD.rank
@dataclass
class Pair:
    a: int
    b: int
"""


def test_objects_and_modules_are_each_ranks_own(tmp_path) -> None:
    (tmp_path / "shared_name.py").write_text(NEIGHBOUR)
    report, printed = run(tmp_path, OBJECTS, 5)
    assert report["failure"] is None, printed
    said = printed.splitlines()
    assert sorted(said) == sorted(
        line for r in range(5) for line in (f"deleted by {r}", f"a line of {r}", f"the end of {r}")
    )


def test_an_exception_names_the_rank_and_ends_the_run(tmp_path) -> None:
    text = (
        "from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 2:\n    {}['missing']\nMPI.COMM_WORLD.Barrier()\n"
    )
    report, printed = run(tmp_path, text, 4)
    assert report["failure"]["kind"] == "exception"
    assert report["failure"]["text"] == "rank 2 raised KeyError: 'missing'"
    assert report["failure"]["ranks"][0]["place"] == f"{tmp_path / 'program.py'}:3"
    assert printed.startswith("rank 2: Traceback (most recent call last):")
    report, _ = run(
        tmp_path, "import mpi4py.MPI, sys\nsys.exit(7 if mpi4py.MPI.COMM_WORLD.rank == 1 else 0)", 3
    )
    assert "rank 1 ended with exit code 7" in report["failure"]["text"]


def test_an_error_of_mpi_is_an_exception(tmp_path) -> None:
    text = """
from mpi4py import MPI
try:
    MPI.COMM_WORLD.Send(bytearray(1), dest=99)
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_RANK, error
    print("refused")
"""
    report, printed = run(tmp_path, text, 2)
    assert report["failure"] is None and printed == "refused\nrefused\n"


def test_options_of_mpi4py_are_each_ranks_own(tmp_path) -> None:
    text = """
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
assert not MPI.Is_initialized()
MPI.Init()
assert MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.size
MPI.Finalize()
assert MPI.Is_finalized()
"""
    report, printed = run(tmp_path, text, 3)
    assert report["failure"] is None, printed


NEWER = """
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
session = MPI.Session.Init()
buffer = MPI.Alloc_mem(4096)
session.Attach_buffer(buffer)
whole = MPI.Intracomm.Create_from_group(session.Create_group("mpi://WORLD"), "whole")
whole.Bsend(np.full(10, rank), (rank + 1) % size)
try:
    whole.Bsend(np.zeros(1000), (rank + 1) % size)
except MPI.Exception as error:
    assert error.error_class == MPI.ERR_BUFFER
else:
    raise AssertionError("more than the buffer holds")
got = np.empty(10, int)
whole.Recv(got, (rank - 1) % size)
assert (got == (rank - 1) % size).all()
session.Flush_buffer()
session.Iflush_buffer().Wait()
assert session.Detach_buffer().address == buffer.address
session.Attach_buffer(MPI.BUFFER_AUTOMATIC)
session.Finalize()
window = MPI.Win.Allocate(8 * (rank + 1), 8, comm=comm)
np.frombuffer(window.tomemory(), int)[:] = rank
window.Fence()
for other in range(size):
    memory, unit = window.Shared_query(other)
    shared = np.frombuffer(memory, int)
    assert len(shared) == other + 1 and (shared == other).all() and unit == 8
window.Fence()
window.Get_accumulate([bytearray(1), 0, MPI.BYTE], [bytearray(1), 0, MPI.BYTE], rank)
window.Fence()
window.Free()
assert MPI.WIN_NULL.name == "MPI_WIN_NULL"
status = MPI.Status()
status.error = MPI.ERR_OTHER
assert MPI.Request.Get_status_any([MPI.REQUEST_NULL], status) == (MPI.UNDEFINED, True) and status.error == 0
words = status.tomemory()
for code in (MPI.ERR_TRUNCATE, 333, 1002, MPI.ERR_LASTCODE, MPI.ERR_ERRHANDLER):
    status.error = code
    assert words[4] == status.error == code
half = np.full(3, rank + 0.5, "f2")
comm.Allreduce(MPI.IN_PLACE, half, MPI.SUM)
assert (half == size * size / 2).all() and MPI.Datatype.fromcode("f2").Dup().Get_size() == 2
hints = MPI.Info.Create()
hints["mpi_pset_name"] = "mpi://SELF"
assert comm.Split_type(MPI.COMM_TYPE_RESOURCE_GUIDED, info=hints).size == 1
assert comm.Split_type(MPI.COMM_TYPE_RESOURCE_GUIDED) == MPI.COMM_NULL
for call in (lambda: comm.Set_errhandler(MPI.ERRHANDLER_NULL), lambda: MPI.ERRHANDLER_NULL.Free()):
    try:
        call()
    except MPI.Exception as error:
        assert error.error_class == MPI.ERR_ERRHANDLER and error.error_string
    else:
        raise AssertionError("no error handler")
"""


def test_what_the_newer_standards_have(tmp_path) -> None:
    pytest.importorskip("numpy")
    report, printed = run(tmp_path, NEWER, 3)
    assert report["failure"] is None, printed


PROCESS = """
import logging, os, random, signal, sys, time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
logging.basicConfig(format=f"{rank}: %(message)s", stream=sys.stdout, level=logging.INFO)
comm.Barrier()
logging.info("begins")
logging.getLogger("part").info("goes on")
own, numpy_own = random.Random(rank), np.random.RandomState(rank)
random.seed(rank), np.random.seed(rank)
for _ in range(3):
    comm.Barrier()
    assert random.gauss(0, 1) == own.gauss(0, 1) and random.random() == own.random()
    assert np.random.normal() == numpy_own.normal() and np.random.rand() == numpy_own.rand()
os.environ["WHO"] = f"rank {rank}"
if rank % 2:
    del os.environ["ALL"]
os.mkdir(f"{sys.argv[1]}/{rank}")
os.chdir(f"{sys.argv[1]}/{rank}")
came = []
signal.signal(signal.SIGUSR1, lambda number, frame: came.append(rank))
comm.Barrier()
assert os.environ["WHO"] == f"rank {rank}" and os.environ.get("ALL") == (None if rank % 2 else "everyone")
assert os.popen("echo $WHO $ALL").read().split() == ["rank", str(rank)] + ["everyone"][rank % 2:]
assert os.getcwd() == f"{sys.argv[1]}/{rank}" and not os.listdir()
os.kill(os.getpid(), signal.SIGUSR1)
assert came == [rank] and len(set(comm.allgather(os.getpid()))) == size
assert os.uname().nodename == MPI.Get_processor_name()
begin = MPI.Wtime(), time.time(), time.perf_counter()
time.sleep(rank + 1)
comm.Barrier()
end = MPI.Wtime(), time.time(), time.perf_counter()
assert all(size <= last - first < size + 0.1 for first, last in zip(begin, end))
MPI.pickle.PROTOCOL = rank % 3
comm.Barrier()
assert MPI.pickle.PROTOCOL == rank % 3 and comm.bcast(rank, root=size - 1) == size - 1
def hook(kind, error, step):
    print("hook of", rank)
    comm.Abort(rank)
sys.excepthook = hook
comm.Barrier()
assert rank != 1
comm.Barrier()
"""


def test_a_rank_has_its_process_to_itself(tmp_path, monkeypatch) -> None:
    pytest.importorskip("numpy")
    monkeypatch.setenv("ALL", "everyone")
    report, printed = run(tmp_path, PROCESS, 3, str(tmp_path))
    said = [f"{rank}: {words}" for words in ("begins", "goes on") for rank in range(3)]
    assert sorted(printed.splitlines()) == sorted([*said, "hook of 1"])
    assert report["failure"]["kind"] == "abort" and report["failure"]["ranks"][0]["rank"] == 1


UNSEEDED = """
import random
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
drawn = [random.random(), np.random.rand()]
comm.Barrier()
drawn += [random.random(), np.random.rand()]
drawn = [number for one in comm.allgather(drawn) for number in one]
assert len(set(drawn)) == 4 * comm.size
if comm.rank == 0:
    print(drawn)
"""


def test_generators_that_nobody_seeds_begin_with_the_runs_seed_and_the_rank(tmp_path) -> None:
    pytest.importorskip("numpy")
    first, again, other = (run(tmp_path, UNSEEDED, 3, flags=("--seed", seed))[1] for seed in "112")
    assert first and first == again != other


@pytest.mark.parametrize("ranks", [1, 6, 16])
def test_conjugate_gradients_find_the_solution(tmp_path, ranks) -> None:
    pytest.importorskip("numpy")
    text = (Path(__file__).resolve().parents[2] / "examples" / "conjugate.py").read_text()
    report, printed = run(tmp_path, text, ranks, "20")
    assert report["failure"] is None, printed
    iterations, error = re.search(r"20 x 20 points: (\d+) iterations, error below 1e-(\d+)", printed).groups()
    # A symmetric problem on n x n points has fewer than n² different eigenvalues; rounding takes a few more.
    assert 0 < int(iterations) < 400 and int(error) >= 11


def test_computing_costs_what_is_asked(tmp_path) -> None:
    text = "from mpi4py import MPI\nsum(range(300000))\nMPI.COMM_WORLD.Barrier()\nprint(MPI.Wtime())"
    report, _ = run(tmp_path, text, 2)
    assert report["time"]["compute_s"] == 0
    report, _ = run(tmp_path, text, 2, flags=("--compute", "measured"))
    assert report["time"]["compute_s"] > 0.001


def test_a_program_that_cannot_be_read_is_refused(tmp_path) -> None:
    program = tmp_path / "broken.py"
    program.write_text("import mpi4py\nthis is no Python\n")
    command = [sys.executable, "-m", "hopcast", "run", "hopper", "-n", "2", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and f"{program}:2: invalid syntax" in done.stderr


def test_two_thousand_ranks_in_one_interpreter(tmp_path) -> None:
    text = "from mpi4py import MPI\nassert MPI.COMM_WORLD.allreduce(1) == 2000\n"
    report, printed = run(tmp_path, text, 2000)
    assert report["failure"] is None and report["ranks_finished"] == 2000, printed
