"""The texts that ``trainc new`` and ``trainc init`` write, from templates in data/templates/. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from trainc.basics.jsonvalues import Json, JsonObject, as_list, as_object, get
from trainc.data import load_text
from trainc.documents.emit import emit
from trainc.findings.display import one_line
from trainc.gitops.lifetime import deadline_obstacle
from trainc.plugins.base import is_gpu
from trainc.plugins.torchtune import ENTRYPOINT
from trainc.project.catalog import MODELINE, Runtime
from trainc.upstream import (
    DATASET_INITIALIZER,
    MODEL_INITIALIZER,
    TRAINER,
    TRAINER_API,
    TRAINER_GROUP,
    VALIDATION_LABEL,
)

DOCS: Final = "https://github.com/trainc/trainc/blob/main/docs"
"""The address of docs/."""
SCHEMAS: Final = "https://raw.githubusercontent.com/trainc/trainc/main/docs/schemas"
"""The address of the JSON schemas for editors."""

EXAMPLES: Final = {
    DATASET_INITIALIZER: ("dataset", "hf://tatsu-lab/alpaca"),
    MODEL_INITIALIZER: ("model", "hf://meta-llama/Llama-3.2-1B-Instruct"),
}
"""By the step of an initializer: its field in spec.initializer, and an example of a URI."""

DEFAULT_RESOURCES: Final[JsonObject] = {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"memory": "4Gi"}}


def fill(name: str, values: Mapping[str, Any]) -> str:
    """Return a template with values. Raises jinja2.UndefinedError for a missing value."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters.update(scalar=_scalar, line=one_line)
    return environment.from_string(load_text(f"templates/{name}.j2")).render(values)


def _scalar(value: Json) -> str:
    """Return a value of one line as it is written in a file of out/."""
    return emit({"value": value}).removeprefix("value: ").rstrip("\n")


def job_text(runtime: Runtime, namespace: str, name: str, queue: str = "") -> str:
    """Return a TrainJob for a runtime, with a comment on every field; ``queue`` is that of trainc.yaml, if any."""
    version, _, runtime_name = runtime.key
    trainer, policy = runtime.container(TRAINER), runtime.policy
    command = [str(part) for part in as_list(trainer.get("command"))]
    framework = as_object(policy.get(runtime.framework))
    own = as_object(trainer.get("resources"))
    resources: JsonObject = {
        kind: {**as_object(amounts), **as_object(own.get(kind))} for kind, amounts in DEFAULT_RESOURCES.items()
    }
    values = {
        "api": TRAINER_API,
        "schema": f"{SCHEMAS}/{TRAINER_GROUP}/trainjob_v1alpha1.json",
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
        "image": trainer.get("image", "that of the runtime"),
        "command": command,
        "torchtune": command[: len(ENTRYPOINT)] == ENTRYPOINT,
        "nodes": runtime.nodes,
        "processes": framework.get("numProcPerNode", 1),
        "launcher_is_node": framework.get("runLauncherAsNode") is True,
        "launcher": runtime.has_launcher,
        "has_deadline": deadline_obstacle(as_object(get(runtime.data, "spec", "template"))) is None,
        "resources": resources,
        "own_resources": bool(own),
        "has_gpus": any(is_gpu(resource) for resource in as_object(resources["limits"])),
        "patched": get(runtime.replicated_job(TRAINER), "name"),
        "initializers": list(_initializers(runtime)),
    }
    return fill("job.yaml", values)


def runtime_text(runtime: Runtime, name: str) -> str:
    """Return a copy of a runtime under another name, with the comments inside it."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, 4096
    data = list(yaml.load_all(runtime.document.source.decoded()))[runtime.document.index]
    data["metadata"]["name"] = name
    data["metadata"].get("labels", {}).pop(VALIDATION_LABEL, None)  # with it, no cluster would check the copy
    about = [f"{runtime.description}."] if runtime.description else []
    data.yaml_set_start_comment("\n".join([*about, f"A copy of {runtime.name}."]))
    text = StringIO()
    yaml.dump(data, text)
    schema = f"{SCHEMAS}/{TRAINER_GROUP}/{str(data['kind']).lower()}_v1alpha1.json"
    return f"{MODELINE} $schema={schema}\n{text.getvalue()}"


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


class NewFile(Struct, frozen=True):
    """A file to create. ``others`` are names under which a repository may have it already."""

    name: str
    text: str
    purpose: str
    others: tuple[str, ...] = ()


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


_CI: Final = {"github": ".github/workflows/trainc.yml", "gitlab": ".gitlab-ci.yml"}

_FILES: Final = (
    ("trainc.yaml", "trainc.yaml", "environments, and which corrections of Trainer apply", ()),
    ("jobs/README.md", "jobs-readme.md", "the folder of TrainJobs", ()),
    ("runtimes/README.md", "runtimes-readme.md", "the folder of runtimes", ()),
    ("policies/README.md", "policies-readme.md", "the folder of admission policies", ()),
    (".gitattributes", "gitattributes", "how git treats out/", ()),
    (".gitignore", "gitignore", "files that git ignores", ()),
    ("Makefile", "Makefile", "make render, make check and make diff", ("GNUmakefile", "makefile")),
)
_AT_TOP: Final = (
    (".pre-commit-config.yaml", "pre-commit-config.yaml", "renders before each commit", ()),
    (
        "CODEOWNERS",
        "CODEOWNERS",
        "who approves changes",
        (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "docs/CODEOWNERS"),
    ),
)
"""Files that only have an effect at the top of a git repository."""


def init_files(setup: Setup) -> tuple[NewFile, ...]:
    """Return the files of a new repository, in the order in which they are shown."""
    rows = [*_FILES, *(_AT_TOP if setup.whole else ())]
    if setup.ci in _CI and setup.whole:
        rows.append((_CI[setup.ci], f"{setup.ci}.yml", "checks every change", ()))
    values = {**asdict(setup), "docs": DOCS, "schemas": SCHEMAS}
    files = [
        NewFile(name, fill(f"init/{template}", values), purpose, others) for name, template, purpose, others in rows
    ]
    for policy in POLICIES if setup.policies else ():
        files.append(NewFile(f"policies/{policy}.yaml", fill(f"init/{policy}.yaml", values), "a policy"))
        tests = fill("init/policy-test.yaml", {"policy": policy})
        files.append(NewFile(f"policies/tests/{policy}.yaml", tests, "its tests"))
    return tuple(files)
