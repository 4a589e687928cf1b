"""Commands of OAR, as its documentation has them, whose jobs run on this machine.

- `oarsub -S SCRIPT` scans an executable script for lines `#OAR OPTIONS`, and prints `OAR_JOB_ID=NUMBER` among
  what its admission rules say. The job has OAR_NODEFILE and OAR_JOB_ID, and its output goes to -O and -E.
- `oarstat -s -j NUMBER` prints `NUMBER: STATE`.
- `oardel NUMBER` kills all processes of a job; `oardel -s SIGNAL NUMBER` sends a signal to its script alone.
- `oarsh HOST COMMAND` runs a command on another node of the job: `other`, of jobs with `nodes=2`.

Source: oar.imag.fr, documentation of OAR 2.5, "User commands".
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

TOOLS = ("oarsub", "oarstat", "oardel", "oarsh")
OPTIONS = ("-l", "-n", "-O", "-E", "-q", "-p", "-t", "--project")


def install(folder: Path) -> dict[str, str]:
    """Puts the commands into a folder; gives the environment in which they are found."""
    for name in TOOLS:
        (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} {name} "$@"\n')
        (folder / name).chmod(0o755)
    (folder / "jobs").mkdir()
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "FAKE_OAR": str(folder / "jobs")}


def oarsub(words: list[str]) -> int:
    if words[0] != "-S":
        return refused("only scripts that are scanned (-S)")
    script = Path(words[1])
    lines = script.read_text().splitlines()
    if not os.access(script, os.X_OK) or not lines[0].startswith("#!"):
        return refused(f"{script}: permission denied")
    options: dict[str, str] = {}
    for line in lines:
        if line.startswith("#OAR "):
            name, _, value = line.removeprefix("#OAR ").partition(" ")
            if name not in OPTIONS:
                return refused(f"Unknown option: {name}")
            options[name] = value
    if "nodes=999" in options.get("-l", ""):
        print("# Error: There are not enough resources for your request", file=sys.stderr)
        return 5
    number = 1000 + len(list(jobs().iterdir()))
    nodes = jobs() / f"{number}.nodes"
    other = "other\n" if "nodes=2" in options.get("-l", "") else ""
    nodes.write_text(f"{os.uname().nodename}\n" * 2 + other)
    environment = {**os.environ, "OAR_JOB_ID": str(number), "OAR_NODEFILE": str(nodes)}
    with open(options["-O"], "a") as out:
        process = subprocess.Popen(
            [script],
            env=environment,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    (jobs() / f"{number}.json").write_text(json.dumps({"pid": process.pid, "options": options}))
    print("[ADMISSION RULE] Modify resource description with type constraints")
    print(f"OAR_JOB_ID={number}")
    return 0


def oarstat(words: list[str]) -> int:
    number = words[words.index("-j") + 1]
    asked = jobs() / f"{number}.asked"
    seen = len(asked.read_text()) if asked.exists() else 0
    asked.write_text("x" * (seen + 1))
    states = ("Waiting", "toLaunch", "Launching")
    running = alive(json.loads((jobs() / f"{number}.json").read_text())["pid"])
    state = states[seen] if seen < len(states) else "Running"
    print(f"{number}: {state if running else 'Terminated'}")
    return 0


def oardel(words: list[str]) -> int:
    number = words[-1]
    pid = json.loads((jobs() / f"{number}.json").read_text())["pid"]
    if alive(pid) and words[0] == "-s":
        os.kill(pid, signal.Signals[words[1]])
        print(f"Signaling the job {number} with {words[1]} signal.")
    elif alive(pid):
        os.killpg(pid, signal.SIGKILL)
        print(f"Deleting the job = {number} ...REGISTERED.")
    (jobs() / f"{number}.deleted").write_text(shlex.join(words))
    return 0


def oarsh(words: list[str]) -> int:
    if words[0] != "other":
        print(f"oarsh: Cannot connect to {words[0]}", file=sys.stderr)
        return 255
    os.execvp("sh", ["sh", "-c", " ".join(words[1:])])


def refused(why: str) -> int:
    print(f"oarsub: {why}", file=sys.stderr)
    return 3


def jobs() -> Path:
    return Path(os.environ["FAKE_OAR"])


def alive(pid: int) -> bool:
    """True for a process that runs; one that nobody waits for has ended."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


if __name__ == "__main__":
    raise SystemExit(globals()[sys.argv[1]](sys.argv[2:]))
