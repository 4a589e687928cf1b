"""`hopcast compare`: reports side by side."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast.errors import InputError


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("reports", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the comparison as an HTML page, too.",
)
def command(reports: tuple[Path, ...], out: Path | None) -> None:
    """Set REPORTS, two or more, side by side; each is a directory of --out, or a report.json.

    First what differs in values of the platform and in options, then the results: differences and ratios
    are to the first report, A.
    """
    from hopcast.report import read
    from hopcast.report.compare import compare, write_page
    from hopcast.report.screen import show_comparison

    if len(reports) < 2:
        raise InputError(f"compare: name two reports or more, not {len(reports)}")
    comparison = compare([read(report) for report in reports], [str(report) for report in reports])
    show_comparison(comparison)
    if out is not None:
        click.echo(f"Page  {write_page(comparison, out)}")
