"""Models without data: what a person knows of a cluster, and changes of a fitted one.

    α_p ~ Normal(α, (α h)²)    β_p ~ Normal(β, (β h)²)    deviations of calls: v α_p M N K + v β_p

h: heterogeneity of processors; v: variability of calls. Days do not differ.

Source: Cornebize, github.com/Ezibenroc/hpl, generator of clusters by rate, latency, heterogeneity,
variability.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from hopcast.cluster.model import TERMS, ClusterModel, Kind
from hopcast.errors import InputError

FLOPS_OF_A_PRODUCT = 2
"""Floating-point operations of dgemm for each of its M N K."""


def of_rates(
    *, flop_rate: float, start_up_s: float, heterogeneity: float, variability: float, sockets: int
) -> ClusterModel:
    """Model of dgemm of a rate [flop/s] and a start-up [s]; heterogeneity and variability are relative."""
    if flop_rate <= 0 or start_up_s < 0 or heterogeneity < 0 or variability < 0 or sockets < 1:
        raise InputError("a rate is above zero, and nothing else of a cluster is negative")
    alpha = FLOPS_OF_A_PRODUCT / flop_rate
    # Deviations of a processor's calls are in proportion to its means: they go together, in space and in no
    # other way.
    follows = np.array([[1, 0], [0, 1], [variability, 0], [0, variability]])
    mean = follows @ [alpha, start_up_s]
    spatial = follows @ np.diag([(alpha * heterogeneity) ** 2, (start_up_s * heterogeneity) ** 2]) @ follows.T
    temporal = np.zeros_like(spatial)
    source = (
        f"assumed: {flop_rate:g} flop/s, start-up {start_up_s:g} s, heterogeneity {heterogeneity:g}, "
        f"variability {variability:g}"
    )
    return ClusterModel(
        (*TERMS, "deviation 1"), sockets, (Kind("all", 1.0, mean, spatial, temporal),), source
    )


def changed(
    model: ClusterModel,
    *,
    means: Mapping[str, float] | None = None,
    spatial: float = 1.0,
    temporal: float = 1.0,
) -> ClusterModel:
    """The model with other means of some terms [s], and with deviations in space and in time times a
    factor."""
    if spatial < 0 or temporal < 0:
        raise InputError(f"factors of deviations, {spatial:g} and {temporal:g}: not below zero")
    places = {model.place(term): value for term, value in (means or {}).items()}
    kinds = []
    for kind in model.kinds:
        mean = kind.mean.copy()
        for place, value in places.items():
            mean[place] = value
        kinds.append(
            replace(kind, mean=mean, spatial=kind.spatial * spatial**2, temporal=kind.temporal * temporal**2)
        )
    return replace(model, kinds=tuple(kinds))
