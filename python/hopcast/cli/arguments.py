"""The border between the flags of `hopcast run` and the workload's own arguments.

`hopcast run PLATFORM [flags] WORKLOAD [args…]`: what follows a program belongs to it, whatever it
looks like. What follows a pattern or a trace is read by hopcast alone, so flags of `run` are
welcome there too.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import click

from hopcast import workloads
from hopcast.cli import options
from hopcast.errors import InputError


class RunCommand(click.Command):
    """Puts a `--` before the workload, once the flags that stand behind a pattern are before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:  # a line that a shell asks to complete
            return super().parse_args(ctx, args)
        flags, words = split(args, self.params)
        if behind := flags_of_the_program(words, self.params):
            click.echo(
                f"note: {', '.join(behind)} behind the program is the program's own; "
                "flags of hopcast stand before it",
                err=True,
            )
        return super().parse_args(ctx, [*flags, "--", *words])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options.write_help(self, ctx, formatter)


def split(args: Sequence[str], params: Sequence[click.Parameter]) -> tuple[list[str], list[str]]:
    """The flags of `run` with their values, and the words: platform, workload and its arguments."""
    values = {
        name: not option.is_flag
        for option in params
        if isinstance(option, click.Option)
        for name in (*option.opts, *option.secondary_opts)
    }
    values |= {"-h": False, "--help": False}
    flags: list[str] = []
    words: list[str] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if len(words) >= 2 and is_program(words[1]):
            words += [word, *rest]
            break
        name = _flag(word, values)
        if name is None:
            if word.startswith("-") and len(words) < 2 and word != "-":
                raise InputError(_unknown(word, values))
            words.append(word)
            continue
        flags.append(word)
        if values[name] and word == name and rest:
            flags.append(rest.pop(0))
    return flags, words


def flags_of_the_program(words: Sequence[str], params: Sequence[click.Parameter]) -> list[str]:
    """The words behind a program that are flags of `run`, too: who writes them there may mean those."""
    own = {name for param in params for name in param.opts if name.startswith("--")}
    given = words[2:] if len(words) > 2 and is_program(words[1]) else []
    return [word for word in given if word.partition("=")[0] in own]


def _flag(word: str, values: dict[str, bool]) -> str | None:
    """The flag of `run` that `word` is, with or without its value attached."""
    if word in values:
        return word
    if word.startswith("--"):
        name = word.split("=", 1)[0]
        return name if "=" in word and values.get(name) else None
    return word[:2] if word.startswith("-") and values.get(word[:2]) else None


def _unknown(word: str, values: dict[str, bool]) -> str:
    """The message about a flag that `run` does not have."""
    known = sorted(name for name in values if name.startswith("--"))
    near = difflib.get_close_matches(word.partition("=")[0], known, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown flag '{word}' before the workload; known: {', '.join(known)}{hint}"


def is_program(workload: str) -> bool:
    """True if the workload is a program, in Python or compiled."""
    return workloads.recognised(workload).KIND in ("function", "mpi4py", "compiled")


def is_pattern(workload: str) -> bool:
    """True if the workload can only be a pattern's name."""
    return workloads.recognised(workload).KIND == "pattern"
