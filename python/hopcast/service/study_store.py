"""Studies in the service's database, and the runs that are their cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, delete, func, or_, select, update
from sqlalchemy.orm import Session, defer

from hopcast.service.schema import Run, State, Study, StudyCell, User

DELETED = "deleted"
"""State of a cell whose run is not there any more."""

_GOING = [state.value for state in State if not state.is_over]


class Cell(NamedTuple):
    """A cell as lists show it, without the request and the outcome of its run, which are large."""

    number: int
    settings: dict[str, Any]
    """Values of what varies, by name."""
    run_id: str
    state: str
    """State of its run, or `DELETED`."""
    makespan_s: float | None
    error: str | None
    """Reason why it has no result, or why its simulated program failed."""
    started_at: float | None
    ended_at: float | None

    @property
    def is_over(self) -> bool:
        """True if nothing more happens to it."""
        return self.state not in _GOING


_SHOWN = (
    StudyCell.number,
    StudyCell.settings,
    StudyCell.run_id,
    func.coalesce(Run.state, DELETED),
    Run.makespan_s,
    func.coalesce(Run.error, Run.outcome["failure"].as_string()),
    Run.started_at,
    Run.ended_at,
)


class StudyTables:
    """Answers and changes of the tables of studies; each method is one transaction."""

    if TYPE_CHECKING:

        def _begin(self) -> Any: ...

    def add_study(self, study: Study, cells: Sequence[StudyCell], runs: Sequence[Run]) -> None:
        """Puts all cells of a study into the queue."""
        study.note_words()
        for run in runs:
            run.note_words()
        with self._begin() as session:
            session.add(study)
            session.flush()
            session.add_all([*runs, *cells])

    def note_words_of_studies(self) -> None:
        """Lets searches find studies that an earlier build has kept."""
        with self._begin() as session:
            for study in session.scalars(select(Study).where(Study.words == "")):
                study.note_words()

    def study(self, study_id: str) -> Study | None:
        """A study, whoever owns it."""
        with self._begin() as session:
            return session.get(Study, study_id)

    def studies(self, owner: User, limit: int, offset: int, search: str = "") -> tuple[Sequence[Study], int]:
        """Studies of a user without their files, the latest first, and how many there are in all."""
        large = [defer(one, raiseload=True) for one in (Study.text, Study.words)]
        where: list[ColumnElement[bool]] = [Study.owner_id == owner.id]
        for word in search.lower().split()[:8]:
            where.append(Study.words.contains(word, autoescape=True))
        with self._begin() as session:
            count = session.scalar(select(func.count()).select_from(Study).where(*where)) or 0
            page = select(Study).where(*where).order_by(Study.created_at.desc(), Study.id)
            return session.scalars(page.limit(limit).offset(offset).options(*large)).all(), count

    def cells(self, study_id: str) -> list[Cell]:
        """Cells of a study, by number."""
        return self._cells(StudyCell.study_id == study_id)

    def cells_since(self, study_id: str, time_s: float) -> list[Cell]:
        """Cells of a study that go on, or have begun or ended since this time, by number."""
        since = or_(Run.state == State.RUNNING.value, Run.started_at >= time_s, Run.ended_at >= time_s)
        return self._cells(StudyCell.study_id == study_id, since)

    def _cells(self, *where: ColumnElement[bool]) -> list[Cell]:
        with self._begin() as session:
            wanted = select(*_SHOWN).outerjoin(Run, Run.id == StudyCell.run_id).where(*where)
            return [Cell(*row) for row in session.execute(wanted.order_by(StudyCell.number))]

    def cells_with_runs(self, study_id: str) -> list[tuple[StudyCell, Run | None]]:
        """Cells of a study with all of their runs that have not been deleted, by number."""
        with self._begin() as session:
            wanted = select(StudyCell, Run).outerjoin(Run, Run.id == StudyCell.run_id)
            found = session.execute(wanted.where(StudyCell.study_id == study_id).order_by(StudyCell.number))
            return [(cell, run) for cell, run in found]

    def counts(self, study_ids: Sequence[str]) -> dict[str, dict[str, int]]:
        """Number of cells by state, of each of these studies."""
        wanted = select(StudyCell.study_id, Run.state, func.count())
        wanted = wanted.outerjoin(Run, Run.id == StudyCell.run_id).where(StudyCell.study_id.in_(study_ids))
        wanted = wanted.group_by(StudyCell.study_id, Run.state)
        counts: dict[str, dict[str, int]] = {study_id: {} for study_id in study_ids}
        with self._begin() as session:
            for study_id, state, number in session.execute(wanted):
                counts[study_id][state or DELETED] = number
        return counts

    def studies_without_runs(self, before_s: float) -> Sequence[Study]:
        """Studies that are older than this time, and of which no run is left."""
        with_runs = select(StudyCell.study_id).join(Run, Run.id == StudyCell.run_id)
        with self._begin() as session:
            wanted = select(Study).where(Study.created_at < before_s, Study.id.not_in(with_runs))
            return session.scalars(wanted).all()

    def change_study(self, study_id: str, **values: str | bool) -> Study | None:
        """Changes name, notes, or who may read; cells have the name of the study, and its readers.

        None if it is gone.
        """
        with self._begin() as session:
            study = session.get(Study, study_id, with_for_update=True)
            if study is None:
                return None
            before, was_shared = study.name, study.shared
            for field, value in values.items():
                setattr(study, field, value)
            study.note_words()
            if study.shared != was_shared:
                of_study = select(StudyCell.run_id).where(StudyCell.study_id == study_id)
                session.execute(update(Run).where(Run.id.in_(of_study)).values(shared=study.shared))
            if study.name != before:
                self._rename_cells(session, study, before)
            return study

    def _rename_cells(self, session: Session, study: Study, before: str) -> None:
        """Gives the runs of cells the new name of their study, but for those that were named otherwise."""
        wanted = select(StudyCell.number, Run).join(Run, Run.id == StudyCell.run_id)
        was = Study(name=before)
        for number, run in session.execute(wanted.where(StudyCell.study_id == study.id)):
            if run.name == was.title_of(number):
                run.name = study.title_of(number)
                run.note_words()

    def delete_study(self, study_id: str) -> None:
        """Forgets a study and its cells; their runs are deleted before."""
        with self._begin() as session:
            session.execute(delete(StudyCell).where(StudyCell.study_id == study_id))
            session.execute(delete(Study).where(Study.id == study_id))
