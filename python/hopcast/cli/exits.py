"""Exit codes, and what stands on standard error for each.

0: done. 2: bad input. 3: the simulated program failed. 4: a run that was made again has another outcome.
5: something that is watched has changed. 70: a bug of ours. 130: interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import click

from hopcast.errors import InputError, ProgramFailure, StoppedEarly

DONE = 0
BAD_INPUT = 2
PROGRAM_FAILED = 3
OTHER_OUTCOME = 4
CHANGED = 5
OUR_BUG = 70
INTERRUPTED = 130


class ReaderGone(Exception):
    """The reader of our output has gone (`hopcast … | head`). No OSError, of which click makes an exit."""


def guarded(work: Callable[[], object]) -> int:
    """Does `work` and gives the exit code: its own whole number, or what its exception means."""
    try:
        code = work()
        sys.stdout.flush()
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return BAD_INPUT
    except click.ClickException as error:
        return _bad_input(_with_place(error))
    except InputError as error:
        return _bad_input(str(error))
    except ProgramFailure as error:
        click.echo(f"error: {error}", err=True)
        return PROGRAM_FAILED
    except (click.Abort, KeyboardInterrupt) as error:
        # An Abort is what click makes of a KeyboardInterrupt.
        cause = error.__cause__ if isinstance(error, click.Abort) else error
        click.echo(str(cause) if isinstance(cause, StoppedEarly) else "interrupted", err=True)
        return INTERRUPTED
    except (BrokenPipeError, ReaderGone):
        _drop_output()
        return DONE
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else DONE
    except OSError as error:
        return _refused(error)
    except MemoryError:
        return _bad_input("this run needs more memory than there is; try fewer ranks or a simpler model")
    except BaseException:
        # BaseException, because a failed assertion of the Rust core arrives as a PanicException.
        return _our_bug()
    return code if isinstance(code, int) else DONE


def _with_place(error: click.ClickException) -> str:
    """The message, and which command's help would explain it."""
    context = getattr(error, "ctx", None)
    hint = f"\nTry '{context.command_path} --help'." if context is not None else ""
    return error.format_message() + hint


def _bad_input(text: str) -> int:
    click.echo(f"error: {text}", err=True)
    return BAD_INPUT


def _drop_output() -> None:
    """Discards unflushed output, which would be refused once more when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refused(error: OSError) -> int:
    """The system refused a file, or to take our output, such as on a full disk."""
    from hopcast.report.store import reason

    _drop_output()
    return _bad_input(f"{error.filename or 'output'}: {reason(error)}")


def _our_bug() -> int:
    import traceback

    traceback.print_exc()
    click.echo(
        "\nThis is a bug of hopcast, not of your input: its own check failed. Please report it, with this "
        f"command line and the text above:\n  {' '.join(sys.argv)}",
        err=True,
    )
    return OUR_BUG
