"""Pages by which users of a group sign in, and those on which an operator sees and blocks them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Form, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict

from hopcast.service import accounts, api, codes, pages, submission
from hopcast.service.access import Services, Signed, enter_session
from hopcast.service.schema import User
from hopcast.service.settings import SignIn
from hopcast.service.state import Service

_FLOW = "hopcast-code"
"""Cookie of the browser that has asked for a code."""

_NO_CODE = (
    "That was not the code, or it counts no more: it lives for ten minutes, for one browser, one use and "
    "five tries. Look again, or ask for a new one."
)

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
operator_router = APIRouter(prefix=api.PREFIX, responses=api.ERRORS)


def by_mail(service: Services) -> None:
    """Hides the pages of codes where nobody signs in by e-mail."""
    if service.settings.accounts.sign_in is not SignIn.MAIL:
        raise HTTPException(404, "there is no such page")


ByMail = Annotated[None, Depends(by_mail)]


def operator(user: Signed) -> User:
    """The user, who is an operator; for all others there is nothing."""
    if not user.is_operator:
        raise HTTPException(404, "there is no such page")
    return user


Operator = Annotated[User, Depends(operator)]


@router.get("/sign-in")
def address_page(_mail: ByMail) -> Response:
    """The form for an address."""
    return _page("sign-in.html", problem=None)


@router.post("/sign-in")
def ask_for_code(
    request: Request, service: Services, _mail: ByMail, address: Annotated[str, Form(max_length=320)] = ""
) -> Response:
    """Sends a code, if the address may sign in; the answer does not tell."""
    known = accounts.address_of(address)
    if known is None:
        return _page("sign-in.html", 422, problem="This is no address of e-mail in letters of ASCII.")
    client = request.client.host if request.client else ""
    try:
        flow, code = service.codes.begin(known, client)
    except codes.TooManyCodes:
        problem = "Too many codes were asked for from here or for this address; try again in an hour."
        return _page("sign-in.html", 429, problem=problem)
    if service.settings.accounts.admits(known) and not service.directory.is_blocked(known):
        _send(service, known, code)
    answer = _page("code.html", problem=None)
    answer.set_cookie(
        _FLOW,
        flow,
        max_age=int(codes.LIFE_S),
        httponly=True,
        samesite="strict",
        secure=service.settings.is_encrypted,
        path="/sign-in",
    )
    return answer


@router.post("/sign-in/code")
def redeem_code(
    request: Request, service: Services, _mail: ByMail, code: Annotated[str, Form(max_length=100)] = ""
) -> Response:
    """Signs in whoever has the code and the browser that has asked for it."""
    found = service.codes.redeem(request.cookies.get(_FLOW, ""), code)
    user = service.directory.named(found) if isinstance(found, str) else None
    if user is None:
        is_over = found is codes.Tried.OVER
        return _page("sign-in.html" if is_over else "code.html", 401, problem=_NO_CODE)
    answer = enter_session(service, user)
    answer.delete_cookie(_FLOW, path="/sign-in")
    return answer


def _send(service: Service, address: str, code: str) -> None:
    assert service.mailer is not None, "a service whose users sign in by e-mail has a mail server"
    place = service.settings.public_url
    text = (
        f"The code with which you sign in to hopcast at {place}:\n\n    {code[:4]} {code[4:]}\n\n"
        f"It counts for {codes.LIFE_S / 60:.0f} minutes, once, in the browser that has asked for it.\n"
        "If you have not asked for it, somebody has mistaken your address for theirs: give it to nobody.\n"
    )
    service.mailer.send(address, "Your code for hopcast", text)


@router.get("/users")
def users_page(user: Operator, service: Services) -> Response:
    """All users, for an operator."""
    return _page("users.html", user=user, users=service.directory.users())


@router.post("/users/{user_id}/block")
def block_page(user_id: int, user: Operator, service: Services) -> Response:
    """Blocks a user."""
    _set_blocked(service, user, user_id, True)
    return RedirectResponse("/users", 303)


@router.post("/users/{user_id}/unblock")
def unblock_page(user_id: int, user: Operator, service: Services) -> Response:
    """Lets a user in again."""
    _set_blocked(service, user, user_id, False)
    return RedirectResponse("/users", 303)


class UserState(BaseModel):
    """A user."""

    id: int
    name: str
    created_at: float
    blocked_at: float | None
    runs: int
    unfinished: int
    size_B: int


class UserChanges(BaseModel):
    """Fields of a user that an operator may change."""

    model_config = ConfigDict(extra="forbid")

    blocked: bool


@operator_router.get("/users", tags=["users"])
def users(_user: Operator, service: Services) -> list[UserState]:
    """Lists all users, for an operator."""
    return [UserState(**vars(one)) for one in service.directory.users()]


@operator_router.patch("/users/{user_id}", status_code=204, response_class=Response, tags=["users"])
def change_user(user_id: int, body: UserChanges, user: Operator, service: Services) -> None:
    """Blocks a user, whose runs are stopped, or lets one in again."""
    _set_blocked(service, user, user_id, body.blocked)


def _set_blocked(service: Service, operator: User, user_id: int, blocked: bool) -> None:
    if user_id == operator.id:
        raise HTTPException(409, "operators do not block themselves")
    if not 0 < user_id < 2**31:
        raise HTTPException(404, "there is no such user")
    if not blocked:
        is_there = service.directory.unblock(user_id)
    else:
        runs = service.directory.block(user_id)
        is_there = runs is not None
        for run in runs or ():
            submission.stop(service, run.id)
    if not is_there:
        raise HTTPException(404, "there is no such user")


def _page(name: str, status: int = 200, user: User | None = None, **values: object) -> Response:
    return HTMLResponse(pages.render(name, user=user, version=pages.VERSION, **values), status)
