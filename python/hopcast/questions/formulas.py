"""Arguments that depend on the number of ranks: "{1000/ranks}" in a word of a command line."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable

from hopcast.errors import InputError

_FIELD = re.compile(r"\{([^{}]*)\}")
_OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


def filled(word: str, ranks: int) -> str:
    """The word with each formula in braces replaced by its value; numbers that are whole are written so."""

    def value(match: re.Match) -> str:
        try:
            found = _value(ast.parse(match[1].strip(), mode="eval").body, ranks)
        except (SyntaxError, ArithmeticError, TypeError, ValueError):
            raise InputError(
                f"'{match[0]}' of '{word}': a formula of numbers and `ranks` with + - * / // ** is wanted"
            ) from None
        return str(int(found)) if float(found).is_integer() else f"{found:.12g}"

    return _FIELD.sub(value, word)


def _value(node: ast.expr, ranks: int) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id="ranks"):
            return ranks
        case ast.BinOp(left=left, op=how, right=right) if type(how) in _OPERATORS:
            return _OPERATORS[type(how)](_value(left, ranks), _value(right, ranks))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner, ranks)
    raise ValueError
