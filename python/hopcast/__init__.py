"""hopcast forecasts how long an MPI application takes on a machine that you do not have."""

from hopcast._core import VERSION as __version__

__all__ = ["__version__"]
