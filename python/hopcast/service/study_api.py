"""Studies in the HTTP interface: submit, list, watch, stop, share, fetch and delete them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Response
from fastapi.responses import FileResponse, StreamingResponse

from hopcast.service import archive, studies
from hopcast.service.access import OwnStudy, ReadableStudy, Services, Signed
from hopcast.service.answers import (
    StudyChanges,
    StudyEntry,
    StudyEstimate,
    StudyList,
    StudyState,
    StudySubmission,
)
from hopcast.service.api import ERRORS, FILES, PREFIX
from hopcast.service.report_files import answered_file
from hopcast.service.schema import Study
from hopcast.service.state import Service

router = APIRouter(prefix=f"{PREFIX}/studies", responses=ERRORS, tags=["studies"])


@router.post("", status_code=201)
def submit(body: StudySubmission, user: Signed, service: Services) -> StudyState:
    """Puts all cells of a study into the queue."""
    study = studies.submit(service, user, body.study, body.files, body.name, body.notes)
    return _state(service, study)


@router.post("/estimates")
def estimate(body: StudySubmission, user: Signed, service: Services) -> StudyEstimate:
    """Begins some cells of a study, for a second each, to say what all of them will take."""
    return StudyEstimate(**studies.estimate(service, user, body.study, body.files)["estimate"])


@router.get("")
def listing(
    user: Signed,
    service: Services,
    search: Annotated[str, Query(max_length=200, description="Words in name, notes and study file.")] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> StudyList:
    """Lists the user's studies, the latest first."""
    found, count = service.store.studies(user, limit, offset, search)
    names = tuple(StudyEntry.model_fields)
    entries = [StudyEntry(**{name: getattr(study, name) for name in names}) for study in found]
    return StudyList(studies=entries, count=count)


@router.get("/{study_id}")
def state(study: ReadableStudy, service: Services) -> StudyState:
    """Says how a study and each of its cells stand."""
    return _state(service, study)


@router.patch("/{study_id}")
def change(body: StudyChanges, study: OwnStudy, service: Services) -> StudyState:
    """Changes name, notes, or who may read; its cells are renamed with it, and have the same readers."""
    values = body.model_dump(exclude_none=True)
    changed = service.store.change_study(study.id, **values)
    if changed is None:
        raise HTTPException(404, "there is no such study")
    return _state(service, changed)


@router.post("/{study_id}/stop", status_code=202)
def stop(study: OwnStudy, service: Services) -> StudyState:
    """Stops the cells that wait or go on."""
    studies.stop(service, study)
    return _state(service, study)


@router.delete("/{study_id}", status_code=204, response_class=Response)
def delete(study: OwnStudy, service: Services) -> None:
    """Deletes a study with the runs of its cells."""
    studies.delete(service, study)


@router.get("/{study_id}/table", response_class=FileResponse, responses=FILES)
def table(study: ReadableStudy, service: Services) -> Response:
    """Gives the table of all cells, those that go on without a result, as Parquet."""
    return answered_file(studies.table(service, study), "application/vnd.apache.parquet")


@router.get("/{study_id}/archive", response_class=StreamingResponse)
def fetch(study: ReadableStudy, service: Services) -> Response:
    """Gives study file, table, page and the reports of the cells as a ZIP archive."""
    if not studies.standing(service, study).is_over:
        raise HTTPException(409, "the study goes on")
    return archive.answer(studies.archived(service, study), f"hopcast-study-{study.id}")


def _state(service: Service, study: Study) -> StudyState:
    return StudyState.of(study, service.store.cells(study.id))
