"""Bodies of the HTTP interface."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from hopcast.service.names import Name, SeenName
from hopcast.service.schema import Run, State, Study
from hopcast.service.state import Service
from hopcast.service.studies import Standing
from hopcast.service.study_store import Cell


def _plain(request: dict[str, Any]) -> dict[str, Any]:
    """The request, if it can be written as JSON again. Raises `ValueError`."""
    try:
        json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half of a character (a surrogate)") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return request


class _Strict(BaseModel):
    """A body without unknown fields."""

    model_config = ConfigDict(extra="forbid")


class Submission(_Strict):
    """A run to be queued or estimated."""

    request: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(
        description="A request as of 'hopcast request schema'."
    )
    files: dict[str, str] = Field(
        default={}, max_length=200, description="Ids of uploads by the names in the request."
    )
    name: Name = ""
    notes: str = Field(default="", max_length=20_000)


class Changes(_Strict):
    """Fields of a run that its owner may change."""

    name: Name | None = None
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


class UploadList(BaseModel):
    """Uploads of a user."""

    uploads: list[UploadState]
    size_B: int = Field(description="Sum of their announced sizes.")
    most_B: int = Field(description="Sum that is allowed.")


class Estimate(BaseModel):
    """Needs of a run."""

    hosts: int | None
    ranks: int | None
    memory_B: int | None = Field(description="Memory of its process once it has begun.")
    seconds: float | None = Field(description="Time until its end, as its first second lets expect.")
    is_whole: bool = Field(description="True if that second was all of it.")
    warnings: list[str]


class PlatformText(_Strict):
    """A platform file."""

    platform: str = Field(max_length=1 << 20, description="Its text, in TOML.")


class ComparedRow(BaseModel):
    """One line of a comparison, written out with units."""

    name: str
    values: tuple[str, ...] = Field(description="Values by run.")
    differences: tuple[str, ...] = Field(description="Differences of all other runs to A.")
    ratios: tuple[str, ...] = Field(description="Ratios of all other runs to A.")


class ComparedGroup(BaseModel):
    """Lines that belong together."""

    title: str
    rows: list[ComparedRow]


class ComparisonState(BaseModel):
    """Runs side by side."""

    title: str
    verdict: str = Field(description="The comparison in a sentence.")
    runs: dict[str, str] = Field(description="Ids of the runs by letter: A, B, and so on.")
    groups: list[ComparedGroup]


class TableList(BaseModel):
    """Tables of a run."""

    tables: list[str] = Field(description="Names.")


class TablePart(BaseModel):
    """Rows of a table."""

    columns: list[str]
    rows: list[list[Any]] = Field(description="Values by column; null for what is no finite number.")
    count: int = Field(description="Rows in all that meet the filter.")


class StudyEstimate(BaseModel):
    """Needs of a study, as some of its cells that were begun let expect."""

    cells: int
    tried: list[int] = Field(description="Numbers of the cells that were begun.")
    hosts: int | None = Field(description="Of the largest of these.")
    ranks: int | None = Field(description="Of the largest of these.")
    memory_B: int | None = Field(description="Of the largest of these.")
    seconds: float | None = Field(description="Sum of all cells; with n workers, it takes an nth of it.")
    workers: int | None = Field(description="Workers of this machine; null where they are elsewhere.")
    is_whole: bool = Field(description="True if all cells were run to their ends.")
    warnings: list[str]


class StudySubmission(_Strict):
    """A study to be queued or estimated."""

    study: str = Field(max_length=1 << 20, description="A study file, in TOML.")
    files: dict[str, str] = Field(
        default={}, max_length=200, description="Ids of uploads by the names in the study."
    )
    name: Name = ""
    notes: str = Field(default="", max_length=20_000)


class StudyChanges(_Strict):
    """Fields of a study that its owner may change."""

    name: SeenName | None = None
    notes: str | None = Field(default=None, max_length=20_000)
    shared: bool | None = Field(
        default=None, description="Whether everybody who has its link may read it and its cells."
    )


class CellState(BaseModel):
    """A cell of a study."""

    number: int
    settings: dict[str, Any] = Field(description="Values of what varies, by name.")
    run: str = Field(description="Id of its run.")
    state: str = Field(description="State of its run, or deleted.")
    makespan_s: float | None
    error: str | None = Field(description="Reason why it has no result, or why its program failed.")


class StudyState(BaseModel):
    """A study."""

    id: str
    name: str
    notes: str
    shared: bool
    created_at: float
    is_over: bool = Field(description="True if nothing more happens to any cell.")
    counts: dict[str, int] = Field(description="Number of cells by state.")
    cells: list[CellState]

    @staticmethod
    def of(study: Study, found: list[Cell]) -> StudyState:
        """The study, whose cells are these."""
        standing = Standing.of(found)
        cells = [
            CellState(
                number=cell.number,
                settings=cell.settings,
                run=cell.run_id,
                state=cell.state,
                makespan_s=cell.makespan_s,
                error=cell.error,
            )
            for cell in found
        ]
        names = ("id", "name", "notes", "shared", "created_at")
        return StudyState(
            **{name: getattr(study, name) for name in names},
            is_over=standing.is_over,
            counts=standing.counts,
            cells=cells,
        )


class StudyEntry(BaseModel):
    """A study in the list."""

    id: str
    name: str
    notes: str
    shared: bool
    created_at: float


class StudyList(BaseModel):
    """A page of the list of studies."""

    studies: list[StudyEntry]
    count: int = Field(description="Studies in all that meet the search.")


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
