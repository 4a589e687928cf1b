"""Time from a clone to the first prediction: `make demo` in a fresh clone of this checkout's commit.

Run it as `python bench/first_prediction.py [TARGET]`, on an idle machine: it prints the wall time and the
processor time, user and system, of `make demo`, or of another target. Sources of crates and of Python
packages are downloaded where no earlier build has left them in the caches of cargo and uv.
"""

import argparse
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


def main() -> None:
    """Clones, runs the target, and prints what it took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", nargs="?", default="demo", help="target of make [demo]")
    options = parser.parse_args()
    data = os.environ.get("HOPCAST_DATA", str(HERE.parent / "shared" / "data"))
    environment = {**os.environ, "HOPCAST_DATA": data}
    for name in ("CARGO_TARGET_DIR", "PYTHONPATH", "VIRTUAL_ENV"):
        environment.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="hopcast-first-") as folder:
        clone = Path(folder) / "hopcast"
        subprocess.run(["git", "clone", "--quiet", str(HERE), str(clone)], check=True)
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["make", options.target], cwd=clone, env=environment, check=True)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"make {options.target}: {wall / 60:.1f} min, {used / 60:.1f} min of CPU on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
