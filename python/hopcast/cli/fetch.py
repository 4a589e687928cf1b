"""`hopcast fetch`: the report of a run of a server."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from hopcast.cli import exits
from hopcast.cli.submit import local_token


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("address", metavar="URL")
@click.option("--token", metavar="TOKEN", help="Token of the server's page /tokens. [default: HOPCAST_TOKEN]")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", required=True, help="New folder for the run."
)
def command(address: str, token: str | None, out: Path) -> int:
    """Fetch the run at URL, which 'hopcast submit' has printed; waits until it is over.

    DIR/report is its report, for 'hopcast compare' and 'hopcast rerun'; DIR/request.json runs it here.
    """
    from hopcast.errors import InputError
    from hopcast.service.client import Client, run_of, unpack

    server, run = run_of(address)
    if out.exists():
        raise InputError(f"--out {out}: exists; name a directory that does not exist yet")
    client = Client(server, token or local_token(server))
    state = client.wait(run)
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
