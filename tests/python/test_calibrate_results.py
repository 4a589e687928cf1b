"""Places of the results of a fit, names in them, doubts about it, and the cuts of a check."""

from __future__ import annotations

import random
import re
from pathlib import Path

import made_up_campaign as machine
import pytest
from click.testing import CliRunner, Result

from hopcast.calibrate.check import regimes_of
from hopcast.calibrate.quantities import quoted
from hopcast.cli.calibrate import command
from hopcast.toml import tomllib

RATE = ("--flop-rate", "1 Gflop/s")


def calibrate(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    machine.write(tmp_path / "raw" / "net")
    return tmp_path / "raw" / "net"


def within_a_host(campaign: Path) -> Path:
    """The campaign with the names that `calibrate measure` gives to files of one host."""
    for file in campaign.glob("machine_*"):
        file.rename(campaign / file.name.replace("machine_", "loopback_"))
    return campaign


@pytest.mark.parametrize("text", ['a"b', "a\\b", "line\nline", "tab\t", "\x7f", "µ"])
def test_any_text_is_a_name(text: str) -> None:
    assert tomllib.loads(f"name = {quoted(text)}")["name"] == text


def test_a_name_with_quotes_is_the_platforms(campaign: Path, tmp_path: Path) -> None:
    done = calibrate("fit", campaign, "-o", tmp_path / "p.toml", *RATE, "--name", 'say "x"')
    assert done.exit_code == 0, done.output
    assert tomllib.loads((tmp_path / "p.toml").read_text())["name"] == 'say "x"'


@pytest.mark.parametrize("option", ["--report", "--residuals", "--modes"])
def test_a_place_that_cannot_be_written_is_told_before_anything_is(
    option: str, campaign: Path, tmp_path: Path
) -> None:
    platform = tmp_path / "p.toml"
    done = calibrate("fit", campaign, "-o", platform, *RATE, option, tmp_path / "none" / "x")
    assert isinstance(done.exception, ValueError) and "no such directory" in str(done.exception)
    same = calibrate("fit", campaign, "-o", platform, *RATE, option, platform)
    assert "two results would be written there" in str(same.exception)
    assert not platform.exists()


def test_a_host_alone_is_said_to_stand_for_the_network(campaign: Path, tmp_path: Path) -> None:
    loop = within_a_host(campaign)
    done = calibrate("fit", loop, "-o", tmp_path / "p.toml", *RATE)
    said = "a host's memory stands for the network"
    assert said in done.output and said in (tmp_path / "p.toml").read_text()


def test_a_fit_of_noise_is_said_to_predict_little(tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = [f"{size},{1e-6 * 10 ** draw.uniform(0, 2)!r}" for size in range(1000, 60_000, 1000)]
    (tmp_path / "t.csv").write_text("\n".join(["size,duration", *rows, "1000000,0.1", ""]))
    done = calibrate("fit", tmp_path / "t.csv", "-o", tmp_path / "p.toml", *RATE)
    assert done.exit_code == 0, done.exception
    assert "off in the median, and neighbouring sizes scatter by" in done.output
    assert "it predicts little" in (tmp_path / "p.toml").read_text()


def test_a_check_is_cut_at_the_platforms_regimes(campaign: Path, tmp_path: Path) -> None:
    platform = tmp_path / "p.toml"
    assert calibrate("fit", campaign, "-o", platform, *RATE).exit_code == 0
    ends = [
        float(one["up_to"].removesuffix(" B"))
        for one in tomllib.loads(platform.read_text())["mpi"]["regimes"]
        if "up_to" in one
    ]
    assert ends and set(ends) <= set(regimes_of(str(platform), None))
    done = calibrate("check", platform, campaign)
    assert done.exit_code == 0
    for kind in ("Ping-pongs", "MPI_Send", "MPI_Isend", "MPI_Recv"):
        part = re.search(rf"^{kind}.*\n((?:  .*\n)+)", done.output, re.MULTILINE)
        assert part is not None
        assert len(part[1].splitlines()) == len(ends) + 2
        assert part[1].splitlines()[-1].startswith("  all sizes")
    whole = calibrate("check", platform, campaign, "--breakpoints", "1GB").output
    assert (
        len(re.findall("all sizes", whole)) == 7
        and "to" not in whole.partition("sizes\n")[2].split("median")[0]
    )


def test_regimes_within_a_host_have_ends_of_their_own() -> None:
    assert regimes_of("dahu", "host") == [8133, 64000]


def test_a_check_of_a_host_with_the_network_is_doubted(campaign: Path, tmp_path: Path) -> None:
    platform = tmp_path / "p.toml"
    assert calibrate("fit", campaign, "-o", platform, *RATE).exit_code == 0
    loop = within_a_host(campaign)
    said = "was measured within a host, and is compared with messages between hosts"
    assert said in calibrate("check", platform, loop).output
    assert said not in calibrate("check", platform, loop, "--within-a-host").output


def test_calls_of_a_kernel_are_pointed_to_their_command(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text("n,duration\n1,1e-6\n")
    done = calibrate("fit", tmp_path / "calls.csv", "-o", tmp_path / "p.toml", *RATE)
    assert "'hopcast calibrate kernels'" in str(done.exception)
