"""A pod template of an old job, divided between the trainer and the patch of a TrainJob, and a runtime."""

from __future__ import annotations

from typing import Final

from ruamel.yaml.comments import CommentedMap

from trainc.migrate.documents import Old
from trainc.migrate.jobs import Replicas
from trainc.migrate.trees import mapping, sequence
from trainc.upstream import ANCESTOR_LABEL, NODE, TRAINER

MANAGER: Final = "trainc.dev/import"
PATCHABLE: Final = (
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "nodeSelector",
    "affinity",
    "tolerations",
    "schedulingGates",
    "imagePullSecrets",
    "securityContext",
    "volumes",
)
"""The fields of a pod that a runtime patch can set."""
PATCHABLE_OF_CONTAINERS: Final = ("securityContext", "volumeMounts")


def trained(old: Old, job: CommentedMap, replicas: Replicas, variables: tuple[str, ...] = ()) -> CommentedMap:
    """Move a pod template to the trainer and a patch of a TrainJob; return the replicated job with the rest.

    ``variables`` are those that the old operator sets, in place of the user's.
    """
    trainer = job["spec"]["trainer"]
    at = replicas.container
    for key in ("image", "command", "args"):
        old.put(trainer, key, *at, key)
    env = sequence()
    for index, variable in enumerate(old.items(*at, "env")):
        if variable.get("name") in variables:
            old.note((*at, "env", index), f"the operator replaces {variable['name']}, so it is left out")
        else:
            old.put(env, None, *at, "env", index)
    if env:
        trainer["env"] = env
    old.put(trainer, "resourcesPerNode", *at, "resources")
    container = mapping(name=NODE, image=str(old.get(*at, "image")))
    old.done(*at, "name")
    patch = _patch(old, replicas)
    if patch:
        change = mapping(name=NODE, template=mapping(spec=mapping(template=patch)))
        spec = mapping(template=mapping(spec=mapping(replicatedJobs=sequence(change))))
        job["spec"]["runtimePatches"] = sequence(mapping(manager=MANAGER, trainingRuntimeSpec=spec))
    pod = mapping(containers=sequence(container))
    for key in old.keys(*at):
        if key not in ("image", "command", "args", "env", "resources", "name", *PATCHABLE_OF_CONTAINERS):
            old.put(container, key, *at, key)
    labels = mapping()
    labels[ANCESTOR_LABEL] = TRAINER
    return mapping(
        name=NODE, template=mapping(metadata=mapping(labels=labels), spec=mapping(template=mapping(spec=pod)))
    )


def _patch(old: Old, replicas: Replicas) -> CommentedMap:
    """Move what a runtime patch can set."""
    spec, container, metadata = mapping(), mapping(), mapping()
    for key in PATCHABLE:
        old.put(spec, key, *replicas.pod, key)
    for key in PATCHABLE_OF_CONTAINERS:
        old.put(container, key, *replicas.container, key)
    for key in ("labels", "annotations"):
        old.put(metadata, key, *replicas.template, "metadata", key)
    if container:
        spec["containers"] = sequence(mapping(name=NODE, **container))
        for key in container:
            old.moved(spec["containers"][0], key, *replicas.container, key)
    patch = mapping()
    if metadata:
        patch["metadata"] = metadata
    if spec:
        patch["spec"] = spec
    return patch
