"""How the ranks of a compiled program run: what the flags of `hopcast run` say, as the library takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hopcast.errors import InputError
from hopcast.live.sizes import size_B

NAMES = (
    "compute",
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


@dataclass(frozen=True)
class Options:
    """None stands for the default."""

    compute: str | None = None
    """none, measured, measured=SCALE or sampled=PERCENT%."""
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
        return {
            "compute": self.compute or "none",
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


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()] if text else []
