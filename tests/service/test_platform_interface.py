"""Presets, patterns and pictures of networks, for scripts."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from conftest import User

from hopcast import core


def test_presets_and_patterns_are_listed(idle: User) -> None:
    presets = {entry["name"]: entry for entry in idle.ask("GET", "/platforms")}
    assert presets["hopper"]["source"] and "fat-tree" in presets
    patterns = {entry["name"]: entry for entry in idle.ask("GET", "/patterns")}
    assert "bytes" in {parameter["name"] for parameter in patterns["halo3d"]["parameters"]}


def test_networks_are_drawn(idle: User) -> None:
    answer = idle.http.get("/api/v1/platforms/fat-tree/drawing", headers=idle.headers)
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert ET.fromstring(answer.text).tag.endswith("svg")
    text = core.platform_text("fat-tree", (), False)
    assert idle.ask("POST", "/drawings", json={"platform": text}).decode() == answer.text
    idle.ask("GET", "/platforms/nope/drawing", 404)
    wrong = idle.ask("POST", "/drawings", 422, json={"platform": text + "\nnonsense = 1\n"})
    assert wrong["field"] == "platform" and "nonsense" in wrong["detail"]
