"""Options that several subcommands of `hopcast calibrate` have."""

from __future__ import annotations

import click

FLOP_RATE = click.option(
    "--flop-rate", required=True, metavar="RATE", help='Of one process, such as "10 Gflop/s".'
)
HOSTS = click.option(
    "--hosts", type=click.IntRange(2), default=2, show_default=True, help="Hosts on one crossbar."
)
PROCESSES = click.option(
    "--processes", type=click.IntRange(1), default=2, show_default=True, help="Processes of a host."
)
NOISE = click.option(
    "--noise/--no-noise",
    default=False,
    show_default=True,
    help="Give the platform the modes of single calls, so that each run draws from them.",
)
BACKGROUND = click.option(
    "--background",
    type=click.Choice(["none", "kernel", "probe", "both"]),
    default="none",
    show_default=True,
    help="Load of the ranks that do not measure.",
)
BLAS = click.option(
    "--blas", metavar="FLAGS", default="-lblas", show_default=True, help="Of kernels: links a BLAS."
)
MPICC = click.option("--mpicc", metavar="COMMAND", help="MPI compiler. Default: $MPICC, or the launcher's.")
NOISES = ("auto", "none", "normal", "half-normal", "modes")
"""Noise of kernels: those of `hopcast.calibrate.kernel_entries`, which loads numpy."""
