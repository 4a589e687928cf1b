"""Batch systems: a script is written, submitted, and followed until its job has ended."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopcast.errors import InputError
from hopcast.experiment.pieces import LOST, Result, Work
from hopcast.experiment.stopping import Stop

_LOOK_S = 1.0
_GRACE_LOOKS = 60
"""Looks after which a job that was asked to end, and to write its archive, is cancelled."""
_ENDED_LOOKS = 3
"""Looks after the end of a job in which results of a shared file system may still come."""


@dataclass(frozen=True)
class System:
    """A batch system."""

    directive: str
    """Beginning of the lines of a script that hold options."""
    name: str
    """Options for the name of a job and the file of its output."""
    submit: tuple[str, ...]
    number: str
    """Pattern of a job's number in what the submission prints."""
    state: tuple[str, ...]
    """Command that prints the state of a job."""
    waiting: str
    """Pattern of the states of a job that has not ended."""
    cancel: tuple[str, ...]
    ask: tuple[str, ...]
    """Command that sends SIGTERM to the script of a job, which may then end in order."""

    def script(self, options: str, log: Path, command: str) -> str:
        """Text of a job's script."""
        lines = [
            "#!/bin/bash",
            *(f"{self.directive} {text}" for text in self.name.format(log=log).split("\n")),
        ]
        lines += [f"{self.directive} {text}" for text in _options(options)]
        return "\n".join([*lines, f"cd {shlex.quote(os.getcwd())}", command]) + "\n"

    def submitted(self, script: Path) -> str:
        """Submits a script; gives the number of its job."""
        if shutil.which(self.submit[0]) is None:
            raise InputError(f"{self.submit[0]}: there is no such command here")
        words = [word.format(script=script) for word in self.submit]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        found = re.search(self.number, done.stdout)
        if done.returncode or not found:
            raise InputError(f"{shlex.join(words)}: {(done.stderr or done.stdout).strip()}")
        return found[1]

    def goes_on(self, job: str) -> bool:
        """True until a job has ended. A question that is not answered says nothing."""
        words = [word.format(job=job) for word in self.state]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            return "Invalid job id" not in done.stderr
        return re.search(self.waiting, done.stdout) is not None

    def end(self, job: str, at_once: bool = True) -> None:
        """Cancels a job, or asks it to end."""
        words = self.cancel if at_once else self.ask
        subprocess.run([word.format(job=job) for word in words], capture_output=True, check=False)


SYSTEMS: Mapping[str, System] = {
    "slurm": System(
        "#SBATCH",
        "--job-name=hopcast\n--output={log}",
        ("sbatch", "--parsable", "{script}"),
        r"^(\d+)",
        ("squeue", "--noheader", "--format=%T", "--jobs={job}"),
        r"PENDING|RUNNING|CONFIGURING|COMPLETING|SUSPENDED|REQUEUED|RESIZING|STOPPED",
        ("scancel", "{job}"),
        ("scancel", "{job}"),  # SIGTERM, and SIGKILL after the grace time of the site
    ),
    "oar": System(
        "#OAR",
        "-n hopcast\n-O {log}\n-E {log}",
        ("oarsub", "-S", "{script}"),
        r"OAR_JOB_ID=(\d+)",
        ("oarstat", "-s", "-j", "{job}"),
        r"Waiting|Launching|Running|toLaunch|toAckReservation|Hold|Suspended|Resuming|Finishing",
        ("oardel", "{job}"),  # SIGKILL
        ("oardel", "-s", "SIGTERM", "{job}"),
    ),
}
"""Batch systems by name."""


def _options(text: str) -> list[str]:
    """Options of a job, one on each line of its script: `-l nodes=2 -t deploy` are two."""
    lines: list[str] = []
    for word in shlex.split(text):
        if word.startswith("-") or not lines:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return lines


def named(text: str) -> tuple[System, str]:
    """The batch system and the options of `slurm:OPTIONS`."""
    kind, _, options = text.partition(":")
    if kind not in SYSTEMS:
        raise InputError(f"--on {text}: unknown batch system '{kind}'; known: {', '.join(SYSTEMS)}")
    return SYSTEMS[kind], options


def submit_experiment(
    on: str, experiment: str, pieces: Path | None, install: Path | None, target: Path
) -> int:
    """Runs an experiment on the nodes of a job of its own, and waits for its end; gives its exit code."""
    system, options = named(on)
    words = [
        sys.executable,
        "-m",
        "hopcast",
        "experiment",
        "run",
        experiment,
        "--on",
        "allocation",
        "-o",
        str(target),
    ]
    words += ["--pieces", str(pieces)] if pieces else []
    words += ["--install", str(install)] if install else []
    folder = target.with_name(target.name + ".d").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    script, log, code = folder / "job.sh", folder / "job.txt", folder / "job.code"
    code.unlink(missing_ok=True)
    # With `exec`, the signal with which a batch system ends a job would reach the experiment alone, so the
    # shell waits and tells the exit code.
    text = f"trap 'kill -TERM $run' TERM\n{shlex.join(words)} &\nrun=$!\nwait $run || wait $run\n"
    text += f"echo $? > {shlex.quote(str(code))}"
    script.write_text(system.script(options, log, text))
    script.chmod(0o755)
    with Stop() as stop:
        job = system.submitted(script)
        sys.stderr.write(f"job {job}\n")
        looks = asked = 0
        while looks < _ENDED_LOOKS:
            if stop:
                if asked in (0, _GRACE_LOOKS):
                    system.end(job, at_once=asked > 0)
                asked += 1
            looks = 0 if system.goes_on(job) else looks + 1
            time.sleep(_LOOK_S)
    if log.exists():
        sys.stdout.write(log.read_text(errors="replace"))
    if not code.exists():
        raise InputError(f"job {job} was ended by the batch system; the same command goes on: {log}")
    return int(code.read_text())


class Jobs:
    """Runner of studies: pieces run in jobs of a batch system, several in each."""

    def __init__(self, system: System, options: str, jobs: int) -> None:
        self._system, self._options, self._jobs = system, options, jobs

    def run(
        self, work: Work, tasks: Mapping[str, Mapping[str, Any]], stop: Stop
    ) -> Generator[tuple[str, Result], None, None]:
        """See `Runner.run`."""
        if not tasks:
            return
        spool = Path(work.directory) / f".hopcast-jobs-{os.getpid()}"
        (spool / "results").mkdir(parents=True)
        jobs: list[str] = []
        try:
            for number, part in enumerate(_parts(list(tasks.items()), self._jobs)):
                jobs.append(self._submitted(spool, number, work, dict(part)))
            yield from self._collected(spool / "results", set(tasks), jobs, stop)
        finally:
            for job in jobs:
                if self._system.goes_on(job):
                    self._system.end(job)
            shutil.rmtree(spool, ignore_errors=True)

    def _submitted(self, spool: Path, number: int, work: Work, tasks: Mapping[str, Any]) -> str:
        chunk, script = spool / f"{number}.json", spool / f"{number}.sh"
        chunk.write_text(json.dumps({"function": work.function, "directory": work.directory, "tasks": tasks}))
        words = [sys.executable, "-m", "hopcast.experiment.batch", str(chunk), str(spool / "results")]
        script.write_text(self._system.script(self._options, spool / f"{number}.txt", shlex.join(words)))
        script.chmod(0o755)  # OAR runs the script itself, not a copy of it
        return self._system.submitted(script)

    def _collected(
        self, results: Path, left: set[str], jobs: Sequence[str], stop: Stop
    ) -> Generator[tuple[str, Result], None, None]:
        looks = 0
        while left and not stop:
            found = [file for file in results.glob("*.json") if file.stem in left]
            for file in found:
                left.discard(file.stem)
                yield file.stem, Result.from_json(file.read_text())
            looks = 0 if found or any(map(self._system.goes_on, jobs)) else looks + 1
            if looks >= _ENDED_LOOKS:
                break
            time.sleep(_LOOK_S)
        if not stop:
            for key in sorted(left):
                yield key, Result(LOST, "its job ended without a result")


def _parts(tasks: list, count: int) -> list[list]:
    """Tasks dealt like cards, so that long ones are spread."""
    count = min(count, len(tasks))
    return [tasks[number::count] for number in range(count)]


def work_off(chunk: Path, results: Path) -> None:
    """Runs the pieces of one job; each result is a file, written whole or not at all."""
    from hopcast.experiment.pieces import perform

    given = json.loads(chunk.read_text())
    os.chdir(given["directory"])
    function = Work(given["function"], given["directory"]).found()
    for key, inputs in given["tasks"].items():
        draft = results / f".{key}.draft"
        draft.write_text(perform(function, inputs).to_json())
        draft.replace(results / f"{key}.json")


if __name__ == "__main__":
    work_off(Path(sys.argv[1]), Path(sys.argv[2]))
