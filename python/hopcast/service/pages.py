"""Pages for a browser: list, form, run, tokens, and the way in."""

from __future__ import annotations

import shlex
import time
from functools import cache
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, StreamingResponse
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import AfterValidator
from starlette.concurrency import run_in_threadpool

from hopcast import __version__ as VERSION, core
from hopcast.report import units
from hopcast.request import RunRequest
from hopcast.service import access, admission, drawings, editor, form, job_form, live, process, submission
from hopcast.service.access import Own, Readable, Services, Signed, Visitor
from hopcast.service.admission import Refused
from hopcast.service.names import MOST, name_of
from hopcast.service.report_files import answered_file
from hopcast.service.schema import Run, State, User
from hopcast.service.settings import SignIn
from hopcast.service.state import Service
from hopcast.service.submission import TooMany

_PAGE = 50
_MOST_FORM_FIELDS = 1000
_MOST_CHOSEN = 200
"""Most runs that are chosen in the list at a time."""
MOST_NOTES = 20_000


def notes_of(text: str) -> str:
    """Notes of a form, whose browser counts the end of a line as one character and sends two."""
    return text.replace("\r\n", "\n")[:MOST_NOTES]


SentNotes = Annotated[str, Form(max_length=2 * MOST_NOTES), AfterValidator(notes_of)]
"""Notes as a browser sends them."""
SentName = Annotated[str, Form(max_length=MOST), AfterValidator(name_of)]

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/")
def listing(
    request: Request,
    user: Signed,
    service: Services,
    run: Annotated[list[str], Query(default_factory=list, max_length=_MOST_CHOSEN)],
    search: Annotated[str, Query(max_length=200)] = "",
    state: Annotated[str, Query(max_length=20)] = "",
    page: Annotated[int, Query(ge=1, le=10**6)] = 1,
) -> Response:
    """The user's runs, with search and filter; `run` are those that were chosen, also on other pages."""
    states = [one.value for one in State]
    wanted = state if state in states else None
    found, count = service.store.runs(user, search, wanted, _PAGE, (page - 1) * _PAGE)
    values: dict[str, Any] = {
        "runs": found,
        "count": count,
        "page": page,
        "pages": max(1, -(-count // _PAGE)),
    }
    shown = {one.id for one in found}
    values |= {"search": search, "state": wanted or "", "states": states}
    values |= {"chosen": run, "elsewhere": [one for one in dict.fromkeys(run) if one not in shown]}
    name = "runs.html" if "hx-request" in request.headers else "listing.html"
    return html_page(name, user, **values)


@router.get("/new")
def new(user: Signed, service: Services, like: Annotated[str, Query(max_length=40)] = "") -> Response:
    """An empty form, or that of a run that is to be changed a little."""
    values = form.proposed()
    run = service.store.run(like) if like else None
    if run is not None and run.owner_id == user.id and not run.inputs:
        values = form.values_of(run.request)
    return _form(user, values)


@router.get("/new/parameters")
def parameters(user: Signed, pattern: Annotated[str, Query(max_length=100)]) -> Response:
    """Fields of the parameters of a pattern."""
    return HTMLResponse(render("fields.html", fields=form.parameters(pattern, {}), error=None))


@router.post("/new/platform")
def platform(
    user: Signed, service: Services, platform_text: Annotated[str, Form(max_length=1 << 20)] = ""
) -> Response:
    """The error of a platform file that is being written, or the picture of its network."""
    picture, error = None, None
    if platform_text.strip():
        try:
            picture = drawings.encoded(service.pool.draw(platform_text, {}))
        except Refused as refused:
            error = str(refused)
    return HTMLResponse(render("platform.html", picture=picture, error=error, name=""))


@router.get("/new/drawing")
def preset_drawing(user: Signed, platform: Annotated[str, Query(max_length=200)] = "") -> Response:
    """The picture of the network of a preset; nothing for what is none."""
    drawn = drawings.of_preset(platform)
    picture = drawn and drawings.encoded(drawn)
    return HTMLResponse(render("platform.html", picture=picture, error=None, name=platform))


@router.post("/new/job")
async def another_job(request: Request, user: Signed) -> Response:
    """The form once more, with one job more."""
    values, uploads = await sent_form(request)
    alone = "hx-request" in request.headers
    return await run_in_threadpool(_form, user, job_form.more(values), None, None, uploads, alone)


@router.get("/new/keys")
def keys(user: Signed) -> Response:
    """Sections and keys of platform files, for the editor."""
    return JSONResponse(editor.sections())


@router.post("/new/check")
async def check(request: Request, user: Signed, service: Services) -> Response:
    """The form once more, with what the run will take, or with its error."""
    return await _submitted(request, user, service, queue=False)


@router.post("/runs")
async def submit(request: Request, user: Signed, service: Services) -> Response:
    """Queues the run of a form, and goes on to its page."""
    return await _submitted(request, user, service, queue=True)


async def sent_form(request: Request) -> tuple[dict[str, str], dict[str, str]]:
    """Values of a form by name, and ids of its uploads by their names."""
    sent = await request.form(max_files=0, max_fields=_MOST_FORM_FIELDS)
    values = {name: value for name, value in sent.items() if isinstance(value, str)}
    uploads = dict(
        value.split("=", 1) for value in sent.getlist("file") if isinstance(value, str) and "=" in value
    )
    return values, uploads


async def _submitted(request: Request, user: User, service: Service, queue: bool) -> Response:
    values, uploads = await sent_form(request)
    alone = "hx-request" in request.headers
    return await run_in_threadpool(_answer_form, service, user, values, uploads, queue, alone)


def _answer_form(
    service: Service, user: User, values: dict[str, str], uploads: dict[str, str], queue: bool, alone: bool
) -> Response:
    shown: dict[str, Any] = {"uploads": uploads, "alone": alone}
    try:
        admission_of, files = submission.admitted(service, user, form.request_of(values, uploads), uploads)
        if not queue:
            found = service.pool.estimate(admission_of, files, user.id)
            return _form(user, values, estimate=found, **shown)
        name, notes = name_of(values.get("name", "")), notes_of(values.get("notes", ""))
        run = submission.submit(service, user, admission_of, files, name, notes)
    except Refused as error:
        return _form(user, values, error=error, status=200 if alone else 422, **shown)
    except TooMany as error:
        limit = Refused("request", str(error))
        return _form(user, values, error=limit, status=200 if alone else 429, **shown)
    return RedirectResponse(f"/runs/{run.id}", 303)


def _form(
    user: User,
    values: dict[str, str],
    error: Refused | None = None,
    estimate: dict[str, Any] | None = None,
    uploads: dict[str, str] | None = None,
    alone: bool = False,
    status: int = 200,
) -> Response:
    shown = form.groups(values)
    own = form.parameters(values.get("pattern", ""), values)
    keys = {field.key for group in shown for field in group.fields} | {field.key for field in own}
    known = keys | {"platform", "workload", "files"}
    return html_page(
        "form.html" if alone else "new.html",
        user,
        status,
        values=values,
        jobs=job_form.rows(values),
        job_fields=job_form.FIELDS,
        groups=shown,
        parameters=own,
        platforms=core.registry("platforms")["entries"],
        patterns=core.registry("patterns")["entries"],
        error=error,
        elsewhere=error is not None and error.field not in known and not error.field.startswith("set"),
        estimate=estimate,
        uploads=uploads or {},
    )


@router.post("/runs/delete")
def delete_chosen(
    user: Signed,
    service: Services,
    run: Annotated[list[str], Form(default_factory=list, max_length=_MOST_CHOSEN)],
) -> Response:
    """Deletes the chosen runs; what is not the user's own stays."""
    for one in dict.fromkeys(run):
        found = service.store.run(one)
        if found is not None and found.owner_id == user.id:
            submission.delete(service, found.id, found.state)
    return RedirectResponse("/", 303)


@router.get("/runs/{run_id}")
def run_page(run: Readable, user: Visitor, service: Services) -> Response:
    """A run: its state, its report, and what can be done with it."""
    request = RunRequest(run.request["platform"], run.request["workload"], _options_of(run))
    command = shlex.join([*admission.command_line(request), "--out", "report-again"])
    report = service.settings.run_folder(run.id) / process.REPORT / "report.html"
    is_own = user is not None and run.owner_id == user.id
    shown: dict[str, Any] = {
        "command": command,
        "has_report": run.is_over and report.is_file(),
        "is_own": is_own,
    }
    return html_page("run.html", user, run=run, live={} if run.is_over else _live(service, run), **shown)


def _options_of(run: Run) -> dict[str, Any]:
    return {
        key: value for key, value in run.request.items() if key not in ("version", "platform", "workload")
    }


def _live(service: Service, run: Run) -> dict[str, str]:
    if run.state == State.QUEUED.value:
        return render_live(run, service.store.ahead(run), None, [])
    report = service.pool.attempt(run) / process.REPORT
    # A program can write anything there, which this process must not open.
    is_ours = not admission.is_program(run.request)
    pictures = live.pictures(report, run.request.get("ranks")) if is_ours else []
    return render_live(run, 0, service.pool.progress(run), pictures)


def render_live(run: Any, ahead: int, progress: dict[str, Any] | None, pictures: list) -> dict[str, str]:
    """Live parts of the page of a run, by name: `state` and `stop_asked` of `run`, progress and pictures."""
    left_s = None
    if progress and progress["share"]:
        left_s = progress["elapsed_s"] * (1 - progress["share"]) / progress["share"]
    state = render("state.html", run=run, ahead=ahead, progress=progress, left_s=left_s)
    return {"state": state, "pictures": render("pictures.html", pictures=pictures)}


@router.get("/runs/{run_id}/events")
def events(run: Readable, service: Services) -> Response:
    """Progress and pictures as server-sent events."""
    stream = live.events(service, run.id, lambda run: _live(service, run))
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@router.get("/runs/{run_id}/report")
def report(run: Readable, service: Services) -> Response:
    """The page of the report, which may load nothing and has no cookie."""
    file = service.settings.run_folder(run.id) / process.REPORT / "report.html"
    if not file.is_file():
        raise HTTPException(404, "this run has no report")
    return answered_file(file, "text/html", headers=_report_headers())


@router.post("/runs/{run_id}/edit")
def edit(
    run: Own,
    service: Services,
    name: SentName = "",
    notes: SentNotes = "",
    shared: Annotated[str, Form(max_length=5)] = "",
) -> Response:
    """Changes name, notes, and who may read."""
    service.store.rename(run.id, name=name, notes=notes, shared=bool(shared))
    return RedirectResponse(f"/runs/{run.id}", 303)


@router.post("/runs/{run_id}/stop")
def stop(run: Own, service: Services) -> Response:
    """Stops a run."""
    if not run.is_over:
        submission.stop(service, run.id)
    return RedirectResponse(f"/runs/{run.id}", 303)


@router.post("/runs/{run_id}/delete")
def delete(run: Own, service: Services) -> Response:
    """Deletes a run."""
    submission.delete(service, run.id, run.state)
    return RedirectResponse("/", 303)


@router.get("/uploads")
def uploads(user: Signed, service: Services) -> Response:
    """Files that the user has uploaded."""
    found = service.store.uploads(user)
    days = f"{service.settings.keep_uploads_s / 86400:.3g} days"
    sizes = {"size_B": sum(one.size_B for one in found), "most_B": service.settings.limits.uploads_B}
    return html_page("upload_list.html", user, uploads=found, keep_days=days, **sizes)


@router.post("/uploads/{upload_id}/delete")
def delete_upload(upload_id: str, user: Signed, service: Services) -> Response:
    """Deletes a file; runs that were submitted with it keep it."""
    if service.store.upload(user, upload_id) is None:
        raise HTTPException(404, "there is no such upload")
    submission.forget_upload(service, upload_id)
    return RedirectResponse("/uploads", 303)


@router.get("/tokens")
def tokens(user: Signed, service: Services) -> Response:
    """Tokens for scripts."""
    return html_page("tokens.html", user, tokens=service.store.tokens(user), fresh=None)


@router.post("/tokens")
def new_token(user: Signed, service: Services, label: Annotated[str, Form(max_length=100)] = "") -> Response:
    """A new token, which is shown this once."""
    fresh = service.store.issue(user, "api", label=label)
    return html_page("tokens.html", user, tokens=service.store.tokens(user), fresh=fresh)


@router.post("/tokens/{token_id}/revoke")
def revoke(token_id: int, user: Signed, service: Services) -> Response:
    """Makes a token worthless."""
    if not 0 < token_id < 2**31 or not service.store.revoke(user, token_id):
        raise HTTPException(404, "there is no such token")
    return RedirectResponse("/tokens", 303)


@router.get("/enter")
def enter(service: Services, token: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Exchanges the one-time token of an address for a cookie."""
    user = service.store.spend(token)
    if user is None:
        raise HTTPException(401, "this address has been used, or is not valid any more")
    return access.enter_session(service, user)


@router.post("/leave")
def leave(request: Request, service: Services) -> Response:
    """Signs out."""
    service.store.sign_out(request.cookies.get(service.settings.cookie, ""))
    answer = RedirectResponse(service.settings.accounts.sign_out or "/", 303)
    answer.delete_cookie(service.settings.cookie, secure=service.settings.is_encrypted)
    return answer


_STATIC = {
    "htmx.min.js": "text/javascript",
    "htmx-sse.min.js": "text/javascript",
    "site.js": "text/javascript",
    "site.css": "text/css",
    "report.css": "text/css",
    "timeline.js": "text/javascript",
}


@router.get("/static/{name}")
def static(name: str) -> Response:
    """A file of the pages."""
    if name not in _STATIC:
        raise HTTPException(404, "there is no such file")
    return Response(_static(name), media_type=_STATIC[name], headers={"Cache-Control": "max-age=3600"})


@cache
def _static(name: str) -> bytes:
    # The colours of reports, whose pictures stand on the pages, too; and their viewer of timelines.
    of_reports = {"report.css": "style.css", "timeline.js": "timeline.js"}.get(name)
    if of_reports is not None:
        return (files("hopcast.report") / "pages" / of_reports).read_bytes()
    return (files("hopcast.service") / "static" / name).read_bytes()


def error_page(status: int, text: str, sign_in: SignIn = SignIn.LOCAL) -> Response:
    """A page that says what is wrong, and if it is a lack of a session, how to get one."""
    return html_page("error.html", None, status, text=text, code=status, sign_in=sign_in.value)


def _report_headers() -> dict[str, str]:
    return {"Content-Security-Policy": access.SafeHeaders.REPORT_POLICY}


def html_page(name: str, user: User | None, status: int = 200, /, **values: Any) -> Response:
    """A page: a template with the bar of pages for its user."""
    return HTMLResponse(render(name, user=user, version=VERSION, **values), status)


def render(name: str, /, **values: Any) -> str:
    """A template with its values."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("hopcast.service", "templates"), PackageLoader("hopcast.report", "pages")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        seconds=lambda value: units.seconds(value, 3),
        precisely=units.seconds,
        size=units.size,
        count=units.count,
        percent=units.percent,
        drawing=Markup,
        when=lambda value: time.strftime("%Y-%m-%d %H:%M", time.localtime(value)),
    )
    return environment
