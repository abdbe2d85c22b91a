"""What the objects are called that make keys."""

from __future__ import annotations

from trainc.model import Model
from trainc.source import JsonObject


def keys_name(model: Model) -> str:
    """Return the name of what makes the keys of a job."""
    return f"{model.name}-mpi-ssh-keys"


def metadata(model: Model, name: str) -> JsonObject:
    """Return the metadata of an object of the job's namespace."""
    return {"name": name, "namespace": model.namespace}
