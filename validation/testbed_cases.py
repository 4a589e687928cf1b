"""Five programs on small clusters that this machine makes, calibrated on one network and predicted on three.

tests/testbed makes four hosts of network namespaces, links of 10 Mbit/s and 1 ms, joined into a star, a tree
whose two halves share one link of that rate, and a ring. `hopcast calibrate` measures two hosts of the star.
Conjugate gradients, a Fourier transform, multigrid and triangular sweeps (tests/testbed/programs), and HPL of
Debian's package hpcc, its source untouched, run in two sizes each under Open MPI on all three, and
`hopcast run` predicts them with the fitted platform and the graph of each network: the fit saw neither these
networks, nor more than two processes, nor a collective.
Beside it stands a guess without measurements: the preset ethernet-25 with the nominal rate of the links.

The law is T = overheads + latency + n / rate, with links shared by flows (docs/models.md). All hosts share
two cores of this machine and its kernel, so that much computing, or many packets at a time, take longer
than on hosts of their own: disagreement is expected there. Source: none but this machine. The programs follow
NAS Parallel Benchmarks (Bailey et al. 1991) in their communication.

Needs root, iproute2, Open MPI and, for HPL, the source package hpcc and libopenblas-serial-dev. Run it as
`python validation/testbed_cases.py [--quick]`: quick takes one network and one size, and leaves out HPL.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import building
import hpl
import null_model
from recordings import Absent
from results import Kind, Range, Result, main

KIND = Kind.MEASURED
TESTBED = Path(__file__).resolve().parents[1] / "tests" / "testbed"
sys.path.insert(0, str(TESTBED))
import testbed  # noqa: E402
from topologies import TOPOLOGIES  # noqa: E402

HOSTS = 4
RATE = "10mbit"
LINK = "1.25 MB/s"
QUEUE = "1mb"
DELAY_US = 1000
REPEATS = 9
PROGRAMS = {
    "cg": ((2048, 20), (4096, 10)),
    "ft": ((16, 20), (32, 5)),
    "mg": ((32, 3), (64, 2)),
    "lu": ((16, 4), (32, 2)),
}
"""Programs, each with two sizes and their numbers of iterations."""
HPL = {"hpl": ((512, 32), (1024, 64))}
"""HPL's orders of the matrix, and the sizes of their blocks."""
WITHOUT_TYPES = ("-DHPL_NO_MPI_DATATYPE",)
"""HPL packs its messages by itself: Open MPI lacks the functions of MPI-1 for types of its own."""
PRESET = Path(__file__).resolve().parents[1] / "data" / "platforms" / "ethernet-25.toml"
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Case:
    """A program of a size on a network."""

    network: str
    program: str
    size: int
    iterations: int

    def __str__(self) -> str:
        return f"{self.program.upper()} {self.size} on the {self.network}"

    @property
    def words(self) -> list[str]:
        """Arguments of the program but for its repeats."""
        return [str(self.size), str(self.iterations)]


def cases(quick: bool) -> list[Case]:
    """All cases, network by network."""
    networks = ["star"] if quick else list(TOPOLOGIES)
    return [
        Case(network, program, *size)
        for network in networks
        for program, sizes in (PROGRAMS if quick else PROGRAMS | HPL).items()
        for size in (sizes[:1] if quick else sizes)
    ]


def took(text: str) -> list[float]:
    """Times that a program prints [s]."""
    return [float(seconds) for seconds in re.findall(r"^took ([\d.]+)$", text, re.MULTILINE)]


def checksum(text: str) -> str:
    """Checksum that a program prints."""
    return re.findall(r"^checksum (\S+)$", text, re.MULTILINE)[0]


def built(under: str, out: Path, programs: Iterable[str] = PROGRAMS) -> Path:
    """Folder of the programs, compiled for `openmpi` or for `hopcast`."""
    folder = (out / "programs" / under).resolve()
    compiler = building.compilers(under, folder / "bin")["cc"]
    folder.mkdir(parents=True, exist_ok=True)
    for program in programs:
        if program in HPL:
            hpl.compile_with(hpl.HERE / "hpl_testbed.c", under, folder / program, WITHOUT_TYPES)
        else:
            source = TESTBED / "programs" / f"{program}.c"
            building.run(
                [compiler, "-O2", source, "-lm", "-o", folder / program], folder, f"{program} for {under}"
            )
    return folder


def on_testbed(network: str, hosts: int, *words: object) -> str:
    """Output of a command on host 0 of a testbed."""
    links = ("--rate", RATE, "--trunk-rate", RATE, "--queue", QUEUE, "--delay", DELAY_US)
    command = [sys.executable, TESTBED / "testbed.py", network, "--hosts", hosts, *links, "--", *words]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=ENVIRONMENT, check=False
    )
    if done.returncode:
        raise Absent(f"skipped: the testbed: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def measured(out: Path, quick: bool) -> dict[str, dict]:
    """Times and checksum of each case under Open MPI, and the fitted platform; kept for the same sources."""
    sources = sorted(
        [*TESTBED.glob("*.[cp]*"), *TESTBED.glob("programs/*.[ch]"), *hpl.HERE.glob("hpl_testbed.c")]
    )
    given = repr((HOSTS, RATE, QUEUE, DELAY_US, REPEATS, PROGRAMS, HPL)).encode()
    digest = hashlib.sha256(b"".join([given, *(file.read_bytes() for file in sources)])).hexdigest()[:12]
    file = out / "kept" / f"testbed-{'quick-' if quick else ''}{digest}.json"
    if not file.exists():
        folder = built("openmpi", out, dict.fromkeys(case.program for case in cases(quick)))
        found = {"platform": calibrated(out, quick)}
        for network in dict.fromkeys(case.network for case in cases(quick)):
            found |= runs(
                folder, [case for case in cases(quick) if case.network == network], 3 if quick else REPEATS
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found))
    return json.loads(file.read_text())


def runs(folder: Path, of: list[Case], repeats: int) -> dict[str, dict]:
    """Each case of one network, one after the other."""
    lines = [
        shlex.join(
            ["mpiexec.openmpi", "-n", str(HOSTS), str(folder / case.program), *case.words, str(repeats)]
        )
        for case in of
    ]
    printed = on_testbed(of[0].network, HOSTS, "sh", "-c", " && echo next && ".join(lines))
    parts = printed.split("next\n")
    return {
        str(case): {"took": took(part), "checksum": checksum(part)}
        for case, part in zip(of, parts, strict=True)
    }


def calibrated(out: Path, quick: bool) -> str:
    """The platform file that `hopcast calibrate` makes of two hosts of the star."""
    folder = out / ("calibrated-quick" if quick else "calibrated")
    shutil.rmtree(folder, ignore_errors=True)
    sizes = ("--sizes", 40, "--repetitions", 3) if quick else ("--sizes", 100, "--repetitions", 7)
    given = (
        "--to",
        "200kB",
        "--flop-rate",
        "10 Gflop/s",
        "--link-bandwidth",
        LINK,
        "--processes",
        1,
        "--hosts",
        HOSTS,
    )
    words = [sys.executable, "-m", "hopcast", "calibrate", "-o", folder.resolve(), *sizes, *given]
    on_testbed("star", 2, *words, "--", "mpiexec.openmpi", "-n", 2)
    return (folder / f"{folder.name}.toml").read_text()


def on_network(text: str, network: str, out: Path) -> str:
    """A platform file with the graph of a network in the place of its topology."""
    graph = TOPOLOGIES[network](HOSTS)
    lines = [f"host {' '.join(f'h{host}' for host in range(HOSTS))}"]
    lines += [f"h{host} s{switch}" for host, switch in enumerate(graph.switch_of)]
    # Ports in the order of the switches behind them, by which the testbed chooses among equal ways.
    lines += [f"s{one} s{other}" for one, other in sorted(map(sorted, graph.links))]
    (out / f"{network}.cables").write_text("\n".join(lines) + "\n")
    sections = f"""[topology]
kind = "graph"
file = "{network}.cables"

[routing]
kind = "shortest-path"
equals = "first"

[link]
bandwidth = "{LINK}"
latency = "0 us"

"""
    return re.sub(r"^\[topology\]\n.*?\n(?=\[)", lambda _: sections, text, flags=re.DOTALL | re.MULTILINE)


def guessed() -> str:
    """A platform by data sheets alone: Ethernet's preset with the nominal rate of these links."""
    text = PRESET.read_text()
    text = re.sub(r"^\[(routing|link)\]\n.*?\n(?=\[)", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r'^(\[nic\]\nbandwidth = )"[^"]*"', rf'\1"{LINK}"', text, count=1, flags=re.MULTILINE)


def predicted(case: Case, platform: Path, program: Path) -> tuple[float, str]:
    """Time of a case on a platform [s], and the checksum of the simulated run."""
    words = ["run", platform, "-n", HOSTS, "--ppn", 1, "--quiet", "--model", null_model.model("flow")]
    command = [sys.executable, "-m", "hopcast", *words, program / case.program, *case.words, 3]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{case}: {done.stderr}")
    return median(took(done.stdout)), checksum(done.stdout)


def predictions(out: Path, kind: str, text: str, of: list[Case]) -> dict[Case, tuple[float, str]]:
    """Predictions of all cases on a platform."""
    folder = built("hopcast", out, dict.fromkeys(case.program for case in of))
    found = {}
    for case in of:
        platform = out / f"{kind}-{case.network}.toml"
        platform.write_text(on_network(text, case.network, out))
        found[case] = predicted(case, platform, folder)
    return found


def compare(out: Path, quick: bool) -> list[Result]:
    """Each case beside its measurement, and the median and worst error of all."""
    try:
        testbed.check()
    except testbed.CannotRun as reason:
        raise Absent(f"skipped: {reason}") from reason
    out.mkdir(parents=True, exist_ok=True)
    real, of = measured(out, quick), cases(quick)
    ours = predictions(out, "calibrated", real["platform"], of)
    guess = predictions(out, "guessed", guessed(), of)
    rows = []
    for case in of:
        times = sorted(real[str(case)]["took"])
        middle, low, high = median(times), times[len(times) // 20], times[-1 - len(times) // 20]
        same = ours[case][1] == real[str(case)]["checksum"]
        without = guess[case][0]
        apart = 100 * (without / middle - 1)
        why = f"repeats {1e3 * low:.4g} to {1e3 * high:.4g} ms; not calibrated: {apart:+.1f} %"
        rows.append(Result(str(case), 1e3 * middle, 1e3 * ours[case][0], "ms", None, why))
        if not same:
            rows.append(Result(f"{case}: checksum", 1.0, 0.0, "", 0.0, "other results", Kind.OWN))
    errors = {
        "calibrated": [abs(row.error) for row in rows if row.unit == "ms"],
        "not calibrated": [abs(guess[case][0] / median(real[str(case)]["took"]) - 1) for case in of],
        "variation between repeats": [variation(real[str(case)]["took"]) for case in of],
    }
    for name, found in errors.items():
        goals = (0.05, 0.15) if name == "calibrated" else (None, None)
        for what, value, goal in (("median", median(found), goals[0]), ("worst", max(found), goals[1])):
            limit = Range(high=100 * goal) if goal else Range(low=0.0)
            held = 0.0 if goal else None
            rows.append(Result(f"{name}: {what} error", limit, 100 * value, "%", held, "", Kind.OWN))
    return rows


def variation(times: list[float]) -> float:
    """Half of what nine of ten repeats lie within, by their median: no prediction of one time beats that."""
    ordered = sorted(times)
    outside = len(ordered) // 20
    return (ordered[-1 - outside] - ordered[outside]) / 2 / median(ordered)


if __name__ == "__main__":
    main(compare, __doc__)
