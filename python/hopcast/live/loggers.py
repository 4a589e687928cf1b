"""`logging` for each rank: the root logger's handlers and level, and the loggers by name, are the rank's own.

A logger that a shared package has made for itself is one for all; what it says goes to the root logger, and
so to the handlers of the rank that runs.
"""

from __future__ import annotations

import logging
import sys


def make_own() -> None:
    """Puts them in place of the module's."""
    logging.root = logging.Logger.root = _Root(logging.WARNING)
    logging.Logger.manager = _Managers()


def _of_rank(name: str, make):
    """Value of a name in the main module of the running rank, made on first use."""
    names = sys.modules["__main__"].__dict__
    if name not in names:
        names[name] = make()
    return names[name]


def _variable(name: str) -> property:
    def get(root: _Root):
        return _of_rank("__logging__", _as_begun)[name]

    def put(root: _Root, value) -> None:
        _of_rank("__logging__", _as_begun)[name] = value

    return property(get, put)


def _as_begun() -> dict:
    return {"level": logging.WARNING, "handlers": [], "filters": [], "disabled": False, "_cache": {}}


class _Root(logging.RootLogger):
    level, handlers, filters = _variable("level"), _variable("handlers"), _variable("filters")
    disabled, _cache = _variable("disabled"), _variable("_cache")


class _Managers:
    """`Logger.manager`: of the rank that asks."""

    def __get__(self, logger: logging.Logger | None, kind: type) -> logging.Manager:
        return _of_rank("__loggers__", lambda: logging.Manager(logging.root))
