"""The checks on what runs, but not as it was meant: TC83x."""

from __future__ import annotations

from trainc.checks.containers import check_containers
from trainc.checks.devices import check_devices
from trainc.checks.gangs import check_gangs
from trainc.checks.rendezvous import check_rendezvous
from trainc.diagnostics import Diagnostic
from trainc.model import Model, Object


def check_unmeant(model: Model, jobset: Object) -> list[Diagnostic]:
    """Return warnings on an admitted JobSet and the model that it was made of."""
    found = (*check_containers(model, jobset), *check_rendezvous(model, jobset))
    return list(dict.fromkeys((*found, *check_gangs(model, jobset), *check_devices(model))))
