"""Speed of a replay: messages/s of the `flow` model on the recorded halo exchange of examples/hydro.c.

Run it as `python bench/replay.py [--quick]`. The program is recorded under MPICH on 27 ranks, for half a
minute, and grown to 1,000; what is printed is CPU time in user mode, reading the trace included.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "validation"))

import flow_scale
import rates
from recordings import Absent


def main() -> None:
    """Prints one line for each network."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        try:
            trace = flow_scale.recording(out, 10, 4 if options.quick else 50)
        except Absent as absent:
            print(absent)
            return
        for network, where in flow_scale.NETWORKS.items():
            run = flow_scale.replay(out, trace, *where)
            rate = run["messages"] / run["cpu_s"]
            memory = run["peak_rss_B"] / 2**20
            print(
                f"flow, hydro replayed, {network:20} {rate:12,.0f} messages/s {memory:8,.0f} MiB", flush=True
            )
            if not options.quick:
                rates.record("replay", network, messages_per_cpu_s=rate, memory_B=run["peak_rss_B"])


if __name__ == "__main__":
    main()
