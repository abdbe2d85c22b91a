"""What all v1 jobs have in common: metadata, run policy, and the parts of a TrainJob and of a runtime."""

from __future__ import annotations

from typing import Final

from ruamel.yaml.comments import CommentedMap

from trainc.basics.jsonvalues import Path
from trainc.migrate.documents import Old
from trainc.migrate.trees import mapping, sequence
from trainc.upstream import TRAINER_API

_OF_A_CLUSTER: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
)
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def new_job(old: Old) -> CommentedMap:
    """Return a TrainJob with the metadata of the old job, and an empty trainer."""
    metadata = mapping()
    for key in ("name", "namespace", "labels"):
        old.put(metadata, key, "metadata", key)
    annotations = mapping()
    for key in old.keys("metadata", "annotations"):
        if key == _APPLIED:
            old.done("metadata", "annotations", key)
        else:
            old.put(annotations, key, "metadata", "annotations", key)
    if annotations:
        metadata["annotations"] = annotations
    for key in _OF_A_CLUSTER:
        old.done("metadata", key)
    for key in ("apiVersion", "kind", "status"):
        old.done(key)
    spec = mapping()
    job = mapping(apiVersion=TRAINER_API, kind="TrainJob", metadata=metadata, spec=spec)
    spec["trainer"] = mapping()
    return job


def new_runtime(name: str, framework: str, policy: CommentedMap, *jobs: CommentedMap) -> CommentedMap:
    """Return a ClusterTrainingRuntime."""
    template = mapping(spec=mapping(replicatedJobs=sequence(*jobs)))
    labels = mapping()
    labels["trainer.kubeflow.org/framework"] = framework
    return mapping(
        apiVersion=TRAINER_API,
        kind="ClusterTrainingRuntime",
        metadata=mapping(name=name, labels=labels),
        spec=mapping(mlPolicy=policy, template=template),
    )


class Replicas:
    """The pods of one type of replicas: where they are in the old job, how many, and how they restart."""

    def __init__(self, old: Old, path: Path, container: str, restart: str) -> None:
        self.old = old
        self.path = path
        self.template: Path = (*path, "template")
        self.pod: Path = (*self.template, "spec")
        count = old.get(*path, "replicas")
        self.count = count if isinstance(count, int) else 1
        self.restart = str(old.get(*path, "restartPolicy") or restart)
        names = [old.get(*self.pod, "containers", index, "name") for index in range(self._containers)]
        self.main = names.index(container) if container in names else 0

    @property
    def _containers(self) -> int:
        found = self.old.get(*self.pod, "containers")
        return len(found) if isinstance(found, list) else 0

    @property
    def container(self) -> Path:
        """The path of the main container."""
        return (*self.pod, "containers", self.main)

    def words(self) -> str:
        """Return command, arguments and variables of the main container in one text."""
        keys = ("command", "args", "env")
        return " ".join(str(self.old.get(*self.container, key) or "") for key in keys)


def replicas_of(old: Old, field: str, container: str, restart: str, *types: str) -> dict[str, Replicas]:
    """Return the replicas of a job by type; types are spelt in any case."""
    found = {}
    specs = old.get("spec", field)
    for key in specs if isinstance(specs, dict) else ():
        name = next((name for name in types if name.lower() == key.lower()), None)
        if name is not None:
            found[name] = Replicas(old, ("spec", field, key), container, restart)
    return found
