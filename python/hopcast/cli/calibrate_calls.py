"""`hopcast calibrate calls`: calls of functions of a program on a real machine."""

from __future__ import annotations

from pathlib import Path

import click

from hopcast.errors import InputError


@click.command(
    name="calls", context_settings={"help_option_names": ["-h", "--help"], "allow_interspersed_args": False}
)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--function",
    "prototypes",
    multiple=True,
    required=True,
    metavar="PROTOTYPE",
    help='In C, such as "void relax(int n, double *grid)"; once for each function.',
)
@click.option(
    "--arguments",
    metavar="NAMES",
    default="",
    help="Those to note, separated by commas; pointers to numbers, too. Default: the numbers.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("calls"),
    show_default=True,
    metavar="DIR",
    help="Directory of the results, NAME.csv for each function.",
)
def command(program: tuple[str, ...], prototypes: tuple[str, ...], arguments: str, out: Path) -> None:
    """Run PROGRAM on this machine, and note each call of some functions: arguments, start, duration.

    hopcast calibrate calls --function "…" -- mpiexec -n 4 ./app. The functions are those that the program
    calls in shared libraries, such as a BLAS, and its own, if it is compiled with
    -fpatchable-function-entry=16. 'hopcast calibrate kernels DIR/NAME.csv' fits their time.
    """
    from hopcast.calibrate import function_calls

    names = [name.strip() for name in arguments.split(",") if name.strip()]
    functions = [function_calls.function(prototype, names) for prototype in prototypes]
    if unknown := [
        name for name in names if not any(name == one.name for of in functions for one in of.traced)
    ]:
        raise InputError(f"--arguments: no function has a parameter '{unknown[0]}'")
    traced = function_calls.trace(functions, program, out)
    for name, count in traced.counts.items():
        if count:
            click.echo(f"{name}: {count:,} calls: {out / f'{name}.csv'}")
    if traced.code:
        raise InputError(f"'{program[0]}' ended with code {traced.code}; calls up to there are kept")
    if traced.missing:
        raise InputError("; ".join(traced.missing))
