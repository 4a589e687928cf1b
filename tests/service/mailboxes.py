"""A mail server of a test, which keeps what it is given, and may ask for encryption and a password."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import time
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

PASSWORD = "of the mail server"


class Mailbox:
    """A mail server on a free port of the loopback interface."""

    def __init__(self, certificate: Path | None = None, by_tls: bool = False) -> None:
        self.mails: list[Message] = []
        self.refuses = False
        self.refused = 0
        flags: dict[str, Any] = {}
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            flags["authenticator"] = _authenticate
            # aiosmtpd takes a connection that is encrypted from its first byte for one that is not.
            flags |= (
                {"ssl_context": context, "auth_require_tls": False}
                if by_tls
                else {"tls_context": context, "require_starttls": True}
            )
        self._asks_password = certificate is not None
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port, **flags)
        self._controller.start()

    async def handle_MAIL(
        self, _server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        """Takes a sender who has given the password."""
        if self._asks_password and not session.authenticated:
            return "530 5.7.0 Authentication required"
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        """Takes a mail."""
        if self.refuses:
            self.refused += 1
            return "451 try again later"
        self.mails.append(message_from_bytes(envelope.content))
        return "250 taken"

    def code_to(self, address: str, limit_s: float = 20) -> str:
        """The latest code that was sent to an address, which is awaited and taken out."""
        end_s = time.monotonic() + limit_s
        while not (found := [mail for mail in self.mails if mail["To"] == address]):
            assert time.monotonic() < end_s, f"no mail to {address}: {[mail['To'] for mail in self.mails]}"
            time.sleep(0.01)
        self.mails.remove(found[-1])
        return re.findall(r"\d{4} \d{4}", str(found[-1].get_payload()))[0]

    def close(self) -> None:
        """Ends it."""
        self._controller.stop()


def _authenticate(_server: Any, _session: Any, _envelope: Any, _mechanism: str, data: Any) -> AuthResult:
    is_right = isinstance(data, LoginPassword) and data == LoginPassword(b"hopcast", PASSWORD.encode())
    return AuthResult(success=is_right, handled=False)


def certificate(folder: Path) -> Path:
    """File with a new key and a certificate of `localhost`, by openssl."""
    file, key = folder / "mail.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(key)]
    command += ["-out", str(file), "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(command, check=True, capture_output=True)
    file.write_text(key.read_text() + file.read_text())
    return file
