"""`hopcast serve` under load: many users at once, processes killed at random, ten thousand runs kept.

    python bench/service.py [--users 50] [--runs 500] [--kills 50] [--kept 10000] [--postgresql]

Checks that no submission and no finished run is lost and that equal requests have equal outcomes. With
--postgresql, the runs that are submitted are kept by a PostgreSQL server, which is killed at random, too.
Prints times of pages and the memory of the server. Talks to the loopback interface alone.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "service"))

from databases import Postgres  # noqa: E402
from servers import Server  # noqa: E402

from hopcast.errors import InputError  # noqa: E402
from hopcast.service.client import Client  # noqa: E402
from hopcast.service.schema import Run, State  # noqa: E402
from hopcast.service.settings import Settings  # noqa: E402
from hopcast.service.store import Store, secret  # noqa: E402

SEEDS = 5
"""Different requests; all runs of one have the same outcome."""


def request(seed: int) -> dict:
    """A run of some hundred milliseconds."""
    workload = {"kind": "pattern", "name": "halo3d", "arguments": {"iterations": "20"}}
    return {"platform": "fat-tree", "workload": workload, "ranks": 64, "seed": seed}


class Watched:
    """A server that is killed now and then, and started again on the same port."""

    def __init__(self, data: Path, database: Postgres | None) -> None:
        self.data, self.database = data, database
        self.server = self._started(0)
        self.port = int(self.server.address.rpartition(":")[2])
        self.peak_B = 0

    def _started(self, port: int) -> Server:
        if self.database is None:
            return Server(self.data, "--port", str(port))
        file = self.data.with_name("service.toml")
        text = f'[server]\nlisten = "127.0.0.1:{port}"\n[database]\nurl = "{self.database.url}"\n'
        file.write_text(f'data = "{self.data}"\n{text}')
        return Server(self.data, "--config", str(file))

    @property
    def settings(self) -> Settings:
        """Settings of the server, as far as its database and its folders go."""
        return Settings(self.data, database_url=None if self.database is None else self.database.engine_url)

    def memory_B(self) -> int:
        """Most memory that the server's process has had so far [B]."""
        text = Path(f"/proc/{self.server.process.pid}/status").read_text()
        self.peak_B = max(self.peak_B, int(text.partition("VmHWM:")[2].split()[0]) * 1024)
        return self.peak_B

    def kill(self) -> None:
        """Kills the server, and starts it again."""
        self.memory_B()
        self.server.end(signal.SIGKILL)
        self.server = self._started(self.port)

    def kill_database(self) -> None:
        """Kills the database, and starts it again."""
        assert self.database is not None
        self.database.stop()
        time.sleep(random.random())
        self.database.start()


def submit_all(address: str, token: str, user: int, runs: int, seeds: random.Random) -> None:
    """Submits runs of one user, each under a name of its own, until the server has them."""
    client = Client(address, token)
    for number in range(runs):
        seed, name = seeds.randrange(SEEDS), f"user {user} run {number} seed"
        while True:
            try:
                if client.named(name) is None:
                    client.submit(request(seed), {}, name=f"{name} {seed}")
                break
            except (InputError, OSError):
                time.sleep(0.5)


def process_of_a_run(data: Path) -> int | None:
    """Number of the process of some run that goes on."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"hopcast.service.process" in words and str(data).encode() in b" ".join(words):
            found.append(int(place.name))
    return random.choice(found) if found else None


def kill_a_run(data: Path) -> bool:
    """Kills the process of some run that goes on; False if there was none, or it has just ended."""
    process = process_of_a_run(data)
    if process is None:
        return False
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def load(data: Path, users: int, runs: int, kills: int, database: Postgres | None) -> None:
    """Submits and kills, and says what has come of it."""
    watched = Watched(data, database)
    try:
        _load(watched, users, runs, kills)
    finally:
        watched.server.end()


def _load(watched: Watched, users: int, runs: int, kills: int) -> None:
    data, database, begin_s = watched.data, watched.database, time.monotonic()
    store = Store(watched.settings.database)
    owners = [store.user(f"user {number}") for number in range(users)]
    tokens = [store.issue(owner, "api") for owner in owners]
    address = watched.server.address
    threads = [
        threading.Thread(
            target=submit_all, args=(address, token, user, runs // users, random.Random(user)), daemon=True
        )
        for user, token in enumerate(tokens)
    ]
    for thread in threads:
        thread.start()
    killed, finished = {"server": 0, "run": 0, "database": 0}, {}
    while any(thread.is_alive() for thread in threads) or unfinished(store):
        time.sleep(1)
        for run in store.in_state(State.FINISHED):
            finished.setdefault(run.id, run.outcome["outcome_hash"])
        # Spread over nearly the whole, so that hardly any run is killed three times, and given up.
        if sum(killed.values()) < min(kills, 1.1 * kills * len(finished) / runs):
            chance = random.random()
            if chance < 0.2:
                watched.kill()
                killed["server"] += 1
            elif chance < 0.5 and database is not None:
                watched.kill_database()
                killed["database"] += 1
            elif kill_a_run(data):
                killed["run"] += 1
        watched.memory_B()
    report(store, owners, finished, killed, watched, runs, time.monotonic() - begin_s)
    store.close()


def unfinished(store: Store) -> bool:
    return bool(store.in_state(State.QUEUED) or store.in_state(State.RUNNING))


def report(store, owners, finished: dict, killed: dict, watched: Watched, runs: int, took_s: float) -> None:
    """Prints what has come of all runs; fails where one was lost or has changed."""
    all_runs = [run for owner in owners for run in store.runs(owner, limit=10**6)[0]]
    names = {run.name for run in all_runs}
    states = {
        state: sum(run.state == state for run in all_runs) for state in sorted({r.state for r in all_runs})
    }
    outcomes: dict[str, set[str]] = {}
    for run in all_runs:
        if run.state == State.FINISHED.value:
            outcomes.setdefault(run.name.rpartition(" ")[2], set()).add(run.outcome["outcome_hash"])
    again = sum(run.attempts > 1 for run in all_runs)
    print(
        f"{len(names)} of {runs} submitted by {len(owners)} users in {took_s:.0f} s: {states}, "
        f"{again} started again"
    )
    print("killed: " + ", ".join(f"the {name} {number} times" for name, number in killed.items()))
    print(f"memory of the server: {watched.memory_B() / 2**20:.0f} MiB at most")
    given_up = [run for run in all_runs if run.state == State.FAILED.value]
    assert all("killed 3 times" in (run.error or "") for run in given_up), [run.error for run in given_up]
    assert len(names) == runs, "a submission is lost"
    for run in all_runs:
        kept = Settings(watched.data).run_folder(run.id) / "report" / "report.json"
        assert run.state != State.FINISHED.value or kept.is_file(), "a finished run is lost"
        assert run.id not in finished or run.outcome["outcome_hash"] == finished[run.id]
    assert all(len(hashes) == 1 for hashes in outcomes.values()), "equal runs have different outcomes"


def pages(data: Path, kept: int) -> None:
    """Times of pages with many runs kept."""
    server, store = Server(data), Store(Settings(data).database)
    owner = store.user("local")
    for number in range(kept):
        run = Run(id=secret(), owner_id=owner.id, request=request(1), platform="fat-tree", workload="halo3d")
        run.name, run.notes = f"run {number}", f"note of {number}"
        run.state, run.created_at, run.ended_at = "finished", 1.8e9 + number, 1.8e9 + number
        store.add_run(run)
    real = server.client.submit(request(1), {})["id"]
    server.client.wait(real)
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    opener.open(server.entry).read()
    for path in (
        "/",
        "/?search=note+777",
        "/?state=failed",
        "/?page=100",
        "/new",
        f"/runs/{real}",
        f"/runs/{real}/report",
    ):
        times_s = []
        for _ in range(40):
            begin_s = time.monotonic()
            opener.open(server.address + path).read()
            times_s.append(time.monotonic() - begin_s)
        middle_ms, slow_ms = 1e3 * statistics.median(times_s), 1e3 * sorted(times_s)[-4]
        print(f"{path.replace(real, 'ID'):24} median {middle_ms:5.1f} ms, 9 of 10 within {slow_ms:5.1f} ms")
    server.end()


def main() -> None:
    """Runs both parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("users", 50), ("runs", 500), ("kills", 50), ("kept", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--postgresql", action="store_true")
    given = parser.parse_args()
    database = Postgres() if given.postgresql else None
    try:
        with tempfile.TemporaryDirectory() as folder:
            if given.kept:
                pages(Path(folder) / "pages", given.kept)
            load(Path(folder) / "load", given.users, given.runs, given.kills, database)
    finally:
        if database is not None:
            database.close()


if __name__ == "__main__":
    main()
