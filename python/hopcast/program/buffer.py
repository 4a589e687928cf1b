"""Buffers of mpi4py's upper-case methods: an array, or a list of it with counts and a datatype."""

import numpy as np

from hopcast.program.payload import Pickled


class Datatype:
    """An element type; names are MPI's."""

    __slots__ = ("dtype", "name")

    def __init__(self, name, dtype):
        self.name = name
        self.dtype = np.dtype(dtype)

    def Get_size(self):
        """[bytes]"""
        return self.dtype.itemsize

    @property
    def size(self):
        """[bytes]"""
        return self.dtype.itemsize

    def Get_extent(self):
        return 0, self.dtype.itemsize

    def Commit(self):
        return self

    def Free(self):
        """Nothing to do: Python frees it."""

    def __repr__(self):
        return f"Datatype({self.name})"


BYTE = Datatype("BYTE", np.uint8)
CHAR = Datatype("CHAR", np.int8)
BOOL = Datatype("BOOL", np.bool_)
SHORT = Datatype("SHORT", np.int16)
INT = Datatype("INT", np.int32)
LONG = Datatype("LONG", np.int64)
UNSIGNED = Datatype("UNSIGNED", np.uint32)
UNSIGNED_LONG = Datatype("UNSIGNED_LONG", np.uint64)
INT8_T = Datatype("INT8_T", np.int8)
INT16_T = Datatype("INT16_T", np.int16)
INT32_T = Datatype("INT32_T", np.int32)
INT64_T = Datatype("INT64_T", np.int64)
UINT8_T = Datatype("UINT8_T", np.uint8)
UINT16_T = Datatype("UINT16_T", np.uint16)
UINT32_T = Datatype("UINT32_T", np.uint32)
UINT64_T = Datatype("UINT64_T", np.uint64)
FLOAT = Datatype("FLOAT", np.float32)
DOUBLE = Datatype("DOUBLE", np.float64)
COMPLEX = Datatype("COMPLEX", np.complex64)
DOUBLE_COMPLEX = Datatype("DOUBLE_COMPLEX", np.complex128)


class Blocks:
    """A buffer cut into one block per rank: counts and displacements in elements."""

    __slots__ = ("array", "counts", "displacements")

    def __init__(self, array, counts, displacements=None):
        self.array = array
        self.counts = [int(count) for count in counts]
        if displacements is None:
            ends = np.cumsum([0, *self.counts])
            displacements = ends[:-1]
        self.displacements = [int(displacement) for displacement in displacements]

    def lengths(self):
        """Length of each block [bytes]."""
        return [count * self.array.itemsize for count in self.counts]

    def block(self, index):
        """The elements of one block, a view."""
        start = self.displacements[index]
        return self.array[start : start + self.counts[index]]


def _flat(memory, datatype):
    """A one-dimensional view of a contiguous buffer."""
    if isinstance(memory, np.ndarray):
        if not memory.flags.c_contiguous:
            raise ValueError("a message buffer must be contiguous; use numpy.ascontiguousarray")
        array = memory.reshape(-1)
    else:
        array = np.frombuffer(memory, dtype=np.uint8)
    return array if datatype is None else array.view(datatype.dtype)


def _take_datatype(spec):
    """Splits a buffer list into its parts before the datatype, and the datatype or None."""
    parts = list(spec)
    datatype = _as_datatype(parts.pop()) if isinstance(parts[-1], (Datatype, str)) else None
    return parts, datatype


def _as_datatype(given):
    """A datatype as it is, or that of NumPy's name for it."""
    return Datatype(given, np.dtype(given)) if isinstance(given, str) else given


def as_array(spec):
    """The elements of a buffer: `array`, `[array, type]`, `[array, count]` or `[array, count, type]`."""
    if not isinstance(spec, (list, tuple)):
        return _flat(spec, None)
    parts, datatype = _take_datatype(spec)
    array = _flat(parts[0], datatype)
    if len(parts) > 1 and parts[1] is not None:
        if parts[1] > len(array):
            raise ValueError(f"a count of {parts[1]} is more than the buffer's {len(array)} elements")
        array = array[: parts[1]]
    return array


def as_blocks(spec, size):
    """The blocks of a buffer: equal ones, or `[array, counts, displs, type]` as mpi4py writes them."""
    if not isinstance(spec, (list, tuple)):
        return equal_blocks(_flat(spec, None), size)
    parts, datatype = _take_datatype(spec)
    array = _flat(parts[0], datatype)
    if len(parts) == 1 or parts[1] is None:
        return equal_blocks(array, size)
    counts, displacements = parts[1], parts[2] if len(parts) > 2 else None
    if isinstance(counts, tuple) and len(counts) == 2 and not np.isscalar(counts[0]):
        counts, displacements = counts
    if np.isscalar(counts):
        return equal_blocks(array[: int(counts) * size], size)  # type: ignore[arg-type]  # a number, as isscalar says
    return Blocks(array, counts, displacements)


class TypedBlocks:
    """A buffer cut into one block per rank, each of a datatype of its own."""

    __slots__ = ("blocks",)

    def __init__(self, memory, counts, displacements, datatypes):
        """`displacements`: where the blocks begin [bytes]."""
        content = _flat(b"" if memory is None else memory, BYTE)
        self.blocks = []
        for count, begin, datatype in zip(counts, displacements, datatypes, strict=True):
            dtype = _as_datatype(datatype).dtype
            end = begin + count * dtype.itemsize
            if begin < 0 or count < 0 or end > len(content):
                raise ValueError(
                    f"a block of {count} {dtype.name} from byte {begin} on lies outside of "
                    f"a buffer of {len(content)} bytes"
                )
            self.blocks.append(content[begin:end].view(dtype))

    def lengths(self):
        """Length of each block [bytes]."""
        return [block.nbytes for block in self.blocks]

    def block(self, index):
        """The elements of one block, a view."""
        return self.blocks[index]


def as_typed_blocks(spec, size):
    """The blocks of `[buffer, counts, displs, types]`, as mpi4py writes them for `Alltoallw`.

    Displacements are in bytes. `[buffer, (counts, displs), types]` is the same, and `[buffer, types]`
    means one element at the begin of the buffer for each rank.
    """
    if not isinstance(spec, (list, tuple)) or not 2 <= len(spec) <= 4:
        raise ValueError("a buffer with a type for each block is written as [buffer, counts, displs, types]")
    memory, *where, datatypes = spec
    if not where:
        where = [[1] * size, [0] * size]
    elif len(where) == 1:
        (where,) = where
    counts, displacements = where
    for name, given in (("counts", counts), ("displacements", displacements), ("datatypes", datatypes)):
        if not hasattr(given, "__len__"):
            raise TypeError(f"{name} are a list, one for each of the {size} blocks, not {given!r}")
        if len(given) != size:
            raise ValueError(f"{len(given)} {name} for {size} blocks")
    return TypedBlocks(memory, counts, displacements, datatypes)


def equal_blocks(array, size):
    """`array` cut into `size` equal blocks."""
    if size == 0:
        return Blocks(array, [])
    if len(array) % size != 0:
        raise ValueError(f"{len(array)} elements cannot be cut into {size} equal blocks")
    return Blocks(array, [len(array) // size] * size)


def fill(array, payload):
    """Writes a received payload to the front of a buffer; a phantom leaves it as it is."""
    if payload is None:
        return
    if type(payload) is Pickled or not isinstance(payload, (bytes, bytearray, np.ndarray)):
        raise TypeError("an object that was sent by send() is received by recv(), not by Recv()")
    content = np.frombuffer(payload, dtype=np.uint8) if not isinstance(payload, np.ndarray) else payload
    content = np.ascontiguousarray(content).reshape(-1).view(np.uint8)
    array.view(np.uint8)[: len(content)] = content
