"""The generators that `random` and `numpy.random` keep for whoever brings none: each rank gets its own.

What they keep lies in the memory of objects, which is exchanged when another rank runs, if any rank uses it.
Where nothing else is said, they begin with the run's seed and the rank, so that two runs are the same.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import random
import sys
from collections.abc import Callable

_WORD = 8
_NUMPY = "numpy.random.mtrand"
_STATE_BYTES = 625 * 4
"""numpy's Mersenne Twister: 624 words and a position."""

Begin = Callable[[int], bytes]


class Generators(importlib.abc.MetaPathFinder):
    """Finds numpy's generator when it is imported, to make it each rank's own."""

    def __init__(self, core: ctypes.PyDLL, seed: int) -> None:
        self.core = core
        self.seed = seed
        self.kept: list = []
        core.hopcast_region.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.py_object]

    def begin(self) -> None:
        """A rank begins; with the first, the generator of `random` becomes each rank's own."""
        if not self.kept:
            self._make_own_of_random()

    def find_spec(self, name, path=None, target=None):
        """The specification that others find, with a loader that does more."""
        if name != _NUMPY:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = _Then(spec.loader, self._make_own_of_numpy)
                return spec
        return None

    def _own(self, address: int, length: int, begin: Begin) -> None:
        self.kept.append(begin)
        self.core.hopcast_region(address, length, begin)

    def _make_own_of_random(self) -> None:
        """A generator in place of the module's, whose spare normal number lies in the object as well."""
        old, new = random._inst, _Generator(f"{self.seed}")
        random._inst = new
        for name, function in list(vars(random).items()):
            if getattr(function, "__self__", None) is old:
                setattr(random, name, getattr(new, name))

        def begin(rank: int) -> bytes:
            own = _Generator(f"{self.seed} {rank}")
            return ctypes.string_at(id(own) + object.__basicsize__, length)

        length = random.Random.__base__.__basicsize__ - object.__basicsize__
        self._own(id(new) + object.__basicsize__, length, begin)
        self._own(_place_of_spare(new), _WORD, _nothing)

    def _make_own_of_numpy(self, mtrand) -> None:
        generator = mtrand._rand
        twister = generator._bit_generator
        twister.state = type(twister)(self.seed).state

        def begin_state(rank: int) -> bytes:
            own = type(twister)([self.seed, rank])
            return ctypes.string_at(own.ctypes.state_address, _STATE_BYTES)

        def begin(rank: int) -> bytes:
            for held in (twister, twister.lock):
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))
            return first

        start = id(generator) + object.__basicsize__
        first = ctypes.string_at(start, type(generator).__basicsize__ - object.__basicsize__)
        self._own(twister.ctypes.state_address, _STATE_BYTES, begin_state)
        self._own(start, len(first), begin)


class _Generator(random.Random):
    __slots__ = ("gauss_next",)


def _place_of_spare(generator: _Generator) -> int:
    mark = object()
    generator.gauss_next = mark
    words = range(id(generator), id(generator) + type(generator).__basicsize__, _WORD)
    found = [word for word in words if ctypes.c_size_t.from_address(word).value == id(mark)]
    generator.gauss_next = None
    return found[0]


def _nothing(rank: int) -> bytes:
    """The word of a slot that holds None."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(None))
    return id(None).to_bytes(_WORD, sys.byteorder)


class _Then(importlib.abc.Loader):
    """A loader, and what is done with the module afterwards."""

    def __init__(self, loader: importlib.abc.Loader, work: Callable) -> None:
        self.loader = loader
        self.work = work

    def create_module(self, spec):
        """By the loader."""
        return self.loader.create_module(spec)

    def exec_module(self, module) -> None:
        """By the loader, and the work."""
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.work(module)
