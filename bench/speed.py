"""Speed of `hopcast run` in cases that something is to be reached in, or was poor once.

Run it as `python bench/speed.py [--quick] [NAME …]`; each case runs in a process of its own. It prints
messages/s, events/s, packet-hops/s, memory, and the wall time of the simulation without its set-up; it
asserts nothing: machines are noisy, so compare two builds side by side in one session.
"""

import argparse
import json
import subprocess
import sys

import rates

HOPCAST = (sys.executable, "-m", "hopcast")
HALO = "--model flow halo3d"
RING = "nsim-torus --set topology.sizes=[16,16,8] -n 2048 --model packet random-ring --bytes 32KiB"
TORUS_16384 = "nsim-torus --set topology.sizes=[32,32,16] -n 16384"

# name: (what is to be reached, arguments of `hopcast run`, iterations, iterations with --quick)
CASES = {
    "loggp-allreduce-65536": (
        "2,000,000 messages/s",
        "nsim-torus --set topology.sizes=[64,32,32] -n 65536 --model loggp allreduce --bytes 8B"
        " --algorithm dissemination",
        8,
        2,
    ),
    "loggp-alltoall-2048": (
        "2,000,000 messages/s",
        "nsim-torus --set topology.sizes=[16,16,8] -n 2048 --model loggp alltoall --bytes 1KiB"
        " --algorithm pairwise",
        2,
        1,
    ),
    "loggp-allreduce-million": (
        "1,000,000 ranks in under 4 GB and 60 s",
        "crossbar --ppn 1 --set topology.hosts=1000000 -n 1000000 --model loggp allreduce --bytes 8B",
        1,
        1,
    ),
    # Neighbours in the grid are neighbours in the torus: every flow has its links for itself.
    "flow-halo3d-torus-8B": (
        "1,000,000 messages/s",
        f"nsim-torus --set topology.sizes=[10,10,10] -n 1000 {HALO} --bytes 8B",
        200,
        50,
    ),
    "flow-halo3d-torus-7kB": (
        "1,000,000 messages/s",
        f"nsim-torus --set topology.sizes=[10,10,10] -n 1000 {HALO} --bytes 7kB",
        200,
        50,
    ),
    "flow-halo3d-fat-tree-8B": (
        "1,000,000 messages/s",
        f"mustang --ppn 1 -n 1000 {HALO} --bytes 8B",
        200,
        50,
    ),
    # 7 kB is the mean message of the flow paper's PAGOSA run (14 TB in two billion messages).
    "flow-halo3d-fat-tree-7kB": (
        "1,000,000 messages/s",
        f"mustang --ppn 1 -n 1000 {HALO} --bytes 7kB",
        50,
        10,
    ),
    "flow-halo3d-other-torus-7kB": (
        "1,000,000 messages/s",
        f"mustang-torus --ppn 1 -n 1000 {HALO} --bytes 7kB",
        50,
        10,
    ),
    "flow-allreduce-512-64KiB": (
        "200,000 messages/s",
        "mustang --ppn 1 -n 512 --model flow allreduce --bytes 64KiB --algorithm recursive-doubling",
        100,
        20,
    ),
    # A tree with three hosts for each way up, and one whose processes are slower than its links: each message
    # shares the same few limits with hundreds of others.
    "flow-alltoall-512-tapered": (
        "no slower than packet-alltoall-512-tapered",
        "mustang --ppn 1 -n 512 --model flow alltoall --bytes 2KiB",
        1,
        1,
    ),
    "packet-alltoall-512-tapered": (
        "compare with flow-alltoall-512-tapered",
        "mustang --ppn 1 -n 512 --model packet alltoall --bytes 2KiB",
        1,
        1,
    ),
    "flow-alltoall-1024-tapered": (
        "no slower than packet-alltoall-1024-tapered",
        "mustang --ppn 1 -n 1024 --model flow alltoall --bytes 2KiB",
        1,
        1,
    ),
    "packet-alltoall-1024-tapered": (
        "compare with flow-alltoall-1024-tapered",
        "mustang --ppn 1 -n 1024 --model packet alltoall --bytes 2KiB",
        1,
        1,
    ),
    "flow-alltoall-512-narrow-hosts": (
        "no slower than packet-alltoall-512-narrow-hosts",
        "fat-tree --ppn 1 -n 512 --model flow alltoall --bytes 2KiB",
        1,
        1,
    ),
    "packet-alltoall-512-narrow-hosts": (
        "compare with flow-alltoall-512-narrow-hosts",
        "fat-tree --ppn 1 -n 512 --model packet alltoall --bytes 2KiB",
        1,
        1,
    ),
    # One link with a thousand flows.
    "flow-incast-1024": (
        "200,000 messages/s",
        "mustang --ppn 1 -n 1024 --model flow incast --bytes 64KiB",
        20,
        5,
    ),
    # Two hosts of 158,976: costs what moves, not what exists.
    "flow-pingpong-tofu": (
        "as quick as on two hosts, in under 200 MB",
        "tofu --ppn 1 -n 2 --model flow pingpong --bytes 64KiB",
        10,
        2,
    ),
    # Short messages go in packets that take turns at NICs: these, too, are there once they are used.
    "flow-pingpong-tofu-8B": (
        "as flow-pingpong-tofu",
        "tofu --ppn 1 -n 2 --model flow pingpong --bytes 8B",
        10,
        2,
    ),
    "flow-incast-tofu-in-turn": (
        "as flow-pingpong-tofu",
        "tofu --ppn 1 -n 64 --set nic.order=in-turn --model flow incast --bytes 8B",
        10,
        2,
    ),
    "flow-halo3d-64000": (
        "half as fast as on 1,000 hosts",
        f"nsim-torus --set topology.sizes=[40,40,40] -n 64000 {HALO} --bytes 8KiB",
        2,
        1,
    ),
    # Hours of simulated time with little in them.
    "flow-halo3d-tofu-hours": (
        "as quick as without the computing",
        f"tofu --ppn 1 -n 10000 {HALO} --bytes 64KiB --compute 60s",
        120,
        2,
    ),
    "flow-halo3d-hours": (
        "as quick as without the computing",
        "mustang --ppn 1 -n 1000 --model flow halo3d --bytes 7kB --compute 1000s",
        10,
        2,
    ),
    "packet-ring-2048": (
        "10,000,000 packet-hops/s",
        RING,
        8,
        1,
    ),
    "packet-ring-2048-two-threads": (
        "1.75 times packet-ring-2048",
        f"{RING} --threads 2",
        8,
        1,
    ),
    "packet-halo3d-16384": (
        "6,000,000 packet-hops/s",
        f"{TORUS_16384} --placement random --model packet halo3d --bytes 32KiB",
        1,
        1,
    ),
    "packet-alltoall-256-1KiB": (
        "5,000,000 packet-hops/s",
        "nsim-torus --set topology.sizes=[8,8,4] -n 256 --model packet alltoall --bytes 1KiB",
        5,
        1,
    ),
    "packet-alltoall-64-16KiB": (
        "compare with another build",
        "nsim-torus --set topology.sizes=[4,4,4] -n 64 --model packet alltoall --bytes 16KiB",
        10,
        2,
    ),
    "packet-halo3d-fat-tree-8B": (
        "compare with another build",
        "mustang --ppn 1 -n 1000 --model packet halo3d --bytes 8B",
        50,
        10,
    ),
}


def run(arguments: str, iterations: int) -> dict:
    """The report of one run, as `--json` prints it."""
    command = [*HOPCAST, "run", *arguments.split(), "--iterations", str(iterations), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose cases."""
    parser.add_argument("--quick", action="store_true", help="fewer iterations")
    parser.add_argument("name", nargs="*", choices=[*CASES, []], help="cases to run; all if none is named")


def main() -> None:
    """Runs the chosen cases and prints one line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser)
    options = parser.parse_args()
    print(subprocess.run([*HOPCAST, "--version"], capture_output=True, text=True, check=True).stdout.strip())
    names = f"{'messages/s':>12} {'events/s':>12} {'packet-hops/s':>14} {'MB':>7} {'wall s':>8}"
    print(f"{'case':32} {names}  to be reached")
    for name in options.name or CASES:
        target, arguments, iterations, quick = CASES[name]
        report = run(arguments, quick if options.quick else iterations)
        rate, events, hops = (
            (report[count] or 0) / report["wall_s"] for count in ("messages", "events", "packet_hops")
        )
        memory = report["peak_rss_B"]
        print(
            f"{name:32} {rate:12,.0f} {events:12,.0f} {hops:14,.0f} {memory / 1e6:7,.0f} "
            f"{report['wall_s']:8.2f}  {target}",
            flush=True,
        )
        if not options.quick:
            rates.record(
                "speed",
                name,
                messages_per_s=rate,
                events_per_s=events,
                packet_hops_per_s=hops,
                memory_B=memory,
            )


if __name__ == "__main__":
    main()
