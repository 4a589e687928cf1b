"""The pictures of `report.html`, one file each. Adding one is a file here, which is found by itself.

A picture is a module with `draw`, a function of the result that gives a `Picture`, or `None` where the run
has no data for it, and with `PLACE`, a number that says where on the page it stands.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING

from hopcast.report.pictures.picture import Picture

if TYPE_CHECKING:
    from collections.abc import Callable

    from hopcast.report.store import Result


def _found() -> tuple[Callable[[Result], Picture | None], ...]:
    """The functions of all modules here that draw, in the order of the page."""
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    drawing = [module for module in modules if hasattr(module, "draw")]
    return tuple(
        module.draw for module in sorted(drawing, key=lambda module: (module.PLACE, module.__name__))
    )


PICTURES = _found()

__all__ = ["PICTURES", "Picture"]
