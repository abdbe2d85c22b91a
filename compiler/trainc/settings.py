"""What trainc.yaml says for one environment, as types; every default stands here, once.

Shapes of the file are checked by config.py. What is read here has passed that, or comes from a program that embeds
trainc: then a value of a wrong type counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final, TypeVar

from trainc.records import dataclass, field
from trainc.source import Json, JsonObject, as_list, as_object

SHORT: Final[Mapping[str, str]] = {"sshKeys": "mode", "transport": "mode", "naming": "mode"}
"""Options that may be a text instead of a mapping: the key that the text stands for."""

RECOMMENDED: Final = "recommended"
"""What stands for all recommended fixes."""

T = TypeVar("T", bool, int, str)


@dataclass(frozen=True, slots=True)
class SshKeys:
    """Where the keys of MPI jobs come from.

    ``mode``: job (a Job in the cluster makes them), external-secrets, or existing (``secret`` names them). ``image`` is
    the Job's, None for the launcher's. ``skip_dry_run``: apply the rest where the operator's CRDs are missing.
    """

    mode: str = "job"
    secret: str | None = None
    image: str | None = None
    skip_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Transport:
    """How mpirun reaches workers: ssh or kubexec. ``image`` has kubectl, None where the launcher's own has it."""

    mode: str = "ssh"
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Naming:
    """How JobSets are called: stable, or content. ``max_reruns`` is how many jobs one change may run again."""

    mode: str = "stable"
    max_reruns: int = 1


@dataclass(frozen=True, slots=True)
class ArgoCD:
    """What Argo CD's objects say, and the folder that render writes them to.

    ``namespaces`` are those that the AppProject allows, patterns included; none: those that have jobs.
    """

    repo_url: str | None = None
    revision: str = "HEAD"
    namespace: str = "argocd"
    project: str | None = None
    automated: bool = True
    per: str = "job"
    on_delete: str = "stop"
    write: str | None = None
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flux:
    """What Flux's objects say: the GitRepository, its namespace and theirs, and how often a job is looked at."""

    source: str = "flux-system"
    namespace: str = "flux-system"
    interval: str = "10m"
    on_delete: str = "stop"
    write: str | None = None


@dataclass(frozen=True, slots=True)
class Patch:
    """A strategic merge patch: patterns of kind, name and namespace, and what is merged in."""

    kind: str
    name: str
    namespace: str
    patch: JsonObject = field(hash=False)
    index: int = 0

    def matches(self, kind: str, namespace: str, name: str) -> bool:
        """Tell whether an object is meant."""
        wanted = ((self.kind, kind), (self.namespace, namespace), (self.name, name))
        return all(fnmatchcase(value, pattern) for pattern, value in wanted)


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of one environment, as docs/environments.md describes them."""

    jobs: tuple[str, ...] = ()
    destination: Mapping[str, str] = field(default_factory=dict, hash=False)
    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)
    create_namespace: bool = False
    image_pull_secrets: tuple[str, ...] = ()
    registries: Mapping[str, str] = field(default_factory=dict, hash=False)
    runtimes: Mapping[str, str] = field(default_factory=dict, hash=False)
    patches: tuple[Patch, ...] = ()
    service_accounts: tuple[str, ...] = ()
    ssh_keys: SshKeys = SshKeys()
    transport: Transport = Transport()
    naming: Naming = Naming()
    queue: str | None = None
    target: str = "argocd"
    argocd: ArgoCD = ArgoCD()
    flux: Flux = Flux()
    fixes: tuple[str, ...] = ()
    lock_required: tuple[str, ...] = ()
    pods: bool = False

    def takes(self, namespace: str, name: str) -> bool:
        """Tell whether the environment has a job, by its namespace below jobs/ and its name."""
        wanted = [pattern for pattern in self.jobs if not pattern.startswith("!")]
        unwanted = [pattern[1:] for pattern in self.jobs if pattern.startswith("!")]
        named = not wanted or any(fits(pattern, namespace, name) for pattern in wanted)
        return named and not any(fits(pattern, namespace, name) for pattern in unwanted)


def fits(pattern: str, namespace: str, name: str) -> bool:
    """Match <namespace>/<name>; a pattern without / is one of namespaces."""
    place, slash, job = pattern.partition("/")
    return fnmatchcase(namespace, place) and (not slash or fnmatchcase(name, job))


def options_of(config: JsonObject, environment: str) -> JsonObject:
    """Return the options of an environment: its own, then those of ``defaults``, then those at the top."""
    own = as_object(as_object(config.get("environments")).get(environment))
    shared = {key: config[key] for key in ("fixes",) if key in config}
    return {**shared, **as_object(config.get("defaults")), **own}


def of_every_job(config: JsonObject, environment: str) -> JsonObject:
    """Return trainc.yaml, parsed, with an environment that has every job, for jobs that are given one by one."""
    environments = as_object(config.get("environments"))
    own = {**as_object(environments.get(environment)), "jobs": []}
    return {**config, "environments": {**environments, environment: own}}


def read_settings(config: JsonObject, environment: str) -> Settings:
    """Return what trainc.yaml, parsed, says for an environment."""
    data = options_of(config, environment)
    return Settings(
        jobs=_texts(data, "jobs"),
        destination=_pairs(data, "destination"),
        namespaces=_pairs(data, "namespaces"),
        create_namespace=_value(data, "createNamespace", False),
        image_pull_secrets=_texts(data, "imagePullSecrets"),
        registries=_pairs(data, "registries"),
        runtimes=_pairs(data, "runtimes"),
        patches=tuple(_patch(index, as_object(item)) for index, item in enumerate(as_list(data.get("patches")))),
        service_accounts=_texts(data, "serviceAccounts"),
        ssh_keys=_ssh_keys(expanded(data, "sshKeys")),
        transport=_transport(expanded(data, "transport")),
        naming=_naming(expanded(data, "naming")),
        queue=_text(data, "queue"),
        target=_value(data, "target", "argocd"),
        argocd=_argocd(as_object(data.get("argocd"))),
        flux=_flux(as_object(data.get("flux"))),
        fixes=(RECOMMENDED,) if data.get("fixes") == RECOMMENDED else _texts(data, "fixes"),
        lock_required=_texts(as_object(config.get("lock")), "required"),
        pods=_value(as_object(config.get("policies")), "pods", False),
    )


def expanded(data: JsonObject, key: str) -> JsonObject:
    """Return an option of SHORT as a mapping."""
    value = data.get(key)
    return {SHORT[key]: value} if isinstance(value, str) else as_object(value)


def _ssh_keys(data: JsonObject) -> SshKeys:
    skip = _value(data, "skipDryRunOnMissingResource", False)
    return SshKeys(_value(data, "mode", "job"), _text(data, "secret"), _text(data, "image"), skip)


def _transport(data: JsonObject) -> Transport:
    return Transport(_value(data, "mode", "ssh"), _text(data, "image"))


def _naming(data: JsonObject) -> Naming:
    return Naming(_value(data, "mode", "stable"), _value(data, "maxReruns", 1))


def _argocd(data: JsonObject) -> ArgoCD:
    return ArgoCD(
        repo_url=_text(data, "repoURL"),
        revision=_value(data, "revision", "HEAD"),
        namespace=_value(data, "namespace", "argocd"),
        project=_text(data, "project"),
        automated=_value(data, "automated", True),
        per=_value(data, "per", "job"),
        on_delete=_value(data, "onDelete", "stop"),
        write=_text(data, "write"),
        namespaces=_texts(data, "namespaces"),
    )


def _flux(data: JsonObject) -> Flux:
    return Flux(
        source=_value(data, "source", "flux-system"),
        namespace=_value(data, "namespace", "flux-system"),
        interval=_value(data, "interval", "10m"),
        on_delete=_value(data, "onDelete", "stop"),
        write=_text(data, "write"),
    )


def _patch(index: int, data: JsonObject) -> Patch:
    target = as_object(data.get("target"))
    kind, name, namespace = (_value(target, key, "*") for key in ("kind", "name", "namespace"))
    return Patch(kind, name, namespace, as_object(data.get("patch")), index)


def _value(data: JsonObject, key: str, default: T) -> T:
    value = data.get(key)
    return value if value.__class__ is default.__class__ else default


def _text(data: JsonObject, key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None


def _texts(data: JsonObject, key: str) -> tuple[str, ...]:
    return tuple(item for item in as_list(data.get(key)) if isinstance(item, str))


def _pairs(data: JsonObject, key: str) -> Mapping[str, str]:
    found: Mapping[str, Json] = as_object(data.get(key))
    return {name: value for name, value in found.items() if isinstance(value, str)}
