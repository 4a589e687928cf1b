"""Accounts by e-mail: codes that are tried, used twice and too late; who may sign in; operators."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import HOST, LONG, User, request, user_of
from fastapi.testclient import TestClient
from mailboxes import PASSWORD, Mailbox, certificate
from sqlalchemy import select, update
from test_access import asked, routes

from hopcast.service import codes, mail
from hopcast.service.accounts import address_of
from hopcast.service.mail import Mailer
from hopcast.service.schema import Code
from hopcast.service.settings import Accounts, Encryption, Settings, SignIn, Smtp
from hopcast.service.state import Service

Start = Callable[..., tuple[Service, TestClient]]

ADA, BOB, EVE, OPERATOR = "ada@example.org", "bob@example.org", "eve@elsewhere.example", "op@example.org"


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    box = Mailbox()
    yield box
    box.close()


@pytest.fixture
def group(settings: Settings, mailbox: Mailbox) -> Settings:
    smtp = Smtp("localhost", mailbox.port, Encryption.NONE, "hopcast@example.org")
    accounts = Accounts(
        SignIn.MAIL, domains=frozenset({"example.org"}), operators=frozenset({OPERATOR}), smtp=smtp
    )
    return replace(settings, accounts=accounts, public_url=f"http://{HOST}")


@pytest.fixture
def service(group: Settings, served: Start) -> Service:
    return served(group)[0]


@pytest.fixture
def visitor(service: Service, served: Start, group: Settings) -> Callable[..., TestClient]:
    """Browsers, each with an address of its own."""
    from hopcast.service.app import application

    app = application(service)

    def new(client: str = "192.0.2.1") -> TestClient:
        http = TestClient(app, f"http://{HOST}", follow_redirects=False, client=(client, 5))
        http.headers["Sec-Fetch-Site"] = "same-origin"
        return http

    return new


def ask(http: TestClient, address: str) -> int:
    return http.post("/sign-in", data={"address": address}).status_code


def enter(http: TestClient, mailbox: Mailbox, address: str) -> TestClient:
    """The browser, in which somebody has signed in."""
    assert ask(http, address) == 200
    answer = http.post("/sign-in/code", data={"code": mailbox.code_to(address)})
    assert answer.status_code == 303 and answer.headers["location"] == "/"
    return http


def age(service: Service, seconds: float) -> None:
    """Makes all codes older."""
    with service.store.sessions.begin() as session:
        session.execute(update(Code).values(created_at=Code.created_at - seconds))


def test_a_code_signs_in_once(visitor: Callable[..., TestClient], mailbox: Mailbox, service: Service) -> None:
    http = visitor()
    assert http.get("/").status_code == 303 and http.get("/").headers["location"] == "/sign-in"
    assert http.get("/api/v1/runs").status_code == 401
    assert ask(http, f"  {ADA.upper()} ") == 200
    flow = dict(http.cookies)
    code = mailbox.code_to(ADA)
    answer = http.post("/sign-in/code", data={"code": code})
    cookie = answer.headers["set-cookie"].lower()
    assert answer.status_code == 303 and "httponly" in cookie and "samesite=lax" in cookie
    assert http.get("/").status_code == 200 and "Sign out" in http.get("/").text
    assert service.store.user(ADA).name == ADA
    again = visitor()
    again.cookies.update(flow)
    assert again.post("/sign-in/code", data={"code": code}).status_code == 401
    http.post("/leave")
    assert http.get("/").status_code == 303


def test_a_mail_says_who_sends_it_and_for_what(visitor: Callable[..., TestClient], mailbox: Mailbox) -> None:
    ask(visitor(), ADA)
    end_s = time.monotonic() + 20
    while not mailbox.mails and time.monotonic() < end_s:
        time.sleep(0.01)
    mail = mailbox.mails[0]
    assert mail["From"] == "hopcast@example.org" and mail["To"] == ADA
    assert f"http://{HOST}" in mail.get_payload() and "10 minutes" in mail.get_payload()


def test_the_answer_does_not_tell_who_has_an_account(
    visitor: Callable[..., TestClient], mailbox: Mailbox, service: Service
) -> None:
    enter(visitor("192.0.2.9"), mailbox, ADA)
    blocked = service.store.user(BOB)
    service.directory.block(blocked.id)
    answers = []
    for address in (ADA, "new@example.org", EVE, BOB):
        answer = visitor().post("/sign-in", data={"address": address})
        cookie = re.sub("hopcast-code=[^;]+", "", answer.headers["set-cookie"])
        answers.append((answer.status_code, answer.text, cookie))
    assert len(set(answers)) == 1
    mailbox.code_to(ADA)
    mailbox.code_to("new@example.org")
    time.sleep(0.3)
    assert not mailbox.mails, "no mail to who may not sign in"


def test_a_code_is_tried_five_times(visitor: Callable[..., TestClient], mailbox: Mailbox) -> None:
    http = visitor()
    ask(http, ADA)
    code = mailbox.code_to(ADA)
    wrong = f"{(int(code.replace(' ', '')) + 1) % 10**8:08}"
    for _ in range(codes.TRIES):
        assert http.post("/sign-in/code", data={"code": wrong}).status_code == 401
    assert http.post("/sign-in/code", data={"code": code}).status_code == 401, "too late: five were wrong"


def test_wrong_tries_below_the_limit_harm_nothing(
    visitor: Callable[..., TestClient], mailbox: Mailbox
) -> None:
    http = visitor()
    ask(http, ADA)
    code = mailbox.code_to(ADA)
    for wrong in ("", "0", "' OR 1=1 --", "٠١٢٣٤٥٦٧"):
        assert http.post("/sign-in/code", data={"code": wrong}).status_code == 401
    assert http.post("/sign-in/code", data={"code": code.replace(" ", "-")}).status_code == 303


def test_a_code_counts_for_ten_minutes(
    visitor: Callable[..., TestClient], mailbox: Mailbox, service: Service
) -> None:
    http = visitor()
    ask(http, ADA)
    age(service, codes.LIFE_S - 5)
    other = visitor()
    ask(other, BOB)
    age(service, 6)
    assert http.post("/sign-in/code", data={"code": mailbox.code_to(ADA)}).status_code == 401
    assert other.post("/sign-in/code", data={"code": mailbox.code_to(BOB)}).status_code == 303


def test_a_code_counts_in_the_browser_that_asked(
    visitor: Callable[..., TestClient], mailbox: Mailbox
) -> None:
    victim, thief = visitor(), visitor()
    ask(victim, ADA)
    ask(thief, EVE)
    code = mailbox.code_to(ADA)
    assert thief.post("/sign-in/code", data={"code": code}).status_code == 401
    assert visitor().post("/sign-in/code", data={"code": code}).status_code == 401
    assert victim.post("/sign-in/code", data={"code": code}).status_code == 303


def test_a_code_that_was_sent_before_a_block_counts_no_more(
    visitor: Callable[..., TestClient], mailbox: Mailbox, service: Service
) -> None:
    http = visitor()
    ask(http, ADA)
    service.directory.block(service.store.user(ADA).id)
    assert http.post("/sign-in/code", data={"code": mailbox.code_to(ADA)}).status_code == 401


def test_tries_at_the_same_time_count_one_by_one(service: Service) -> None:
    from concurrent.futures import ThreadPoolExecutor

    flow, code = service.codes.begin(ADA, "192.0.2.1")
    wrong = f"{(int(code) + 1) % 10**8:08}"
    with ThreadPoolExecutor(16) as threads:
        told = list(threads.map(lambda _: service.codes.redeem(flow, wrong), range(40)))
    assert told.count(codes.Tried.WRONG) == codes.TRIES - 1
    flow, code = service.codes.begin(ADA, "192.0.2.1")
    with ThreadPoolExecutor(4) as threads:
        told = list(threads.map(lambda _: service.codes.redeem(flow, code), range(4)))
    assert told.count(ADA) == 1


def test_codes_asked_for_at_the_same_time_count_one_by_one(service: Service) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def begun(_number: int) -> bool:
        try:
            service.codes.begin(ADA, "::ffff:192.0.2.1")
        except codes.TooManyCodes:
            return False
        return True

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(begun, range(30))) == codes.PER_HOUR["address and client"]
    with service.store.sessions.begin() as session:
        assert set(session.scalars(select(Code.client))) == {"192.0.2.1"}, "also as an address of IPv6"


def test_codes_are_limited_by_address_and_client(
    visitor: Callable[..., TestClient], mailbox: Mailbox, service: Service
) -> None:
    one = [ask(visitor(), ADA) for _ in range(6)]
    assert one == [200] * 5 + [429]
    assert ask(visitor(), BOB) == 200, "another address from here goes on"
    elsewhere = [ask(visitor(f"192.0.2.{number}"), ADA) for number in range(10, 40)]
    assert elsewhere.count(200) == codes.PER_HOUR["address"] - 5 and elsewhere[-1] == 429
    unknown = [ask(visitor("198.51.100.1"), EVE) for _ in range(6)]
    assert unknown == one, "the limit does not tell either who has an account"
    many = [ask(visitor("2001:db8::1"), f"u{number}@example.org") for number in range(20)]
    many += [ask(visitor("2001:db8::2"), f"w{number}@example.org") for number in range(20)]
    assert many.count(200) == codes.PER_HOUR["client"], "a network of IPv6 is one client"
    age(service, 3601)
    assert ask(visitor(), ADA) == 200


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ada",
        "ada@",
        "@example.org",
        "ada@example.org\nBcc: eve@elsewhere.example",
        "ada@example.org\r\nBcc: eve@elsewhere.example",
        "ada@example.org, eve@elsewhere.example",
        "Ada <ada@example.org>",
        "ada@example.org@elsewhere.example",
        "ada@exämple.org",
        "adа@example.org",  # its third letter is Cyrillic
        "ada\0@example.org",
        f"{'a' * 200}@example.org",
        f"{'a' * 65}@example.org",
        "eve%elsewhere.example@example.org",
        "elsewhere.example!eve@example.org",
        "=?utf-8?q?eve=40elsewhere.example?=@example.org",
        "eve=elsewhere.example@example.org",
        "eve'@example.org",
        "/eve@example.org",
    ],
)
def test_what_is_no_address_gets_no_mail(
    text: str, visitor: Callable[..., TestClient], mailbox: Mailbox
) -> None:
    assert address_of(text) is None
    assert ask(visitor(), text) == 422
    assert not mailbox.mails


def test_domains_are_whole(group: Settings) -> None:
    admits = group.accounts.admits
    assert admits(ADA) and admits(OPERATOR)
    for name in (
        EVE,
        "a@notexample.org",
        "a@sub.example.org",
        "a@example.org.evil",
        "example.org@evil",
        "local",
    ):
        assert not admits(name), name
    assert replace(group.accounts, domains=frozenset({"*"})).admits(EVE)


def test_the_database_holds_no_code(service: Service) -> None:
    flow, code = service.codes.begin(ADA, "192.0.2.1")
    content = b"".join(file.read_bytes() for file in service.settings.data.glob("service.sqlite*"))
    assert code.encode() not in content and flow.encode() not in content and ADA.encode() in content


def test_an_address_that_is_admitted_no_more(
    visitor: Callable[..., TestClient], mailbox: Mailbox, service: Service, group: Settings, served: Start
) -> None:
    http = enter(visitor(), mailbox, ADA)
    token = service.store.issue(service.store.user(ADA), "api")
    none = replace(group.accounts, domains=frozenset({"elsewhere.example"}))
    later = served(replace(group, accounts=none))[1]
    later.cookies.update(dict(http.cookies))
    assert later.get("/").status_code == 303
    bearer = {"Authorization": f"Bearer {token}"}
    assert later.get("/api/v1/runs", headers=bearer).status_code == 401
    assert http.get("/api/v1/runs", headers=bearer).status_code == 200


def test_another_users_runs_by_every_route(
    visitor: Callable[..., TestClient], mailbox: Mailbox, service: Service
) -> None:
    alice = user_of(service, visitor("192.0.2.77"), ADA)
    run = alice.submit(request(4), name="secret")
    alice.over(run)
    upload = alice.upload("a", b"x")
    mallory = enter(visitor(), mailbox, BOB)
    operator = enter(visitor(), mailbox, OPERATOR)
    names = {"run_id": run, "upload_id": upload, "user_id": "1"}
    tried = 0
    for http in (mallory, operator):  # an operator sees users, and no runs of theirs
        for method, path in routes(http.app):
            if "{run_id}" in path or "{upload_id}" in path or ("user" in path and http is mallory):
                assert asked(http, method, path, **names) in (404, 422), (method, path)
                tried += 1
        assert run not in http.get("/?search=secret").text
    assert tried > 35
    alice.ask("PATCH", f"/runs/{run}", json={"shared": True})
    assert visitor().get(f"/runs/{run}").status_code == 200, "by its link, everybody reads what is shared"
    alice.ask("PATCH", f"/runs/{run}", json={"shared": False})
    assert visitor().get(f"/runs/{run}").status_code == 404


def test_an_operator_lists_and_blocks(
    visitor: Callable[..., TestClient], mailbox: Mailbox, service: Service
) -> None:
    operator, ada = enter(visitor(), mailbox, OPERATOR), enter(visitor(), mailbox, ADA)
    assert "/users" in operator.get("/").text and "/users" not in ada.get("/").text
    script = user_of(service, visitor(), ADA)
    run = script.submit(request(64, LONG))
    script.going(run)
    waits = script.submit(request(64, LONG))
    listed = {one["name"]: one for one in operator.get("/api/v1/users").json()}
    assert listed[ADA]["runs"] == 2 and listed[ADA]["unfinished"] == 2 and listed[OPERATOR]["runs"] == 0
    assert ADA in operator.get("/users").text
    number = listed[ADA]["id"]
    assert operator.patch(f"/api/v1/users/{number}", json={"blocked": True}).status_code == 204
    assert ada.get("/").status_code == 303 and ada.get("/api/v1/runs").status_code == 401
    assert script.http.get("/api/v1/runs", headers=script.headers).status_code == 401
    end_s = time.monotonic() + 60
    while not all(service.store.run(one).is_over for one in (run, waits)):  # type: ignore[union-attr]
        assert time.monotonic() < end_s, "the runs of who is blocked are stopped"
        time.sleep(0.05)
    assert operator.post(f"/users/{number}/unblock").status_code == 303
    assert script.ask("GET", "/runs")["count"] == 2
    assert ada.get("/").status_code == 303, "sessions do not come back"
    me = listed[OPERATOR]["id"]
    assert operator.post(f"/users/{me}/block").status_code == 409
    assert operator.post("/users/0/block").status_code == 404
    assert operator.post(f"/users/{10**30}/block").status_code in (404, 422)
    assert operator.patch("/api/v1/users/999", json={"blocked": False}).status_code == 404


def test_who_is_blocked_gets_no_code(
    visitor: Callable[..., TestClient], mailbox: Mailbox, service: Service
) -> None:
    service.directory.block(service.store.user(ADA).id)
    assert ask(visitor(), ADA) == 200
    time.sleep(0.5)
    assert not mailbox.mails


def test_pages_of_codes_are_not_there_on_a_laptop(alice: User) -> None:
    assert alice.http.get("/sign-in").status_code == 404
    assert alice.http.post("/sign-in", data={"address": ADA}).status_code == 404
    assert alice.http.get("/api/v1/users", headers=alice.headers).status_code == 404


def test_a_database_of_before_accounts_still_opens(settings: Settings, served: Start) -> None:
    settings.data.mkdir()
    with sqlite3.connect(settings.data / "service.sqlite") as old:
        old.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name VARCHAR(200) UNIQUE, created_at FLOAT)")
        old.execute("INSERT INTO users VALUES (1, 'alice', 0)")
    user = user_of(*served(settings), "alice")
    assert user.ask("GET", "/runs")["count"] == 0


@pytest.mark.parametrize("by_tls", [False, True], ids=["starttls", "tls"])
def test_a_mail_server_with_encryption_and_password(
    by_tls: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = certificate(tmp_path)
    box = Mailbox(file, by_tls)
    encryption = Encryption.TLS if by_tls else Encryption.STARTTLS
    smtp = Smtp("localhost", box.port, encryption, "hopcast@example.org", "hopcast", PASSWORD)
    try:
        untrusted = Mailer(smtp).check()
        assert untrusted is not None and "certificate" in untrusted.lower()
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        assert Mailer(smtp).check() is None
        assert "535" in str(Mailer(replace(smtp, password="wrong")).check())
        mailer = Mailer(smtp)
        mailer.start()
        mailer.send(ADA, "x", "1234 5678")
        assert box.code_to(ADA) == "1234 5678"
        mailer.close()
    finally:
        box.close()
    assert "Connection refused" in str(Mailer(smtp).check())


def test_a_mail_is_sent_again_after_a_while(mailbox: Mailbox, capfd: pytest.CaptureFixture[str]) -> None:
    mailbox.refuses = True
    mailer = Mailer(Smtp("localhost", mailbox.port, Encryption.NONE, "hopcast@example.org"), retry_s=0.5)
    mailer.start()
    mailer.send(ADA, "x", "1234 5678")
    end_s = time.monotonic() + 20
    while not mailbox.refused:
        assert time.monotonic() < end_s
        time.sleep(0.01)
    mailbox.refuses = False
    assert mailbox.code_to(ADA) == "1234 5678"
    mailer.close()
    assert "was not sent: 451 try again later" in capfd.readouterr().err


def test_an_address_that_a_server_takes_later_and_one_that_it_never_takes(
    capfd: pytest.CaptureFixture[str],
) -> None:
    box = Mailbox()
    asked: list[str] = []

    async def recipient(_server: Any, _session: Any, envelope: Any, address: str, _options: Any) -> str:
        asked.append(address)
        if address == EVE:
            return "550 nobody"
        if asked.count(address) == 1:
            return "450 later"
        envelope.rcpt_tos.append(address)
        return "250 taken"

    box.handle_RCPT = recipient  # type: ignore[attr-defined]
    mailer = Mailer(Smtp("localhost", box.port, Encryption.NONE, "hopcast@example.org"), retry_s=0.1)
    mailer.start()
    try:
        mailer.send(EVE, "x", "1234 5678")
        mailer.send(ADA, "x", "1234 5678")
        assert box.code_to(ADA) == "1234 5678"
    finally:
        mailer.close()
        box.close()
    assert asked == [EVE, ADA, ADA]
    said = capfd.readouterr().err
    assert "550 nobody" in said and "450 later" in said


def test_a_mail_that_fails_in_any_way_ends_nothing(
    mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: Any, **__: Any) -> str:
        raise ValueError("odd")

    mailer = Mailer(Smtp("localhost", mailbox.port, Encryption.NONE, "hopcast@example.org"))
    with monkeypatch.context() as patched:
        patched.setattr(mail, "make_msgid", fails)
        mailer.send(ADA, "x", "1234 5678")  # the answer must not depend on it
    assert f"a mail to {ADA} cannot be made: odd" in capfd.readouterr().err
    deliver, delivered = mailer._deliver, []

    def sometimes(address: str, content: Any) -> None:
        delivered.append(address)
        fails() if address == ADA else deliver(address, content)

    monkeypatch.setattr(mailer, "_deliver", sometimes)
    monkeypatch.setattr(mailer, "check", fails)
    mailer.start()
    mailer.send(ADA, "x", "1234 5678")
    mailer.send(BOB, "x", "1234 5678")
    assert mailbox.code_to(BOB) == "1234 5678" and delivered == [ADA, BOB]
    mailer.close()
    assert f"a mail to {ADA} was not sent: odd" in capfd.readouterr().err
