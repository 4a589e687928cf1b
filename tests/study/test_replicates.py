"""Replicates: intervals of predictions, and shares of what is uncertain."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from hopcast.errors import InputError
from hopcast.experiment.runners.local import Local
from hopcast.request import RunRequest
from hopcast.study import fit_errors, replicates, uncertainty
from hopcast.toml import tomllib

HOPCAST = [sys.executable, "-m", "hopcast"]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([*HOPCAST, "run", *words], cwd=folder, capture_output=True, text=True, timeout=200)


def test_a_run_without_noise_is_the_same_in_all_replicates(tmp_path: Path) -> None:
    done = run(tmp_path, "crossbar", "-n", "4", "--replicates", "3", "ring", "--bytes", "1KiB")
    assert done.returncode == 0, done.stderr
    assert "in all 3 replicates: nothing in this run is random" in done.stdout


def test_replicates_keep_what_the_run_sets(tmp_path: Path) -> None:
    """Seeds alone vary, and each replicate is the run with its seed: 3 GB/s instead of the platform's."""
    words = ("fat-tree", "-n", "8", "--ppn", "1", "--set", "nic.bandwidth=3 GB/s", "--json")
    program = ("uniform", "--bytes", "64KiB")
    done = run(tmp_path, *words, "--replicates", "3", *program)
    assert done.returncode == 0, done.stderr
    alone = [run(tmp_path, *words, "--seed", str(seed), *program).stdout for seed in (1, 2, 3)]
    assert json.loads(done.stdout)["makespans_s"] == [json.loads(text)["makespan_s"] for text in alone]


def test_the_interval_and_the_shares_are_those_of_the_draws(tmp_path: Path) -> None:
    """A long message takes size/bandwidth: 5 % of the bandwidth are 5 % of the time, the latency nothing."""
    words = ("crossbar", "-n", "2", "--ppn", "1", "--model", "max-rate", "--json", "--replicates", "40")
    more = ("--uncertain", "nic.bandwidth=5%", "--uncertain", "nic.latency=5%")
    done = run(tmp_path, *words, *more, "pingpong", "--bytes", "64MiB")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    times = numpy.array(found["makespans_s"])
    assert len(times) == 40
    assert 0.03 < times.std() / times.mean() < 0.08
    ordered = sorted(times)  # the ends are at 0.05 · 41 = 2.05 and at 38.95 of 40
    assert found["low_s"] == pytest.approx(0.95 * ordered[1] + 0.05 * ordered[2])
    assert found["high_s"] == pytest.approx(0.05 * ordered[37] + 0.95 * ordered[38])
    parts = {part["name"]: part for part in found["sources"]}
    assert parts["nic.bandwidth"]["share"] > 0.9 > 0.1 > parts["nic.latency"]["share"]
    assert parts["seeds"]["share"] == 0
    assert sum(part["share"] for part in parts.values()) + found["rest"] == pytest.approx(1)
    # Each source alone draws what it drew beside the others: the sum of both deviations is that of all.
    alone = [numpy.array(parts[name]["makespans_s"]) for name in ("nic.bandwidth", "nic.latency")]
    middle = parts["seeds"]["makespans_s"][0]
    assert sum(alone) - middle == pytest.approx(times, rel=1e-6)


def test_seeds_alone_give_an_interval_in_words_and_on_the_page(tmp_path: Path) -> None:
    words = ("fat-tree", "-n", "64", "--ppn", "1", "--replicates", "8", "--out", "out")
    done = run(tmp_path, *words, "uniform", "--bytes", "64KiB")
    assert done.returncode == 0, done.stderr
    first, second, third, last = done.stdout.splitlines()
    assert "78 % between" in first and first.endswith("(8 replicates)")
    assert second == "Sources of the variance: seeds 100.0 %"
    assert third.startswith("seeds: ") and last == "Page   out/replicates.html"
    page = (tmp_path / "out" / "replicates.html").read_text()
    assert first in page and "share of the variance" in page
    data = json.loads((tmp_path / "out" / "replicates.json").read_text())
    assert len(data["makespans_s"]) == 8 and data["sources"][0]["share"] == 1
    made = " ".join(("hopcast run", *words, "uniform", "--bytes", "64KiB"))
    assert data["command"] == made and f"Made by: {made}" in page
    assert data["request"]["workload"]["kind"] == "pattern" and data["request"]["ranks"] == 64


def test_sources_that_are_named_vary_alone(tmp_path: Path) -> None:
    words = ("fat-tree", "-n", "2", "--ppn", "1", "--replicates", "4", "--uncertain", "nic.latency=20%")
    done = run(tmp_path, *words, "--vary", "seeds", "pingpong")
    assert "nothing in this run is random" in done.stdout, done.stderr
    assert "this run varies nic.latency, seeds" in run(tmp_path, *words, "--vary", "day", "pingpong").stderr
    assert "says what --replicates" in run(tmp_path, "crossbar", "-n", "2", "--vary", "day", "ring").stderr


def test_the_same_seed_gives_the_same_draws_and_another_key_changes_none() -> None:
    def drawn(seed: int, key: str) -> list[str]:
        request = RunRequest.of("crossbar", "ring", ["--bytes", "1KiB"], ranks=2, seed=seed)
        source, _ = uncertainty.sources(request, {key: 0.1}, None)
        setting = uncertainty.Setting(seed)
        return [source.varied(setting, number).overrides[key].split()[0] for number in range(5)]

    assert drawn(7, "nic.bandwidth") == drawn(7, "nic.bandwidth")
    assert drawn(7, "nic.bandwidth") != drawn(8, "nic.bandwidth")
    factors = [
        float(a) / float(b) for a, b in zip(drawn(7, "nic.bandwidth"), drawn(7, "nic.latency"), strict=True)
    ]
    assert len({round(factor, 6) for factor in factors}) == 5, "each key has a stream of its own"


FITTED = """
name = "fitted"
[topology]
kind = "crossbar"
hosts = 2
[host]
processes = 2
[host.memory]
latency = "1 us"
bandwidth = "10 GB/s"    # ± 2 %
[nic]
bandwidth = "10 GB/s"    # the fastest regime's
latency = "0.5 us"
[mpi]
eager_limit = "8192 B"
[compute]
flop_rate = "10 Gflop/s"
[[mpi.regimes]]
name = "eager 1"
up_to = "8192 B"
send_overhead = "0.2 us + 50 ps/B"    # send: 0.2 µs (± 0.01) + 0.05 ns/B (± 0.005) n, correlation -0.5
receive_overhead = "0.3 us"    # recv: 0.3 µs (± 0.02) + 0 ns/B (at its bound) n
latency = "0 us"    # of the line 1.5 µs (± 0.05) + 0.3 ns/B (± 0.01) n, correlation -0.6
process_rate = "4 GB/s"    # ± 3.33 %
[[mpi.regimes]]
name = "rendezvous 2"
send_overhead = "0 us"
receive_overhead = "0 us"
latency = "2 us"    # of the line 6 µs (± 0.1) + 0.1 ns/B (± 0.002) n, correlation -0.4
process_rate = "10 GB/s"    # ± 2 %
[[compute.kernels]]    # M-1 of 24 calls
# standard errors: start-up ± 10 %, n ± 5 %
# correlations: start-up with n -0.8
function = "relax"
arguments = "int n, double *grid"
time = "0.4 us + 3000 ps * n"
"""


def test_draws_of_a_fit_have_its_errors_and_correlations() -> None:
    """The line of a whole message is a + b n: what a simulated one takes has the errors of both."""
    errors = fit_errors.read(FITTED)
    generator = numpy.random.default_rng(1)
    draws = [errors.drawn(generator) for _ in range(4000)]
    assert errors.values == 10 and errors.correlated == 8
    assert "2 of them as independent" in errors.words()

    def column(key: str, place: int = 0) -> numpy.ndarray:
        return numpy.array([float(draw[key].replace("+", "").split()[2 * place]) for draw in draws])

    eager, rendezvous = ("mpi.regimes[0]", "mpi.regimes[1]")
    wire = 2 * column("nic.latency") + column(f"{eager}.latency")
    send, receive = column(f"{eager}.send_overhead"), column(f"{eager}.receive_overhead")
    start = send + receive + wire
    byte = column(f"{eager}.send_overhead", 1) / 1000 + 1 / column(f"{eager}.process_rate")
    assert (start.mean(), start.std()) == pytest.approx((1.5, 0.05), rel=0.05)
    assert (byte.mean(), byte.std()) == pytest.approx((0.3, 0.01), rel=0.05)
    assert numpy.corrcoef(start, byte)[0, 1] == pytest.approx(-0.6, abs=0.05)
    assert numpy.corrcoef(send, start)[0, 1] == pytest.approx(0, abs=0.05), "two fits"
    # A rendezvous has two empty messages before its own: its line holds them.
    whole = 2 * start + 2 * column("nic.latency") + column(f"{rendezvous}.latency")
    assert whole.std() == pytest.approx(0.1, rel=0.05)
    rates = column(f"{rendezvous}.process_rate")
    assert (rates == column("nic.bandwidth")).all() and rates.std() == pytest.approx(0.2, rel=0.05)
    assert column("host.memory.bandwidth").std() == pytest.approx(0.2, rel=0.05)
    start_up, slope = column("compute.kernels[0].time"), column("compute.kernels[0].time", 1)
    assert (start_up.std(), slope.std()) == pytest.approx((0.04, 150), rel=0.05)
    assert numpy.corrcoef(start_up, slope)[0, 1] == pytest.approx(-0.8, abs=0.05)


def test_sizes_off_their_line_are_drawn_together_with_it() -> None:
    """90 % within 8.2245 %: a deviation of 5 %, of the start-up and of each byte at once, 0.075 µs of 1.5."""
    said = (
        "[[mpi.regimes]]    # 33 sizes; error of ping-pongs: median 4 %, 90 % within 8.2245 %, worst 24.8 %"
    )
    apart = FITTED.replace("[[mpi.regimes]]", said, 1).replace("1.5 µs (± 0.05)", "1.5 µs (± 1e-6)")
    draws = draws_of(apart)
    wire = 2 * numbers(draws, "nic.latency") + numbers(draws, "mpi.regimes[0].latency")
    start = wire + numbers(draws, "mpi.regimes[0].send_overhead")
    start += numbers(draws, "mpi.regimes[0].receive_overhead")
    assert (start.mean(), start.std()) == pytest.approx((1.5, 0.075), rel=0.05)
    byte = 1 / numbers(draws, "mpi.regimes[0].process_rate")
    assert numpy.corrcoef(start, byte)[0, 1] > 0.7, "the slope has 5 % of 0.3 ns of it, and 0.01 of its own"
    assert "90 % within 8.22 % of the fitted lines" in fit_errors.read(apart).words()
    assert "90 %" not in fit_errors.read(FITTED).words()


def test_a_file_of_no_calibration_has_no_errors_and_one_without_correlations_says_so() -> None:
    assert fit_errors.read('[nic]\nbandwidth = "1 GB/s" # of a data sheet\n').values == 0
    errors = fit_errors.read('[[mpi.regimes]]\nlatency = "8 us"    # ± 10 %\n')
    assert errors.words() == "1 values, as independent: the file has no correlations"


def test_a_fitted_platform_varies_within_its_errors(tmp_path: Path) -> None:
    (tmp_path / "fitted.toml").write_text(FITTED)
    words = ("fitted.toml", "-n", "2", "--ppn", "1", "--replicates", "40", "--json")
    done = run(tmp_path, *words, "pingpong", "--bytes", "8MiB")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    times = numpy.array(found["makespans_s"])
    # Of long messages the rate is all: ± 2 %, of which 40 draws show 1.5 to 2.6 %.
    assert 0.013 < times.std() / times.mean() < 0.028
    assert found["sources"][0]["name"] == "fit" and found["sources"][0]["share"] == 1
    given = run(
        tmp_path,
        *words,
        "--set",
        "nic.bandwidth=10 GB/s",
        "--set",
        "mpi.regimes[1].process_rate=10 GB/s",
        "pingpong",
        "--bytes",
        "8MiB",
    )
    assert json.loads(given.stdout)["deviation_s"] < 0.1 * times.std(), "what a run gives is not drawn"


def draws_of(text: str, count: int = 4000) -> list[dict[str, str]]:
    errors, generator = fit_errors.read(text), numpy.random.default_rng(2)
    return [errors.drawn(generator) for _ in range(count)]


def numbers(draws: list[dict[str, str]], key: str, place: int = 0) -> numpy.ndarray:
    """Number at a place in the value of a key, of each draw."""
    return numpy.array([float(re.findall(r"-?\d[\d.e+-]*", draw[key])[place]) for draw in draws])


def test_a_negative_coefficient_has_the_sign_of_its_correlation() -> None:
    text = """
[[compute.kernels]]
# standard errors: mnk ± 2 %, nk ± 20 %
# correlations: mnk with nk -0.9
function = "dgemm"
time = "70 ps * M * N * K - 80266 ps * N * K"
"""
    draws = draws_of(text)
    rising, falling = (numbers(draws, "compute.kernels[0].time", place) for place in (0, 1))
    assert (rising.std(), falling.std()) == pytest.approx((1.4, 16053), rel=0.05)
    assert numpy.corrcoef(rising, -falling)[0, 1] == pytest.approx(-0.9, abs=0.02)
    swapped = draws_of(text.replace("70 ps * M * N * K - 80266 ps", "-70 ps * M * N * K + 80266 ps"))
    first, second = (numbers(swapped, "compute.kernels[0].time", place) for place in (0, 1))
    assert numpy.corrcoef(first, second)[0, 1] == pytest.approx(-0.9, abs=0.02) and first.mean() < 0


def test_the_nic_is_drawn_from_the_regime_that_is_known() -> None:
    """A rate that is not identified has been set to the NIC's: its error says nothing of the NIC."""
    doubtful = """
[[mpi.regimes]]
name = "eager 0"
up_to = "64 B"
send_overhead = "0 us"
receive_overhead = "0 us"
latency = "0 us"    # of the line 1.5 µs (± 0.05) + 0.1 ns/B (± 0.3) n, correlation -0.6
process_rate = "10 GB/s"    # not identified: ± 300 %
"""
    head, mark, rest = FITTED.partition("[[mpi.regimes]]")
    draws = draws_of(head + doubtful.strip() + "\n" + mark + rest)
    nic = numbers(draws, "nic.bandwidth")
    assert (nic.mean(), nic.std()) == pytest.approx((10, 0.2), rel=0.05)
    assert (numbers(draws, "mpi.regimes[0].process_rate") <= nic).all()
    assert (numbers(draws, "mpi.regimes[2].process_rate") == nic).all()
    alone = draws_of(head + doubtful)
    assert "nic.bandwidth" not in alone[0]
    rates = numbers(alone, "mpi.regimes[0].process_rate")
    assert rates.max() == 10, "the NIC's rate, of which no regime says how well it is known"
    # A NIC with an error of its own has one draw.
    shared = FITTED.replace("# the fastest regime's", "# ± 1 %; of 1 to 4 pairs: median 1 %")
    assert numbers(draws_of(shared), "nic.bandwidth").std() == pytest.approx(0.1, rel=0.05)


def test_draws_end_at_a_quarter_of_a_value() -> None:
    draws = draws_of('[host.memory]\nlatency = "1 us"\nbandwidth = "8 GB/s"    # ± 80 %\n')
    assert numbers(draws, "host.memory.bandwidth").min() == 2
    fast = FITTED.replace("0.1 ns/B (± 0.002) n", "0.1 ns/B (± 0.09) n")
    assert numbers(draws_of(fast), "nic.bandwidth").max() == 40


WITHIN = """
[host.memory]
total_bandwidth = "20 GB/s"    # ± 3 %; of 1 to 4 pairs: median 1 %
latency = "1 us"    # of the line 3 µs (± 0.1) + 0.1 ns/B (± 0.002) n, correlation -0.4
bandwidth = "10 GB/s"    # ± 2 %
send_overhead = "0 us"
receive_overhead = "0 us"
[[host.memory.regimes]]
up_to = "4096 B"
latency = "1 us"    # of the line 1 µs (± 0.04) + 0.3 ns/B (± 0.01) n, correlation -0.6
bandwidth = "4 GB/s"    # ± 3.33 %
send_overhead = "0 us"
receive_overhead = "0 us"
"""


def test_regimes_within_a_host_are_less_their_handshake_and_their_sum_is_drawn() -> None:
    """Above `memory_eager_limit`, the line of a message holds two empty ones before it."""
    levels = WITHIN.replace("[host.memory]", "[[host.levels]]").replace("host.memory.", "host.levels.")
    limit = '[mpi]\nmemory_eager_limit = "4096 B"\n'
    errors = fit_errors.read(WITHIN + levels + limit)
    assert errors.values == 10 and errors.correlated == 8
    draws = draws_of(WITHIN + levels + limit)
    for place in ("host.memory", "host.levels[0]"):
        assert numbers(draws, f"{place}.total_bandwidth").std() == pytest.approx(0.6, rel=0.05)
        long, short = numbers(draws, f"{place}.latency"), numbers(draws, f"{place}.regimes[0].latency")
        assert (2 * short + long).std() == pytest.approx(0.1, rel=0.05)
        assert numpy.corrcoef(short, 2 * short + long)[0, 1] == pytest.approx(0, abs=0.05)
    eager = draws_of(WITHIN + '[mpi]\nmemory_eager_limit = "1048576 B"\n')
    short, long = (numbers(eager, f"host.memory{part}.latency") for part in (".regimes[0]", ""))
    assert numpy.corrcoef(short, long)[0, 1] == pytest.approx(0, abs=0.05)


MODES = FITTED.replace(
    'time = "0.4 us + 3000 ps * n"',
    """modes = [
    { weight = 0.9, mean = "0.4 us + 3000 ps * n", deviation = "0.04 us + 300 ps * n" },
    { weight = 0.1, mean = "0.8 us + 6000 ps * n", deviation = "0 ps * n", shape = "half-normal" },
]""",
).replace(
    'send_overhead = "0.2 us + 50 ps/B"    # send: 0.2 µs (± 0.01) + 0.05 ns/B (± 0.005) n, correlation -0.5',
    """send_overhead = "0 us + 50 ps/B"    # send: 0.2 µs (± 0.01) + 0.05 ns/B (± 0.005) n, correlation -0.5
send_modes = [
    { weight = 0.5, mean = "100 ns", deviation = "10 ns" },
    { weight = 0.5, mean = "300 ns", deviation = "20 ns" },
]""",
)


def test_modes_are_scaled_like_what_they_stand_for(tmp_path: Path) -> None:
    draws = draws_of(MODES)
    modes = [tomllib.loads(f"it = {draw['compute.kernels[0].modes']}")["it"] for draw in draws]
    assert modes[0][1]["shape"] == "half-normal" and modes[0][1]["deviation"] == "0 ps * n"
    own = [numbers([mode[0] for mode in modes], part) for part in ("mean", "deviation")]
    slope = numbers([mode[0] for mode in modes], "mean", 1)
    assert (own[0].std(), slope.std()) == pytest.approx((0.04, 150), rel=0.05)
    assert own[1] == pytest.approx(own[0] / 10), "all formulas have the same draw"
    assert numpy.corrcoef(own[0], slope)[0, 1] == pytest.approx(-0.8, abs=0.05)
    sends = [tomllib.loads(f"it = {draw['mpi.regimes[0].send_modes']}")["it"] for draw in draws]
    low, high = (numbers([send[place] for send in sends], "mean") for place in (0, 1))
    assert high == pytest.approx(3 * low)
    send = 1e-3 * (low + high) / 2
    assert send.std() == pytest.approx(0.01, rel=0.05)
    wire = 2 * numbers(draws, "nic.latency") + numbers(draws, "mpi.regimes[0].latency")
    assert (send + numbers(draws, "mpi.regimes[0].receive_overhead") + wire).std() == pytest.approx(
        0.05, rel=0.05
    )
    (tmp_path / "modes.toml").write_text(MODES)
    done = run(tmp_path, "modes.toml", "-n", "2", "--ppn", "1", "--replicates", "3", "pingpong")
    assert done.returncode == 0 and "not drawn" not in done.stdout, done.stderr


def test_formulas_with_other_terms_than_their_errors_are_counted() -> None:
    other = FITTED.replace('time = "0.4 us + 3000 ps * n"', 'time = "3000 ps * n"')
    errors = fit_errors.read(other)
    assert errors.not_drawn == 1 and errors.values == 8
    assert errors.words().endswith("; not drawn: 1 formula with other terms than the errors have")
    assert "compute.kernels[0].time" not in errors.drawn(numpy.random.default_rng(1))


def test_overheads_of_one_line_have_one_draw() -> None:
    line = "# isend: 0.5 µs (± 0.05) + 0.01 ns/B (± 0.001) n, correlation -0.5"
    head, mark, rest = FITTED.rpartition('send_overhead = "0 us"\nreceive_overhead')
    isend = f'send_overhead = "0.25 us"    {line}\nisend_overhead = "0.5 us + 10 ps/B"    {line}\n'
    isend += "receive_overhead"
    errors = fit_errors.read(head + isend + rest)
    assert mark and errors.values == 12
    draws = draws_of(head + isend + rest)
    send, own = (numbers(draws, f"mpi.regimes[1].{kind}_overhead") for kind in ("send", "isend"))
    assert send.std() == pytest.approx(0.025, rel=0.05)
    assert own == pytest.approx(2 * send), "the send was cut to half of the line"


@pytest.fixture(scope="module")
def products(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program whose ranks multiply matrices, a model of processors, and a platform with a table."""
    folder = tmp_path_factory.mktemp("products")
    (folder / "products.c").write_text(PRODUCTS)
    for command in (
        ("cc", "-O1", "products.c", "-o", "products"),
        ("cluster", "new", "--flop-rate", "30 Gflop/s", "--heterogeneity", "0.05", "-o", "model.toml"),
    ):
        subprocess.run([*HOPCAST, *command], cwd=folder, check=True, capture_output=True)
    (folder / "nodes.csv").write_text("host,M*N*K\n,7e-11\n")
    (folder / "tabled.toml").write_text(
        FITTED.partition("[[mpi.regimes]]")[0].replace("    # ± 2 %", "")
        + '[[compute.kernels]]\nfunction = "dgemm"\ntable = "nodes.csv"\nnoise = "normal"\n'
    )
    return folder


PRODUCTS = """
#include <mpi.h>
__attribute__((noipa)) void dgemm_(const char *ta, const char *tb, const int *m, const int *n,
    const int *k, const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
    const double *beta, double *c, const int *ldc) { c[0] += *alpha; }
int main(int argc, char **argv) {
    int n = 100; double one = 1, c[1] = {0};
    MPI_Init(&argc, &argv);
    for (int step = 0; step < 5; step++) dgemm_("N", "N", &n, &n, &n, &one, c, &n, c, &n, &one, c, &n);
    MPI_Finalize();
    return 0;
}
"""


def test_drawn_clusters_and_days_are_sources(products: Path) -> None:
    """The model's processors differ by 5 %, its days not at all: the slower of two sets the time."""
    words = ("tabled.toml", "-n", "2", "--ppn", "1", "--compute", "none", "--replicates", "12", "--json")
    done = run(products, *words, "--cluster", "model.toml", "./products")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    parts = {part["name"]: part["share"] for part in found["sources"]}
    assert parts["cluster"] > 0.99 and parts["day"] < 0.01 and parts["seeds"] < 0.01
    assert 0.01 < found["deviation_s"] / found["median_s"] < 0.1
    without = run(products, "crossbar", "-n", "2", *words[7:], "--cluster", "model.toml", "ring")
    assert without.returncode == 2 and "0 kernels with a table" in without.stderr


@pytest.mark.parametrize(
    "text", ["nic.bandwidth", "nic.bandwidth=5", "nic.bandwidth=-5%", "nic.bandwidth=x%"]
)
def test_spreads_are_percents(text: str) -> None:
    with pytest.raises(InputError, match=r"write section\.key=5%"):
        uncertainty.spreads_of([text])


def test_unknown_values_and_functions_are_errors() -> None:
    request = RunRequest.of("crossbar", "ring", ranks=2)
    with pytest.raises(InputError, match="no run depends on it"):
        uncertainty.sources(request, {"calibration.checks[0].rms": 0.1}, None)
    with pytest.raises(InputError, match="has no such value"):
        replicates.predict(request, 2, {"nic.colour": 0.1}, Local(1))
    with pytest.raises(InputError, match="is no quantity"):
        replicates.predict(request, 2, {"topology.kind": 0.1}, Local(1))
    with pytest.raises(InputError, match="name a file"):
        replicates.predict(RunRequest.of("crossbar", lambda comm: None, ranks=2), 2, {}, Local(1))


@pytest.mark.parametrize(
    ("option", "workload"),
    [
        (("--stop-at", "1ms"), "ring"),
        (("--what-if",), "ring"),
        (("--profile-simulator",), "ring"),
        (("--debug-rank", "0"), shutil.which("true")),
    ],
)
def test_options_that_only_one_run_shows_are_refused(option, workload, tmp_path: Path) -> None:
    done = run(tmp_path, "crossbar", "-n", "4", "--replicates", "2", *option, workload)
    assert done.returncode == 2
    assert done.stderr == f"error: --replicates: {option[0]} is of one run; leave it out\n"


def test_replicates_of_a_program_that_fails_end_as_it_does(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("def main(comm):\n    comm.recv(source=0)\n")
    done = run(tmp_path, "crossbar", "-n", "2", "--replicates", "2", "program.py")
    assert done.returncode == 3, done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: a replicate failed: deadlock")


def test_what_each_run_measures_anew_is_said_to_vary() -> None:
    def words(compute: str | None) -> str:
        given = {"compute": compute} if compute else {}
        workload = {"kind": "compiled", "path": "app", "arguments": []}
        request = RunRequest("crossbar", workload, {"ranks": 2, **given})
        return uncertainty.sources(request, {}, None)[0].words

    assert words(None) == words("measured=2") != words("none")
    assert words(None).endswith("; computing, which each run measures anew")


MANY = """
import sys
from hopcast import InputError
from hopcast.experiment.runners.local import Local
from hopcast.request import RunRequest
from hopcast.study import replicates
if __name__ == "__main__":
    request = RunRequest.of("crossbar", "ring", ranks=2).changed(set={"nic.colour": "1"})
    for _ in range(3):
        try:
            replicates.predict(request, 64, {}, Local(12))
        except InputError as error:
            assert "unknown key 'colour'" in str(error)
"""


def test_workers_that_start_while_a_replicate_fails_say_nothing(tmp_path: Path) -> None:
    """Most of the twelve workers have not begun when the first one fails."""
    (tmp_path / "many.py").write_text(MANY)
    done = subprocess.run([sys.executable, tmp_path / "many.py"], capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stderr) == (0, "")
