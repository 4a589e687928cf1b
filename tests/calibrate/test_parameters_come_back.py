"""Every parameter of dahu without noise, from all steps of `hopcast calibrate` in one go under `hopcast run`.

With noise, single calls differ and a parameter is known as well as its standard error says: `test_all_steps`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_measure import HOPCAST, calibrate, needs_hopcast

from hopcast import core
from hopcast.calibrate import quantities
from hopcast.toml import tomllib

CLOSE = 0.02
_MODES = re.compile(r'(\w+) = "([^"]*)"[^\n]*\n\w+_modes = \[\n(.*?)\n\]\n', re.DOTALL)


def silent_dahu() -> str:
    """The preset without kernels, each time with the mean of its modes in their place."""

    def with_mean(found: re.Match[str]) -> str:
        key, time, modes = found.groups()
        pairs = re.findall(r'weight = ([\d.]+), mean = "(-?[\d.]+) ns"', modes)
        mean = sum(float(weight) * float(value) for weight, value in pairs)
        return f'{key} = "{mean:.6g} ns{f" + {time}" if "ps/B" in time else ""}"\n'

    text = _MODES.sub(with_mean, core.platform_text("dahu", (), False))
    return text[: text.index("[compute]")] + '[compute]\nflop_rate = "29.85 Gflop/s"\n'


def line(text: str) -> tuple[float, float]:
    """`a + b n` in ns and ps/B."""
    parts = {word.split()[1]: float(word.split()[0]) for word in text.split(" + ")}
    return parts.get("ns", 0.0) + 1e3 * parts.get("us", 0.0), parts.get("ps/B", 0.0)


def ends_of(text: str) -> list[tuple[float, float]]:
    """Sizes between which the ends of regimes lie, as the file says it."""
    found = re.findall(r"^up_to = .* between (\d+) B and (\d+) B", text, re.MULTILINE)
    return [(float(low), float(high)) for low, high in found]


@needs_hopcast
def test_all_parameters_of_a_machine_without_noise_come_back(tmp_path: Path) -> None:
    """Within 2 %; breakpoints between two sizes that were measured, one behind the other.

    One value is another one of the same time: above the eager limit the send has what MPI_Isend takes, which
    dahu's file has in the latency. Where calls work while the wire does, their bytes' time is cut by 1.7 %.
    """
    (tmp_path / "silent.toml").write_text(silent_dahu())
    launcher = [*HOPCAST, "run", tmp_path / "silent.toml", "-n", "4", "--ppn", "2", "--quiet"]
    few = ("--sizes", "300", "--repetitions", "2", "--polls", "4", "--flop-rate", "29.85 Gflop/s")
    done = calibrate("-o", tmp_path / "out", *few, "--", *launcher, "--compute", "none")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out" / "out.toml").read_text()
    ours, theirs = tomllib.loads(text), tomllib.loads(silent_dahu())
    for key in ("bandwidth", "latency"):
        read = quantities.rate if key == "bandwidth" else (lambda value, _: line(value)[0])
        found, given = (read(each["nic"][key], key) for each in (ours, theirs))
        assert found == pytest.approx(given, rel=CLOSE), key
    assert line(ours["mpi"]["poll"])[0] == pytest.approx(809.0519, rel=CLOSE)
    [iprobe] = ours["mpi"]["functions"]
    assert iprobe["function"] == "MPI_Iprobe"
    assert line(iprobe["time"])[0] == pytest.approx(211.5438, rel=CLOSE)
    assert (ours["mpi"]["eager_limit"], ours["mpi"]["memory_eager_limit"]) == ("64000 B", "64000 B")
    regimes, wanted = ours["mpi"]["regimes"], theirs["mpi"]["regimes"]
    assert len(regimes) == len(wanted) == 5
    for found, given in zip(regimes, wanted, strict=True):
        rate = quantities.rate(given.get("process_rate", "12.2237 GB/s"), "process_rate")
        assert quantities.rate(found["process_rate"], "process_rate") == pytest.approx(rate, rel=CLOSE)
        start = {"ours": 0.0, "theirs": 0.0}
        for key in ("send_overhead", "receive_overhead", "latency"):
            pair = line(found[key]), line(given.get(key, "0 ns"))
            start["ours"] += pair[0][0]
            start["theirs"] += pair[1][0]
            if "up_to" in given and key != "latency":
                assert pair[0] == pytest.approx(pair[1], rel=CLOSE), key
        assert start["ours"] == pytest.approx(start["theirs"], rel=CLOSE)
        isend = [line(each["isend_overhead"]) for each in (found, given)]
        assert isend[0] == pytest.approx(isend[1], rel=CLOSE, abs=1e-6)
    limits = [8133, 15831, 33956, 64000]
    ends = ends_of(text[text.index("[mpi]") :])
    assert [low <= limit < high for (low, high), limit in zip(ends, limits, strict=True)] == [True] * 4
    memory = theirs["host"]["memory"]
    shown = quantities.rate(ours["host"]["memory"]["bandwidth"], "bandwidth")
    assert shown == pytest.approx(quantities.rate(memory["bandwidth"], "bandwidth"), rel=CLOSE)
