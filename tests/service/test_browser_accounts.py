"""Signing in by a code in a real browser, by keyboard alone and on a phone, and the operator's page."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import PHONE, check
from mailboxes import Mailbox
from servers import HOPCAST

ADA, OPERATOR = "ada@example.org", "op@example.org"


@pytest.fixture
def group(tmp_path: Path) -> Iterator[tuple[str, Mailbox]]:
    """Address of a server of its own process, and the box of its mails."""
    mailbox, file = Mailbox(), tmp_path / "service.toml"
    file.write_text(
        f'data = "{tmp_path}/data"\n[server]\nlisten = "127.0.0.1:0"\npublic_url = "http://localhost"\n'
        f'[accounts]\nsign_in = "mail"\ndomains = ["example.org"]\noperators = ["{OPERATOR}"]\n'
        f'[accounts.smtp]\nhost = "localhost"\nport = {mailbox.port}\nencryption = "none"\n'
        'sender = "hopcast@example.org"\n'
    )
    command = [*HOPCAST, "serve", "--config", str(file)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    port = re.findall(r"port (\d+)", server.stdout.readline())[0]
    yield f"http://localhost:{port}", mailbox
    server.terminate()
    server.communicate(timeout=60)
    mailbox.close()


def enter(page: Any, address: str, mailbox: Mailbox, name: str) -> None:
    """Signs in without a mouse: each page has its field in focus."""
    page.goto(address)
    page.wait_for_url("**/sign-in")
    check(page)
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.get_by_label("Code").wait_for()
    check(page)
    page.keyboard.type("0000 0000")
    page.keyboard.press("Enter")
    page.get_by_text("That was not the code").wait_for()
    check(page)
    page.keyboard.type(mailbox.code_to(name))
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Sign out").wait_for()


def test_a_group_signs_in_and_an_operator_blocks(chromium: Any, group: tuple[str, Mailbox]) -> None:
    address, mailbox = group
    ada = chromium.new_context(viewport=PHONE).new_page()
    enter(ada, address, mailbox, ADA)
    assert ada.get_by_role("link", name="Users").count() == 0
    operator = chromium.new_context().new_page()
    enter(operator, address, mailbox, OPERATOR)
    operator.get_by_role("link", name="Users").click()
    check(operator)
    operator.get_by_role("button", name=f"Block {ADA}").click()
    operator.get_by_text("blocked since").wait_for()
    check(operator)
    ada.reload()
    ada.wait_for_url("**/sign-in")
    operator.get_by_role("button", name=f"Unblock {ADA}").click()
    operator.get_by_role("button", name=f"Block {ADA}", exact=True).wait_for()
    enter(ada, address, mailbox, ADA)
    for page in (ada, operator):
        page.context.close()
