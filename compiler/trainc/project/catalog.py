"""The runtimes of a project, its own and the built-in ones: what each is for, and which jobs use it.

The description of a runtime is its annotation ``trainc.dev/description``, or else the first sentence of the comment
directly above it.
"""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path
from typing import Final

from msgspec import Struct

from trainc.basics.jsonvalues import Json, JsonObject, as_object, get, objects
from trainc.documents.classify import Key, classify, identity
from trainc.findings import Finding
from trainc.findings.redaction import lines_of
from trainc.inputs.settings import read_settings
from trainc.inputs.source import Document
from trainc.pipeline.compile import load_all
from trainc.pipeline.runtimes import builtin_sources, reference
from trainc.plugins.base import ancestor, pod_containers
from trainc.project.config import Config
from trainc.project.names import JOBS, RUNTIMES
from trainc.project.read import merge, read_tree
from trainc.upstream import DESCRIPTION, FRAMEWORK_LABEL, NODE, TRAINER

FRAMEWORKS: Final = ("torch", "mpi", "jax", "xgboost", "flux")
"""The frameworks that mlPolicy can name."""

PLAIN: Final = "plain"
"""The framework of a runtime whose mlPolicy names none."""

MODELINE: Final = "# yaml-language-server:"
"""The beginning of a comment that names the schema of a file for editors."""
_SENTENCE: Final = re.compile(r"(.*?)\.?(?:(?<=\.)\s|$)")


class Runtime(Struct, frozen=True):
    """A runtime, and the TrainJobs that use it, sorted: ``team-a/mnist``."""

    document: Document
    jobs: tuple[str, ...] = ()

    @property
    def data(self) -> JsonObject:
        """The object."""
        return self.document.data

    @property
    def key(self) -> Key:
        """The identity: apiVersion and kind, namespace, name."""
        return identity(self.document)

    @property
    def is_built_in(self) -> bool:
        """Whether it is built into trainc."""
        return self.document.source.built_in is not None

    @property
    def name(self) -> str:
        """The name, of a TrainingRuntime with its namespace: ``team-a/detector``."""
        _, namespace, name = self.key
        return f"{namespace}/{name}" if namespace else name

    @property
    def policy(self) -> JsonObject:
        """The mlPolicy; empty without one."""
        return as_object(get(self.data, "spec", "mlPolicy"))

    @property
    def framework(self) -> str:
        """The framework that mlPolicy names, or plain."""
        return next((name for name in FRAMEWORKS if self.policy.get(name) is not None), PLAIN)

    @property
    def label(self) -> str:
        """The framework for people: the label ``trainer.kubeflow.org/framework``, or that of mlPolicy."""
        return str(get(self.data, "metadata", "labels", FRAMEWORK_LABEL) or self.framework)

    @property
    def nodes(self) -> int:
        """mlPolicy.numNodes: the nodes of a job that does not set numNodes."""
        found = self.policy.get("numNodes")
        return found if isinstance(found, int) else 1

    @property
    def description(self) -> str:
        """One sentence without a full stop; empty if the runtime has none."""
        annotation = get(self.data, "metadata", "annotations", DESCRIPTION)
        text = str(annotation or _SENTENCE.match(_comment_above(self.document))[1])  # type: ignore[index]  # it may be empty
        return " ".join(text.split()).rstrip(".")

    @property
    def replicated_jobs(self) -> list[JsonObject]:
        """The replicated jobs of the template."""
        return objects(get(self.data, "spec", "template", "spec", "replicatedJobs"))

    def replicated_job(self, step: str) -> JsonObject:
        """Return the replicated job with an ancestor label; empty without one."""
        return next((job for job in self.replicated_jobs if ancestor(job) == step), {})

    def container(self, step: str) -> JsonObject:
        """Return the container of a replicated job that a TrainJob configures; empty without one."""
        name = NODE if step == TRAINER else step
        return next((each for each in pod_containers(self.replicated_job(step)) if each.get("name") == name), {})

    @property
    def images(self) -> tuple[str, ...]:
        """The images of all containers, that of the trainer first, each once."""
        found = [container for job in self.replicated_jobs for container in pod_containers(job)]
        images = (container.get("image") for container in (self.container(TRAINER), *found))
        return tuple(dict.fromkeys(str(image) for image in images if image))

    def record(self) -> JsonObject:
        """Return what ``trainc runtimes`` shows, for programs."""
        version, namespace, name = self.key
        return {
            "name": name,
            "kind": version.rpartition("/")[2],
            "namespace": namespace or None,
            "builtIn": self.is_built_in,
            "file": None if self.is_built_in else self.document.source.name,
            "framework": self.label,
            "numNodes": self.nodes,
            "images": list[Json](self.images),
            "description": self.description or None,
            "jobs": list[Json](self.jobs),
        }


class Catalog(Struct, frozen=True):
    """The runtimes, own ones first, each part sorted by name, and the findings on files that cannot be used."""

    runtimes: tuple[Runtime, ...]
    findings: tuple[Finding, ...] = ()

    def find(self, name: str, namespace: str = "") -> Runtime | None:
        """Return the runtime with a name, such as ``torch-distributed`` or ``team-a/detector``, or None.

        A TrainingRuntime of ``namespace``, or the only one of its name, is also found by its bare name.
        """
        by_name = {one.name: one for one in self.runtimes}
        bare = [one for one in self.runtimes if one.key[2] == name]
        return by_name.get(name) or by_name.get(f"{namespace}/{name}") or (bare[0] if len(bare) == 1 else None)


def read_catalog(root: Path, config: Config) -> Catalog:
    """Read the runtimes of a project, and the jobs that use them in any environment of ``config``."""
    inputs = merge([read_tree(root, RUNTIMES), read_tree(root, JOBS)])
    loaded = load_all((*inputs.sources, *builtin_sources()))
    documents, findings = classify(loaded.documents)  # of two runtimes with one name, it keeps that of runtimes/
    environments = [read_settings(config.data, name).runtimes for name in config.environments]
    users: dict[Key, set[str]] = {}
    for job in documents.jobs:
        metadata = as_object(job.data["metadata"])
        for replacements in environments:
            users.setdefault(reference(job, replacements), set()).add(f"{metadata['namespace']}/{metadata['name']}")
    runtimes = [Runtime(each, tuple(sorted(users.get(identity(each), ())))) for each in documents.runtimes]
    found = (*inputs.findings, *loaded.findings, *findings)
    return Catalog(
        tuple(sorted(runtimes, key=lambda one: (one.is_built_in, one.name))),
        tuple(finding for finding in found if f"{finding.file}/".startswith(f"{RUNTIMES}/")),
    )


def _comment_above(document: Document) -> str:
    """Return the comment directly above a document, or an empty text."""
    lines = lines_of(document.source)
    before = range(document.locate(()).line - 2, -1, -1)
    above = [*takewhile(lambda line: line.startswith("#"), map(lines.__getitem__, before))]
    return " ".join(line.lstrip("#").strip() for line in reversed(above) if not line.startswith(MODELINE))
