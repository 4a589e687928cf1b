"""Bodies of the HTTP interface."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from hopcast.service.schema import Run, State
from hopcast.service.state import Service


class _Strict(BaseModel):
    """A body without unknown fields."""

    model_config = ConfigDict(extra="forbid")


class Submission(_Strict):
    """A run to be queued or estimated."""

    request: dict[str, Any] = Field(description="A request as of 'hopcast request schema'.")
    files: dict[str, str] = Field(
        default={}, max_length=200, description="Ids of uploads by the names in the request."
    )
    name: str = Field(default="", max_length=200)
    notes: str = Field(default="", max_length=20_000)


class Changes(_Strict):
    """Fields of a run that its owner may change."""

    name: str | None = Field(default=None, max_length=200)
    notes: str | None = Field(default=None, max_length=20_000)
    shared: bool | None = Field(default=None, description="Whether everybody who has its link may read it.")


class NewUpload(_Strict):
    """A file that is to come."""

    name: str = Field(max_length=100)
    size_B: int = Field(ge=0, le=2**50)


class UploadState(BaseModel):
    """Progress of an upload."""

    id: str
    name: str
    size_B: int
    received_B: int


class Estimate(BaseModel):
    """Needs of a run."""

    hosts: int | None
    ranks: int | None
    memory_B: int | None = Field(description="Memory of its process once it has begun.")
    seconds: float | None = Field(description="Time until its end, as its first second lets expect.")
    is_whole: bool = Field(description="True if that second was all of it.")
    warnings: list[str]


class Problem(BaseModel):
    """An error, and the field of the request that it is about."""

    detail: str
    field: str | None = None


class RunState(BaseModel):
    """A run."""

    id: str
    state: State
    platform: str
    workload: str
    name: str
    notes: str
    shared: bool
    created_at: float
    started_at: float | None
    ended_at: float | None
    attempts: int
    error: str | None
    makespan_s: float | None
    outcome: dict[str, Any] | None
    size_B: int
    ahead: int | None = Field(default=None, description="Runs that wait before it.")
    progress: dict[str, Any] | None = Field(default=None, description="How far it is, while it goes on.")

    @staticmethod
    def of(run: Run, service: Service | None = None) -> RunState:
        """The run as it stands; with queue position and progress if the service is asked."""
        names = (name for name in RunState.model_fields if name not in ("ahead", "progress"))
        state = RunState(**{name: getattr(run, name) for name in names})
        if service is not None and run.state == State.QUEUED.value:
            state.ahead = service.store.ahead(run)
        if service is not None and run.state == State.RUNNING.value:
            state.progress = service.pool.progress(run)
        return state


class RunList(BaseModel):
    """A page of the list of runs."""

    runs: list[RunState]
    count: int = Field(description="Runs in all that meet the filter.")
