"""The plugins of Trainer, in the order in which they run.

Upstream runs them in Go's random map order; here they are sorted by the bytes of upstream's names. The order is part of
the output contract.
"""

from collections.abc import Iterator

from trainc.plugins import flux, jax, jobset, mpi, plainml, podgroup, torch, xgboost
from trainc.plugins.base import Plugin
from trainc.plugins.model import Findings, Model, Object

PLUGINS: tuple[Plugin, ...] = (
    podgroup.COSCHEDULING,
    flux.PLUGIN,
    jax.PLUGIN,
    jobset.PLUGIN,
    mpi.PLUGIN,
    plainml.PLUGIN,
    torch.PLUGIN,
    podgroup.VOLCANO,
    xgboost.PLUGIN,
)

__all__ = ["PLUGINS", "Plugin", "built", "check", "enabled", "shaped"]


def enabled(model: Model) -> Iterator[Plugin]:
    """Yield the plugins that the runtime enables: those whose policy it has, and those for all jobs."""
    policies = model.policies
    return (plugin for plugin in PLUGINS if plugin.for_all_jobs or isinstance(policies.get(plugin.policy[-1]), dict))


def check(model: Model) -> Findings:
    """Return the findings of the plugins on a joined model."""
    return tuple(finding for plugin in enabled(model) for finding in plugin.check(model))


def shaped(model: Model) -> Model:
    """Return the model after every plugin."""
    for plugin in enabled(model):
        model = plugin.shape(model)
    return model


def built(model: Model) -> tuple[tuple[str, Object], ...]:
    """Return the objects of a shaped model, with the name of the plugin, in the order in which they are emitted."""
    return tuple((plugin.name, obj) for plugin in enabled(model) for obj in plugin.build(model))
