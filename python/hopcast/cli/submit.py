"""`hopcast submit`: a run for a server."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import click

from hopcast.cli import arguments, exits, options
from hopcast.cli.request_of import request_of
from hopcast.cli.serve import default_data
from hopcast.errors import InputError


@click.command(cls=arguments.RunCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("platform", required=False, shell_complete=options.complete_platform)
@click.argument("workload", required=False, shell_complete=options.complete_workload)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@options.add_all
@click.option("--to", "server", metavar="URL", required=True, help="Server, such as http://localhost:8421.")
@click.option("--token", metavar="TOKEN", help="Token of the server's page /tokens. [default: HOPCAST_TOKEN]")
@click.option("--name", default="", help="Name of the run.")
@click.option("--wait", is_flag=True, help="Wait until the run is over.")
@click.option("--request", "request_file", metavar="FILE", help="Submit what a request in this file says.")
def command(
    platform: str | None,
    workload: str | None,
    args: tuple[str, ...],
    server: str,
    token: str | None,
    name: str,
    wait: bool,
    request_file: str | None,
    **flags,
) -> int:
    """Submit a run of WORKLOAD on PLATFORM to a server ('hopcast serve'), and print its address.

    Takes what 'hopcast run' takes, but patterns and traces only: a server executes nothing that it is
    sent. Platform files, traces and placement files are uploaded.
    """
    from hopcast.service.client import Client, portable

    if flags.get("out"):
        raise InputError("--out: the server keeps the report, and 'hopcast fetch' brings it")
    request, files = portable(request_of(platform, workload, args, flags, request_file))
    client = Client(server, token or local_token(server))
    run = client.submit(request, files, name)
    click.echo(client.page(run["id"]))
    if not wait:
        return exits.DONE
    run = client.wait(run["id"])
    if run["error"]:
        click.echo(f"{run['state']}: {run['error']}", err=True)
    failed = run["state"] == "failed" or (run["outcome"] or {}).get("failure")
    return exits.PROGRAM_FAILED if failed else exits.DONE


def local_token(server: str) -> str | None:
    """The token that a server of this user on this machine has left for scripts."""
    file: Path = default_data() / "token"
    if urlsplit(server).hostname not in ("localhost", "127.0.0.1", "::1") or not file.is_file():
        return None
    return file.read_text(encoding="utf-8").strip()
