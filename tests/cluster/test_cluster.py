"""Generative models: moments come back, streams are named, slow hosts are removed, tables serve platforms."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hopcast import core
from hopcast.cli.cluster import command
from hopcast.cluster import fit, generic, model, table
from hopcast.cluster.draw import draw
from hopcast.cluster.model import ClusterModel, Kind
from hopcast.errors import InputError

DATA = Path(os.environ.get("HOPCAST_DATA") or Path(__file__).parents[3] / "shared" / "data")
GENERATIVE = DATA / "calibration" / "thesis" / "modeling" / "kernels" / "generative"
MEAN = np.array([70e-12, 2.4e-6, 2.8e-12])
SPATIAL = np.diag(MEAN * [0.03, 0.02, 0.03]) @ np.array([[1, 0.4, 0.1], [0.4, 1, 0.3], [0.1, 0.3, 1]])
SPATIAL = SPATIAL @ np.diag(MEAN * [0.03, 0.02, 0.03])
TEMPORAL = np.diag((MEAN * [0.01, 0.06, 0.1]) ** 2)
ONE = ClusterModel(model.TERMS, 2, (Kind("all", 32, MEAN, SPATIAL, TEMPORAL),), "made up")
SLOW = Kind("slow", 4, MEAN * [1.5, 1, 1], SPATIAL, TEMPORAL)
TWO = ClusterModel(model.TERMS, 1, (Kind("normal", 28, MEAN, SPATIAL, TEMPORAL), SLOW), "made up")


def hopcast(*words: object) -> str:
    done = CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_drawn_processors_give_the_model_back() -> None:
    """8,000 processors: a variance is known to √(2/n) = 1.6 %; five deviations."""
    values = draw(ONE, 4_000, seed=3).values()
    assert values.mean(axis=0) == pytest.approx(MEAN, rel=5 * 0.03 / 89)
    scale = np.sqrt(np.outer(np.diag(SPATIAL), np.diag(SPATIAL)))
    assert np.abs((np.cov(values.T) - SPATIAL) / scale).max() < 0.08
    days = draw(ONE, 4_000, seed=3, day=4).values() - values
    scale = np.sqrt(np.outer(np.diag(TEMPORAL), np.diag(TEMPORAL)))
    assert np.abs((np.cov(days.T) - TEMPORAL) / scale).max() < 0.08


def test_a_fit_of_drawn_days_gives_the_model_back() -> None:
    """250 hosts of two sockets on 10 days; Σ_S holds a tenth of Σ_T, which lacks a tenth: the fit says so."""
    days = [draw(ONE, 250, seed=1, day=day) for day in range(10)]
    processors = tuple((str(one.host), str(one.socket)) for day in days for one in day.processors)
    data = fit.Observations(model.TERMS, processors, np.vstack([day.values() for day in days]), "drawn")
    (kind,) = fit.fit(data).kinds
    assert kind.hosts == 250 and len(data.values) == 5000
    assert kind.mean == pytest.approx(MEAN, rel=5 * 0.045 / 22)
    # Five deviations of a variance of 500 and of 5,000 observations.
    assert np.diag(kind.spatial) == pytest.approx(np.diag(SPATIAL + TEMPORAL / 10), rel=5 * 0.064)
    assert np.diag(kind.temporal) == pytest.approx(np.diag(TEMPORAL) * 0.9, rel=5 * 0.02)


def test_a_processor_does_not_change_when_others_are_drawn() -> None:
    few, many = draw(ONE, 3, seed=7, day=2).values(), draw(ONE, 40, seed=7, day=2).values()
    assert (few == many[: len(few)]).all()
    assert (few != draw(ONE, 3, seed=8, day=2).values()).all()
    assert (few != draw(ONE, 3, seed=7, day=3).values()).all()
    single = draw(ClusterModel(ONE.terms, 1, ONE.kinds, ""), 3, seed=7, day=2).values()
    assert (single == few[::2]).all(), "the first socket does not depend on the second"


def test_kinds_are_drawn_with_their_shares() -> None:
    """Dirichlet(28, 4): mean 1/8, deviation √(28 × 4/(32² × 33)) = 0.058 over seeds; a given share is met."""
    shares = [
        np.mean([one.kind == "slow" for one in draw(TWO, 300, seed=seed).processors]) for seed in range(60)
    ]
    assert abs(np.mean(shares) - 0.125) < 5 * 0.061 / 60**0.5
    assert 0.03 < np.std(shares) < 0.1
    given = np.mean([one.kind == "slow" for one in draw(TWO, 4000, seed=1, shares={"slow": 0.3}).processors])
    assert abs(given - 0.3) < 5 * (0.3 * 0.7 / 4000) ** 0.5


def test_slowest_hosts_are_removed_and_the_others_numbered_anew() -> None:
    whole = draw(ONE, 20, seed=5)
    slowness = whole.values()[:, 0].reshape(20, 2).max(axis=1)
    slow = np.argsort(-slowness)[:4]
    left = draw(ONE, 20, seed=5, remove_slowest=4)
    assert list(left.removed) == slow.tolist()
    kept = [host for host in range(20) if host not in slow]
    assert [(one.host, one.drawn) for one in left.processors[::2]] == list(enumerate(kept))
    assert (left.values() == whole.values().reshape(20, 2, 3)[kept].reshape(-1, 3)).all()


def test_impossible_draws_are_repeated_and_counted() -> None:
    # Deviations of 60 %: each of two numbers is negative with a probability of 4.8 %, 800 times: about 80.
    wide = generic.changed(ONE, spatial=20)
    drawn = draw(wide, 400, seed=1)
    assert 40 < drawn.rejected < 140 and (drawn.values()[:, [0, 2]] > 0).all()
    assert draw(ONE, 400, seed=1).rejected == 0
    never = generic.changed(ONE, means={model.PRODUCT: -1.0})
    with pytest.raises(InputError, match="too"):
        draw(never, 1, seed=1)


def test_overrides_change_what_they_say() -> None:
    values = draw(ONE, 10, seed=1, gamma=0.05).values()
    assert values[:, 2] == pytest.approx(0.05 * values[:, 0])
    assert draw(generic.changed(ONE, means={"1": 1e-6}), 3, seed=1).values()[:, 1] == pytest.approx(
        draw(ONE, 3, seed=1).values()[:, 1] - 1.4e-6
    )
    half = draw(generic.changed(ONE, spatial=0.5), 3, seed=1).values() - MEAN
    assert half == pytest.approx((draw(ONE, 3, seed=1).values() - MEAN) / 2, rel=1e-9)


def test_a_model_without_data() -> None:
    """30 Gflop/s: 2/30 ns a product; deviations of calls follow the means of their processor."""
    made = generic.of_rates(flop_rate=30e9, start_up_s=2e-6, heterogeneity=0.04, variability=0.02, sockets=1)
    values = draw(made, 5000, seed=1, day=1).values()
    assert values[:, 0].mean() == pytest.approx(2 / 30e9, rel=5 * 0.04 / 70)
    assert values[:, 0].std() / values[:, 0].mean() == pytest.approx(0.04, rel=0.06)
    assert values[:, 2] == pytest.approx(0.02 * values[:, 0], rel=1e-5)
    assert values[:, 3] == pytest.approx(0.02 * values[:, 1], rel=1e-5)


def test_files_keep_every_digit(tmp_path) -> None:
    place = tmp_path / "model.toml"
    place.write_text(model.text(TWO))
    again = model.read(place)
    assert model.text(again) == model.text(TWO)
    assert (draw(again, 5, seed=1).values() == draw(TWO, 5, seed=1).values()).all()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (("hosts = 32", "hosts = -1"), "greater than zero"),
        (("mean = [7e-11", "mean = [7e-11, 1"), "mean: 3 numbers"),
        (("sockets = 2", "cores = 2"), "unknown key 'cores'"),
        (("    [4.41e-24", "    [-4.41e-24"), "spatial"),
    ],
)
def test_faulty_models_are_refused(tmp_path, changes, why) -> None:
    place = tmp_path / "model.toml"
    text = model.text(ONE)
    assert changes[0] in text
    place.write_text(text.replace(*changes))
    with pytest.raises(InputError, match=why):
        model.read(place)


def test_a_table_can_stand_in_a_platform(tmp_path) -> None:
    """Three hosts of two sockets; the first row holds for the others. tests/programs has a run with one."""
    file, nodes = tmp_path / "model.toml", tmp_path / "nodes.csv"
    file.write_text(model.text(ONE))
    said = hopcast(
        "draw", file, "--nodes", 3, "--day", 3, "--host-names", "dahu-{}", "--first", 1, "-o", nodes
    )
    assert "6 processors" in said
    with nodes.open() as lines:
        rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    assert [row[:2] for row in rows[1:4]] == [["", ""], ["dahu-1", "0"], ["dahu-1", "1"]]
    text = core.platform_text("dahu", (f"compute.kernels[0].table={nodes}",), True)
    assert str(nodes) in text


def test_commands_fit_and_say_what_is_missing(tmp_path) -> None:
    place = tmp_path / "days.csv"
    rows = ["host,socket,M*N*K,1,deviation M*N*K"]
    for day in range(5):
        drawn = draw(ONE, 6, seed=2, day=day)
        rows += [
            f"{one.host},{one.socket},{','.join(map(repr, one.coefficients.tolist()))}"
            for one in drawn.processors
        ]
    place.write_text("\n".join(rows) + "\n")
    out, page = tmp_path / "model.toml", tmp_path / "model.html"
    said = hopcast("fit", place, "-o", out, "--kind", "old=4,5", "--leave-out", "0/1", "--report", page)
    assert "Kind 'normal': 4 hosts" in said and "Kind 'old': 2 hosts" in said
    assert "11 processors, 5 days each" in model.read(out).source
    shown = page.read_text()
    assert shown.count("<svg") == 2 and "Left out of the fit: 0/1." in shown and "http" not in shown
    for words, why in (
        (["--leave-out", "9"], "no '9'"),
        (["--kind", "old=9"], "no host '9'"),
        (["--kind", "old=4", "--kind", "old=5"], "^--kind old is given twice; give it once$"),
        (["--terms", "M*K"], "no column 'M\\*K'"),
    ):
        with pytest.raises(InputError, match=why):
            hopcast("fit", place, "-o", out, *words)


@pytest.mark.parametrize(
    ("flag", "values"), [("--mean 1", ("1=1e-6", "1=2e-6")), ("--share slow", ("slow=0.5", "slow=0.2"))]
)
def test_a_draw_with_two_values_for_one_name_is_refused(tmp_path, flag: str, values) -> None:
    file, nodes = tmp_path / "model.toml", tmp_path / "nodes.csv"
    file.write_text(model.text(TWO))
    words = [word for value in values for word in (flag.split()[0], value)]
    with pytest.raises(InputError, match=f"^{flag} is given twice; give it once$"):
        hopcast("draw", file, "--nodes", 3, "-o", nodes, *words)
    assert not nodes.exists()


@pytest.mark.skipif(not GENERATIVE.is_dir(), reason=f"no calibrations in {GENERATIVE} (set HOPCAST_DATA)")
def test_published_numbers_of_dahu() -> None:
    """Thesis, 4.2.2, from its data: μ, Σ_S and Σ_T with seven digits."""
    (kind,) = fit.fit(fit.read([GENERATIVE / "dgemm_calibration.csv.xz"])).kinds
    assert kind.mean == pytest.approx([7.382283e-11, 2.403732e-06, 2.783010e-12], rel=5e-7)
    upper = np.triu_indices(3)
    spatial = [6.322087e-24, 4.461153e-20, 1.185202e-25, 2.059323e-15, 1.481189e-21, 6.804498e-27]
    temporal = [3.223913e-25, 5.742764e-21, 2.901382e-25, 2.211188e-14, 7.055505e-21, 3.296228e-25]
    assert kind.spatial[upper] == pytest.approx(spatial, rel=5e-7)
    assert kind.temporal[upper] == pytest.approx(temporal, rel=5e-7)


def test_the_table_says_how_hosts_were_drawn() -> None:
    text = table.text(draw(ONE, 4, seed=1, remove_slowest=1), "made by a test")
    assert text.startswith("# made by a test\n# Slowest hosts, removed: ")
