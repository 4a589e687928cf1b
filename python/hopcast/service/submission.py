"""Submission of runs, and their end: what both the HTTP interface and the pages do."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy.exc import DBAPIError

from hopcast.service import admission, confinement, leavings, pool, probes, room
from hopcast.service.admission import Admitted, Refused
from hopcast.service.probes import TooMany as TooMany
from hopcast.service.schema import Run, State, User
from hopcast.service.state import Service
from hopcast.service.store import secret


def admitted(
    service: Service, user: User, request: Mapping[str, Any], uploads: Mapping[str, str]
) -> tuple[Admitted, dict[str, Path]]:
    """Checks a request, with ids of uploads by their names in it; gives the files, too. Raises `Refused`."""
    files = files_of(service, user, uploads)
    settings = service.settings
    admission_of = admission.admit(request, files, settings.limits, settings.programs)
    check_here(admission_of)
    return admission_of, files


def check_here(admission_of: Admitted) -> None:
    """Refuses traces where no wall of the kernel stands around what reads them."""
    if admission.reads_traces(admission_of.request.fields()) and not confinement.landlock_version():
        raise Refused("workload", "workload: traces are not taken here, because this kernel has no Landlock")


def files_of(service: Service, user: User, uploads: Mapping[str, str]) -> dict[str, Path]:
    """Files of uploads, whose ids are given by name. Raises `Refused` for what has not come."""
    files: dict[str, Path] = {}
    for name, upload_id in uploads.items():
        upload = service.store.upload(user, upload_id)
        if upload is None:
            raise Refused("files", f"{name}: there is no upload {upload_id!r}")
        # A piece that still comes could change a file after its check.
        if upload.received_B < upload.size_B or upload.id in service.receiving:
            raise Refused(
                "files", f"{name}: {upload.received_B:,} of {upload.size_B:,} bytes have come so far"
            )
        files[admission.check_name(name)] = service.settings.upload_file(upload.id)
    return files


def submit(
    service: Service, user: User, admission_of: Admitted, files: dict[str, Path], name: str, notes: str
) -> Run:
    """Puts a run into the queue. Raises `TooMany`."""
    check_waiting(service, user, 1)
    run = laid_out(service, user, admission_of, files, name, notes)
    with or_removed(service, [run]):
        service.store.add_run(run)
    service.pool.wake()
    return run


@contextlib.contextmanager
def or_removed(service: Service, runs: Sequence[Run]) -> Iterator[None]:
    """Removes the folders of runs that do not come into the queue in this block."""
    try:
        yield
    except Exception:
        for run in runs:
            # A database that went away may have noted them, and told nobody.
            if not _may_be_known(service, run.id):
                leavings.remove(service.settings.run_folder(run.id))
        raise


def _may_be_known(service: Service, run_id: str) -> bool:
    try:
        return service.store.run(run_id) is not None
    except DBAPIError:
        return True


def check_waiting(service: Service, user: User, more: int) -> None:
    """Raises `TooMany` if a user would have too many runs that wait or go on, and `OSError` without room."""
    room.check(service.settings)
    most = service.settings.limits.waiting
    if service.store.unfinished(user) + more > most:
        words = "" if more == 1 else f", and these are {more:,} more"
        raise TooMany(
            f"you may have {most} runs that wait or go on (limits.queued of the server's configuration)"
            f"{words}; wait for some to end"
        )
    kept_B = service.settings.limits.kept_B
    if kept_B is not None and service.store.kept_B(user) >= kept_B:
        raise TooMany(f"your runs have {kept_B:,} bytes or more here; delete some")


def laid_out(
    service: Service, user: User, admission_of: Admitted, files: dict[str, Path], name: str, notes: str
) -> Run:
    """A run that is not in the queue yet, with its files in its folder."""
    run_id = secret()
    request = admission_of.request
    try:
        probes.lay_out(pool.inputs_of(service.settings, run_id), admission_of, files)
    except OSError:  # a full disk, or an upload that was deleted meanwhile
        leavings.remove(service.settings.run_folder(run_id))
        raise
    return Run(
        id=run_id,
        owner_id=user.id,
        request=request.fields(),
        inputs=[*admission_of.inputs, *admission_of.texts],
        platform=str(request.platform)[:200],
        workload=_title(request.workload)[:500],
        name=name,
        notes=notes,
    )


def _title(workload: Mapping[str, Any]) -> str:
    if workload["kind"] in ("trace", "compiled", "mpi4py"):
        return " ".join([str(workload["path"]), *workload.get("arguments", [])])
    if workload["kind"] == "function":
        return " ".join([str(workload["file"]), *workload.get("words", [])])
    if workload["kind"] == "jobs":
        return " + ".join(str(job.get("name")) for job in workload["jobs"])
    arguments = workload.get("arguments") or {}
    return " ".join([str(workload.get("name")), *(f"--{key} {value}" for key, value in arguments.items())])


def stop(service: Service, run_id: str) -> None:
    """Ends a run that waits, and asks one that goes on for partial results."""
    service.store.change(run_id, stop_asked=True)
    service.store.stop_queued(run_id)


def delete(service: Service, run_id: str, state: str) -> None:
    """Deletes a run in this state, and its files; its process is ended by its worker."""
    service.store.delete_run(run_id)
    if state != State.RUNNING.value:
        leavings.remove(service.settings.run_folder(run_id))


def begin_upload(service: Service, user: User, name: str, size_B: int) -> str:
    """Announces an upload; gives its id. Raises `Refused` and `TooMany`."""
    limits = service.settings.limits
    admission.check_name(name)
    room.check(service.settings)
    if size_B > limits.upload_B:
        raise TooMany(f"{name}: a file may have {limits.upload_B:,} bytes here")
    if service.store.uploaded_B(user) + size_B > limits.uploads_B:
        raise TooMany(f"your uploads may have {limits.uploads_B:,} bytes in all; delete some")
    upload = service.store.add_upload(user, name, size_B)
    file = service.settings.upload_file(upload.id)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    return upload.id


def forget_upload(service: Service, upload_id: str) -> None:
    """Deletes an upload; runs that read it keep their own link to its file."""
    service.store.delete_upload(upload_id)
    service.settings.upload_file(upload_id).unlink(missing_ok=True)


def age_s(run: Run) -> float:
    """Time since a run was over [s]."""
    return time.time() - (run.ended_at or time.time())
