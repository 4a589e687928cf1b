"""Accounts of a service for a group: who has one, and who is blocked."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, case, cast, delete, func, select

from hopcast.service.schema import Blocked, Code, Run, State, Token, User
from hopcast.service.settings import Accounts
from hopcast.service.store import Store

# By % and !, some mail servers pass a mail on to another domain; =? begins an encoded word.
_ADDRESS = re.compile(r"[a-z0-9._+-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*")
_LONGEST = 200


def address_of(text: str) -> str | None:
    """Address of e-mail in small letters; None unless it has letters and digits of ASCII and `._+-` alone."""
    address = text.strip()
    # Letters of other alphabets have no one way to be small: two addresses could become one.
    if not address.isascii() or len(address) > _LONGEST or not _ADDRESS.fullmatch(address.lower()):
        return None
    return address.lower()


def name_of(text: str) -> str:
    """Name of a user, in small letters if all are ASCII: of others, two names could become one."""
    name = text.strip(" \t")  # no other spaces, so that `Directory.named` refuses a name with one
    return name.lower() if name.isascii() else name


@dataclass(frozen=True)
class Listed:
    """A user as an operator sees one."""

    id: int
    name: str
    created_at: float
    blocked_at: float | None
    runs: int
    unfinished: int
    size_B: int


class Directory:
    """Users of a service, as far as its configuration admits them."""

    def __init__(self, store: Store, accounts: Accounts) -> None:
        self._store, self._accounts = store, accounts

    def admitted(self, user: User | None) -> User | None:
        """The user, marked as an operator who is one; None if the configuration admits this one no more."""
        if user is None or not self._accounts.admits(user.name):
            return None
        user.is_operator = user.name in self._accounts.operators
        return user

    def named(self, name: str) -> User | None:
        """The user of a name that somebody has checked; made if new, None if blocked or not admitted."""
        is_name = 0 < len(name) <= _LONGEST and name.isprintable()
        if not is_name or not self._accounts.admits(name) or self.is_blocked(name):
            return None
        return self.admitted(self._store.user(name))

    def is_blocked(self, name: str) -> bool:
        """True if an operator has blocked the user of this name."""
        with self._store.sessions.begin() as session:
            wanted = select(Blocked.user_id).join(User, User.id == Blocked.user_id).where(User.name == name)
            return session.scalar(wanted) is not None

    def users(self) -> list[Listed]:
        """All users, by name."""
        unfinished = [state.value for state in State if not state.is_over]
        count = func.count(Run.id)
        waiting = func.count(case((Run.state.in_(unfinished), 1)))
        size_B = cast(func.coalesce(func.sum(Run.size_B), 0), BigInteger)
        wanted = (
            select(User.id, User.name, User.created_at, Blocked.blocked_at, count, waiting, size_B)
            .outerjoin(Blocked, Blocked.user_id == User.id)
            .outerjoin(Run, Run.owner_id == User.id)
            .group_by(User.id, User.name, User.created_at, Blocked.blocked_at)
            .order_by(User.name)
        )
        with self._store.sessions.begin() as session:
            rows: Any = session.execute(wanted).all()
        return [Listed(*row) for row in rows]

    def block(self, user_id: int) -> list[Run] | None:
        """Blocks a user and ends all sessions; gives the runs that are not over, or None without a user."""
        unfinished = [state.value for state in State if not state.is_over]
        with self._store.sessions.begin() as session:
            user = session.get(User, user_id, with_for_update=True)
            if user is None:
                return None
            if session.get(Blocked, user_id) is None:
                session.add(Blocked(user_id=user_id, blocked_at=time.time()))
            session.execute(delete(Token).where(Token.user_id == user_id, Token.kind != "api"))
            session.execute(delete(Code).where(Code.address == user.name))
            mine = select(Run).where(Run.owner_id == user_id, Run.state.in_(unfinished))
            return list(session.scalars(mine).all())

    def unblock(self, user_id: int) -> bool:
        """Lets a user in again; False if there is no such user."""
        with self._store.sessions.begin() as session:
            session.execute(delete(Blocked).where(Blocked.user_id == user_id))
            return session.get(User, user_id) is not None
