"""`hopcast rerun`: the run of a report once more, which gives the same outcome, or says what has changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hopcast import __version__
from hopcast.cli import exits, outputs
from hopcast.errors import InputError

if TYPE_CHECKING:
    from hopcast.request import RunRequest


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("report", type=click.Path(path_type=Path))
@click.option(
    "--changed",
    is_flag=True,
    help="Run although inputs have changed, or are not there to be compared, since.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the new report here.")
@outputs.flags
def command(report: Path, changed: bool, out: Path | None, as_json: bool, quiet: bool) -> int:
    """Run what made REPORT (its directory) again, and compare the outcomes.

    Inputs that have changed since are named, and nothing is run. The exit code is 4 if the outcome is another
    one though no input has changed.
    """
    from hopcast.request import RunRequest

    request = RunRequest.load(report)
    made_by = request.made_by
    if made_by is None:
        raise InputError(f"{report}: a request without a record of its run; 'hopcast run --request' runs it")
    given = {name: value for name, value in request.options.items() if name != "out"}
    request = replace(request, options=given, command=("hopcast", "rerun", str(report)))
    out = out and out.absolute()
    with request.inside():
        differences = _changed_inputs(request, made_by)
        for line in differences:
            click.echo(line, err=True)
        if differences and not changed:
            raise InputError(
                f"{report}: inputs of this run have changed; --changed runs it with what there is now"
            )
        again = outputs.simulate(request, None, out, as_json, quiet)
        assert again is not None, "the only process of a run has its report"
        code = outputs.finish(again, out, as_json, quiet)
    if code == exits.INTERRUPTED:
        return code
    return _compared(made_by, again.summary, differences) or code


def _changed_inputs(request: RunRequest, made_by: dict[str, Any]) -> list[str]:
    """A line for each input that is not what it was."""
    from hopcast.provenance import described
    from hopcast.report.settings import short_hash

    lines = []
    for then in made_by.get("inputs", []):
        if then["sha256"] is None:
            continue
        now = described(then["role"], then["name"], _files(request, then), None)
        if now["sha256"] == then["sha256"]:
            continue
        what = "is gone" if now["sha256"] is None else f"is {short_hash(now)} now"
        lines.append(f"{then['role']} {then['path']}: was {short_hash(then)}, {what}")
    return lines


def _files(request: RunRequest, entry: dict[str, Any]) -> list[Path]:
    from hopcast.workloads import trace

    path = Path(entry["path"])
    return trace.files(path) if entry["role"].startswith("trace") else [path]


def _compared(made_by: dict[str, Any], summary: dict, differences: list[str]) -> int | None:
    """Says whether the outcome is the recorded one; gives the exit code if it is not."""
    before, now = made_by.get("outcome_hash"), summary["outcome_hash"]
    if now == before:
        click.echo(f"The same outcome as before: {now}", err=True)
        return None
    reasons = []
    if differences:
        reasons.append("inputs have changed")
    if made_by.get("hopcast_version") != __version__:
        reasons.append(f"hopcast was {made_by.get('hopcast_version')} and is {__version__}")
    if summary.get("computing", {}).get("how") == "measured":
        reasons.append("computing was measured, which no two runs do alike (--compute profile=FILE)")
    if summary["partial"] or made_by.get("stopped") == "interrupt":
        reasons.append("one of both runs was interrupted")
    why = "; ".join(reasons) or "nothing that is known of has changed: is the workload the same for each run?"
    click.echo(f"Another outcome than before, {now} instead of {before}: {why}", err=True)
    return exits.OTHER_OUTCOME
