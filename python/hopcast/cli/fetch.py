"""`hopcast fetch`: the report of a run of a server, or the results of a study."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopcast.cli import exits
from hopcast.cli.submit import connected, told, waited, waited_study
from hopcast.errors import InputError

if TYPE_CHECKING:
    from hopcast.service.client import Client

TABLE = "results.parquet"
"""Name of the table of a study."""


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
    return _fetch_run(client, name, out) if kind == "runs" else _fetch_study(client, name, out, table)


def _fetch_run(client: Client, run: str, out: Path) -> int:
    from hopcast.service.client import unpack

    state = waited(client, run)
    with tempfile.NamedTemporaryFile(suffix=".zip") as file:
        client.fetch(run, file)
        file.flush()
        unpack(Path(file.name), out)
    if state["error"]:
        click.echo(f"{state['state']}: {state['error']}", err=True)
    has_report = (out / "report").is_dir()
    click.echo(
        f"Report  {out / 'report' / 'report.html'}" if has_report else f"No report; the request is in {out}"
    )
    return exits.DONE if has_report else exits.PROGRAM_FAILED


def _fetch_study(client: Client, study: str, out: Path, table: bool) -> int:
    from hopcast.service.client import unpack

    state = waited_study(client, study)
    with tempfile.NamedTemporaryFile(suffix=".zip") as file:
        client.fetch_study(study, "table" if table else "archive", file)
        file.flush()
        if table:
            out.mkdir(parents=True)
            (out / TABLE).write_bytes(Path(file.name).read_bytes())
        else:
            unpack(Path(file.name), out)
    code = told(state, out / TABLE)
    click.echo(f"Table  {out / TABLE}")
    if not table:
        click.echo(f"Page   {out / 'study.html'}")
    return code
