"""The service's database: runs, users, tokens and uploads."""

from __future__ import annotations

import hashlib
import secrets
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    DDL,
    URL,
    ColumnElement,
    Connection,
    Engine,
    create_engine,
    delete,
    event,
    func,
    inspect,
    make_url,
    or_,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session, defer, load_only, sessionmaker
from sqlalchemy.schema import CreateColumn

from hopcast.service.queue_store import QueueTables
from hopcast.service.schema import Base, Blocked, Run, State, StudyCell, Token, Upload, User
from hopcast.service.study_store import StudyTables

_BUSY_MS = 30_000
"""Time for which a writer waits for another one [ms]."""

_LOCK = 0x686F70636173
"""Number of the lock that a server holds in its database."""

_POSTGRESQL: dict[str, Any] = {
    "pool_pre_ping": True,  # connections of a server that was started anew are replaced
    "pool_size": 16,
    "max_overflow": 48,
    "connect_args": {"connect_timeout": 10},
}


def secret() -> str:
    """A name that nobody guesses, of 128 bits."""
    return secrets.token_urlsafe(16)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Store(StudyTables, QueueTables):
    """Answers and changes of the database; each method is one transaction."""

    def __init__(self, address: URL | str) -> None:
        super().__init__()
        url = make_url(address)
        if url.get_backend_name() == "sqlite":
            self._engine = create_engine(url)
            event.listen(self._engine, "connect", _prepare_sqlite)
        else:
            self._engine = create_engine(url, **_POSTGRESQL)
            event.listen(self._engine, "before_cursor_execute", _without_nul, retval=True)
        self._lock: Connection | None = None
        self._is_locked = self._is_taken = False
        self._locking = threading.Lock()
        Base.metadata.create_all(self._engine)
        _add_columns(self._engine)
        self.sessions: Any = sessionmaker(self._engine, expire_on_commit=False)
        self.note_words_of_studies()

    def lock(self) -> bool:
        """Takes the database for this server alone, until either ends; False if another server has it.

        A database in a file is in the folder of the data, which has a lock of its own.
        """
        if self._engine.dialect.name == "sqlite":
            return True
        self._lock = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        self._is_locked = bool(self._lock.scalar(select(func.pg_try_advisory_lock(_LOCK))))
        return self._is_locked

    def _keeps_lock(self) -> bool:
        """True unless another server has taken the database; a lock that was lost is taken again."""
        with self._locking:
            if self._lock is None:
                return True
            if self._is_locked:
                try:  # the lock lives as long as its connection
                    self._lock.scalar(select(1))
                    return True
                except DBAPIError:
                    self._is_locked = False
            self._end_lock()
            was_taken, self._is_taken = self._is_taken, not self.lock()
            if self._is_taken and not was_taken:
                text = "another server has taken the database: no run begins here until it ends"
                print(f"hopcast serve: {text}", file=sys.stderr, flush=True)
            return self._is_locked

    def _end_lock(self) -> None:
        if self._lock is not None and not self._lock.closed:
            self._lock.invalidate()
            self._lock.close()

    def close(self) -> None:
        """Closes all connections."""
        self._end_lock()
        self._engine.dispose()

    def _begin(self) -> Any:
        return self.sessions.begin()

    # Users and tokens

    def user(self, name: str) -> User:
        """The user of this name, made if there is none."""
        wanted = select(User).where(User.name == name)
        try:
            with self._begin() as session:
                found = session.scalar(wanted)
                if found is None:
                    found = User(name=name)
                    session.add(found)
                return found
        except IntegrityError:  # made at the same time by another request
            with self._begin() as session:
                return session.scalars(wanted).one()

    def issue(self, user: User, kind: str, lifetime_s: float | None = None, label: str = "") -> str:
        """A new token of a user; it is shown once, and only its hash is kept."""
        token = secrets.token_urlsafe(32)
        expires_at = None if lifetime_s is None else time.time() + lifetime_s
        with self._begin() as session:
            session.add(
                Token(hash=_hash(token), kind=kind, user_id=user.id, label=label, expires_at=expires_at)
            )
        return token

    def bearer(self, token: str, kind: str) -> User | None:
        """The user for whom a token of this kind stands; None for one that is unknown or expired."""
        with self._begin() as session:
            return self._bearer(session, token, kind)

    def spend(self, token: str) -> User | None:
        """The user for whom a token stands that counts once, and not again."""
        with self._begin() as session:
            user = self._bearer(session, token, "once")
            spent = session.execute(delete(Token).where(Token.hash == _hash(token), Token.kind == "once"))
            return user if spent.rowcount else None

    def _bearer(self, session: Session, token: str, kind: str) -> User | None:
        is_valid = or_(Token.expires_at.is_(None), Token.expires_at > time.time())
        wanted = select(User).join(Token, Token.user_id == User.id).outerjoin(Blocked)
        wanted = wanted.where(Token.hash == _hash(token), Token.kind == kind, is_valid)
        return session.scalar(wanted.where(Blocked.user_id.is_(None)))

    def tokens(self, user: User) -> Sequence[Token]:
        """Tokens for scripts of a user."""
        with self._begin() as session:
            wanted = select(Token).where(Token.user_id == user.id, Token.kind == "api")
            return session.scalars(wanted.order_by(Token.created_at)).all()

    def revoke(self, user: User, token_id: int) -> bool:
        """Removes a token for scripts; False if the user has no such token."""
        with self._begin() as session:
            mine = delete(Token).where(Token.id == token_id, Token.user_id == user.id, Token.kind == "api")
            return bool(session.execute(mine).rowcount)

    def sign_out(self, token: str) -> None:
        """Removes the token of a session."""
        with self._begin() as session:
            session.execute(delete(Token).where(Token.hash == _hash(token), Token.kind == "session"))

    def delete_expired(self, time_s: float) -> None:
        """Forgets tokens that count no more at this time."""
        with self._begin() as session:
            session.execute(delete(Token).where(Token.expires_at <= time_s))

    # Uploads

    def add_upload(self, owner: User, name: str, size_B: int) -> Upload:
        """A new upload, of which nothing has come yet."""
        upload = Upload(id=secret(), owner_id=owner.id, name=name, size_B=size_B)
        with self._begin() as session:
            session.add(upload)
        return upload

    def upload(self, owner: User, upload_id: str) -> Upload | None:
        """An upload of this user."""
        with self._begin() as session:
            found = session.get(Upload, upload_id)
            return found if found is not None and found.owner_id == owner.id else None

    def uploads(self, owner: User) -> Sequence[Upload]:
        """Uploads of a user, the latest first."""
        with self._begin() as session:
            wanted = select(Upload).where(Upload.owner_id == owner.id)
            return session.scalars(wanted.order_by(Upload.created_at.desc(), Upload.id)).all()

    def received(self, upload_id: str, received_B: int) -> None:
        """Notes how much of an upload has come."""
        with self._begin() as session:
            session.execute(update(Upload).where(Upload.id == upload_id).values(received_B=received_B))

    def delete_upload(self, upload_id: str) -> None:
        """Forgets an upload."""
        with self._begin() as session:
            session.execute(delete(Upload).where(Upload.id == upload_id))

    def uploaded_B(self, owner: User) -> int:
        """Bytes of all uploads of a user, announced ones included."""
        with self._begin() as session:
            wanted = select(func.coalesce(func.sum(Upload.size_B), 0)).where(Upload.owner_id == owner.id)
            return int(session.scalar(wanted) or 0)

    def kept_B(self, owner: User) -> int:
        """Bytes of all runs of a user."""
        with self._begin() as session:
            wanted = select(func.coalesce(func.sum(Run.size_B), 0)).where(Run.owner_id == owner.id)
            return int(session.scalar(wanted) or 0)

    def uploads_before(self, time_s: float) -> Sequence[Upload]:
        """Uploads that were begun before this time."""
        with self._begin() as session:
            return session.scalars(select(Upload).where(Upload.created_at < time_s)).all()

    # Runs

    def add_run(self, run: Run) -> None:
        """Puts a run into the queue."""
        run.note_words()
        with self._begin() as session:
            session.add(run)

    def rename(self, run_id: str, **values: str | bool) -> Run | None:
        """Changes name, notes, or who may read; None if the run is gone."""
        with self._begin() as session:
            run = session.get(Run, run_id, with_for_update=True)
            if run is not None:
                for field, value in values.items():
                    setattr(run, field, value)
                run.note_words()
            return run

    def run(self, run_id: str) -> Run | None:
        """A run, whoever owns it."""
        with self._begin() as session:
            return session.get(Run, run_id)

    def change(self, run_id: str, **values: Any) -> bool:
        """Changes fields of a run; False if it is gone."""
        with self._begin() as session:
            return bool(session.execute(update(Run).where(Run.id == run_id).values(**values)).rowcount)

    def stop_queued(self, run_id: str) -> bool:
        """Ends a run that still waits; False if it has begun, or is over."""
        waits = update(Run).where(Run.id == run_id, Run.state == State.QUEUED.value)
        values = {"state": State.STOPPED.value, "ended_at": time.time(), "error": "stopped before it began"}
        with self._begin() as session:
            return bool(session.execute(waits.values(**values)).rowcount)

    def delete_run(self, run_id: str) -> None:
        """Forgets a run."""
        with self._begin() as session:
            session.execute(delete(Run).where(Run.id == run_id))

    def runs(
        self, owner: User, search: str = "", state: str | None = None, limit: int = 50, offset: int = 0
    ) -> tuple[Sequence[Run], int]:
        """Runs of a user, the latest first, and how many there are in all; cells of studies are left out.

        They come without what no list shows and may be large, their requests above all.
        """
        large = [defer(one, raiseload=True) for one in (Run.request, Run.inputs, Run.words, Run.process)]
        where: list[ColumnElement[bool]] = [Run.owner_id == owner.id]
        where.append(Run.id.not_in(select(StudyCell.run_id)))
        if state is not None:
            where.append(Run.state == state)
        for word in search.lower().split()[:8]:
            where.append(Run.words.contains(word, autoescape=True))
        with self._begin() as session:
            count = session.scalar(select(func.count()).select_from(Run).where(*where)) or 0
            page = select(Run).where(*where).order_by(Run.created_at.desc(), Run.id).limit(limit)
            return session.scalars(page.offset(offset).options(*large)).all(), count

    def in_state(self, state: State) -> Sequence[Run]:
        """All runs in a state, the first submitted first."""
        with self._begin() as session:
            return session.scalars(
                select(Run).where(Run.state == state.value).order_by(Run.created_at, Run.id)
            ).all()

    def unfinished(self, owner: User) -> int:
        """Number of runs of a user that wait or go on."""
        states = [state.value for state in State if not state.is_over]
        with self._begin() as session:
            wanted = select(func.count()).select_from(Run)
            return session.scalar(wanted.where(Run.owner_id == owner.id, Run.state.in_(states))) or 0

    def over(self, owner: User | None = None) -> Sequence[Run]:
        """Runs that are over, of one user or of all, the oldest first: their id, state, size and end."""
        fields = load_only(Run.id, Run.state, Run.size_B, Run.ended_at, raiseload=True)
        over = [state.value for state in State if state.is_over]
        where: list[ColumnElement[bool]] = [Run.state.in_(over)]
        if owner is not None:
            where.append(Run.owner_id == owner.id)
        with self._begin() as session:
            return session.scalars(select(Run).where(*where).options(fields).order_by(Run.ended_at)).all()


def _add_columns(engine: Engine) -> None:
    """Adds columns that the database of an earlier build lacks; in its rows they have their defaults."""
    there = inspect(engine)
    # Two servers that begin at once may both miss them; those over a file have a lock before.
    unless = "IF NOT EXISTS " if engine.dialect.name == "postgresql" else ""
    for table in Base.metadata.sorted_tables:
        known = {column["name"] for column in there.get_columns(table.name)}
        for column in table.columns:
            if column.name not in known:
                assert column.nullable or column.server_default is not None, column
                words = CreateColumn(column).compile(engine)
                with engine.begin() as connection:
                    connection.execute(DDL(f"ALTER TABLE {table.name} ADD COLUMN {unless}{words}"))


def _without_nul(
    _connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _is_many: bool
) -> tuple[str, Any]:
    """Replaces in texts the one character that PostgreSQL keeps in none."""
    return statement, _replaced(parameters)


def _replaced(value: Any) -> Any:
    """Parameters of one statement, or of many, without characters of code zero."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {name: _replaced(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(one) for one in value]
    return value


def _prepare_sqlite(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    # What was committed survives the end of this process; readers and a writer do not wait for each other.
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
