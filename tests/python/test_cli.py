"""The command line: where arguments go, what is printed where, and with which exit code it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hopcast import overrides, progress, run
from hopcast.cli import arguments, exits
from hopcast.cli.run import command as run_command
from hopcast.errors import InputError
from hopcast.report import read
from hopcast.workloads import pattern

HOPCAST = Path(sys.executable).parent / "hopcast"


def hopcast(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """Runs the command as a user would."""
    line = [str(HOPCAST), *map(str, words)]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small report, with all that a report may have."""
    place = tmp_path_factory.mktemp("reports") / "small"
    flags = ["run", "crossbar", "-n", "8", "--ppn", "1", "--records", "100", "--quiet", "--out", place]
    statistics = ["--model", "packet", "--statistics", "links", "--set", "statistics.residence=1ns"]
    done = hopcast(*flags, *statistics, "halo1d", "--bytes", "4KiB")
    assert done.returncode == 0, done.stderr
    return place


@pytest.mark.parametrize(
    ("line", "flags", "words"),
    [
        ("hopper -n 4 ring", "-n 4", "hopper ring"),
        ("-n 4 hopper ring --bytes 8", "-n 4", "hopper ring --bytes 8"),
        ("hopper ring --bytes 8 -n 4 --json", "-n 4 --json", "hopper ring --bytes 8"),
        ("hopper ring --bytes=8 --seed=3 -n4", "--seed=3 -n4", "hopper ring --bytes=8"),
        ("hopper -n 4 a.py -n 7 --json --help", "-n 4", "hopper a.py -n 7 --json --help"),
        ("hopper --set a.b=c --set d.e=f ring", "--set a.b=c --set d.e=f", "hopper ring"),
        ("hopper -n 4 dir/a.py -- -x", "-n 4", "hopper dir/a.py -- -x"),
    ],
)
def test_flags_of_run_are_told_from_the_arguments_of_the_workload(line: str, flags: str, words: str) -> None:
    assert arguments.split(line.split(), run_command.params) == (flags.split(), words.split())


def test_flags_behind_a_program_are_noted() -> None:
    words = ["hopper", "examples/halo.py", "--out", "x", "--seed=3", "--steps", "4"]
    assert arguments.flags_of_the_program(words, run_command.params) == ["--out", "--seed=3"]
    assert arguments.flags_of_the_program(["hopper", "ring", "--out", "x"], run_command.params) == []
    assert arguments.flags_of_the_program(["hopper"], run_command.params) == []


def test_an_unknown_flag_before_the_workload_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(
        InputError,
        match=r"unknown flag '--rank' before the workload; known: .*--no-check-clocks.*--placement",
    ):
        arguments.split(["hopper", "--rank", "4", "ring"], run_command.params)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["8"], "unexpected argument '8'"),
        (["--bytes"], "--bytes needs a value"),
        (["--bytes", "--iterations", "2"], "--bytes needs a value"),
        (["--bytes", "8", "--bytes", "9"], "--bytes is given twice"),
    ],
)
def test_arguments_of_patterns_come_in_pairs(words: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        pattern.pairs(words, "ring")
    assert pattern.pairs(["--bytes", "8", "--sizes=[2, 2]"], "ring") == {"bytes": "8", "sizes": "[2, 2]"}


def test_overrides_need_a_key_and_a_value() -> None:
    assert overrides.pairs_of(["a.b = c=d"]) == [("a.b", "c=d")]
    with pytest.raises(InputError, match=r"--set nic: write section\.key=value"):
        overrides.pairs_of(["nic"])


class PanicException(BaseException):
    """Stands for a failed assertion of the Rust core."""


def raising(error: BaseException):
    """A function that raises."""

    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize(
    ("work", "code"),
    [
        (lambda: None, 0),
        (lambda: 3, 3),
        (raising(InputError("x")), 2),
        (raising(click.UsageError("x")), 2),
        (raising(KeyboardInterrupt()), 130),
        (raising(click.Abort()), 130),
        (raising(AssertionError("x")), 70),
        (raising(PanicException("x")), 70),
    ],
)
def test_exceptions_become_exit_codes(work, code: int, capsys: pytest.CaptureFixture) -> None:
    assert exits.guarded(work) == code
    assert ("bug of hopcast" in capsys.readouterr().err) == (code == 70)


HEAVY = {"numpy", "pyarrow", "rich", "jinja2", "greenlet"}
"""Libraries that take longer to load than a short run takes."""


@pytest.mark.parametrize(
    "work", ["hopcast.cli", "hopcast; hopcast.run('crossbar', 'ring', ranks=4).to_json()"]
)
def test_short_work_loads_no_heavy_library(work: str) -> None:
    asks = f"import sys, {work}; print(sorted({HEAVY} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_names_the_subcommands() -> None:
    assert "compare" in hopcast("--help").stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rnu", "unknown command 'rnu'; known: run, rerun, request, cc, cxx, fc, compare"),
        ("run hoper -n 4 ring", "unknown platform 'hoper'"),
        ("run crossbar -n 4 rign", "rign"),
        ("run crossbar rign", "unknown pattern 'rign'"),
        ("run crossbar traces/lulesh", "traces/lulesh: there is no such file or folder"),
        ("run crossbar ring", "-n"),
        ("run crossbar -n 4 missing.py", "missing.py"),
        ("run crossbar -n 4 ring --byts 8", "byts"),
        ("run crossbar -n 4 ring --bytes 8", "8"),
        ("run crossbar -n 4 --model floww ring", "unknown network model 'floww'"),
        ("run crossbar -n 4 --mode none ring", "--mode: it is for a recorded trace, and 'ring' is a pattern"),
        ("run crossbar -n 4 --records 10 ring", "--out DIR"),
        ("run crossbar -n 4 --set nic.bandwith=1 ring", "bandwith"),
        ("run crossbar -n 0 ring", "0"),
        ("list topologie", "unknown registry 'topologie'; known: platforms, topologies"),
        ("compare nowhere nowhere", "no report here"),
        ("platform show nowhere.toml", "nowhere.toml"),
    ],
)
def test_bad_input_ends_with_2_and_one_line_that_helps(line: str, said: str, tmp_path: Path) -> None:
    done = hopcast(*line.split(), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "run crossbar -n 4 --placement nowhere ring",
            "--placement nowhere: unknown placement 'nowhere'; known: linear, cyclic, block, random, "
            "recorded, or a file: "
            "No such file or directory (os error 2)",
        ),
        (
            "run crossbar -n 4 --ppn 129 ring",
            "--ppn 129: placement.processes_per_host: 129 ranks per host do not fit: "
            "a host has 128 process slots",
        ),
        (
            "run crossbar -n 129 --set topology.hosts=1 ring",
            "-n 129: 129 ranks do not fit: 1 host takes 128",
        ),
        (
            "run crossbar -n 2 /dev/null",
            "/dev/null: is neither a file nor a folder; a workload is a trace (its folder or one of its "
            "files), a program (NAME.py), or a pattern ('hopcast list patterns')",
        ),
        ("run crossbar -n 1 pingpong", "-n 1: pingpong needs at least 2 ranks, not 1"),
    ],
)
def test_errors_quote_what_the_user_wrote(line: str, said: str, tmp_path: Path) -> None:
    done = hopcast(*line.split(), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"error: {said}\n")


def test_a_platform_beyond_the_machine_is_refused_with_what_it_would_need() -> None:
    flags = ["--json", "--quiet", "-n", "4", "--model", "packet", "--set"]

    def peak(hosts: int) -> int:
        done = hopcast("run", "crossbar", *flags, f"topology.hosts={hosts}", "ring")
        return json.loads(done.stdout)["peak_rss_B"]

    done = hopcast("run", "crossbar", *flags, "topology.hosts=1000000000", "ring")
    assert done.returncode == 2
    said = re.fullmatch(
        r"error: --set topology.hosts=1000000000: 1000000000 hosts, 2000000000 links and 4 ranks need "
        r"at least ([0-9.]+) GiB of memory in the model 'packet', and this machine has [0-9.]+ [GT]iB; "
        r"take a smaller platform, fewer ranks( or --model (loggp|postal))?\n",
        done.stderr,
    )
    assert said, done.stderr
    # The estimate is a lower bound, but for rounding: it leaves out a router's tables of its ports, of which
    # a crossbar has one for each host.
    taken = (peak(30_000) - peak(10_000)) / 20_000
    assert taken / 10 < float(said[1]) * 2**30 / 1e9 < 1.1 * taken


def test_records_that_are_cut_off_are_told_of(tmp_path: Path) -> None:
    def warnings(limit: int) -> list[str]:
        flags = ["--json", "--records", limit, "--out", tmp_path / str(limit)]
        return json.loads(hopcast("run", "hopper", "-n", "4", *flags, "ring").stdout)["warnings"]

    assert warnings(4) == []
    (cut,) = warnings(3)
    assert re.fullmatch(
        r"the timeline ends at [0-9.]+ us: it holds the first 3 of 4 calls and stretches of computing", cut
    )


def test_the_screen_says_how_long_and_why() -> None:
    done = hopcast(*["run", "crossbar", "-n", "16", "allreduce", "--bytes", "64KiB"])
    assert done.returncode == 0, done.stderr
    for words in (
        "allreduce --bytes 64KiB on crossbar",
        "Predicted time",
        "bandwidth",
        "MPI_Allreduce",
        "Outcome ",
    ):
        assert words in done.stdout
    assert done.stderr == ""


def test_a_pattern_computes_as_long_as_it_is_told() -> None:
    """`--compute` after a pattern's name is the pattern's, as `kwargs` says it in Python."""
    done = hopcast(
        *["run", "crossbar", "-n", "8", "--quiet", "halo3d", "--iterations", "10", "--compute", "3us"]
    )
    wanted = run("crossbar", "halo3d", 8, kwargs={"iterations": 10, "compute": "3us"}).summary["outcome_hash"]
    assert done.stdout.endswith(f"outcome {wanted}\n")


def test_json_is_the_report_and_nothing_else() -> None:
    done = hopcast(*["run", "crossbar", "-n", "16", "--json", "allreduce", "--bytes", "64KiB"])
    summary = json.loads(done.stdout)
    needed = (
        "makespan_s outcome_hash model platform ranks hosts messages bytes packet_hops events wall_s setup_s "
        "peak_rss_B threads processes warnings hopcast_version"
    )
    assert set(needed.split()) <= set(summary)
    assert summary["ranks"] == 16
    assert summary["makespan_s"] > 0


def test_out_writes_every_part_of_the_report(report: Path) -> None:
    names = {file.name for file in report.iterdir()}
    result = read(report)
    tables = {f"{name}.parquet" for name in result.tables}
    assert names == {"report.json", "report.html", "request.json", "timeline.json", *tables}
    some = {"ranks", "calls", "call_records", "links", "links_over_time", "matrix", "message_latency"}
    assert some <= set(result.tables)
    ranks = result.tables["ranks"]
    assert ranks.num_rows == result.summary["ranks"] == 8
    assert sum(ranks["messages_sent"].to_pylist()) == result.summary["messages"]
    assert sum(result.tables["matrix"]["bytes"].to_pylist()) == result.summary["bytes"]
    for rank in ranks.to_pylist():
        parts = rank["compute_s"] + rank["transfer_s"] + rank["waiting_s"]
        assert parts == pytest.approx(rank["finish_s"], rel=1e-9)


def test_statistics_without_a_place_to_write_them_are_refused() -> None:
    done = hopcast("run", "crossbar", "-n", 4, "--model", "packet", "--statistics", "links", "ring")
    assert done.returncode == 2
    assert "--statistics links keeps tables, which are written with --out DIR" in done.stderr


def test_out_refuses_what_is_no_report_before_it_runs(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    done = hopcast("run", "crossbar", "-n", 4, "--out", tmp_path, "ring")
    assert done.returncode == 2
    assert "thesis.tex" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_report_compares_with_itself(report: Path, tmp_path: Path) -> None:
    done = hopcast("compare", report, report, "--out", tmp_path / "both.html")
    assert done.returncode == 0
    assert "equal to the bit" in done.stdout
    assert "<svg" in (tmp_path / "both.html").read_text()
    (tmp_path / "mine.html").write_text("mine")
    assert hopcast("compare", report, report, "--out", tmp_path / "mine.html").returncode == 2
    assert (tmp_path / "mine.html").read_text() == "mine"


def test_a_deadlock_is_a_result_with_its_own_exit_code(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text("def main(comm):\n    comm.recv(source=1 - comm.rank)\n")
    done = hopcast(*["run", "crossbar", "-n", "2", "--out", "report", "stuck.py"], cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "stuck.py:2" in done.stdout
    failure = read(tmp_path / "report").summary["failure"]
    assert failure["kind"] == "deadlock"
    assert [rank["rank"] for rank in failure["ranks"]] == [0, 1]
    assert "stuck.py:2" in (tmp_path / "report" / "report.html").read_text()


def test_an_interrupted_run_leaves_a_valid_partial_report(tmp_path: Path) -> None:
    line = "run crossbar -n 64 --json --out report ring --iterations 100000000 --bytes 1KiB"
    process = subprocess.Popen(
        [HOPCAST, *line.split()], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    progress_line = process.stderr.readline()  # comes after two seconds of simulation
    assert "events/s" in progress_line
    assert "left" in progress_line
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    summary = json.loads(out)
    assert summary["partial"]
    assert summary["makespan_s"] > 0
    assert read(tmp_path / "report").summary == summary


def test_threads_change_nothing_but_the_time() -> None:
    line = "run crossbar -n 8 --ppn 2 --json --model loggp --threads {} alltoall"
    one, four = (json.loads(hopcast(*line.format(n).split()).stdout) for n in (1, 4))
    assert (one["threads"], four["threads"]) == (1, 4)
    real = {"wall_s", "setup_s", "peak_rss_B", "threads", "made_by"}
    assert {key: one[key] for key in one if key not in real} == {
        key: four[key] for key in four if key not in real
    }


def test_a_run_that_cannot_be_cut_says_so() -> None:
    line = "run hopper -n 8 --json --model {} --threads 4 ring"
    report = json.loads(hopcast(*line.format("flow").split()).stdout)
    assert report["threads"] == 1
    assert report["warnings"][0].startswith("--threads 4: one thread is used: in the flow model")


def test_the_reader_of_the_output_may_leave_early() -> None:
    line = f"{HOPCAST} list | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("order", ["shared", "in-turn"])
def test_two_hosts_of_many_take_little_memory(order: str) -> None:
    flags = ["-n", "2", "--ppn", "1", "--model", "flow", "--set", f"nic.order={order}", "--json", "--quiet"]
    report = json.loads(hopcast("run", "tofu", *flags, "pingpong", "--bytes", "8B").stdout)
    assert report["hosts"] == 158_976
    assert report["peak_rss_B"] < 300 << 20


@pytest.mark.parametrize("flags", [["--json"], ["--quiet"], []])
def test_a_full_disk_behind_the_output_is_said_in_one_line(flags: list[str]) -> None:
    line = [str(HOPCAST), "run", "crossbar", "-n", "4", *flags, "ring"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == exits.BAD_INPUT
    assert done.stderr == "error: output: no space is left on the device\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-n", 2 * 10**12, "ring"], "is not in the range 1<=x<=2147483647"),
        (["-n", 4, "ring", "--bytes", "1e18B"], "ring --bytes 1e18B: takes more than 213 days"),
        (["-n", 4, "--out", "a" * 300, "ring"], "File name too long"),
    ],
)
def test_what_is_too_large_is_bad_input(words: list[object], said: str) -> None:
    done = hopcast("run", "crossbar", *words)
    assert done.returncode == exits.BAD_INPUT, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "import sys\n1 / 0\n",
            "program.py:2: reading the program raised ZeroDivisionError: division by zero",
        ),
        ("import sys\nsys.exit(3)\n", "program.py:2: reading the program raised SystemExit: 3"),
        ("import nowhere\n", "program.py:1: reading the program raised ModuleNotFoundError"),
        ("def main(comm: pass\n", "program.py:1: invalid syntax"),
    ],
)
def test_a_program_that_cannot_be_read_is_bad_input(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "program.py").write_text(text)
    done = hopcast("run", "crossbar", "-n", 4, "program.py", cwd=tmp_path)
    assert done.returncode == exits.BAD_INPUT
    assert done.stderr.startswith(f"error: {said}"), done.stderr


def test_progress_says_how_far_how_fast_and_how_long() -> None:
    text = progress.line(1.5e-3, 2_000_000, (1e6, 1e-3), 10.0, 0.25)
    assert text == "simulated 1.500 ms, 2.00 million events, 1.00 million events/s, 25.0 % done, 30 s left"


def test_progress_of_a_program_says_the_pace_of_simulated_time_and_no_share() -> None:
    # 3 ms of simulated time in the first 2 s, and 1 ms in the next 4 s: 0.25 ms per second.
    speed = progress.Speed(real_s=100.0)
    assert speed.until(102.0, 3e-3, 4_000_000) == pytest.approx((2e6, 1.5e-3))
    pace = speed.until(106.0, 4e-3, 6_000_000)
    text = progress.line(4e-3, 6_000_000, pace, 6.0, None)
    start = "simulated 4.000 ms, 6.00 million events, "
    assert text == f"{start}500,000 events/s, 250.0 µs of simulated time per second"


REGISTRIES = ("platforms", "topologies", "routings", "models", "collectives", "patterns", "formats")


@pytest.mark.parametrize("registry", REGISTRIES)
def test_every_registry_can_be_listed(registry: str) -> None:
    listed = json.loads(hopcast("list", registry, "--json").stdout)
    assert listed[0]["entries"]
    text = hopcast("list", registry).stdout
    assert all(entry["name"] in text for entry in listed[0]["entries"])


def test_a_platform_as_shown_is_a_platform_file(tmp_path: Path) -> None:
    def resolved(name: object) -> str:
        done = hopcast("platform", "show", name, "--resolved")
        assert done.returncode == 0, done.stderr
        return done.stdout.replace(" # default", "")

    for flags in ([], ["--resolved"]):
        text = hopcast("platform", "show", "fat-tree", *flags).stdout
        (tmp_path / "copy.toml").write_text(text)
        assert resolved(tmp_path / "copy.toml") == resolved("fat-tree")


def test_the_schema_of_platform_files_is_json() -> None:
    assert json.loads(hopcast("platform", "schema").stdout)["title"] == "hopcast platform"


def test_a_network_is_measured_and_drawn(tmp_path: Path) -> None:
    flags = ("topology", "show", "nsim-torus", "--set", "topology.sizes=[4, 4]")
    survey = json.loads(hopcast(*flags, "--json").stdout)
    # A 4 x 4 torus: 16 routers, each with 4 links out, and 2 host links; 2 hops at most in each dimension.
    assert (survey["hosts"], survey["routers"], survey["links"]) == (16, 16, 16 * 4 + 2 * 16)
    assert survey["diameter_hops"]["value"] == 4
    done = hopcast(*flags, "--svg", tmp_path / "torus.svg")
    assert "4 hops between routers" in done.stdout
    assert "<svg" in (tmp_path / "torus.svg").read_text()[:200]
    (tmp_path / "mine.svg").write_text("mine")
    assert hopcast(*flags, "--svg", tmp_path / "mine.svg").returncode == 2
    assert (tmp_path / "mine.svg").read_text() == "mine"


def test_a_trace_that_is_none_is_an_error_with_the_known_formats(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    for words in (("trace", "info"), ("run", "crossbar")):
        done = hopcast(*words, tmp_path)
        assert done.returncode == 2
        assert "dumpi" in done.stderr


def test_a_terminal_that_knows_no_micro_sign_still_gets_its_answer() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    line = [HOPCAST, *["run", "crossbar", "-n", "4", "ring"]]
    done = subprocess.run(line, capture_output=True, env=environment)
    assert done.returncode == 0
    assert b"Predicted time" in done.stdout


def test_colours_are_for_terminals() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    line = [HOPCAST, *["run", "crossbar", "-n", "4", "ring"]]
    assert b"\x1b" not in subprocess.run(line, capture_output=True, env=environment).stdout
