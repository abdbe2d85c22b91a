"""Names that an old operator gives to pods, in the texts of a job: labels and hosts that JobSet spells differently."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap, CommentedSeq

from trainc.basics.jsonvalues import Path
from trainc.kube.names import DNS1123_SUBDOMAIN_MAX_LENGTH
from trainc.kube.pods import APP_ARMOR
from trainc.migrate.documents import Old
from trainc.migrate.jobs import Replicas, texts
from trainc.upstream import JOBSET_LABEL

OF_JOBS: Final = (
    "training.kubeflow.org/job-name",
    "pytorch-job-name",
    "tf-job-name",
    "mpi-job-name",
    "mpi_job_name",
    "volcano.sh/job-name",
)
"""The labels with the name of a job. Those without a domain are of earlier releases."""
_OLD_LABELS: Final = re.compile(
    r"(?<![\w.-])(?:training\.kubeflow\.org/(?:job-(?:name|role)|operator-name|replica-(?:index|type))"
    r"|volcano\.sh/(?:job-(?:name|namespace|version|retry-count)|queue-name|task-(?:spec|index)|template-uid))(?![\w.-])"
)
_FIELD: Final = re.compile(r"metadata\.(?:labels|annotations)\['(.*)'\]")
_KEYS: Final = ("matchLabelKeys", "mismatchLabelKeys")
_OF_CRIO: Final = r"[^/]+\.crio\.io/|seccomp-profile\.kubernetes\.cri-o\.io/|io\.kubernetes\.cri-o\.UnifiedCgroup\."
_OF_CONTAINER: Final = re.compile(rf"({re.escape(APP_ARMOR)}|[^/]+/container\.|{_OF_CRIO})(.+)")
"""Annotations of one container: its AppArmor profile, what plugins of NRI give it, such as devices and ulimits, and its
seccomp profile, cgroup and CPUs in CRI-O."""
ROLES: Final = ("master", "worker", "chief", "ps", "evaluator")
"""The types of replicas in the names of an operator's pods."""


def with_new_names(replicas: Replicas, tree: Any, container: str) -> None:
    """Replace names of the old job's pods in new trees: the label with the name of the job, and the main container."""
    containers = {replicas.names[replicas.main]: container}
    _rename(tree, dict.fromkeys(_of_job(replicas), JOBSET_LABEL), containers)


def _of_job(replicas: Replicas) -> tuple[str, ...]:
    """Return the labels with the name of the job: one of an earlier release may be the user's own."""
    own = {*replicas.old.keys(*replicas.template, "metadata", "labels")}
    return tuple(label for label in OF_JOBS if "/" in label or label not in own)


def _rename(tree: Any, labels: Mapping[str, str], containers: Mapping[str, str]) -> None:
    if isinstance(tree, CommentedSeq):
        for value in tree:
            _rename(value, labels, containers)
    if not isinstance(tree, CommentedMap):
        return
    for key, value in tree.items():
        if key == "labelSelector" and isinstance(value, CommentedMap):
            _rename_in_selector(value, labels)
        elif key in _KEYS and isinstance(value, CommentedSeq):
            value[:] = [labels.get(str(label), label) for label in value]
        elif key == "fieldRef" and isinstance(value, CommentedMap):
            if (found := _FIELD.fullmatch(str(value.get("fieldPath")))) and found[1] in labels:
                value["fieldPath"] = f"metadata.labels['{labels[found[1]]}']"
        elif key == "resourceFieldRef" and isinstance(value, CommentedMap):
            if (name := str(value.get("containerName"))) in containers:
                value["containerName"] = containers[name]
        elif key == "annotations" and isinstance(value, CommentedMap):
            _rename_keys(value, dict(_annotations(value, containers)))
        else:
            _rename(value, labels, containers)


def _annotations(old: Iterable[Any], containers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the keys of annotations of a container that has a new name, with the keys that they get."""
    for key in map(str, old):
        if (found := _OF_CONTAINER.fullmatch(key)) and found[2] in containers:
            yield key, f"{found[1]}{containers[found[2]]}"


def _rename_in_selector(selector: CommentedMap, new: Mapping[str, str]) -> None:
    labels, expressions = selector.get("matchLabels"), selector.get("matchExpressions")
    if isinstance(labels, CommentedMap):
        _rename_keys(labels, new)
    for one in expressions if isinstance(expressions, CommentedSeq) else ():
        if isinstance(one, CommentedMap) and (label := str(one.get("key"))) in new:
            one["key"] = new[label]


def _rename_keys(tree: CommentedMap, new: Mapping[str, str]) -> None:
    for key in list(tree) if new else ():
        value = tree.pop(key)  # of every key, which keeps their order
        tree[new.get(key, key)] = value


def check_names(replicas: Replicas, job: str, roles: Collection[str]) -> None:
    """Report hosts and labels of the old job in the texts of a pod template, keys included, but for its images."""
    old, of_jobs = replicas.old, _of_job(replicas)
    for path, text in texts(old.get(*replicas.template), replicas.template):
        if path[-1] == "image":
            continue
        check_host(old, path, text, job, roles)
        labels = (found[0] for found in _OLD_LABELS.finditer(text))
        if (label := next((label for label in labels if not _is_replaced(replicas, path, label)), None)) is not None:
            message = f"the pods of a JobSet do not have the label {label}"
            old.refuse(path, message, "use a label of JobSet: jobset.sigs.k8s.io/replicatedjob-name, ...")
        if text != old.name and _selects_jobs(old, path, text, of_jobs):
            message = f"{text} now selects the pods of JobSet {text}, not those of a job that an operator runs"
            old.warn(path, message)


def check_host(old: Old, path: Path, text: str, job: str, roles: Collection[str] = ROLES) -> None:
    """Report a host of the old job in a text; ``job`` is the replicated job that has the pods of these roles."""
    if len(old.name) > DNS1123_SUBDOMAIN_MAX_LENGTH:  # no pod has such a name, and to search for it takes long
        return
    # The group is the role, or the task; the launcher has none. A script may add the index, as in job-worker-$i.
    pattern = rf"(?<![\w-]){re.escape(old.name)}-(?:([\w-]+)-(?:\d+(?![\w-])|(?=[\"'$%*{{]|\Z))|launcher(?![\w-]))"
    hosts = (host[0] for host in re.finditer(pattern, text) if host[1] is None or host[1] in roles)
    if (found := min(hosts, key=lambda host: host.endswith("-"), default=None)) is None:
        return
    hint = f"the pods of this template are now {old.name}-{job}-0-0.{old.name} and so on: use those, or a variable"
    if found.endswith("-"):
        old.warn(path, f"no host begins with {found}: the pods of a JobSet have other names", hint)
    else:
        old.refuse(path, f"host {found} does not exist: the pods of a JobSet have other names", hint)


def _is_replaced(replicas: Replicas, path: Path, label: str) -> bool:
    """Return whether a label of the old operator is one that the user sets, or that ``with_new_names`` replaces."""
    own = (*replicas.template, "metadata")
    is_set = path[: len(own)] == own and path[-1] == label
    return is_set or (label in OF_JOBS and any(place in path for place in ("labelSelector", "fieldRef", *_KEYS)))


def _selects_jobs(old: Old, path: Path, text: str, of_jobs: Collection[str]) -> bool:
    """Return whether a text is the name of a job in a selector; ``of_jobs`` are the labels that have it."""
    if "labelSelector" not in path:
        return False
    if path[-2] == "matchLabels":
        return path[-1] in of_jobs and text != path[-1]
    return path[-2] == "values" and old.get(*path[:-2], "key") in of_jobs
