"""Network models beside each other where theory says that they agree, and with equal hosts renumbered.

Compared, on platforms whose fabric is never the limit: every algorithm of every collective, by size,
ranks and platform, under each network model, as its time over that of the packet model, which leaves out
least. A ratio beyond 1.25 either way is a defect, or stands in `EXPLAINED` with its reason and with how
far it may go. And the same collectives with the hosts renumbered, which are all alike: the longest time
of all numberings over the shortest, less one, for each model. At most 2 % may be left, for a fair order
of what happens at the same time. Source: the models' own equations, on the pages of `docs/models/model`;
Hockney 1994, Gropp et al. 2016 and Alexandrov et al. 1995 for what the first three leave out.

Run it as `python validation/model_agreement.py [--quick] [--write]`: the tables on the screen, with
--write also in `validation/model_agreement.md`. Ends with status 1 where something is not explained.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import results

import hopcast

HERE = Path(__file__).parent
PAGE = HERE / "model_agreement.md"
MODELS = ("postal", "max-rate", "loggp", "flow", "packet")
REFERENCE = "packet"
LIMIT = 1.25
"""Beyond this ratio, either way, two models disagree."""
NUMBERINGS = 6
"""Random numberings of the hosts, beside their own."""
SPREAD = 0.02
"""Largest relative change of a time by a renumbering of equal hosts."""
ALGORITHMS = {
    "barrier": ("dissemination", "recursive-doubling", "tree", "linear", "double-ring"),
    "bcast": (
        "binomial",
        "knomial",
        "scatter-recursive-doubling-allgather",
        "scatter-ring-allgather",
        "chain",
        "binary-tree",
        "split-binary-tree",
        "linear",
    ),
    "reduce": ("binomial", "rabenseifner", "chain", "binary-tree", "linear"),
    "allreduce": (
        "recursive-doubling",
        "rabenseifner",
        "ring",
        "segmented-ring",
        "dissemination",
        "reduce-bcast",
        "linear",
    ),
    "gather": ("binomial", "linear"),
    "scatter": ("binomial", "linear"),
    "allgather": ("recursive-doubling", "bruck", "ring", "neighbor-exchange", "gather-bcast"),
    "alltoall": ("bruck", "pairwise", "linear"),
    "reduce-scatter": (
        "recursive-halving",
        "recursive-doubling",
        "butterfly",
        "pairwise",
        "ring",
        "reduce-scatterv",
    ),
    "scan": ("recursive-doubling", "linear"),
}


@dataclass(frozen=True)
class Machine:
    """A platform with overrides, and on how many ranks it is used."""

    name: str
    what: str
    ranks: tuple[int, ...]
    ppn: int = 1
    platform: str = str(HERE / "platforms" / "ideal-crossbar.toml")
    overrides: dict = field(default_factory=dict)
    sizes: tuple[str, ...] = ("8 B", "4 KiB", "64 KiB", "1 MiB")
    equal_hosts: bool = True
    """Do all pairs of hosts have the same path, so that a renumbering changes nothing?"""


OVERHEADS = {"mpi.regimes": [{"name": "all", "send_overhead": "300 ns", "receive_overhead": "300 ns"}]}
ISLANDS = Machine(
    "islands",
    "four switches of eight hosts under one, with links of 80 GB/s between them, eight times a NIC's rate",
    (16, 32),
    overrides={
        "topology": {"kind": "fat-tree", "m": [8, 4], "w": [1, 1]},
        "link": {"bandwidth": "80 GB/s", "latency": "0 ns"},
    },
    equal_hosts=False,
)
MACHINES = (
    Machine("ideal", "an ideal switch, one process on a host, no overheads", (2, 7, 16, 32)),
    Machine("overheads", "the same with overheads of 300 ns", (2, 7, 16, 32), overrides=OVERHEADS),
    Machine("nodes", "the same with four processes on a host", (8, 32), 4, overrides=OVERHEADS),
    ISLANDS,
    *(
        Machine(
            name,
            "the preset, with messages so short that no link is busy for long",
            (16, 64),
            platform=name,
            sizes=("8 B",),
            equal_hosts=False,
        )
        for name in ("fat-tree", "tofu", "dragonfly", "slingshot-11")
    ),
)

QUICK = (*MACHINES[:2], ISLANDS, MACHINES[4])
"""Those whose cases are few enough for a test."""


@dataclass(frozen=True)
class Case:
    """One collective on one machine."""

    machine: Machine
    collective: str
    algorithm: str
    size: str
    ranks: int

    def seconds(self, model: str, placement: str = "linear") -> float | None:
        """Its time under `model` [s]; None where the algorithm cannot do it."""
        key = "reduce_scatter_block" if self.collective == "reduce-scatter" else self.collective
        try:
            report = hopcast.run(
                self.machine.platform,
                self.collective,
                self.ranks,
                kwargs={} if self.collective == "barrier" else {"bytes": self.size},
                model=model,
                ppn=self.machine.ppn if placement == "linear" else None,
                placement=placement,
                set={**self.machine.overrides, f"mpi.collectives.{key}": self.algorithm},
            )
        except hopcast.InputError:
            return None
        return report.makespan_s

    def __str__(self) -> str:
        size = "" if self.collective == "barrier" else f", {self.size}"
        return f"{self.collective} {self.algorithm}{size}, {self.ranks} ranks, {self.machine.name}"


def cases(quick: bool) -> Iterator[Case]:
    """All cases, or fewer that show the same."""
    for machine in QUICK if quick else MACHINES:
        for ranks in machine.ranks[1:3] if quick else machine.ranks:
            for collective, algorithms in ALGORITHMS.items():
                every = machine.sizes
                sizes = every[:1] if collective == "barrier" else every[::2] if quick else every
                for size in sizes:
                    for algorithm in algorithms:
                        yield Case(machine, collective, algorithm, size, ranks)


@dataclass(frozen=True)
class Explanation:
    """Reason why a model differs from the packet model, the cases, and the bounds of the difference."""

    model: str
    machines: str
    collectives: tuple[str, ...]
    """`collective algorithm`, with wildcards."""
    least: float
    most: float
    """Limits of the ratio."""
    why: str

    def covers(self, case: Case, model: str, ratio: float) -> bool:
        """True if it explains the ratio of a model in a case."""
        name = f"{case.collective} {case.algorithm}"
        return (
            model == self.model
            and fnmatch(case.machine.name, self.machines)
            and any(fnmatch(name, pattern) for pattern in self.collectives)
            and self.least <= ratio <= self.most
        )


ONE_PER_HOST = "[io]*"
"""Machines with one process on a host: `ideal`, `overheads` and `islands`."""

EXPLAINED: tuple[Explanation, ...] = (
    Explanation(
        "postal",
        ONE_PER_HOST,
        ("* linear",),
        1 / 32,
        1.0,
        "messages never meet: a rank that sends to, or receives from, all others has the full rate with each",
    ),
    Explanation(
        "postal",
        ONE_PER_HOST,
        ("* chain", "* binary-tree", "* split-binary-tree", "bcast knomial"),
        1 / 64,
        1.0,
        "messages never meet: segments, and the children of a node, have the full rate each",
    ),
    Explanation(
        "postal",
        ONE_PER_HOST,
        ("*recursive-doubling*", "* binomial", "* reduce-*", "* gather-bcast"),
        1 / 2,
        1.0,
        "messages never meet: of seven ranks some have two messages at a time",
    ),
    *(
        Explanation(
            model,
            "islands",
            ("alltoall linear",),
            least,
            1.0,
            "packets queue before a crossbar: where the first waits for its host's link, those behind it "
            "wait, too, and a link of eight NICs' rate feeds three or four of eight hosts at a time",
        )
        for model, least in (("postal", 1 / 80), ("max-rate", 0.4), ("loggp", 0.4), ("flow", 0.4))
    ),
    Explanation(
        "postal",
        "nodes",
        ("* linear",),
        1 / 112,
        1.0,
        "messages never meet: those of four processes to all others, 4 x 28 of an all-to-all, pass one NIC",
    ),
    Explanation(
        "postal",
        "nodes",
        ("*",),
        1 / 4,
        1.0,
        "messages never meet: four processes have the NIC each for itself",
    ),
    Explanation(
        "max-rate",
        "*",
        ("gather linear", "reduce linear", "allreduce linear"),
        1 / 32,
        1.0,
        "receivers are no limit: what comes to a rank from all others comes at the full rate of each",
    ),
    Explanation(
        "max-rate",
        ONE_PER_HOST,
        ("*recursive-doubling", "reduce binomial", "reduce binary-tree", "* reduce-scatterv"),
        1 / 2,
        1.0,
        "receivers are no limit: two messages at a time come at the full rate each",
    ),
    Explanation(
        "loggp",
        "*",
        ("allreduce recursive-doubling", "scan recursive-doubling", "bcast knomial"),
        1 / 2,
        1.0,
        "a NIC takes in one message after the other: the first of two is there after half the time in which "
        "the packets of both come in turns",
    ),
    Explanation(
        "loggp",
        "*",
        ("reduce-scatter recursive-doubling", "allgather bruck", "reduce binary-tree"),
        1.0,
        1.4,
        "an empty handshake message that comes while a NIC takes in a long message waits for its end; "
        "in packet it goes between two packets",
    ),
    *(
        Explanation(
            model,
            "nodes",
            ("alltoall pairwise",),
            1.0,
            1.5,
            "processes of a host share its NIC evenly, and all end late; in packet one goes after the other, "
            "and the latency of the first overlaps with the bytes of the next",
        )
        for model in ("max-rate", "flow")
    ),
    Explanation(
        "flow",
        "[no]*",
        ("gather linear", "reduce linear"),
        1.0,
        1.5,
        "messages to one rank share its NIC evenly, and all end late: its overheads for them follow, "
        "where in packet they overlap with later messages",
    ),
)


@dataclass(frozen=True)
class Ratio:
    """A time of a model over that of the packet model."""

    case: Case
    model: str
    value: float
    explanation: Explanation | None

    @property
    def agrees(self) -> bool:
        """True if it is within the limit."""
        return 1 / LIMIT <= self.value <= LIMIT


def sweep(quick: bool) -> list[Ratio]:
    """The ratios of all cases and models."""
    found = []
    for case in cases(quick):
        reference = case.seconds(REFERENCE)
        if not reference:
            continue
        for model in MODELS:
            if model == REFERENCE:
                continue
            value = case.seconds(model) / reference
            why = next((row for row in EXPLAINED if row.covers(case, model, value)), None)
            found.append(Ratio(case, model, value, why))
    return found


def numberings(case: Case, count: int, folder: Path) -> list[str]:
    """Placement files: the machine's hosts in random orders, the ranks of a host always together."""
    ppn, hosts = case.machine.ppn, 64
    files = []
    for number in range(count):
        order = random.Random(f"{case.ranks} {ppn} {number}").sample(range(hosts), hosts)
        path = folder / f"{case.ranks}-{ppn}-{number}.txt"
        path.write_text("".join(f"{order[rank // ppn]}:{rank % ppn}\n" for rank in range(case.ranks)))
        files.append(str(path))
    return files


def spreads(quick: bool) -> list[tuple[Case, str, float]]:
    """Longest time of all numberings over the shortest, less one, for every case and model."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(quick):
            if (
                not case.machine.equal_hosts
                or case.ranks == 2
                or case.size not in case.machine.sizes[::2]
                or case.seconds(REFERENCE) is None
            ):
                continue
            files = numberings(case, NUMBERINGS // 2 if quick else NUMBERINGS, Path(folder))
            for model in MODELS:
                times = [case.seconds(model, placement) for placement in ("linear", *files)]
                found.append((case, model, max(times) / min(times) - 1 if min(times) else 0.0))
    return found


AGREE_HEAD = ("model", "cases", "within 1.25", "explained", "not explained")
WHY_HEAD = ("model", "where", "cases", "time / packet's", "why")
SPREAD_HEAD = ("model", "machine", "cases", "changed", "largest change", "where")


def agreement_rows(ratios: list[Ratio]) -> list[tuple[str, ...]]:
    """One row for each model."""
    rows = []
    for model in MODELS:
        of_model = [ratio for ratio in ratios if ratio.model == model]
        agree = sum(ratio.agrees for ratio in of_model)
        explained = sum(not ratio.agrees and ratio.explanation is not None for ratio in of_model)
        if of_model:
            counts = (len(of_model), agree, explained, len(of_model) - agree - explained)
            rows.append((model, *(str(count) for count in counts)))
    return rows


def why_rows(ratios: list[Ratio]) -> list[tuple[str, ...]]:
    """One row for each explanation that was needed."""
    rows = []
    for row in EXPLAINED:
        values = [ratio.value for ratio in ratios if ratio.explanation is row and not ratio.agrees]
        if values:
            where = ", ".join(f"`{pattern}`" for pattern in row.collectives)
            if row.machines != "*":
                names = [one.name for one in MACHINES if fnmatch(one.name, row.machines)]
                where += f" on {', '.join(names)}"
            span = f"{min(values):.3g} to {max(values):.3g}"
            rows.append((row.model, where, str(len(values)), span, row.why))
    return rows


def spread_rows(found: list[tuple[Case, str, float]]) -> list[tuple[str, ...]]:
    """One row for each model and machine."""
    rows = []
    for model in MODELS:
        for machine in MACHINES:
            of_both = [
                (case, value) for case, name, value in found if name == model and case.machine == machine
            ]
            if not of_both:
                continue
            worst, value = max(of_both, key=lambda entry: entry[1])
            changed = sum(value > 1e-9 for _, value in of_both)
            where = str(worst) if changed else "–"
            rows.append((model, machine.name, str(len(of_both)), str(changed), f"{100 * value:.2g} %", where))
    return rows


def markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table for the page."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows]) + "\n"


def page(ratios: list[Ratio], found: list[tuple[Case, str, float]]) -> str:
    """The page of the results."""
    machines = "".join(f"- `{machine.name}`: {machine.what}\n" for machine in MACHINES)
    counts = markdown(AGREE_HEAD, agreement_rows(ratios))
    whys = markdown(WHY_HEAD, why_rows(ratios))
    changes = markdown(SPREAD_HEAD, spread_rows(found))
    return f"""# Network models beside each other

Written by `python validation/model_agreement.py --write`. Its first lines say what is compared and why; the
tests run a part of it. Machines, whose fabric is never the limit:

{machines}
## Time over that of the packet model

Collectives of {", ".join(MACHINES[0].sizes)} ({MACHINES[-1].sizes[0]} on presets), with every algorithm.

{counts}
Ratios beyond 1.25 either way, with the reason:

{whys}
## Equal hosts renumbered

{NUMBERINGS} random numberings of the hosts beside their own,
collectives of {" and ".join(MACHINES[0].sizes[::2])}: the longest time over the shortest, less one.

{changes}"""


def main() -> None:
    """Prints the tables; ends with status 1 where something is not explained."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer cases, the same claims")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.name}")
    arguments = parser.parse_args()
    if arguments.quick and arguments.write:
        parser.error("--write takes the whole sweep, not --quick")
    ratios, found = sweep(arguments.quick), spreads(arguments.quick)
    results.show("Time over that of the packet model", AGREE_HEAD, agreement_rows(ratios))
    results.show("Beyond 1.25, explained", WHY_HEAD, why_rows(ratios))
    open_ratios = [ratio for ratio in ratios if not ratio.agrees and ratio.explanation is None]
    rows = [(ratio.model, str(ratio.case), f"{ratio.value:.3f}") for ratio in open_ratios]
    results.show("Beyond 1.25, not explained", ("model", "case", "time / packet's"), rows)
    results.show("Equal hosts renumbered", SPREAD_HEAD, spread_rows(found))
    if arguments.write:
        PAGE.write_text(page(ratios, found))
    if open_ratios or any(value > SPREAD for _, _, value in found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
