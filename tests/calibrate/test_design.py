"""Designs: sizes are uniform in their logarithm, products of dimensions are uniform, all is shuffled."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hopcast.calibrate import design
from hopcast.cli.calibrate import command
from hopcast.errors import InputError

RANDOM = 11


def distance(values: list[float], uniform_to: float) -> float:
    """Kolmogorov's distance of a sample from the uniform distribution on 0 to a bound."""
    ordered = np.sort(values) / uniform_to
    steps = np.arange(1, len(ordered) + 1) / len(ordered)
    return float(max(np.abs(ordered - steps).max(), np.abs(ordered - steps + 1 / len(ordered)).max()))


def test_each_decade_has_its_share_of_sizes() -> None:
    """⌊10^U(0, 9)⌋: a ninth of 900 sizes in each decade, by the strata to the size."""
    sizes = design.sample_sizes(design.Sizes(1, 10**9, 900, 9), np.random.default_rng(RANDOM))
    assert Counter(len(str(size)) - 1 for size in sizes) == dict.fromkeys(range(9), 100)
    exponents = [math.log10(size) for size in sizes if size > 10**6]
    assert distance([value - 6 for value in exponents], 3) < 1.63 / math.sqrt(len(exponents))  # 1 %


def test_sizes_stay_between_their_bounds() -> None:
    sizes = design.sample_sizes(design.Sizes(1000, 1001, 4, 1), np.random.default_rng(RANDOM))
    assert set(sizes) <= {1000, 1001}


def test_sizes_repetitions_and_kinds_are_shuffled_together() -> None:
    rows = design.network(design.Sizes(1, 10**6, 50, 10), 20, ("Recv", "Isend", "PingPong"), 0, RANDOM)
    assert len(rows) == 50 * 20 * 3
    # A third of the measurements in each tenth of the list are of each kind: binomial, five deviations.
    for part in range(10):
        kinds = Counter(kind for kind, _ in rows[300 * part : 300 * part + 300])
        assert all(abs(count - 100) < 5 * math.sqrt(300 * 2 / 9) for count in kinds.values())
    # Of a random order, neighbours are of one size and kind with probability 1/150 or a little more.
    neighbours = sum(one == other for one, other in itertools.pairwise(rows))
    assert neighbours < 3 * len(rows) / 100
    assert rows == design.network(
        design.Sizes(1, 10**6, 50, 10), 20, ("Recv", "Isend", "PingPong"), 0, RANDOM
    )


def test_products_are_uniform_and_sides_come_in_all_orders() -> None:
    """Thesis, 8.2: 3 batches of 30 strata in 6 orders, and 5 fixed tuples: 545."""
    rows = design.kernels(design.Matrices(1e10, 15500, 30, 3), ["dgemm"], 1, RANDOM)
    assert len(rows) == 545
    drawn = [row[1:] for row in rows if row[1:] not in design.FIXED_TUPLES]
    counts = Counter(tuple(sorted(sides)) for sides in drawn)
    assert set(counts.values()) <= {6, 12, 18}
    assert max(max(sides) for sides in drawn) <= 15500
    # A product loses a little where its sides are cut to whole numbers.
    assert distance([math.prod(sides) for sides in drawn], 1e10) < 0.05


def test_a_third_dimension_can_be_given() -> None:
    rows = design.kernels(design.Matrices(1e9, 5000, 30, 1, (128, 256)), ["dgemm"], 1, RANDOM)
    drawn = [row for row in rows if row[1:] not in design.FIXED_TUPLES]
    assert {k for *_, k in drawn} == {128, 256}


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = design.network(design.Sizes(1, 1000, 4, 2), 2, design.NETWORK_KINDS, 3, RANDOM)
    design.write(rows, tmp_path / "design.csv")
    assert design.read_network(tmp_path / "design.csv") == rows


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Send,8\n", r":1: unknown kind 'Send'; known: Recv, Isend"),
        ("Recv,8\nRecv,many\n", r":2: 'many' is no number of bytes"),
        ("", "no measurements: lines 'KIND,BYTES'"),
        ("Recv,3000000000\n", "no number of bytes from 0 to 2147483647"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, text: str, wanted: str) -> None:
    (tmp_path / "design.csv").write_text(text)
    with pytest.raises(InputError, match=wanted):
        design.read_network(tmp_path / "design.csv")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (
            ["--sizes", "3"],
            "3 sizes: a line has two parameters, and breakpoints lie between sizes: at least 4",
        ),
        (["--from", "1MB", "--to", "1kB"], "sizes from 1000000 B to 1000 B"),
        (["--to", "8GB"], "counts bytes of a message up to 2147483647"),
        (["--repetitions", "0"], "0 repetitions: at least 1"),
        (["--kinds", "Recv,Send"], "unknown kind 'Send'"),
        (["--kinds", "Recv,Ring"], "another program measures it"),
        (["--kernels", "zgemm"], "unknown function 'zgemm'; known: dgemm"),
        (["--kernels", "dgemm", "--side", "100"], "products up to 1e+10 with dimensions up to 100"),
    ],
)
def test_what_cannot_be_fitted_is_refused(tmp_path: Path, words: list[str], wanted: str) -> None:
    done = CliRunner().invoke(command, ["design", "-o", str(tmp_path / "design.csv"), *words])
    assert wanted in str(done.exception)
    assert not (tmp_path / "design.csv").exists()


def test_few_sizes_and_one_repetition_are_warned_of(tmp_path: Path) -> None:
    words = ["design", "-o", str(tmp_path / "design.csv"), "--sizes", "20", "--repetitions", "1"]
    done = CliRunner().invoke(command, words)
    # Six decades between twenty sizes: 10^(6/20) = 2.00.
    assert "lie a factor of 2.00 apart" in done.stderr
    assert "1 repetition: how much a size's time varies will not be known" in done.stderr


def test_the_two_generators_of_dimensions_differ_as_published() -> None:
    """Thesis, Fig. 8.1: Π = 10¹⁰, Σ = 10,000. Products are uniform, or, of independent dimensions, mostly
    small, and M is then not uniform either."""
    random = np.random.default_rng(RANDOM)
    matrices = design.Matrices(1e10, 10_000, 1, 1)
    targets = random.uniform(1, 1e10, 3000)
    products = [math.prod(design.uniform_product(target, matrices, random)[0]) for target in targets]
    critical = 1.63 / math.sqrt(len(products))  # 1 %
    assert distance(products, 1e10) < critical
    independent = [design.independent(matrices, random) for _ in range(3000)]
    products = [math.prod(sides) for sides in independent]
    assert distance(products, 1e10) > 5 * critical and np.median(products) < 0.4e10
    assert distance([m for m, _, _ in independent], 10_000) > 5 * critical
    rows = design.kernels(design.Matrices(1e10, 10_000, 30, 3, (), "independent"), ["dgemm"], 1, RANDOM)
    assert len(rows) == 545 and max(math.prod(row[1:]) for row in rows) <= 1e10
