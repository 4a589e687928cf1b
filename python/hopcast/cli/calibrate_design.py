"""`hopcast calibrate design`: lists of measurements in random order."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast.calibrate import design, quantities
from hopcast.errors import InputError

_KINDS = ",".join(design.NETWORK_KINDS)


@click.command(name="design", context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("design.csv"),
    show_default=True,
)
@click.option("--sizes", default=1000, show_default=True, help="Sizes of messages: 10^U(a, b), rounded down.")
@click.option("--from", "shortest", default="1B", show_default=True, help="Shortest message.")
@click.option(
    "--to",
    "longest",
    default="1MB",
    show_default=True,
    help="Longest message: as long as the applications send.",
)
@click.option("--repetitions", default=50, show_default=True, help="Measurements of each size and kind.")
@click.option("--kinds", default=_KINDS, show_default=True, help="Kinds of measurement, with commas.")
@click.option("--polls", default=100, show_default=True, help="Measurements of Iprobe and of Test.")
@click.option(
    "--strata",
    default=10,
    show_default=True,
    help="Equal parts of a to b that the sizes are drawn from in turns.",
)
@click.option("--seed", default=1, show_default=True, help="Of the random numbers.")
@click.option("--kernels", metavar="NAMES", help="A design of kernels instead: dgemm,daxpy,… with matrices.")
@click.option("--product", default=1e10, show_default=True, help="Of kernels: largest M N K.")
@click.option("--side", default=15500, show_default=True, help="Of kernels: largest of M, N and K.")
@click.option(
    "--batches", default=3, show_default=True, help="Of kernels: products drawn from each stratum, of 30."
)
@click.option(
    "--third", metavar="K,…", default="", help="Of kernels: values of K; without, K is drawn as M and N are."
)
@click.option(
    "--method",
    type=click.Choice(["uniform-product", "independent"]),
    default="uniform-product",
    show_default=True,
    help="Of kernels: how dimensions are drawn.",
)
def command(out: Path, **options) -> None:
    """Write the list of measurements that `calibrate measure` takes, in random order.

    Sizes, repetitions and kinds are shuffled together. The same seed gives the same list.
    """
    rows, said = (_kernels if options["kernels"] else _network)(options)
    design.write(rows, out)
    click.echo(f"{out}: {said}")


def _network(options: dict) -> tuple[list, str]:
    sizes = design.Sizes(
        _bytes(options["shortest"], "--from"),
        _bytes(options["longest"], "--to"),
        options["sizes"],
        min(options["strata"], options["sizes"]),
    )
    kinds = [kind.strip() for kind in options["kinds"].split(",") if kind.strip()]
    rows = design.network(sizes, options["repetitions"], kinds, options["polls"], options["seed"])
    if sizes.gap > 1.25:
        click.echo(
            f"warning: {sizes.count} sizes from {sizes.shortest} B to {sizes.longest} B lie a factor of "
            f"{sizes.gap:.2f} apart: breakpoints will be known no better; take more sizes",
            err=True,
        )
    if options["repetitions"] == 1:
        click.echo("warning: 1 repetition: how much a size's time varies will not be known", err=True)
    moved = sum(
        nbytes * (2 if kind in ("PingPong",) else 3 if kind == "Recv" else 1)
        for kind, nbytes in rows
        if kind != "Memory"
    )
    return rows, f"{len(rows):,} measurements of {', '.join(kinds)}; {moved / 1e9:.3g} GB to move"


def _kernels(options: dict) -> tuple[list, str]:
    words = [word.strip() for word in options["third"].split(",") if word.strip()]
    for word in words:
        if not word.isdecimal():
            raise InputError(f"--third: '{word}' is no whole number")
    third = [int(word) for word in words]
    matrices = design.Matrices(
        options["product"], options["side"], 30, options["batches"], third, options["method"]
    )
    names = [name.strip() for name in options["kernels"].split(",")]
    rows = design.kernels(matrices, names, options["repetitions"], options["seed"])
    flop = sum(2.0 * m * n * k for name, m, n, k in rows if name == "dgemm")
    return rows, f"{len(rows):,} calls of {', '.join(names)}; {flop / 1e9:.3g} Gflop of dgemm for each core"


def _bytes(text: str, option: str) -> int:
    return round(quantities.size(text, option))
