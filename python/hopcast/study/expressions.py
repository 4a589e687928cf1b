"""Formulas of a study: conditions, names that follow from others, and values made of results."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from hopcast.errors import InputError

FUNCTIONS: dict[str, Callable] = {
    "abs": abs,
    "ceil": math.ceil,
    "exp": math.exp,
    "float": float,
    "floor": math.floor,
    "int": int,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
    "str": str,
}
"""Functions that formulas may call."""


def plain_name(name: str) -> str:
    """The name of a factor in formulas: `link.bandwidth` is `link_bandwidth`, `--bytes` is `bytes`."""
    return re.sub(r"\W", "_", name.lstrip("-"))


class Formula:
    """An expression in the syntax of Python, with names, numbers, texts and a few functions."""

    def __init__(self, text: str, place: str) -> None:
        """`place`: where it stands, for errors."""
        from simpleeval import SimpleEval

        self.text, self._place = text, place
        self._evaluator = SimpleEval(functions=FUNCTIONS)
        try:
            self._parsed = self._evaluator.parse(text)
        except Exception as error:
            raise InputError(f"{place}: '{text}': {error}") from error
        nodes = ast.walk(ast.parse(text.strip(), mode="eval"))
        self._names = {node.id for node in nodes if isinstance(node, ast.Name)} - set(FUNCTIONS)

    def __call__(self, names: Mapping[str, Any]) -> Any:
        """Its value. Raises `InputError` where it has none."""
        self._evaluator.names = {plain_name(name): value for name, value in names.items()}
        try:
            return self._evaluator.eval(self.text, previously_parsed=self._parsed)
        except Exception as error:
            raise InputError(f"{self._place}: '{self.text}': {error}") from error

    def names(self) -> set[str]:
        """Names that it uses, other than those of functions."""
        return self._names
