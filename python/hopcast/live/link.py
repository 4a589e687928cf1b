"""Connection of a compiled program's process to the other processes of its run, over a real MPI."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hopcast.processes import Peers

_EXCHANGE = 0
_LAST_ANSWER_S = 5.0


class Link:
    """Passes on, while it lasts, what the process of the program says to those of other processes."""

    def __init__(self, peers: Peers):
        self._peers = peers
        self._ours, self._theirs = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def socket(self) -> int:
        """The program's end, which its process inherits."""
        return self._theirs.fileno()

    def __enter__(self) -> Link:
        self._thread.start()
        return self

    def __exit__(self, *_error) -> None:
        self._theirs.close()
        # After a process was killed, it may wait for others, which are ended then.
        self._thread.join(_LAST_ANSWER_S)
        self._ours.close()

    def _serve(self) -> None:
        # A process that was killed is known from its exit code.
        with contextlib.suppress(ConnectionError), self._ours.makefile("rb") as reader:
            while head := reader.read(16):
                kind, count = struct.unpack("<QQ", head)
                lengths = struct.unpack(f"<{count}Q", reader.read(8 * count))
                parts = [reader.read(length) for length in lengths]
                answer = self._peers.exchange(parts) if kind == _EXCHANGE else self._peers.share(parts[0])
                answer_head = struct.pack(f"<{len(answer)}Q", *map(len, answer))
                self._ours.sendall(b"".join([answer_head, *answer]))
