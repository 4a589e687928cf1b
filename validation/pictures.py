"""Plots as files."""

from __future__ import annotations

from pathlib import Path


def pyplot():
    """matplotlib, without a window."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save(figure, out: Path, name: str) -> Path:
    """Writes `NAME.png` into `out` and says where."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{name}.png"
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot().close(figure)
    print(f"plot: {path}")
    return path
