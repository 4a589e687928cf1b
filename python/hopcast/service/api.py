"""The HTTP interface: submit, list, watch, stop, fetch, share and delete runs; upload files."""

from __future__ import annotations

import asyncio
import io
import threading
from typing import Annotated

from fastapi import APIRouter, Header, HTTPException, Query, Request, Response
from fastapi.responses import FileResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool

from hopcast.service import archive, process, room, submission
from hopcast.service.access import Own, Readable, Services, Signed
from hopcast.service.answers import (
    Changes,
    Estimate,
    NewUpload,
    Problem,
    RunList,
    RunState,
    Submission,
    UploadList,
    UploadState,
)
from hopcast.service.report_files import answered_file
from hopcast.service.schema import State, Upload, User
from hopcast.service.state import Service

PREFIX = "/api/v1"

ERRORS: dict[int | str, dict] = {
    code: {"model": Problem, "description": words}
    for code, words in {
        400: "The body or an address is no text in UTF-8.",
        401: "No token, or one that is not valid.",
        403: "Asked for by another site.",
        404: "There is no such thing, or it is another user's.",
        409: "Not in this state.",
        413: "Too large.",
        422: "A field is wrong; for requests: as the command line says it.",
        429: "A limit of the user, or of all, is reached.",
        503: "The database does not answer, or what is asked for is being made; try again in a minute.",
        507: "The disk of the server is full.",
    }.items()
}
"""Answers that any route may give."""

FILES: dict[int | str, dict] = {
    206: {"description": "The part of the file that the header Range has asked for."},
    416: {"description": "The header Range asks for what the file does not have."},
}
"""Answers that routes to files give, too."""

_NOTED_B = 32 << 20
"""Bytes of a piece after which it is noted that they have come."""
_announcing = threading.Lock()
"""Lock around the sum of a user's uploads and a new one, so that those at the same time count one by one."""

router = APIRouter(prefix=PREFIX, responses=ERRORS)


@router.post("/uploads", status_code=201, tags=["uploads"])
def begin_upload(body: NewUpload, user: Signed, service: Services) -> UploadState:
    """Announces a file; its bytes follow with PATCH, in pieces of any size."""
    with _announcing:
        upload_id = submission.begin_upload(service, user, body.name, body.size_B)
    return UploadState(id=upload_id, name=body.name, size_B=body.size_B, received_B=0)


@router.get("/uploads", tags=["uploads"])
def uploads(user: Signed, service: Services) -> UploadList:
    """Lists the user's uploads, the latest first."""
    found = service.store.uploads(user)
    size_B = sum(upload.size_B for upload in found)
    most_B = service.settings.limits.uploads_B
    return UploadList(uploads=[_state_of(one) for one in found], size_B=size_B, most_B=most_B)


@router.get("/uploads/{upload_id}", tags=["uploads"])
def upload_state(upload_id: str, user: Signed, service: Services) -> UploadState:
    """Says how much of a file has come: the place at which an upload that was broken off goes on."""
    return _state_of(_upload(service, user, upload_id))


@router.patch("/uploads/{upload_id}", tags=["uploads"])
async def continue_upload(
    upload_id: str,
    request: Request,
    user: Signed,
    service: Services,
    upload_offset: Annotated[int, Header(ge=0, le=2**50)],
) -> UploadState:
    """Appends the body to a file, from `Upload-Offset` on, which is as much as has come."""
    await run_in_threadpool(_upload, service, user, upload_id)
    if upload_id in service.receiving:
        raise HTTPException(409, "another piece of this file comes at this moment")
    service.receiving.add(upload_id)
    try:
        # Read once more: a piece may have come in between.
        upload = await run_in_threadpool(_upload, service, user, upload_id)
        if upload_offset != upload.received_B:
            raise HTTPException(409, f"{upload.received_B} bytes have come; go on there")
        await _append(service, upload, request)
    finally:
        service.receiving.discard(upload_id)
    return _state_of(upload)


@router.delete("/uploads/{upload_id}", status_code=204, response_class=Response, tags=["uploads"])
def delete_upload(upload_id: str, user: Signed, service: Services) -> None:
    """Deletes a file; runs that were submitted with it keep it."""
    submission.forget_upload(service, _upload(service, user, upload_id).id)


@router.post("/estimates", tags=["runs"])
def estimate(body: Submission, user: Signed, service: Services) -> Estimate:
    """Builds a run and begins it, for a second, to say what all of it will take."""
    admission_of, files = submission.admitted(service, user, body.request, body.files)
    return Estimate(**service.pool.estimate(admission_of, files, user.id))


@router.post("/runs", status_code=201, tags=["runs"])
def submit(body: Submission, user: Signed, service: Services) -> RunState:
    """Puts a run into the queue."""
    admission_of, files = submission.admitted(service, user, body.request, body.files)
    run = submission.submit(service, user, admission_of, files, body.name, body.notes)
    return RunState.of(run, service)


@router.get("/runs", tags=["runs"])
def runs(
    user: Signed,
    service: Services,
    search: Annotated[
        str, Query(max_length=200, description="Words in name, notes, platform, workload.")
    ] = "",
    state: State | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
) -> RunList:
    """Lists the user's runs, the latest first."""
    found, count = service.store.runs(user, search, state and state.value, limit, offset)
    return RunList(runs=[RunState.of(run) for run in found], count=count)


@router.get("/runs/{run_id}", tags=["runs"])
def run_state(run: Readable, service: Services) -> RunState:
    """Says how a run stands; a shared one to everybody who has its link."""
    return RunState.of(run, service)


@router.patch("/runs/{run_id}", tags=["runs"])
def change(body: Changes, run: Own, service: Services) -> RunState:
    """Changes name, notes, or who may read."""
    changed = service.store.rename(run.id, **body.model_dump(exclude_none=True))
    if changed is None:
        raise HTTPException(404, "there is no such run")
    return RunState.of(changed, service)


@router.post("/runs/{run_id}/stop", status_code=202, tags=["runs"])
def stop(run: Own, service: Services) -> RunState:
    """Stops a run; one that has begun leaves a report of what had happened by then."""
    if run.is_over:
        raise HTTPException(409, f"the run is {run.state}")
    submission.stop(service, run.id)
    return RunState.of(service.store.run(run.id) or run, service)


@router.delete("/runs/{run_id}", status_code=204, response_class=Response, tags=["runs"])
def delete(run: Own, service: Services) -> None:
    """Deletes a run with all its files; one that goes on is ended."""
    submission.delete(service, run.id, run.state)


@router.get("/runs/{run_id}/request", tags=["runs"])
def request_of(run: Readable) -> dict:
    """Gives the request of a run, for 'hopcast run --request'."""
    return run.request


@router.get("/runs/{run_id}/report", tags=["runs"], response_class=FileResponse, responses=FILES)
def report(run: Readable, service: Services) -> Response:
    """Gives the report as `report.json`."""
    file = service.settings.run_folder(run.id) / process.REPORT / "report.json"
    if not file.is_file():
        raise HTTPException(409, f"the run is {run.state} and has no report")
    return answered_file(file, "application/json")


@router.get("/runs/{run_id}/archive", tags=["runs"], response_class=StreamingResponse)
def fetch(run: Readable, service: Services) -> Response:
    """Gives request, inputs and report as a ZIP archive."""
    if not run.is_over:
        raise HTTPException(409, f"the run is {run.state}")
    return archive.answer(archive.of_run(service.settings, run), f"hopcast-{run.id}")


async def _append(service: Service, upload: Upload, request: Request) -> None:
    """Appends the body of a request to a file."""
    # Without a buffer, what could not be written is not taken for what has come.
    with open(service.settings.upload_file(upload.id), "r+b", buffering=0) as out:
        out.truncate(upload.received_B)
        out.seek(upload.received_B)
        try:
            async for piece in request.stream():
                if out.tell() + len(piece) > upload.size_B:
                    raise HTTPException(413, f"the file was announced with {upload.size_B} bytes")
                room.check(service.settings)
                await run_in_threadpool(_write, out, piece)
                if out.tell() - upload.received_B >= _NOTED_B:  # of a server that is killed, the rest is lost
                    await _note(service, upload, out)
        except asyncio.CancelledError:  # this server ends, and waits for no thread any more
            service.store.received(upload.id, min(out.tell(), upload.size_B))
            raise
        except Exception:
            await _note(service, upload, out)
            raise
        await _note(service, upload, out)


async def _note(service: Service, upload: Upload, out: io.FileIO) -> None:
    """Notes how much of a file has come."""
    upload.received_B = min(out.tell(), upload.size_B)
    await run_in_threadpool(service.store.received, upload.id, upload.received_B)


def _write(out: io.FileIO, piece: bytes) -> None:
    """Writes all of a piece, or as much as there is room for. Raises `OSError` then."""
    rest = memoryview(piece)
    while rest:
        rest = rest[out.write(rest) :]


def _upload(service: Service, user: User, upload_id: str) -> Upload:
    upload = service.store.upload(user, upload_id)
    if upload is None:
        raise HTTPException(404, "there is no such upload")
    return upload


def _state_of(upload: Upload) -> UploadState:
    return UploadState(id=upload.id, name=upload.name, size_B=upload.size_B, received_B=upload.received_B)
