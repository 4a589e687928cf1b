"""mpi4py's own test suite, under MPICH and under hopcast: which of its tests pass here that pass there?

Run it as `python validation/suites/mpi4py_suite.py [MODULE …] [-n RANKS]`; all modules on 1, 3 and 5 ranks
where nothing is named. The suite is fetched as mpi4py's source distribution from PyPI; for MPICH, an
environment with the wheels of mpi4py and mpich is made. Both are kept in
`$XDG_CACHE_HOME/hopcast/mpi4py-suite`, with MPICH's results, which are asked for once.

A test passes if it passes on every rank. One at which a run stops (a crash, a wait that does not end) has
failed; the module is run again without it.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

VERSION = "4.1.2"
PLATFORM = "hopper"
TIME_LIMIT_S = 300
MOST_STOPS = 12
"""Number of tests of a module that may stop its run before the rest counts as failed."""

HERE = Path(__file__).resolve().parent
DRIVER = HERE / "mpi4py_driver.py"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "hopcast" / "mpi4py-suite"

Results = dict[str, str]
"""Outcome of each test: "passed", "skipped", or how it failed."""


def fetch() -> Path:
    """The folder of the tests."""
    folder = CACHE / f"mpi4py-{VERSION}" / "test"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "mpi4py"]
        command += ["--disable-pip-version-check", "--retries", "1", "--timeout", "10"]
        subprocess.run([*command, "--dest", CACHE, f"mpi4py=={VERSION}"], check=True)
        with tarfile.open(CACHE / f"mpi4py-{VERSION}.tar.gz") as archive:
            archive.extractall(CACHE, filter="data")
    return folder


def reference() -> Path:
    """The environment with mpi4py over MPICH."""
    folder = CACHE / "mpich"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        packages = [f"mpi4py=={VERSION}", "mpich==4.3.*", "numpy"]
        subprocess.run([folder / "bin/python", "-m", "pip", "install", "--quiet", *packages], check=True)
        (folder / "ready").touch()
    return folder / "bin"


def run(command: list, folder: Path, module: str, ranks: int) -> Results:
    """The results of a module, or of several (`a,b`), run with `command`."""
    results: Results = {}
    stopped: list[str] = []
    while len(stopped) <= MOST_STOPS:
        text, said = _output([*command, DRIVER, folder, module, *stopped])
        told: dict[str, dict[str, str]] = collections.defaultdict(dict)
        for line in text.splitlines():
            if line.startswith("result "):
                _, rank, what, test = line.split(" ", 3)
                if told[test].get(rank, "begun") in ("begun", "passed"):
                    told[test][rank] = what
        ended = len(told.pop("all", {})) == ranks
        open_ends = [test for test, ranks_told in told.items() if "begun" in ranks_told.values()]
        for test, ranks_told in told.items():
            whats = set(ranks_told.values()) - {"passed"}
            if test not in open_ends:
                results[test] = "passed" if not whats else min(whats)
        if ended:
            return results
        if not open_ends:
            results[f"{module} as a whole"] = f"failed:{_last(said)}"
            return results
        for test in open_ends:
            results[test] = f"failed:stops:{_last(said)}"
        stopped += open_ends
    return results


def _output(words: list) -> tuple[str, str]:
    """Output of a command on its two streams, until the time limit at the latest."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, text=True, errors="replace", start_new_session=True, **pipes) as process:
        try:
            return process.communicate(timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with all that it has started
            return process.communicate()[0], "did not end in time"


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "without a word"


def hopcast(ranks: int) -> list[str]:
    """The command that a program is run with here."""
    words = [sys.executable, "-m", "hopcast", "run", PLATFORM, "-n", str(ranks)]
    return [*words, "--quiet", "--compute", "none"]


def native(folder: Path, module: str, ranks: int) -> Results:
    """MPICH's results, which are kept."""
    kept = CACHE / "results" / f"{module}-{ranks}.json"
    if kept.exists():
        return json.loads(kept.read_text())
    binaries = reference()
    results = run([binaries / "mpiexec", "-n", str(ranks), binaries / "python"], folder, module, ranks)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(results))
    return results


def main() -> int:
    """Prints a line for each module and number of ranks, and what fails here that passes there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("-n", type=int, action="append", dest="ranks", metavar="RANKS")
    parser.add_argument(
        "--without-reference", action="store_true", help="count all tests that are not skipped"
    )
    options = parser.parse_args()
    folder = fetch()
    modules = options.modules or sorted(path.stem for path in folder.glob("test_*.py"))
    total = passing = 0
    missed: list[tuple[str, int, str]] = []
    for ranks in options.ranks or [1, 3, 5]:
        for module in modules:
            here = run(hopcast(ranks), folder, module, ranks)
            there = here if options.without_reference else native(folder, module, ranks)
            counted = [
                test
                for test, what in there.items()
                if what == "passed" or (there is here and what != "skipped")
            ]
            good = [test for test in counted if here.get(test) == "passed"]
            total, passing = total + len(counted), passing + len(good)
            missed += [(test, ranks, here.get(test, "not run")) for test in counted if test not in good]
            print(f"{module:28} {ranks} ranks: {len(good)} of {len(counted)}", flush=True)
    print(f"\n{passing} of {total} pass, {100 * passing / max(total, 1):.1f} %\n")
    for test, ranks, what in missed:
        print(f"{test} ({ranks}): {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
