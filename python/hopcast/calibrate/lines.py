"""Fits of one line a + b x: by least squares of the times, of their ratios, and of their logarithms.

- `least_squares`: Σ w (y − a − b x)², closed form. Weights 1/y² make it a fit of relative errors.
- `log_lines`: Σ w (ln y − ln(a + b x))² with a, b ≥ 0, by Gauss-Newton, for many ranges of the same points
  at once. A message's start-up and time per byte are not negative, and the noise of times is one of ratios.

Source of the logarithmic objective: Cornebize, "High performance computing: towards better performance
predictions and experiments", thesis, Université Grenoble Alpes 2021, 4.3.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

ITERATIONS_MOST = 40
CONVERGED = 1e-13
"""Relative change of the objective at which a fit has ended."""


@dataclass(frozen=True)
class Line:
    """Time a + b x with the standard error of both."""

    intercept: float
    slope: float
    intercept_error: float
    slope_error: float
    residual: float
    """Sum of squares that the fit has minimised."""
    correlation: float = math.nan
    """Correlation of both errors; nan where one of them is not known."""

    def at(self, x: np.ndarray) -> np.ndarray:
        """Value of the line."""
        return self.intercept + self.slope * x


def least_squares(x: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Line:
    """The line of least Σ w (y − a − b x)², and the standard errors that its residuals give."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    w = np.ones_like(x) if weights is None else np.asarray(weights, float)
    total = w.sum()
    x_mean, y_mean = (w @ x) / total, (w @ y) / total
    spread = w @ (x - x_mean) ** 2
    slope = (w @ ((x - x_mean) * (y - y_mean))) / spread if spread > 0 else 0.0
    intercept = y_mean - slope * x_mean
    residual = float(w @ (y - intercept - slope * x) ** 2)
    freedom = len(x) - 2
    variance = residual / freedom if freedom > 0 else np.inf
    slope_error = np.sqrt(variance / spread) if spread > 0 else np.inf
    intercept_error = np.sqrt(variance * (1 / total + x_mean**2 / spread)) if spread > 0 else np.inf
    together = -x_mean / np.sqrt(spread / total + x_mean**2) if spread > 0 and freedom > 0 else np.nan
    return Line(
        float(intercept),
        float(slope),
        float(intercept_error),
        float(slope_error),
        residual,
        float(together),
    )


def log_line(x: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> Line:
    """The line of least Σ w (ln y − ln(a + b x))² with a, b ≥ 0; a value of 0 has no standard error (nan)."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    w = np.ones_like(x) if weights is None else np.asarray(weights, float)
    intercept, slope, residual = (part[0] for part in log_lines(x, y, w, np.array([0]), np.array([len(x)])))
    value = intercept + slope * x
    free = [column for column, parameter in ((1 / value, intercept), (x / value, slope)) if parameter > 0]
    errors, together = np.full(2, np.nan), np.nan
    freedom = len(x) - len(free)
    if free and freedom > 0:
        columns = np.array(free)
        covariance = np.linalg.pinv(columns * w @ columns.T) * residual / freedom
        errors[[intercept > 0, slope > 0]] = np.sqrt(np.diag(covariance))
        if len(free) == 2 and errors.all():
            together = covariance[0, 1] / errors.prod()
    return Line(
        float(intercept), float(slope), float(errors[0]), float(errors[1]), float(residual), float(together)
    )


def log_lines(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, starts: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Intercepts, slopes and residuals of the fits of many ranges [start, end) of the points."""
    results = (np.empty(len(starts)), np.empty(len(starts)), np.empty(len(starts)))
    order = np.argsort(ends - starts, kind="stable")
    widest = max(1, int(2e6) // max(1, int((ends - starts).max())))
    for first in range(0, len(order), widest):
        rows = order[first : first + widest]
        width = int((ends[rows] - starts[rows]).max())
        places = np.minimum(starts[rows, None] + np.arange(width), len(x) - 1)
        inside = starts[rows, None] + np.arange(width) < ends[rows, None]
        fitted = _fit_rows(x[places], y[places], np.where(inside, weights[places], 0.0))
        for result, values in zip(results, fitted, strict=True):
            result[rows] = values
    return results


def _fit_rows(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One fit for each row: relative least squares first, then steps of Gauss-Newton while they help."""
    log_y = np.log(y)
    intercept, slope = _non_negative(x, y, w / y**2)
    residual = _residual(x, log_y, w, intercept, slope)
    running = np.arange(len(x))
    for _ in range(ITERATIONS_MOST):
        xs, logs, ws = x[running], log_y[running], w[running]
        value = intercept[running, None] + slope[running, None] * xs
        target = value * (1 + logs - np.log(value))
        step = _non_negative(xs, target, ws / value**2)
        before = residual[running]
        best = before.copy()
        for fraction in (1.0, 0.5, 0.125):
            worse = np.flatnonzero(best >= before)
            if not len(worse):
                break
            some = running[worse]
            tried = [
                old[some] + fraction * (new[worse] - old[some])
                for old, new in ((intercept, step[0]), (slope, step[1]))
            ]
            found = _residual(xs[worse], logs[worse], ws[worse], *tried)
            better = found < before[worse]
            best[worse[better]] = found[better]
            intercept[some[better]], slope[some[better]] = tried[0][better], tried[1][better]
            residual[some[better]] = found[better]
        running = running[best < before * (1 - CONVERGED)]
        if not len(running):
            break
    return intercept, slope, residual


def _residual(
    x: np.ndarray, log_y: np.ndarray, w: np.ndarray, intercept: np.ndarray, slope: np.ndarray
) -> np.ndarray:
    value = intercept[:, None] + slope[:, None] * x
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = w * (log_y - np.log(value)) ** 2
    return np.where(w > 0, squares, 0.0).sum(axis=1)


def _non_negative(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares of each row with a, b ≥ 0: of two parameters, each may be at its bound."""
    sums = [(w * term).sum(axis=1) for term in (np.ones_like(x), x, x * x, y, x * y)]
    total, first, second, constant, product = sums
    determinant = total * second - first**2
    singular = determinant <= 1e-14 * total * second
    with np.errstate(divide="ignore", invalid="ignore"):
        intercept = (second * constant - first * product) / determinant
        slope = (total * product - first * constant) / determinant
        only_slope = np.where(second > 0, product / second, 0.0)
    flat = singular | (slope < 0)
    through_origin = ~flat & (intercept < 0)
    mean = np.maximum(constant / total, np.finfo(float).tiny)
    slope = np.where(flat, 0.0, np.where(through_origin, np.maximum(only_slope, 0), slope))
    intercept = np.where(flat, mean, np.where(through_origin, 0.0, intercept))
    return intercept, slope
