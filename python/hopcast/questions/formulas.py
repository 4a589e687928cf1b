"""Arguments that depend on the number of ranks: "{1000/ranks}" in a word of a command line."""

from __future__ import annotations

import re

from hopcast.errors import InputError

_FIELD = re.compile(r"\{([^{}]*)\}")


def filled(word: str, ranks: int) -> str:
    """The word with each formula in braces replaced by its value; numbers that are whole are written so."""
    if not _FIELD.search(word):
        return word
    import simpleeval

    def value(match: re.Match) -> str:
        try:
            found = float(simpleeval.simple_eval(match[1].strip(), names={"ranks": ranks}, functions={}))
        except (simpleeval.InvalidExpression, SyntaxError, ArithmeticError, TypeError, ValueError):
            raise InputError(
                f"'{match[0]}' of '{word}': a formula of numbers and `ranks` is wanted, such as "
                f"{{1000/ranks}}"
            ) from None
        return str(int(found)) if found.is_integer() else f"{found:.12g}"

    return _FIELD.sub(value, word)
