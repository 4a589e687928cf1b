"""Studies in the service's database, and the runs that are their cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select, update

from hopcast.service.schema import Run, Study, StudyCell, User

Cell = tuple[StudyCell, Run | None]
"""A cell and its run, if that has not been deleted."""


class StudyTables:
    """Answers and changes of the tables of studies; each method is one transaction."""

    if TYPE_CHECKING:

        def _begin(self) -> Any: ...

    def add_study(self, study: Study, cells: Sequence[StudyCell], runs: Sequence[Run]) -> None:
        """Puts all cells of a study into the queue."""
        for run in runs:
            run.note_words()
        with self._begin() as session:
            session.add(study)
            session.flush()
            session.add_all([*runs, *cells])

    def study(self, study_id: str) -> Study | None:
        """A study, whoever owns it."""
        with self._begin() as session:
            return session.get(Study, study_id)

    def studies(self, owner: User, limit: int, offset: int) -> tuple[Sequence[Study], int]:
        """Studies of a user, the latest first, and how many there are in all."""
        with self._begin() as session:
            mine = Study.owner_id == owner.id
            count = session.scalar(select(func.count()).select_from(Study).where(mine)) or 0
            page = select(Study).where(mine).order_by(Study.created_at.desc(), Study.id)
            return session.scalars(page.limit(limit).offset(offset)).all(), count

    def cells(self, study_id: str) -> list[Cell]:
        """Cells of a study with their runs, by number."""
        with self._begin() as session:
            wanted = select(StudyCell, Run).outerjoin(Run, Run.id == StudyCell.run_id)
            found = session.execute(wanted.where(StudyCell.study_id == study_id).order_by(StudyCell.number))
            return [(cell, run) for cell, run in found]

    def share_study(self, study_id: str, shared: bool) -> None:
        """Says whether everybody may read a study and its cells."""
        of_study = select(StudyCell.run_id).where(StudyCell.study_id == study_id)
        with self._begin() as session:
            session.execute(update(Study).where(Study.id == study_id).values(shared=shared))
            session.execute(update(Run).where(Run.id.in_(of_study)).values(shared=shared))

    def delete_study(self, study_id: str) -> None:
        """Forgets a study and its cells; their runs are deleted before."""
        with self._begin() as session:
            session.execute(delete(StudyCell).where(StudyCell.study_id == study_id))
            session.execute(delete(Study).where(Study.id == study_id))
