"""Reduction operators: MPI's, and Python functions of two operands."""

import functools
import operator

import numpy as np

_operand_is_array = (np.ndarray, np.generic)


def _elementwise(scalar, array):
    """Takes the array function where an operand is an array."""

    def combine(a, b):
        if isinstance(a, _operand_is_array) or isinstance(b, _operand_is_array):
            return array(a, b)
        return scalar(a, b)

    return combine


def _maxloc(a, b):
    """The `(value, place)` pair of the larger value; of equal values that of the lower place."""
    if a[0] == b[0]:
        return (a[0], min(a[1], b[1]))
    return a if a[0] > b[0] else b


def _minloc(a, b):
    if a[0] == b[0]:
        return (a[0], min(a[1], b[1]))
    return a if a[0] < b[0] else b


class Op:
    """A reduction operator. Call it with two operands; `commutative` lets algorithms reorder them."""

    __slots__ = ("combine", "commutative", "name")

    def __init__(self, name, combine, commutative=True):
        self.name = name
        self.combine = combine
        self.commutative = commutative

    @classmethod
    def Create(cls, function, commute=False):
        """An operator of a Python function `function(a, b)`; `commute` says that it is commutative."""
        return cls(getattr(function, "__name__", "function"), function, commute)

    def Is_commutative(self):
        return self.commutative

    def Free(self):
        """Nothing to do: Python frees it."""

    def __call__(self, a, b):
        return self.combine(a, b)

    def __repr__(self):
        return f"Op({self.name})"

    def fold(self, operands):
        """All operands combined, from the first to the last."""
        return functools.reduce(self.combine, operands)


def as_op(op):
    """An operator for what a user gives: an `Op`, or a function of two operands (not commutative)."""
    if isinstance(op, Op):
        return op
    if callable(op):
        return Op.Create(op)
    raise TypeError(f"op is an operator such as SUM, or a function of two operands, not {op!r}")


SUM = Op("SUM", operator.add)
PROD = Op("PROD", operator.mul)
MAX = Op("MAX", _elementwise(max, np.maximum))
MIN = Op("MIN", _elementwise(min, np.minimum))
LAND = Op("LAND", _elementwise(lambda a, b: bool(a) and bool(b), np.logical_and))
LOR = Op("LOR", _elementwise(lambda a, b: bool(a) or bool(b), np.logical_or))
LXOR = Op("LXOR", _elementwise(lambda a, b: bool(a) != bool(b), np.logical_xor))
BAND = Op("BAND", operator.and_)
BOR = Op("BOR", operator.or_)
BXOR = Op("BXOR", operator.xor)
MAXLOC = Op("MAXLOC", _maxloc)
MINLOC = Op("MINLOC", _minloc)
REPLACE = Op("REPLACE", lambda a, b: b, commutative=False)
