"""Causes of the ranks' time, and the sentence that says what limits a run and what would change it.

The sentence is derived from the critical path: the chain of dependencies that ends with the rank that was
done last. Its parts sum to the makespan: shortening a part shortens the run by as much, until another chain
is longer. Each `Limit` has an estimate from that; `hopcast run --what-if` simulates changes of the platform.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hopcast.report import units

CAUSES = (
    ("late_sender", "late sender"),
    ("late_receiver", "late receiver"),
    ("no_progress", "no progress"),
    ("imbalance", "imbalance at collectives"),
    ("contention", "contention"),
    ("bandwidth", "bandwidth"),
    ("latency", "latency"),
    ("software", "MPI software"),
    ("storage", "files"),
)
"""Each cause of time in MPI by its name in tables, with its words."""

OPEN_CALLS = "in calls that had not ended"
"""Words for the time of a run that ended early which has no cause yet."""

_GENERIC = 0.5
"""Weight of faster processors, which help every run: a more specific limit wins if it saves half as much."""
_INCAST_RANKS = 4
"""Fewest ranks of an incast."""
_INCAST_SHARE = 0.4
"""Least share of all bytes that one rank receives in an incast."""
_CONTENDED = 0.2
"""Share of contention in transfers from which on a shared resource is named."""
_LEAST = 0.005
"""Least saving that is worth a sentence, as a share of the makespan."""
_WORTH = 0.5
"""A resource is widened alone if that gains at least this share of what it would gain beside empty ones."""


@dataclass(frozen=True)
class Limit:
    """The limit of a run, and a change that would help."""

    kind: str
    """"late-sender", "slow-rank", "serial-part", "imbalance", "computing", "no-progress", "latency",
    "software", "nic", "process", "incast", "links", "placement", "memory" or "bandwidth"."""
    why: str
    """The limit, in a sentence."""
    change: str
    """The change, in words that follow "with"."""
    saves: float
    """Share of the makespan that the change would save, as the critical path says [0..1]."""
    keys: tuple[str, ...] = ()
    """Values of the platform that the change concerns, see `hopcast.what_if`; none if only estimated."""


def split(summary: dict) -> list[tuple[str, str, float]]:
    """Computing and the causes of time in MPI that occur: (name, words, share of the ranks' time)."""
    causes = summary.get("causes")
    if not causes:
        return []
    times = [("compute", "computing", summary["time"]["compute_s"])]
    times += [(name, words, causes[f"{name}_s"]) for name, words in CAUSES]
    if open_s := open_calls_s(summary):
        times.append(("idle", OPEN_CALLS, open_s))
    elif _at_recorded_times(summary):
        idle = max(0.0, summary["ranks"] * summary["makespan_s"] - sum(time for *_, time in times))
        times.append(("idle", "idle until recorded times", idle))
    total = sum(time for *_, time in times)
    return [(name, words, time / total) for name, words, time in times if time > 0] if total else []


def open_calls_s(summary: dict) -> float:
    """Time of the ranks of a run that ended early which has no cause yet [s].

    It is that of calls that had not ended, after the end of ranks that were done, and of replays at recorded
    times until these.
    """
    causes = summary.get("causes")
    if not causes or not (summary.get("partial") or summary.get("failure")):
        return 0.0
    known_s = summary["time"]["compute_s"] + sum(causes[f"{name}_s"] for name, _ in CAUSES)
    open_s = summary["ranks"] * summary["makespan_s"] - known_s
    return open_s if open_s > _LEAST * summary["ranks"] * summary["makespan_s"] else 0.0


def _at_recorded_times(summary: dict) -> bool:
    """True for a replay whose calls wait for their recorded times: what one did not need is idle time."""
    made_by = summary.get("made_by") or {}
    return (made_by.get("options") or {}).get("mode") == "timestamps"


def limit_of(summary: dict) -> dict | None:
    """Limit of a run as `report.json` gives it; `None` where not all ranks were done."""
    path, whole = summary.get("critical_path"), summary.get("makespan_s")
    if not path or not whole:
        return None
    found = list(_limits(summary, path, whole))
    best = max(found, key=lambda limit: limit.saves * (_GENERIC if limit.kind == "computing" else 1.0))
    if best.saves < _LEAST:
        return None
    return {
        "kind": best.kind,
        "why": best.why,
        "change": best.change,
        "saves": best.saves,
        "source": "estimate",
        "keys": list(best.keys),
    }


def sentence(limit: dict) -> str:
    """The limit of a run and what would change it, in words."""
    percent, simulated = 100 * limit["saves"], limit["source"] == "simulation"
    effect = f"{percent:.0f} % shorter" if percent >= 0 else f"{-percent:.0f} % longer"
    if not simulated:
        # Another chain of dependencies may become the longest, or other parts of the path shorter, too.
        effect = f"about {effect}"
    source = "simulated" if simulated else "an estimate from its critical path"
    return f"{limit['why']} With {limit['change']}, the run would be {effect} ({source})."


def _limits(summary: dict, path: dict, whole: float) -> Iterator[Limit]:
    yield from _of_computing(summary, path, whole)
    share = {name: path[f"{name}_s"] / whole for name in ("no_progress", "latency", "software")}
    yield Limit(
        "no-progress",
        f"Missing progress limits this run: {units.percent(share['no_progress'])} of its critical path are "
        "messages whose handshake stood while a rank computed outside MPI.",
        "mpi.progress = asynchronous",
        share["no_progress"],
        ("mpi.progress",),
    )
    yield Limit(
        "latency",
        f"Latency limits this run: it is {units.percent(share['latency'])} of its critical path.",
        "half the latency of links, NICs, memory and regimes",
        share["latency"] / 2,
        ("latency",),
    )
    yield Limit(
        "software",
        "MPI's own work limits this run: overheads, copies and reductions are "
        f"{units.percent(share['software'])} of its critical path.",
        "half the overheads, and twice the rates of copies and reductions",
        share["software"] / 2,
        ("overhead",),
    )
    yield _of_transfer(summary, path, whole)


def _of_computing(summary: dict, path: dict, whole: float) -> Iterator[Limit]:
    balance, ranks, compute = summary["balance"], summary["ranks"], path["compute_s"]
    most, following, mean = balance["compute_s"], balance["next_s"], balance["mean_s"]
    rank, time = f"rank {balance['rank']}", units.seconds(most)
    yield Limit(
        "computing",
        f"Computing limits this run: it is {units.percent(compute / whole)} of its critical path.",
        "ranks that compute twice as fast",
        compute / 2 / whole,
    )
    excess = min(most - following, compute)
    if ranks > 1 and _is_serial(balance):
        yield Limit(
            "serial-part",
            f"A serial part limits this run: {rank} computes for {units.seconds(excess)} while all others "
            "wait.",
            "that part shared by all ranks",
            excess * (1 - 1 / ranks) / whole,
        )
    elif ranks > 1 and most > 0:
        target = max(following, most / 2)
        causes = summary["causes"]
        late = causes["late_sender_s"] + causes["late_receiver_s"] + causes["no_progress_s"]
        saves = min(most - target, compute) / whole
        waited = units.percent(late / (ranks * whole))
        if late > causes["imbalance_s"] and causes["no_progress_s"] > late / 2:
            why = (
                f"One busy rank limits this run: {rank} computes for {time} outside MPI, and the others wait "
                f"{waited} of their time, mostly for handshakes that stand meanwhile (no progress)."
            )
            yield Limit("slow-rank", why, f"{units.seconds(target)} of computing in {rank}", saves)
        elif late > causes["imbalance_s"]:
            who = "receiver" if causes["late_receiver_s"] > causes["late_sender_s"] else "sender"
            why = (
                f"A late {who} limits this run: ranks wait {waited} of their time, since {rank} computes for "
                f"{time} first."
            )
            yield Limit("late-sender", why, f"{units.seconds(target)} of computing in {rank}", saves)
        else:
            others = units.seconds(following)
            why = (
                f"One slow rank limits this run: {rank} computes for {time}, the others for at most {others}."
            )
            yield Limit("slow-rank", why, f"{units.seconds(target)} of computing in {rank}", saves)
    if compute > most:
        yield Limit(
            "imbalance",
            f"Imbalance limits this run: its critical path computes for {units.seconds(compute)}, a rank for "
            f"{units.seconds(mean)} on average; now one and now another rank is late.",
            "computing spread evenly over ranks at all times",
            (compute - mean) / whole,
        )


def _is_serial(balance: dict) -> bool:
    """True if the rank that computes the most has stretches of computing that the others do not have."""
    if balance["median_s"] == 0:
        return False
    more = balance["compute_s"] / balance["median_s"]
    longer = balance["longest_s"] / balance["median_longest_s"]
    return more > 1 and (balance["stretches"] > balance["median_stretches"] or longer > 1.5 * more)


def _of_transfer(summary: dict, path: dict, whole: float) -> Limit:
    held, flowing = path["contention_s"] / whole, path["bandwidth_s"] / whole
    saves = (held + flowing) / 2
    place = _where(summary) if held > _CONTENDED * (held + flowing) else None
    if summary["hosts_used"] == 1:
        place = "memory"
    share = units.percent(held + flowing)
    full = summary.get("utilisation")
    if place in (None, "NIC") and _are_paths_fullest(full):
        return _widened(_of_paths(summary, share, saves, crowded=place == "NIC"), full)
    if place == "memory":
        kind: str = "memory"
        keys: tuple[str, ...] = ("memory",)
        why = f"The memory of nodes limits this run: messages within them are {share} of its critical path."
    elif place is None:
        kind, keys = "bandwidth", _fullest_on_the_way(full)
        why = f"Bandwidth limits this run: the bytes of messages are {share} of its critical path."
    elif place == "NIC" and _is_incast(summary):
        kind, keys, balance = "incast", ("nic",), summary["balance"]
        why = (
            f"Incast limits this run: {units.percent(balance['receiver_share'])} of all bytes go to rank "
            f"{balance['receiver']}, whose NIC its senders share; transfers are {share} of the critical path."
        )
    elif place == "NIC":
        kind, keys = "nic", ("nic",)
        why = f"NICs limit this run: messages that share them are {share} of its critical path."
    else:
        kind, keys = "links", ("links",)
        name = "the network" if place == "network" else f"links of class '{place}'"
        why = f"Contention on {name} limits this run: transfers are {share} of its critical path."
    return _widened(Limit(kind, why, _twice(keys), saves, keys), full)


def _where(summary: dict) -> str | None:
    """Place at which contention limits the run: of those with much of it, the one at the fullest resource."""
    places, full = summary["contention"], summary.get("utilisation") or {}
    named = {"NIC": "nic", "memory": "memory"}
    times: dict[str, float] = {}
    for entry in places:
        resource = named.get(entry["at"], "links")
        times[resource] = times.get(resource, 0.0) + entry["time_s"]
    most = max(times.values(), default=0.0)
    candidates = [resource for resource, time in times.items() if time >= _MUCH * most]
    if not candidates:
        return None
    fullest = max(candidates, key=lambda resource: (full.get(resource, 0.0), times[resource]))
    return next(entry["at"] for entry in places if named.get(entry["at"], "links") == fullest)


def _fullest_on_the_way(full: dict | None) -> tuple[str, ...]:
    """The fuller of NICs and links, or both where the model does not know."""
    if not full or full["nic"] == full["links"]:
        return ("nic", "links")
    return ("nic",) if full["nic"] > full["links"] else ("links",)


def _are_paths_fullest(full: dict | None) -> bool:
    """True if paths of processes are fuller than NICs, links and memory, in models that know of links."""
    if not full or not full.get("process") or not full["nic"]:
        return False
    return full["process"] > max(full[name] for name in ("nic", "links", "memory"))


def _of_paths(summary: dict, share: str, saves: float, *, crowded: bool) -> Limit:
    keys, full, balance = ("process",), summary["utilisation"], summary["balance"]
    if crowded and _is_incast(summary):
        why = (
            f"Incast limits this run: {units.percent(balance['receiver_share'])} of all bytes go to rank "
            f"{balance['receiver']}, whose own path from its NIC its senders share "
            f"(mpi.regimes.process_rate); transfers are {share} of the critical path."
        )
        return Limit("incast", why, _twice(keys), saves, keys)
    why = (
        "The path of a process to its NIC limits this run (mpi.regimes.process_rate): transfers are "
        f"{share} of its critical path, and the fullest such path is {units.percent(full['process'])} busy, "
        f"the fullest NIC {units.percent(full['nic'])}."
    )
    return Limit("process", why, _twice(keys), saves, keys)


def _is_incast(summary: dict) -> bool:
    ranks = summary["ranks"]
    crowd = max(_INCAST_SHARE, 2 / ranks)
    return ranks >= _INCAST_RANKS and summary["balance"]["receiver_share"] > crowd


def _twice(keys: tuple[str, ...]) -> str:
    names = {
        "nic": "NICs",
        "process": "processes' paths to their NICs",
        "links": "links",
        "memory": "memory",
    }
    return f"twice the bandwidth of {units.listed([names[key] for key in keys])}"


_MUCH = 1 / 3
"""Share of the most contended resource's contention from which on a fuller one is the limit."""
_AS_FULL = 1.05
"""Up to this ratio of their utilisations two resources are called alike."""


def _widened(limit: Limit, full: dict | None) -> Limit:
    """`limit` with its gain as the next fullest resource caps it; both widened if that is nearly as full.

    Transfers that took s become no shorter than s · next / named, the utilisations of both.
    """
    # Twice the bandwidth of NICs includes the paths of processes to them.
    own = {*limit.keys, "process"} if "nic" in limit.keys else set(limit.keys)
    others = [
        name for name in ("nic", "process", "links", "memory") if name not in own and name in (full or {})
    ]
    named = max(full[name] for name in limit.keys) if full else 0.0
    if not (full and others and named):
        return limit
    following = max(others, key=lambda name: full[name])
    left = max(0.5, min(1.0, full[following] / named))
    alone = 2 * limit.saves * (1 - left)
    if alone >= _WORTH * limit.saves:
        return replace(limit, saves=alone)
    classes = full["links_class"]
    words = {
        "nic": "NICs",
        "process": "processes' paths to their NICs",
        "links": f"links of class '{classes}'",
        "memory": "the memory of nodes",
    }
    verb = "is" if following == "memory" else "are"
    name = words[following][0].upper() + words[following][1:]
    keys = (*limit.keys, following)
    how = "even fuller" if full[following] > _AS_FULL * named else "nearly as full"
    both = replace(limit, why=f"{limit.why} {name} {verb} {how}.", change=_twice(keys), keys=keys)
    return _widened(both, full)
