"""Monitoring of nodes at an interval: frequencies, temperatures, energy, traffic and memory.

A shell loop on each node writes lines `timestamp,kind,place,value`, from Linux' /proc and /sys; what a node
does not offer has no line. Units: kHz, thousandths of a degree Celsius, microjoules since some time, bytes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from hopcast.experiment.nodes import Background, Node

COLUMNS = ("timestamp", "node", "kind", "place", "value")

SCRIPT = r"""
each() { for file in $2; do [ -r "$file" ] && read -r value < "$file" 2>/dev/null &&
  echo "$time,$1,${file#/sys/},$value"; done; }
while :; do
  time=$(date +%s.%N)
  each frequency_kHz '/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq'
  awk -v time="$time" '/^cpu MHz/ { printf "%s,clock_kHz,cpu%d,%d\n", time, cpu++, $4 * 1000 }' /proc/cpuinfo
  each temperature_mC '/sys/class/thermal/thermal_zone*/temp /sys/class/hwmon/hwmon*/temp*_input'
  each energy_uJ '/sys/class/powercap/intel-rapl:*/energy_uj'
  awk -v time="$time" 'NR > 2 { sub(/:/, " ")
    printf "%s,received_B,%s,%s\n%s,sent_B,%s,%s\n", time, $1, $2, time, $1, $10 }' /proc/net/dev
  awk -v time="$time" '/^MemAvailable/ { printf "%s,memory_available_B,node,%d\n", time, $2 * 1024 }' \
    /proc/meminfo
  sleep {period}
done
"""


class Monitoring:
    """Loops on all nodes, whose lines come here as they are written."""

    def __init__(self, nodes: Sequence[Node], period_s: float, folder: Path) -> None:
        self._files = {node.host: folder / f"monitoring-{node.host}.csv" for node in nodes}
        script = SCRIPT.replace("{period}", f"{period_s:g}")
        self._loops: list[Background] = [node.start(script, self._files[node.host]) for node in nodes]

    def stop(self) -> None:
        """Ends the loops."""
        for loop in self._loops:
            loop.stop()
        self._loops = []

    def rows(self) -> Iterator[dict[str, str]]:
        """All that was seen."""
        for host, file in self._files.items():
            if not file.exists():
                continue
            with file.open(newline="", encoding="utf-8") as lines:
                for row in csv.reader(lines):
                    if len(row) == len(COLUMNS) - 1:
                        yield dict(zip(COLUMNS, [row[0], host, *row[1:]], strict=True))
