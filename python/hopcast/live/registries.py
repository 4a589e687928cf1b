"""The words of mpi4py's extension module in which it keeps what a process has: registries of operators, error
handlers, attribute keys and buffers, and the functions of `MPI.pickle`. Each rank gets its own.

The module names none of its registries to Python. They are found by what they hold right after the first
import: an empty dictionary, a list of empty places, or, as an integer, the invalid attribute key or -1.
"""

from __future__ import annotations

import copy
import ctypes
import os
import struct
import types
from pickle import dumps, loads

_WORD = 8


def make_own(core: ctypes.PyDLL, module: types.ModuleType) -> None:
    """Finds the words of `module`, and has them exchanged when another rank runs."""
    unset = {-1, module.KEYVAL_INVALID} - {0}
    objects: list[int] = []
    kept: list[dict | list] = []
    integers: list[int] = []
    memory = _readable()
    for start, end in _writable_parts(module.__file__):
        content = ctypes.string_at(start, end - start)
        for index, (word,) in enumerate(struct.iter_unpack("=Q", content)):
            value = _registry(word, memory)
            if value is not None:
                objects.append(start + index * _WORD)
                kept.append(value)
        numbers = struct.iter_unpack("=i", content)
        integers += [start + index * 4 for index, (number,) in enumerate(numbers) if number in unset]
    first = [copy.deepcopy(value) for value in kept]
    fields = _fields(module.pickle)
    objects += fields
    as_imported = [ctypes.py_object.from_address(field).value for field in fields]

    def fresh() -> list:
        return [*copy.deepcopy(first), *as_imported]

    core.fresh_registries = fresh  # kept for as long as the library
    pointers = ctypes.c_void_p * len(objects), ctypes.c_void_p * len(integers)
    core.hopcast_words.argtypes = [ctypes.c_void_p, ctypes.c_size_t] * 2 + [ctypes.py_object]
    core.hopcast_words(pointers[0](*objects), len(objects), pointers[1](*integers), len(integers), fresh)


def _registry(address: int, memory: list[tuple[int, int]]) -> dict | list | None:
    """The empty registry at an address, if one is there."""
    if address % _WORD or not any(start <= address < end - 2 * _WORD for start, end in memory):
        return None
    kind = ctypes.c_size_t.from_address(address + object.__basicsize__ - _WORD).value
    if kind not in (id(dict), id(list)):
        return None
    value = ctypes.cast(address, ctypes.py_object).value
    return value if (not value if type(value) is dict else _is_vacant(value)) else None


def _fields(pickle: object) -> list[int]:
    """Addresses at which the object that pickles messages keeps its functions and options."""
    values = {id(value) for value in (dumps, loads, pickle.PROTOCOL, pickle.THRESHOLD)}
    words = range(id(pickle) + object.__basicsize__, id(pickle) + type(pickle).__basicsize__, _WORD)
    return [word for word in words if ctypes.c_size_t.from_address(word).value in values]


def _is_vacant(value: list) -> bool:
    return bool(value) and all(
        entry is None or (type(entry) is list and _is_vacant(entry)) for entry in value
    )


def _maps() -> list[tuple[int, int, str, str]]:
    """The mappings of this process: begin, end, permissions, file."""
    found = []
    with open("/proc/self/maps") as file:
        for line in file:
            words = line.split(maxsplit=5)
            start, end = (int(word, 16) for word in words[0].split("-"))
            found.append((start, end, words[1], words[5].strip() if len(words) > 5 else ""))
    return found


def _readable() -> list[tuple[int, int]]:
    """Address ranges in which objects may be."""
    named = ("[heap]", "")
    return [(start, end) for start, end, kind, name in _maps() if kind.startswith("rw") and name in named]


_HEADER = struct.Struct("=32xQ14xHH")
"""Header of an ELF file: offset of its program headers, length of one, and their number."""
_SEGMENT = struct.Struct("=IIQQQQQQ")
"""Kind, flags, place in the file, address, physical address, length in the file and in memory, alignment."""
_LOADED, _WRITABLE = 1, 2


def _writable_parts(file: str) -> list[tuple[int, int]]:
    """Address ranges of the variables of a library that this process has loaded."""
    # The kernel names files without the links on their paths, such as one to a virtual environment.
    real = os.path.realpath(file)
    base = min(start for start, _, _, name in _maps() if name == real)
    with open(file, "rb") as library:
        headers, length, count = _HEADER.unpack(library.read(_HEADER.size))
        parts = []
        for index in range(count):
            library.seek(headers + index * length)
            kind, flags, _, address, _, _, size, _ = _SEGMENT.unpack(library.read(_SEGMENT.size))
            if kind == _LOADED and flags & _WRITABLE:
                start = -(-(base + address) // _WORD) * _WORD
                parts.append((start, start + (base + address + size - start) // _WORD * _WORD))
    return parts
