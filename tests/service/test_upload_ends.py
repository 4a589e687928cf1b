"""Servers that end while a file comes: the upload goes on where it was."""

from __future__ import annotations

import signal
import socket
import time
from urllib.parse import urlsplit

import pytest
from conftest import request
from servers import Server

from hopcast.errors import InputError

LINES = b"".join(b"%d\n" % host for host in range(3))
"""A placement."""


def begun(server: Server, upload: str, whole_B: int, piece: bytes) -> socket.socket:
    """Connection on which a piece of an upload comes, of which this is the beginning."""
    address = urlsplit(server.address)
    slow = socket.create_connection((address.hostname, address.port))
    head = [
        f"PATCH /api/v1/uploads/{upload} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {server.token}",
        "Upload-Offset: 0",
        f"Content-Length: {whole_B}",
    ]
    slow.sendall("\r\n".join([*head, "", ""]).encode() + piece)
    return slow


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_upload_survives_the_end_of_its_server(number: int, server: Server) -> None:
    upload = server.client._json("POST", "/uploads", {"name": "places", "size_B": len(LINES)})["id"]
    file = server.data / "uploads" / upload
    with begun(server, upload, len(LINES), LINES[:3]):
        end_s = time.monotonic() + 30
        while file.stat().st_size < 3:
            assert time.monotonic() < end_s
            time.sleep(0.05)
        begin_s = time.monotonic()
        server.end(number)
        assert time.monotonic() < begin_s + 20, "it waits for no client"
    again = Server(server.data)
    try:
        come_B = again.client._json("GET", f"/uploads/{upload}")["received_B"]
        assert come_B == (3 if number == signal.SIGTERM else 0)
        with pytest.raises(InputError, match="have come so far"):
            again.client.submit(request(3, placement="places"), {"places": upload})
        headers = {"Upload-Offset": str(come_B)}
        with again.client._asked("PATCH", f"/uploads/{upload}", LINES[come_B:], headers):
            assert file.read_bytes() == LINES
        run = again.client.submit(request(3, placement="places"), {"places": upload})["id"]
        assert again.client.wait(run)["state"] == "finished"
    finally:
        again.end()


def test_of_a_large_piece_a_killed_server_loses_its_end(server: Server) -> None:
    whole_B, noted_B = 80 << 20, 32 << 20
    upload = server.client._json("POST", "/uploads", {"name": "trace", "size_B": whole_B})["id"]
    file = server.data / "uploads" / upload
    with begun(server, upload, whole_B, bytes(70 << 20)):
        end_s = time.monotonic() + 60
        while file.stat().st_size < 70 << 20:
            assert time.monotonic() < end_s
            time.sleep(0.05)
        server.end(signal.SIGKILL)
    again = Server(server.data)
    try:
        come_B = again.client._json("GET", f"/uploads/{upload}")["received_B"]
        assert 2 * noted_B <= come_B < 70 << 20
        with again.client._asked("PATCH", f"/uploads/{upload}", b"x", {"Upload-Offset": str(come_B)}):
            assert file.stat().st_size == come_B + 1
    finally:
        again.end()
