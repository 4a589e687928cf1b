"""Fits of raw network campaigns beside what others fitted to them, and beside sizes that were held back.

Compared: SimGrid's parameters of Taurus, from the raw campaign with its own breakpoints, with the published
file; learned breakpoints of sixteen series and a memory copy with those of their author; copies of known
breakpoints with three kinds of noise; the errors of seven campaigns at the half of their sizes that the fit
did not see; and ping-pongs simulated on the platforms that were made of them. No time holds the reading of
the clock, which is 14 % of the shortest messages of stampede_17_06_01-1726, two processes of one host.
Source: Cornebize, thesis, Université Grenoble Alpes 2021, 4.3, with its data (github.com/Ezibenroc/{thesis,
pycewise, platform-calibration}); breakpoints of the program pycewise as it computes, not as its formula is
printed.
Expected: Taurus to six digits; errors at the other half at most 1.5 times those at the half that
was fitted, and at most 5 % in the median of each regime, where the times of neighbouring sizes scatter by
less than that: the TCP campaigns (Taurus, Miriel, Plafrim) scatter by 20 to 40 % below 64 KiB.
"""

from __future__ import annotations

import csv
import tarfile
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import results
from recordings import Absent, data
from results import Kind, Range, Result

from hopcast.calibrate import (
    campaigns,
    check,
    latency_noise,
    modes,
    network_fit,
    piecewise,
    platform_file,
    smpi_factors,
    tables,
)
from hopcast.calibrate.campaigns import Campaign
from hopcast.calibrate.series import Series, by_size

KIND = Kind.PUBLISHED
NO_NULL = "fits measurements; the errors of one line for all sizes stand beside it"

SIX_DIGITS = 1e-6
CAMPAIGNS = (
    ("taurus_26_07_2016", "calibration"),
    ("miriel_27_06_2016", "calibration"),
    ("plafrim_15_06_16", "calibration"),
    ("sirocco_26_08_2016", "calibration"),
    ("stampede_17_06_01-1714", "calibration"),
    ("stampede_17_06_01-1726", "calibration"),
    ("graphene-stampede-examples", "graphene_eth"),
)
DAHU_SEND = {8_141: 0, 33_975: 0, 63_785: None}
"""Published breakpoints of MPI_Send on Dahu [B], of an archive with more sizes than the series here, and
what is claimed of each: in this series pycewise, too, takes 69,714 B for the last. Between 60,635 and
68,802 B it has no step (19.3, 20.3, 20.0 and 19.9 us); the step of 1.8 us is at 69,714 B."""
DAHU_PING_PONG = {63_785: 0, 285_420_699: None}
"""The last lies where 835 sizes up to 1 GB bend twice, at 37 MB and 254 MB. The series has nothing of the
9.7 ms that the published line begins with there: from 181 MB to 919 MB a byte takes 163.0 to 163.6 ps."""
COPY_SLOPES = (1.78e-11, 5.29e-11, 8.91e-11, 1.92e-10)
"""Slopes of the fit by pycewise with three breakpoints [s/B]."""
PROGRAM = {"objective": "program", "method": "top-down", "least": 2}
"""Pycewise's own choices."""


def compare(out: Path, quick: bool) -> list[Result]:
    """All comparisons; `quick` takes three campaigns, the series of one cluster, and fewer seeds."""
    folder = data() / "calibration"
    if not folder.is_dir():
        raise Absent(f"skipped: no calibration in {data()} (set HOPCAST_DATA)")
    rows = taurus(folder) + copy(folder, seeds=1 if quick else 20) + series(folder, quick)
    rows += [] if quick else remote(folder)
    for archive, name in CAMPAIGNS[::3] if quick else CAMPAIGNS:
        found = campaigns.read(folder / "mpi" / f"{archive}.tar.xz")
        rows += held_back(archive, campaigns.choose(found, name, archive))
    return rows if quick else [*rows, *speed()]


def taurus(folder: Path) -> list[Result]:
    """Compares each option of SimGrid with the published values, at the value that is farthest away."""
    archive = folder / "mpi" / "taurus_26_07_2016.tar.xz"
    campaign = campaigns.choose(campaigns.read(archive), "calibration", archive.name)
    with tarfile.open(archive) as files:
        text = files.extractfile("./calibration/taurus-2016-06-09--1_output.xml").read()
    published = {prop.get("id"): prop.get("value") for prop in ElementTree.fromstring(text)}
    settings = campaign.settings
    factors = smpi_factors.fit(campaign, campaign.breakpoints, settings["latency"], settings["bandwidth"])
    ours = {
        "smpi/os": [value for part in factors for value in part.send],
        "smpi/ois": [value for part in factors for value in part.isend],
        "smpi/or": [value for part in factors for value in part.receive],
        "smpi/lat-factor": [max(1.0, part.latency_factor) for part in factors],
        "smpi/bw-factor": [min(1.0, part.bandwidth_factor) for part in factors],
        "smpi/iprobe": [smpi_factors.poll_s(campaign.calls["iprobe"])],
        "smpi/test": [smpi_factors.poll_s(campaign.calls["test"])],
        "smpi/wtime": [campaign.wtime_s],
    }
    rows = []
    for option, values in ours.items():
        parts = published[option].split(";")
        theirs = [float(value) for part in parts for value in part.split(":")[1 if ":" in part else 0 :]]
        assert len(theirs) == len(values), option
        pairs = [(abs(results.apart(a, b)), a, b) for a, b in zip(values, theirs, strict=True)]
        _, value, wanted = max(pairs)
        what = f"Taurus, {option}: the worst of {len(values)}"
        rows.append(
            Result(what, wanted, value, "", SIX_DIGITS, "taurus-2016-06-09--1_output.xml, given breakpoints")
        )
    return rows


def copy(folder: Path, seeds: int) -> list[Result]:
    """The measured copy, and copies by its fit with noise that is drawn."""
    (campaign,) = tables.read(folder / "pycewise" / "memcpy_small.csv.xz", one_way=False)
    measured = by_size(campaign.calls["round_trip"].sizes, campaign.calls["round_trip"].seconds)
    found = piecewise.learn(measured.sizes, measured.seconds, **PROGRAM)
    rows = [
        Result("memory copy: breakpoints", 3, len(found.breakpoints), why="thesis, 4.3.2; pycewise's choices")
    ]
    for place, (slope, segment) in enumerate(zip(COPY_SLOPES, found.segments, strict=True), 1):
        rows.append(
            Result(f"memory copy: slope {place}", slope, segment.line.slope, "s/B", 0.005, "three digits")
        )
    exact = found.at(measured.sizes)
    noises = {
        "no noise": lambda random: np.zeros_like(exact),
        "noise of 5 ns": lambda random: random.normal(0, 5e-9, len(exact)),
        "noise of 2 ps/B": lambda random: random.normal(0, 2e-12 * measured.sizes),
    }
    for noise, draw in noises.items():
        for name, choices in (("pycewise's choices", PROGRAM), ("hopcast's", {})):
            counts = []
            for seed in range(1 if noise == "no noise" else seeds):
                times = exact + draw(np.random.default_rng(seed))
                kept = times > 0
                counts.append(len(piecewise.learn(measured.sizes[kept], times[kept], **choices).breakpoints))
            worst = max(counts, key=lambda count: abs(count - 3))
            what = f"copy by those lines, {noise}, {name}: breakpoints, the worst of {len(counts)}"
            rows.append(Result(what, 3, worst, why="known by construction; thesis, 4.3.2"))
    return rows


def series(folder: Path, quick: bool) -> list[Result]:
    """The sixteen series: author's breakpoints where they are known, errors beside one line for all."""
    place = folder / "thesis" / "modeling" / "network" / "pycewise" / "pycewise_data.csv"
    groups: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with place.open(newline="") as file:
        for row in csv.DictReader(file):
            pair = float(row["msg_size"]), float(row["duration"])
            groups.setdefault((row["cluster"], row["experiment"]), []).append(pair)
    rows = []
    for (cluster, experiment), pairs in sorted(groups.items()):
        if quick and cluster != "dahu":
            continue
        sizes, seconds = np.array(sorted(pairs)).T
        found = piecewise.learn(sizes, seconds)
        theirs = piecewise.learn(sizes, seconds, **PROGRAM).breakpoints
        one = piecewise.fit(sizes, seconds, [])
        errors = [float(np.sqrt(np.mean(np.log(model.at(sizes) / seconds) ** 2))) for model in (found, one)]
        ends = ", ".join(f"{point:.0f}" for point in found.breakpoints)
        program = ", ".join(f"{point:.0f}" for point in theirs)
        why = f"published: one line for all sizes; breakpoints {ends}; pycewise's choices: {program}"
        what = f"{cluster}, {experiment}: deviation of ln t, {len(found.breakpoints)} breakpoints"
        rows.append(Result(what, 100 * errors[1], 100 * errors[0], "%", None, why, Kind.OWN))
        if (cluster, experiment) == ("dahu", "send"):
            known = DAHU_SEND.items()
            rows += [nearest(sizes, (*found.breakpoints, *theirs), *point, "MPI_Send") for point in known]
    return rows


def remote(folder: Path) -> list[Result]:
    """Dahu's ping-pong of 835 sizes up to 1 GB."""
    (campaign,) = tables.read(folder / "pycewise" / "pingpong_remote.csv.xz")
    calls = campaign.calls["round_trip"]
    measured = by_size(calls.sizes, calls.seconds)
    found = piecewise.learn(measured.sizes, measured.seconds, errors=measured.believed_errors)
    known = DAHU_PING_PONG.items()
    return [nearest(measured.sizes, found.breakpoints, *point, "ping-pong") for point in known]


def nearest(
    sizes: np.ndarray, found: tuple[float, ...], published: float, allowed: float | None, kind: str
) -> Result:
    """Measured sizes from a published breakpoint to the nearest of ours."""
    rank = np.searchsorted(np.unique(sizes), [published, *found], side="right")
    between = [abs(int(other) - int(rank[0])) for other in rank[1:]]
    place = int(np.argmin(between))
    ends = f"the breakpoint at {published:,} B to ours at {found[place]:,.0f} B"
    what = f"dahu, {kind}: measured sizes from {ends}"
    why = "thesis, 8.2, of an archive that is not published"
    return Result(what, Range(high=1), between[place], "", allowed, why)


def held_back(archive: str, campaign: Campaign) -> list[Result]:
    """Errors at the sizes of a fit to every other size, at the sizes between them, and simulated."""
    calls = campaign.without_clock().calls["round_trip"]
    whole = by_size(calls.sizes, calls.seconds)
    used, rest = network_fit.held_back(whole)
    name = campaign.name if campaign.name != "calibration" else archive
    rows = [
        Result(
            f"{name}: median error at sizes held back over that at sizes used",
            Range(high=1.5),
            rest.median / used.median,
            why=f"{100 * used.median:.3g} % at the sizes used, {100 * rest.median:.3g} % at the others",
            kind=Kind.FIT,
        )
    ]
    fit = network_fit.fit_campaign(campaign)
    predicted = simulated(fit, campaign, whole)
    one = piecewise.fit(whole.sizes, whole.seconds, [])
    for regime, row in zip(fit.regimes, predicted, strict=False):
        inside = (whole.sizes > regime.above) & (whole.sizes <= (regime.up_to or np.inf))
        null = float(np.median(np.abs(one.at(whole.sizes[inside]) / whole.seconds[inside] - 1)))
        claimed = 0 if regime.scatter <= 0.05 else None
        end = (
            f"{regime.above:,.0f} to {regime.up_to:,.0f} B"
            if regime.up_to
            else f"above {regime.above:,.0f} B"
        )
        scatter = f"neighbouring sizes scatter by {100 * regime.scatter:.3g} %"
        why = f"one line for all sizes: {100 * null:.3g} %; {scatter}"
        what = f"{name}, simulated ping-pongs, {end}: median error"
        rows.append(Result(what, Range(high=5), 100 * row.accuracy.median, "%", claimed, why, Kind.FIT))
    return rows


def simulated(fit: network_fit.NetworkFit, campaign: Campaign, whole: Series) -> list[check.Row]:
    """Errors of the ping-pongs of the platform that the fit makes."""
    machine = platform_file.Machine(
        "calibrated", campaign.name, "1 Gflop/s", bandwidth_Bps=campaign.settings.get("bandwidth")
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "calibrated.toml"
        place.write_text(platform_file.text(fit, machine))
        return check.check(str(place), whole, [regime.up_to for regime in fit.regimes[:-1]])


def speed() -> list[Result]:
    """A campaign of 1,000 sizes, each 50 times, of every kind, with noise of 5 %."""
    random = np.random.default_rng(1)
    sizes = np.repeat(np.unique(np.floor(10 ** np.linspace(0, 6, 1400)))[-1000:], 50)
    one_way = np.where(sizes <= 65_536, 2e-6 + 2e-10 * sizes, 9e-6 + 9e-11 * sizes)

    def calls(seconds: np.ndarray) -> campaigns.Calls:
        noisy = seconds * np.exp(0.05 * random.standard_normal(len(seconds)))
        return campaigns.Calls(np.full(len(sizes), "x"), sizes, np.zeros(len(sizes)), noisy)

    kinds = {"round_trip": 2 * one_way, "send": one_way / 4, "isend": one_way / 5, "recv": one_way / 3}
    campaign = Campaign("made up", {kind: calls(seconds) for kind, seconds in kinds.items()})
    start = time.process_time()
    fit = network_fit.fit_campaign(campaign)
    fitted = time.process_time()
    modes.with_means(campaign, fit, modes.find([(campaign, fit)]))
    latency_noise.find(campaign, fit, [False] * len(fit.regimes))
    took = {"": fitted - start, ", with noise": time.process_time() - start}
    return [
        Result(
            f"fit of 1,000 sizes, 50 repetitions, four kinds{how}: processor time",
            Range(high=10),
            seconds,
            "s",
            why="goal of its own",
            kind=Kind.OWN,
        )
        for how, seconds in took.items()
    ]


if __name__ == "__main__":
    results.main(compare, __doc__)
