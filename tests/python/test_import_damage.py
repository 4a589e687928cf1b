"""Damaged descriptions and outputs: every reader gives an answer or says what is wrong, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import test_calibrate_benchmarks as outputs
import written_networks as written
from hypothesis import HealthCheck, given, settings, strategies

from hopcast.calibrate import benchmarks
from hopcast.errors import InputError
from hopcast.importing import (
    cray,
    infiniband,
    lstopo,
    measured,
    netloc,
    omnipath,
    slurm,
    slurm_yaml,
    smpi,
    smpi_text,
    sources,
    texts,
)
from hopcast.importing.platform_text import Given
from hopcast.toml import tomllib

FITTED = """# fitted
name = "x"
[nic]
latency = "1 us"

# why
[mpi]
library = "mpich"
[[mpi.regimes]]
name = "a"
"""
INSIDE, BETWEEN = written.aries()


def _lstopo(text: str) -> object:
    root = texts.xml(text, "text")
    return lstopo.read(root, "text") if lstopo.is_it(root) else None


def _simgrid(text: str) -> object:
    root = texts.xml(text, "text")
    if not smpi.is_it(root):
        return None
    found = smpi_text.make(smpi.read(root, "text"), Given("x"), "text", Path("x.toml"))
    return tomllib.loads(found.files[Path("x.toml")])


READERS: dict[str, tuple[Callable[[str], object], str]] = {
    "ibnetdiscover": (lambda text: infiniband.read(text, "text"), written.fat_tree(2, 2, 1, 2)),
    "netloc": (lambda text: netloc.read(text, "text"), written.NETLOC),
    "omni-path": (lambda text: omnipath.read(texts.xml(text, "text"), "text"), written.omni_path(2)),
    "slurm": (lambda text: slurm.read(text, "text"), written.TREE),
    "slurm yaml": (lambda text: slurm_yaml.read(text, "text"), written.YAML),
    "simgrid": (lambda text: _simgrid(text), written.SIMGRID),
    "slurm blocks": (lambda text: slurm.read(text, "text"), written.BLOCKS),
    "aries": (lambda text: cray.read_links([(text, "text")], 2), INSIDE + BETWEEN),
    "aries names": (lambda text: cray.read_links([(text, "text")], 2), written.named_aries()),
    "hosts": (lambda text: cray.read_nodes(text, "text"), written.NODE_MAP),
    "lstopo": (_lstopo, written.LSTOPO),
    "fitted": (lambda text: measured.read(text, "text"), FITTED),
}
OUTPUTS = {
    "imb": outputs.imb(3),
    "osu": outputs.osu(),
    "lat": outputs.perftest(),
    "bw": outputs.perftest(kind="bw"),
}
PIECES = strategies.one_of(
    strategies.sampled_from(
        ["", "[", "]", "-", "0", "99999999999999", '"', "<", ">", "\n", " ", "nan", "\x00", "1e999"]
    ),
    strategies.text(max_size=8),
)
QUICK = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@strategies.composite
def damaged(draw: strategies.DrawFn, text: str) -> str:
    """The text, cut, with parts replaced, or its lines in another order."""
    for _ in range(draw(strategies.integers(1, 3))):
        start = draw(strategies.integers(0, len(text)))
        end = min(len(text), start + draw(strategies.integers(0, 30)))
        text = text[:start] + draw(PIECES) + text[end:]
    if draw(strategies.booleans()):
        text = text[: draw(strategies.integers(0, len(text)))]
    return text


@pytest.mark.parametrize("name", READERS)
def test_readers_answer_or_refuse(name: str):
    reader, text = READERS[name]
    assert reader(text) is not None

    @QUICK
    @given(damaged(text))
    def check(broken: str) -> None:
        try:
            reader(texts.plain(broken))
        except InputError as error:
            assert str(error)

    check()


@pytest.mark.parametrize("name", OUTPUTS)
def test_benchmarks_answer_or_refuse(name: str, tmp_path: Path):
    place = tmp_path / "output.txt"

    @QUICK
    @given(damaged(OUTPUTS[name]))
    def check(broken: str) -> None:
        place.write_text(broken, errors="replace")
        try:
            for campaign in benchmarks.read(place):
                calls = campaign.calls["round_trip"]
                assert (calls.sizes > 0).all() and (calls.seconds > 0).all()
        except InputError as error:
            assert str(error)

    check()


@QUICK
@given(strategies.binary(max_size=400))
def test_any_bytes_are_answered_or_refused(tmp_path: Path, content: bytes):
    for name in ("source", "source.xz", "source.gz", "source.toml"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError):
            sources.read([tmp_path / name])
