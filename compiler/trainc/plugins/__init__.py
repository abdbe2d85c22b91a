"""The plugins of Trainer v2.3.0, in the order in which they run.

Upstream runs them in Go's random map order; here the order is that of the bytes of
upstream's names, and it is part of the output contract.
"""

from typing import cast

from trainc.plugins.base import Builds, Checks, Plugin, Shapes
from trainc.plugins.coscheduling import CoScheduling
from trainc.plugins.flux import Flux
from trainc.plugins.jax import Jax
from trainc.plugins.jobset import JobSet
from trainc.plugins.mpi import Mpi
from trainc.plugins.plainml import PlainML
from trainc.plugins.torch import Torch
from trainc.plugins.volcano import Volcano
from trainc.plugins.xgboost import XGBoost

PLUGINS: tuple[Plugin, ...] = (
    CoScheduling(),
    Flux(),
    Jax(),
    JobSet(),
    Mpi(),
    PlainML(),
    Torch(),
    Volcano(),
    XGBoost(),
)

# isinstance() would ask the same, and load inspect for it.
CHECKS = cast("tuple[Checks, ...]", tuple(plugin for plugin in PLUGINS if hasattr(plugin, "check")))
SHAPES = cast("tuple[Shapes, ...]", tuple(plugin for plugin in PLUGINS if hasattr(plugin, "shape")))
BUILDS = cast("tuple[Builds, ...]", tuple(plugin for plugin in PLUGINS if hasattr(plugin, "build")))

__all__ = ["BUILDS", "CHECKS", "PLUGINS", "SHAPES", "Builds", "Checks", "Plugin", "Shapes"]
