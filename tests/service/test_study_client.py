"""Studies by the command line: submitted to a server, waited for, and fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from servers import Server
from test_client import command
from test_study_pages import STUDY

from hopcast import core
from hopcast.errors import InputError
from hopcast.service import client, study_client
from hopcast.study import file


def submitted(server: Server, *words: str, status: int = 0) -> Any:
    return command(server, "submit", "--to", server.address, *words, status=status)


def test_a_study_is_submitted_and_fetched(shared_server: Server, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(core.platform_text("crossbar", (), False))
    (tmp_path / "places").write_text("".join(f"{host}\n" for host in reversed(range(8))))
    text = STUDY.format("mine.toml").replace("ppn = 1", 'placement = "places"')
    (tmp_path / "sizes.toml").write_text(text)
    address = submitted(shared_server, "--study", str(tmp_path / "sizes.toml"), "--wait").stdout.strip()
    assert address.startswith(f"{shared_server.address}/studies/")
    assert shared_server.client.study(address.rpartition("/")[2])["name"] == "sizes"
    fetched = command(shared_server, "fetch", address, "--out", str(tmp_path / "fetched"))
    assert f"Table  {tmp_path / 'fetched' / 'results.parquet'}" in fetched.stdout and not fetched.stderr
    assert (tmp_path / "fetched" / "study.html").is_file()
    assert (tmp_path / "fetched" / "reports" / "000003" / "report.html").is_file()
    assert (tmp_path / "fetched" / "study.toml").read_text() == text
    command(shared_server, "fetch", address, "--table", "--out", str(tmp_path / "table"))
    table = parquet.read_table(tmp_path / "table" / "results.parquet").to_pylist()
    assert [one.name for one in (tmp_path / "table").iterdir()] == ["results.parquet"]
    command(shared_server, "study", str(tmp_path / "sizes.toml"), "--out", str(tmp_path / "here"))
    here = parquet.read_table(tmp_path / "here" / "results.parquet").to_pylist()
    assert [row | {"key": ""} for row in table] == [row | {"key": ""} for row in here]
    again = command(shared_server, "fetch", address, "--out", str(tmp_path / "table"), status=2)
    assert "exists" in again.stderr


def test_cells_without_a_result_give_the_exit_code_of_a_failed_program(
    shared_server: Server, tmp_path: Path
) -> None:
    text = STUDY.format("crossbar").replace("ranks = 8\n", "").replace("ppn = 1", "")
    (tmp_path / "ranks.toml").write_text(text.replace("model =", "ranks = [4, 99999999]\nmodel ="))
    done = submitted(
        shared_server, "--study", str(tmp_path / "ranks.toml"), "--wait", "--name", "x", status=3
    )
    assert "cell 2 failed: " in done.stderr and "do not fit" in done.stderr
    assert "8 cells: " in done.stderr and "4 failed" in done.stderr and "4 finished" in done.stderr
    address = done.stdout.strip()
    fetched = command(shared_server, "fetch", address, "--out", str(tmp_path / "out"), status=3)
    assert "cell 2 failed: " in fetched.stderr
    rows = parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist()
    assert [row["state"] for row in rows] == ["done", "done", "failed", "failed"] * 2


def test_what_is_no_study_for_a_server_is_refused(shared_server: Server, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format("crossbar"))
    for words, said in [
        (["fat-tree"], "here is 'fat-tree'"),
        (["--seed", "3"], "here is '--seed'"),
        (["--request", "a.json"], "here is '--request'"),
        (["--out", "a"], "here is '--out'"),
    ]:
        assert said in submitted(shared_server, "--study", str(study), *words, status=2).stderr
    study.write_text("platform = ")
    assert str(study) in submitted(shared_server, "--study", str(study), status=2).stderr
    study.write_text(STUDY.format("fatree"))
    assert "unknown platform" in submitted(shared_server, "--study", str(study), status=2).stderr
    run = f"{shared_server.address}/runs/x"
    words = ["fetch", run, "--table", "--out", str(tmp_path / "out")]
    assert "--table" in command(shared_server, *words, status=2).stderr


def test_a_response_without_a_value_gives_the_exit_code_of_a_failed_program(
    shared_server: Server, tmp_path: Path
) -> None:
    bad = '[responses]\nbad = "makespan_s / (messages - messages)"'
    text = STUDY.format("crossbar").replace("[responses]", bad)
    (tmp_path / "bad.toml").write_text(text)
    words = ("--study", str(tmp_path / "bad.toml"), "--wait")
    waited = submitted(shared_server, *words, status=3)
    assert "cell 0 failed: " in waited.stderr and "division by zero" in waited.stderr
    address = waited.stdout.strip()
    fetched = command(shared_server, "fetch", address, "--table", "--out", str(tmp_path / "out"), status=3)
    assert "cell 0 failed: " in fetched.stderr and "division by zero" in fetched.stderr


@pytest.mark.parametrize("name", ["study.toml", "results.parquet", "study.html", "reports"])
def test_no_file_of_a_study_takes_the_place_of_its_results(
    shared_server: Server, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("".join(f"{host}\n" for host in range(8)))
    (tmp_path / "mine").write_text(STUDY.format("crossbar").replace("ppn = 1", f'placement = "{name}"'))
    done = submitted(shared_server, "--study", str(tmp_path / "mine"), status=2)
    assert f"{name}: the study's own file of that name stands there" in done.stderr


def test_files_have_the_names_of_the_study_file(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "mine.toml").write_text(core.platform_text("crossbar", (), False))
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format("deep/mine.toml"))
    with pytest.raises(InputError, match=r"cell 0: deep/mine.toml: .* copy it there and write mine.toml"):
        study_client.files_of(file.load(study))
    (tmp_path / "mine.toml").write_text(core.platform_text("crossbar", (), False))
    study.write_text(STUDY.format("mine.toml"))
    assert study_client.files_of(file.load(study)) == {"mine.toml": tmp_path / "mine.toml"}
    study.write_text(STUDY.format("./mine.toml"))
    with pytest.raises(InputError, match=r"cell 0: \./mine.toml: .* write mine.toml"):
        study_client.files_of(file.load(study))
    (tmp_path / "places").write_text("0\n")
    study.write_text(
        STUDY.format("mine.toml").replace("model =", 'placement = ["places", "./places"]\nmodel =')
    )
    with pytest.raises(InputError, match=r"cell 2: \./places: .* write places"):
        study_client.files_of(file.load(study))
    (tmp_path / "two.toml").write_text('[[job]]\nrun = "ring"\nranks = 2\n')
    text = STUDY.format("crossbar").replace("halo3d --iterations 1", "two.toml").replace("ranks = 8\n", "")
    study.write_text(text.replace('"--bytes" = ["1 KiB", "64 KiB"]\n', ""))
    with pytest.raises(InputError, match="no file of jobs"):
        study_client.files_of(file.load(study))


def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []

    def write(_self: client.Client, path: str, _file: Any) -> None:
        asked.append(path)
        if len(asked) < 3:
            raise client.Busy("the page of this study is being written")

    monkeypatch.setattr(client.Client, "_write", write)
    monkeypatch.setattr(client, "_AGAIN_EVERY_S", 0.0)
    said: list[str] = []
    with open(tmp_path / "file", "wb") as out:
        client.Client("http://localhost:9", say=said.append).fetch_study("x", "table", out)
    assert asked == ["/studies/x/table"] * 3
    assert said == ["the page of this study is being written; it is asked again for 300 s"]
    monkeypatch.setattr(client, "PATIENCE_S", -1.0)
    asked.clear()
    with open(tmp_path / "file", "wb") as out, pytest.raises(client.Busy, match="being written"):
        client.Client("http://localhost:9").fetch_study("x", "table", out)
