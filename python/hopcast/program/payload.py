"""Payloads that travel between ranks: a copy that its sender can no longer change, and its length.

Timing and data travel apart: the simulator knows a message's length and carries a payload that only
this module makes and opens. A payload is one of

- an immutable object, as it is;
- a copy of a NumPy array or a bytearray;
- `Pickled`: everything else, as pickle writes it.

Arrays and bytes are as long as their buffer, everything else as its pickle, as in mpi4py.
"""

import pickle

import numpy as np

_IMMUTABLE = frozenset({int, float, complex, bool, str, type(None)})
_PROTOCOL = pickle.HIGHEST_PROTOCOL
SCALAR_BYTES = 8
"""Length of a number in a reduction [bytes]: that of MPI_DOUBLE and MPI_INT64_T."""


class Pickled:
    """An object as pickle writes it."""

    __slots__ = ("content",)

    def __init__(self, content):
        self.content = content


def pack(obj):
    """`(length [bytes], payload)` of an object."""
    kind = type(obj)
    if kind is bytes:
        return len(obj), obj
    if kind in _IMMUTABLE:
        return len(pickle.dumps(obj, _PROTOCOL)), obj
    if isinstance(obj, np.ndarray) and not obj.dtype.hasobject:
        return obj.nbytes, obj.copy()
    if kind is bytearray:
        return len(obj), bytearray(obj)
    if kind is memoryview:
        return obj.nbytes, obj.tobytes()
    content = pickle.dumps(obj, _PROTOCOL)
    return len(content), Pickled(content)


def unpack(payload):
    """The object of a payload that has one receiver, who becomes its owner."""
    if type(payload) is Pickled:
        return pickle.loads(payload.content)
    return payload


def unpack_copy(payload):
    """The object of a payload that has several receivers: a copy of its own for each."""
    kind = type(payload)
    if kind is Pickled:
        return pickle.loads(payload.content)
    if isinstance(payload, np.ndarray) or kind is bytearray:
        return payload.copy()
    return payload


def known_length(obj):
    """Length of an object that has the same length on every rank by its type [bytes], or None.

    That is a buffer's own length, and `SCALAR_BYTES` for a number.
    """
    if isinstance(obj, np.ndarray):
        return None if obj.dtype.hasobject else obj.nbytes
    if isinstance(obj, (bytes, bytearray)):
        return len(obj)
    if isinstance(obj, (bool, int, float, np.generic)):
        return SCALAR_BYTES if not isinstance(obj, np.generic) else obj.nbytes
    if isinstance(obj, complex):
        return 2 * SCALAR_BYTES
    return None
