"""Limits of detached sends, from campaigns whose senders are known to wait or not to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import made_up_campaign as machine
import numpy as np
import pytest
from click.testing import CliRunner

from hopcast.calibrate import campaigns
from hopcast.calibrate.network_fit import fit_campaign
from hopcast.cli.calibrate import command
from hopcast.toml import tomllib

ABOVE = machine.sizes()[machine.sizes() > machine.LIMIT]


def up_to(limit: float) -> float:
    """Longest measured size above the eager limit that is not above `limit`."""
    return max(size for size in ABOVE if size <= limit)


def beyond(limit: float) -> float:
    """Shortest measured size above it."""
    return min(size for size in ABOVE if size > limit)


def found(folder: Path, waits, configured: float | None = None, **options):
    """Limit of detached sends by the times of a campaign."""
    (campaign,) = campaigns.read(machine.write(folder, waits=waits))
    if configured is not None:
        campaign = replace(campaign, settings={**campaign.settings, "detached_limit": configured})
    return fit_campaign(campaign, **options)


@pytest.mark.parametrize("limit", [20_000.0, 65_536.0, 400_000.0])
def test_the_last_size_that_does_not_wait_is_the_limit(limit: float, tmp_path: Path) -> None:
    fit = found(tmp_path, lambda lengths: lengths > limit)
    assert fit.detached.limit == up_to(limit)
    assert f"from {beyond(limit):.0f} B on they take the" in fit.detached.basis
    assert fit.findings == ()


def test_senders_that_wait_from_the_eager_limit_on_are_not_detached(tmp_path: Path) -> None:
    fit = found(tmp_path, lambda lengths: lengths > machine.LIMIT)
    assert fit.detached.limit is None and fit.detached.basis.startswith("none: sends above the eager limit")


def test_senders_that_never_wait_have_a_limit_beyond_what_was_measured(tmp_path: Path) -> None:
    fit = found(tmp_path, lambda lengths: lengths > 1e9)
    assert fit.detached.limit == machine.sizes()[-1] and "at least the longest" in fit.detached.basis


def test_times_in_no_order_identify_nothing(tmp_path: Path) -> None:
    """Every other size waits."""
    mixed = set(ABOVE[::2])
    fit = found(tmp_path, lambda lengths: np.isin(lengths, list(mixed)))
    assert fit.detached.limit is None and "not identified" in fit.detached.basis


def test_a_configured_limit_is_believed_unless_the_times_contradict_it(tmp_path: Path) -> None:
    fit = found(tmp_path / "right", lambda lengths: lengths > 65_536, configured=70_000)
    assert (fit.detached.limit, fit.detached.basis) == (
        70_000,
        "of the campaign's configuration: no standard error",
    )
    fit = found(tmp_path / "wrong", lambda lengths: lengths > machine.LIMIT, configured=320_000)
    assert fit.detached.limit is None
    [finding] = fit.findings
    assert "the limit of detached sends of 320000 B is not in the times" in finding
    assert finding.endswith("the fit takes none")


def test_a_given_limit_is_taken_as_it_is(tmp_path: Path) -> None:
    fit = found(tmp_path, lambda lengths: lengths > 65_536, detached_limit=30_000)
    assert fit.detached.limit == 30_000
    fit = found(tmp_path / "eager", lambda lengths: lengths > 65_536, detached_limit=100)
    assert fit.detached.limit is None and "longer sends than eager ones wait" in fit.detached.basis


def test_without_sends_nothing_is_said_of_them(tmp_path: Path) -> None:
    (campaign,) = campaigns.read(machine.write(tmp_path))
    calls = {kind: part for kind, part in campaign.calls.items() if kind != "send"}
    fit = fit_campaign(replace(campaign, calls=calls))
    assert (fit.detached.limit, fit.detached.basis) == (None, "not identified: MPI_Send was not measured")


@pytest.mark.parametrize(("limit", "key"), [(machine.LIMIT, None), (65_536, f"{up_to(65_536):.0f} B")])
def test_the_platform_file_has_the_limit_or_says_why_not(limit: int, key: str | None, tmp_path: Path) -> None:
    data, place = machine.write(tmp_path / "raw", waits=lambda lengths: lengths > limit), tmp_path / "m.toml"
    words = ["fit", str(data), "-o", str(place), "--flop-rate", "1 Gflop/s"]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert tomllib.loads(place.read_text())["mpi"].get("detached_limit") == key
    assert ("# detached_limit: none: sends above" in place.read_text()) == (key is None)
