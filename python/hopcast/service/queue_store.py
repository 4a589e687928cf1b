"""The queue in the service's database: users take turns, and so do the studies and single runs of a user.

A turn goes to the user whose last one is longest ago, and there to the study, or to the single runs, of which
the same is true; in each, runs go by the time of their submission. Who submits a thousand cells thus holds up
nobody. Turns are forgotten with the server.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from sqlalchemy import func, or_, select, update

from hopcast.service.schema import Run, State, StudyCell

_MOST_REMEMBERED = 10_000

_Name = TypeVar("_Name", bound=Hashable)


class Line(NamedTuple):
    """Runs that wait one behind the other."""

    owner_id: int
    study_id: str | None
    """None for the runs of its owner that belong to no study."""


class Waiting(NamedTuple):
    """Runs of a line, or of a user, that wait."""

    number: int
    since_s: float
    """Submission of the first of them."""


class Turns:
    """Turns that users and their lines have had."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._numbers = itertools.count(1)
        self._taken: dict[Hashable, int] = {}

    def next(self, waiting: Mapping[Line, Waiting]) -> Line:
        """The line whose turn it is."""
        owner_id = self._order(_by_owner(waiting))[0]
        return self._order({line: one for line, one in waiting.items() if line.owner_id == owner_id})[0]

    def take(self, line: Line) -> None:
        """Notes that a run of this line has begun."""
        with self._guard:
            for name in (line.owner_id, line):
                self._taken.pop(name, None)
                self._taken[name] = next(self._numbers)
            while len(self._taken) > _MOST_REMEMBERED:
                del self._taken[next(iter(self._taken))]

    def before(self, line: Line, place: int, waiting: Mapping[Line, Waiting]) -> int:
        """Number of runs that begin before the one with `place` others before it in its line."""
        own = {other: one for other, one in waiting.items() if other.owner_id == line.owner_id}
        return self._before(line.owner_id, self._before(line, place, own), _by_owner(waiting))

    def _before(self, name: _Name, place: int, waiting: Mapping[_Name, Waiting]) -> int:
        """The same where everything that waits takes turns with everything else."""
        order = self._order(waiting)
        rank = order.index(name)
        # Each one before it in the order has had one more turn by then, if it has as many runs.
        others = (
            min(waiting[other].number, place + (number < rank))
            for number, other in enumerate(order)
            if number != rank
        )
        return place + sum(others)

    def _order(self, waiting: Mapping[_Name, Waiting]) -> list[_Name]:
        """Names in the order of their next turns."""
        with self._guard:
            return sorted(waiting, key=lambda name: (self._taken.get(name, 0), waiting[name].since_s))


def _by_owner(waiting: Mapping[Line, Waiting]) -> dict[int, Waiting]:
    """Runs that wait, by user."""
    found: dict[int, Waiting] = {}
    for line, one in waiting.items():
        before = found.get(line.owner_id, Waiting(0, one.since_s))
        found[line.owner_id] = Waiting(before.number + one.number, min(before.since_s, one.since_s))
    return found


class QueueTables:
    """Answers and changes of the queue; each method is one transaction."""

    if TYPE_CHECKING:

        def _begin(self) -> Any: ...
        def _keeps_lock(self) -> bool: ...

    def __init__(self) -> None:
        self._turns = Turns()

    def ahead(self, run: Run) -> int:
        """Number of runs that begin before this one, unless more are submitted."""
        earlier = or_(Run.created_at < run.created_at, (Run.created_at == run.created_at) & (Run.id < run.id))
        with self._begin() as session:
            study_id = session.scalar(select(StudyCell.study_id).where(StudyCell.run_id == run.id))
            line = Line(run.owner_id, study_id)
            waiting = _waiting(session)
            if line not in waiting:  # it has begun meanwhile
                return 0
            wanted = _of_line(select(func.count()).select_from(Run), line).where(earlier)
            return self._turns.before(line, session.scalar(wanted) or 0, waiting)

    def claim(self) -> Run | None:
        """Takes the run whose turn it is, for the caller alone."""
        if not self._keeps_lock():
            return None
        with self._begin() as session:
            waiting = _waiting(session)
            if not waiting:
                return None
            line = self._turns.next(waiting)
            wanted = _of_line(select(Run.id), line).order_by(Run.created_at, Run.id).limit(1)
            first = session.scalar(wanted)
            if first is None:
                return None
            values = {"state": State.RUNNING.value, "attempts": Run.attempts + 1, "started_at": time.time()}
            queued = Run.state == State.QUEUED.value
            taken = session.execute(update(Run).where(Run.id == first, queued).values(**values))
            if not taken.rowcount:
                return None
            self._turns.take(line)
            return session.get(Run, first, populate_existing=True)


def _waiting(session: Any) -> dict[Line, Waiting]:
    """All lines in which runs wait."""
    wanted = select(Run.owner_id, StudyCell.study_id, func.count(), func.min(Run.created_at))
    wanted = wanted.outerjoin(StudyCell, StudyCell.run_id == Run.id)
    wanted = wanted.where(Run.state == State.QUEUED.value).group_by(Run.owner_id, StudyCell.study_id)
    rows: Iterable[Any] = session.execute(wanted)
    return {
        Line(owner_id, study_id): Waiting(number, since_s) for owner_id, study_id, number, since_s in rows
    }


def _of_line(wanted: Any, line: Line) -> Any:
    """The runs of a line that wait."""
    wanted = wanted.outerjoin(StudyCell, StudyCell.run_id == Run.id)
    wanted = wanted.where(Run.state == State.QUEUED.value, Run.owner_id == line.owner_id)
    return wanted.where(StudyCell.study_id == line.study_id)
