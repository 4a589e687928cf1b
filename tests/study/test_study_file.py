"""Study files: factors, designs and conditions become cells."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy
import pytest

from hopcast import core
from hopcast.cluster import generic, model
from hopcast.errors import InputError
from hopcast.study import cells, clusters, file as files

HEAD = 'platform = "fat-tree"\nworkload = "halo3d --bytes {size}"\n'


def study(text: str, head: str = HEAD) -> files.Study:
    return files.read(head + text, "study.toml", Path.cwd(), "study")


def settings(text: str, head: str = HEAD) -> list[dict]:
    return list(study(text, head).settings())


def test_all_combinations_in_the_order_of_the_file() -> None:
    found = settings('[factors]\nsize = ["1 KiB", "2 KiB"]\nseed = { from = 1, to = 3 }\n')
    assert [(cell["size"], cell["seed"]) for cell in found] == [
        (size, seed) for size in ("1 KiB", "2 KiB") for seed in (1, 2, 3)
    ]


def test_ranges_have_steps_or_counts_and_units() -> None:
    found = settings(
        '[factors]\nsize = { from = 1, to = 1024, count = 3, scale = "logarithmic", unit = "KiB" }'
    )
    assert [cell["size"] for cell in found] == ["1 KiB", "32 KiB", "1024 KiB"]
    found = settings('[factors]\nsize = { from = 0.0, to = 0.3, step = 0.1, unit = "KiB" }')
    assert [cell["size"] for cell in found] == ["0 KiB", "0.1 KiB", "0.2 KiB", "0.3 KiB"]


def test_conditions_exclude_and_names_follow() -> None:
    """All grids of 960 ranks: as many as 960 = 2^6 · 3 · 5 has divisors, 7 · 2 · 2 = 28."""
    text = '[factors]\np = { from = 0, to = 960 }\n[derived]\nq = "960 / p"\n'
    head = 'platform = "fat-tree"\nworkload = "halo3d --grid {p},{q}"\nexclude = ["p == 0 or 960 % p != 0"]\n'
    found = settings(text, head)
    assert len(found) == 28
    assert all(cell["p"] * cell["q"] == 960 for cell in found)


def test_a_table_gives_several_names_at_once() -> None:
    found = settings('[factors]\nof = [{ size = "1 KiB", seed = 4 }, { size = "2 KiB", seed = 5 }]\n')
    assert [(cell["size"], cell["seed"]) for cell in found] == [("1 KiB", 4), ("2 KiB", 5)]
    assert found[0]["of"] == "size=1 KiB, seed=4"


def test_rankings_and_repetitions_name_what_there_is() -> None:
    text = '[factors]\nsize = "1 KiB"\nseed = [1, 2]\nmodel = ["flow", "postal"]\n'
    text += '[responses]\nrate = "1 / makespan_s"\n'
    assert study(text).repetitions == ["seed"] and study(text).ranking.by == "makespan_s"
    found = study(text + '[ranking]\nby = "rate"\nbest = "largest"\n', 'repetitions = ["model"]\n' + HEAD)
    assert found.repetitions == ["seed", "model"]
    assert (found.ranking.by, found.ranking.smallest_is_best) == ("rate", False)
    for wrong, said in (
        ('by = "speed"', "known: makespan_s, rate"),
        ('best = "first"', "largest"),
        ("on = 1", "by, best"),
    ):
        with pytest.raises(InputError, match=said):
            study(f"{text}[ranking]\n{wrong}\n")
    with pytest.raises(InputError, match="unknown factor 'day'"):
        study(text, 'repetitions = ["day"]\n' + HEAD)


def test_half_a_factorial_confounds_the_last_factor_with_the_product_of_the_others() -> None:
    names = "\n".join(f'"link.{name}" = [-1, 1]' for name in ("a", "b", "c"))
    found = settings(
        f'[factors]\nsize = "1 KiB"\n{names}\n[design]\nkind = "fractional"\n'
        'factors = ["link.a", "link.b", "link.c"]\ngenerators = "a b ab"\n'
    )
    assert len(found) == 4
    assert all(cell["link.c"] == cell["link.a"] * cell["link.b"] for cell in found)
    assert len({(cell["link.a"], cell["link.b"]) for cell in found}) == 4


def test_a_latin_hypercube_has_one_sample_in_each_slice_of_each_factor() -> None:
    found = settings(
        '[factors]\nsize = { from = 0.0, to = 20.0, step = 1 }\n"link.a" = { from = 0.0, to = 1.0 }\n'
        'seed = [1, 2]\n[design]\nkind = "latin-hypercube"\nfactors = ["size", "link.a"]\nsamples = 20\n'
    )
    assert len(found) == 40, "the seeds stand beside each sample"
    rows = [cell for cell in found if cell["seed"] == 1]
    assert sorted(int(cell["size"]) for cell in rows) == list(range(20))
    assert sorted(int(20 * cell["link.a"]) for cell in rows) == list(range(20))


def test_a_subset_design_is_balanced() -> None:
    levels = "[1, 2, 3]"
    found = settings(
        f'[factors]\nsize = {levels}\n"link.a" = {levels}\n"link.b" = {levels}\n'
        '[design]\nkind = "subset"\nreduction = 3\n'
    )
    assert len(found) == 9
    for name in ("size", "link.a", "link.b"):
        assert sorted(cell[name] for cell in found) == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_random_cells_are_some_of_all_and_come_again() -> None:
    text = '[factors]\nsize = { from = 1, to = 50 }\n[design]\nkind = "random"\nsamples = 9\nseed = {}\n'
    first, again, other = (settings(text.replace("{}", seed)) for seed in ("1", "1", "2"))
    assert first == again != other
    assert len({cell["size"] for cell in first}) == 9


def test_cells_are_ordinary_requests() -> None:
    text = (
        '[options]\nppn = 2\n[set.link]\nlatency = "{latency} ns"\n[factors]\nsize = "1 KiB"\nlatency = 90\n'
        'ranks = 8\n"nic.bandwidth" = "9 GB/s"\n"--iterations" = 3\nplatform = "crossbar"\n'
    )
    (cell,) = settings(text, 'platform = "{platform}"\nworkload = "halo3d --bytes {size}"\n')
    request = cells.request_of(study(text, 'workload = "halo3d --bytes {size}"\n'), cell)
    assert request.platform == "crossbar"
    assert request.workload["arguments"] == {"bytes": "1 KiB", "iterations": "3"}
    assert request.options == {
        "ppn": 2,
        "ranks": 8,
        "set": {"link.latency": "90 ns", "nic.bandwidth": "9 GB/s"},
    }


def test_the_key_of_a_cell_holds_the_contents_of_its_files(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.txt").write_text("0\n1\n")
    text = '[options]\nranks = 2\nplacement = "mine.txt"\n[factors]\nsize = ["1 KiB", "2 KiB"]\n'
    first = [piece.key for piece in cells.pieces(study(text))]
    assert first == [piece.key for piece in cells.pieces(study(text))] and first[0] != first[1]
    Path("mine.txt").write_text("1\n0\n")
    assert not set(first) & {piece.key for piece in cells.pieces(study(text))}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[factors]\nsize = []\n", "has no value"),
        ("[factors]\nsize = { from = 2, to = 1 }\n", "is no linear range"),
        ("[factors]\nsize = { form = 2, to = 1 }\n", "unknown key 'form'"),
        ("[factors]\nsize = 1\nvain = 2\n", "decides nothing"),
        ("[factors]\nlength = 1\n", "{size} is no factor"),
        ('exclude = ["size =="]\n[factors]\nsize = 1\n', "exclude"),
        ('exclude = ["open(size)"]\n[factors]\nsize = 1\n', "exclude"),
        ('[factors]\nsize = 1\n[design]\nkind = "best"\n', "unknown design 'best'; known: full"),
        (
            '[factors]\nsize = [1, 2, 3]\n[design]\nkind = "fractional"\ngenerators = "a"\n',
            "this design has two",
        ),
        ("[options]\nrank = 2\n[factors]\nsize = 1\n", "unknown option 'rank'"),
        ('[options]\nstop_at = "1ms"\n[factors]\nsize = 1\n', "stop_at ends runs early"),
        ("colour = 1\n", "unknown key 'colour'"),
        ("[factors]\nsize = [1, 2, 1]\n", "has the value 1 twice"),
        (
            '[factors]\nsize = 1\nplatform = ["dahu", "tofu"]\n',
            "platform = 'fat-tree' gives it a value already",
        ),
        ("[options]\nranks = 8\n[factors]\nsize = 1\nranks = [2, 4]\n", "ranks = 8 gives it a value already"),
        (
            '[set]\n"nic.gap" = "1 ns"\n[factors]\nsize = 1\n"nic.gap" = "2 ns"\n',
            "nic.gap = '1 ns' gives it a",
        ),
        ('[factors]\nsize = 1\n[responses]\nrate = "1 / makespan"\n', "unknown name 'makespan'; known: "),
    ],
)
def test_errors_name_the_place(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words.replace("{", r"\{")):
        settings(
            text,
            'platform = "fat-tree"\nworkload = "halo3d --bytes {size}"\n'
            if "[" in text or "=" in text
            else "",
        )


def test_a_wrong_cell_is_named() -> None:
    with pytest.raises(InputError, match=r"cell 1 \(size=1 KiB, ppn=-1\)"):
        cells.pieces(study('[options]\nranks = 8\n[factors]\nsize = "1 KiB"\nppn = [1, -1]\n'))


def test_samples_do_not_depend_on_the_global_generator() -> None:
    text = '[factors]\nsize = { from = 1, to = 50 }\n[design]\nkind = "latin-hypercube"\nsamples = 9\n'
    first = settings(text)
    numpy.random.seed(3)
    assert settings(text) == first


RATES = {"flop_rate": 3e10, "start_up_s": 2e-6, "heterogeneity": 0.03, "variability": 0.02, "sockets": 1}
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "studies"
CELLS = {
    "temporal": 5 * 10 * 6,
    "eviction": None,
    "top_switches": 5 * 4 * 10,
    "geometry": 28,
    "factorial": 72,
    "platform_change": 2 * 5,
}


@pytest.mark.parametrize("name", CELLS)
def test_the_studies_of_the_examples_are_short_and_say_what_they_run(
    name: str, tmp_path: Path, monkeypatch
) -> None:
    shutil.copy("/bin/true", tmp_path / "xhpl")  # stands where the user compiles it
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.toml").write_text(model.text(generic.of_rates(**RATES)))
    shutil.copy(EXAMPLES / "hpl.dat.in", tmp_path)
    file = Path(shutil.copy(EXAMPLES / f"{name}.toml", tmp_path))
    assert len(file.read_text().splitlines()) <= 30
    study = files.load(file)
    found = list(study.settings())
    if name == "eviction":  # 2 sizes, 10 clusters, and the divisors of 256, 255, …, 240
        divisors = sum(sum(left % p == 0 for p in range(1, left + 1)) for left in range(240, 257))
        assert len(found) == 2 * 10 * divisors
    else:
        assert len(found) == CELLS[name]
    request = cells.request_of(study, found[0])
    ranks = found[0]["p"] * found[0]["q"]
    assert request.options["ranks"] == ranks and request.options["kernels"] == "skip"
    assert f"{found[0]['n']} " in study.files["HPL.dat"].format_map(found[0])
    for cell in (found[0], found[-1]):
        check_platform(study, cell)


def check_platform(study: files.Study, cell: dict) -> None:
    """The platform of a cell can be built, with a table of one processor in the place of the user's."""
    values = {key: str(value).format_map(cell) for key, value in study.overrides.items()}
    for name, drawing in study.clusters.items():
        text = clusters.Tables(cells._filled).text(drawing, cell)
        assert (
            len({row.split(",")[0] for row in text.splitlines() if row[0].isdigit()}) == cell["p"] * cell["q"]
        )
        Path(name).write_text(text)
    if (table := values.get("compute.kernels.0.table")) and table not in study.clusters:
        Path(table).write_text("host,socket,1,M*N*K,deviation 1,deviation M*N*K\n,,1e-6,1e-11,0,0\n")
    survey = core.topology_survey("dahu", tuple(f"{key}={value}" for key, value in values.items()), 1)
    assert survey["hosts"] >= cell["p"] * cell["q"] / 32


def test_each_cell_has_its_own_input_file(tmp_path: Path, monkeypatch) -> None:
    from hopcast.study import run_cell

    monkeypatch.chdir(tmp_path)
    Path("reads.py").write_text("def main(comm):\n    comm.compute(seconds=float(open('input').read()))\n")
    Path("input.in").write_text("{time}")
    text = '[options]\nranks = 1\n[files]\ninput = "input.in"\n[factors]\ntime = [0.5, 2.0]\n'
    pieces = cells.pieces(study(text, 'platform = "crossbar"\nworkload = "reads.py"\n'))
    assert [run_cell.run(piece.inputs).values["makespan_s"] for piece in pieces] == [0.5, 2.0]
    assert Path.cwd() == tmp_path and not Path("input").exists()
