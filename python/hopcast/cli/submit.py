"""`hopcast submit`: a run, or a study, for a server."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from hopcast import progress
from hopcast.cli import arguments, estimates, exits, options
from hopcast.cli.request_of import request_of
from hopcast.cli.serve import default_data
from hopcast.errors import InputError
from hopcast.report import units

if TYPE_CHECKING:
    from hopcast.service.client import Client

LINES_MOST = 12
"""Most cells without a result that are listed."""


@click.command(cls=arguments.RunCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("platform", required=False, shell_complete=options.complete_platform)
@click.argument("workload", required=False, shell_complete=options.complete_workload)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@options.add_all
@click.option("--to", "server", metavar="URL", required=True, help="Server, such as http://localhost:8421.")
@click.option("--token", metavar="TOKEN", help="Token of the server's page /tokens. [default: HOPCAST_TOKEN]")
@click.option("--name", default="", help="Name of the run, or of the study.")
@click.option("--wait", is_flag=True, help="Wait until it is over.")
@click.option(
    "--estimate",
    "when",
    type=click.Choice(estimates.WHEN),
    help="Say what it will take, hosts, ranks, memory and time: before it is submitted, or only that. "
    "[default: before, in a terminal; else never]",
)
@click.option("--request", "request_file", metavar="FILE", help="Submit what a request in this file says.")
@click.option(
    "--study",
    "study_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Submit the study in FILE, which says all, as of 'hopcast study'.",
)
def command(
    platform: str | None,
    workload: str | None,
    args: tuple[str, ...],
    server: str,
    token: str | None,
    name: str,
    wait: bool,
    when: str | None,
    request_file: str | None,
    study_file: Path | None,
    **flags,
) -> int:
    """Submit a run of WORKLOAD on PLATFORM to a server ('hopcast serve'), and print its address.

    Takes what 'hopcast run' takes, but patterns and traces only: a server executes nothing that it is
    sent. Platform files, traces and placement files are uploaded.
    """
    from hopcast.service.client import portable

    when = when or estimates.usual()
    if when == estimates.ONLY and wait:
        raise InputError("--estimate only: nothing is submitted, so there is nothing to --wait for")
    client = connected(server, token)
    if study_file is not None:
        _refuse_others(study_file, platform, request_file, flags)
        return _submit_study(client, study_file, name, wait, when)
    if flags.get("out"):
        raise InputError("--out: the server keeps the report, and 'hopcast fetch' brings it")
    request, files = portable(request_of(platform, workload, args, flags, request_file))
    with client.uploaded(files) as uploads:
        estimates.say(when, lambda: estimates.of_run(client.estimate(request, uploads)))
        if when == estimates.ONLY:
            return exits.DONE
        run = client.submit(request, uploads, name)
    click.echo(client.page(run["id"]))
    if not wait:
        return exits.DONE
    run = waited(client, run["id"])
    if run["error"]:
        click.echo(f"{run['state']}: {run['error']}", err=True)
    failed = run["outcome"] is None or run["outcome"].get("failure")
    return exits.PROGRAM_FAILED if failed else exits.DONE


def _refuse_others(file: Path, platform: str | None, request_file: str | None, flags: dict[str, Any]) -> None:
    """Raises `InputError` for what was given beside a study file."""
    given = [f"--{name.replace('_', '-')}" for name, value in flags.items() if value not in (None, ())]
    given = [*([platform] if platform else []), *(["--request"] if request_file else []), *given]
    if given:
        raise InputError(f"--study {file}: it says platform, workload and options; here is '{given[0]}'")


def _submit_study(client: Client, file: Path, name: str, wait: bool, when: str) -> int:
    """Submits a study, and waits for its end if that is wanted."""
    from hopcast.service import study_client
    from hopcast.study import file as files

    study = files.load(file)
    with client.uploaded(study_client.files_of(study)) as uploads:
        estimates.say(when, lambda: estimates.of_study(client.estimate_study(study.text, uploads)))
        if when == estimates.ONLY:
            return exits.DONE
        state = client.submit_study(study.text, uploads, name or study.name)
    click.echo(client.study_page(state["id"]))
    if not wait:
        return exits.DONE
    over = waited_study(client, state["id"])
    with tempfile.NamedTemporaryFile(suffix=".parquet") as table:
        client.fetch_study(state["id"], "table", table)
        table.flush()
        return told(over, Path(table.name))


def connected(server: str, token: str | None) -> Client:
    """A client of a server, which says on standard error why it takes long."""
    from hopcast.service.client import Client

    def say(words: str) -> None:
        # A line of progress may stand there.
        click.echo(f"\r\x1b[2K{words}" if sys.stderr.isatty() else words, err=True)

    return Client(server, token or local_token(server), say, progress.transfer)


def waited(client: Client, run: str) -> dict[str, Any]:
    """State of a run once it is over; shows its progress meanwhile."""
    queue, line = progress.RenewedLine(), progress.ProgressLine()

    def look(state: dict[str, Any]) -> None:
        if (now := state["progress"]) is not None:
            line(now["simulated_s"], now["events"], now["share"])
        elif queue.is_due():
            before = units.things(state["ahead"] or 0, "run")
            queue.show(f"queued, {before} before it" if state["state"] == "queued" else "begins")

    try:
        return client.wait(run, look=look)
    finally:
        queue.close()
        line.close()


def waited_study(client: Client, study: str) -> dict[str, Any]:
    """State of a study once its cells are over; shows meanwhile how many are."""
    from hopcast.experiment.progress import PiecesProgress
    from hopcast.service import study_client

    cells: PiecesProgress | None = None

    def look(state: dict[str, Any]) -> None:
        nonlocal cells
        cells = cells or PiecesProgress("cell", len(state["cells"]), 0)
        cells.at(*study_client.over(state))

    try:
        return client.wait_study(study, look=look)
    finally:
        if cells is not None:
            cells.close()


def told(state: dict[str, Any], table: Path) -> int:
    """Says on standard error which cells of a study have no result or no response; gives the exit code.

    table: file of the table of the study.
    """
    from hopcast.service import study_client

    missing = study_client.missing(state)
    for cell in missing[:LINES_MOST]:
        click.echo(f"cell {cell['number']} {cell['state']}: {cell['error'] or 'no result'}", err=True)
    if not missing:
        return _told_of_rows(table)
    click.echo(study_client.summary(state), err=True)
    return exits.PROGRAM_FAILED


def _told_of_rows(table: Path) -> int:
    """Says which cells have a run, and no value of a response; gives the exit code."""
    from pyarrow import parquet

    rows = parquet.read_table(table, columns=["cell", "state", "why"]).to_pylist()
    failed = [row for row in rows if row["state"] == "failed"]
    for row in failed[:LINES_MOST]:
        click.echo(f"cell {row['cell']} {row['state']}: {row['why']}", err=True)
    return exits.PROGRAM_FAILED if failed else exits.DONE


def local_token(server: str) -> str | None:
    """The token that a server of this user on this machine has left for scripts."""
    file: Path = default_data() / "token"
    if urlsplit(server).hostname not in ("localhost", "127.0.0.1", "::1") or not file.is_file():
        return None
    return file.read_text(encoding="utf-8").strip()
