"""Flux: a Flux instance over the nodes of a job."""

from trainc.plugins.flux.plugin import Flux

__all__ = ["Flux"]
