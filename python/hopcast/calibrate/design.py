"""Lists of measurements in random order: sizes of messages, and dimensions of matrices.

- Sizes are ⌊10^U(a, b)⌋: uniform sizes up to 1 GB would hold none below 100 kB nine times out of ten. The
  exponent is drawn from strata in turns, so that no decade is left out by chance.
- Dimensions (M, N, K) have a uniform product: P from strata below the largest, A from U(1, P^⅓), B from
  U(1, √(P/A)), C = P/(A B), in all six orders. Independent dimensions would have few large products.
- Dimensions drawn independently, U(1, Σ) each until M N K is small enough, are there to compare with: their
  products are mostly small, and none of the three is uniform.
- All is shuffled: sizes, repetitions and kinds. What disturbs a machine for a while then touches single
  repetitions of many sizes, and not all of one.

Source: Cornebize, "High performance computing: towards better performance predictions and experiments",
thesis, Université Grenoble Alpes 2021, chapter 8.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from hopcast import text_file
from hopcast.calibrate import whole_file
from hopcast.errors import InputError

RING = "Ring"
"""Kind of the lines of a design for `programs/ring.c`: one round of a message past all ranks."""
NETWORK_KINDS = ("Recv", "Isend", "PingPong", "Wtime", "Iprobe", "Test", "Memory")
"""Kinds of measurement between two processes; see `programs/network.c`."""
POLL_KINDS = ("Iprobe", "Test")
POLLED_SIZES_UP_TO = 10_000
"""Longest message that polls wait for [bytes]: the time of a poll does not depend on it."""
WTIME_TOTALS = 5
"""Measurements of MPI_Wtime, ten million calls each: several give a standard error."""
LONGEST_BYTES = 2**31 - 1
SIZES_LEAST = 4
MEASUREMENTS_MOST = 5_000_000
"""Most lines of a design, which is held in memory."""
KERNELS = ("dgemm", "dtrsm", "dgemv", "dger", "dtrsv", "dswap", "daxpy", "dscal", "idamax")
ORDERS = 6
"""Orders of three dimensions."""
FIXED_TUPLES = ((1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4), (2048, 2048, 2048))


@dataclass(frozen=True)
class Sizes:
    """Range of sizes, and how it is sampled."""

    shortest: int
    longest: int
    count: int
    strata: int

    def check(self) -> None:
        """Refuses what no line can be fitted to."""
        if not 1 <= self.shortest < self.longest:
            raise InputError(
                f"sizes from {self.shortest} B to {self.longest} B: the first must be at least 1 B, and less"
            )
        if self.longest > LONGEST_BYTES:
            raise InputError(
                f"sizes up to {self.longest} B: MPI counts bytes of a message up to {LONGEST_BYTES}"
            )
        if self.count < SIZES_LEAST:
            raise InputError(
                f"{self.count} sizes: a line has two parameters, and breakpoints lie between sizes: "
                f"at least {SIZES_LEAST}"
            )
        if not 1 <= self.strata <= self.count:
            raise InputError(
                f"{self.strata} strata for {self.count} sizes: at least 1, at most as many as sizes"
            )

    @property
    def gap(self) -> float:
        """Factor between neighbouring sizes: how well a breakpoint can be known."""
        return (self.longest / self.shortest) ** (1 / self.count)


def sample_sizes(sizes: Sizes, random: np.random.Generator) -> list[int]:
    """⌊10^U⌋ with the exponent from each stratum in turns."""
    sizes.check()
    low, high = math.log10(sizes.shortest), math.log10(sizes.longest)
    stratum = np.arange(sizes.count) % sizes.strata
    exponents = low + (high - low) * (stratum + random.random(sizes.count)) / sizes.strata
    # Of 10**log10(n), rounding may leave a little less than n.
    return [max(sizes.shortest, min(sizes.longest, math.floor(10 ** float(value)))) for value in exponents]


def network(
    sizes: Sizes, repetitions: int, kinds: Sequence[str], polls: int, seed: int
) -> list[tuple[str, int]]:
    """Measurements (kind, bytes) in random order: for each kind, each size with its repetitions."""
    if repetitions < 1:
        raise InputError(f"{repetitions} repetitions: at least 1")
    for kind in kinds:
        if kind not in (*NETWORK_KINDS, RING):
            raise InputError(f"unknown kind '{kind}'; known: {', '.join((*NETWORK_KINDS, RING))}")
    if RING in kinds and len(kinds) > 1:
        raise InputError(
            f"kind '{RING}' with others: another program measures it, which takes a design of its own"
        )
    if not kinds:
        raise InputError(f"no kind of measurement; known: {', '.join((*NETWORK_KINDS, RING))}")
    if polls < 0:
        raise InputError(f"{polls} polls: none is the least")
    _check_seed(seed)
    _check_count(len(kinds) * sizes.count * repetitions + 2 * polls)
    random = np.random.default_rng(seed)
    chosen = sample_sizes(sizes, random)
    rows: list[tuple[str, int]] = []
    for kind in kinds:
        if kind == "Wtime":
            rows += [(kind, 0)] * WTIME_TOTALS
        elif kind in POLL_KINDS:
            short = [size for size in chosen if size <= POLLED_SIZES_UP_TO] or [sizes.shortest]
            rows += [(kind, short[index % len(short)]) for index in range(polls)]
        else:
            rows += [(kind, size) for size in chosen for _ in range(repetitions)]
    return [rows[index] for index in random.permutation(len(rows))]


@dataclass(frozen=True)
class Matrices:
    """Range of dimensions, and how it is sampled."""

    product: float
    """Largest M N K."""
    longest: int
    """Largest of M, N and K."""
    strata: int
    batches: int
    """Products drawn from each stratum."""
    third: Sequence[int] = ()
    """Values of K; without, it is drawn like M and N."""
    method: Literal["uniform-product", "independent"] = "uniform-product"

    def check(self) -> None:
        """Refuses what no dimensions can be drawn from."""
        if not 1 <= self.product < math.inf:
            raise InputError(f"products up to {self.product:g}: at least 1, and finite")
        if self.batches < 1:
            raise InputError(f"{self.batches} batches: at least 1")
        for value in self.third:
            if not 1 <= value <= min(self.longest, self.product):
                raise InputError(
                    f"K = {value}: at least 1, and no larger than a dimension ({self.longest}) or a product "
                    f"({self.product:g})"
                )


def kernels(
    matrices: Matrices, functions: Sequence[str], repetitions: int, seed: int
) -> list[tuple[str, int, int, int]]:
    """Calls (function, M, N, K) in random order."""
    for function in functions:
        if function not in KERNELS:
            raise InputError(f"unknown function '{function}'; known: {', '.join(KERNELS)}")
    matrices.check()
    _check_seed(seed)
    if repetitions < 1:
        raise InputError(f"{repetitions} repetitions: at least 1")
    _check_count(len(functions) * (matrices.strata * matrices.batches * ORDERS) * repetitions)
    if matrices.longest**3 < matrices.product:
        raise InputError(
            f"products up to {matrices.product:g} with dimensions up to {matrices.longest}: "
            f"at most {matrices.longest**3:g}"
        )
    if matrices.method == "independent" and len(matrices.third):
        raise InputError("independent dimensions with values of K: they are drawn, all three")
    random = np.random.default_rng(seed)
    rows: list[tuple[str, int, int, int]] = []
    for function in functions:
        tuples = [
            fixed
            for fixed in FIXED_TUPLES
            if math.prod(fixed) <= matrices.product and max(fixed) <= matrices.longest
        ]
        for stratum, _ in itertools.product(range(matrices.strata), range(matrices.batches)):
            if matrices.method == "independent":
                tuples += [independent(matrices, random) for _ in range(ORDERS)]
                continue
            target = matrices.product * (1 - stratum / matrices.strata)
            target += float(random.uniform(-1, 1)) * matrices.product / 1000
            tuples += uniform_product(max(1.0, min(target, matrices.product)), matrices, random)
        rows += [(function, *dimensions) for dimensions in tuples for _ in range(repetitions)]
    return [rows[index] for index in random.permutation(len(rows))]


def _check_count(count: int) -> None:
    if count > MEASUREMENTS_MOST:
        raise InputError(f"{count:,} measurements: at most {MEASUREMENTS_MOST:,}: fewer sizes or repetitions")


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise InputError(f"seed {seed}: at least 0")


def uniform_product(
    product: float, matrices: Matrices, random: np.random.Generator
) -> list[tuple[int, int, int]]:
    """The six orders of three dimensions of about that product; with K given, the two orders of M and N."""
    while True:
        if len(matrices.third):
            fixed = int(random.choice(list(matrices.third)))
            a = float(random.uniform(1, max(1.0, math.sqrt(product / fixed))))
            one, other = int(a), max(1, int(product / (a * fixed)))
            if max(one, other) <= matrices.longest:
                return [(one, other, fixed), (other, one, fixed)]
        else:
            a = float(random.uniform(1, product ** (1 / 3)))
            b = float(random.uniform(1, math.sqrt(product / a)))
            triple = (int(a), int(b), max(1, int(product / (a * b))))
            if max(triple) <= matrices.longest:
                return [(m, n, k) for m, n, k in itertools.permutations(triple)]


def independent(matrices: Matrices, random: np.random.Generator) -> tuple[int, int, int]:
    """Three dimensions from U(1, longest), drawn again until their product is small enough."""
    while True:
        m, n, k = (int(side) for side in random.integers(1, matrices.longest, 3, endpoint=True))
        if m * n * k <= matrices.product:
            return m, n, k


def write(rows: Iterable[Sequence[object]], place: Path) -> None:
    """CSV without a header, as measuring programs read it."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    whole_file.write(place, text.getvalue())


def read_network(place: Path, known: Sequence[str] = NETWORK_KINDS) -> list[tuple[str, int]]:
    """Measurements of a file; a line that is none is an error with its number."""
    rows = []
    for number, line in enumerate(_lines(place), 1):
        kind, _, size = line.partition(",")
        if kind not in known:
            raise InputError(f"{place}:{number}: unknown kind '{kind}'; known: {', '.join(known)}")
        if not size.strip().isdigit() or int(size) > LONGEST_BYTES:
            raise InputError(f"{place}:{number}: '{size}' is no number of bytes from 0 to {LONGEST_BYTES}")
        rows.append((kind, int(size)))
    if not rows:
        raise InputError(f"{place}: no measurements: lines 'KIND,BYTES' are wanted")
    return rows


def read_kernels(place: Path) -> list[tuple[str, int, int, int]]:
    """Calls of a file; a line that is none is an error with its number."""
    rows = []
    for number, line in enumerate(_lines(place), 1):
        function, *dimensions = (word.strip() for word in line.split(","))
        if function not in KERNELS:
            raise InputError(f"{place}:{number}: unknown function '{function}'; known: {', '.join(KERNELS)}")
        if len(dimensions) != 3 or not all(word.isdigit() and int(word) > 0 for word in dimensions):
            raise InputError(
                f"{place}:{number}: '{line}' is not 'FUNCTION,M,N,K' with positive whole numbers"
            )
        m, n, k = map(int, dimensions)
        rows.append((function, m, n, k))
    if not rows:
        raise InputError(f"{place}: no calls: lines 'FUNCTION,M,N,K' are wanted")
    return rows


def _lines(place: Path) -> list[str]:
    try:
        return text_file.read(place).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{place}: {getattr(error, 'strerror', None) or error}") from None
