"""Choice of the noise of a kernel's calls around its mean f, by criterion.

    N-0   none                 where no size was repeated, or calls vary by less than can be told
    N-1   one deviation        σ
    N-2   a polynomial         σ(arguments)
    N′    modes                Σ w N(f (1 + μ), f s): some calls take a multiple of what others take

Each is judged by −2 ln L + p ln n over the single calls. N-1 and N-2 count as the likelier of normal and
half-normal. No deviation counts for less than `ACCURACY` of the time, since means are not known better:
small calls, which hardly vary, would decide alone. A half-normal has an edge of a hundredth of its deviation.
"""

from __future__ import annotations

import math

import numpy as np

from hopcast.calibrate.mixtures import HALF_NORMAL, NORMAL, Mixture

ACCURACY = 0.005
"""Relative accuracy of means."""
EDGE = 0.01
"""Deviation below the edge of a half-normal, as a share of that above."""
_SHAPES = (NORMAL, HALF_NORMAL)


def of_deviation(seconds: np.ndarray, mean: np.ndarray, deviation: np.ndarray, parameters: int) -> float:
    """Criterion of N-1 or N-2: of a mean and a deviation for each call."""
    likeliest = max(_log_density(seconds, mean, mean, deviation, shape).sum() for shape in _SHAPES)
    return float(parameters * math.log(len(seconds)) - 2 * likeliest)


def of_modes(seconds: np.ndarray, usual: np.ndarray, mixture: Mixture) -> float:
    """Criterion of N′: of modes relative to the usual time of each call."""
    parts = [
        math.log(mode.weight)
        + _log_density(seconds, usual, usual * (1 + mode.mean), usual * mode.deviation, mode.shape)
        for mode in mixture.modes
    ]
    likelihood = np.logaddexp.reduce(np.array(parts), axis=0).sum()
    return float((3 * len(parts) - 1) * math.log(len(seconds)) - 2 * likelihood)


def _log_density(
    seconds: np.ndarray, times: np.ndarray, centres: np.ndarray, spread: np.ndarray, shape: str
) -> np.ndarray:
    """Logarithms of the density of calls around their centres."""
    spread = np.maximum(spread, ACCURACY * times)
    if shape == NORMAL:
        return -0.5 * ((seconds - centres) / spread) ** 2 - np.log(spread * math.sqrt(2 * math.pi))
    above = spread / math.sqrt(1 - 2 / math.pi)
    beyond = seconds - (centres - above * math.sqrt(2 / math.pi))
    width = np.where(beyond < 0, EDGE * above, above)
    return -0.5 * (beyond / width) ** 2 - np.log(above * (1 + EDGE) * math.sqrt(math.pi / 2))
