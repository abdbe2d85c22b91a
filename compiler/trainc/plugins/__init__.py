"""The plugins of Trainer, in the order in which they run.

Upstream runs them in Go's random map order; here they are sorted by the bytes of upstream's names. The order is part of
the output contract.
"""

from trainc.plugins import coscheduling, flux, jax, jobset, mpi, plainml, torch, volcano, xgboost
from trainc.plugins.base import Plugin
from trainc.plugins.model import Findings, Model, Object

PLUGINS: tuple[Plugin, ...] = (
    coscheduling.PLUGIN,
    flux.PLUGIN,
    jax.PLUGIN,
    jobset.PLUGIN,
    mpi.PLUGIN,
    plainml.PLUGIN,
    torch.PLUGIN,
    volcano.PLUGIN,
    xgboost.PLUGIN,
)

__all__ = ["PLUGINS", "Plugin", "built", "check", "shaped"]


def check(model: Model) -> Findings:
    """Return what the plugins find in a joined model."""
    return tuple(finding for plugin in PLUGINS for finding in plugin.check(model))


def shaped(model: Model) -> Model:
    """Return the model after every plugin."""
    for plugin in PLUGINS:
        model = plugin.shape(model)
    return model


def built(model: Model) -> tuple[tuple[str, Object], ...]:
    """Return the objects of a shaped model, with the name of the plugin, in the order in which they are emitted."""
    return tuple((plugin.name, obj) for plugin in PLUGINS for obj in plugin.build(model))
