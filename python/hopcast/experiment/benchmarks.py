"""Built-in experiments `hpl` and `hpcg`: High-Performance Linpack and High-Performance Conjugate Gradients.

The program is the user's own (`program` of the install file), or is made of its sources by the place's
compiler (`source`, of HPL), so that the same files run on a machine and simulated; else what the nodes have:
`xhpl`, or `hpcc` of Debian's package of that name, which runs HPL among others; `xhpcg`.

Sources: netlib.org/benchmark/hpl, "TUNING"; hpcg-benchmark.org.
"""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from hopcast.errors import InputError
from hopcast.experiment.base import Experiment, Rows

_PANELS = ("left", "crout", "right")
_BROADCASTS = ("1rg", "1rm", "2rg", "2rm", "lng", "lnm")
_SWAPS = ("bin-exch", "long", "mix")

_HPL_DAT = """HPLinpack benchmark input file
hopcast
HPL.out
6            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{matrix_size}
1            # of NBs
{block_size}
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{proc_p}
{proc_q}
16.0         threshold
1            # of panel fact
{pfact}            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
{rfact}            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
{bcast}            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
{depth}            DEPTHs (>=0)
{swap}            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
{mem_align}            memory alignment in double (> 0)
"""
_HPCC_MORE = """##### PTRANS and the other parts of HPCC: as small as they can be
0            Number of additional problem sizes for PTRANS
1200 10000 30000
0            number of additional blocking sizes for PTRANS
40 9 8 13 13 20 16 32 64
"""
_DRIVER = """#include "hpl.h"
int HPCC_Defaults(HPL_T_test *test) { return test != 0; }
int main(int argc, char **argv) {
    HPL_RuntimeData data = {0};
    int failure = 0;
    MPI_Init(&argc, &argv);
    HPL_main(argc, argv, &data, &failure);
    MPI_Finalize();
    return failure;
}
"""
"""Main program of the HPL within HPCC's sources, which has none of its own."""
_HPL_TIME = re.compile(r"^W[RC]\S+\s+\d+\s+\d+\s+\d+\s+\d+\s+([\d.eE+-]+)\s+([\d.eE+-]+)\s*$", re.M)
_HPL_RESIDUAL = re.compile(r"\)=\s*([-+\d.eEnaif]+)\s*\.+\s*(PASSED|FAILED)")


class _Benchmark(Experiment):
    """A benchmark whose input is a file in the folder in which it runs."""

    given_files = ("program", "source")
    names: ClassVar[tuple[str, ...]]
    """Names of the program on nodes that have it."""
    missing: ClassVar[str]
    """Sentence about where to get it."""
    parameters: ClassVar[Mapping[str, Any]] = {
        "program": "",
        "source": "",
        "flags": "-O2 -w",
        "libraries": "",
    }

    def setup(self) -> None:
        """Makes the program of its sources, or looks for it."""
        for path in self._given.values():
            self.add_to_archive(path)
        if self.install["program"]:
            self._program = self.given_file("program")
            if self.node.run(f"command -v {shlex.quote(self._program)}", check=False).status:
                raise InputError(f"program: {self._program}: {self.node.host} has no such program")
        elif self.install["source"]:
            self._program = self._made(Path(self.given_file("source")))
        else:
            words = " || ".join(f"command -v {name}" for name in self.names)
            found = self.node.run(f"{{ {words}; }} 2>/dev/null", check=False).stdout.strip()
            if not found:
                raise InputError(f"{self.node.host} has no {' or '.join(self.names)}: {self.missing}")
            self._program = found

    def _made(self, source: Path) -> str:
        raise InputError(
            f"source: {type(self).__name__} has no rule to make it: name its binary as 'program'"
        )

    def _run(self, folder: str, file: str, text: str, ranks: int, per_node: int, threads: int) -> str:
        """Writes the input file, and runs the program beside it; gives what it printed."""
        end = "HOPCAST_END_OF_INPUT"
        self.nodes.run(f"mkdir -p {folder} && cat > {folder}/{file} <<'{end}'\n{text}{end}")
        launcher = self.install.get("launcher") or self.place.launcher
        if per_node:
            if "{per_node}" not in launcher and not self.simulated:
                raise InputError(
                    f"process_per_node: the launcher '{launcher}' has no {{per_node}}: write one into the "
                    'install file, such as "mpiexec.mpich -n {ranks} -ppn {per_node} -hosts {hosts}"'
                )
            if "{per_node}" not in launcher:
                launcher += " --ppn {per_node}"
        if "{per_node}" in launcher and not per_node:
            raise InputError(
                "process_per_node: the launcher has {per_node}, so each row needs a column process_per_node"
            )
        hosts = ",".join(node.host for node in self.nodes)
        start = launcher.format(ranks=ranks, hosts=hosts, per_node=per_node)
        cores = f"OMP_NUM_THREADS={threads} OPENBLAS_NUM_THREADS={threads} " if threads else ""
        return self.node.run(f"{cores}{start} {shlex.quote(self._program)}", folder).stdout


class Hpl(_Benchmark):
    """High-Performance Linpack: time and rate of each set of its parameters."""

    names = ("xhpl", "hpcc")
    missing = (
        "install Debian's package hpcc, or name your own binary as 'program', or HPL's sources as 'source', "
        "in the install file"
    )
    parameters: ClassVar[Mapping[str, Any]] = {
        **_Benchmark.parameters,
        "libraries": "-lopenblas -lm",
        "check": True,
    }
    _is_of_hpcc = False
    """True for a program made of the HPL within HPCC's sources, which has HPCC's files."""

    def piece(  # type: ignore[override]
        self,
        matrix_size: int,
        proc_p: int,
        proc_q: int,
        block_size: int = 128,
        pfact: int | str = "crout",
        rfact: int | str = "right",
        bcast: int | str = "2rg",
        depth: int = 1,
        swap: int | str = "mix",
        mem_align: int = 8,
        process_per_node: int = 0,
        thread_per_process: int = 0,
        repetition: int = 1,
    ) -> Rows:
        """Runs HPL once, on a grid of `proc_p` x `proc_q` ranks."""
        text = _HPL_DAT.format(
            matrix_size=_whole("matrix_size", matrix_size),
            block_size=_whole("block_size", block_size),
            proc_p=_whole("proc_p", proc_p),
            proc_q=_whole("proc_q", proc_q),
            pfact=_choice("pfact", pfact, _PANELS),
            rfact=_choice("rfact", rfact, _PANELS),
            bcast=_choice("bcast", bcast, _BROADCASTS),
            depth=_whole("depth", depth, 0),
            swap=_choice("swap", swap, _SWAPS),
            mem_align=_whole("mem_align", mem_align),
        )
        is_hpcc = self._is_of_hpcc or Path(self._program).name.startswith("hpcc")
        folder = f"hpl-{matrix_size}-{block_size}-{proc_p}x{proc_q}-{repetition}"
        file = "hpccinf.txt" if is_hpcc else "HPL.dat"
        if is_hpcc:
            self.nodes.run(f"rm -f {folder}/hpccoutf.txt")
        said = self._run(
            folder,
            file,
            text + (_HPCC_MORE if is_hpcc else ""),
            proc_p * proc_q,
            process_per_node,
            thread_per_process,
        )
        if is_hpcc:
            said = self.node.run("cat hpccoutf.txt", folder).stdout
        return _hpl_result(said, matrix_size, bool(self.install["check"]))

    def _made(self, source: Path) -> str:
        """Compiles HPL's sources, netlib's or those within HPCC."""
        if not (source / "testing" / "ptest" / "HPL_pddriver.c").is_file():
            raise InputError(f"source: {source}: is no folder of HPL's sources: it has no testing/ptest")
        compiler = self.install.get("compiler") or self.place.compiler
        files = f"{shlex.quote(str(source))}/src/*/*.c {shlex.quote(str(source))}/testing/*/*.c"
        if "HPL_main" in (source / "testing" / "ptest" / "HPL_pddriver.c").read_text(errors="replace"):
            (self.folder / "work" / "hpl_driver.c").write_text(_DRIVER)
            files += " hpl_driver.c"
            self._is_of_hpcc = True
        folders = " ".join(
            f"-I{shlex.quote(str(place))}" for place in (source / "include", source.parent / "include")
        )
        defined = "-DHPL_STDC_HEADERS -DHPL_CALL_CBLAS"
        self.node.run(
            f"{compiler} {self.install['flags']} {defined} {folders} {files} -o xhpl "
            f"{self.install['libraries']}"
        )
        return str(self.folder / "work" / "xhpl")

    @classmethod
    def generate(cls, count: int, generator: random.Random) -> list[dict[str, Any]]:
        """Orders of 1,000 to 10,000 on two grids of four ranks, with the ways of HPL that matter most."""
        return [
            {
                "matrix_size": generator.randrange(1000, 10001),
                "block_size": generator.choice((64, 128, 192, 256)),
                "proc_p": rows,
                "proc_q": 4 // rows,
                "bcast": generator.choice(_BROADCASTS),
                "depth": generator.choice((0, 1)),
                "swap": generator.choice(_SWAPS),
            }
            for rows in (generator.choice((1, 2)) for _ in range(count))
        ]


def _hpl_result(said: str, order: int, checked: bool) -> dict[str, Any]:
    """Time, rate and check of what HPL printed: the time has two decimals, and is taken of the rate."""
    line = _HPL_TIME.search(said)
    if line is None:
        last = (said.strip().splitlines() or ["nothing"])[-1]
        raise InputError(f"HPL printed no result; its last line: {last}")
    residual = _HPL_RESIDUAL.search(said)
    passed = "not checked" if residual is None else residual[2].lower()
    if checked and passed == "failed":
        raise InputError(
            f"HPL's own check of the solution failed, {residual[1] if residual else ''}: with kernels that "
            "do not run, write 'check: false' into the install file"
        )
    gflops = float(line[2])
    if gflops <= 0:
        raise InputError(f"HPL printed a rate of {line[2]} Gflop/s: the system is too small to be timed")
    return {
        "time_s": (2 / 3 * order**3 + 3 / 2 * order**2) / (1e9 * gflops),
        "gflops": gflops,
        "residual": residual[1] if residual else "",
        "check": passed,
    }


class Hpcg(_Benchmark):
    """High-Performance Conjugate Gradients: rate of each local grid."""

    names = ("xhpcg",)
    missing = "build it (hpcg-benchmark.org), and name the binary as 'program' in the install file"

    def piece(  # type: ignore[override]
        self,
        nx: int,
        ranks: int,
        ny: int = 0,
        nz: int = 0,
        seconds: int = 60,
        process_per_node: int = 0,
        thread_per_process: int = 0,
        repetition: int = 1,
    ) -> Rows:
        """Runs HPCG once, with a grid of nx x ny x nz points on each rank, for about `seconds`."""
        grid = [_whole(name, value or nx) for name, value in (("nx", nx), ("ny", ny), ("nz", nz))]
        text = "HPCG benchmark input file\nhopcast\n"
        text += f"{' '.join(map(str, grid))}\n{_whole('seconds', seconds, 0)}\n"
        folder = f"hpcg-{'x'.join(map(str, grid))}-{ranks}-{repetition}"
        self.nodes.run(f"rm -f {folder}/HPCG-Benchmark*.txt")
        self._run(folder, "hpcg.dat", text, _whole("ranks", ranks), process_per_node, thread_per_process)
        found = self.node.run("cat HPCG-Benchmark*.txt", folder, check=False)
        if found.status:
            raise InputError("HPCG wrote no HPCG-Benchmark*.txt: it did not come to its end")
        return _hpcg_result(found.stdout)

    @classmethod
    def generate(cls, count: int, generator: random.Random) -> list[dict[str, Any]]:
        """Cubes of 16 to 104 points a side on two ranks, for a quarter of a minute."""
        return [{"nx": 8 * generator.randrange(2, 14), "ranks": 2, "seconds": 15} for _ in range(count)]


def _hpcg_result(text: str) -> dict[str, Any]:
    """Rates and times of HPCG's own report, lines of `path::to::name=value`."""
    values = dict(line.strip().rpartition("=")[::2] for line in text.splitlines() if "=" in line)
    rating = next((name for name in values if "GFLOP/s rating of" in name), None)
    if rating is None:
        raise InputError("HPCG's report has no rating: it is not valid, or of another version")
    return {
        "time_s": float(values.get("Benchmark Time Summary::Total", "nan")),
        "gflops": float(values[rating]),
        "check": "passed" if "is VALID" in rating else "failed",
    }


def _whole(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} = {value!r}: a whole number from {least} on")
    return value


def _choice(name: str, value: int | str, names: tuple[str, ...]) -> int:
    """Number of a way of HPL, which may have its name."""
    text = str(value).lower()
    if text in names:
        return names.index(text)
    if isinstance(value, int) and 0 <= value < len(names):
        return value
    raise InputError(f"{name} = {value!r}; known: {', '.join(f'{n} {one}' for n, one in enumerate(names))}")
