"""The other side of the HTTP interface, for scripts: submit runs and studies of this machine, wait, fetch."""

from __future__ import annotations

import io
import json
import os
import re
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import quote, urlsplit

from hopcast.errors import InputError

TOKEN_VARIABLE = "HOPCAST_TOKEN"
"""Variable of the environment that holds a token."""

_PREFIX = "/api/v1"
_PIECE_B = 8 << 20
_TIMEOUT_S = 120
"""Silence after which a server counts as one that does not answer [s]; an answer may go on for any time."""
_TRIES = 5
"""Times that a piece of an upload is sent of which nothing comes."""
_BUSY = (429, 502, 503, 504)
PATIENCE_S = 300.0
"""Time for which who waits asks a server again that is busy, or answers no more [s]."""
_AGAIN_EVERY_S = 2.0
_PLACE = re.compile(r"(?P<server>https?://[^/]+)(?:/api/v1)?/(?P<kind>runs|studies)/(?P<id>[\w-]+)/?")

_Answer = TypeVar("_Answer")

Transfer = Callable[[str, "int | None"], AbstractContextManager[Callable[[int], None]]]
"""Shows how much of a file has been moved, as `progress.transfer` does."""


def _unseen(_done: str, _total_B: int | None) -> AbstractContextManager[Callable[[int], None]]:
    return nullcontext(lambda _more_B: None)


class Busy(InputError):
    """A server that cannot answer now, but may do so in a minute."""


class Away(Busy):
    """A server that has answered before, and does not now: it may be started again."""


class Client:
    """One server, and a user of it."""

    def __init__(
        self,
        server: str,
        token: str | None = None,
        say: Callable[[str], None] = lambda _words: None,
        transfer: Transfer = _unseen,
    ) -> None:
        """say: function that tells the user why it takes long; transfer: one that shows how it goes on."""
        try:
            address = urlsplit(server)
            is_server = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
        except ValueError:
            is_server = False
        if not is_server:
            raise InputError(f"{server}: is no address of a server, such as http://localhost:8080")
        self._server = f"{address.scheme}://{address.netloc}"
        self._token = token or os.environ.get(TOKEN_VARIABLE)
        self._say, self._transfer, self._has_answered = say, transfer, False

    @contextmanager
    def uploaded(self, files: Mapping[str, Path]) -> Iterator[dict[str, str]]:
        """Ids of uploads of these files by name, which count until the end of the block.

        What was submitted by then keeps its files.
        """
        ids: dict[str, str] = {}
        try:
            for name, path in files.items():
                self._upload(ids, name, path)
            yield ids
        finally:
            for upload in ids.values():
                with suppress(InputError):  # it goes by itself after some days
                    self._empty("DELETE", f"/uploads/{upload}")

    def estimate(self, request: Mapping[str, Any], uploads: Mapping[str, str]) -> dict[str, Any]:
        """Needs of a run, whose request calls uploads by these names."""
        return self._json("POST", "/estimates", {"request": request, "files": uploads})

    def submit(
        self, request: Mapping[str, Any], uploads: Mapping[str, str], name: str = "", notes: str = ""
    ) -> dict[str, Any]:
        """Submits a request that calls uploads by these names; gives the run's state."""
        body = {"request": request, "files": uploads, "name": name, "notes": notes}
        return self._json("POST", "/runs", body)

    def state(self, run: str) -> dict[str, Any]:
        """State of a run."""
        return self._json("GET", f"/runs/{run}")

    def named(self, name: str) -> dict[str, Any] | None:
        """The latest run of the user whose name begins so."""
        found = self._json("GET", f"/runs?search={quote(name)}&limit=200")["runs"]
        return next((run for run in found if run["name"].startswith(name)), None)

    def wait(
        self, run: str, every_s: float = 0.5, look: Callable[[dict[str, Any]], None] | None = None
    ) -> dict[str, Any]:
        """State of a run once it is over; `look` gets each one before."""
        while True:
            state = self._patiently(lambda: self.state(run))
            if state["ended_at"] is not None:
                return state
            if look is not None:
                look(state)
            time.sleep(every_s)

    def fetch(self, run: str, file: IO[bytes]) -> None:
        """Writes the ZIP archive of a run."""
        self._patiently(lambda: self._write(f"/runs/{run}/archive", file))

    def page(self, run: str) -> str:
        """Address of a run's page."""
        return f"{self._server}/runs/{run}"

    def estimate_study(self, text: str, uploads: Mapping[str, str]) -> dict[str, Any]:
        """Needs of a study, whose file calls uploads by these names."""
        return self._json("POST", "/studies/estimates", {"study": text, "files": uploads})

    def submit_study(self, text: str, uploads: Mapping[str, str], name: str = "") -> dict[str, Any]:
        """Submits a study file that calls uploads by these names; gives the study's state."""
        return self._json("POST", "/studies", {"study": text, "files": uploads, "name": name})

    def study(self, study: str) -> dict[str, Any]:
        """State of a study and of its cells."""
        return self._json("GET", f"/studies/{study}")

    def wait_study(
        self, study: str, every_s: float = 1.0, look: Callable[[dict[str, Any]], None] | None = None
    ) -> dict[str, Any]:
        """State of a study once nothing more happens to its cells; `look` gets each one before."""
        while not (state := self._patiently(lambda: self.study(study)))["is_over"]:
            if look is not None:
                look(state)
            time.sleep(every_s)
        return state

    def fetch_study(self, study: str, part: str, file: IO[bytes]) -> None:
        """Writes a part of a study, `archive` or `table`, which the server may have to make first."""
        self._patiently(lambda: self._write(f"/studies/{study}/{part}", file))

    def study_page(self, study: str) -> str:
        """Address of a study's page."""
        return f"{self._server}/studies/{study}"

    def _write(self, path: str, file: IO[bytes]) -> None:
        file.seek(0)
        file.truncate()  # of an answer that ended early
        with self._asked("GET", path) as answer:
            size_B = int(answer.headers.get("Content-Length") or 0)
            left_B = size_B
            with self._transfer("fetched", size_B or None) as moved:
                while piece := answer.read1(1 << 20):  # what has come, and not as much as that
                    file.write(piece)
                    left_B -= len(piece)
                    moved(len(piece))
        if left_B > 0:
            raise Away(f"{self._server}: the connection ended {left_B:,} bytes early")

    def _upload(self, ids: dict[str, str], name: str, path: Path) -> None:
        """Uploads a file, and notes its id before its first byte goes."""
        size_B = path.stat().st_size
        upload = self._json("POST", "/uploads", {"name": name, "size_B": size_B})
        ids[name] = upload["id"]
        place, failures = f"/uploads/{upload['id']}", 0
        with open(path, "rb") as file, self._transfer(f"{name}: uploaded", size_B) as moved:
            while (before_B := upload["received_B"]) < size_B:
                file.seek(before_B)
                piece = _Counted(file.read(_PIECE_B), moved)
                if not piece.size_B:
                    raise InputError(f"{path}: has become shorter meanwhile")
                headers = {"Upload-Offset": str(before_B), "Content-Length": str(piece.size_B)}
                try:
                    with self._asked("PATCH", place, piece, headers) as answer:
                        upload, failures = json.load(answer), 0
                except Away:
                    failures += 1
                    if failures > _TRIES:
                        raise
                    upload = self._patiently(lambda: self._json("GET", place))
                moved(upload["received_B"] - before_B - piece.tell())  # of one that broke off, some is lost

    def _empty(self, method: str, path: str) -> None:
        """Asks for what has no answer but that it is done."""
        with self._asked(method, path):
            pass

    def _json(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        with self._asked(method, path, data, {"Content-Type": "application/json"}) as answer:
            return json.load(answer)

    @contextmanager
    def _asked(
        self,
        method: str,
        path: str,
        data: bytes | IO[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Iterator[Any]:
        """The answer of the server. Raises `InputError` with the server's words, or why there is none."""
        own = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        asked = urllib.request.Request(
            f"{self._server}{_PREFIX}{path}", data, {**(headers or {}), **own}, method=method
        )
        try:
            with urllib.request.urlopen(asked, timeout=_TIMEOUT_S) as answer:
                self._has_answered = True
                yield answer
        except urllib.error.HTTPError as error:
            self._has_answered = True
            kind = Busy if error.code in _BUSY else InputError
            raise kind(_words(self._server, error)) from error
        except (urllib.error.URLError, HTTPException, ConnectionError, TimeoutError) as error:
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            # One that has never answered is not there: to wait for it would hide a wrong address.
            raise (Away if self._has_answered else InputError)(
                f"{self._server}: no answer: {reason}"
            ) from error

    def _patiently(self, ask: Callable[[], _Answer]) -> _Answer:
        """Result of a question that is asked again while the server is busy or away."""
        end_s, failures = 0.0, 0
        while True:
            try:
                return ask()
            except Busy as error:
                failures += 1
                end_s = end_s or time.monotonic() + PATIENCE_S
                if time.monotonic() > end_s:
                    raise
                if failures == (1 if isinstance(error, Away) else 2):
                    self._say(f"{error}; it is asked again for {PATIENCE_S:g} s")
                time.sleep(_AGAIN_EVERY_S)


class _Counted(io.BytesIO):
    """Bytes that are sent, which are counted as they go."""

    def __init__(self, content: bytes, moved: Callable[[int], None]) -> None:
        super().__init__(content)
        self.size_B, self._moved = len(content), moved

    def read(self, most_B: int | None = -1) -> bytes:
        """Reads some of them, see `io.BytesIO.read`."""
        piece = super().read(most_B)
        self._moved(len(piece))
        return piece


def _words(server: str, error: urllib.error.HTTPError) -> str:
    """The server's own words of an error."""
    text = error.read().decode(errors="replace")
    try:
        detail = json.loads(text)["detail"]
    except (ValueError, KeyError, TypeError):
        detail = text.strip() or error.reason
    if error.code == 401:
        return f"{server}: {detail}; {server}/tokens makes tokens for --token or {TOKEN_VARIABLE}"
    return detail if isinstance(detail, str) else f"{server}: {json.dumps(detail)}"


def place_of(address: str) -> tuple[str, str, str]:
    """Server, `runs` or `studies`, and id of an address. Raises `InputError`."""
    found = _PLACE.fullmatch(address)
    if found is None:
        raise InputError(
            f"{address}: is no address of a run or a study, such as http://localhost:8080/runs/ID"
        )
    return found["server"], found["kind"], found["id"]


def portable(request: Any) -> tuple[dict[str, Any], dict[str, Path]]:
    """A `RunRequest` as a server takes it, and files of this machine by their names in it."""
    fields, named = portable_with_texts(request)
    return fields, {path.name: path for path in named.values()}


def portable_with_texts(request: Any) -> tuple[dict[str, Any], dict[str, Path]]:
    """The same, with files by the texts that name them in the request as it was."""
    fields = {
        key: value for key, value in request.fields().items() if key not in ("out", "directory", "made_by")
    }
    base = Path(request.directory or ".")
    named: dict[str, Path] = {}

    def sent(text: str) -> str:
        """The name of a file that goes along; the text itself if it names none."""
        path = base / text
        if not path.is_file():
            return text
        if any(other.name == path.name and other != path for other in named.values()):
            raise InputError(f"{text}: another file of this run has the same name, {path.name}")
        named[text] = path
        return path.name

    if isinstance(fields["platform"], str):
        fields["platform"] = sent(fields["platform"])
    if isinstance(fields.get("placement"), str):
        fields["placement"] = sent(fields["placement"])
    workload = dict(fields["workload"])
    if workload["kind"] == "trace":
        if (base / workload["path"]).is_dir():
            raise InputError(
                f"{workload['path']}: is a folder; a server takes a file: "
                f"tar -czf trace.tar.gz -C {workload['path']} ."
            )
        workload["path"] = sent(workload["path"])
    elif workload["kind"] == "jobs" and "path" in workload:
        workload = {"kind": "jobs", "jobs": _listed(str(base / workload["path"]), sent)}
    elif workload["kind"] in ("compiled", "mpi4py", "function"):
        # A server says itself whether it runs programs.
        key = "file" if workload["kind"] == "function" else "path"
        if not isinstance(workload.get(key), str) or not (base / workload[key]).is_file():
            raise InputError("a function without a file cannot be sent to a server; name its file")
        workload[key] = sent(workload[key])
    fields["workload"] = workload
    return fields, named


def _listed(path: str, sent: Callable[[str], str]) -> list[dict[str, Any]]:
    """The jobs of a file, as a request lists them."""
    from hopcast.workloads import jobs

    with ExitStack() as stack:
        listed = jobs.read(path, stack)
    for job in listed:
        if job["workload"]["kind"] != "pattern":
            raise InputError(f"{path}: job '{job['name']}' is a trace; a server takes jobs of patterns")
        if isinstance(job["placement"], str):
            job["placement"] = sent(job["placement"])
    return listed


def unpack(archive: Path, into: Path, transfer: Transfer = _unseen) -> None:
    """Unpacks the archive of a run, whose names all begin with the run's own folder, into a new folder.

    Raises `InputError` where the folder exists, the archive is damaged, or a name leads out of it.
    """
    if into.exists():
        raise InputError(f"{into}: exists; name a directory that does not exist yet")
    try:
        with zipfile.ZipFile(archive) as packed:
            _unpack(packed, into, transfer)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputError(f"what the server has sent is no whole archive: {error}") from error


def _unpack(packed: zipfile.ZipFile, into: Path, transfer: Transfer) -> None:
    for entry in packed.infolist():
        _, slash, inside = entry.filename.partition("/")
        target = into / inside
        if not slash or into.resolve() not in target.resolve().parents:
            raise InputError(f"{packed.filename}: {entry.filename!r} leads out of the archive")
    with transfer("unpacked", sum(entry.file_size for entry in packed.infolist())) as moved:
        for entry in packed.infolist():
            target = into / entry.filename.partition("/")[2]
            target.parent.mkdir(parents=True, exist_ok=True)
            with packed.open(entry) as source, open(target, "wb") as out:
                while piece := source.read(1 << 20):
                    out.write(piece)
                    moved(len(piece))
