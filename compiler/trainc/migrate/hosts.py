"""Names that an old operator gives to pods, in the texts of a job: labels and hosts that JobSet spells differently."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from trainc.basics.jsonvalues import Json, Path
from trainc.migrate.jobs import Replicas

JOBSET_LABEL: Final = "jobset.sigs.k8s.io/jobset-name"
OF_JOBS: Final = (
    "training.kubeflow.org/job-name",
    "pytorch-job-name",
    "tf-job-name",
    "mpi-job-name",
    "mpi_job_name",
    "volcano.sh/job-name",
)
_OLD_LABELS: Final = re.compile(r"training\.kubeflow\.org/[a-z-]+")
_HOST: Final = r"(?<![A-Za-z0-9-]){}-(?:(?:master|worker|chief|ps|evaluator)-[0-9]+|launcher)(?![A-Za-z0-9-])"


def with_new_labels(replicas: Replicas, tree: Any) -> None:
    """Replace, in the selectors of new trees, the label of the old job's pods with JobSet's."""
    if isinstance(tree, CommentedMap):
        if tree.get("key") in OF_JOBS:
            tree["key"] = JOBSET_LABEL
        for label in [key for key in tree if key in OF_JOBS and tree[key] == replicas.old.name]:
            tree.insert(list(tree).index(label), JOBSET_LABEL, tree.pop(label))
    for value in tree.values() if isinstance(tree, CommentedMap) else tree if isinstance(tree, CommentedSeq) else ():
        with_new_labels(replicas, value)


def check_hosts(replicas: Replicas, job: str) -> None:
    """Report hosts and labels of the old job in the texts of a pod template."""
    old = replicas.old
    pattern = re.compile(_HOST.format(re.escape(old.name)))
    for path, text in _texts(old.get(*replicas.template), replicas.template):
        if (found := pattern.search(text)) is not None:
            message = f"host {found[0]} does not exist: the pods of a JobSet have other names"
            old.refuse(path, message, f"use the host {old.name}-{job}-0-0.{old.name}, or its variable")
        if (found := _OLD_LABELS.search(text)) is not None and found[0] not in OF_JOBS:
            message = f"the pods of a JobSet do not have the label {found[0]}"
            old.refuse(path, message, "use a label of JobSet: jobset.sigs.k8s.io/replicatedjob-name, ...")


def _texts(value: Json, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the texts of a template, keys included, but for its images."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key != "image":
                yield (*path, key), key
                yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))
    elif isinstance(value, str):
        yield path, value
