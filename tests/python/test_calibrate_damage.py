"""Damaged files, values that are none, and options out of range, given to `hopcast calibrate`."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import tarfile
from pathlib import Path

import numpy as np
import pytest

from hopcast.calibrate import design, kernel_calls, pair_times, quantities, sources
from hopcast.errors import InputError

TABLE = "size,duration\n" + "".join(f"{n},{1e-6 + 1e-9 * n}\n" for n in range(1, 2000))
CALLS = "n,duration\n" + "".join(f"{n},{1e-9 * n}\n" for n in range(1, 2000))
PAIRS = "Pingpong for\nmaster:  0, 1\npartner: 2, 3\n"


def archive() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as file:
        for kind in ("PingPong", "Recv"):
            text = "".join(
                f"{function},{n},0,{random.Random(n).random()}\n"
                for n in range(1, 3000)
                for function in ("MPI_Send", "MPI_Recv")
            ).encode()
            member = tarfile.TarInfo(f"a/net_{kind}.csv")
            member.size = len(text)
            file.addfile(member, io.BytesIO(text))
    return content.getvalue()


def damaged(content: bytes, how: str) -> bytes:
    if how == "cut":
        return content[: len(content) // 2]
    middle = len(content) // 2
    return (
        content[:middle]
        + bytes(byte ^ 0xFF for byte in content[middle : middle + 64])
        + content[middle + 64 :]
    )


PACKERS = {".xz": lzma.compress, ".gz": gzip.compress}


@pytest.mark.parametrize(("suffix", "how"), [(".xz", "cut"), (".xz", "changed"), (".gz", "cut")])
def test_a_damaged_archive_is_said_to_be(suffix: str, how: str, tmp_path: Path) -> None:
    place = tmp_path / f"campaign.tar{suffix}"
    place.write_bytes(damaged(PACKERS[suffix](archive()), how))
    with pytest.raises(InputError, match=r"campaign\.tar\.\w+: this archive is cut or damaged: "):
        sources.read([place])
    with pytest.raises(InputError, match=r"campaign\.tar\.\w+: this archive is cut or damaged: "):
        pair_times.read(Path(f"{place}::a/net_Recv.csv"))


@pytest.mark.parametrize("how", ["cut", "changed"])
@pytest.mark.parametrize("suffix", PACKERS)
def test_a_damaged_table_is_said_to_be(suffix: str, how: str, tmp_path: Path) -> None:
    place = tmp_path / f"table.csv{suffix}"
    place.write_bytes(damaged(PACKERS[suffix](TABLE.encode()), how))
    with pytest.raises(InputError, match=r"table\.csv\.\w+: this compressed file is cut or damaged: "):
        sources.read([place])
    place.write_bytes(damaged(PACKERS[suffix](CALLS.encode()), how))
    with pytest.raises(InputError, match=r"table\.csv\.\w+: this compressed file is cut or damaged: "):
        kernel_calls.read(place, ["n"])


def test_what_is_no_file_of_any_format_is_one_line(tmp_path: Path) -> None:
    place = tmp_path / "noise.csv"
    place.write_bytes(random.Random(1).randbytes(3000))
    for read in (lambda: sources.read([place]), lambda: pair_times.read(Path(f"{place}::x"))):
        with pytest.raises(InputError) as caught:
            read()
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="/dev/zero: neither a directory nor a file"):
        sources.read([Path("/dev/zero")])


def test_pairs_without_a_time_are_none(tmp_path: Path) -> None:
    place = tmp_path / "pairs.txt"
    place.write_text(PAIRS + "".join(f"{n}\t0\t0\n" for n in (1, 2, 4, 8)))
    with pytest.raises(InputError, match=r"pairs\.txt: no time is above zero: nothing was fitted"):
        pair_times.read(place)


def fitted(rows: list[tuple[float, float]], folder: Path) -> kernel_calls.KernelFit:
    place = folder / "calls.csv"
    place.write_text("n,duration\n" + "".join(f"{n!r},{seconds!r}\n" for n, seconds in rows))
    (calls,) = kernel_calls.read(place, ["n"]).values()
    return kernel_calls.fit("", calls)


SIZES = (10, 20, 50, 100, 200, 500, 1000)


def test_calls_that_are_none_are_left_out(tmp_path: Path) -> None:
    sound = [(float(n), 1e-6 + 1e-9 * n * (1 + 0.01 * part)) for n in SIZES for part in range(4)]
    bad = [(10.0, float("nan")), (20.0, float("inf")), (50.0, -1.0), (float("nan"), 1.0)]
    with np.errstate(all="raise"):
        found = fitted(sound + bad, tmp_path)
    assert found.calls == len(sound)
    assert "4 calls without a valid size or time: they are left out" in found.findings
    assert fitted(sound, tmp_path).model == found.model


def test_times_that_fall_with_the_arguments_are_doubted(tmp_path: Path) -> None:
    found = fitted([(n, 1e-3 / n * (1 + 0.01 * part)) for n in SIZES for part in range(4)], tmp_path)
    assert found.model.name == "M-0"
    assert any(finding.startswith("times fall where the arguments grow") for finding in found.findings)
    assert any(
        "off in the median, at the sizes that it was fitted to" in finding for finding in found.findings
    )


def test_few_sizes_are_doubted(tmp_path: Path) -> None:
    few = [(n, 1e-6 + 1e-9 * n * (1 + 0.01 * part)) for n in SIZES[:3] for part in range(4)]
    assert any(finding.startswith("3 sizes are too few") for finding in fitted(few, tmp_path).findings)
    many = [(n, 1e-6 + 1e-9 * n * (1 + 0.01 * part)) for n in SIZES for part in range(4)]
    assert not [
        finding for finding in fitted(many, tmp_path).findings if "few" in finding or "off in" in finding
    ]


@pytest.mark.parametrize(
    ("read", "text"), [("size", "1e400"), ("rate", "1e400 GB/s"), ("flop_rate", "1e400 flop/s")]
)
def test_numbers_without_end_are_refused(read: str, text: str) -> None:
    with pytest.raises(InputError, match=f"--option: '{text}' is beyond all numbers"):
        getattr(quantities, read)(text, "--option")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kinds": ()}, "no kind of measurement; known: Recv"),
        ({"polls": -1}, "-1 polls: none is the least"),
        ({"repetitions": 10**6}, "40,000,002 measurements: at most 5,000,000"),
        ({"seed": -1}, "seed -1: at least 0"),
    ],
)
def test_designs_of_nothing_or_without_end_are_refused(change: dict, message: str) -> None:
    usual = {"repetitions": 2, "kinds": ("Recv", "Isend"), "polls": 1, "seed": 1}
    with pytest.raises(InputError, match=message):
        design.network(design.Sizes(1, 1000, 20, 2), **(usual | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"product": float("nan")}, "products up to nan: at least 1, and finite"),
        ({"product": -1.0}, "products up to -1: at least 1"),
        ({"batches": 0}, "0 batches: at least 1"),
        ({"third": (0,)}, "K = 0: at least 1"),
        ({"third": (101,)}, "K = 101: at least 1, and no larger than a dimension \\(100\\)"),
    ],
)
def test_matrices_that_cannot_be_drawn_are_refused(change: dict, message: str) -> None:
    usual = {"product": 1e5, "longest": 100, "strata": 3, "batches": 1}
    with pytest.raises(InputError, match=message):
        design.kernels(design.Matrices(**(usual | change)), ["dgemm"], 1, 1)
