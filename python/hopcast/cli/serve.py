"""`hopcast serve`: hopcast in a browser."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

import click
from click.core import ParameterSource

from hopcast.errors import InputError

_EXAMPLES = {"config": "service.toml", "systemd": "hopcast.service", "container": "Containerfile"}

_KEYS = {
    "port": "server.listen",
    "data": "data",
    "workers": "workers",
    "on": "on",
    "keep_days": "retention.age",
    "keep_gib": "retention.size",
    "no_browser": "no browser to open",
}
"""Keys of a configuration file that stand for the options."""


def default_data() -> Path:
    """Folder of the data of a service, unless another one is named."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "hopcast"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Serve a group, as this file says; all other options stand in it, too.",
)
@click.option(
    "--example",
    type=click.Choice(list(_EXAMPLES)),
    help="Print a file to begin with: a configuration, a unit of systemd, a container file.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8421, show_default=True, help="Port; 0 for any free one."
)
@click.option("--no-browser", is_flag=True, help="Open no browser.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for runs and their reports. [default: hopcast in the user's data folder]",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=2,
    show_default=True,
    help="Runs that go on at the same time.",
)
@click.option(
    "--on",
    default="local",
    show_default=True,
    metavar="PLACE",
    help="Place where runs go on: local, or dask:ADDRESS for the workers of a scheduler of Dask.",
)
@click.option(
    "--keep-days", type=click.FloatRange(min=0), metavar="N", help="Delete runs N days after they end."
)
@click.option(
    "--keep-gib",
    type=click.FloatRange(min=0),
    metavar="N",
    help="Delete the oldest runs above N GiB in all.",
)
@click.pass_context
def command(
    context: click.Context,
    config: Path | None,
    example: str | None,
    port: int,
    no_browser: bool,
    data: Path | None,
    workers: int,
    on: str,
    keep_days: float | None,
    keep_gib: float | None,
) -> None:
    """Submit, watch, read, compare and share runs in a browser.

    Listens on this machine alone. Prints an address with a token that counts once, and opens it. With
    --config it serves a group: users with accounts, behind a proxy, with their runs in PostgreSQL.
    """
    if example is not None:
        click.echo((files("hopcast.service") / "deploy" / _EXAMPLES[example]).read_text("utf-8"), nl=False)
        return
    from hopcast import service

    service.check_installed()
    from hopcast.service.places import scheduler_of

    scheduler = scheduler_of(on)  # what is wrong with it is said at once
    from hopcast.service.server import serve, serve_configured
    from hopcast.service.settings import Settings

    if config is not None:
        from hopcast.service.config import read

        _refuse_others(context)
        serve_configured(read(config), config)
        return
    settings = Settings(
        (data or default_data()).absolute(),
        workers,
        keep_s=None if keep_days is None else keep_days * 24 * 3600,
        keep_B=None if keep_gib is None else int(keep_gib * 2**30),
        scheduler=scheduler,
    )
    serve(settings, port, browser=not no_browser)


def _refuse_others(context: click.Context) -> None:
    """Raises `InputError` if another option was given beside a configuration file, which says it all."""
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name != "config" and source is ParameterSource.COMMANDLINE:
            key = _KEYS.get(option.name or "", "its value")
            raise InputError(
                f"{option.opts[0]} and --config are both given; leave one out: the file has {key}"
            )
