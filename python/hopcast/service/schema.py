"""Tables of the service's database."""

from __future__ import annotations

import enum
import time

from sqlalchemy import JSON, BigInteger, Float, ForeignKey, Index, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class State(str, enum.Enum):
    """State of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def is_over(self) -> bool:
        """True if nothing more happens to the run."""
        return self in (State.FINISHED, State.STOPPED, State.FAILED)


class Base(DeclarativeBase):
    """Base of all tables."""


class User(Base):
    """Owner of runs."""

    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(200), unique=True)
    created_at: Mapped[float] = mapped_column(Float, default=time.time)
    is_operator = False
    """True for an operator; the configuration says it, and not the database."""


class Blocked(Base):
    """User whom an operator has blocked."""

    __tablename__ = "blocked"
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"), primary_key=True)
    blocked_at: Mapped[float] = mapped_column(Float)


class Code(Base):
    """One-time code that was sent, or would have been if its address might sign in."""

    __tablename__ = "codes"
    flow: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Hash of the secret that the browser holds which has asked for it."""
    hash: Mapped[str] = mapped_column(String(64))
    address: Mapped[str] = mapped_column(String(200), index=True)
    client: Mapped[str] = mapped_column(String(64), index=True)
    """Address or network that has asked for it."""
    created_at: Mapped[float] = mapped_column(Float)
    tries: Mapped[int] = mapped_column(default=0)
    used: Mapped[bool] = mapped_column(default=False)


class Token(Base):
    """Secret that stands for a user; the database holds its hash alone."""

    __tablename__ = "tokens"
    id: Mapped[int] = mapped_column(primary_key=True)
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    kind: Mapped[str] = mapped_column(String(8))
    """`once` for a link that signs in, `session` for a cookie, `api` for scripts."""
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    label: Mapped[str] = mapped_column(String(100), default="")
    created_at: Mapped[float] = mapped_column(Float, default=time.time)
    expires_at: Mapped[float | None] = mapped_column(Float)


class Upload(Base):
    """File that a user sends, in one or several pieces."""

    __tablename__ = "uploads"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str] = mapped_column(String(100))
    size_B: Mapped[int] = mapped_column(BigInteger)
    received_B: Mapped[int] = mapped_column(BigInteger, default=0)
    created_at: Mapped[float] = mapped_column(Float, default=time.time)


class Run(Base):
    """Run that was submitted. Its id is its unguessable link."""

    __tablename__ = "runs"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    state: Mapped[str] = mapped_column(String(10), default=State.QUEUED.value)
    request: Mapped[dict] = mapped_column(JSON)
    inputs: Mapped[list] = mapped_column(JSON, default=list)
    """Names of the uploaded files that it reads."""
    platform: Mapped[str] = mapped_column(String(200))
    workload: Mapped[str] = mapped_column(String(500))
    name: Mapped[str] = mapped_column(String(200), default="")
    notes: Mapped[str] = mapped_column(Text, default="")
    words: Mapped[str] = mapped_column(Text, default="")
    """Name, notes, platform and workload in small letters, in which searches look."""
    shared: Mapped[bool] = mapped_column(default=False)
    stop_asked: Mapped[bool] = mapped_column(default=False)
    attempts: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[float] = mapped_column(Float, default=time.time)
    started_at: Mapped[float | None] = mapped_column(Float)
    ended_at: Mapped[float | None] = mapped_column(Float)
    process: Mapped[dict | None] = mapped_column(JSON)
    """Number and start time of the process that runs it."""
    error: Mapped[str | None] = mapped_column(Text)
    makespan_s: Mapped[float | None] = mapped_column(Float)
    outcome: Mapped[dict | None] = mapped_column(JSON)
    """Head of its report: ranks, hosts, events, outcome hash, failure."""
    size_B: Mapped[int] = mapped_column(BigInteger, default=0)

    @property
    def is_over(self) -> bool:
        """True if nothing more happens to the run."""
        return State(self.state).is_over

    def note_words(self) -> None:
        """Renews the words in which searches look."""
        texts = (self.name or "", self.notes or "", self.platform, self.workload)
        self.words = "\n".join(texts).lower()

    __table_args__ = (
        Index("runs_of_owner", "owner_id", "created_at"),
        Index("runs_in_state", "state", "created_at"),
    )


class Study(Base):
    """Study that was submitted: its cells are runs. Its id is its unguessable link."""

    __tablename__ = "studies"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("users.id"), index=True)
    name: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text)
    """The study file."""
    notes: Mapped[str] = mapped_column(Text, default="", server_default="")
    words: Mapped[str] = mapped_column(Text, default="", server_default="")
    """Name, notes and study file in small letters, in which searches look."""
    shared: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[float] = mapped_column(Float, default=time.time)

    def note_words(self) -> None:
        """Renews the words in which searches look."""
        self.words = "\n".join((self.name, self.notes or "", self.text)).lower()

    def title_of(self, number: int) -> str:
        """Name of the run of a cell."""
        return f"{self.name}, cell {number}"[:200]


class StudyCell(Base):
    """Cell of a study: the run that it is, which may have been deleted since."""

    __tablename__ = "study_cells"
    study_id: Mapped[str] = mapped_column(ForeignKey("studies.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(String(32), unique=True)
    settings: Mapped[dict] = mapped_column(JSON)
    """Values of what varies, by name."""
