"""The texts that ``trainc new`` and ``trainc init`` write, from templates in data/templates/. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict

from trainc.basics.about import DOCUMENTATION, REPOSITORY
from trainc.basics.jsonvalues import Json, JsonObject, as_list, as_object, get, put, without_nulls
from trainc.basics.regex import lazy
from trainc.data import load_text
from trainc.documents.edit import Edit, apply
from trainc.documents.emit import Quoted, emit
from trainc.documents.load import load
from trainc.documents.rewrite import Rewrite, text_of
from trainc.findings.display import escaped, one_line
from trainc.findings.fixes import Action, Fix
from trainc.gitops.lifetime import deadline_obstacle
from trainc.inputs.source import Source
from trainc.plugins.base import is_gpu
from trainc.plugins.torchtune import ENTRYPOINT
from trainc.project.catalog import MODELINE, Runtime
from trainc.project.names import CONFIG
from trainc.schema.editors import schema_url
from trainc.upstream import (
    DATASET_INITIALIZER,
    LAUNCHER,
    MODEL_INITIALIZER,
    TRAINER,
    TRAINER_API,
    VALIDATION_LABEL,
)

EXAMPLES: Final = {
    DATASET_INITIALIZER: ("dataset", "hf://tatsu-lab/alpaca"),
    MODEL_INITIALIZER: ("model", "hf://meta-llama/Llama-3.2-1B-Instruct"),
}
"""By the step of an initializer: its field in spec.initializer, and an example of a URI."""

_NAME: Final = ("metadata", "name")
_LABELS: Final = ("metadata", "labels")
_HEAD = lazy(r"\A\ufeff?(?:[ \t]*(?:#.*|---.*)?\r?\n)*")
"""What is above a document."""

DEFAULT_RESOURCES: Final[JsonObject] = {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi"}}


def fill(name: str, values: Mapping[str, Any]) -> str:
    """Return a template with values. Raises jinja2.UndefinedError for a missing value."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    loader = FunctionLoader(lambda name: load_text(f"templates/{name}.j2"))
    environment = Environment(loader=loader, undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters.update(scalar=_scalar, line=one_line)
    return environment.get_template(name).render(values)


def _scalar(value: Json) -> str:
    """Return a value as it is written in a file of out/, but always on one line."""
    one = Quoted(value) if isinstance(value, str) and "\n" in value else value
    return emit({"value": one}).removeprefix("value: ").rstrip("\n")


def job_text(runtime: Runtime, namespace: str, name: str, queue: str = "") -> str:
    """Return a TrainJob for a runtime, with a comment on every field; ``queue`` is that of trainc.yaml, if any."""
    version, _, runtime_name = runtime.key
    trainer, trainer_job = runtime.container(TRAINER), runtime.replicated_job(TRAINER)
    command = [str(part) for part in as_list(trainer.get("command"))]
    framework = as_object(runtime.policy.get(runtime.framework))
    own = as_object(trainer.get("resources"))
    named = {resource for kind in DEFAULT_RESOURCES for resource in as_object(own.get(kind))}
    resources: dict[str, JsonObject] = {}
    for kind, amounts in DEFAULT_RESOURCES.items():
        # A default beside an amount of the runtime could be a request above its limit.
        defaults = {resource: amount for resource, amount in as_object(amounts).items() if resource not in named}
        if merged := {**defaults, **as_object(own.get(kind))}:
            resources[kind] = merged
    values = {
        "api": TRAINER_API,
        "schema": schema_url("TrainJob"),
        "file": f"jobs/{namespace}/{name}.yaml",
        "namespace": namespace,
        "name": name,
        "queue": queue,
        "runtime": runtime,
        "runtime_name": runtime_name,
        "kind": version.rpartition("/")[2],
        "framework": runtime.framework,
        "policy": get(runtime.data, "spec", "mlPolicy") is not None,
        "trains": bool(trainer),
        "image": trainer.get("image", "none"),
        "command": command,
        "torchtune": command[: len(ENTRYPOINT)] == ENTRYPOINT,
        "nodes": runtime.nodes,
        "processes": framework.get("numProcPerNode", 1),
        "launcher_is_node": framework.get("runLauncherAsNode") is True,
        "launcher": trainer_job.get("name") == LAUNCHER,
        "has_deadline": deadline_obstacle(as_object(get(runtime.data, "spec", "template"))) is None,
        "resources": resources,
        "own_resources": bool(own),
        "has_gpus": any(is_gpu(resource) for resource in resources.get("limits", ())),
        "patched": trainer_job.get("name"),
        "initializers": list(_initializers(runtime)),
    }
    return fill("job.yaml", values)


def runtime_text(runtime: Runtime, name: str) -> str:
    """Return a copy of a runtime under another name, with the comments inside it."""
    data = as_object(without_nulls(put(runtime.data, _NAME, name)))
    as_object(get(data, *_LABELS)).pop(VALIDATION_LABEL, None)  # with it, no cluster would check the copy
    text = _with_layout(runtime, name)
    if [without_nulls(each.data) for each in load(Source("", text))[0]] != [data]:
        text = emit(data)
    described = [escaped(f"{runtime.description}.")] if runtime.description else []
    about = "\n".join([*described, f"A copy of {runtime.name}."])
    comment = "".join(f"# {line}\n" for line in about.split("\n"))
    return f"{MODELINE} $schema={schema_url(str(data['kind']))}\n{comment}{text}"


def _with_layout(runtime: Runtime, name: str) -> str:
    """Return the text of a copy with the comments inside the runtime and its layout; an empty one without it."""
    source, index = runtime.document.source, runtime.document.index
    edits = [Edit(index, Fix(Action.REPLACE, _NAME, name))]
    labels = as_object(get(runtime.data, *_LABELS))
    if VALIDATION_LABEL in labels:
        label = Rewrite((*_LABELS, VALIDATION_LABEL))
        edits.append(Edit(index, label if len(labels) > 1 else Rewrite(_LABELS, _LABELS[-1], {})))
    new, _ = apply(source, edits, together=True)
    copies = [text_of(each) for each in load(new)[0] if each.index == index]
    return _HEAD.sub("", (copies or [None])[0] or "", 1)


def _initializers(runtime: Runtime) -> Iterator[dict[str, Any]]:
    """Yield what the template needs for each initializer of a runtime that a TrainJob can configure.

    Trainer's webhook refuses the field if the container has no volume mount called initializer.
    """
    for step, (field, example) in EXAMPLES.items():
        container = runtime.container(step)
        variables = {get(each, "name"): get(each, "value") for each in as_list(container.get("env"))}
        if "initializer" in (get(each, "name") for each in as_list(container.get("volumeMounts"))):
            yield {"what": field, "uri": variables.get("STORAGE_URI") or example}


# The files of a new repository.

POLICIES: Final = ("host-access", "image-tags", "job-size")
"""The policies that ``trainc init --policies`` writes."""


class NewFile(NamedTuple):
    """A file to create, and what it is for."""

    name: str
    purpose: str
    text: str


class Setup(Struct, frozen=True):
    """What a new repository is set up for.

    ``ci`` is github, gitlab or none; ``branch`` the main branch, ``repository`` its URL for Argo CD, or empty;
    ``command`` the one that renders; ``whole`` is False in a folder of a larger git repository.
    """

    version: str
    ci: str = "none"
    branch: str = "main"
    repository: str = ""
    command: str = "make render"
    owner: str = "@example/platform-team"
    environments: tuple[str, ...] = ("prod",)
    policies: bool = False
    whole: bool = True


_FILES: Final = {
    "trainc.yaml": "environments, and which corrections of Trainer apply",
    "jobs/README.md": "the folder of TrainJobs",
    "runtimes/README.md": "the folder of runtimes",
    "policies/README.md": "the folder of admission policies",
    ".gitattributes": "how git treats out/",
    ".gitignore": "files that git ignores",
    "Makefile": "make render, make check and make diff",
}
_AT_TOP: Final = {".pre-commit-config.yaml": "renders before each commit", "CODEOWNERS": "who approves changes"}
"""Files that only have an effect at the top of a git repository."""
_CI: Final = {"github": ".github/workflows/trainc.yml", "gitlab": ".gitlab-ci.yml"}


def init_files(setup: Setup) -> tuple[NewFile, ...]:
    """Return the files of a new repository, in the order in which they are shown."""
    rows = {**_FILES, **(_AT_TOP if setup.whole else {})}
    if setup.ci in _CI and setup.whole:
        rows[_CI[setup.ci]] = "checks every change"
    for policy in POLICIES if setup.policies else ():
        rows |= {f"policies/{policy}.yaml": "a policy", f"policies/tests/{policy}.yaml": "its tests"}
    values = {**asdict(setup), "docs": DOCUMENTATION, "schema": schema_url(CONFIG)}
    values["requirements"] = f"{REPOSITORY}/releases/download/v{setup.version}/requirements.txt"
    return tuple(NewFile(name, purpose, fill(f"init/{name.lstrip('.')}", values)) for name, purpose in rows.items())
