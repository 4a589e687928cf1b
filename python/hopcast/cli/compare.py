"""`hopcast compare`: two reports side by side."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the comparison as an HTML page, too.",
)
def command(a: Path, b: Path, out: Path | None) -> None:
    """Set report B beside report A; each is a directory of --out, or a report.json.

    Differences are B less A, ratios B to A.
    """
    from hopcast.report import read
    from hopcast.report.compare import compare, write_page
    from hopcast.report.screen import show_comparison

    comparison = compare(read(a), read(b), (str(a), str(b)))
    show_comparison(comparison)
    if out is not None:
        click.echo(f"Page  {write_page(comparison, out)}")
