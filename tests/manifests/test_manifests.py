"""Manifests of the shapes that people have in public repositories, and the runtimes of older releases of Trainer.

No check may refuse what a cluster would take and run. Every document here has the structure, images, resources and
settings of a real one, whose repository and path stand above it; names of people's jobs, scripts and values of
variables are ours. Codes after the path say what trainc refuses; REASONS has why no cluster would run it either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from trainc import Options, Source, compile
from trainc.basics.jsonvalues import as_object, get

HERE = Path(__file__).resolve().parent
RELEASES = ("v2.0.1", "v2.1.0", "v2.2.1")
JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: job, namespace: {namespace}}}
spec:
  runtimeRef: {{name: {name}, kind: {kind}}}
  trainer: {{numNodes: 1}}
"""


class Manifest:
    """One document: where it comes from, its text, and what it is."""

    def __init__(self, text: str, release: str = "") -> None:
        (first, self.text) = text.split("\n", 1)
        self.origin, _, codes = first.removeprefix("# ").partition(" (")
        self.expected = re.findall(r"TC\d{3}", codes)
        self.release = release
        document = as_object(yaml.load(self.text, yaml.CSafeLoader))
        self.kind = str(document["kind"])
        self.name = str(get(document, "metadata", "name"))
        self.namespace = str(get(document, "metadata", "namespace") or "default")
        self.runtime = get(document, "spec", "runtimeRef", "name")


def _read(name: str, release: str = "") -> list[Manifest]:
    return [Manifest(text, release) for text in (HERE / name).read_text("utf-8").split("\n---\n")]


MANIFESTS = _read("manifests.yaml")
RUNTIMES = [manifest for release in RELEASES for manifest in _read(f"runtimes-{release}.yaml", release)]


def _sources(manifest: Manifest) -> Iterator[Source]:
    """Yield a manifest and what it needs: a runtime a job that uses it, a job its runtime if that is beside it."""
    text = manifest.text
    if manifest.kind != "TrainJob":
        yield Source("job.yaml", JOB.format(name=manifest.name, kind=manifest.kind, namespace=manifest.namespace))
    else:
        repository = manifest.origin.partition(":")[0]
        beside = [
            other
            for other in MANIFESTS
            if other.name == manifest.runtime and other.kind != "TrainJob" and other.origin.startswith(repository)
        ]
        yield from (Source("runtime.yaml", other.text) for other in beside[:1])
    yield Source("manifest.yaml", text)


def _refused(manifest: Manifest) -> list[str]:
    build = compile(_sources(manifest), Options())
    return sorted({finding.code for finding in build.findings if finding.severity == "error"})


REASONS = {
    "TC101": "a field that v2.3.0 does not have: the API server drops it, or refuses it under strict validation",
    "TC102": "a text where the CRD asks for a number",
    "TC302": "a kind of runtime that Trainer does not know",
    "TC305": "no container node in the trainer's job, which the runtime's webhook refuses",
    "TC306": "an initializer without the volume mount that the webhook asks for",
    "TC307": "a manager without a domain, which the CRD refuses",
    "TC805": "a container without an image: no Pod can be created",
    "TC807": "a GPU requested without a limit: no Pod can be created",
}
"""What is refused here, and why a cluster does not run it as it was meant either."""


def test_enough() -> None:
    assert len(MANIFESTS) >= 60
    assert len(RUNTIMES) == 22
    assert {code for manifest in MANIFESTS + RUNTIMES for code in manifest.expected} == set(REASONS)


@pytest.mark.parametrize("manifest", MANIFESTS + RUNTIMES, ids=lambda manifest: manifest.origin)
def test_nothing_else_is_refused(manifest: Manifest) -> None:
    assert _refused(manifest) == manifest.expected
