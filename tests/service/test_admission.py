"""A request that comes from elsewhere names no file of the server, and nothing in it is executed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from hopcast.request import RunRequest
from hopcast.service import admission
from hopcast.service.admission import Refused, admit
from hopcast.service.settings import Limits

ROOT = Path(__file__).resolve().parents[2]
PATTERN = {"kind": "pattern", "name": "halo3d"}
PATHS = ("/etc/passwd", "../secret", "./up.toml", "up.toml/../../secret", "~/secret", "")


def asked(**changes: Any) -> dict[str, Any]:
    return {"platform": "fat-tree", "workload": PATTERN, "ranks": 4} | changes


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    texts = {
        "up.toml": "[topology]\nkind = 'graph'\nfile = 'net.txt'\n",
        "net.txt": "host a b\n",
        "t.hct": "x",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: tmp_path / name for name in texts}


def test_each_key_of_a_platform_that_names_a_file_is_known() -> None:
    """Each parameter of the sources with `Kind::File` on a line of its own, whose name is the text before."""
    found = set()
    for file in (ROOT / "crates").rglob("src/**/*.rs"):
        text = file.read_text()
        for match in re.finditer(r"^ *(?:kind: )?Kind::File,$", text, re.MULTILINE):
            found.add(re.findall(r'"([a-z_]+)"', text[: match.start()])[-1])
    assert found == set(admission.FILE_KEYS)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "shape",
    [
        lambda path: asked(platform=path),
        lambda path: asked(platform={"toml": f"[topology]\nkind = 'graph'\nfile = '{path}'\n"}),
        lambda path: asked(platform={"toml": f"[hosts]\nmap = '{path}'\n"}),
        lambda path: asked(platform={"toml": f"[[compute.kernels]]\nname = 'a'\ntable = '{path}'\n"}),
        lambda path: asked(platform={"toml": f"[placement]\n\"f\\u0069le\" = '{path}'\n"}),
        lambda path: asked(workload={"kind": "trace", "path": path}),
        lambda path: asked(workload={"kind": "jobs", "path": path}),
        lambda path: asked(
            workload={"kind": "jobs", "jobs": [{"name": "a", "workload": {"kind": "trace", "path": path}}]}
        ),
        lambda path: asked(
            workload={"kind": "jobs", "jobs": [{"name": "a", "workload": PATTERN, "placement": path}]}
        ),
        lambda path: asked(placement=path),
        lambda path: asked(set={"placement.file": path}),
        lambda path: asked(set={"hosts.'map'": path}),
        lambda path: asked(set={"placement": f'{{kind = "file", file = "{path}"}}'}),
        lambda path: asked(set={"placement": f'{{kind = "file", "f\\u0069le" = "{path}"}}'}),
        lambda path: asked(set={"placement": {"kind": "file", "file": path}}),
        lambda path: asked(set={"topology": f'{{kind = "graph", file = "{path}"'}),
        lambda path: asked(out=path),
        lambda path: asked(directory=path),
    ],
)
def test_no_path_of_the_server(shape: Any, path: str, files: dict[str, Path]) -> None:
    with pytest.raises(Refused):
        admit(shape(path), files, Limits())


@pytest.mark.parametrize(
    "changes",
    [
        {"workload": {"kind": "function", "file": "a.py", "name": "main"}},
        {"workload": {"kind": "compiled", "path": "a.out"}},
        {"workload": {"kind": "mpi4py", "path": "a.py"}},
        {
            "workload": {
                "kind": "jobs",
                "jobs": [{"name": "a", "workload": {"kind": "compiled", "path": "a"}}],
            }
        },
        {"workload": {"kind": "jobs", "jobs": [{"name": "a", "workload": {"kind": "jobs", "jobs": []}}]}},
        {"workload": {"kind": "jobs", "jobs": [{"name": "a"}]}},
        {"workload": "halo3d"},
        {"workload": PATTERN | {"path": "x"}},
        {"tool": "sh -c id"},
        {"debug_rank": 1},
        {"compute": "profile=/etc/passwd"},
        {"made_by": {}},
        {"threads": 100_000},
        {"nonsense": 1},
        {"ranks": "many"},
        {"platform": ["fat-tree"]},
        {"platform": {"toml": "x = "}},
        {"platform": {"toml": "a = " + "[" * 20_000}},
        {"placement": {"file": "x"}},
        {"set": "x"},
    ],
)
def test_nothing_is_executed_and_wrong_values_are_refused(changes: dict, files: dict[str, Path]) -> None:
    with pytest.raises(Refused) as refused:
        admit(asked(**changes), files, Limits())
    assert refused.value.field and str(refused.value)


def test_uploads_may_be_named(files: dict[str, Path]) -> None:
    trace = {"kind": "trace", "path": "t.hct"}
    request = {"platform": "up.toml", "workload": trace, "placement": "net.txt"}
    admitted = admit(request | {"set": {"hosts.map": "net.txt"}}, files, Limits())
    assert admitted.inputs == ("net.txt", "t.hct", "up.toml")
    inline = admit(asked(platform={"toml": "[topology]\nkind = 'graph'\nfile = 'net.txt'"}), files, Limits())
    assert inline.inputs == ("net.txt",)
    assert inline.request.platform == admission.PLATFORM_FILE and set(inline.texts) == {
        admission.PLATFORM_FILE
    }


@pytest.mark.parametrize("name", ["../a", "/a", ".a", "-a", "a/b", "a\\b", "a\0b", "a\n", "", "ä", "a" * 101])
def test_names_of_uploads_are_names(name: str) -> None:
    with pytest.raises(Refused):
        admission.check_name(name)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"workload": PATTERN | {"arguments": {"bytes": "64 KiB", "compute": "1 us", "periodic": "false"}}},
        {"model": "packet", "seed": 7, "ppn": 2, "placement": "block:4x3x2", "stop_at": "1 ms"},
        {"set": {"link.bandwidth": "50 GB/s", "mpi.call_overhead": "1 us"}, "statistics": "links"},
        {"what_if": True, "messages": 100, "matrix_periods": 10, "records": 5},
    ],
)
def test_the_command_line_asks_for_the_same(changes: dict, tmp_path: Path, monkeypatch: Any) -> None:
    from hopcast.cli import commands

    request = admit(asked(**changes), {}, Limits()).request
    monkeypatch.chdir(tmp_path)
    words = [*admission.command_line(request)[1:], "--out", "again", "--save-request", "again.json"]
    assert commands.main(words, prog_name="hopcast", standalone_mode=False) == 0
    again = RunRequest.load("again.json")
    assert again.options.pop("out")
    assert (again.platform, again.options) == (request.platform, request.options)
    assert {"arguments": {}} | request.workload == {"arguments": {}} | again.workload


def test_errors_stand_at_their_field() -> None:
    cases = {
        "model": asked(model=3),
        "ranks": asked(ranks=0),
        "arguments.bytes": asked(workload=PATTERN | {"arguments": {"bytes": 3, "nonsense": ""}}),
        "only": asked(only=["a"]),
    }
    for field, request in cases.items():
        if field.startswith("arguments"):
            error = "--bytes q: bytes: 'q' is not a size"
            assert admission.field_of(error, RunRequest("fat-tree", PATTERN)) == field
            continue
        with pytest.raises(Refused) as refused:
            admit(request, {}, Limits())
        assert refused.value.field == field, str(refused.value)
