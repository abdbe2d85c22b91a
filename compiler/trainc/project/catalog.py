"""The runtimes of a project, its own and the built-in ones: what each is for, and which jobs use it.

The description of a runtime is its annotation ``trainc.dev/description``, or else the first sentence of the comment
directly above it. Pure, except that ``read_catalog`` reads runtimes/ and jobs/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Final

from msgspec import Struct

from trainc.basics.jsonvalues import Json, JsonObject, as_list, as_object, get
from trainc.documents.classify import Documents, Key, classify, identity
from trainc.findings import Finding
from trainc.inputs.settings import read_settings
from trainc.inputs.source import Document
from trainc.pipeline.compile import load_all
from trainc.pipeline.runtimes import CLUSTER_WIDE, builtin_sources, reference
from trainc.plugins.base import ancestor, pod_containers
from trainc.project.config import Config
from trainc.project.environments import JOBS
from trainc.project.read import RUNTIMES, merge, read_tree
from trainc.upstream import DESCRIPTION, FRAMEWORK_LABEL, LAUNCHER, NODE, TRAINER, TRAINER_API

FRAMEWORKS: Final = ("torch", "mpi", "jax", "xgboost", "flux")
"""The frameworks that mlPolicy can name."""

PLAIN: Final = "plain"
"""The framework of a runtime whose mlPolicy names none."""

_SENTENCE: Final = re.compile(r"(.*?)\.?(?:(?<=\.)\s|$)")


class Runtime(Struct, frozen=True):
    """A runtime: ``file`` is its source, None if it is built in; ``jobs`` are the TrainJobs that use it, sorted."""

    data: JsonObject
    key: Key
    file: str | None = None
    comment: str = ""
    jobs: tuple[str, ...] = ()

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
        return next((name for name in FRAMEWORKS if name in self.policy), PLAIN)

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
        """One sentence; empty if the runtime has none."""
        found = str(get(self.data, "metadata", "annotations", DESCRIPTION) or self.comment)
        return " ".join(found.split()).rstrip(".")

    def replicated_job(self, step: str) -> JsonObject | None:
        """Return the replicated job with an ancestor label, or None."""
        found = as_list(get(self.data, "spec", "template", "spec", "replicatedJobs"))
        return next((as_object(job) for job in found if ancestor(job) == step), None)

    def container(self, step: str) -> JsonObject:
        """Return the container of a replicated job that a TrainJob configures; empty without one."""
        name = NODE if step == TRAINER else step
        job = self.replicated_job(step)
        return next((each for each in pod_containers(job) if each.get("name") == name), {}) if job else {}

    @property
    def images(self) -> tuple[str, ...]:
        """The images of all containers, that of the trainer first, each once."""
        jobs = as_list(get(self.data, "spec", "template", "spec", "replicatedJobs"))
        own = self.container(TRAINER).get("image")
        found = [each.get("image") for job in jobs for each in pod_containers(job)]
        return tuple(dict.fromkeys(str(image) for image in (own, *found) if image))

    @property
    def has_launcher(self) -> bool:
        """Whether the trainer is the launcher of MPI, so that other pods are the nodes."""
        return as_object(self.replicated_job(TRAINER)).get("name") == LAUNCHER

    def record(self) -> JsonObject:
        """Return what ``trainc runtimes`` shows, for programs."""
        version, namespace, name = self.key
        return {
            "name": name,
            "kind": version.rpartition("/")[2],
            "namespace": namespace or None,
            "builtIn": self.file is None,
            "file": self.file,
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
        exact = [one for one in self.runtimes if one.name in (name, f"{namespace}/{name}")]
        bare = [one for one in self.runtimes if one.key[2] == name]
        return exact[0] if exact else bare[0] if len(bare) == 1 else None


def read_catalog(root: Path, config: Config) -> Catalog:
    """Read the runtimes of a project, and the jobs that use them in any environment of ``config``."""
    inputs = merge([read_tree(root, RUNTIMES), read_tree(root, JOBS)])
    loaded = load_all(inputs.sources)
    documents, findings = classify(loaded.documents)
    found = (*inputs.findings, *loaded.findings, *findings)
    return Catalog(catalog(documents, config), tuple(f for f in found if f.file.startswith(f"{RUNTIMES}/")))


def catalog(documents: Documents, config: Config) -> tuple[Runtime, ...]:
    """Return the runtimes among documents and the built-in ones; an own runtime replaces a built-in one of its name."""
    environments = [read_settings(config.data, name).runtimes for name in config.environments]
    users: dict[Key, set[str]] = {}
    for job in documents.jobs:
        metadata = as_object(job.data["metadata"])
        for replacements in environments:
            users.setdefault(reference(job, replacements), set()).add(f"{metadata['namespace']}/{metadata['name']}")

    def jobs(key: Key) -> tuple[str, ...]:
        return tuple(sorted(users.get(key, ())))

    own = {}
    for document in documents.runtimes:
        key = identity(document)
        comment = first_sentence(_comment_above(document))
        own[key] = Runtime(document.data, key, document.source.name, comment, jobs(key))
    built_in = {}
    for name, text, data in builtin_sources():
        key = f"{TRAINER_API}/{CLUSTER_WIDE}", "", name
        if key not in own:
            above = "".join(takewhile(lambda line: line.startswith("#"), text.splitlines(True)))
            built_in[key] = Runtime(data, key, None, first_sentence(above), jobs(key))
    return (*_sorted(own.values()), *_sorted(built_in.values()))


def _sorted(runtimes: Iterable[Runtime]) -> Sequence[Runtime]:
    return sorted(runtimes, key=lambda one: one.name)


def _comment_above(document: Document) -> str:
    """Return the lines of comment directly above a document."""
    lines = document.source.decoded().splitlines()
    end = start = document.locate(("apiVersion",)).line - 1
    while start and lines[start - 1].startswith("#"):
        start -= 1
    return "".join(f"{line}\n" for line in lines[start:end])


def without_nulls(value: Json) -> Json:
    """Return a value without nulls, which trainc does not write."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value if item is not None] if isinstance(value, list) else value


def first_sentence(comment: str) -> str:
    """Return the first sentence of a comment, without its full stop."""
    text = " ".join(line.lstrip("#").strip() for line in comment.splitlines() if not line.startswith("# yaml-"))
    found = _SENTENCE.match(text.strip())
    return found[1] if found else ""
