"""`hopcast serve`: hopcast in a browser."""

from __future__ import annotations

import os
from pathlib import Path

import click


def default_data() -> Path:
    """Folder of the data of a service, unless another one is named."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "hopcast"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
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
    "--keep-days", type=click.FloatRange(min=0), metavar="N", help="Delete runs N days after they end."
)
@click.option(
    "--keep-gib",
    type=click.FloatRange(min=0),
    metavar="N",
    help="Delete the oldest runs above N GiB in all.",
)
def command(
    port: int,
    no_browser: bool,
    data: Path | None,
    workers: int,
    keep_days: float | None,
    keep_gib: float | None,
) -> None:
    """Submit, watch, read, compare and share runs in a browser.

    Listens on this machine alone. Prints an address with a token that counts once, and opens it.
    """
    from hopcast import service

    service.check_installed()
    from hopcast.service.server import serve
    from hopcast.service.settings import Settings

    settings = Settings(
        (data or default_data()).absolute(),
        workers,
        keep_s=None if keep_days is None else keep_days * 24 * 3600,
        keep_B=None if keep_gib is None else int(keep_gib * 2**30),
    )
    serve(settings, port, browser=not no_browser)
