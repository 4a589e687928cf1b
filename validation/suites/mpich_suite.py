"""MPICH's own test suite, under MPICH and under hopcast: which of its programs pass here that pass there?

Run it as `python validation/suites/mpich_suite.py [FOLDER | FOLDER/TEST …]`; all folders where none is named.
The suite is fetched as a source package of Debian (`apt-get source`), configured, and compiled once for MPICH
and once for hopcast; a second run compiles what failed to compile, and runs. All is kept in
`$XDG_CACHE_HOME/hopcast/mpich-suite`, with MPICH's results, which are asked for once: those of programs that
fail here, for a program that passes here is taken to pass there, too, or with --whole-reference all.

A program passes by the suite's own rule: it prints "No Errors" and nothing else, and its status is zero (or
what its line in the suite's list of tests says instead).
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import mpich_build
import mpich_report
from mpich_build import FOLDERS, Absent, Suite

PLATFORM = "hopper"
TIME_LIMIT_S = 60
"""Time limit of one program under hopcast [s]; it is twice as long under MPICH, whose processes poll."""


@dataclass(frozen=True)
class Test:
    """One line of a folder's list."""

    folder: str
    program: str
    ranks: int
    words: tuple[str, ...]
    environment: tuple[str, ...]
    launcher_words: tuple[str, ...]
    expects: str
    """`TestStatus`, `TestErrFatal`: a status that is not zero. Else "No Errors"."""

    @property
    def name(self) -> str:
        """As results are kept by: `pt2pt/sendself 2 -type=MPI_INT`."""
        return " ".join([f"{self.folder}/{self.program}", str(self.ranks), *self.words, *self.environment])


def tests_of(suite: Suite, folder: str) -> list[Test]:
    """The tests of a folder and of those below it, each once."""
    found: dict[str, Test] = {}
    for name in ("testlist", "testlist.dtp"):
        for path in (suite.configured / folder / name, suite.source / folder / name):
            if path.exists():
                break
        else:
            continue
        for line in path.read_text().splitlines():
            words = line.split("#")[0].split()
            if not words or words[0] == "cxx":
                continue
            if (suite.source / folder / words[0]).is_dir():
                found |= {test.name: test for test in tests_of(suite, f"{folder}/{words[0]}")}
            elif test := _test(folder, words):
                found[test.name] = test
    return list(found.values())


def _test(folder: str, words: list[str]) -> Test | None:
    """The test of a line; None for what only MPICH has: extensions, and its own variables."""
    pairs = [word.partition("=")[::2] for word in words[2:]]
    options = dict(pairs)
    if options.get("strict") == "false" or options.get("mpix") == "true":
        return None
    environment = tuple(value for key, value in pairs if key == "env")
    if any(value.startswith(("MPIR_", "MPICH_")) for value in environment):
        return None
    if float(options.get("mem", 0)) > 4:
        return None
    program = words[0]
    if "/" in program:
        below, _, program = program.rpartition("/")
        folder = f"{folder}/{below}"
    return Test(
        folder=folder,
        program=program,
        ranks=int(words[1]) if len(words) > 1 else 1,
        words=tuple(value for key, value in pairs if key == "arg"),
        environment=environment,
        launcher_words=tuple(value for key, value in pairs if key == "mpiexecarg"),
        expects=options.get("resultTest", "No Errors"),
    )


def outcome(suite: Suite, test: Test, under: str, limit_s: float) -> str:
    """Empty where it compiles and passes, else the first line of why not."""
    program = suite.built(under) / test.folder / test.program
    if not program.exists():
        return "does not compile: " + suite.complaint(under, test.folder, test.program)
    return run(program, test, under, limit_s)


def run(program: Path, test: Test, under: str, limit_s: float) -> str:
    """Empty where it passes, else the first line of why not."""
    command = [str(program), *test.words]
    if under == "mpich":
        command = ["mpiexec", "-n", str(test.ranks), *test.launcher_words, *command]
    else:
        hopcast = [sys.executable, "-m", "hopcast", "run", PLATFORM, "-n", str(test.ranks)]
        # Progress would count as something that the program prints.
        command = [*hopcast, "--json", "--quiet", "--compute", "none", *command]
    variables = dict(entry.partition("=")[::2] for entry in test.environment)
    with tempfile.TemporaryDirectory(prefix="mpich-suite-") as folder:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if under != "mpich" else subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env=os.environ | variables,
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"more than {limit_s:g} s"
    if under == "mpich":
        return _verdict(test, output.decode(errors="replace"), process.returncode, "")
    # The report comes on standard output, what the program prints on standard error.
    start = output.find(b'{\n  "')
    printed = (errors + output[: max(start, 0)]).decode(errors="replace")
    failure = ""
    if start >= 0 and (told := json.loads(output[start:])["failure"]):
        failure = told["text"].splitlines()[0]
    return _verdict(test, printed, process.returncode, failure)


def _verdict(test: Test, printed: str, status: int, failure: str) -> str:
    """The suite's own rules."""
    lines = [line.strip() for line in printed.splitlines() if line.strip() and "FORTRAN STOP" not in line]
    if test.expects in ("TestStatus", "TestErrFatal"):
        return "" if status else "ends with status 0"
    passed = ("No Errors", "No errors", "Test Passed")
    other = [line for line in lines if line not in passed and not line.startswith("warning: ")]
    if other or failure:
        said = next((line for line in other if "MPI_ERR" in line or "rror" in line), (other or [""])[0])
        return f"{failure}: {said}" if failure and said else failure or said
    if test.expects == "TestStatusNoErrors":
        return "" if status else "ends with status 0"
    if not any(line in passed for line in lines):
        return "does not say 'No Errors'"
    return f"status {status}" if status else ""


class Results:
    """Outcome of each test, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.of: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}

    def add(self, new: dict[str, str]) -> None:
        """Keeps them, beside those that another process has written meanwhile."""
        with mpich_build.locked(self.path.with_suffix(".lock")):
            before = json.loads(self.path.read_text()) if self.path.exists() else {}
            self.of = before | new
            partial = self.path.with_suffix(f".{os.getpid()}")
            partial.write_text(json.dumps(self.of, indent=1, sort_keys=True))
            partial.replace(self.path)


def run_all(suite: Suite, tests: list[Test], under: str, jobs: int, limit_s: float, results: Results) -> None:
    """Runs them, some at once; results are kept as they come."""
    programs: dict[str, list[str]] = {}
    for test in tests:
        of_folder = programs.setdefault(test.folder, [])
        if test.program not in of_folder:
            of_folder.append(test.program)
    mpich_build.build(suite, under, programs, jobs)
    new = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(outcome, suite, test, under, limit_s): test for test in tests}
        for count, done in enumerate(concurrent.futures.as_completed(runs), 1):
            new[runs[done].name] = done.result()
            if count % 10 == 0 or count == len(tests):
                results.add(new)
                print(f"{under}: {count} of {len(tests)}", file=sys.stderr, flush=True)


def passes_there(test: Test, reference: dict[str, str], ours: dict[str, str]) -> bool:
    """True if the test counts: it passes under MPICH, or passes here and MPICH was not asked."""
    return reference.get(test.name, ours.get(test.name)) == ""


def by_folder(
    tests: list[Test], reference: dict[str, str], ours: dict[str, str]
) -> dict[str, tuple[int, int]]:
    """Number of tests that pass here, and of those that pass under MPICH, by folder."""
    counts: dict[str, tuple[int, int]] = collections.defaultdict(lambda: (0, 0))
    for test in tests:
        if passes_there(test, reference, ours):
            name = test.folder.split("/")[0]
            here, there = counts[name]
            counts[name] = (here + (ours.get(test.name) == ""), there + 1)
    return counts


def table(counts: dict[str, tuple[int, int]]) -> tuple[list[str], int, int]:
    """A line for each folder: what passes of that which passes under MPICH."""
    passed, of = (sum(count[at] for count in counts.values()) for at in (0, 1))
    rows = [*counts.items(), ("all", [passed, of])]
    lines = ["folder     passed  of those that pass under MPICH"]
    lines += [
        f"{name:10} {here:6} {there:6} {100 * here / max(there, 1):6.1f} %" for name, (here, there) in rows
    ]
    return lines, passed, of


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", metavar="FOLDER[/TEST]", help=f"of {', '.join(FOLDERS)}")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="programs at once [default: 2]")
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT_S, metavar="S", help="of one program")
    parser.add_argument("--cache", type=Path, default=mpich_build.CACHE, help="where all is built and kept")
    parser.add_argument(
        "--reference", type=Path, metavar="FILE", help="MPICH's results [default: in the cache]"
    )
    parser.add_argument("--whole-reference", action="store_true", help="run all that is missing under MPICH")
    parser.add_argument("--again", action="store_true", help="run MPICH again, even if its result is known")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here")
    parser.add_argument("--write", action="store_true", help="write the page mpich.md beside this script")
    parser.add_argument("--failed", action="store_true", help="only what failed the last time")
    parser.add_argument("--at-least", type=float, default=0, metavar="SHARE", help="else status 1 [percent]")
    return parser.parse_args()


def chosen(suite: Suite, what: list[str]) -> list[Test]:
    """The tests that the command line names."""
    tests: dict[str, Test] = {}
    for name in what or FOLDERS:
        folder = name.split("/")[0]
        if folder not in FOLDERS:
            raise SystemExit(f"unknown folder '{folder}'; known: {', '.join(FOLDERS)}")
        of_folder = tests_of(suite, folder)
        wanted = [test for test in of_folder if f"{test.folder}/".startswith(f"{name}/")]
        wanted += [test for test in of_folder if f"{test.folder}/{test.program}" == name or test.name == name]
        if not wanted:
            raise SystemExit(
                f"no test '{name}'; of {folder}: {', '.join(sorted({t.program for t in of_folder}))}"
            )
        tests |= {test.name: test for test in wanted}
    return list(tests.values())


def main() -> None:
    """Prints what fails and why, then the table."""
    given = arguments()
    try:
        suite = mpich_build.prepare(given.cache)
    except Absent as reason:
        raise SystemExit(f"MPICH's suite: {reason}") from None
    tests = chosen(suite, given.what)
    reference = Results(given.reference or given.cache / "mpich.json")
    ours = Results(suite.built("hopcast") / f"results-{mpich_build.here()}.json")
    run_now = [test for test in tests if reference.of.get(test.name, "") == ""]
    if given.failed:
        run_now = [test for test in run_now if ours.of.get(test.name) != ""]
    run_all(suite, run_now, "hopcast", given.jobs, given.time_limit, ours)
    unknown = [test for test in tests if given.whole_reference or ours.of.get(test.name) != ""]
    unknown = [test for test in unknown if given.again or test.name not in reference.of]
    # Its processes poll: one program at a time.
    run_all(suite, unknown, "mpich", 1, 2 * given.time_limit, reference)
    counts = by_folder(tests, reference.of, ours.of)
    lines, passed, of = table(counts)
    failed = {
        t.name: ours.of[t.name] for t in tests if reference.of.get(t.name) == "" and ours.of.get(t.name)
    }
    for name, why in failed.items():
        print(f"{name}: {mpich_report.reason_of(name) or why}")
    print(*lines, sep="\n")
    if given.json:
        shown = {t.name: {"mpich": reference.of.get(t.name), "hopcast": ours.of.get(t.name)} for t in tests}
        given.json.write_text(json.dumps(shown, indent=1))
    if given.write:
        version = suite.source.parents[1].name.replace("mpich-", "version ")
        mpich_report.PAGE.write_text(mpich_report.page(version, counts, failed))
    raise SystemExit(100 * passed < given.at_least * of)


if __name__ == "__main__":
    main()
