"""Models of kernels and mixtures of modes: what was put in comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hopcast import core
from hopcast.calibrate import kernels, mixtures
from hopcast.cli.calibrate import command
from hopcast.errors import InputError

PLATFORM = """
name = "two"
topology = { kind = "crossbar", hosts = 2 }
host = { processes = 1, memory = { latency = "0 ns", bandwidth = "10 GB/s" } }
nic = { bandwidth = "10 GB/s", latency = "1 us" }

[compute]
flop_rate = "1 Gflop/s"

"""

MNK, MN, MK, NK, START = 6.6e-11, 1.2e-10, 2.3e-9, 3.0e-9, 2e-6
"""A matrix product of a made-up processor [s]."""


def arguments(count: int = 300, repetitions: int = 8) -> dict[str, np.ndarray]:
    """Random shapes, and a few tiny ones for the start-up."""
    random = np.random.default_rng(2)
    shapes = np.floor(10 ** random.uniform(0.7, 3.7, (count, 3)))
    shapes = np.vstack([np.repeat([[1, 1, 1], [2, 2, 2], [3, 3, 3]], 1, axis=0), shapes])
    return dict(zip("mnk", np.repeat(shapes, repetitions, axis=0).T, strict=True))


def product_s(a: dict[str, np.ndarray]) -> np.ndarray:
    m, n, k = a["m"], a["n"], a["k"]
    return START + MNK * m * n * k + MN * m * n + MK * m * k + NK * n * k


def test_the_polynomial_comes_back():
    a = arguments()
    sizes = kernels.group(a, product_s(a))
    model = kernels.polynomial(sizes, intercept=START)
    assert model.coefficients == pytest.approx({"mnk": MNK, "mn": MN, "mk": MK, "nk": NK}, rel=1e-8)
    assert model.accuracy.worst < 1e-8 and model.r_squared == pytest.approx(1)
    assert model.ranges["m"] == (1, max(a["m"]))


def test_the_start_up_is_the_mean_of_tiny_calls():
    """27 is the largest product that is at most a hundred times the smallest, 1."""
    a = arguments()
    sizes = kernels.group(a, product_s(a))
    tiny = [product_s({name: np.array([side]) for name in "mnk"})[0] for side in (1.0, 2.0, 3.0)]
    assert kernels.polynomial(sizes).intercept == pytest.approx(np.mean(tiny))


def test_standard_errors_hold_the_coefficients():
    a = arguments()
    noise = 1 + 0.02 * np.random.default_rng(4).standard_normal(len(a["m"]))
    model = kernels.polynomial(kernels.group(a, product_s(a) * noise), intercept=START)
    assert abs(model.coefficients["mnk"] - MNK) < 4 * model.errors["mnk"] < 0.2 * MNK


def test_repetitions_give_means_and_deviations():
    """Two calls of 1 and 3 s: mean 2 s, deviation √2 s; one call has no deviation."""
    sizes = kernels.group({"n": np.array([5.0, 5.0, 7.0])}, np.array([1.0, 3.0, 4.0]))
    assert sizes.seconds.tolist() == [2, 4] and sizes.repetitions.tolist() == [2, 1]
    assert sizes.deviations[0] == pytest.approx(np.sqrt(2)) and np.isnan(sizes.deviations[1])


def test_the_one_product_is_the_right_one():
    a = arguments()
    sizes = kernels.group(a, 3e-9 * a["m"] * a["k"])
    assert list(kernels.single(sizes, intercept=0).coefficients) == ["mk"]


@pytest.mark.parametrize(
    ("seconds", "name"),
    [
        (lambda a: np.full_like(a["m"], 5e-6), "M-0"),
        (lambda a: MNK * a["m"] * a["n"] * a["k"], "M-1"),
        (product_s, "M-2"),
    ],
)
def test_the_model_is_the_smallest_that_predicts(seconds, name: str):
    a = arguments()
    noise = np.exp(0.01 * np.random.default_rng(6).standard_normal(len(a["m"])))
    model, held_back = kernels.choose(kernels.group(a, seconds(a) * noise))
    assert model.name == name
    assert held_back[name][1].median < 0.06


def test_a_coefficient_that_does_not_show_is_left_out():
    """MN costs nothing here, so its coefficient is as likely below zero as above."""
    a = arguments()
    random = np.random.default_rng(11)
    seconds = (product_s(a) - MN * a["m"] * a["n"]) * np.exp(0.02 * random.standard_normal(len(a["m"])))
    found = kernels.identified(kernels.group(a, seconds))
    assert list(found.coefficients) == ["mnk", "mk", "nk"]
    assert found.coefficients["nk"] == pytest.approx(NK, rel=0.05)


def test_a_start_up_that_does_not_show_is_left_out():
    """Calls of a millisecond and more tell nothing of a start-up of 2 µs; those of a microsecond do."""
    random = np.random.default_rng(14)
    for least, shown in ((10_000, False), (10, True)):
        n = np.floor(np.geomspace(least, 1e6, 60))
        seconds = (START + 1e-7 * n) * np.exp(0.02 * random.standard_normal(len(n)))
        found = kernels.identified(kernels.group({"n": n}, seconds), ("n",), name="M-1")
        assert (found.intercept > 0) == shown
        assert found.coefficients["n"] == pytest.approx(1e-7, rel=0.02)
        if shown:
            assert abs(found.intercept - START) < 4 * found.intercept_error < START


def test_pieces_are_found_where_a_library_changes():
    """Two rates, from 4,000 on another: as MKL goes to a coprocessor for large input."""
    m = np.unique(np.floor(np.linspace(100, 10_000, 120)))
    found = kernels.pieces(kernels.group({"m": m}, np.where(m <= 4000, 1e-6 * m, 1e-3 + 2e-7 * m)))
    assert found.breakpoints == (m[m <= 4000][-1],)
    assert [segment.line.slope for segment in found.segments] == pytest.approx([1e-6, 2e-7], rel=1e-6)


def test_deviations_grow_with_the_call():
    """Deviation 4 % of MNK's time, of 2,000 repetitions known within 2 %."""
    a = arguments(40, 2000)
    random = np.random.default_rng(8)
    seconds = product_s(a) + 0.04 * MNK * a["m"] * a["n"] * a["k"] * random.standard_normal(len(a["m"]))
    sizes = kernels.group(a, seconds)
    model = kernels.deviation(sizes)
    assert model.coefficients["mnk"] == pytest.approx(0.04 * MNK, rel=0.05)
    assert all(value >= 0 for value in model.coefficients.values()) and (model.at(sizes) >= 0).all()
    mean = kernels.polynomial(sizes, intercept=START)
    one = kernels.constant_deviation_s(sizes, mean)
    assert one == pytest.approx(np.sqrt(np.mean((seconds - product_s(a)) ** 2)), rel=0.02)


def test_no_deviation_is_negative_where_it_is_clamped():
    """Deviations a·MNK − b·NK, less than none for m = 1; two calls at ± d/√2 have the deviation d."""
    a = arguments(200, 2)
    m, n, k = a["m"], a["n"], a["k"]
    wanted = np.abs(1e-12 * m * n * k - 1e-11 * n * k)
    sizes = kernels.group(a, 1.0 + np.tile([1.0, -1.0], len(m) // 2) * wanted / np.sqrt(2))
    raw = kernels.deviation(sizes, ("mnk", "nk"), intercept=0.0, clamped=False)
    assert raw.coefficients["nk"] < 0
    clamped = kernels.deviation(sizes, ("mnk", "nk"), intercept=0.0)
    assert list(clamped.coefficients) == ["mnk"] and (clamped.at(sizes) >= 0).all()


def test_a_deviation_in_proportion_to_the_time_has_the_same_share_of_each_term():
    """5 % of every call; of 500 repetitions, a deviation is known within 3 %."""
    a = arguments(60, 500)
    seconds = product_s(a) * (1 + 0.05 * np.random.default_rng(12).standard_normal(len(a["m"])))
    found = kernels.relative_deviation(kernels.group(a, seconds), ("mnk", "nk"))
    assert found.coefficients["mnk"] == pytest.approx(0.05 * MNK, rel=0.1)
    sizes = kernels.group(a, seconds)
    assert np.median(found.at(sizes) / (0.05 * sizes.seconds)) == pytest.approx(1, abs=0.05)


def test_modes_of_calls_are_relative_to_the_model():
    a = arguments(200, 20)
    random = np.random.default_rng(9)
    slow = random.random(len(a["m"])) < 0.1
    model = kernels.polynomial(kernels.group(a, product_s(a)), intercept=START)
    seconds = product_s(a) * (1 + np.where(slow, 3.0, 0.0) + 0.02 * random.standard_normal(len(slow)))
    mixture = kernels.residual_mixture(a, seconds, model)
    assert [mode.mean for mode in mixture.modes] == pytest.approx([0, 3], abs=0.01)
    assert mixture.modes[1].weight == pytest.approx(slow.mean(), abs=0.005)


def test_average_rate_is_a_ratio_of_sums():
    """2 · 8 + 2 · 64 operations in 3 s."""
    sizes = kernels.group({name: np.array([2.0, 4.0]) for name in "mnk"}, np.array([1.0, 2.0]))
    assert kernels.average_flops(sizes) == pytest.approx((16 + 128) / 3)


def calls_file(tmp_path: Path, text: str) -> Path:
    """A file of calls."""
    file = tmp_path / "calls.csv"
    file.write_text(text)
    return file


def calibrate(*arguments: object) -> str:
    """Output of `hopcast calibrate kernels`."""
    result = CliRunner().invoke(command, ["kernels", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_fitted_kernel_is_one_of_a_platform(tmp_path: Path):
    """Calls of 1 µs + 3 ps · M · N · K on node 1, 4 ps on node 2; a platform takes both entries."""
    random = np.random.default_rng(3)
    rows = [
        f"{node},{m},{n},{k},{1e-6 + cost * m * n * k + 1e-9 * sign}"
        for node, cost in ((1, 3e-12), (2, 4e-12))
        for m, n, k in random.integers(1, 300, (60, 3))
        for sign in (-1, 1)
    ]
    file = calls_file(tmp_path, "node,m,n,k,duration\n" + "\n".join(rows) + "\n")
    out = tmp_path / "entries.toml"
    calibrate(file, "--function", "dgemm", "--by", "node", "--host-names", "host-{}", "-o", out)
    entries = out.read_text()
    for node, cost in ((1, 3), (2, 4)):
        (entry,) = [part for part in entries.split("[[") if f'hosts = "host-{node}"' in part]
        mnk = float(entry.split('time = "')[1].split(" ps * M * N * K")[0].rpartition(" ")[2])
        assert mnk == pytest.approx(cost, rel=1e-3)
    platform = tmp_path / "p.toml"
    platform.write_text(PLATFORM + entries.replace('hosts = "host-1"', 'hosts = "0"').replace("host-2", "1"))
    assert "M * N * K" in core.platform_text(str(platform), (), True)


def test_a_function_of_ones_own_keeps_its_names(tmp_path: Path):
    rows = "\n".join(f"{n},{2e-6 + 3e-9 * n}" for n in (10, 100, 1000, 2000, 3000, 5000))
    out = tmp_path / "entry.toml"
    printed = calibrate(
        calls_file(tmp_path, f"count,duration\n{rows}\n"),
        *("--function", "relax", "--arguments", "count", "--declaration", "int count", "-o", out),
    )
    assert 'arguments = "int count"' in out.read_text() and "ps * count" in out.read_text()
    assert "each size was measured once: no deviation shows" in printed
    assert "noise" not in out.read_text().replace("no noise", "")


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("m,n,k\n1,1,1\n", (), "no column 'duration'; columns: m, n, k"),
        ("m,n,k,duration\n1,1,one,1\n", (), ":2: not numbers"),
        ("m,n,k,duration\n", (), "no call: nothing to fit"),
        ("m,n,k,duration\n1,1,1,1\n", (), "1 usable sizes, and a model needs two"),
        ("m,n,k,cpu,duration\n1,1,1,0,1\n", ("--where", "cpu=3"), "no call with cpu=3"),
        ("m,n,k,cpu,duration\n1,1,1,0,1\n", ("--where", "cpu"), "'cpu' is not COLUMN=VALUE"),
    ],
)
def test_broken_calls_are_said_to_be(tmp_path: Path, text, arguments, message):
    with pytest.raises(InputError, match=message):
        calibrate(calls_file(tmp_path, text), "--function", "dgemm", *arguments)


def test_several_processors_need_hosts_or_a_choice(tmp_path: Path):
    rows = "\n".join(f"{m},{m},{m},{cpu},{1e-9 * m**3}" for m in (5, 50, 500) for cpu in (0, 1))
    file = calls_file(tmp_path, f"m,n,k,cpu,duration\n{rows}\n")
    with pytest.raises(InputError, match=r"2 groups.*--host-names.*--where"):
        calibrate(file, "--function", "dgemm", "--by", "cpu", "-o", tmp_path / "x.toml")


def test_what_cannot_be_fitted_is_said():
    few = kernels.group({name: np.array([1.0, 2.0]) for name in "mnk"}, np.array([1.0, 2.0]))
    with pytest.raises(
        InputError, match=r"2 sizes, and the model M-2 has 4 coefficients.*nothing was fitted"
    ):
        kernels.polynomial(few)
    side = np.arange(1.0, 20)
    cubes = kernels.group({"m": side, "n": side, "k": side}, side**3)
    with pytest.raises(InputError, match=r"do not tell mnk, mn, mk, nk apart.*nothing was fitted"):
        kernels.polynomial(cubes)
    with pytest.raises(InputError, match="each size was measured once: no deviation shows"):
        kernels.deviation(cubes)


def drawn(
    modes: list[tuple[float, float, float]], count: int = 20_000, seed: int = 1, *, half: bool = False
) -> np.ndarray:
    """Values of normal or half-normal modes (mean, deviation, weight)."""
    random = np.random.default_rng(seed)
    places = random.choice(len(modes), count, p=[weight for _, _, weight in modes])
    means, deviations = np.array([mode[:2] for mode in modes]).T
    standard = random.standard_normal(count)
    if half:
        standard = (np.abs(standard) - np.sqrt(2 / np.pi)) / np.sqrt(1 - 2 / np.pi)
    return means[places] + deviations[places] * standard


@pytest.mark.parametrize(
    "modes",
    [
        [(1e-6, 1e-7, 1.0)],
        [(1.8e-7, 6.8e-8, 0.8), (7.3e-7, 1.9e-7, 0.2)],
        [(9.7e-7, 8.2e-8, 0.7113), (2.3e-6, 1.8e-7, 0.2844), (6.3e-6, 1.0e-6, 0.0043)],
        [(2.2e-7, 6e-8, 0.7755), (7.4e-7, 1.7e-7, 0.21), (2.1e-5, 2.4e-6, 0.0117), (4.5e-5, 4e-6, 0.0028)],
    ],
)
@pytest.mark.parametrize("half", [False, True])
def test_the_modes_of_a_machine_come_back(modes, half):
    """Modes such as those of Dahu's overheads (Cornebize's simulator of HPL, 2021); weights within 0.02."""
    values = drawn(modes, half=half)
    mixture = mixtures.fit(values)
    assert len(mixture.modes) == len(modes)
    assert {mode.shape for mode in mixture.modes} == {"half-normal" if half else "normal"}
    for found, (mean, deviation, weight) in zip(mixture.modes, modes, strict=True):
        assert found.mean == pytest.approx(mean, rel=0.1)
        assert found.deviation == pytest.approx(deviation, rel=0.2)
        assert found.weight == pytest.approx(weight, abs=0.02)
    assert sum(mode.weight for mode in mixture.modes) == pytest.approx(1)
    assert mixture.mean == pytest.approx(values.mean(), rel=0.01)


def test_modes_of_a_regime_share_its_slope():
    sizes = np.tile(10.0 ** np.arange(1, 6), 4000)
    seconds = drawn([(1e-6, 1e-7, 0.7), (3e-6, 2e-7, 0.3)]) + 1e-10 * sizes
    slope, mixture = mixtures.of_line(sizes, seconds, 1.01e-10)
    assert slope == pytest.approx(1e-10, rel=1e-3)
    assert [mode.mean for mode in mixture.modes] == pytest.approx([1e-6, 3e-6], rel=0.02)


def test_a_mixture_is_the_same_every_time():
    values = drawn([(1.0, 0.1, 0.6), (2.0, 0.1, 0.4)], 500)
    assert mixtures.fit(values) == mixtures.fit(values)


def test_values_without_spread_have_no_mixture():
    with pytest.raises(ValueError, match="two different values"):
        mixtures.fit(np.ones(10))
