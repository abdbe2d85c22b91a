"""The types of trainc.yaml. They are its schema, its reader and its defaults at once.

``ConfigFile`` is the whole file, ``Environment`` the options of one environment as the file has them, and ``Settings``
those options when ``defaults`` and short forms are resolved. compiler/tools/fileschemas.py writes config.schema.json
from these types, for editors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Any, ClassVar, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert, field

from trainc.basics.jsonvalues import JsonObject, Path, as_object, get
from trainc.basics.memo import keeping
from trainc.basics.starts import Starts

MAX_ENVIRONMENTS: Final = 256
"""The most environments. Each job is compiled for each of them."""

MAX_PATCHES: Final = 1000
"""The most patches of one environment. Each is tried on each object."""

RECOMMENDED: Final = "recommended"
"""The name for all recommended fixes."""

SHORT: Final = ("sshKeys", "transport", "naming")
"""Options that may be a string, their ``mode``, instead of a mapping."""


def form(pattern: str, message: str, longest: int | None = None) -> Meta:
    """Return a pattern for a string, with the message for other strings, which editors show as well."""
    # $ alone would also match before a line break at the end.
    words = {"patternErrorMessage": message}
    return Meta(pattern=rf"^{pattern}$(?!\n)", max_length=longest, extra_json_schema=words)


_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
Text = Annotated[str, Meta(min_length=1)]
Label = Annotated[
    str,
    form(
        "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?",
        "a DNS label: at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit",
    ),
]
Name = Annotated[
    str, form(rf"{_LABEL}(\.{_LABEL})*", "a DNS name: labels of a-z, 0-9 and -, separated by dots", longest=253)
]
Queue = Annotated[
    str,
    form(rf"{_LABEL}(\.{_LABEL})*", "the name of a queue: labels of a-z, 0-9 and -, separated by dots", longest=63),
]
ImagePrefix = Annotated[
    str,
    form(
        "[a-zA-Z0-9][-a-zA-Z0-9._:@]*(/[-a-zA-Z0-9._:@]+)*/?",
        "a registry or the beginning of an image name: a name such as ghcr.io or docker.io/library",
    ),
]
Required = Annotated[
    str,
    form(  # a tag may have capitals; with those in a path, an empty tag or a digest, no image would have to be locked
        "[a-zA-Z0-9]([-a-zA-Z0-9._:]*[a-zA-Z0-9])?(/[-a-z0-9._]+)*(:[-a-zA-Z0-9._]+)?/?",
        "a registry or the beginning of an image name: a name such as ghcr.io or docker.io/library, in lower case",
    ),
]
Project = Annotated[
    str,
    form(
        rf"{_LABEL}(\.{_LABEL})*",
        "the name of an AppProject: labels of a-z, 0-9 and -, separated by dots",
        longest=253,
    ),
]
NamespacePattern = Annotated[str, form("[-a-z0-9*]{1,63}", "a pattern of namespaces: a-z, 0-9, - and * are allowed")]
Pattern = Annotated[str, Meta(max_length=400)]
"""A pattern of names, far longer than any name: fnmatch takes quadratic time for opening brackets."""
Duration = Annotated[
    str,
    form(r"([0-9]{1,6}(\.[0-9]+)?(ms|s|m|h))+", "a duration: a text such as 10m or 1h30m", longest=20),
]
"""A duration below 2**63 nanoseconds: Flux cannot read a longer one, nor a list of objects in which one has it."""
RENDER: Final = "make render"
"""The command in the headers of generated files, unless trainc.yaml sets renderCommand."""

CommandLine = Annotated[
    str,
    form(
        "[!-&(-~]+( [!-&(-~]+)*",
        "a command: one line of printable ASCII characters without ', such as make render or trainc render",
        longest=80,
    ),
]
RepositoryFolder = Annotated[
    str,
    form(
        "[-A-Za-z0-9_][-A-Za-z0-9._]*(/[-A-Za-z0-9_][-A-Za-z0-9._]*)*",
        "a folder of the repository: a path such as ml or teams/ml; Argo CD skips names that begin with a dot",
    ),
]
OutputPath = Annotated[
    str,
    Meta(
        pattern="^out/[^/]",
        extra_json_schema={"patternErrorMessage": "a path below out/: a path such as out/prod/README.md"},
    ),
]


class SshKeys(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the keys of MPI jobs come from."""

    mode: Annotated[
        Literal["job", "external-secrets", "existing"],
        Meta(
            description="job: a Job in the cluster creates them. external-secrets: the External Secrets Operator does."
            " existing: a Secret already contains them."
        ),
    ] = "job"
    secret: Annotated[Name, Meta(description="The name of the Secret (mode existing).")] = ""
    image: Annotated[
        Text,
        Meta(description="The image of the Job (mode job); it needs ssh-keygen and python3. Default: the launcher's."),
    ] = ""
    skip_dry_run: Annotated[
        bool,
        Meta(description="Apply the other objects if the operator's CRDs are missing (mode external-secrets)."),
    ] = field(name="skipDryRunOnMissingResource", default=False)


class Transport(Struct, frozen=True, forbid_unknown_fields=True):
    """How mpirun reaches the workers."""

    mode: Annotated[Literal["ssh", "kubexec"], Meta(description="ssh, or kubexec: kubectl exec without keys.")] = "ssh"
    image: Annotated[
        Text,
        Meta(description="The image to copy kubectl from. Default: the launcher's image has kubectl."),
    ] = ""


class Naming(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How JobSets are named."""

    mode: Annotated[
        Literal["stable", "content"],
        Meta(description="stable, or content: names end in a hash of the immutable fields."),
    ] = "stable"
    max_reruns: Annotated[
        int,
        Meta(
            ge=0,
            description="How many jobs one change may run again before validate --base refuses it (mode content).",
        ),
    ] = 1


OnDelete = Annotated[
    Literal["stop", "keep"],
    Meta(description="What happens to a running job when its directory is deleted: stop or keep."),
]


class Hydrator(Struct, frozen=True, forbid_unknown_fields=True):
    """Argo CD's source hydrator."""

    branch: Annotated[Text, Meta(description="The branch from which Argo CD syncs the objects that it generates.")]
    staging: Annotated[
        Text,
        Meta(
            description="A branch to which Argo CD commits instead: a pull request merges it into the other."
            " Default: it commits to the branch from which it syncs."
        ),
    ] = ""


class ArgoCD(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Argo CD's objects."""

    title: ClassVar[str] = "Argo CD"
    repo_url: Annotated[Text, Meta(description="The URL by which Argo CD clones this repository.")] = field(
        name="repoURL", default=""
    )
    revision: Annotated[Text, Meta(description="The branch or tag to sync.")] = "HEAD"
    namespace: Annotated[Label, Meta(description="The namespace of Argo CD.")] = "argocd"
    project: Annotated[
        Project,
        Meta(
            description="The AppProject. Default: trainc-<environment>. Argo CD's own project, default, is not printed."
        ),
    ] = ""
    automated: Annotated[bool, Meta(description="Whether Argo CD syncs automatically.")] = True
    per: Annotated[Literal["job", "namespace"], Meta(description="One Application per job or per namespace.")] = "job"
    hydrator: Annotated[
        Hydrator | UnsetType,
        Meta(
            description="Argo CD itself runs trainc on jobs/ and commits the objects to a branch, instead of syncing"
            " out/: one Application per namespace."
        ),
    ] = UNSET
    on_delete: OnDelete = "stop"
    write: Annotated[Text, Meta(description="A folder outside of out/ to which render writes Argo CD's objects.")] = ""
    namespaces: Annotated[
        tuple[NamespacePattern, ...],
        Meta(
            min_length=1,  # as for jobs
            description="The namespaces that the AppProject allows; * is any text. Default: all.",
        ),
    ] = ()

    @property
    def per_namespace(self) -> bool:
        """Whether there is one Application per namespace, as always with the hydrator."""
        return self.per == "namespace" or self.hydrator is not UNSET

    @property
    def deployment_folder(self) -> str:
        """The folder to which render writes the objects, or nothing."""
        return self.write if self.repo_url else ""


class Flux(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Flux's objects."""

    # What ArgoCD has options for: Flux always applies by itself, one Kustomization per job, in any namespace.
    title: ClassVar[str] = "Flux"
    automated: ClassVar[bool] = True
    per_namespace: ClassVar[bool] = False
    hydrator: ClassVar[UnsetType] = UNSET
    namespaces: ClassVar[tuple[str, ...]] = ()
    source: Annotated[Label, Meta(description="The GitRepository of this repository.")] = "flux-system"
    namespace: Annotated[Label, Meta(description="The namespace of the GitRepository and the Kustomizations.")] = (
        "flux-system"
    )
    interval: Annotated[Duration, Meta(description="How often Flux reconciles a job, such as 10m.")] = "10m"
    on_delete: OnDelete = "stop"
    write: Annotated[Text, Meta(description="A folder outside of out/ to which render writes Flux's objects.")] = ""

    @property
    def deployment_folder(self) -> str:
        """The folder to which render writes the objects, or nothing."""
        return self.write


class Target(Struct, frozen=True, forbid_unknown_fields=True):
    """The objects that a patch applies to; * is any text."""

    kind: Annotated[Pattern, Meta(min_length=1, description="A kind, such as JobSet.")]
    name: Annotated[Pattern, Meta(description="A pattern of names.")] = "*"
    namespace: Annotated[Pattern, Meta(description="A pattern of namespaces.")] = "*"


class Patch(Struct, frozen=True, forbid_unknown_fields=True):
    """A strategic merge patch."""

    target: Target
    patch: Annotated[
        dict[str, Any], Meta(description="The patch, merged as by kubectl patch; $patch directives are supported.")
    ]

    def matches(self, kind: str, namespace: str, name: str) -> bool:
        """Return whether the patch applies to an object."""
        wanted = ((self.target.kind, kind), (self.target.namespace, namespace), (self.target.name, name))
        return all(fnmatchcase(value, pattern) for pattern, value in wanted)


class Destination(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The cluster, by its name or its address in Argo CD. Default: the one that Argo CD runs in."""

    name: Annotated[Text, Meta(description="The name of the cluster in Argo CD.")] = ""
    server: Annotated[Text, Meta(description="The address of the cluster.")] = ""


Fixes = Annotated[
    Literal["recommended"] | tuple[str, ...],
    Meta(description="Names of fixes; recommended selects all recommended ones."),
]


class Environment(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The options of an environment."""

    jobs: Annotated[
        tuple[Annotated[Pattern, Meta(min_length=1)], ...],
        Meta(
            min_length=1,  # an empty list would be read as none, and does the same as the default
            description="The TrainJobs of the environment: patterns of <namespace>/<name> as in jobs/. * is any text"
            " without /, and ! excludes what the pattern matches. Default: all.",
        ),
    ] = ()
    destination: Destination = Destination()
    namespaces: Annotated[
        dict[str, Label],
        Meta(description="Maps namespaces in jobs/ to other names in the cluster of this environment."),
    ] = {}
    create_namespace: Annotated[bool, Meta(description="Whether Argo CD creates missing namespaces.")] = False
    image_pull_secrets: Annotated[
        tuple[Name, ...], Meta(description="Names of Secrets for pulling images, added to every pod.")
    ] = ()
    registries: Annotated[
        dict[ImagePrefix, ImagePrefix],
        Meta(description="Maps registries, or beginnings of image names, to replacements in every pod."),
    ] = {}
    runtimes: Annotated[
        dict[str, Name],
        Meta(description="Maps names in runtimeRef to the runtimes that this environment uses instead."),
    ] = {}
    patches: Annotated[
        tuple[Patch, ...],
        Meta(max_length=MAX_PATCHES, description="Strategic merge patches of the generated objects, applied in order."),
    ] = ()
    service_accounts: Annotated[tuple[Name, ...], Meta(description="Service accounts that exist in the cluster.")] = ()
    ssh_keys: Annotated[
        Literal["job", "external-secrets", "existing"] | SshKeys,
        Meta(description="Where the keys of MPI jobs come from."),
    ] = SshKeys()
    transport: Annotated[Literal["ssh", "kubexec"] | Transport, Meta(description="How mpirun reaches the workers.")] = (
        Transport()
    )
    naming: Annotated[Literal["stable", "content"] | Naming, Meta(description="How JobSets are named.")] = Naming()
    queue: Annotated[Queue, Meta(description="The Kueue queue of jobs without a queue label.")] = ""
    target: Annotated[Literal["argocd", "flux"], Meta(description="What applies out/: argocd or flux.")] = "argocd"
    argocd: ArgoCD = field(name="argocd", default=ArgoCD())
    flux: Flux = Flux()
    fixes: Fixes = ()


class SeverityOption(Struct, frozen=True, forbid_unknown_fields=True):
    """A severity that comments cannot silence."""

    level: Annotated[
        Literal["error", "warning", "note", "ignore"] | UnsetType,
        Meta(description="The severity; ignore hides findings with the code."),
    ] = UNSET
    locked: Annotated[bool, Meta(description="Whether comments cannot silence the code.")] = False


class Locked(Struct, frozen=True, forbid_unknown_fields=True):
    """images.lock.yaml."""

    required: Annotated[
        tuple[Required, ...],
        Meta(description="Registries, or beginnings of image names, whose images must be pinned by digest."),
    ] = ()


class Policies(Struct, frozen=True, forbid_unknown_fields=True):
    """Admission policies."""

    pods: Annotated[bool, Meta(description="Whether policies also check the pods that a JobSet will create.")] = False


class ConfigFile(Struct, frozen=True, forbid_unknown_fields=True):
    """trainc.yaml: what trainc compiles for."""

    environments: Annotated[
        dict[Label, Environment | None],
        Meta(
            min_length=1,
            max_length=MAX_ENVIRONMENTS,
            description="The environments; each has a folder in out/.",
        ),
    ] = field(default_factory=lambda: {"prod": Environment()})
    defaults: Environment = Environment()
    fixes: Fixes = ()
    output: Annotated[int, Meta(ge=1, le=1, description="The version of trainc's output.")] = 1
    render_command: Annotated[
        CommandLine, Meta(description="The command that the headers of generated files tell readers to run.")
    ] = field(name="renderCommand", default=RENDER)
    folder: Annotated[
        RepositoryFolder,
        Meta(description="The folder of trainc.yaml in the repository, for Argo CD and Flux. Default: the root."),
    ] = ""
    lock: Locked = Locked()
    unmanaged: Annotated[
        tuple[OutputPath, ...],
        Meta(
            description="Files and folders below out/ that others manage, relative to the folder of trainc.yaml. If the"
            " last part has a dot, it is a file, unless it ends with a slash."
        ),
    ] = ()
    policies: Policies = Policies()
    severities: Annotated[
        dict[str, Literal["error", "warning", "note", "ignore"] | SeverityOption],
        Meta(
            description="Severities by code: error, warning, note or ignore; or {level: error, locked: true}, which no"
            " comment silences."
        ),
    ] = {}


class Settings(Environment, frozen=True, rename="camel"):
    """The options of an environment, with defaults and without short forms."""

    ssh_keys: SshKeys = SshKeys()
    transport: Transport = Transport()
    naming: Naming = Naming()
    fixes: tuple[str, ...] = ()
    lock_required: tuple[str, ...] = ()
    render_command: CommandLine = RENDER
    folder: str = ""
    pods: bool = False

    @property
    def tool(self) -> ArgoCD | Flux:
        """The options of the tool that applies out/, by ``target``: ArgoCD and Flux answer the same questions."""
        return self.flux if self.target == "flux" else self.argocd

    def homes(self, namespace: str) -> tuple[str, ...]:
        """Return the folders of jobs/ that have a namespace in the cluster, if they exist."""
        own = () if namespace in self.namespaces else (namespace,)
        return (*renamed_to(self.namespaces).get(namespace, ()), *own)

    def sharing(self, home: str) -> set[str]:
        """Return the other folders of jobs/ that have the namespace of a folder in the cluster, if they exist."""
        return {*self.homes(self.namespaces.get(home, home))} - {home}

    def takes(self, namespace: str, name: str) -> bool:
        """Return whether the environment includes a job, by its namespace below jobs/ and its name."""
        excludes = {pattern.startswith("!") for pattern in self.patterns_of(namespace, name)}
        return excludes == {False} or (not excludes and _only_excludes(self.jobs))

    def patterns_of(self, namespace: str, name: str) -> Iterator[str]:
        """Yield each pattern in ``jobs`` that matches a job, with the ! of one that excludes it."""
        for pattern in _by_start(self.jobs).of(f"{namespace}/{name}/", by_step=False):
            if _fits(pattern.removeprefix("!"), namespace, name):
                yield pattern


def _inverse(namespaces: Mapping[str, str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for home, namespace in namespaces.items():
        found.setdefault(namespace, []).append(home)
    return found


renamed_to: Final = keeping(_inverse)
"""The namespaces that an environment renames to each namespace."""


def _fits(pattern: str, namespace: str, name: str) -> bool:
    """Match <namespace>/<name>; a pattern without / matches namespaces."""
    namespaces, slash, job = pattern.partition("/")
    return fnmatchcase(namespace, namespaces) and (not slash or fnmatchcase(name, job))


def is_among(namespace: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a namespace matches one of some patterns."""
    return any(fnmatchcase(namespace, each) for each in _by_start(patterns).of(f"{namespace}/", by_step=False))


_only_excludes: Final = keeping(lambda patterns: all(each.startswith("!") for each in patterns))
_by_start: Final = keeping(
    lambda patterns: Starts((_start(each.removeprefix("!")), each) for each in patterns), 4 * MAX_ENVIRONMENTS
)
"""Patterns by the text with which all that they match begins: there may be one for each job, or namespace.

For each job, those of all environments may be asked, which have a few tuples each.
"""


def _start(pattern: str) -> str:
    return re.split(r"[*?[]", f"{pattern}/", maxsplit=1)[0]


def in_repository(path: str, settings: Settings) -> str:
    """Return a path below the folder of trainc.yaml as a path in the repository."""
    return f"{settings.folder}/{path}" if settings.folder else path


def options_of(config: JsonObject, environment: str) -> JsonObject:
    """Return the options of an environment, with those of ``defaults`` and of the top level as defaults."""
    specific = as_object(as_object(config.get("environments")).get(environment))
    shared = {key: config[key] for key in ("fixes",) if key in config}
    return {**shared, **as_object(config.get("defaults")), **specific}


def option_path(config: JsonObject, environment: str, *path: str | int) -> Path:
    """Return the path of an option in trainc.yaml: of the environment, of defaults, or at the top level.

    The first of these that has the first key of the option decides; if none has it, the path is of the environment.
    """
    places: tuple[Path, ...] = (("environments", environment), ("defaults",), ())
    return (*next((place for place in places if get(config, *place, path[0]) is not None), places[0]), *path)


def of_every_job(config: JsonObject, environment: str) -> JsonObject:
    """Return a parsed trainc.yaml with an environment that includes every job, to compile single jobs."""
    environments = as_object(config.get("environments"))
    options: JsonObject = {**as_object(environments.get(environment)), "jobs": ["*"]}
    return {**config, "environments": {**environments, environment: options}}


def read_settings(config: JsonObject, environment: str) -> Settings:
    """Return the settings of an environment from a parsed trainc.yaml.

    ``config.parse`` has checked it, unless it comes from a program that embeds trainc: then invalid options are
    ignored.
    """
    data = options_of(config, environment)
    data |= {key: expanded(data, key) for key in SHORT if key in data}
    if data.get("fixes") == RECOMMENDED:
        data["fixes"] = [RECOMMENDED]
    data["lockRequired"] = as_object(config.get("lock")).get("required", [])
    data["renderCommand"] = config.get("renderCommand", RENDER)
    data["folder"] = config.get("folder", "")
    data["pods"] = as_object(config.get("policies")).get("pods", False)
    try:
        return convert(data, Settings)
    except (ValidationError, UnicodeEncodeError):  # the latter of a key with a lone surrogate
        return convert({key: value for key, value in data.items() if _is_valid(key, value)}, Settings)


def settings_of_all(config: JsonObject) -> dict[str, Settings]:
    """Return the settings of each environment of a parsed trainc.yaml."""
    return {name: read_settings(config, name) for name in as_object(config.get("environments"))}


def deployment_folders(found: Iterable[Settings]) -> tuple[str, ...]:
    """Return the folders beside out/ to which environments write objects of Argo CD and Flux, sorted."""
    return tuple(sorted({folder for each in found for folder in (each.argocd.write, each.flux.write) if folder}))


def _is_valid(key: str, value: object) -> bool:
    try:
        convert({key: value}, Settings)
    except (ValidationError, UnicodeEncodeError):
        return False
    return True


def expanded(data: JsonObject, key: str) -> JsonObject:
    """Return an option of SHORT as a mapping."""
    value = data.get(key)
    return {"mode": value} if isinstance(value, str) else as_object(value)
