"""What all v1 jobs have in common: metadata, run policy, replicas, and the parts of a TrainJob and of a runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ruamel.yaml.comments import CommentedMap

from trainc.basics.jsonvalues import Json, Path, dotted, get
from trainc.checks.jobs import MAX_INDEXED
from trainc.kube.gotypes import fields, is_struct
from trainc.migrate.documents import Old
from trainc.migrate.trees import mapping, sequence
from trainc.upstream import QUEUE_LABEL, SERVER_FIELDS, TRAINER_API

_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_TEMPLATE: Final = "v1.PodTemplateSpec"
_MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"


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
    for key in (*SERVER_FIELDS, "generateName"):  # a job of a cluster has its name
        old.done("metadata", key)
    for key in ("apiVersion", "kind", "status"):
        old.done(key)
    spec = mapping(trainer=mapping())
    return mapping(apiVersion=TRAINER_API, kind="TrainJob", metadata=metadata, spec=spec)


def own_name(framework: str, old: Old) -> str:
    """Return the name of a runtime that only one job can use."""
    return old.name if old.name.startswith(framework) else f"{framework}-{old.name}"


def new_runtime(name: str, framework: str, policy: CommentedMap | None, *jobs: CommentedMap) -> CommentedMap:
    """Return a ClusterTrainingRuntime."""
    labels = mapping()
    labels["trainer.kubeflow.org/framework"] = framework
    spec = mapping(template=mapping(spec=mapping(replicatedJobs=sequence(*jobs))))
    if policy is not None:
        spec.insert(0, "mlPolicy", policy)
    metadata = mapping(name=name, labels=labels)
    return mapping(apiVersion=TRAINER_API, kind="ClusterTrainingRuntime", metadata=metadata, spec=spec)


def succeed_with(runtime: CommentedMap, *names: str) -> None:
    """Let the JobSet succeed when all Jobs of some replicated jobs have."""
    policy = mapping(operator="All", targetReplicatedJobs=sequence(*names))
    runtime["spec"]["template"]["spec"].insert(0, "successPolicy", policy)


class Replicas:
    """The pods of one type of replicas: where they are in the old job, how many, and how they restart."""

    def __init__(self, old: Old, path: Path, container: str | None, restart: str, count: int = 1) -> None:
        self.old = old
        self.path = path
        self.template: Path = (*path, "template")
        self.pod: Path = (*self.template, "spec")
        number = old.count(*path, "replicas", most=MAX_INDEXED)
        self.count = number if number is not None else count
        self.restart = str(old.read(*path, "restartPolicy") or restart)
        self.names = [str(item.get("name")) for item in old.items(*self.pod, "containers")]
        self.main = self.names.index(container) if container in self.names else 0

    @property
    def container(self) -> Path:
        """The path of the main container."""
        return (*self.pod, "containers", self.main)

    @property
    def text(self) -> str:
        """Command, arguments and variables of the main container."""
        keys = ("command", "args", "env")
        return " ".join(text for key in keys for _, text in texts(self.old.get(*self.container, key), ()))

    def is_well_formed(self) -> bool:
        """Report values of the template that must be a mapping or a list, and are not; return whether there are none.

        No operator has such a job: the API server refuses it.
        """
        found = list(_misfits(self.old.get(*self.template), _TEMPLATE, self.template))
        for path, expected in found:
            name = path[-1] if isinstance(path[-1], str) else dotted(path[-2:])
            self.old.refuse(path, f"{name} must be {expected}")
        if found:
            self.old.done(*self.path)
        return not found

    def port(self, name: str, default: int) -> int:
        """Return the port of the main container that has a name."""
        ports = self.old.items(*self.container, "ports")
        found = next((port.get("containerPort") for port in ports if port.get("name") == name), default)
        return found if isinstance(found, int) else default


def _misfits(value: Json, kind: str, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the paths of values that are a mapping or a list in Go, and are not here, with what they must be."""
    kind = kind.removeprefix("*")
    if kind.startswith("[]") and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _misfits(item, kind[2:], (*path, index))
    elif kind.startswith("[]"):
        yield path, "a list"
    elif not kind.startswith("{}") and not is_struct(kind):
        return
    elif not isinstance(value, dict):
        yield path, "a mapping"
    else:
        known = None if kind.startswith("{}") else fields(kind)
        for key, item in value.items():
            if item is not None and (known is None or key in known):
                yield from _misfits(item, kind[2:] if known is None else known[key].kind, (*path, key))


def texts(value: Json, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the scalars of a value as texts, and the keys of its mappings, each with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*path, key), key
            yield from texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from texts(item, (*path, index))
    elif value is not None:
        yield path, str(value)


def replicas_of(
    old: Old, field: str, container: str | None, restart: str, *types: str, count: int = 1
) -> dict[str, Replicas]:
    """Return the replicas of a job by type, in the order of ``types``, which may be spelt in any case.

    ``count`` is the default number of replicas.
    """
    keys = {key.lower(): key for key in old.keys("spec", field)}
    found = {
        name: Replicas(old, ("spec", field, key), container, restart, count)
        for name in types
        if (key := keys.get(name.lower())) is not None
        and old.items("spec", field, key, "template", "spec", "containers")
    }
    return {name: replicas for name, replicas in found.items() if replicas.is_well_formed()}


def with_pods(old: Old, sets: Mapping[str, Replicas]) -> dict[str, Replicas]:
    """Return the replicas with pods, and report the others: Trainer gives each replicated job at least one pod."""
    for kind, replicas in sets.items():
        if not replicas.count:
            old.note(replicas.path, f"{kind} has no pods and is left out")
    return {kind: replicas for kind, replicas in sets.items() if replicas.count}


def without_pods(old: Old, field: str) -> None:
    """Report a job without a container, from which nothing can be made."""
    path: Path = ("spec", field) if old.get("spec", field) is not None else ()
    old.refuse(path, f"{old.kind} has no replicas with a container")


def merged(sets: Mapping[str, Replicas]) -> bool:
    """Return whether all pods have the same template and restart alike: one replicated job can have them all."""
    first, *others = sets.values()
    old = first.old
    return all((old.get(*one.template), one.restart) == (old.get(*first.template), first.restart) for one in others)


def count_nodes(old: Old, job: CommentedMap, sets: Mapping[str, Replicas]) -> Replicas:
    """Set numNodes to the number of all pods, which have one template, and return the replicas that have it."""
    trainer = job["spec"]["trainer"]
    trainer["numNodes"] = sum(one.count for one in sets.values())
    first = next(iter(sets.values()))
    for one in sets.values():
        old.moved(trainer, "numNodes", *one.path, "replicas")
        if one is not first:
            old.same(one.template, first.template)
    return first


def report_ttl(old: Old, path: Path) -> None:
    """Report that a job that has finished stays."""
    message = "not imported: where Argo CD or Flux sync out/, a job that a cluster deletes runs again"
    hint = "delete the job's file when it is done; if nothing syncs out/, set {0} of the runtime's JobSet"
    old.warn(path, f"{path[-1]} is {message}", hint.format(path[-1]))


class RunPolicy:
    """What the run policy of an old job says about the Jobs and the PodGroup."""

    def __init__(self, old: Old, job: CommentedMap) -> None:
        """Read the run policy, whose fields were those of spec itself in early releases of v1."""
        self.backoff_limit: int | None = None
        self.gang: Path | None = None
        for path in (("spec",), ("spec", "runPolicy")):
            for key in old.keys(*path):
                self._read(old, job["spec"], (*path, key))

    def _read(self, old: Old, spec: CommentedMap, path: Path) -> None:
        match path[-1]:
            case _ if old.get(*path) is None:  # the API server drops null
                old.done(*path)
            case "activeDeadlineSeconds":
                old.put(spec, "activeDeadlineSeconds", *path)
            case "suspend":
                _suspend(old, spec, path)
            case "ttlSecondsAfterFinished":
                report_ttl(old, path)
            case "cleanPodPolicy":
                _report_cleaning(old, path)
            case "managedBy" if old.get(*path) == _MULTIKUEUE:
                old.put(spec, "managedBy", *path)
            case "managedBy":
                old.done(*path)
            case "backoffLimit":
                self.backoff_limit = old.count(*path)
            case "schedulingPolicy":
                self.gang = path


def _suspend(old: Old, spec: CommentedMap, path: Path) -> None:
    value = old.get(*path)
    if value is True and get(old.data, "metadata", "labels", QUEUE_LABEL) is not None:
        old.note(path, "suspend is left out: Kueue suspends a job of its queue itself")
    elif value is True:
        old.put(spec, "suspend", *path)
    elif value in (None, False):
        old.done(*path)
    else:
        old.refuse(path, "suspend must be true or false")


def _report_cleaning(old: Old, path: Path) -> None:
    value = old.get(*path)
    if value == "None":
        message = "a JobSet keeps the pods that have finished, but stops those that still run when the job ends"
        old.note(path, f"cleanPodPolicy None: {message}")
    elif value == "All":
        message = "a JobSet stops the pods that still run when the job ends, but keeps those that have finished"
        old.warn(path, f"cleanPodPolicy All: {message}")
    else:
        old.done(*path)  # Running is what a JobSet does
