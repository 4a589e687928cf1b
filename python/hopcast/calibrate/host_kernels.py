"""Kernels of a host, measured and fitted with the rest of a platform: calls of BLAS by all ranks at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hopcast.calibrate import accuracy_record, design, kernel_calls, kernel_entries, kernels, single_runs
from hopcast.calibrate.design import Matrices
from hopcast.calibrate.kernel_calls import KernelFit
from hopcast.calibrate.measure import Session
from hopcast.errors import InputError

ARGUMENTS = {"dgemm": "m,n,k", "dtrsm": "m,n,k", "dgemv": "m,n", "dger": "m,n"}
"""Dimensions of routines; vectors, and a triangle, have N alone."""
RATE_OF = "dgemm"
"""Routine whose rate is that of a process."""
STRATA = 30


@dataclass(frozen=True)
class Wanted:
    """Routines, and how their calls are drawn."""

    names: Sequence[str]
    product: float
    """Largest M N K."""
    repetitions: int
    seed: int
    blas: Sequence[str]
    """Flags that link a BLAS."""

    def rows(self) -> list[tuple[str, int, int, int]]:
        """The design."""
        longest = max(2, round(self.product ** (1 / 3) * 7))
        return design.kernels(
            Matrices(self.product, longest, STRATA, 1), self.names, self.repetitions, self.seed
        )


def measure(session: Session, wanted: Wanted) -> Mapping[str, KernelFit]:
    """Fits of all routines by name; what is measured already is not measured again."""
    place = session.folder / "kernels.csv"
    if not place.exists():
        session.folder.mkdir(parents=True, exist_ok=True)
        listed = session.folder / "design.csv"
        design.write(wanted.rows(), listed)
        single_runs.run("kernels", session, single_runs.Wanted(design=listed, blas=wanted.blas))
    return {name: _fit(place, name) for name in wanted.names}


def flop_rate(fits: Mapping[str, KernelFit]) -> str:
    """Rate of a process, as a platform file takes it: that of all products of matrices together."""
    if RATE_OF not in fits:
        raise InputError(
            f"--flop-rate: what is the rate of a process? Name it, or measure it with --kernels {RATE_OF}"
        )
    return f"{1e-9 * kernels.average_flops(fits[RATE_OF].sizes):.6g} Gflop/s"


def add(platform: Path, fits: Mapping[str, KernelFit]) -> None:
    """Writes the entries behind a platform file, and how close they come at sizes held back."""
    entries = [
        kernel_entries.toml(found, name, noise=kernel_entries.AUTO, declaration=None, hosts=None)
        for name, found in fits.items()
    ]
    platform.write_text("\n".join([platform.read_text(), *entries]))
    errors = {name: found.held_back[found.model.name][1] for name, found in fits.items()}
    accuracy_record.record(platform, errors, "every other size, held back from a fit", None)


def _fit(place: Path, name: str) -> KernelFit:
    arguments = ARGUMENTS.get(name, "n").split(",")
    (calls,) = kernel_calls.read(place, arguments, where={"function": name}).values()
    return kernel_calls.fit(name, calls)
