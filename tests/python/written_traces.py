"""Recordings in hopcast's own format, written by hand: what the tests of traces replay.

A call is a dict as docs/trace-format.md has it, with the time before it and in it
as `gap_us` and `length_us` [default: 0].
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

INIT = {"call": "MPI_Init", "did": "overhead"}
FINALIZE = {"call": "MPI_Finalize", "did": "finalize"}
NOTHING = {"call": "MPI_Comm_rank", "did": "overhead"}

NETWORK = """
name = "slow"
[topology]
kind = "crossbar"
hosts = 4
[host]
processes = 1
[host.memory]
latency = "0 s"
bandwidth = "1 TB/s"
[nic]
bandwidth = "1 MB/s"
latency = "0 s"
[mpi]
eager_limit = "1 TiB"
[compute]
flop_rate = "1 Gflop/s"
"""
"""1 µs for each byte, and nothing else."""


def slow_network(folder: Path) -> Path:
    """The platform file `slow.toml` in a folder: 1 µs for each byte of a message."""
    file = folder / "slow.toml"
    file.write_text(NETWORK)
    return file


def send(to: int, size: int = 8, tag: int = 0, **more) -> dict:
    """MPI_Send."""
    return {"call": "MPI_Send", "did": "send", "to": to, "tag": tag, "comm": 0, "bytes": size} | more


def receive(source: int | None, came: int | None = None, tag: int = 0, **more) -> dict:
    """MPI_Recv of a rank, or of any, when it received what rank `came` sent."""
    call = {"call": "MPI_Recv", "did": "receive", "tag": tag, "comm": 0, "capacity": 1 << 20}
    call["from"] = "any" if source is None else {"rank": source}
    if came is not None:
        call["matched"] = {"source": came, "tag": tag}
    return call | more


def complete(*requests: int) -> dict:
    """MPI_Waitall."""
    return {"call": "MPI_Waitall", "did": "complete", "requests": list(requests)}


def allreduce(size: int = 8, comm: int = 0, **more) -> dict:
    """MPI_Allreduce."""
    call = {"call": "MPI_Allreduce", "did": "collective", "kind": "allreduce", "comm": comm}
    return call | {"sizes": {"equal": size}, "element": 8, "commutative": True} | more


def made(how: object, comm: int | None, parent: int = 0, **more) -> dict:
    """Call that makes a communicator."""
    call = {"call": "MPI_Comm_made", "did": "new_comm", "parent": parent, "how": how, "comm": comm}
    return call | more


def write(
    folder: Path,
    calls_of_ranks: list[list[dict]],
    starts_ns: list[int] | None = None,
    counts: tuple[str, ...] = (),
    killed: dict[int, dict | None] | None = None,
    finalize_us: tuple[float, ...] = (),
) -> Path:
    """The recording of these calls of each rank, between MPI_Init and MPI_Finalize.

    counts: what is counted between calls; how much before each call is in it, under that name [default: 0].
    killed: the ranks that were, and have no MPI_Finalize, with where they stood then.
    finalize_us: how long each rank was in MPI_Finalize [default: 0].
    """
    folder.mkdir(parents=True)
    ranks = len(calls_of_ranks)
    for rank, calls in enumerate(calls_of_ranks):
        head = {
            "rank": rank,
            "ranks": ranks,
            "host": "host",
            "start_unix_ns": starts_ns[rank] if starts_ns else 0,
            "tallied": False,
            "counts": [{"name": name, "unit": name} for name in counts],
        }
        if rank in (killed or {}):
            content, _ = _rank(head, [INIT, *calls])
            content += b"HCTS" + _sized(_text(killed[rank]))
        else:
            finalize = FINALIZE | {"length_us": finalize_us[rank] if finalize_us else 0}
            content = b"".join(_rank(head, [INIT, *calls, finalize]))
        (folder / f"rank-{rank:06}.hct").write_bytes(content)
    return folder


def _rank(head: dict, calls: list[dict]) -> tuple[bytes, bytes]:
    """The file up to its end, and that."""
    counted = [count["name"] for count in head["counts"]]
    shapes: list[dict] = []
    sequence, gaps, lengths = b"", b"", b""
    now_ns = 0
    for call in calls:
        shape = {key: value for key, value in call.items() if key not in _TIMES and key not in counted}
        if shape not in shapes:
            shapes.append(shape)
        sequence += _number(2 * shapes.index(shape)) + _number(1)
        gap_ns, length_ns = (round(1000 * call.get(key, 0)) for key in _TIMES)
        gaps, lengths = gaps + _number(gap_ns), lengths + _number(length_ns)
        now_ns += gap_ns + length_ns
    texts = b"".join(_number(len(text)) + text for text in map(_text, shapes))
    payload = _number(0) + _number(len(shapes)) + texts + _number(0)
    payload += _number(len(calls)) + sequence + _number(2 if counted else 0) + gaps + lengths
    if counted:
        payload += _number(len(counted))
    for kind, name in enumerate(counted, 2):
        payload += _number(kind) + b"".join(_number(call.get(name, 0)) for call in calls)
    packed = _zstandard(payload)
    block = b"HCTB" + struct.pack("<III", len(payload), len(packed), zlib.crc32(packed)) + packed
    end = {
        "calls": len(calls),
        "messages": 0,
        "bytes": 0,
        "first_ns": 0,
        "last_ns": now_ns,
        "in_mpi_ns": 0,
        "finalized": calls[-1]["did"] == "finalize",
    }
    if end["finalized"]:
        end["finalize_ns"] = length_ns
    magic = b"HCT3" if counted else b"HCT1"
    return magic + _sized(_text(head)) + block, b"HCTE" + _sized(_text(end))


_TIMES = ("gap_us", "length_us")


def _text(value: dict | None) -> bytes:
    return json.dumps(value).encode()


def _sized(text: bytes) -> bytes:
    return struct.pack("<I", len(text)) + text


def _number(value: int) -> bytes:
    """As LEB128."""
    written = b""
    while value >= 128:
        written += bytes([value & 127 | 128])
        value >>= 7
    return written + bytes([value])


def _zstandard(data: bytes) -> bytes:
    """A frame of one segment and one block, which is not compressed (RFC 8878, section 3.1.1)."""
    assert len(data) < 1 << 17
    last_raw_block = len(data) << 3 | 1
    return (
        struct.pack("<IBI", 0xFD2FB528, 0b1010_0000, len(data)) + last_raw_block.to_bytes(3, "little") + data
    )
