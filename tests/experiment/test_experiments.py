"""Experiments: their steps, kept pieces, the archive, settings of the machine, monitoring."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
import yaml
from made_up_experiments import SHELL, TIMED

from hopcast.errors import InputError
from hopcast.experiment import Experiment, files, machine_settings
from hopcast.experiment.history import HIDDEN, without_secrets

ADDRESS = "http://me:" + "word@"
"""Beginning of an address with a password."""
HOPCAST = [sys.executable, "-m", "hopcast"]


def experiment(folder: Path, *words: str, **more) -> subprocess.CompletedProcess:
    command = [*HOPCAST, "experiment", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, **more)


def contents(archive: Path) -> dict[str, str]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name).decode(errors="replace") for name in opened.namelist()}


def results(archive: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(contents(archive)["results.csv"])))


def shell(folder: Path, pieces: str = "n\n1\n2\n", install: str = "", each_node: bool = False) -> None:
    (folder / "shell.py").write_text(SHELL.replace("{each_node}", str(each_node)))
    (folder / "pieces.csv").write_text(pieces)
    (folder / "install.yaml").write_text(install)


RUN = ("run", "shell.py", "--pieces", "pieces.csv", "--install", "install.yaml")


def test_the_archive_holds_all_that_was_done(tmp_path: Path) -> None:
    shell(tmp_path, install="greeting: good day\nmonitoring: 200 ms\nsleep: 0.5\n")
    secret = {**os.environ, "MY_API_KEY": "abc123", "PROXY": ADDRESS + "proxy:80", "PLAIN": "seen"}
    done = experiment(tmp_path, *RUN, "-o", "out.zip", env=secret)
    assert done.returncode == 0, done.stderr
    found = contents(tmp_path / "out.zip")
    assert [row["said"] for row in results(tmp_path / "out.zip")] == ["good day 1", "good day 2"]
    assert found["pieces.csv"] == "n\n1\n2\n"
    assert found["install.yaml"].startswith("greeting: good day")
    assert found["experiment.py"] == SHELL.replace("{each_node}", "False")
    history = json.loads(found["history.json"])
    (mark,) = [one for one in history if one["command"] == "echo begun > mark"]
    assert mark["directory"] == "." and mark["status"] == 0 and mark["node"] == os.uname().nodename
    assert mark["start"] <= mark["end"]
    assert "echo good day 1" in found["commands.log"]
    info = yaml.safe_load(found["info.yaml"])
    assert list(info["steps"]) == ["setup", "run", "teardown"]
    assert info["aborted"] is False and info["pieces"] == {"done": 2}
    assert all(name in info["versions"][os.uname().nodename] for name in ("kernel", "compiler", "mpi"))
    states = {one["setting"]: one["state"] for one in info["machine_settings"]}
    assert states == dict.fromkeys(
        ("hyperthreading", "turbo", "c_states", "least_frequency", "most_frequency"), "not controlled"
    )
    place = f"information/{os.uname().nodename}"
    assert "processor" in found[f"{place}/cpuinfo.txt"]
    environment = found[f"{place}/environment.txt"]
    assert "PLAIN=seen" in environment and f"MY_API_KEY={HIDDEN}" in environment
    assert not any("abc123" in text or "me:word" in text for text in found.values())
    monitored = list(csv.DictReader(io.StringIO(found["monitoring.csv"])))
    assert {"clock_kHz", "received_B", "memory_available_B"} <= {row["kind"] for row in monitored}
    stamps = sorted({float(row["timestamp"]) for row in monitored})
    assert len(stamps) >= 3 and 0.15 < stamps[1] - stamps[0] < 2


def test_failed_pieces_are_rows_that_say_why(tmp_path: Path) -> None:
    shell(tmp_path, "n\n1\nbad\nworse\n2\n")
    done = experiment(tmp_path, *RUN, "-o", "out.zip")
    assert done.returncode == 3
    rows = results(tmp_path / "out.zip")
    assert [row["state"] for row in rows] == ["done", "failed", "failed", "done"]
    assert "ended with code 3: it broke" in rows[1]["why"]
    assert "KeyError: 'no such thing'" in rows[2]["why"]


def test_the_archive_is_written_behind_an_exception(tmp_path: Path) -> None:
    shell(tmp_path)
    text = (tmp_path / "shell.py").read_text().replace("echo begun > mark", "echo begun > mark; false")
    (tmp_path / "shell.py").write_text(text)
    done = experiment(tmp_path, *RUN, "-o", "out.zip")
    assert done.returncode == 3 and "ended with code 1" in done.stderr and "Traceback" not in done.stderr
    info = yaml.safe_load(contents(tmp_path / "out.zip")["info.yaml"])
    assert "CommandFailed" in info["aborted"] and list(info["steps"]) == ["setup", "teardown"]
    assert {row["state"] for row in results(tmp_path / "out.zip")} == {"lost"}


def wait_for(condition) -> None:
    until_s = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.05)


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_the_archive_is_written_behind_signals_and_the_rest_goes_on(
    tmp_path: Path, end: signal.Signals
) -> None:
    shell(tmp_path, "n\n1\n2\n3\n4\n5\n6\n", "sleep: 1.0\n")
    process = subprocess.Popen([*HOPCAST, "experiment", *RUN, "-o", "out.zip"], cwd=tmp_path, text=True)
    wait_for((tmp_path / "out.zip.d" / "work" / "pieces-work").exists)
    process.send_signal(end)
    assert process.wait(60) == 130
    assert yaml.safe_load(contents(tmp_path / "out.zip")["info.yaml"])["aborted"] == end.name
    before = [row for row in results(tmp_path / "out.zip") if row["state"] == "done"]
    assert len(before) < 6
    assert experiment(tmp_path, *RUN, "-o", "out.zip").returncode == 0
    assert [row["state"] for row in results(tmp_path / "out.zip")] == ["done"] * 6
    ran = (tmp_path / "out.zip.d" / "work" / "pieces-work").read_text().split()
    assert [ran.count(row["n"]) for row in before] == [1] * len(before), "what was done is not repeated"


def test_a_killed_experiment_goes_on(tmp_path: Path) -> None:
    shell(tmp_path, "n\n1\n2\n3\n4\n", "sleep: 0.6\n")
    process = subprocess.Popen([*HOPCAST, "experiment", *RUN, "-o", "out.zip"], cwd=tmp_path)
    mark = tmp_path / "out.zip.d" / "work" / "pieces-work"
    wait_for(lambda: mark.exists() and "2" in mark.read_text())
    process.kill()
    process.wait()
    time.sleep(1.0)  # the command of the piece that was cut ends by itself
    assert experiment(tmp_path, *RUN, "-o", "out.zip").returncode == 0
    assert [row["said"] for row in results(tmp_path / "out.zip")] == [f"hello {n}" for n in (1, 2, 3, 4)]
    assert mark.read_text().split().count("1") == 1
    history = json.loads(contents(tmp_path / "out.zip")["history.json"])
    assert [one["stdout"] for one in history if one["command"] == "echo hello 1"] == ["hello 1\n"]


def test_monitoring_ends_with_a_killed_experiment(tmp_path: Path) -> None:
    shell(tmp_path, "n\n1\n2\n", "sleep: 3.0\nmonitoring: 130 ms\n")
    process = subprocess.Popen([*HOPCAST, "experiment", *RUN, "-o", "out.zip"], cwd=tmp_path)
    file = tmp_path / "out.zip.d" / f"monitoring-{os.uname().nodename}.csv"
    wait_for(lambda: file.exists() and file.stat().st_size > 0)
    process.kill()
    process.wait()

    def ended() -> bool:
        loops = subprocess.run(
            ["pgrep", "-f", "memory_available_B.*sleep 0.13"], capture_output=True, text=True
        )
        return not loops.stdout.split()

    wait_for(ended)


def timed(folder: Path) -> None:
    (folder / "trips.py").write_text(TIMED)
    (folder / "pieces.csv").write_text("size,repetition\n1000,1\n100000,1\n1000,2\n")


SIMULATED = ("run", "trips.py", "--pieces", "pieces.csv", "--on", "simulated:crossbar --compute none")


def test_the_same_experiment_is_simulated_and_its_archive_repeats_it(tmp_path: Path) -> None:
    timed(tmp_path)
    done = experiment(tmp_path, *SIMULATED, "-o", "one.zip")
    assert done.returncode == 0, done.stderr
    rows = results(tmp_path / "one.zip")
    assert rows[0]["time_s"] == rows[2]["time_s"], "a simulation has no noise"
    assert float(rows[1]["time_s"]) > float(rows[0]["time_s"])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "one.zip").rename(elsewhere / "one.zip")
    info = yaml.safe_load(contents(elsewhere / "one.zip")["info.yaml"])
    replay = info["replay_command"]
    words = shlex.split(replay)
    assert words[:3] == ["hopcast", "experiment", "run"]
    again = experiment(elsewhere, *words[2:], "-o", "again.zip")
    assert again.returncode == 0, again.stderr
    assert same_but_times(contents(elsewhere / "one.zip")) == same_but_times(
        contents(elsewhere / "again.zip")
    )


def same_but_times(found: dict[str, str]) -> dict[str, str]:
    """Contents without times, and without what a machine itself changes from second to second."""
    kept = {}
    for name, text in found.items():
        if name.endswith(("dmesg.txt", "environment.txt", "lsmod.txt")):
            continue
        if name.endswith("cpuinfo.txt"):
            text = re.sub(r"cpu MHz.*|bogomips.*", "", text)
        text = re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.]+(\+00:00)?", "TIME", text)
        kept[name] = re.sub(r"command: hopcast experiment.*\n(  .*\n)*", "", text)
    return kept


def test_an_experiment_file_is_random_and_shuffled_and_comes_again(tmp_path: Path) -> None:
    timed(tmp_path)
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        words = ("generate", "trips.py", "--pieces", "50", "--seed", seed, "-o", f"{name}.csv")
        assert experiment(tmp_path, *words).returncode == 0
    first, again, other = ((tmp_path / f"{name}.csv").read_text() for name in "abc")
    assert first == again != other
    rows = files.read_pieces(tmp_path / "a.csv")
    assert sorted(row["repetition"] for row in rows) == list(range(50)) != [row["repetition"] for row in rows]
    assert all(1 <= row["size"] <= 100_000 for row in rows)


def test_step_by_step_in_a_terminal(tmp_path: Path) -> None:
    class Steps(Experiment):
        def piece(self, n):
            return {"twice": self.node.run(f"expr 2 '*' {n}").stdout.strip()}

    steps = Steps(pieces=[{"n": 1}, {"n": 4}], folder=tmp_path / "state")
    steps.disable_hyperthreading()
    steps.start_monitoring(0.2)
    steps.perform_stress(0.5)
    steps.setup()
    steps.run()
    steps.stop_monitoring()
    steps.teardown()
    assert [row["twice"] for row in steps.rows()] == ["2", "8"]
    assert steps.settings[0].wanted == "off"
    steps.put_machine_back()
    assert "results.csv" in contents(steps.save(tmp_path / "steps.zip"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("count: many\n", "count: 'many' is not of type 'integer'"),
        ("colour: red\n", "'colour' was unexpected.*known: launcher"),
        ("turbo: maybe\n", "turbo: 'maybe' is not one of"),
        ("- a\n", "is not of type 'object'"),
        ("a: [\n", "install.yaml"),
    ],
)
def test_install_files_are_checked(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "install.yaml").write_text(text)
    with pytest.raises(InputError, match=words):
        files.read_install(tmp_path / "install.yaml", {"count": 2})


def test_yaml_s_on_and_off_are_settings(tmp_path: Path) -> None:
    (tmp_path / "install.yaml").write_text("turbo: off\nhyperthreading: on\n")
    read = files.read_install(tmp_path / "install.yaml", {})
    assert read == {"turbo": "off", "hyperthreading": "on"}


@pytest.mark.parametrize(
    ("text", "words"), [("a,b\n1\n", "another number of columns"), ("a,b\n", "no piece"), ("", "no piece")]
)
def test_experiment_files_are_checked(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "pieces.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        files.read_pieces(tmp_path / "pieces.csv")


def machine(root: Path) -> dict[str, Path]:
    """Files of a machine with two cores, as sysfs has them."""
    cpu = root / "devices" / "system" / "cpu"
    made = {"smt": cpu / "smt" / "control", "turbo": cpu / "intel_pstate" / "no_turbo"}
    for core in range(2):
        made[f"state{core}"] = cpu / f"cpu{core}" / "cpuidle" / "state1" / "disable"
        for end in ("min", "max"):
            made[f"{end}{core}"] = cpu / f"cpu{core}" / "cpufreq" / f"scaling_{end}_freq"
    for name, file in made.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text({"smt": "on", "min": "800000", "max": "3000000"}.get(name.rstrip("01"), "0") + "\n")
    return made


def test_settings_are_made_read_back_and_put_back(tmp_path: Path) -> None:
    made = machine(tmp_path / "sys")
    before = {name: file.read_text() for name, file in made.items()}
    one = Experiment(folder=tmp_path / "state")
    wanted = {"hyperthreading": "off", "turbo": "off", "c_states": "off", "frequency": "2.1 GHz"}
    one.set_machine(str(tmp_path / "sys"), **wanted)
    assert {setting.state for setting in one.settings} == {"controlled"}
    now = {name: file.read_text().strip() for name, file in made.items()}
    assert now["smt"] == "off" and now["turbo"] == "1" and now["state0"] == now["state1"] == "1"
    assert {now[name] for name in ("min0", "max0", "min1", "max1")} == {"2100000"}
    one.put_machine_back(str(tmp_path / "sys"))
    assert {name: file.read_text() for name, file in made.items()} == before


def test_what_is_not_permitted_is_recorded(tmp_path: Path) -> None:
    made = machine(tmp_path / "sys")
    made["smt"].unlink()
    made["smt"].mkdir()  # even root cannot write it
    made["turbo"].unlink()
    one = Experiment(folder=tmp_path / "state")
    one.set_machine(str(tmp_path / "sys"), hyperthreading="off", turbo="off", c_states="off")
    states = {setting.setting: setting for setting in one.settings}
    assert states["turbo"].state == machine_settings.NOT_CONTROLLED
    assert states["turbo"].why == "this system has no file for it"
    assert states["hyperthreading"].state == machine_settings.NOT_CONTROLLED
    assert states["c_states"].state == "controlled"
    assert states["least_frequency"].why == "the install file does not name it"


def test_secrets_are_hidden() -> None:
    given = {"GITHUB_TOKEN": "a", "DB_PASSWORD": "b", "HOME": "c", "URL": ADDRESS + "h/x", "KEYBOARD": "us"}
    assert without_secrets(given) == {
        "DB_PASSWORD": HIDDEN,
        "GITHUB_TOKEN": HIDDEN,
        "HOME": "c",
        "KEYBOARD": "us",
        "URL": f"http://{HIDDEN}@h/x",
    }


def test_git_repositories_are_named_with_their_hash(tmp_path: Path) -> None:
    source = tmp_path / "source"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q", source], check=True)
    for text in ("one", "two"):
        (source / "file").write_text(text)
        subprocess.run([*git, "add", "."], cwd=source, check=True)
        subprocess.run([*git, "commit", "-qm", text], cwd=source, check=True)
    first = subprocess.run(
        ["git", "rev-parse", "HEAD~1"], cwd=source, capture_output=True, text=True
    ).stdout.strip()
    one = Experiment(folder=tmp_path / "state")
    one.git_clone(str(source), "copy", checkout=first)
    assert one.repositories == [{"path": "copy", "url": str(source), "commit": first}]
    assert (tmp_path / "state" / "work" / "copy" / "file").read_text() == "one"


def test_errors_name_the_choices(tmp_path: Path) -> None:
    for words, said in (
        (("run", "nonesuch"), "unknown experiment; known: network"),
        (("run", "network", "--on", "moon"), "unknown place 'moon'; known: local"),
        (("run", "network", "--on", "simulated"), "write simulated:PLATFORM"),
        (("run", "network", "--on", "simulated:nonesuch"), "nonesuch"),
        (("run", "network", "--on", "allocation"), "in no job of Slurm or OAR"),
        (("generate", "network", "-o", "x.csv"), "has no 'generate'"),
    ):
        done = experiment(tmp_path, *words)
        assert done.returncode == 2 and said in done.stderr, done.stderr
