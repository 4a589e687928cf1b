"""Outputs of other benchmarks as measurements: halves of round trips, units, cut and coloured texts."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hopcast.calibrate import benchmarks, sources
from hopcast.cli.calibrate import command
from hopcast.errors import InputError

DATA = Path(os.environ.get("HOPCAST_DATA", Path(__file__).parents[3] / "shared/data")) / "microbenchmarks"
SIZES = [2**exponent for exponent in range(23)]


def one_way_us(size: int) -> float:
    """Time of one message of a made-up machine: 2 µs + n / 10 GB/s."""
    return 2 + size / 10e3


def imb(waiting: int = 0) -> str:
    """Output of Intel MPI Benchmarks, of two benchmarks, of which one is PingPong."""
    rows = "".join(f"{size:13} {1000:12} {one_way_us(size):12.2f} {1.0:12.2f}\n" for size in SIZES)
    extra = f"# ( {waiting} additional processes waiting in MPI_Barrier)\n" if waiting else ""
    return (
        "#    Intel(R) MPI Benchmarks 2019 Update 1, MPI-1 part\n# Calling sequence was:\n"
        f"#-----\n# Benchmarking PingPong\n# #processes = 2\n{extra}#-----\n"
        "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
        "            0         1000         1.90         0.00\n"
        f"{rows}\n#-----\n# Benchmarking Sendrecv\n# #processes = 2\n#-----\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n"
        "            1         1000        99.00        99.00        99.00         0.00\n"
    )


def osu() -> str:
    """Output of osu_latency."""
    rows = "".join(f"{size:<8}{one_way_us(size):22.2f}\n" for size in SIZES)
    return (
        f"# OSU MPI Latency Test v5.6.2\n# Size          Latency (us)\n0                       1.90\n{rows}"
    )


def perftest(test: str = "RDMA_Write", kind: str = "lat", unit: str = "MB/sec") -> str:
    """Output of a program of perftest."""
    head = f"{'-' * 87}\n                    {test} {'Latency' if kind == 'lat' else 'BW'} Test\n"
    head += " Dual-port       : OFF\t\tDevice         : mlx5_0\n Link type       : IB\n" + "-" * 87 + "\n"
    if kind == "lat":
        names = "t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
        names += "99% percentile[usec]   99.9% percentile[usec]"
        rows = "".join(
            f" {size}  1000  0.9  99.0  {one_way_us(size):.2f}  7.77  0.1  8.8  9.9\n" for size in SIZES
        )
    else:
        names = f"BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]"
        rows = "".join(f" {size}  5000  11000.00  10000.00  0.17\n" for size in SIZES)
    return f"{head} #bytes     #iterations    {names}\n{rows}{'-' * 87}\n"


def read(folder: Path, text: str):
    """The one campaign of a text."""
    place = folder / "output.txt"
    place.write_text(text)
    (campaign,) = sources.read([place])
    return campaign


@pytest.mark.parametrize(
    "text", [imb(), osu(), perftest(), perftest("Send")], ids=["imb", "osu", "write", "send"]
)
def test_printed_halves_are_doubled(tmp_path: Path, text: str):
    calls = read(tmp_path, text).calls["round_trip"]
    assert list(calls.sizes) == SIZES
    wanted = [2e-6 * float(f"{one_way_us(size):.2f}") for size in SIZES]
    assert np.allclose(calls.seconds, wanted, rtol=1e-12)


def test_a_read_is_a_whole_round_trip(tmp_path: Path):
    calls = read(tmp_path, perftest("RDMA_Read")).calls["round_trip"]
    assert calls.seconds[0] == pytest.approx(2e-6)


@pytest.mark.parametrize(
    "unit, rate", [("MB/sec", 10000 * 2**20), ("MiB/sec", 10000 * 2**20), ("Gb/sec", 10000e9 / 8)]
)
def test_a_table_of_bandwidth_is_the_nominal_rate_alone(tmp_path: Path, unit: str, rate: float):
    """perftest's MB are 2^20 bytes, and Gb/sec 10^9 bits."""
    bandwidth = perftest(kind="bw", unit=unit)
    assert read(tmp_path, perftest() + bandwidth).settings == {"bandwidth": rate}
    with pytest.raises(InputError, match="no table of ping-pongs: many messages are on the way at once"):
        read(tmp_path, bandwidth)


def test_two_tests_in_one_file_are_not_mixed(tmp_path: Path):
    with pytest.raises(InputError, match="IMB PingPong, OSU Latency in one file"):
        read(tmp_path, imb() + osu())


def test_colours_tags_of_ranks_and_line_ends(tmp_path: Path):
    plain = read(tmp_path, imb()).calls["round_trip"]
    dressed = "".join(f"[1,0]<stdout>:\x1b[1m{line}\x1b[0m\r\n" for line in imb().splitlines())
    again = read(tmp_path, dressed).calls["round_trip"]
    assert np.array_equal(plain.sizes, again.sizes) and np.array_equal(plain.seconds, again.seconds)


def test_ranks_that_wait_are_a_finding(tmp_path: Path):
    assert any("62 processes waited" in finding for finding in read(tmp_path, imb(62)).findings)


@pytest.mark.parametrize(
    "text, message",
    [
        (imb()[: imb().index("Mbytes/sec") + 11], "no rows: the run was cut"),
        (osu().replace("     2.00\n", "     0.00\n", 1), r"output.txt:4: a time or rate of 0 for 1 B"),
        (osu().replace("     2.00\n", "\n", 1), r"output.txt:4: 1 columns.* the run was cut"),
        (osu().replace("     2.00\n", "     oops\n", 1), r"output.txt:4: 'oops' is no time"),
    ],
)
def test_damage_is_named_with_its_line(tmp_path: Path, text: str, message: str):
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_fit_and_check_take_them(tmp_path: Path):
    """A line of 2 µs + n / 10 GB/s, printed with two digits, comes back within 1 %."""
    place, out = tmp_path / "osu.txt", tmp_path / "cluster.toml"
    place.write_text(osu())
    for words in (["fit", place, "-o", out, "--flop-rate", "1 Gflop/s"], ["check", out, place]):
        result = CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False)
        assert result.exit_code == 0, result.output
    worst = float(result.output.rsplit("worst", 1)[1].split("%")[0])
    assert worst < 1


@pytest.mark.skipif(not DATA.is_dir(), reason="$HOPCAST_DATA is not there: outputs of real machines")
def test_all_ping_pongs_of_real_machines_are_read(tmp_path: Path):
    """65 outputs of PingPong; each time is that of the rate beside it: n / t, in MB of 10^6 bytes."""
    read_files = 0
    with tarfile.open(DATA / "uk-machines-small.tar.xz") as archive:
        for member in archive:
            if not (member.isfile() and "IMB_PingPong" in member.name):
                continue
            text = archive.extractfile(member).read().decode(errors="replace")
            place = tmp_path / "IMB_PingPong.out"
            place.write_text(text)
            (campaign,) = benchmarks.read(place)
            calls = campaign.calls["round_trip"]
            assert calls.sizes[-1] >= 1 << 20, member.name
            rate = float(
                next(line for line in text.splitlines() if line.split()[:1] == ["1048576"]).split()[3]
            )
            at = calls.seconds[calls.sizes == 1 << 20]
            assert np.allclose(2 * 1.048576 / at / rate, 1, rtol=0.06)
            read_files += 1
    assert read_files == 65
