"""Every comparison of `validation`, quickly: what was published must hold."""

import importlib
import json
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
VALIDATION = HERE.parents[1] / "validation"
sys.path.insert(0, str(VALIDATION))

import null_model  # noqa: E402
from recordings import Absent  # noqa: E402
from results import Kind, Range, Result  # noqa: E402

pytest.importorskip("matplotlib")


@pytest.fixture(scope="session")
def out(tmp_path_factory):
    """Folder in which recordings are unpacked and plots are drawn, once for all."""
    return tmp_path_factory.mktemp("validation")


def compare(name: str, out: Path) -> list[Result]:
    """The results of one script, each within its claim."""
    try:
        compared = importlib.import_module(name).compare(out, True)
    except Absent as absent:
        pytest.skip(str(absent))
    assert any(result.holds for result in compared)
    assert not [result.cells() for result in compared if result.holds is False]
    return compared


def find(compared: list[Result], what: str) -> Result:
    """The one result of that name."""
    (found,) = [result for result in compared if result.what == what]
    return found


def test_an_infinite_network_shows_which_rows_test_the_network(out):
    shared = null_model.compare(importlib.import_module("flow_example"), out, True)
    assert all(row.kind is Kind.FORMULA and row.null == 0.0 and row.tests_the_network for row in shared)
    try:
        replayed = null_model.compare(importlib.import_module("fudan"), out, True)
    except Absent as absent:
        pytest.skip(str(absent))
    computing = find(replayed, "IMB ping-pong, outside of MPI, mean of ranks")
    assert computing.null == computing.ours and not computing.tests_the_network
    assert not null_model.is_active()


def test_the_page_has_the_stored_results():
    """`all.py --write` makes both, and nobody has edited one of them."""
    writer = importlib.import_module("all")
    stored = json.loads(writer.DATA.read_text())
    rows = {name: [Result.from_json(row) for row in of_script] for name, of_script in stored.items()}
    assert list(rows) == [name for name in writer.SCRIPTS if name in rows]
    assert writer.PAGE.read_text().endswith(writer.MARK + writer.page(rows))


def test_two_flows_share_a_link(out):
    compared = compare("flow_example", out)
    assert {result.published for result in compared} == {0.8, 1.0}
    assert all(abs(result.ours - result.published) < 1e-9 for result in compared)


def test_a_hydrodynamics_code_on_five_networks(out):
    compared = compare("hydro_networks", out)
    assert sum(bool(result.holds) for result in compared) == 4
    # All begin at time zero, and a rank's messages come one after the other.
    means = [result.ours for result in compared if result.what.endswith("mean over last message")]
    assert len(means) == 5 and all(0.1 < mean < 0.9 for mean in means)


def test_a_replay_of_two_billion_messages(out):
    compared = compare("flow_scale", out)
    assert find(compared, "fat tree: two billion messages").published == Range(high=14.5)


def test_max_rate_is_its_formula(out):
    compared = compare("max_rate", out)
    # Three regimes, three and four parameters, two models.
    assert len(compared) == 12
    assert all(abs(result.error) < 1e-3 for result in compared)
    assert (out / "max_rate.png").exists()


def test_broadcasts_are_not_faster_than_possible(out):
    compared = compare("loggp_bounds", out)
    assert find(compared, "optimal broadcast, 8 ranks, 0 B").published == 24.0


def test_latency_on_hopper(out):
    compared = compare("gemini_latency", out)
    for end in ("shortest", "longest"):
        assert 1.27 <= find(compared, f"{end} delay of 4 bytes").ours <= 4.07


def test_throughput_on_gemini(out):
    compared = compare("gemini_throughput", out)
    assert find(compared, "nearest nodes, 4 per node, 128 KiB").published == 6.75
    assert (out / "gemini_throughput.png").exists()


def test_allreduce_on_gemini_takes_no_less_than_possible(out):
    compared = compare("gemini_allreduce", out)
    assert sum("predicted" in result.what for result in compared) == 2


def test_an_allreduce_on_threads_and_in_processes(out):
    compared = compare("gemini_scaling", out)
    # One thread has nothing but itself to be compared with.
    assert sum("the same outcome" in result.what for result in compared) == 2
    assert (out / "gemini_scaling.png").exists()


def test_random_ring_and_bruck(out):
    compare("nsim", out)
    assert (out / "nsim_random_ring.png").exists()
    assert (out / "nsim_bruck.png").exists()


def test_peaks_of_the_pairwise_exchange(out):
    compared = compare("nsim_pairwise", out)
    # On 8 x 8 x 4 nodes: as many as y times z, z, and one.
    assert [find(compared, f"{axis}+, peaks at half the axis").published for axis in "xyz"] == [32, 4, 1]
    assert (out / "nsim_pairwise.png").exists()


def test_saturation_is_within_what_theory_brackets(out):
    compared = compare("saturation", out)
    assert find(compared, "torus, tornado: load of the fullest link").published == 3.0
    assert find(compared, "dragonfly, next group, minimal: load of a global link").published == 8.0
    assert (out / "saturation_torus.png").exists()
    assert (out / "saturation_dragonfly.png").exists()


def test_lulesh_takes_as_long_as_recorded(out):
    total = find(compare("lulesh_hopper", out), "run time, dependencies, hopper")
    assert total.published == 54.47
    assert abs(total.error) < 0.02


def test_recordings_of_one_host(out):
    compare("fudan", out)


def test_a_result_outside_of_its_claim_does_not_hold():
    assert Result("x", 2.0, 2.1, allowed=0.06).holds
    assert not Result("x", 2.0, 2.1, allowed=0.04).holds
    assert Result("x", 2.0, 9.0, allowed=None).holds is None
    assert Result("x", Range(1.0, 2.0), 2.0).holds
    assert not Result("x", Range(1.0, 2.0), 2.5).holds
    assert Result("x", Range(1.0, 2.0), 0.5).error == pytest.approx(-0.5)
    assert Result("x", Range(low=1.0), 5.0).holds


def test_benchmarks_of_four_nodes_are_predicted_from_two(out):
    try:
        compared = null_model.compare(importlib.import_module("microbenchmarks"), out, True)
    except Absent as absent:
        pytest.skip(str(absent))
    rows = [row for row in compared if row.kind is Kind.MEASURED]
    assert len(rows) == 8
    ours, null = (
        statistics.median(abs(error) for error in errors)
        for errors in ([row.error for row in rows], [row.null_error for row in rows])
    )
    # What is predicted comes nearer to the measurements than a machine without a network does.
    assert ours < null < 1


def test_raw_campaigns_give_the_published_parameters_and_predict_what_was_held_back(out):
    compared = compare("calibration_network", out)
    options = [result for result in compared if result.what.startswith("Taurus, smpi/")]
    assert len(options) == 8 and all(abs(result.error) < 1e-6 for result in options)
    copies = [result for result in compared if result.what.startswith("copy by those lines")]
    assert len(copies) == 6 and all(result.ours == 3 for result in copies)
    assert sum(result.published == Range(high=1.5) for result in compared) == 3


def test_processes_of_summit_and_lassen_share_their_nic(out):
    compared = compare("calibration_rates", out)
    assert sum("chosen law" in result.what for result in compared) == 2


def test_nodecomm_on_a_platform_gives_its_parameters_back(out):
    compared = compare("nodecomm", out)
    # Two platforms of three regimes in one model, and the longest of each in another.
    assert len(compared) == 21 + 7
    assert sum(result.published == Range(high=0) for result in compared) == 2


def test_calls_of_dgemm_give_the_printed_coefficients(out):
    compared = compare("calibration_kernels", out)
    assert sum(result.allowed == 1e-9 for result in compared) == 8


def test_processors_of_dahu_have_the_printed_moments(out):
    compared = compare("generative_cluster", out)
    assert sum(result.allowed == 5e-7 for result in compared) == 25
    assert sum(result.what.startswith("drawn") for result in compared) == 16


def test_what_changed_on_dahu_is_noticed_and_nothing_else(out):
    compared = compare("regression_tests", out)
    assert sum(result.what.startswith("repair: change of") for result in compared) == 6
    assert find(compared, "false alarms at 99.99 %").ours == 0


def test_hpl_at_scale_is_below_the_peak(out):
    compared = compare("hpl_scale", out)
    assert find(compared, "HPL, N = 20,000, 4 x 8: performance").ours > 1.0


def test_cells_of_hpl_are_as_square_as_they_can_be(capsys):
    scale = importlib.import_module("hpl_scale")
    grids = [scale.Cell.of(500_000, ranks)[1:] for ranks in (512, 1024, 2048, 4096, 6006, 7)]
    assert grids == [(16, 32), (32, 32), (32, 64), (64, 64), (77, 78), (1, 7)]
    with pytest.raises(SystemExit):
        scale.requested(["--cell", "1000", "0"])
    assert "--cell 1000 0: N and RANKS are at least 1" in capsys.readouterr().err


def test_the_list_of_exchanged_rows_is_hpls_own(tmp_path):
    """validation/hpl_pipid.c and the function that it replaces, on random pivots."""
    hpl, building, debian, hpcc = (
        importlib.import_module(name) for name in ("hpl", "building", "debian", "hpcc")
    )
    target = tmp_path / "pivots"
    try:
        source = debian.source("hpcc", hpl.CACHE)
        files = [HERE / "hpl_pivots.c", VALIDATION / "hpl_pipid.c", source / "hpl/src/pgesv/HPL_pipid.c"]
        words = [building.compilers("hopcast", hpl.CACHE / "bin")["cc"], *hpcc.DEFINED]
        words += [f"-I{source / 'hpl/include'}", f"-I{source / 'include'}", "-Wl,--wrap=HPL_pipid"]
        building.run([*words, *files, "-o", target], tmp_path, "the lists of rows")
    except Absent as absent:
        pytest.skip(str(absent))
    words = [sys.executable, "-m", "hopcast", "run", "crossbar", "-n", "1", "--quiet", str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "2000 lists are the same" in done.stdout, done.stdout + done.stderr


def test_the_page_has_the_energy_of_the_replay(out):
    """`energy.py --write` makes the table of `docs/energy.md`."""
    energy = importlib.import_module("energy")
    try:
        rows = energy.table({"replay": energy.lulesh(out)})
    except Absent as absent:
        pytest.skip(str(absent))
    lines = energy.PAGE.read_text().partition(energy.MARK)[2].splitlines()
    page = [[cell.strip() for cell in line.split("|")[1:3]] for line in lines[2 : 2 + len(rows)]]
    assert page == rows
