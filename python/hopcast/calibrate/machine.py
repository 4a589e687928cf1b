"""Facts of the machine that was measured: hosts, processors, clock and MPI library of its ranks."""

from __future__ import annotations

import datetime
import json
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hopcast import __version__
from hopcast.calibrate import conditions, launch, whole_file
from hopcast.errors import InputError

CLOCK_STEP_MOST_S = 1e-6
"""Step of a clock with which a call of MPI, of about as much, can no longer be timed."""
ANSWER_S = 120.0
"""Time in which the ranks of a launcher have to begin and to end."""
FILE = "machine.json"
_SAME = ("mpi_library", "launcher", "program", "conditions")
"""Facts that a run that goes on must share with the run that was cut."""


@dataclass(frozen=True)
class Machine:
    """Ranks of a launcher, as a program that they ran has found them."""

    facts: dict

    @property
    def hosts(self) -> list[str]:
        """Name of each rank's host."""
        return [rank["host"] for rank in self.facts["ranks"]]

    def check_clock(self) -> None:
        """Refuses a clock that cannot tell how long a call of MPI takes."""
        step = self.facts["ranks"][0]["clock_step_s"]
        if step > CLOCK_STEP_MOST_S:
            raise InputError(
                f"the clock of rank 0 (MPI_Wtime) moves in steps of {1e6 * step:.3g} µs, and a call of "
                f"MPI may take less than {1e6 * CLOCK_STEP_MOST_S:g} µs: choose another clock in the MPI "
                "library or the kernel; nothing was measured"
            )

    def partner(self, wanted: str) -> tuple[int, bool]:
        """The rank that answers rank 0, and True where it is on the same host."""
        numbers = [rank["host_number"] for rank in self.facts["ranks"]]
        if len(numbers) < 2:
            raise InputError("the launcher starts 1 rank, and a message needs two: -n 2")
        others = [rank for rank, host in enumerate(numbers) if host != numbers[0]]
        same = [rank for rank, host in enumerate(numbers) if rank and host == numbers[0]]
        if wanted == "auto":
            return (others[0], False) if others else (same[0], True)
        if wanted == "other-host" and others:
            return others[0], False
        if wanted == "same-host" and same:
            return same[0], True
        if wanted in ("other-host", "same-host"):
            there = ", ".join(sorted(set(self.hosts)))
            raise InputError(f"--partner {wanted}: no such rank among {len(numbers)} on {there}")
        if not wanted.isdigit() or not 0 < int(wanted) < len(numbers):
            raise InputError(
                f"--partner {wanted}: known: auto, other-host, same-host, ranks from 1 to {len(numbers) - 1}"
            )
        return int(wanted), numbers[int(wanted)] == numbers[0]


def find(compiler: Sequence[str], launcher: Sequence[str], folder: Path) -> Machine:
    """Asks the ranks of a launcher."""
    program = launch.compile_program("machine", compiler, folder / "programs")
    place = folder / "ranks.json"
    place.unlink(missing_ok=True)
    log = folder / "output.txt"
    try:
        launch.run([*launcher, str(program), str(place.resolve())], log, limit_s=ANSWER_S)
    except launch.Stopped as stopped:
        raise stopped.told(
            f": the ranks of '{shlex.join(launcher)}' had not said where they run: {launch.last_words(log)}"
        ) from None
    try:
        return Machine(json.loads(place.read_text()))
    except FileNotFoundError:
        raise InputError(
            f"{place}: rank 0 did not write it: the directory of results must be one that its host sees, too"
        ) from None
    except ValueError as error:
        raise InputError(f"{place}: {error}") from None


def record(machine: Machine, folder: Path, launcher: Sequence[str], program: str, conditions: dict) -> bool:
    """Writes the facts beside the results; True where a run of the same facts was begun there."""
    facts = machine.facts | {
        "launcher": shlex.join(launcher),
        "program": program,
        "conditions": conditions,
        "began": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "hopcast": __version__,
        "launched_on": _processors(),
    }
    place = folder / FILE
    if place.exists():
        _check_same(place, _kept(place), facts)
        return True
    whole_file.write(place, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")
    (folder / "ranks.json").unlink(missing_ok=True)
    return False


def _kept(place: Path) -> dict:
    """Facts that an earlier run has written."""
    return dict(conditions.parse(place.read_text(errors="replace"), str(place)).facts)


def facts_beside(data: Sequence[Path]) -> dict | None:
    """Facts that `calibrate measure` has left beside results; of the first directory that has any."""
    for place in data:
        file = next(iter(sorted(place.rglob(FILE))), None) if place.is_dir() else None
        if file is not None:
            return _kept(file)
    return None


def day(data: Sequence[Path]) -> str | None:
    """Day on which the measurements began, such as 2026-11-20."""
    facts = facts_beside(data)
    return None if facts is None else facts["began"][:10]


def _check_same(place: Path, before: dict, now: dict) -> None:
    """Two machines, or two conditions, in one set of results would be fitted as one."""
    differences = [
        f"{name} was {_brief(before.get(name))}, and is {_brief(now.get(name))}"
        for name in _SAME
        if before.get(name) != now.get(name)
    ]
    hosts = [[rank["host"] for rank in facts["ranks"]] for facts in (before, now)]
    if hosts[0] != hosts[1]:
        differences.append(f"ranks ran on {', '.join(hosts[0][:4])}, and run on {', '.join(hosts[1][:4])}")
    if differences:
        raise InputError(
            f"{place.parent}: begun under other conditions: {differences[0]}; take those, or another -o"
        )


def _brief(value: object) -> str:
    text = str(value).splitlines()[0] if value else "nothing"
    return f"'{text[:60]}'"


def _processors() -> dict:
    """Processors of the host that launches, as `lscpu` says; of the ranks' hosts, each rank tells its own."""
    if shutil.which("lscpu") is None:
        return {}
    done = subprocess.run(["lscpu", "--json"], capture_output=True, text=True, check=False)
    try:
        rows = json.loads(done.stdout)["lscpu"]
    except (ValueError, KeyError):
        return {}
    found: dict[str, str] = {}
    while rows:
        row = rows.pop(0)
        rows += row.get("children", [])
        if row.get("data") and not row["field"].startswith(("Vulnerability", "Flags")):
            found[row["field"].rstrip(":")] = row["data"]
    return found
