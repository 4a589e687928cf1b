"""`hopcast fetch`: the report of a run of a server, or the results of a study."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopcast import progress, scratch
from hopcast.cli import exits
from hopcast.cli.submit import connected, told, waited, waited_study
from hopcast.errors import InputError

if TYPE_CHECKING:
    from hopcast.service.client import Client

TABLE = "results.parquet"
"""Name of the table of a study."""
_DRAFT, _ARCHIVE, _WHOLE = ".hopcast-fetch-", "archive.zip", "whole"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("address", metavar="URL")
@click.option("--token", metavar="TOKEN", help="Token of the server's page /tokens. [default: HOPCAST_TOKEN]")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", required=True, help="New folder for what comes."
)
@click.option("--table", is_flag=True, help="Of a study, fetch the table alone.")
def command(address: str, token: str | None, out: Path, table: bool) -> int:
    """Fetch the run or the study at URL, which 'hopcast submit' has printed; waits until it is over.

    Of a run, DIR/report is its report, for 'hopcast compare' and 'hopcast rerun'; DIR/request.json runs it
    here. Of a study, DIR has the study file, results.parquet, study.html, and the cells' reports.
    """
    from hopcast.service.client import place_of

    server, kind, name = place_of(address)
    if table and kind == "runs":
        raise InputError("--table: a run has no table of cells; leave it out, or name a study")
    if out.exists():
        raise InputError(f"--out {out}: exists; name a directory that does not exist yet")
    client = connected(server, token)
    out.parent.mkdir(parents=True, exist_ok=True)
    # Beside the folder that it becomes: that of temporary files may be too small for it.
    with scratch.folder(_DRAFT, out.absolute().parent) as draft:
        if kind == "runs":
            return _fetch_run(client, name, out, draft)
        return _fetch_study(client, name, out, draft, table)


def _fetch_run(client: Client, run: str, out: Path, draft: Path) -> int:
    state = waited(client, run)
    with open(draft / _ARCHIVE, "wb") as file:
        client.fetch(run, file)
    _unpack(draft, out)
    if state["error"]:
        click.echo(f"{state['state']}: {state['error']}", err=True)
    has_report = (out / "report").is_dir()
    click.echo(
        f"Report  {out / 'report' / 'report.html'}" if has_report else f"No report; the request is in {out}"
    )
    return exits.DONE if has_report else exits.PROGRAM_FAILED


def _fetch_study(client: Client, study: str, out: Path, draft: Path, table: bool) -> int:
    state = waited_study(client, study)
    if table:
        (draft / _WHOLE).mkdir()
    with open(draft / _WHOLE / TABLE if table else draft / _ARCHIVE, "wb") as file:
        client.fetch_study(study, "table" if table else "archive", file)
    if table:
        os.rename(draft / _WHOLE, out)
    else:
        _unpack(draft, out)
    code = told(state, out / TABLE)
    click.echo(f"Table  {out / TABLE}")
    if not table:
        click.echo(f"Page   {out / 'study.html'}")
    return code


def _unpack(draft: Path, out: Path) -> None:
    """Unpacks the archive in a folder, and puts what was in it into its place, whole or not at all."""
    from hopcast.service.client import unpack

    unpack(draft / _ARCHIVE, draft / _WHOLE, progress.transfer)
    os.rename(draft / _WHOLE, out)
