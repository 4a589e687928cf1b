"""Laws of processes that share a NIC: data made by a law give its parameters back; readers of two formats."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import hopcast
from hopcast.calibrate import pair_times, rate_regimes, rate_report, rates
from hopcast.calibrate.pair_times import PairTimes
from hopcast.cli.calibrate import command
from hopcast.errors import InputError

S, R_C, R_N = 2e-6, 2e9, 9e9
"""Start-up [s] and rates [B/s] of a made-up NIC: it limits from the fifth process on."""
SIZES = 2.0 ** np.arange(2, 20)


def made(law, pairs: int = 12, sizes: np.ndarray = SIZES, noise: float = 0.0) -> PairTimes:
    """Times of a law T(k, n)."""
    k, n = (part.ravel() for part in np.meshgrid(np.arange(1.0, pairs + 1), sizes))
    random = np.random.default_rng(3)
    return PairTimes("made", k, n, law(k, n) * np.exp(noise * random.standard_normal(len(k))), "as made")


def max_rate(k, n):
    return S + k * n / np.minimum(R_N, k * R_C)


def extended(k, n, further=0.5e9):
    return S + k * n / np.minimum(R_N, R_C + (k - 1) * further)


def modified(k, n):
    return np.maximum(k * n / R_N, S + n / R_C)


@pytest.mark.parametrize(
    ("model", "law", "expected"),
    [
        ("postal", lambda k, n: S + n / R_C, {"s": S, "R_C": R_C}),
        ("max-rate", max_rate, {"s": S, "R_C": R_C, "R_N": R_N}),
        ("extended", lambda k, n: extended(k, n), {"s": S, "R_Cb": R_C, "R_N": None, "R_Ci": 0.5e9}),
        ("modified", modified, {"s": S, "R_C": R_C, "R_N": R_N}),
    ],
)
def test_a_law_returns_its_parameters(model, law, expected):
    """Twelve processes of the extended law reach 7.5 GB/s, below R_N, which therefore does not show."""
    fit = rates.fit(made(law), model)
    assert set(fit.values) == set(expected)
    for name, value in expected.items():
        assert fit.values[name] == (None if value is None else pytest.approx(value, rel=1e-4)), name
    assert fit.accuracy.worst < 1e-5


def test_the_fourth_parameter_with_the_nic_in_reach():
    """2 + 0.5 (k − 1) GB/s meets 9 GB/s at k = 15."""
    fit = rates.fit(made(extended, pairs=24), "extended")
    assert fit.values == pytest.approx({"s": S, "R_Cb": R_C, "R_N": R_N, "R_Ci": 0.5e9}, rel=1e-4)


def test_errors_hold_the_parameters_where_there_is_noise():
    fit = rates.fit(made(max_rate, noise=0.03), "max-rate")
    for name, value in {"s": S, "R_C": R_C, "R_N": R_N}.items():
        assert abs(fit.values[name] - value) < 4 * fit.errors[name] < 0.1 * value


def test_a_nic_that_never_limits_is_not_given_a_number():
    fit = rates.fit(made(max_rate, pairs=4), "max-rate")
    assert fit.values["R_N"] is None
    assert any("R_N is not identified: never reached with 4 processes" in note for note in fit.notes)


def test_one_time_of_the_modified_law_shows_no_nic():
    """The longest message of most pairs is slow by 1 %, as others by chance: a NIC would fit that one."""
    data = made(lambda k, n: S + n / R_C, pairs=4, sizes=SIZES[:8], noise=0.005)
    longest = (data.pairs == 4) & (data.sizes == SIZES[7])
    data.seconds[longest] = 1.01 * (S + SIZES[7] / R_C)
    assert rates.fit(data, "modified").values["R_N"] is None


def test_the_published_short_regime_slows_down_with_each_process():
    """Gropp, Olson, Samfass 2016, Cray XE6: 4 µs, 0.63 GB/s, −0.18 GB/s; with k = 4 it still has a
    meaning."""
    fit = rates.fit(made(lambda k, n: 4e-6 + k * n / (0.63e9 - 0.18e9 * (k - 1)), pairs=4), "extended")
    assert fit.values["R_Ci"] == pytest.approx(-0.18e9, rel=1e-3)
    assert fit.values["R_Cb"] == pytest.approx(0.63e9, rel=1e-3)


def test_a_law_that_would_move_nothing_is_said_to_be_at_its_bound():
    """Eight processes of the data reach 0.05 % of one: at −1 / (k − 1) they would reach nothing."""
    fit = rates.fit(made(lambda k, n: 1e-7 + k * n * 1e-9 / (1 - (k - 1) * 0.9995 / 7), pairs=8), "extended")
    assert any(
        "R_Ci is at the bound below which 8 processes would move nothing" in note for note in fit.notes
    )


def test_the_criterion_keeps_three_parameters_where_they_are_enough():
    data = made(max_rate, noise=0.03)
    laws = {name: rates.fit(data, name) for name in rates.MODELS}
    assert min(laws, key=lambda name: laws[name].criterion) == "max-rate"
    more = made(lambda k, n: extended(k, n), noise=0.03)
    laws = {name: rates.fit(more, name) for name in rates.MODELS}
    assert min(laws, key=lambda name: laws[name].criterion) == "extended"


def test_even_numbers_of_pairs_are_predicted_by_odd_ones():
    used, rest = rates.held_back(made(max_rate), "max-rate")
    assert used.count == rest.count and rest.worst < 1e-5


def test_regimes_are_learned_from_all_numbers_of_pairs():
    """The second regime differs in R_N alone, which one pair never shows."""

    def law(k, n):
        return np.where(n <= 1024, max_rate(k, n), S + k * n / np.minimum(4e9, k * R_C))

    assert rate_regimes.learn(made(law, noise=0.01)) == [1024.0]
    assert rate_regimes.learn(made(max_rate, noise=0.01)) == []


def test_three_postal_laws_come_from_one_pair_all_pairs_and_one_to_all():
    data = made(max_rate)
    laws = rate_report.postal_laws(data).values()
    one, most, every = (law.at(data.pairs, data.sizes) for law in laws)
    assert one[data.pairs == 1] == pytest.approx(data.seconds[data.pairs == 1])
    assert most[data.pairs == 12] == pytest.approx(data.seconds[data.pairs == 12])
    assert np.abs(every / data.seconds - 1).max() > 0.1


NODECOMM = (
    "Pingpong for\nmaster:  0, 1\npartner: 16, 17\n1\t4.00e-06\t4.20e-06\t\n2\t4.10e-06\t4.40e-06\t\n"
    "Pingpong for\nmaster:  0, 1\npartner: 32, 33\n1\t6.00e-06\t6.20e-06\t\n4\t6.00e-06\t\n"
)


def test_nodecomm_counts_integers_and_round_trips():
    first, second = pair_times.parse(NODECOMM, "xe6.txt")
    assert first.pairs.tolist() == [1, 2, 1, 2] and first.sizes.tolist() == [4, 4, 8, 8]
    assert first.seconds == pytest.approx([2.0e-6, 2.1e-6, 2.05e-6, 2.2e-6])
    assert (
        "C ints and became bytes" in first.conversion and "round trips and became one way" in first.conversion
    )
    assert second.sizes.tolist() == [4, 4, 16]
    assert second.findings == (
        "xe6.txt, block 2: the line of length 4 has 1 of 2 times: the run was cut; those that are there "
        "are taken",
    )


def test_max_rate_outputs_are_bytes_and_one_way():
    text = "Timing Max-Rate CPU Ping-Pongs\nSize 8\t2e-6\t3e-6\t\nTiming GPU Max-Rate\nSize 8\t4e-6\t\n"
    cpu, gpu = pair_times.parse(text, "maxrate.out")
    assert (cpu.name, gpu.name) == ("maxrate.out, CPU", "maxrate.out, GPU")
    assert cpu.sizes.tolist() == [8, 8] and cpu.seconds.tolist() == [2e-6, 3e-6]
    (split,) = pair_times.parse("Size 8\t2e-6\t3e-6\t\n", "node_pong.out")
    assert split.sizes.tolist() == [8, 4] and "share the bytes" in split.conversion


def written(tmp_path: Path, data: PairTimes) -> Path:
    """The data as a max-rate output."""
    lines = [
        f"Size {size:.0f}\t" + "\t".join(f"{t:.9e}" for t in data.seconds[data.sizes == size]) + "\t"
        for size in np.unique(data.sizes)
    ]
    file = tmp_path / "maxrate.out"
    file.write_text("Timing Max-Rate CPU Ping-Pongs\n" + "\n".join(lines) + "\n")
    return file


def test_the_command_writes_regimes_of_a_platform(tmp_path: Path):
    out = tmp_path / "regimes.toml"
    result = CliRunner().invoke(command, ["rates", str(written(tmp_path, made(max_rate))), "-o", str(out)])
    assert result.exit_code == 0 and "sizes are bytes and times one way" in result.output
    text = out.read_text()
    values = dict(re.findall(r'(\w+) = "([\d.]+) ', text))
    assert float(values["process_rate"]) == pytest.approx(2, rel=1e-3)
    assert float(values["nic_rate"]) == pytest.approx(9, rel=1e-3)
    assert float(values["latency"]) == pytest.approx(2, rel=1e-3)


def test_what_is_not_identified_is_a_comment_in_the_platform(tmp_path: Path):
    out = tmp_path / "regimes.toml"
    data = written(tmp_path, made(max_rate, pairs=4))
    result = CliRunner().invoke(command, ["rates", str(data), "--models", "max-rate", "-o", str(out)])
    assert "warning: last regime, max-rate: R_N is not identified" in result.output
    assert "# R_N is not identified: never reached with 4 processes" in out.read_text()
    assert "nic_rate =" not in out.read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing of it", "neither nodecomm's text"),
        ("Pingpong for\nmaster: 0\npartner: 1\n", "a block without any line of times: the run was cut"),
    ],
)
def test_broken_files_are_said_to_be(text: str, message: str):
    with pytest.raises(InputError, match=message):
        pair_times.parse(text, "broken.txt")


def test_too_few_times_and_unknown_names(tmp_path: Path):
    few = made(max_rate, pairs=1, sizes=SIZES[:2])
    with pytest.raises(
        InputError, match=r"2 times, and the law 'max-rate' has 3 parameters.*nothing was fitted"
    ):
        rates.fit(few, "max-rate")
    with pytest.raises(InputError, match="unknown law 'logp'; known: postal, max-rate, extended, modified"):
        rates.fit(few, "logp")
    with pytest.raises(InputError, match="one pair only"):
        rates.fit(made(max_rate, pairs=1), "extended")


@pytest.mark.parametrize(
    ("law", "model", "tolerance"),
    [
        (max_rate, "max-rate", 1e-5),
        (max_rate, "flow", 1e-5),
        (modified, "max-rate", 1e-5),
        (modified, "flow", 1e-5),
        (modified, "packet", 0.01),
    ],
)
def test_ping_pongs_on_the_platform_take_what_the_law_says(tmp_path: Path, law, model, tolerance):
    """Pairs that begin together; the platform has six digits, and packets share a NIC in turns.

    So do short messages under `flow`, which go in packets: most are there before the time of the law, none
    before that of one pair, and the last later by at most a packet of each other process.
    """
    pairs, lengths = 6, (64, 4096, 65_536, 524_288)
    rows = [
        f"{length // 4}\t" + "".join(f"{2 * law(k, length):.9e}\t" for k in range(1, pairs + 1))
        for length in lengths
    ]
    ranks = [", ".join(map(str, range(first, first + pairs))) for first in (0, pairs)]
    heads = ["Pingpong for", f"master:  {ranks[0]}", f"partner: {ranks[1]}"]
    (tmp_path / "machine.txt").write_text("\n".join([*heads, *rows]) + "\n")
    platform = tmp_path / "machine.toml"
    words = ["--model", law.__name__.replace("_", "-"), "--flop-rate", "1 Gflop/s", "-o", str(platform)]
    done = CliRunner().invoke(command, ["rates", str(tmp_path / "machine.txt"), *words])
    assert done.exit_code == 0, done.output
    assert platform.read_text().count("[[mpi.regimes]]") == 1
    assert ('overlap = "nic"' in platform.read_text()) == (law is modified)

    def program(comm, active, nbytes):
        other, start = (comm.rank + pairs) % (2 * pairs), comm.Wtime()
        if comm.rank < active:
            comm.send(nbytes=nbytes, dest=other)
            comm.recv(source=other)
        elif pairs <= comm.rank < pairs + active:
            comm.recv(source=other)
            comm.send(nbytes=nbytes, dest=other)
        return comm.Wtime() - start

    for active, nbytes in itertools.product((1, 2, 5, pairs), lengths):
        words = (active, nbytes)
        report = hopcast.run(str(platform), program, 2 * pairs, ppn=pairs, model=model, args=words)
        half = np.array(report.results[:active]) / 2
        if model == "flow" and nbytes <= 4096:
            assert law(1, nbytes) * (1 - tolerance) <= half.min(), words
            assert (
                half.max() <= law(active, nbytes) * (1 + tolerance) + (active - 1) * min(nbytes, 2048) / R_N
            ), words
        else:
            assert half == pytest.approx(np.full(active, law(active, nbytes)), rel=tolerance), words


def test_a_law_that_fails_at_pairs_held_back_is_not_taken():
    """The least criterion decides among laws whose error there is within 5 points of the least."""
    data = made(max_rate, noise=0.03)
    (found,) = rate_report.fit_regimes(data, [], tuple(rates.MODELS))
    assert found.best == found.by_criterion == "max-rate"
    bad = {name: errors for name, errors in found.held_back.items() if name != "max-rate"}
    bad["max-rate"] = replace(found.held_back["max-rate"], median=0.5)
    other = replace(found, held_back=bad)
    assert other.by_criterion == "max-rate" and other.best == "extended"
    assert "best at numbers of pairs held back: extended" in rate_report.lines([other])[0]


def test_two_numbers_of_pairs_say_nothing_of_a_fourth_parameter():
    """A rate that falls from k = 1 to 3 would, if it went on, end below zero at some k."""
    data = made(lambda k, n: extended(k, n), noise=0.03)
    two = data.where(np.isin(data.pairs, (1, 3)))
    (found,) = rate_report.fit_regimes(two, [], ("max-rate", "extended"))
    assert list(found.laws) == ["max-rate"]
    with pytest.raises(InputError, match="the laws extended need 3 numbers of pairs, and 2 were measured"):
        rate_report.fit_regimes(two, [], ("extended",))
    with pytest.raises(InputError, match="need 2 numbers of pairs, and 1 were measured"):
        rate_report.fit_regimes(data.where(data.pairs == 1), [], ("max-rate",))
