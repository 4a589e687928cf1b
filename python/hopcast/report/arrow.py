"""Arrow without pandas, in processes of our own that need none."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from typing import Any


class _NoPandas(MetaPathFinder):
    """Finder by which pandas is not installed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> None:
        """Refuses pandas; knows no other module."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not looked at here", name=name)


def leave_pandas() -> None:
    """Lets Arrow look for pandas while there is none.

    It else loads pandas when it makes its first array, only to see that nothing is of it: half a second of a
    processor, and more than a short run takes. Tables can be turned into those of pandas nevertheless.
    """
    import pyarrow

    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pyarrow.array([])
    finally:
        sys.meta_path.remove(finder)
