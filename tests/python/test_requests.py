"""Requests of runs: written, read, changed, and run again from a report."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import written_traces

import hopcast
from hopcast import RunRequest, core, options
from hopcast.cli.run import command as run_command

HOPCAST = Path(sys.executable).with_name("hopcast")


def call(folder: Path, *words: object) -> subprocess.CompletedProcess:
    line = [str(HOPCAST), *map(str, words)]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120)


def outcome(done: subprocess.CompletedProcess) -> str:
    """The outcome's hash in the one line of `--quiet`."""
    assert done.returncode == 0, done.stderr
    return done.stdout.split("outcome ")[1].strip()


def module_function(comm, count, size="8 B"):
    for _ in range(count):
        comm.allreduce(nbytes=8)
    return comm.rank


@pytest.fixture
def workloads(tmp_path: Path) -> Path:
    """A folder with a workload of each kind that needs a file."""
    (tmp_path / "ring.py").write_text(
        "import sys\ndef main(comm):\n"
        "    for _ in range(int(sys.argv[1])):\n        comm.allreduce(nbytes=8)\n"
    )
    written_traces.write(tmp_path / "trace", [[written_traces.allreduce()] for _ in range(2)])
    (tmp_path / "two.toml").write_text('[[job]]\nrun = "trace"\n[[job]]\nrun = "alltoall"\nranks = 4\n')
    (tmp_path / "program.c").write_text(
        "#include <mpi.h>\nint main(int n, char **words) { MPI_Init(&n, &words); MPI_Barrier(MPI_COMM_WORLD);"
        " return MPI_Finalize(); }\n"
    )
    return tmp_path


LINES = {
    "pattern": "crossbar -n 8 --seed 3 --placement random --set nic.latency=3us halo3d --bytes 64KiB",
    "function": "crossbar -n 4 ring.py 3",
    "trace": "crossbar --mode timestamps trace",
    "jobs": "crossbar --model loggp two.toml",
    "compiled": "crossbar -n 2 --compute none ./program",
}


@pytest.mark.parametrize("kind", LINES)
def test_the_run_of_a_report_gives_the_same_outcome_again(kind: str, workloads: Path, tmp_path: Path) -> None:
    if kind == "compiled":
        built = call(workloads, "cc", "program.c", "-o", "program")
        assert built.returncode == 0, built.stderr
    first, *rest = LINES[kind].split()
    before = outcome(call(workloads, "run", first, "--out", "report", "--quiet", *rest))
    saved = json.loads((workloads / "report" / "request.json").read_text())
    assert saved["workload"]["kind"] == kind
    assert saved["made_by"]["outcome_hash"] == before
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    again = call(elsewhere, "rerun", workloads / "report", "--quiet")
    assert outcome(again) == before
    assert "The same outcome as before" in again.stderr
    # The request alone says the same, and so does one that is written before the run.
    assert (
        outcome(call(elsewhere, "run", "--request", workloads / "report", "--quiet", "--out", "new"))
        == before
    )
    done = call(workloads, "run", first, "--save-request", "saved.json", *rest)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert outcome(call(elsewhere, "run", "--request", workloads / "saved.json", "--quiet")) == before


def test_json_of_a_rerun_is_the_report(workloads: Path) -> None:
    call(workloads, "run", "crossbar", "-n", 4, "--out", "report", "--quiet", "ring")
    done = call(workloads, "rerun", "report", "--json", "--out", "again")
    summary = json.loads(done.stdout)
    assert (
        summary["outcome_hash"] == json.loads((workloads / "report/report.json").read_text())["outcome_hash"]
    )
    assert (workloads / "again" / "request.json").is_file()


def test_an_input_that_has_changed_is_named_and_nothing_runs(workloads: Path) -> None:
    call(workloads, "run", "crossbar", "-n", 4, "--out", "report", "--quiet", "ring.py", 3)
    program = workloads / "ring.py"
    program.write_text(program.read_text().replace("nbytes=8", "nbytes=80_000"))
    done = call(workloads, "rerun", "report", "--quiet")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"program {program}: was " in done.stderr and "inputs of this run have changed" in done.stderr
    done = call(workloads, "rerun", "report", "--quiet", "--changed")
    assert done.returncode == 4
    assert "Another outcome than before" in done.stderr and "inputs have changed" in done.stderr
    program.unlink()
    assert "is gone" in call(workloads, "rerun", "report").stderr


def test_a_file_of_the_platform_is_an_input(workloads: Path) -> None:
    (workloads / "places").write_text("1\n0\n")
    call(workloads, "run", "crossbar", "--placement", "places", "-n", 2, "--out", "report", "--quiet", "ring")
    (workloads / "places").write_text("0\n1\n")
    done = call(workloads, "rerun", "report")
    assert f"placement {workloads / 'places'}: was " in done.stderr


def test_an_outcome_that_differs_although_nothing_has_changed_is_told(workloads: Path) -> None:
    call(workloads, "run", "crossbar", "-n", 4, "--out", "report", "--quiet", "ring")
    file = workloads / "report" / "request.json"
    request = json.loads(file.read_text())
    request["made_by"] |= {"outcome_hash": "0" * 16, "hopcast_version": "0.0.1"}
    file.write_text(json.dumps(request))
    done = call(workloads, "rerun", "report", "--quiet")
    assert done.returncode == 4
    assert f"hopcast was 0.0.1 and is {hopcast.__version__}" in done.stderr


def test_a_function_of_a_module_runs_again_and_others_say_why_not(tmp_path: Path) -> None:
    report = hopcast.run(
        "crossbar", module_function, 4, args=(3,), kwargs={"size": "9 B"}, out=tmp_path / "a"
    )
    request = RunRequest.load(tmp_path / "a")
    assert request.workload["name"] == "module_function"
    again = hopcast.run(request)
    assert (again.outcome_hash, again.results) == (report.outcome_hash, [0, 1, 2, 3])
    hopcast.run("crossbar", lambda comm: comm.barrier(), 2, out=tmp_path / "b")
    with pytest.raises(hopcast.InputError, match="no file has by this name"):
        hopcast.run(RunRequest.load(tmp_path / "b"))
    hopcast.run("crossbar", module_function, 2, args=(3, object()), out=tmp_path / "c")
    with pytest.raises(hopcast.InputError, match=r"argument <object object at .*> is no JSON"):
        hopcast.run(RunRequest.load(tmp_path / "c"))


def test_flags_beside_a_request_replace_its_options(workloads: Path) -> None:
    line = ["crossbar", "-n", 4, "--set", "nic.latency=1us", "--set", "link.latency=1us", "ring"]
    call(workloads, "run", "--save-request", "ring.json", *line)
    flags = ["--set", "nic.latency=2us", "--quiet", "--seed", 9]
    changed = outcome(call(workloads, "run", "--request", "ring.json", *flags))
    both = ["--set", "link.latency=1us", "--set", "nic.latency=2us", "--seed", 9]
    assert changed == outcome(call(workloads, "run", "crossbar", "-n", 4, "--quiet", *both, "ring"))
    done = call(workloads, "run", "--request", "ring.json", "hopper", "ring")
    assert done.returncode == 2
    assert "--request ring.json: it says platform and workload; here is 'hopper'" in done.stderr
    done = call(workloads, "run", "--request", "ring.json", "--mode", "none")
    assert "--mode: it is for a recorded trace, and 'ring' is a pattern" in done.stderr
    (workloads / "ring.json").write_text('{"platform": "crossbar", "workload": {"kind": "pattern"}}')
    done = call(workloads, "run", "--request", "ring.json")
    assert done.returncode == 2
    assert "ring.json: request: missing field `name`" in done.stderr
    assert "nowhere: no request here" in call(workloads, "run", "--request", "nowhere").stderr


def test_a_request_moves_with_its_folder(workloads: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (workloads / "ring.py").rename(project / "ring.py")
    call(project, "run", "--save-request", "saved.json", "crossbar", "-n", 4, "ring.py", 3)
    before = outcome(call(project, "run", "--request", "saved.json", "--quiet"))
    project.rename(tmp_path / "moved")
    assert outcome(call(tmp_path, "run", "--request", "moved/saved.json", "--quiet")) == before


def test_requests_are_values(tmp_path: Path) -> None:
    request = RunRequest.of("crossbar", "ring", ranks=4, set={"nic.latency": "1 us", "link.latency": "1 us"})
    request.save(tmp_path / "request.json")
    read = RunRequest.load(tmp_path / "request.json")
    assert (read.platform, read.workload, read.options) == (
        request.platform,
        request.workload,
        request.options,
    )
    assert RunRequest.from_json(request.to_json()) == request
    later = request.changed(seed=7, set={"nic.latency": "2 us"}, ranks=None)
    assert later.options == {"seed": 7, "set": {"link.latency": "1 us", "nic.latency": "2 us"}}
    with pytest.raises(hopcast.InputError, match="seed: a whole number of at least 0, not -1"):
        RunRequest.of("crossbar", "ring", ranks=4, seed=-1)
    with pytest.raises(TypeError, match="unknown option 'sede'; did you mean 'seed'"):
        RunRequest.of("crossbar", "ring", ranks=4, sede=1)
    with pytest.raises(hopcast.InputError, match="a request says all of its run"):
        hopcast.run(request, ranks=4)


def test_ranks_stand_where_a_list_says() -> None:
    """The mapping of the PPT paper, section 5: four ranks on each host, and as many ranks as it is long."""

    def program(comm):
        return comm.allreduce(1)

    report = hopcast.run("crossbar", program, placement=[rank // 4 for rank in range(16)])
    assert report.results == [16] * 16
    assert report.table("ranks")["host"].to_pylist() == [rank // 4 for rank in range(16)]
    linear = hopcast.run("crossbar", program, 16, ppn=4)
    assert report.outcome_hash == linear.outcome_hash
    pattern = hopcast.run("crossbar", "ring", placement=["3", 5, "3:7"])
    assert pattern.table("ranks")["host"].to_pylist() == [3, 5, 3]
    with pytest.raises(hopcast.InputError, match=r"placement: .* no host 900"):
        hopcast.run("crossbar", "ring", placement=[0, 900])


def test_a_platform_may_be_a_text() -> None:
    toml = core.platform_text("crossbar", (), False)
    inline = hopcast.run({"toml": toml}, "ring", 4)
    assert inline.outcome_hash == hopcast.run("crossbar", "ring", 4).outcome_hash


def test_every_option_is_a_flag_and_a_keyword_with_the_text_of_the_table() -> None:
    flags = {parameter.name: parameter for parameter in run_command.params}
    keywords = inspect.signature(hopcast.run).parameters
    document = " ".join(hopcast.run.__doc__.split())
    help_text = " ".join(call(Path.cwd(), "run", "--help").stdout.split())
    assert len(options.table()) > 30
    for name, option in options.table().items():
        assert flags[name].help == option.help
        assert option.flag in flags[name].opts
        assert keywords[name].default is None
        assert name == "ranks" or f"{name}: {option.help}" in document
        assert option.flag in help_text
    schema = json.loads(core.request_schema())
    assert schema["properties"]["stop_at"]["description"] == options.table()["stop_at"].text


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("run --stop", ["--stop-at"]),
        ("run --model pos", ["postal"]),
        ("run --statistics l", ["links"]),
        ("run --placement cy", ["cyclic"]),
        ("run hopp", ["hopper", "hopper-max-rate"]),
        ("run hopper halo3", ["halo3d"]),
        ("reru", ["rerun"]),
    ],
)
def test_the_shell_completes_flags_and_names(words: str, found: list[str]) -> None:
    line = ["hopcast", *words.split()]
    asked = {
        "_HOPCAST_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(line),
        "COMP_CWORD": str(len(line) - 1),
    }
    done = subprocess.run([HOPCAST], env=os.environ | asked, capture_output=True, text=True)
    assert [entry.partition(",")[2] for entry in done.stdout.split()] == found, done.stderr
