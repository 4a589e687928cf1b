"""Outcome hashes of two builds: a change that is no change of physics leaves all of them as they were.

Run it as `python bench/same_outcomes.py OTHER [PRESET …]`, where OTHER is a built checkout. It runs patterns
with every network model on the presets, all where none is named, and the rank programs of `examples`, prints
each run whose outcome differs, and ends with 1 if there is one.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
MODELS = (("postal",), ("max-rate", "max_rate"), ("loggp",), ("flow",), ("packet",))
"""Network models, each by the names that it has had."""
PATTERNS = (
    ("alltoall", ("--bytes", "8KiB")),
    ("allreduce", ("--bytes", "64KiB")),
    ("bcast", ("--bytes", "1MiB")),
    ("halo3d", ("--bytes", "32KiB", "--iterations", "3")),
    ("random-ring", ("--bytes", "2KiB", "--iterations", "3")),
)
PROGRAMS = ("cannon.py", "halo.py")
RANKS = 64

_WORKER = """
import json, sys
import hopcast
from hopcast.errors import InputError
for line in sys.stdin:
    platform, models, program, args = json.loads(line)
    for model in models:
        try:
            outcome = hopcast.run(platform, program, ranks=%d, args=args, model=model).outcome_hash
        except InputError as error:
            outcome = str(error).split(":")[0]
            continue
        break
    print(outcome, flush=True)
"""


def cases(presets: list[str]) -> list[tuple[str, tuple[str, ...], str, tuple[str, ...]]]:
    """Every run: platform, model, program or pattern, and its arguments."""
    found = [(preset, model, *pattern) for preset in presets for model in MODELS for pattern in PATTERNS]
    return found + [("hopper", model, f"examples/{name}", ()) for model in MODELS for name in PROGRAMS]


def outcomes(checkout: Path, lines: list[str]) -> list[str]:
    """Outcome hash of each run, one process for all; the start of the message of what is refused."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "python")}
    worker = [sys.executable, "-c", _WORKER % RANKS]
    done = subprocess.run(
        worker, input="\n".join(lines), env=environment, cwd=HERE, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(f"{checkout} failed:\n{done.stderr}")
    return done.stdout.splitlines()


def main() -> None:
    """Compares the two builds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path, help="the other checkout, built")
    parser.add_argument("presets", nargs="*", help="presets [all]")
    options = parser.parse_args()
    presets = options.presets or sorted(path.stem for path in (HERE / "data" / "platforms").glob("*.toml"))
    lines = [json.dumps(case) for case in cases(presets)]
    pairs = list(zip(lines, *(outcomes(checkout, lines) for checkout in (options.other, HERE)), strict=True))
    different = [(line, other, here) for line, other, here in pairs if other != here]
    for line, other, here in different:
        print(f"{line}: {other} there, {here} here")
    print(f"{len(pairs)} runs, {len(different)} with another outcome")
    raise SystemExit(bool(different))


if __name__ == "__main__":
    main()
