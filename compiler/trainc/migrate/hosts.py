"""Names that an old operator gives to pods, in the texts of a job: labels and hosts that JobSet spells differently."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from trainc.migrate.jobs import Replicas, texts

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
ROLES: Final = ("master", "worker", "chief", "ps", "evaluator")
"""The types of replicas in the names of an operator's pods."""
_HOST: Final = r"(?<![\w-]){}-(?:(?:{})-\d+|launcher)(?![\w-])"


def with_new_labels(replicas: Replicas, tree: Any) -> None:
    """Replace, in the selectors of new trees, the label of the old job's pods with JobSet's."""
    if isinstance(tree, CommentedMap):
        if tree.get("key") in OF_JOBS:
            tree["key"] = JOBSET_LABEL
        for label in [key for key in tree if key in OF_JOBS and tree[key] == replicas.old.name]:
            tree.insert(list(tree).index(label), JOBSET_LABEL, tree.pop(label))
    for value in tree.values() if isinstance(tree, CommentedMap) else tree if isinstance(tree, CommentedSeq) else ():
        with_new_labels(replicas, value)


def check_hosts(replicas: Replicas, job: str, roles: Iterable[str]) -> None:
    """Report hosts and labels of the old job in the texts of a pod template, keys included, but for its images."""
    old = replicas.old
    pattern = re.compile(_HOST.format(re.escape(old.name), "|".join(map(re.escape, roles))))
    for path, text in texts(old.get(*replicas.template), replicas.template):
        if path[-1] == "image":
            continue
        if (found := pattern.search(text)) is not None:
            message = f"host {found[0]} does not exist: the pods of a JobSet have other names"
            hint = (
                f"the pods of this template are now {old.name}-{job}-0-0.{old.name} and so on: use those, or a variable"
            )
            old.refuse(path, message, hint)
        if (found := _OLD_LABELS.search(text)) is not None and found[0] not in OF_JOBS:
            message = f"the pods of a JobSet do not have the label {found[0]}"
            old.refuse(path, message, "use a label of JobSet: jobset.sigs.k8s.io/replicatedjob-name, ...")
