"""Experiments: a list of pieces, run somewhere, kept in an archive, looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hopcast.experiment.base import Experiment
    from hopcast.experiment.nodes import Command, Node, Nodes

__all__ = ["Command", "Experiment", "Node", "Nodes"]
_PLACES = {"Experiment": "base", "Command": "nodes", "Node": "nodes", "Nodes": "nodes"}


def __getattr__(name: str) -> Any:
    """Loads a class when it is first named: workers of studies need none of them."""
    from importlib import import_module

    if name not in _PLACES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
