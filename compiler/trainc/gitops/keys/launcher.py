"""The pods of a JobSet that mount the keys, and the one that they are made for."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from trainc.model import LAUNCHER, NODE
from trainc.source import JsonObject, Path, as_object, get, objects


class Launcher(Struct, frozen=True):
    """A pod's spec, and its container that runs MPI, with their paths in the JobSet."""

    path: Path
    spec: JsonObject
    container_path: Path
    container: JsonObject


def launcher_of(jobset: JsonObject, secret: str) -> Launcher | None:
    """Return the launcher if it mounts a Secret, else the first pod that does, or None."""
    found = list(mounting(jobset, secret))
    if not found:
        return None
    index = next((i for i, job in found if job.get("name") == LAUNCHER), found[0][0])
    path: Path = ("spec", "replicatedJobs", index, "template", "spec", "template", "spec")
    spec = as_object(get(jobset, *path))
    containers = objects(spec.get("containers"))
    number = next((i for i, container in enumerate(containers) if container.get("name") == NODE), 0)
    return Launcher(path, spec, (*path, "containers", number), containers[number])


def mounting(jobset: JsonObject, secret: str) -> Iterator[tuple[int, JsonObject]]:
    """Yield index and replicated job where a volume is the Secret of that name."""
    for index, job in enumerate(objects(get(jobset, "spec", "replicatedJobs"))):
        for volume in objects(get(job, "template", "spec", "template", "spec", "volumes")):
            if "secret" in volume and get(volume["secret"], "secretName") == secret:
                yield index, job
                break
