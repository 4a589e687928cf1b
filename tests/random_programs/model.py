"""Parts of a random program: phases, communicators and datatypes."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

BASES = {"MPI_CHAR": 1, "MPI_SHORT": 2, "MPI_INT": 4, "MPI_FLOAT": 4, "MPI_DOUBLE": 8, "MPI_LONG_LONG": 8}
"""Basic datatypes with their sizes [B]."""


@dataclass(frozen=True)
class Communicator:
    """A communicator of the program: its number, and the world ranks of its group in order."""

    number: int
    members: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of its ranks."""
        return len(self.members)

    def __str__(self) -> str:
        return f"comms[{self.number}]"


@dataclass(frozen=True)
class Datatype:
    """A datatype as C code makes it."""

    code: tuple[str, ...]
    """Statements that build it in the variable `name`."""
    name: str
    elements: int
    """Basic elements of one item."""
    extent: int
    """Extent of one item [B]; the lower bound is 0."""
    base: str

    @property
    def is_basic(self) -> bool:
        """True if nothing is to be built or freed."""
        return not self.code


@dataclass(frozen=True)
class Phase:
    """A step in which all ranks take part.

    Its code is `head`, some of `parts`, each of which may be left out, and `tail`. A phase that makes a
    communicator says which (`makes`); others say which they need.
    """

    title: str
    head: tuple[str, ...]
    tail: tuple[str, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    needs: frozenset[int] = frozenset({0})
    makes: frozenset[int] = frozenset()

    def without(self, at: int) -> Phase:
        """The phase without one of its parts."""
        parts = self.parts[:at] + self.parts[at + 1 :]
        return Phase(self.title, self.head, self.tail, parts, self.needs, self.makes)

    def lines(self) -> list[str]:
        """Its C code."""
        body = [*self.head, *(line for part in self.parts for line in part), *self.tail]
        return ["{", f"  /* {self.title} */", *(f"  {line}" for line in body), "}"]


@dataclass
class World:
    """State of a program so far, from which the next phase chooses."""

    random: Random
    ranks: int
    communicators: list[Communicator] = field(default_factory=list)
    names: int = 0

    def __post_init__(self) -> None:
        self.communicators = [Communicator(0, tuple(range(self.ranks)))]

    def any_communicator(self, least: int = 1) -> Communicator:
        """A communicator of at least `least` ranks."""
        return self.random.choice([one for one in self.communicators if one.size >= least])

    def key(self) -> int:
        """A number from which the contents of a buffer follow."""
        return self.random.randrange(1, 1 << 30)

    def name(self, word: str) -> str:
        """A fresh name of a C variable."""
        self.names += 1
        return f"{word}{self.names}"

    def datatype(self, base: str | None = None, depth: int = 2) -> Datatype:
        """A basic or derived datatype of one basic type, without overlaps."""
        base = base or self.random.choice(list(BASES))
        inner = Datatype((), base, 1, BASES[base], base)
        for _ in range(self.random.randrange(depth + 1)):
            inner = self._derived(inner)
        return inner

    def _derived(self, of: Datatype) -> Datatype:
        random, name = self.random, self.name("type")
        count, length = random.randint(1, 3), random.randint(1, 3)
        gap = random.randrange(3)
        kind = random.choice(sorted(_CONSTRUCTORS))
        call, elements, extent = _CONSTRUCTORS[kind](of, count, length, gap)
        code = (*of.code, f"MPI_Datatype {name};", call.format(old=of.name, new=name))
        # A trailing gap decides where the next item begins, so all get an extent that is told here.
        sized = self.name("type")
        code += (
            f"MPI_Datatype {sized};",
            f"MPI_Type_create_resized({name}, 0, {extent}, &{sized});",
            f"MPI_Type_commit(&{sized}); MPI_Type_free(&{name});",
        )
        return Datatype(code, sized, elements, extent, of.base)


def _vector(of: Datatype, count: int, length: int, gap: int) -> tuple[str, int, int]:
    call = f"MPI_Type_vector({count}, {length}, {length + gap}, {{old}}, &{{new}});"
    return call, count * length * of.elements, count * (length + gap) * of.extent


def _hvector(of: Datatype, count: int, length: int, gap: int) -> tuple[str, int, int]:
    stride = (length + gap) * of.extent
    call = f"MPI_Type_create_hvector({count}, {length}, {stride}, {{old}}, &{{new}});"
    return call, count * length * of.elements, count * stride


def _contiguous(of: Datatype, count: int, length: int, gap: int) -> tuple[str, int, int]:
    items = count * length
    return f"MPI_Type_contiguous({items}, {{old}}, &{{new}});", items * of.elements, (items + gap) * of.extent


def _indexed(of: Datatype, count: int, length: int, gap: int) -> tuple[str, int, int]:
    lengths = [length + at % 2 for at in range(count)]
    starts = [gap + sum(lengths[:at]) + at * gap for at in range(count)]
    arrays = f"(int[]){{{{{_list(lengths)}}}}}, (int[]){{{{{_list(starts)}}}}}"
    call = f"MPI_Type_indexed({count}, {arrays}, {{old}}, &{{new}});"
    return call, sum(lengths) * of.elements, (starts[-1] + lengths[-1] + gap) * of.extent


def _hindexed_block(of: Datatype, count: int, length: int, gap: int) -> tuple[str, int, int]:
    starts = [at * (length + gap) * of.extent for at in range(count)][::-1]
    call = (
        f"MPI_Type_create_hindexed_block({count}, {length}, (MPI_Aint[]){{{{{_list(starts)}}}}}, {{old}}, "
        "&{new});"
    )
    return call, count * length * of.elements, count * (length + gap) * of.extent


def _structure(of: Datatype, count: int, length: int, gap: int) -> tuple[str, int, int]:
    starts = [at * (length + gap) * of.extent for at in range(count)]
    arrays = f"(int[]){{{{{_list([length] * count)}}}}}, (MPI_Aint[]){{{{{_list(starts)}}}}}"
    types = ", ".join(["{old}"] * count)
    call = f"MPI_Type_create_struct({count}, {arrays}, (MPI_Datatype[]){{{{{types}}}}}, &{{new}});"
    return call, count * length * of.elements, count * (length + gap) * of.extent


def _subarray(of: Datatype, count: int, length: int, gap: int) -> tuple[str, int, int]:
    sizes, sub, starts = [count + 1, length + gap], [count, length], [1, gap // 2]
    order = "MPI_ORDER_C" if gap % 2 else "MPI_ORDER_FORTRAN"
    arrays = ", ".join(f"(int[]){{{{{_list(values)}}}}}" for values in (sizes, sub, starts))
    call = f"MPI_Type_create_subarray(2, {arrays}, {order}, {{old}}, &{{new}});"
    return call, count * length * of.elements, sizes[0] * sizes[1] * of.extent


def _list(values: list[int]) -> str:
    return ", ".join(map(str, values))


_CONSTRUCTORS = {
    "contiguous": _contiguous,
    "hindexed_block": _hindexed_block,
    "hvector": _hvector,
    "indexed": _indexed,
    "structure": _structure,
    "subarray": _subarray,
    "vector": _vector,
}
"""Each gives the call, the basic elements and the extent [B] of `count` blocks of `length` items."""
