"""How the ranks of a compiled program run: what the flags of `hopcast run` say, as the library takes it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from hopcast.errors import InputError
from hopcast.live.sizes import size_B

NAMES = (
    "compute",
    "compute_rates",
    "compute_noise",
    "stack_size",
    "isolation",
    "verbose",
    "kernels",
    "fold_memory",
    "fold_above",
    "fold_site",
    "fold_private",
    "debug_rank",
    "tool",
)
"""The flags, with underscores."""

_ISOLATIONS = ("globals", "process", "none")
_RATES = ("this-machine", "platform")


@dataclass(frozen=True)
class Options:
    """None stands for the default."""

    compute: str | None = None
    """measured, measured=SCALE, profile=FILE or none; measured."""
    compute_rates: str | None = None
    """Rates of the platform's cores: "this-machine", or "platform" to convert times; this-machine."""
    compute_noise: bool | None = None
    """True to draw the times of a profile from its distributions instead of taking their centres; False."""
    stack_size: str | None = None
    """Room for the stack of a rank; 8MiB, as processes have it. Only what is touched takes memory."""
    isolation: str | None = None
    """What each rank has of its own: "globals", its variables, "process", all, or "none", nothing."""
    verbose: bool | None = None
    """Whether to say on standard error what becomes of each library of the program."""
    kernels: str | None = None
    """Whether functions run whose time the platform gives: platform, run, skip, or off."""
    fold_memory: str | None = None
    """The size of the block onto which large allocations are folded; none are without it."""
    fold_above: str | None = None
    """The smallest allocation that is folded; 1MiB."""
    fold_site: str | None = None
    """The functions whose allocations are folded; all."""
    fold_private: str | None = None
    """The functions of whose folded allocations each rank keeps what it writes."""

    debug_rank: int | None = None
    """The rank in which gdb stops."""
    tool: str | None = None
    """The words of a command before that of the process in which the ranks are."""

    def job(self) -> dict[str, Any]:
        """The words of a job."""
        if self.isolation is not None and self.isolation not in _ISOLATIONS:
            raise InputError(f"isolation: {' or '.join(_ISOLATIONS)}, not '{self.isolation}'")
        if self.compute_rates is not None and self.compute_rates not in _RATES:
            raise InputError(f"compute_rates: {' or '.join(_RATES)}, not '{self.compute_rates}'")
        if self.compute == "none" and (self.compute_rates or self.compute_noise):
            raise InputError("compute_rates and compute_noise: computing takes no time with compute 'none'")
        return {
            "compute": self.compute or "measured",
            "compute_by_rates": self.compute_rates == "platform",
            "compute_draws": bool(self.compute_noise),
            "date": datetime.now(timezone.utc).date().isoformat(),
            "machine": str(_kept() / "machine.json"),
            "stack_size_B": size_B("stack-size", self.stack_size or "8MiB"),
            "isolation": self.isolation,
            "verbose": bool(self.verbose),
            "kernels": self.kernels or "platform",
            "fold": {
                "block_B": size_B("fold-memory", self.fold_memory) if self.fold_memory else 0,
                "above_B": size_B("fold-above", self.fold_above or "1MiB"),
                "sites": _names(self.fold_site),
                "private": _names(self.fold_private),
            },
        }


def of(flags: Mapping[str, Any]) -> Options:
    """Those of all flags that are of these."""
    return Options(**{name: flags[name] for name in NAMES})


def _kept() -> Path:
    """The folder of files that are kept from run to run."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hopcast"


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []
