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
        self._waiting: queue.Queue[tuple[str, EmailMessage] | None] = queue.Queue(_WAITING)
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
        try:
            self._waiting.put_nowait((address, self._mail(address, subject, text)))
        except queue.Full:
            _say(f"more than {_WAITING} mails wait: one to {address} is not sent")
        except Exception as error:  # an answer must not tell for which addresses a mail is made
            _say(f"a mail to {address} cannot be made: {_words(error)}")

    def _mail(self, address: str, subject: str, text: str) -> EmailMessage:
        mail, sender = EmailMessage(), self._smtp.sender
        mail["From"], mail["To"], mail["Subject"] = sender, address, subject
        mail["Date"], mail["Message-ID"] = formatdate(), make_msgid(domain=sender.partition("@")[2])
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(text)
        return mail

    def check(self) -> str | None:
        """The reason why the mail server takes nothing from here; None if it does."""
        try:
            with self._connected():
                return None
        except (OSError, smtplib.SMTPException) as error:
            return f"the mail server {self._smtp.host}:{self._smtp.port} fails: {_words(error)}"

    def _work(self) -> None:
        try:
            if (problem := self.check()) is not None:
                _say(problem)
        except Exception as error:
            _say(f"the mail server cannot be tried: {_words(error)}")
        while not self._closing.is_set():
            waiting = self._waiting.get()
            if waiting is None:
                continue
            try:
                self._deliver(*waiting)
            except Exception as error:  # of one mail: the thread goes on with the next
                _say(f"a mail to {waiting[0]} was not sent: {_words(error)}")

    def _deliver(self, address: str, mail: EmailMessage) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                with self._connected() as server:
                    # A server gets the address as it was checked, and not as it reads in the mail.
                    server.send_message(mail, to_addrs=[address])
                return
            except (OSError, smtplib.SMTPException) as error:
                _say(f"a mail to {address} was not sent: {_words(error)}")
                if _is_refused(error):
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


def _is_refused(error: Exception) -> bool:
    """True if the server refuses address or sender for good; after a code 4xx it may take them later."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= 500 for code, _ in error.recipients.values())
    return isinstance(error, smtplib.SMTPSenderRefused) and error.smtp_code >= 500


def _words(error: Exception) -> str:
    code: int
    said: bytes | str
    if isinstance(error, smtplib.SMTPRecipientsRefused) and error.recipients:
        code, said = next(iter(error.recipients.values()))
    elif isinstance(error, smtplib.SMTPResponseException):
        code, said = error.smtp_code, error.smtp_error
    else:
        return str(error) or type(error).__name__
    return f"{code} {said.decode(errors='replace') if isinstance(said, bytes) else said}"


def _say(text: str) -> None:
    print(f"hopcast serve: {text}", file=sys.stderr, flush=True)
