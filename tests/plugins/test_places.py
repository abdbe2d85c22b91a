"""Findings of plugins stand at the field that caused them."""

from __future__ import annotations

import pytest

from builders import role, runtime, trainjob
from trainc import Options, Source, compile
from trainc.basics.jsonvalues import Path

GPUS = ", resources: {limits: {nvidia.com/gpu: 2, example.com/gpu: 1}}"
NODE = role(trainer=True, image="i:1")
FLUX: Path = ("spec", "mlPolicy", "flux")
TRAINER: Path = ("spec", "trainer")
TEMPLATE: Path = ("spec", "template", "spec")
LIMITS: Path = (*TRAINER, "resourcesPerNode", "limits")
PLACES: list[tuple[str, str, str, Path]] = [
    ("TC201", runtime(NODE, policy="{flux: {numProcPerNode: 0}}"), "{numNodes: 1}", (*FLUX, "numProcPerNode")),
    ("TC405", runtime(NODE, policy="{flux: {}}"), "{numNodes: 1, numProcPerNode: 0}", (*TRAINER, "numProcPerNode")),
    ("TC405", runtime(NODE, policy="{flux: {}}"), "{}", TRAINER),
    ("TC405", runtime(NODE, policy="{flux: {}}"), "", ("spec",)),
    ("TC409", runtime(role(trainer=True, image="i:1", container=GPUS), policy="{torch: {}}"), "{}", TEMPLATE),
    ("TC409", runtime(NODE, policy="{torch: {}}"), "{resourcesPerNode: {limits: {a/gpu: 1, b/gpu: 1}}}", LIMITS),
]


@pytest.mark.parametrize(("code", "runtime", "trainer", "path"), PLACES)
def test_a_finding_stands_at_its_field(code: str, runtime: str, trainer: str, path: Path) -> None:
    job = trainjob("j", trainer=trainer)
    build = compile([Source("rt.yaml", runtime), Source("j.yaml", job)], Options())
    assert [found.path for found in build.findings if found.code == code] == [path]
