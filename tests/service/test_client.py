"""The command: a server as a process, killed and started again, and scripts that talk to it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import in_process
import pytest
from conftest import LONG, request
from servers import HOPCAST, Server

from hopcast.errors import InputError
from hopcast.service import client
from hopcast.service.client import Client


def command(server: Server, *words: str, status: int = 0) -> subprocess.CompletedProcess:
    done = in_process.hopcast(*words, environment={"HOPCAST_TOKEN": server.token})
    assert done.returncode == status, done.stderr
    return done


def test_a_run_is_submitted_and_fetched(shared_server: Server, tmp_path: Path) -> None:
    (tmp_path / "places").write_text("3\n2\n1\n0\n")
    run = [
        "crossbar",
        "-n",
        "4",
        "--placement",
        str(tmp_path / "places"),
        "--seed",
        "5",
        "halo3d",
        "--bytes",
        "2KiB",
    ]
    address = command(shared_server, "submit", "--to", shared_server.address, *run, "--wait").stdout.strip()
    assert address.startswith(f"{shared_server.address}/runs/")
    command(shared_server, "fetch", address, "--out", str(tmp_path / "fetched"))
    fetched = json.loads((tmp_path / "fetched" / "report" / "report.json").read_text())
    here = command(shared_server, "run", *run, "--json").stdout
    assert fetched["outcome_hash"] == json.loads(here)["outcome_hash"]
    assert (
        "The same outcome"
        in command(shared_server, "rerun", str(tmp_path / "fetched" / "report"), "--quiet").stderr
    )
    command(shared_server, "run", "--request", str(tmp_path / "fetched" / "request.json"), "--quiet")
    again = command(shared_server, "fetch", address, "--out", str(tmp_path / "fetched"), status=2)
    assert "exists" in again.stderr


def test_several_jobs_are_submitted(shared_server: Server, tmp_path: Path) -> None:
    (tmp_path / "places").write_text("5\n4\n")
    two = '[[job]]\nrun = "halo3d"\nranks = 4\n'
    two += '[[job]]\nname = "b"\nrun = "ring"\nranks = 2\nplacement = "places"\n'
    (tmp_path / "two.toml").write_text(two)
    run = ["crossbar", str(tmp_path / "two.toml")]
    address = command(shared_server, "submit", "--to", shared_server.address, *run, "--wait").stdout.strip()
    state = shared_server.client.state(address.rpartition("/")[2])
    assert state["state"] == "finished", state["error"]
    here = json.loads(command(shared_server, "run", *run, "--json").stdout)
    assert state["outcome"]["outcome_hash"] == here["outcome_hash"]


def test_bad_input_is_told_in_the_words_of_the_server(shared_server: Server, tmp_path: Path) -> None:
    wrong = command(
        shared_server,
        "submit",
        "--to",
        shared_server.address,
        "fat-tree",
        "-n",
        "99999999",
        "halo3d",
        "--wait",
        status=3,
    )
    assert "do not fit: 800 hosts" in wrong.stderr
    (tmp_path / "program.py").write_text("def main(comm): pass\n")
    program = command(
        shared_server,
        "submit",
        "--to",
        shared_server.address,
        "fat-tree",
        "-n",
        "4",
        str(tmp_path / "program.py"),
        status=2,
    )
    assert "no program or function that is sent here is executed" in program.stderr
    out = command(
        shared_server,
        "submit",
        "--to",
        shared_server.address,
        "--out",
        "x",
        "fat-tree",
        "-n",
        "4",
        "halo3d",
        status=2,
    )
    assert "hopcast fetch" in out.stderr
    stranger = Client(shared_server.address, "wrong")
    with pytest.raises(InputError, match="/tokens"):
        stranger.state("x")
    with pytest.raises(InputError, match="no answer"):
        Client("http://localhost:9", "x").state("x")


@pytest.mark.parametrize(
    "address", ["http://[::1", "http://localhost:abc", "http://", "localhost:8080", "ftp://x"]
)
def test_a_wrong_address_is_said_to_be_none(address: str) -> None:
    with pytest.raises(InputError, match="is no address of a server"):
        Client(address)


@pytest.mark.parametrize(
    ("answered", "words"),
    [
        (b"Content-Length: 1000\r\n\r\nshort", "ended 995 bytes early"),
        (b"Transfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", "IncompleteRead"),
        (b"Transfer-Encoding: chunked\r\n\r\n5\r\nsh", "IncompleteRead"),
    ],
)
def test_an_answer_that_ends_early_is_no_archive(
    answered: bytes, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PATIENCE_S", -1.0)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 200 OK\r\n" + answered)

        threading.Thread(target=answer, daemon=True).start()
        short = Client(f"http://127.0.0.1:{listening.getsockname()[1]}", "x")
        with open(tmp_path / "file", "wb") as file, pytest.raises(client.Away, match=words):
            short.fetch("x", file)


def test_a_run_that_is_stopped_before_it_begins_is_no_success(shared_server: Server) -> None:
    words = [
        "submit",
        "--to",
        shared_server.address,
        "hopper",
        "-n",
        "64",
        "halo3d",
        "--iterations",
        "100000000",
    ]
    environment = os.environ | {"HOPCAST_TOKEN": shared_server.token}
    others = [shared_server.client.submit(request(64, LONG), {})["id"] for _ in range(3)]
    waiting = subprocess.Popen(
        [*HOPCAST, *words, "--wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert waiting.stdout is not None
    run = waiting.stdout.readline().strip().rpartition("/")[2]
    for one in (run, *others):
        shared_server.client._json("POST", f"/runs/{one}/stop")
    _, said = waiting.communicate(timeout=60)
    assert waiting.returncode == 3 and "stopped before it began" in said, said


def test_the_address_counts_once_and_the_port_is_of_this_machine_alone(server: Server) -> None:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    assert b"No runs yet" in opener.open(server.entry).read()
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(server.entry)
    assert urllib.request.urlopen(f"{server.address}/health").status == 200
    port = int(server.address.rpartition(":")[2])
    for host in {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}:
        if not host.startswith("127."):
            with pytest.raises(OSError):
                socket.create_connection((host, port), timeout=1)
    assert (server.data / "token").stat().st_mode & 0o077 == 0
    assert server.data.stat().st_mode & 0o077 == 0


def test_a_second_server_on_the_same_data_is_refused(shared_server: Server) -> None:
    second = command(
        shared_server, "serve", "--no-browser", "--port", "0", "--data", str(shared_server.data), status=2
    )
    assert "another hopcast serve works here" in second.stderr
    port = shared_server.address.rpartition(":")[2]
    taken = command(
        shared_server, "serve", "--no-browser", "--port", port, "--data", f"{shared_server.data}2", status=2
    )
    assert "already in use" in taken.stderr


def test_who_waits_asks_a_server_again_that_is_started_anew(server: Server, tmp_path: Path) -> None:
    words = ["submit", "--to", server.address, "fat-tree", "-n", "64", "halo3d", "--wait"]
    words += [word for name, value in LONG.items() for word in (f"--{name}", value)]
    environment = os.environ | {"HOPCAST_TOKEN": server.token}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    waiting = subprocess.Popen([*HOPCAST, *words], **pipes)
    assert waiting.stdout is not None and waiting.stderr is not None
    run = waiting.stdout.readline().strip().rpartition("/")[2]
    said: list[str] = []
    asking, states = Client(server.address, server.token, said.append), []
    with ThreadPoolExecutor(1) as beside:
        over = beside.submit(asking.wait, run, 0.05, states.append)
        while not (states and states[-1]["progress"]):
            time.sleep(0.05)
        server.end(signal.SIGKILL)
        while "no answer" not in (line := waiting.stderr.readline()):
            assert "simulated" in line, line  # its progress
        assert "it is asked again for 300 s" in line
        while not said:
            time.sleep(0.05)
        again = Server(server.data, "--port", server.address.rpartition(":")[2])
        try:
            again.client._json("POST", f"/runs/{run}/stop")
            assert over.result(60)["state"] == "stopped"
            _, words_said = waiting.communicate(timeout=60)
            assert waiting.returncode in (0, 3), words_said  # 3 if it was stopped before it simulated again
            with open(tmp_path / "run.zip", "wb") as file:
                asking.fetch(run, file)
            assert zipfile.is_zipfile(tmp_path / "run.zip")
        finally:
            again.end()
    with pytest.raises(InputError, match="no answer"), open(tmp_path / "run.zip", "wb") as file:
        Client(server.address, server.token).fetch(run, file)  # one that has never answered is not there


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_ends_loses_nothing(server: Server, number: int) -> None:
    done = server.client.submit(request(16), {})["id"]
    outcome = server.client.wait(done)["outcome"]
    long = server.client.submit(request(64, {"iterations": "400"}), {})["id"]
    waits = [server.client.submit(request(16, seed=seed), {})["id"] for seed in range(3)]
    while not server.client.state(long)["progress"]:
        time.sleep(0.05)
    server.end(number)
    again = Server(server.data)
    try:
        assert again.client.state(done)["outcome"] == outcome
        states = [again.client.wait(run) for run in (long, *waits)]
        assert [state["state"] for state in states] == ["finished"] * 4
        assert states[0]["attempts"] == (2 if number == signal.SIGKILL else 1)
    finally:
        again.end()


def test_no_process_survives_a_killed_server(server: Server) -> None:
    run = server.client.submit(request(64, LONG), {})["id"]
    while not server.client.state(run)["progress"]:
        time.sleep(0.05)
    mark = str(server.data / "runs").encode()

    def alive() -> list[int]:
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (place / "cmdline").read_bytes():
                    found.append(int(place.name))
            except OSError:
                continue
        return found

    assert len(alive()) == 1
    server.end(signal.SIGKILL)
    end_s = time.monotonic() + 20
    while alive() and time.monotonic() < end_s:
        time.sleep(0.05)
    assert not alive()


@pytest.mark.parametrize(
    "name", ["a/../../evil", "a//../evil", "a//evil", "//evil", "evil", "a/b/../../../evil", "a/"]
)
def test_no_archive_writes_elsewhere(name: str, tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/good", "good")
        archive.writestr(name, "evil")
    with pytest.raises(InputError):
        client.unpack(file, tmp_path / "into" / "here")
    assert not list(tmp_path.rglob("evil"))


def test_a_folder_says_how_it_is_sent(tmp_path: Path) -> None:
    from hopcast.request import RunRequest

    asked = RunRequest("fat-tree", {"kind": "trace", "path": str(tmp_path)})
    with pytest.raises(InputError, match="tar -czf"):
        client.portable(asked)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from hopcast import service

    monkeypatch.setattr(service, "find_spec", lambda name: None if name == "uvicorn" else object())
    with pytest.raises(InputError, match=r"uvicorn.*pip install 'hopcast\[serve\]'"):
        service.check_installed()


def test_a_run_of_the_command_line_has_a_live_page(tmp_path: Path) -> None:
    words = [
        "fat-tree",
        "-n",
        "64",
        "halo3d",
        "--iterations",
        "2000",
        "--ppn",
        "1",
        "--live",
        "--out",
        str(tmp_path / "out"),
    ]
    run = subprocess.Popen([*HOPCAST, "run", *words, "--quiet"], stderr=subprocess.PIPE, text=True)
    assert run.stderr is not None
    address = run.stderr.readline().split()[-1]
    page = urllib.request.urlopen(address).read().decode()
    assert "halo3d --iterations 2000" in page and 'sse-connect="events"' in page
    for other in (address.rpartition("/")[0][:-3] + "/", address.rpartition("/")[0].rpartition("/")[0] + "/"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(other)
    foreign = urllib.request.Request(address, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(foreign)
    text = urllib.request.urlopen(f"{address}events").read().decode()  # until the run is over
    assert "% done" in text
    for title in ("Progress of ranks", "Links over time", "Message latency"):
        assert f"<h2>{title}, so far</h2>" in text, title
    assert text.endswith("event: over\ndata: over\n\n") and str(tmp_path / "out") in text
    assert run.wait(30) == 0 and (tmp_path / "out" / "report.html").is_file()
    without = subprocess.run([*HOPCAST, "run", *words[:-2], "--quiet"], capture_output=True, text=True)
    assert without.returncode == 2 and "--out DIR" in without.stderr
