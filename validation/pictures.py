"""Plots as files."""

from __future__ import annotations

from pathlib import Path

import null_model


def pyplot():
    """matplotlib, without a window."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save(figure, out: Path, name: str) -> Path:
    """Writes `NAME.png` into `out` and says where; nothing for the infinite network."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.png"
    if null_model.is_active():
        pyplot().close(figure)
        return path
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot().close(figure)
    print(f"plot: {path}")
    return path
