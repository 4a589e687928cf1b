#!/usr/bin/env python3
"""A cluster on one machine: hosts are network namespaces, joined by links of a set rate and queue.

    testbed.py star|tree|ring [--hosts 4] [--rate 100mbit] [--trunk-rate 100mbit] [--queue 64kb] [--delay 0]
               -- COMMAND…

Runs COMMAND on host 0. `mpiexec.mpich` and `mpiexec.openmpi` start ranks on all hosts there, one on each in
turns, with TCP between them, and they wait instead of polling, so that two cores suffice for 16 hosts.

Each link is a pair of devices with a token bucket (`tc tbf`) at both ends: rate, and a queue of bytes.
`--delay` (microseconds) delays frames on the links of hosts, in a relay of TAP devices, since few kernels
have netem; a host's frame then also takes its time on the wire, once, as through switches that cut through.
Switches are bridges in a namespace of their own; their tables are fixed, along shortest ways, so that a ring
needs no spanning tree. Addresses are 10.213.0.0/24, within these namespaces alone; nothing of the machine's
own network is touched. All is removed in the end, also when this process is killed. Needs root.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from topologies import TOPOLOGIES, Network

HERE = Path(__file__).parent
HOSTS_LEAST, HOSTS_MOST = 2, 16
WINDOW_BEGINS_ANEW = "/proc/sys/net/ipv4/tcp_slow_start_after_idle"
"""Off, as on clusters that are tuned for MPI: a measuring program, which pauses between messages, would else
wait for the window of each connection to grow again, and a program that always communicates would not."""
BURST = "2kb"
"""Bytes that may leave at once: one packet, so that short messages are shaped, too."""
TOOLS = ("ip", "tc", "bridge", "unshare", "nsenter", "cc")


class CannotRun(Exception):
    """The machine does not allow a testbed; the text says why, in one line."""


def check() -> None:
    """Refuses a machine that lacks rights or tools."""
    if os.geteuid() != 0:
        raise CannotRun("the testbed makes network namespaces, which needs root")
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise CannotRun(f"the testbed needs {', '.join(missing)} (packages iproute2, util-linux, gcc)")
    for words in (["ip", "netns", "add"], ["ip", "netns", "delete"]):
        done = subprocess.run([*words, f"hctry{os.getpid()}"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotRun(f"the kernel allows no network namespaces here: {done.stderr.strip()}")


def address(host: int) -> str:
    """Address of a host's only device but the loopback."""
    return f"10.213.0.{host + 1}"


def hardware_address(host: int) -> str:
    """Hardware address of the same device."""
    return f"02:00:00:00:00:{host + 1:02x}"


def bits_per_s(rate: str) -> float:
    """A rate in words of tc: bit, kbit, mbit or gbit."""
    found = re.fullmatch(r"([\d.]+)([kmg]?)bit", rate)
    if not found:
        raise CannotRun(f"a rate such as 100mbit is wanted, not {rate!r}")
    return float(found[1]) * {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}[found[2]]


@dataclass(frozen=True)
class Links:
    """Properties of links, in words of tc."""

    rate: str
    trunk_rate: str
    queue: str
    delay_us: float


class Testbed:
    """Namespaces of hosts and fabric, and the folder of the launchers."""

    def __init__(self, network: Network, links: Links, folder: Path) -> None:
        self.network = network
        self.hosts = len(network.switch_of)
        self.names = [f"hc{os.getpid()}h{host}" for host in range(self.hosts)]
        self.fabric = f"hc{os.getpid()}fabric"
        self.links = links
        self.folder = folder

    def build(self) -> None:
        """Makes hosts, switches, links, and the launchers."""
        for name in (*self.names, self.fabric):
            _run("ip", "netns", "add", name)
        for switch in range(self.network.switches):
            self._in_fabric("ip", "link", "add", f"s{switch}", "type", "bridge", "stp_state", "0")
            self._in_fabric("ip", "link", "set", f"s{switch}", "up")
        if self.links.delay_us > 0:
            self._start_relay()
        for host in range(self.hosts):
            self._attach(host)
        for one, other in self.network.links:
            self._join(one, other)
        for switch in range(self.network.switches):
            self._fix_table(switch)
        self._write_launchers()

    def run(self, words: Sequence[str]) -> int:
        """Runs a command on host 0, and gives its exit code."""
        path = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        command = [self.folder / "agent", address(0), "exec", *map(shlex.quote, words)]
        return subprocess.run(command, env=os.environ | {"PATH": path}, check=False).returncode

    def _in_fabric(self, *words: str) -> None:
        _run("ip", "netns", "exec", self.fabric, *words)

    def _on(self, host: int, *words: str) -> None:
        _run("ip", "netns", "exec", self.names[host], *words)

    def _attach(self, host: int) -> None:
        """The link of a host, and what the host knows of the others."""
        if self.links.delay_us > 0:
            self._on(host, "ip", "link", "set", "eth0", "address", hardware_address(host))
        else:
            ends = ("type", "veth", "peer", "name", "eth0", "address", hardware_address(host), "netns")
            self._in_fabric("ip", "link", "add", f"h{host}", *ends, self.names[host])
        self._in_fabric("ip", "link", "set", f"h{host}", "master", f"s{self.network.switch_of[host]}", "up")
        self._on(host, "ip", "link", "set", "lo", "up")
        self._on(host, "sh", "-c", f"echo 0 > {WINDOW_BEGINS_ANEW}")
        self._on(host, "ip", "address", "add", f"{address(host)}/24", "dev", "eth0")
        self._on(host, "ip", "link", "set", "eth0", "up")
        for other in range(self.hosts):
            if other != host:
                words = ("lladdr", hardware_address(other), "dev", "eth0", "nud", "permanent")
                self._on(host, "ip", "neighbour", "add", address(other), *words)
        self._on(host, *self._shape("eth0", self.links.rate))
        self._in_fabric(*self._shape(f"h{host}", self.links.rate))

    def _start_relay(self) -> None:
        """Process that delays frames, with the devices of all hosts; the cleaner ends it."""
        relay = self.folder / "relay"
        _run("cc", "-O2", "-D_GNU_SOURCE", str(HERE / "relay.c"), "-o", str(relay))
        rate = bits_per_s(self.links.rate)
        words = [relay, f"{self.links.delay_us:g}", f"{rate:g}", self.fabric, *self.names]
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        if process.stdout.readline() != "ready\n":
            raise CannotRun(f"no delay: {process.stderr.read().strip()}")

    def _join(self, one: int, other: int) -> None:
        """A link between two switches."""
        ends = (f"t{one}-{other}", f"t{other}-{one}")
        self._in_fabric("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for end, switch in zip(ends, (one, other), strict=True):
            self._in_fabric("ip", "link", "set", end, "master", f"s{switch}", "up")
            self._in_fabric(*self._shape(end, self.links.trunk_rate))

    def _shape(self, device: str, rate: str) -> tuple[str, ...]:
        """Rate and queue of one end. Segments are not put together before it, as a NIC's offload would."""
        bucket = f"tc qdisc add dev {device} root tbf rate {rate} burst {BURST} limit {self.links.queue}"
        return ("sh", "-c", f"ip link set dev {device} gso_max_segs 1 && {bucket}")

    def _fix_table(self, switch: int) -> None:
        """Fixes the port by which a switch reaches each host: nothing is learned, nothing is flooded."""
        ways = self.network.next_switches(switch)
        ports = {f"h{host}" for host in range(self.hosts) if self.network.switch_of[host] == switch}
        ports |= {f"t{switch}-{other}" for other in self.network.neighbours(switch)}
        quiet = ("learning", "off", "flood", "off", "mcast_flood", "off", "bcast_flood", "off")
        for port in sorted(ports):
            self._in_fabric("bridge", "link", "set", "dev", port, *quiet)
        for host in range(self.hosts):
            target = self.network.switch_of[host]
            port = f"h{host}" if target == switch else f"t{switch}-{ways[target]}"
            self._in_fabric(
                "bridge", "fdb", "replace", hardware_address(host), "dev", port, "master", "static"
            )

    def _write_launchers(self) -> None:
        """The agent that takes the place of ssh, and the launchers of both libraries."""
        shim = self.folder / "blocking.so"
        _run("cc", "-shared", "-fPIC", "-O2", "-D_GNU_SOURCE", str(HERE / "blocking.c"), "-o", str(shim))
        cases = "\n".join(f"{address(host)}) name={name};;" for host, name in enumerate(self.names))
        # Open MPI tells processes of different hosts by their names.
        self._script(
            "agent",
            'host=${1#*@}; shift\ncase "$host" in -*) echo "agent: option $host" >&2; exit 2;;\n'
            f'{cases}\n*) echo "agent: no host $host" >&2; exit 2;;\nesac\n'
            "exec nsenter --net=/run/netns/$name unshare --uts sh -c "
            '"hostname $name; cd $(printf %q "$PWD" 2>/dev/null || pwd); $*"',
        )
        hosts = ",".join(address(host) for host in range(self.hosts))
        launcher = (
            f"-launcher rsh -launcher-exec {self.folder / 'agent'} -hosts {hosts} -localhost {address(0)}"
        )
        environment = (
            f"-genv UCX_TLS tcp,self -genv UCX_NET_DEVICES eth0 -genv LD_PRELOAD {self._mpich_shims(shim)}"
        )
        self._wrap("mpiexec.mpich", f"{launcher} -iface eth0 {environment}")
        slots = ",".join(f"{address(host)}:1" for host in range(self.hosts))
        tcp = "--mca btl tcp,self --mca pml ob1 --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0"
        started = f"--mca plm_rsh_agent {self.folder / 'agent'} --host {slots} --map-by node --bind-to none"
        self._wrap("mpiexec.openmpi", f"--allow-run-as-root {started} {tcp} -x LD_PRELOAD={shim}")

    def _mpich_shims(self, shim: Path) -> str:
        if shutil.which("mpicc.mpich") is None:
            return str(shim)
        finalize = self.folder / "mpich_finalize.so"
        _run("mpicc.mpich", "-shared", "-fPIC", "-O2", str(HERE / "mpich_finalize.c"), "-o", str(finalize))
        return f"{shim}:{finalize}"

    def _wrap(self, name: str, flags: str) -> None:
        if (real := shutil.which(name)) is not None:
            self._script(name, f'exec {real} {flags} "$@"')

    def _script(self, name: str, text: str) -> None:
        place = self.folder / name
        place.write_text(f"#!/bin/bash\n{text}\n")
        place.chmod(0o755)


@contextmanager
def built(network: Network, links: Links) -> Iterator[Testbed]:
    """A testbed that is removed behind the block, whatever ends it."""
    check()
    with tempfile.TemporaryDirectory(prefix="hopcast-testbed-", ignore_cleanup_errors=True) as folder:
        testbed = Testbed(network, links, Path(folder))
        cleaner = subprocess.Popen(
            [sys.executable, HERE / "cleaner.py", folder, *testbed.names, testbed.fabric],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            testbed.build()
            yield testbed
        finally:
            cleaner.stdin.close()
            cleaner.wait()


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotRun(f"{shlex.join(words)}: {(done.stderr or done.stdout).strip()}")


def main() -> int:
    """Reads the command line, and runs the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("topology", choices=TOPOLOGIES)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--rate", default="100mbit", help="of a host's link")
    parser.add_argument("--trunk-rate", default="100mbit", help="of a link between switches")
    parser.add_argument("--queue", default="64kb", help="bytes that wait at each end of a link")
    parser.add_argument("--delay", type=float, default=0.0, help="of a host's link, in microseconds")
    place = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, words = parser.parse_args(sys.argv[1:place]), sys.argv[place + 1 :]
    if not words or not HOSTS_LEAST <= given.hosts <= HOSTS_MOST:
        parser.error(f"a command behind --, and {HOSTS_LEAST} to {HOSTS_MOST} hosts are wanted")
    try:
        links = Links(given.rate, given.trunk_rate, given.queue, given.delay)
        with built(TOPOLOGIES[given.topology](given.hosts), links) as testbed:
            return testbed.run(words)
    except CannotRun as reason:
        print(f"error: {reason}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
