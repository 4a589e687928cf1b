"""Settings of processors: set where the system permits it, else recorded as not controlled.

Hyper-threading, turbo, idle states (C-states) and frequencies are files of Linux' sysfs, which root may
write. What was set is read back, and put back in the end.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from hopcast.errors import InputError
from hopcast.experiment.nodes import Node

NOT_CONTROLLED = "not controlled"


@dataclass(frozen=True)
class Knob:
    """One setting: its files, and the texts by which they say on and off."""

    files: tuple[str, ...]
    """Patterns; the first that matches a file is it."""
    on: tuple[str, ...]
    off: tuple[str, ...]
    """Texts for each pattern."""


KNOBS = {
    "hyperthreading": Knob(("devices/system/cpu/smt/control",), ("on",), ("off",)),
    "turbo": Knob(
        ("devices/system/cpu/intel_pstate/no_turbo", "devices/system/cpu/cpufreq/boost"),
        ("0", "1"),
        ("1", "0"),
    ),
    "c_states": Knob(("devices/system/cpu/cpu*/cpuidle/state[1-9]*/disable",), ("0",), ("1",)),
}
"""Settings that are on or off."""
FREQUENCIES = {
    "least_frequency": "devices/system/cpu/cpu*/cpufreq/scaling_min_freq",
    "most_frequency": "devices/system/cpu/cpu*/cpufreq/scaling_max_freq",
}
"""Bounds of the frequency, which are set to the same."""


@dataclass(frozen=True)
class Setting:
    """A setting of a node, as an archive records it."""

    node: str
    setting: str
    wanted: str
    state: str
    """"controlled" or "not controlled"."""
    before: str = ""
    after: str = ""
    why: str = ""

    def record(self) -> dict[str, Any]:
        """The fields that say something."""
        return {name: value for name, value in asdict(self).items() if value}


def apply(node: Node, install: Mapping[str, Any], sysfs: str = "/sys") -> list[Setting]:
    """Sets what an install file asks for; what it does not name is recorded as not controlled."""
    found = []
    for name, knob in KNOBS.items():
        wanted = install.get(name)
        if wanted is None:
            found.append(
                Setting(node.host, name, "", NOT_CONTROLLED, why="the install file does not name it")
            )
            continue
        texts = knob.on if wanted == "on" else knob.off
        found.append(_set(node, name, wanted, list(zip(knob.files, texts, strict=True)), sysfs))
    return found + _frequency(node, install.get("frequency"), sysfs)


def _frequency(node: Node, wanted: str | None, sysfs: str) -> list[Setting]:
    """Sets both bounds. The least one may have to wait until the most is above it."""
    if wanted is None:
        why = "the install file does not name it"
        return [Setting(node.host, name, "", NOT_CONTROLLED, why=why) for name in FREQUENCIES]
    text = str(round(hertz(wanted) / 1000))
    found = [_set(node, name, wanted, [(file, text)], sysfs) for name, file in FREQUENCIES.items()]
    least, most = found
    if least.state == NOT_CONTROLLED and least.before:
        again = _set(node, least.setting, wanted, [(FREQUENCIES[least.setting], text)], sysfs)
        found = [replace(again, before=least.before), most]
    return found


def put_back(node: Node, settings: list[Setting], sysfs: str = "/sys") -> None:
    """Gives controlled settings their value of before."""
    for setting in settings:
        if setting.node == node.host and setting.state != NOT_CONTROLLED and setting.before != setting.after:
            knob = KNOBS.get(setting.setting)
            files = knob.files if knob else (FREQUENCIES[setting.setting],)
            for file in files:
                node.run(_script(file, setting.before, sysfs), check=False)


def _set(node: Node, name: str, wanted: str, ways: list[tuple[str, str]], sysfs: str) -> Setting:
    """Tries the files that a system may have for a setting."""
    why = "this system has no file for it"
    for file, text in ways:
        before = _value(node, file, sysfs)
        if not before:
            continue
        done = node.run(_script(file, text, sysfs), check=False)
        after = _value(node, file, sysfs)
        if after == text:
            return Setting(node.host, name, wanted, "controlled", before, after)
        why = (done.stderr.strip().splitlines() or [f"the system keeps {after}"])[-1]
        return Setting(node.host, name, wanted, NOT_CONTROLLED, before, after, why)
    return Setting(node.host, name, wanted, NOT_CONTROLLED, why=why)


def _value(node: Node, file: str, sysfs: str) -> str:
    """Value of the files of a pattern: one if all have the same, else all of them."""
    done = node.run(f"cat {shlex.quote(sysfs)}/{file} 2>/dev/null", check=False)
    values = list(dict.fromkeys(done.stdout.split()))
    return " ".join(values)


def _script(file: str, text: str, sysfs: str) -> str:
    return f'for file in {shlex.quote(sysfs)}/{file}; do echo {shlex.quote(text)} > "$file" || exit 1; done'


def hertz(text: str) -> float:
    """Frequency [Hz] of a text such as "2.1 GHz"."""
    number, _, unit = text.partition(" ")
    factors = {"GHz": 1e9, "MHz": 1e6, "kHz": 1e3}
    try:
        return float(number) * factors[unit]
    except (ValueError, KeyError):
        raise InputError(f"frequency: '{text}': write 2.1 GHz") from None
