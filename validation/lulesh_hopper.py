"""LULESH on 64 ranks of Hopper: its recording replayed where it was made, and on five other networks.

Compared:
1. The run time: recorded 54.47 s (the rank that ran longest, from its first call to its last return), and
   the replay in mode `dependencies` on the paper's platform (`platforms/hopper-2016.toml`), placed as
   recorded: recorded computing, simulated communication.
2. The duration of every MPI call: recorded; replayed in mode `timestamps`; and with time shift: Fig. 11.
3. What MPI_Waitall waits for: the same replay with progress of handshakes inside calls, as Cray's MPI has
   it, at any time, and without handshakes; call by call, and as a total of each rank.
4. The same recording on the networks of Table 1 of the flow paper, with dependencies (Fig. 7): 16 ranks per
   node as recorded, and one rank per node, which puts all messages on the network; there also with all
   messages at time zero (`none`, Fig. 8). Links split evenly (`equal-share`), as in the paper.
Source: Ahmed et al. (SIGSIM-PADS 2016), section 7: the very run, recorded at NERSC with DUMPI; Pakin, Yuan,
Lang (The Next Wave 20(2), 2013), Table 1, Figs. 7 and 8, which have another application (PAGOSA on 1,000
nodes).
Expected: (1) Below the recorded time by what the model leaves out: noise of the system inside MPI calls, and
the software of Cray's MPI, for which the platform, like the paper, has no time. (2) For that reason
MPI_Isend and MPI_Irecv take no time here, and some microseconds in the recording. MPI_Allreduce and MPI_Wait
agree: they wait for the ranks that come last, whose times are recorded. The shift changes little: calls are
seldom late in hopcast; the paper's were, so that its spread without shift was three times the recorded one.
(3) MPI_Waitall completes sends, right after they start. Their receives are posted long before, but the
receiver computes, 0.26 s at a stretch, without a call that would answer a handshake before its own sends.
So recorded sends wait for receivers that are late: 1.17 s of each rank's time, nearly all of what it spends
in point-to-point calls. With progress inside calls, so do hopcast's, on the same ranks. With progress at any
time they do not, and the same waiting moves to MPI_Wait, at the receives, where the recording has little.
Missing are 0.15 ms of each call and a quarter of each rank's first one: MPI's own copies and registration of
memory, and perhaps the setting up of connections, none of which the platform has. Other suspects play no
part: skewed clocks reach `timestamps` only, which agrees with `dependencies`; who computes how long, and so
who is late, is the recording's own in all rows; the eager limit, 8 KiB by Cray's default, may be anything
from 1.3 kB to 20 kB without a change, for edges are shorter and faces longer. (4) Networks differ by a
fraction of a percent with dependencies and by factors without; quartered bandwidth takes four times as long
where there is no computing between. Numbers of the paper's own application are not to be expected of
LULESH: 64 ranks in a row fill one plane of the torus, and shuffled ones have all of its links.
"""

from __future__ import annotations

from pathlib import Path

import null_model
import numpy
import pictures
import recordings
import results
import table_1
from results import Kind, Range, Result

import hopcast

KIND = Kind.MEASURED

HOPPER = Path(__file__).parent / "platforms" / "hopper-2016.toml"
"""The platform of the paper, whose messages cost no processor's time."""
NAME = "LULESH-64ranks-hopper"
RECORDED_S = 54.47
COUNTS = {
    "MPI_Isend": 123_336,
    "MPI_Irecv": 123_336,
    "MPI_Wait": 123_336,
    "MPI_Waitall": 12_864,
    "MPI_Allreduce": 6_336,
    "MPI_Barrier": 64,
    "MPI_Reduce": 64,
}
"""Section 7 of the paper."""
RANKS = 64
RECORDS = 4_000_000
"""More than the run has calls and stretches of computing."""
PANEL_S = 10.0
"""Fig. 11 shows the first ten seconds [s]."""
PROGRESS = {
    "in calls": {},
    "at any time": {"mpi.progress": "asynchronous"},
    "no handshakes": {"mpi.eager_limit": "1 MiB", "mpi.memory_eager_limit": "1 MiB"},
}
"""Changes of the platform, which has progress in calls."""

Calls = dict[str, tuple[numpy.ndarray, numpy.ndarray]]
"""By function: begins and durations of all its calls [s]."""


def columns(table) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Functions, begins and durations [s] of all calls, rank by rank; stretches of computing are left out."""
    names = table["call"].to_numpy(zero_copy_only=False)
    begins = table["begin_s"].to_numpy()
    durations = table["end_s"].to_numpy() - begins
    order = numpy.argsort(table["rank"].to_numpy(), kind="stable")
    order = order[names[order] != "compute"]
    return names[order], begins[order], durations[order]


def by_function(names: numpy.ndarray, begins: numpy.ndarray, durations: numpy.ndarray) -> Calls:
    """The calls of each function."""
    return {str(name): (begins[names == name], durations[names == name]) for name in sorted(set(names))}


def timestamps(trace: Path, shift: bool, recorded: numpy.ndarray) -> Calls:
    """The calls of the replay in mode `timestamps` on Hopper.

    Each is called what was recorded at its place: a replay has one operation for several functions of MPI.
    """
    report = hopcast.run(
        HOPPER,
        trace,
        placement="recorded",
        model=null_model.model("flow"),
        mode="timestamps",
        time_shift=shift,
        records=RECORDS,
    )
    names, begins, durations = columns(report.table("call_records"))
    if len(names) != len(recorded):
        raise SystemExit(f"the replay made {len(names)} calls, the recording has {len(recorded)}")
    return by_function(recorded, begins, durations)


def statistics(panels: dict[str, Calls]) -> None:
    """Prints count, mean, median, 99th percentile and maximum for each function and panel."""
    rows = []
    for name in panels["recorded"]:
        for panel, calls in panels.items():
            _, durations = calls[name]
            values = (durations.mean(), *numpy.percentile(durations, [50, 99]), durations.max())
            rows.append([name, panel, f"{len(durations):,}", *(f"{1e6 * value:,.1f}" for value in values)])
    head = ["function", "panel", "calls", "mean [µs]", "median [µs]", "p99 [µs]", "max [µs]"]
    results.show("Durations of MPI calls", head, rows)


def plot_calls(panels: dict[str, Calls], out: Path) -> None:
    """Fig. 11."""
    figure, axes = pictures.pyplot().subplots(3, 1, figsize=(11, 10), sharex=True, sharey=True)
    for axis, (panel, calls) in zip(axes, panels.items(), strict=True):
        for name in COUNTS:
            begins, durations = calls[name]
            shown = begins < PANEL_S
            axis.plot(
                begins[shown], 1e3 * durations[shown], linestyle="none", marker=".", markersize=2, label=name
            )
        axis.set(ylabel="duration [ms]", title=panel)
    axes[0].legend(ncols=4, fontsize="small", markerscale=4)
    axes[-1].set_xlabel("time of the call [s]")
    pictures.save(figure, out, "lulesh_hopper_calls")


def compare_calls(trace: Path, out: Path) -> list[Result]:
    """The three panels of Fig. 11."""
    recorded = columns(hopcast.recorded_calls(trace))
    panels = {
        "recorded": by_function(*recorded),
        "timestamps": timestamps(trace, False, recorded[0]),
        "timestamps, time shift": timestamps(trace, True, recorded[0]),
    }
    statistics(panels)
    plot_calls(panels, out)
    compared = [
        Result(f"calls of {name}", count, len(panels["timestamps"][name][0]), "", 0.0, "section 7", Kind.OWN)
        for name, count in COUNTS.items()
    ]

    def longest_ms(panel: str, name: str) -> float:
        begins, durations = panels[panel][name]
        return 1e3 * durations[begins < PANEL_S].max()

    def total_s(panel: str) -> float:
        return sum(float(durations.sum()) for _, durations in panels[panel].values())

    paper = Kind.PUBLISHED
    spread = longest_ms("timestamps", "MPI_Waitall") / longest_ms("recorded", "MPI_Waitall")
    why = "'as much as three times of the empirical results', read off a plot"
    compared.append(
        Result("spread without shift over recorded, MPI_Waitall", 3.0, spread, "", None, why, paper)
    )
    why = "'up to around 100 milliseconds', read off a plot"
    spikes = longest_ms("timestamps, time shift", "MPI_Waitall")
    compared.append(
        Result("longest MPI_Waitall with shift, first 10 s", 100.0, spikes, "ms", None, why, paper)
    )
    share = total_s("timestamps, time shift") / total_s("timestamps")
    why = "'becomes much lower', as calls were late in that simulation; here they are not"
    compared.append(
        Result("time in MPI, with shift over without", Range(high=1.0), share, "", None, why, paper)
    )
    reasons = {
        "MPI_Allreduce": (0.02, "recorded; most of it is waiting for the rank that comes last"),
        "MPI_Wait": (None, "recorded; the mean of few long waits"),
        "MPI_Waitall": (0.1, "recorded; sends wait for their receivers' next calls. Copies are missing"),
        "MPI_Isend": (None, "recorded; the platform hopper has no time of MPI's own software"),
    }
    for name, (allowed, why) in reasons.items():
        published, ours = (1e6 * float(panels[panel][name][1].mean()) for panel in ("recorded", "timestamps"))
        compared.append(Result(f"mean {name}, timestamps", published, ours, "µs", allowed, why))
    return compared


def by_progress(trace: Path) -> tuple[numpy.ndarray, dict[str, numpy.ndarray]]:
    """Functions of all calls, rank by rank; durations as recorded, and by progress [s]."""
    names, _, durations = columns(hopcast.recorded_calls(trace))
    taken = {"recorded": durations}
    for title, changed in PROGRESS.items():
        report = hopcast.run(
            HOPPER,
            trace,
            placement="recorded",
            model=null_model.model("flow"),
            set=changed,
            records=RECORDS,
        )
        taken[title] = columns(report.table("call_records"))[2]
    return names, taken


def compare_progress(trace: Path) -> list[Result]:
    """Compares times of MPI_Waitall and MPI_Wait by who answers a handshake, and when."""
    names, taken = by_progress(trace)
    rows, compared = [], []
    for name in ("MPI_Waitall", "MPI_Wait"):
        for title, durations in taken.items():
            ours = durations[names == name]
            values = (ours.mean(), *numpy.percentile(ours, [50, 90, 99]))
            total_s = ours.sum() / RANKS
            rows.append([name, title, *(f"{1e6 * value:,.1f}" for value in values), f"{total_s:.3f}"])
    head = ["function", "progress", "mean [µs]", "median [µs]", "p90 [µs]", "p99 [µs]", "of each rank [s]"]
    results.show("Waiting for messages, mode dependencies, platform hopper", head, rows)
    waitall = names == "MPI_Waitall"
    of_rank = {title: values[waitall].reshape(RANKS, -1).sum(axis=1) for title, values in taken.items()}
    for title, known in (("in calls", True), ("at any time", False)):
        for name, allowed in (("MPI_Waitall", 0.1), ("MPI_Wait", None)):
            published, ours = (1e6 * taken[column][names == name].mean() for column in ("recorded", title))
            why = "recorded; Cray's MPI, without copies" if known else "recorded; not how Cray's MPI works"
            what = f"mean {name}, dependencies, progress {title}"
            kind = Kind.MEASURED if known else Kind.OWN
            compared.append(Result(what, published, ours, "µs", allowed if known else None, why, kind))
        alike = float(numpy.corrcoef(of_rank["recorded"], of_rank[title])[0, 1])
        what = f"correlation with the recording, MPI_Waitall of each rank, progress {title}"
        why = "1: the same ranks wait for the same part of the time"
        compared.append(Result(what, Range(low=0.99), alike, "", 0.0 if known else None, why, kind))
    return compared


def compare_networks(trace: Path, out: Path) -> list[Result]:
    """Table 1 of the flow paper."""
    packed, spread, at_once = "16 ranks per node", "1 rank per node", "1 rank per node, all at time zero"
    last_s, mean_s = table_1.at_once(trace, 1)
    times = {
        packed: table_1.makespans(trace, "dependencies", 16),
        spread: table_1.makespans(trace, "dependencies", 1),
        at_once: last_s,
    }
    table_1.plot(times, mean_s, out, "lulesh_networks")
    results.show("LULESH on the networks of Table 1", *table_1.rows(times))
    compared = []
    why = "Fig. 7: 'a tiny fraction of a percent'; 1 % claimed here"
    for layout in (packed, spread):
        row = times[layout]
        compared += [
            Result(
                f"{name} over fat tree, {layout}",
                Range(0.99, 1.01),
                null_model.ratio(row[name], row["fat tree"]),
                "",
                0.0,
                why,
                Kind.PUBLISHED,
            )
            for name in table_1.NETWORKS
            if name != "fat tree"
        ]
    row = times[at_once]
    why = "Fig. 8: 'quartering the bandwidth exactly quadruples the communication time'"
    for name in ("fat tree", "3-D torus"):
        compared.append(
            Result(
                f"{name}, slow over fast, {at_once}",
                4.0,
                null_model.ratio(row[f"{name}, slow"], row[name]),
                "",
                0.02,
                why,
                Kind.PUBLISHED,
            )
        )
    why = "Fig. 8, of PAGOSA on 1,000 nodes; LULESH on 64 is limited by the nodes' own links on both networks"
    ratio = null_model.ratio(row["3-D torus"], row["fat tree"])
    compared.append(Result(f"3-D torus over fat tree, {at_once}", 1.7, ratio, "", None, why, Kind.PUBLISHED))
    return compared + table_1.means(last_s, mean_s, at_once)


def compare(out: Path, quick: bool) -> list[Result]:
    """Run time and waiting; then, unless quick, the calls and the networks."""
    trace = recordings.unpacked(NAME, out)
    report = hopcast.run(HOPPER, trace, placement="recorded", model=null_model.model("flow"))
    why = "recorded; the replay lacks noise and MPI's own software"
    compared = [Result("run time, dependencies, hopper", RECORDED_S, report.makespan_s, "s", 0.02, why)]
    compared += compare_progress(trace)
    if quick:
        return compared
    compared += compare_calls(trace, out)
    return compared + compare_networks(trace, out)


if __name__ == "__main__":
    results.main(compare, __doc__)
