"""Mail with codes, which a thread sends, so that no answer takes longer because a mail is sent."""

from __future__ import annotations

import contextlib
import queue
import smtplib
import ssl
import sys
import threading
from email.message import EmailMessage
from email.utils import formatdate, make_msgid

from hopcast.service.settings import Encryption, Smtp

_TIMEOUT_S = 20.0
_WAITING = 1000
"""Mails that wait to be sent; more are dropped."""
_ATTEMPTS = 3


class Mailer:
    """Sends mails one after the other, in the order in which they were given."""

    def __init__(self, smtp: Smtp, retry_s: float = 5.0) -> None:
        self._smtp, self._retry_s = smtp, retry_s
        self._waiting: queue.Queue[EmailMessage | None] = queue.Queue(_WAITING)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="mailer", daemon=True)

    def start(self) -> None:
        """Begins to send, after a look whether the mail server answers."""
        self._thread.start()

    def close(self) -> None:
        """Ends after the mail that is being sent."""
        self._closing.set()
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(None)
        self._thread.join(_TIMEOUT_S)

    def send(self, address: str, subject: str, text: str) -> None:
        """Gives a mail to be sent; what is wrong with it is written to standard error."""
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = self._smtp.sender, address, subject
        mail["Date"], mail["Message-ID"] = (
            formatdate(),
            make_msgid(domain=self._smtp.sender.partition("@")[2]),
        )
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(text)
        try:
            self._waiting.put_nowait(mail)
        except queue.Full:
            _say(f"more than {_WAITING} mails wait: one to {address} is not sent")

    def check(self) -> str | None:
        """The reason why the mail server takes nothing from here; None if it does."""
        try:
            with self._connected():
                return None
        except (OSError, smtplib.SMTPException) as error:
            return f"the mail server {self._smtp.host}:{self._smtp.port} fails: {_words(error)}"

    def _work(self) -> None:
        if (problem := self.check()) is not None:
            _say(problem)
        while not self._closing.is_set():
            mail = self._waiting.get()
            if mail is not None:
                self._deliver(mail)

    def _deliver(self, mail: EmailMessage) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                with self._connected() as server:
                    server.send_message(mail)
                return
            except (OSError, smtplib.SMTPException) as error:
                _say(f"a mail to {mail['To']} was not sent: {_words(error)}")
                if isinstance(error, smtplib.SMTPRecipientsRefused | smtplib.SMTPSenderRefused):
                    return
            if attempt + 1 < _ATTEMPTS and self._closing.wait(self._retry_s):
                return

    def _connected(self) -> smtplib.SMTP:
        smtp, context = self._smtp, ssl.create_default_context()
        if smtp.encryption is Encryption.TLS:
            server: smtplib.SMTP = smtplib.SMTP_SSL(smtp.host, smtp.port, timeout=_TIMEOUT_S, context=context)
        else:
            server = smtplib.SMTP(smtp.host, smtp.port, timeout=_TIMEOUT_S)
        try:
            if smtp.encryption is Encryption.STARTTLS:
                server.starttls(context=context)
            if smtp.user is not None:
                server.login(smtp.user, smtp.password or "")
        except BaseException:
            server.close()
            raise
        return server


def _words(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        said = error.smtp_error
        return f"{error.smtp_code} {said.decode(errors='replace') if isinstance(said, bytes) else said}"
    return str(error) or type(error).__name__


def _say(text: str) -> None:
    print(f"hopcast serve: {text}", file=sys.stderr, flush=True)
