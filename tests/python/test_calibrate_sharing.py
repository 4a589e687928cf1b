"""Bandwidth that all pairs of a group have together; and the pairs that measure the parts of a host."""

from __future__ import annotations

from pathlib import Path

import made_up_campaign
import numpy as np
import pytest
from click.testing import CliRunner

from hopcast.calibrate import host_parts, sharing
from hopcast.calibrate.pair_times import PairTimes
from hopcast.cli.calibrate import command
from hopcast.errors import InputError
from hopcast.toml import tomllib

START_S = 2e-6
ALONE_BPS = 10e9
SIZES = (65_536, 262_144, 1_048_576)


def times(total_Bps: float, most: int, noise: float = 0.0, sizes=SIZES) -> PairTimes:
    """Times by the law: start-up, and bytes at the pair's bandwidth or at its share of the group's."""
    pairs, lengths = (
        part.ravel().astype(float) for part in np.meshgrid(np.arange(1, most + 1), sizes, indexing="ij")
    )
    seconds = START_S + lengths * np.maximum(1 / ALONE_BPS, pairs / total_Bps)
    spread = np.random.default_rng(3).standard_normal(len(seconds))
    return PairTimes("made up", pairs, lengths, seconds * np.exp(noise * spread), "as they are")


def fitted(data: PairTimes) -> sharing.Sharing:
    return sharing.fit(data, lambda size: ALONE_BPS)


@pytest.mark.parametrize("total_Bps", [10e9, 15e9, 24e9, 39e9])
def test_a_law_without_noise_comes_back(total_Bps: float) -> None:
    found = fitted(times(total_Bps, 4))
    assert found.total_Bps == pytest.approx(total_Bps, rel=1e-9)
    assert found.accuracy.worst < 1e-9


def test_noise_shows_in_the_standard_error() -> None:
    """One measurement in twenty lies beyond two of them; here the error is that of 5 % noise of rows."""
    found = fitted(times(24e9, 8, noise=0.05))
    assert found.total_Bps is not None
    assert 0.003 < found.error < 0.05
    assert abs(found.total_Bps / 24e9 - 1) < 3 * found.error


@pytest.mark.parametrize(("total_Bps", "noise"), [(1e12, 0.0), (1e12, 0.03), (40e9, 0.0)])
def test_pairs_that_do_not_slow_each_other_tell_nothing(total_Bps: float, noise: float) -> None:
    found = fitted(times(total_Bps, 4, noise))
    assert found.total_Bps is None
    assert "not identified: up to 4 pairs" in str(found)


def test_short_messages_are_left_out_where_there_are_longer_ones() -> None:
    """Times of eager messages, which processes copy: here, of another bandwidth."""
    both = [times(12e9, 4, sizes=(1024,)), times(24e9, 4)]
    data = PairTimes(
        "both",
        *(np.concatenate([getattr(one, name) for one in both]) for name in ("pairs", "sizes", "seconds")),
        "as they are",
    )
    assert sharing.fit(data, lambda size: ALONE_BPS, above=8192).total_Bps == pytest.approx(24e9, rel=1e-9)
    assert fitted(data).accuracy.worst > 0.01


def test_one_pair_has_nothing_to_share() -> None:
    with pytest.raises(InputError, match="what pairs have together is not in it"):
        fitted(times(24e9, 1))


def text_of(data: PairTimes) -> str:
    """As nodecomm prints it: C ints and round trips."""
    lines = ["Pingpong for", "master:  0, 1", "partner: 2, 3"]
    for size in np.unique(data.sizes):
        round_trips = 2 * data.seconds[data.sizes == size]
        lines.append(f"{size / 4:.0f}\t" + "".join(f"{seconds:.2e}\t" for seconds in round_trips))
    return "\n".join(lines) + "\n"


def fit(folder: Path, name: str, data: PairTimes):
    for place in ("network", "loopback"):
        made_up_campaign.write(
            folder / place,
            name=place,
            one_way=lambda n: np.asarray(n, float) / ALONE_BPS + 1e-6,
            configuration=False,
        )
    (folder / "pairs.txt").write_text(text_of(data))
    words = ["fit", str(folder / "network"), str(folder / "loopback"), "-o", str(folder / "x.toml")]
    words += ["--flop-rate", "1 Gflop/s", "--sharing", name, str(folder / "pairs.txt")]
    return CliRunner().invoke(command, words)


def test_the_platform_has_the_bandwidth_of_the_host(tmp_path: Path) -> None:
    """To the three digits that nodecomm prints."""
    done = fit(tmp_path, "host", times(15e9, 2))
    assert done.exit_code == 0, done.output
    memory = tomllib.loads((tmp_path / "x.toml").read_text())["host"]["memory"]
    assert float(memory["total_bandwidth"].split()[0]) == pytest.approx(15, rel=0.01)
    assert "All pairs of one host together: 1" in done.output


def test_a_bandwidth_that_is_not_identified_is_no_key(tmp_path: Path) -> None:
    done = fit(tmp_path, "host", times(1e12, 2))
    assert done.exit_code == 0, done.output
    text = (tmp_path / "x.toml").read_text()
    assert "# total_bandwidth not identified: up to 2 pairs do not show it" in text
    assert "total_bandwidth" not in tomllib.loads(text)["host"]["memory"]


def test_an_unknown_level_is_named(tmp_path: Path) -> None:
    done = fit(tmp_path, "socket", times(15e9, 2))
    assert isinstance(done.exception, InputError)
    assert "--sharing: unknown level 'socket'; known: nic, host" in str(done.exception)


@pytest.mark.parametrize(
    ("total_Bps", "bandwidth", "said"),
    [(15e9, 15, "of 1 to 2 pairs"), (1e12, 20, "not identified: at least that, since 2 pairs do not slow")],
)
def test_the_nic_carries_what_pairs_between_hosts_have(
    total_Bps: float, bandwidth: float, said: str, tmp_path: Path
) -> None:
    """Two pairs of 10 GB/s that do not slow each other need 20."""
    done = fit(tmp_path, "nic", times(total_Bps, 2))
    assert done.exit_code == 0, done.output
    (line,) = [
        line
        for line in (tmp_path / "x.toml").read_text().partition("[nic]")[2].splitlines()
        if line.startswith("bandwidth")
    ][:1]
    assert said in line
    assert float(line.split('"')[1].split()[0]) == pytest.approx(bandwidth, rel=0.01)


def ranks(*parts: dict[str, int], hosts: int = 1) -> list[dict]:
    """Facts of ranks of one host after the other."""
    each = len(parts) // hosts
    return [
        {"host": f"h{place // each}", "host_number": place // each, "parts": part}
        for place, part in enumerate(parts)
    ]


def test_levels_of_a_host_with_their_pairs() -> None:
    """Eight ranks, dealt to two sockets in turns, two to a cache: pairs cross the smaller part."""
    facts = ranks(*({"L3": place % 4, "socket": place % 2, "numa": place % 2} for place in range(8)))
    parts, findings = host_parts.find(facts)
    assert findings == []
    assert parts == [
        host_parts.Part("L3", 2, 4, ((0, 4),)),
        host_parts.Part("socket", 4, 2, ((0, 2), (4, 6))),
        host_parts.Part("host", 8, 1, ((0, 1), (2, 3), (4, 5), (6, 7))),
    ]


def test_parts_of_one_rank_or_of_all_are_no_levels() -> None:
    parts, findings = host_parts.find(ranks(*({"L2": place, "socket": 0} for place in range(4))))
    assert findings == []
    assert parts == [host_parts.Part("host", 4, 1, ((0, 2), (1, 3)))]
    assert host_parts.find(ranks({}, {}, hosts=2)) == ([], [])


def test_pairs_between_hosts_are_of_the_first_two() -> None:
    facts = ranks(*[{}] * 6, hosts=3)
    assert host_parts.between(facts) == host_parts.Part("nic", 2, 2, ((0, 2), (1, 3)))
    assert host_parts.between(facts[:2]) is None


def test_the_odd_group_measures_nothing() -> None:
    parts, _ = host_parts.find(ranks(*({"socket": place // 2} for place in range(6))))
    assert parts[-1].pairs == ((0, 2), (1, 3))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([0, 0, 0, 1], "parts of kind 'socket' of h0 hold 1 to 3 of its ranks"),
        ([0, None, 1, 1], "some ranks of h0 may run in several parts of kind 'socket'"),
    ],
)
def test_parts_that_cannot_be_a_level_say_why(numbers: list[int | None], message: str) -> None:
    facts = ranks(*({} if number is None else {"socket": number} for number in numbers))
    parts, findings = host_parts.find(facts)
    assert [part.name for part in parts] == ["host"]
    assert len(findings) == 1
    assert message in findings[0]


def test_parts_that_cross_are_not_both_levels() -> None:
    facts = ranks(*({"L3": place % 4, "socket": place // 4} for place in range(8)))
    parts, findings = host_parts.find(facts)
    assert [part.name for part in parts] == ["L3", "host"]
    assert "parts of kind 'socket' cut through smaller ones" in findings[0]
