"""`hopcast watch`: follow a run that goes on, by the rows that it writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopcast.cli import exits

if TYPE_CHECKING:
    import pyarrow

    from hopcast.live_tables import Standing


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("directory", type=click.Path(path_type=Path))
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the run may take to begin.",
)
def command(directory: Path, wait_s: float) -> int:
    """Follow a run that goes on and writes its report into DIRECTORY.

    Prints a line whenever there are new rows of the tables that --messages or --matrix-periods keeps,
    until the run ends. The exit code is 2 if the run was killed: its rows until then stay in DIRECTORY/live.
    """
    from hopcast.live_tables import follow

    for standing in follow(directory, wait_s=wait_s):
        click.echo(_line(standing))
        if standing.ended == "killed":
            click.echo(f"The run has ended without a report; its rows are in {directory / 'live'}", err=True)
            return exits.BAD_INPUT
    return exits.DONE


def _line(standing: Standing) -> str:
    from hopcast.report import units

    texts = [units.seconds(standing.simulated_s), f"{standing.events:,} events"]
    messages, matrix = standing.table("messages"), standing.table("matrix_periods")
    if messages is not None:
        texts.append(_latency(messages) if messages.num_rows else "no message in the sample")
    if matrix is not None and matrix.num_rows:
        texts.append(_busiest(matrix))
    if standing.ended:
        texts.append(standing.ended)
    return "  ".join(texts)


def _latency(messages: pyarrow.Table) -> str:
    """Messages so far, and how long they take."""
    from pyarrow import compute

    from hopcast.report import units

    share = messages["share"][0].as_py()
    of = "" if share == 1 else f" (1 in {round(1 / share):,})"
    late = compute.quantile(messages["latency_s"], q=[0.5, 0.99]).to_pylist()
    median, slow = (units.seconds(value, 3) for value in late)
    return f"{units.things(messages.num_rows, 'message')}{of}, latency {median}, 99 % {slow}"


def _busiest(matrix: pyarrow.Table) -> str:
    """Ranks between which the most bytes went in the latest period."""
    from pyarrow import compute

    from hopcast.report import units

    latest = matrix.filter(compute.equal(matrix["end_s"], compute.max(matrix["end_s"])))
    pairs = latest.group_by(["source", "destination"]).aggregate([("bytes", "sum")])
    most = pairs.sort_by([("bytes_sum", "descending")]).slice(0, 1).to_pylist()[0]
    rate = sum(pairs["bytes_sum"].to_pylist()) / (latest["end_s"][0].as_py() - latest["begin_s"][0].as_py())
    each = latest["ranks_per_bin"][0].as_py()
    source, destination = (_ranks(most[key], each) for key in ("source", "destination"))
    return f"lately {units.rate(rate, 'B/s')}, most from {source} to {destination}"


def _ranks(first: int, count: int) -> str:
    """Ranks of a bin."""
    return f"rank {first}" if count == 1 else f"ranks {first} to {first + count - 1}"
