"""The model of a job, a TrainJob joined with its runtime, and the objects that are generated from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, get, objects
from trainc.findings import Finding, Severity
from trainc.inputs.options import Options
from trainc.inputs.source import Document
from trainc.kube.quantity import Quantity
from trainc.plugins.ports import upsert_ports
from trainc.upstream import DATASET_INITIALIZER, MODEL_INITIALIZER, NODE, TRAINER


class Origin(Struct, frozen=True, eq=False):
    """Where a field of an object came from.

    ``kind`` is input, patch, default, plugin, fix, environment or lock. ``name`` is the patch's manager, the plugin,
    the schema or webhook of a default, or the option of trainc.yaml. ``earlier`` is the origin of the replaced value.
    """

    kind: str
    document: Document | None = None
    path: Path = ()
    name: str = ""
    earlier: Origin | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origin) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:  # that of msgspec does not use __eq__
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return (self.kind, self.document, self.path, self.name)


class Object(Struct, frozen=True, eq=False):
    """A Kubernetes object to emit. ``origins()`` maps paths to origins; the nearest ancestor applies.

    ``stem`` is the name without the hash of the object's content; None if it has no such hash. ``title`` is the name
    without the run number and the hash of the job; None if that is the same. ``unmerged`` are the patches of
    trainc.yaml that could not be merged: their numbers, and why.
    """

    data: JsonObject
    origins: Callable[[], Mapping[Path, Origin]] = dict
    stem: str | None = None
    title: str | None = None
    unmerged: tuple[tuple[int, str], ...] = ()

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.data["kind"])

    @property
    def name(self) -> str:
        """The object's name."""
        metadata = self.data["metadata"]
        assert isinstance(metadata, dict)
        return str(metadata["name"])

    @property
    def plain(self) -> str:
        """The name without run number and hashes, used for file names and patches."""
        return self.title or self.stem or self.name


Objects = tuple[Object, ...]


class Container(Struct, frozen=True):
    """The part of a container that plugins shape; items are JSON objects of the core/v1 types."""

    name: str
    image: str
    command: tuple[str, ...] = ()
    env: tuple[JsonObject, ...] = ()
    ports: tuple[JsonObject, ...] = ()
    volume_mounts: tuple[JsonObject, ...] = ()

    def with_env(self, *variables: JsonObject) -> Container:
        """Return the container with each variable replacing that of the same name, or appended."""
        return replace(self, env=upsert(self.env, variables, "name"))

    def with_mounts(self, *mounts: JsonObject) -> Container:
        """Return the container with each mount replacing that with the same mountPath, or appended."""
        return replace(self, volume_mounts=upsert(self.volume_mounts, mounts, "mountPath"))


class PodSet(Struct, frozen=True):
    """A replicated job as a set of equal pods.

    ``count`` is the number of pods per replica, ``requests`` are those of one pod. ``volumes`` are added to the
    template's.
    """

    name: str
    ancestor: str | None
    count: int
    replicas: int
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...]
    requests: Mapping[str, Quantity]
    volumes: tuple[JsonObject, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether the replicated job has one replica in the JobSet, whatever the runtime has: trainer, initializers."""
        return self.ancestor in (TRAINER, DATASET_INITIALIZER, MODEL_INITIALIZER)

    def container(self, name: str) -> Container | None:
        """Return the container of that name, or None."""
        return next((container for container in self.containers if container.name == name), None)

    def with_container(self, container: Container) -> PodSet:
        """Return the set with the first container of that name replaced; init containers come second."""
        if self.container(container.name) is not None:
            return replace(self, containers=replace_named(self.containers, container))
        return replace(self, init_containers=replace_named(self.init_containers, container))

    def with_volumes(self, *volumes: JsonObject) -> PodSet:
        """Return the set with each volume replacing that of the same name, or appended."""
        return replace(self, volumes=upsert(self.volumes, volumes, "name"))


class Model(Struct, frozen=True):
    """A TrainJob joined with its runtime.

    ``name`` is the name of its JobSet, from which all other names derive; ``title`` is the TrainJob's name.
    ``spec`` is the JobSet's spec: the runtime's template with patches and resources merged in.
    ``unpatched`` is the runtime's template before the patches. ``trainer`` is spec.trainer or None.
    ``namespace`` is that of the objects, which an environment may rename; ``home`` is that of the TrainJob.
    ``command`` and ``args`` are those of the trainer's container, None for the runtime's.
    ``policies`` are the fields of the runtime's mlPolicy and podGroupPolicy. ``cluster`` has the documents that
    represent objects in the cluster, by ``apiVersion/kind``, namespace and name.
    """

    job: Document
    runtime: Document
    options: Options
    name: str
    namespace: str
    spec: JsonObject
    unpatched: JsonObject
    pod_sets: tuple[PodSet, ...]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    trainer: JsonObject | None
    policies: JsonObject
    cluster: Mapping[tuple[str, str, str], Document]
    command: tuple[str, ...] | None = None
    args: tuple[str, ...] | None = None
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    pod_annotations: Mapping[str, str] = field(default_factory=dict)

    def fixed(self, fix: str) -> bool:
        """Return whether a fix is enabled. Raises KeyError for an unknown name."""
        return self.options.fixed(fix)

    @property
    def severity(self) -> Severity | None:
        """The severity of errors that upstream does not report: a warning in faithful output, None for the default."""
        return Severity.WARNING if self.options.faithful else None

    def policy(self, name: str) -> JsonObject | None:
        """Return a policy of the runtime: torch, mpi, jax, xgboost, flux, coscheduling or volcano; None without it."""
        value = self.policies.get(name)
        return value if isinstance(value, dict) else None

    def uses(self, *names: str) -> bool:
        """Return whether the runtime has one of these policies."""
        return any(self.policy(name) is not None for name in names)

    def pod_set(self, name: str) -> PodSet | None:
        """Return the pod set of that name, or None."""
        return next((pod_set for pod_set in self.pod_sets if pod_set.name == name), None)

    def with_pod_set(self, pod_set: PodSet) -> Model:
        """Return the model with the first pod set of that name replaced."""
        return replace(self, pod_sets=replace_named(self.pod_sets, pod_set))

    @property
    def jobs(self) -> list[JsonObject]:
        """The replicated jobs of the spec."""
        return objects(self.spec.get("replicatedJobs"))

    def replicated_job(self, name: str) -> JsonObject | None:
        """Return the first replicated job of that name, or None."""
        return next((job for job in self.jobs if job.get("name") == name), None)

    def counted(self) -> Model:
        """Return the model with spec.trainer.numNodes, if set, as the count of the trainer's pod set."""
        found = self.trainer_set
        if found is None or self.num_nodes is None:
            return self
        return self.with_pod_set(replace(found, count=self.num_nodes))

    def labelled(self, ancestor: str) -> PodSet | None:
        """Return the first pod set with that ancestor label, or None."""
        return next((pod_set for pod_set in self.pod_sets if pod_set.ancestor == ancestor), None)

    @property
    def trainer_set(self) -> PodSet | None:
        """The trainer's pod set: the first one with the ancestor label trainer."""
        return self.labelled(TRAINER)

    @property
    def trainer_count(self) -> int:
        """The number of the trainer's pods; 1 without a pod set of the trainer."""
        return self.trainer_set.count if self.trainer_set is not None else 1

    @property
    def trainer_container(self) -> Container | None:
        """The container ``node`` of the trainer's pod set; None also without spec.trainer (T1)."""
        found = self.trainer_set
        return found.container(NODE) if found and self.trainer is not None else None

    def with_trainer_env(self, *variables: JsonObject, port: int | None = None) -> Model:
        """Return the model with variables, and a port, in the trainer's container if there is one."""
        found, container = self.trainer_set, self.trainer_container
        if found is None or container is None:
            return self
        container = container.with_env(*variables)
        if port is not None:
            new: list[JsonObject] = [{"containerPort": port}]
            ports = upsert_ports(container.ports, new, by_number=self.fixed("unnamed-ports"))
            container = replace(container, ports=ports)
        return self.with_pod_set(found.with_container(container))

    def trainer_value(self, name: str) -> Json:
        """Return a field of spec.trainer, or None."""
        return self.trainer.get(name) if self.trainer else None

    def trainer_list(self, name: str) -> list[Json]:
        """Return a list of spec.trainer, which is empty if it is not set."""
        return as_list(self.trainer_value(name))

    @property
    def num_nodes(self) -> int | None:
        """spec.trainer.numNodes."""
        return _int(self.trainer_value("numNodes"))

    @property
    def num_proc_per_node(self) -> int | None:
        """spec.trainer.numProcPerNode."""
        return _int(self.trainer_value("numProcPerNode"))

    @property
    def master(self) -> str:
        """The host of rank 0, which Trainer always expects in job node (X6)."""
        return self.rank0 if self.fixed("master-address") else f"{self.name}-{NODE}-0-0.{self.name}"

    @property
    def rank0(self) -> str:
        """The actual host of the trainer's first pod."""
        found = self.trainer_set
        return f"{self.name}-{found.name if found else NODE}-0-0.{self.subdomain}"

    @property
    def title(self) -> str:
        """The TrainJob's name, without the run number and the hash in ``name``."""
        return str(get(self.job.data, "metadata", "name"))

    @property
    def home(self) -> str:
        """The namespace of the TrainJob, which is also that of other documents."""
        return str(get(self.job.data, "metadata", "namespace"))

    def in_cluster(self, kind: str, name: str) -> Document | None:
        """Return the document that represents an object in the namespace of the job's objects, or None.

        ``kind`` is ``apiVersion/kind``. Documents have their namespace before an environment renames it.
        """
        homes = self.options.settings.homes(self.namespace)
        return next((found for home in homes if (found := self.cluster.get((kind, home, name))) is not None), None)

    @property
    def subdomain(self) -> str:
        """The name of the headless Service: network.subdomain, else that of the JobSet."""
        found = get(self.spec, "network", "subdomain")
        return found if isinstance(found, str) else self.name


Findings = tuple[Finding, ...]


def upsert(items: Iterable[JsonObject], new: Iterable[JsonObject], key: str) -> tuple[JsonObject, ...]:
    """Return items with each new one replacing the first with the same key, or appended."""
    out = list(items)
    indexes: dict[Json, int] = {}  # Go's types allow only strings or nothing as keys here
    for index, item in enumerate(out):
        indexes.setdefault(item.get(key), index)
    for item in new:
        index = indexes.setdefault(item.get(key), len(out))
        if index == len(out):
            out.append(item)
        else:
            out[index] = item
    return tuple(out)


Named = TypeVar("Named", Container, PodSet)


def replace_named(items: tuple[Named, ...], new: Named) -> tuple[Named, ...]:
    """Return items with the first of that name replaced."""
    for index, old in enumerate(items):
        if old.name == new.name:
            return items[:index] + (new,) + items[index + 1 :]  # noqa: RUF005 - mypy knows no other way
    return items


def _int(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
