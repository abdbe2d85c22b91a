"""Fields of earlier releases of Trainer's API, and what replaces each in v2.3.0.

Source: the CRDs of v2.0.0, v2.1.0 and v2.2.0, compared with those of v2.3.0, and those of v2alpha1 before them.
"""

from __future__ import annotations

from trainc.basics.jsonvalues import Path

_PATCHES = (
    "use spec.runtimePatches: one item per manager, whose trainingRuntimeSpec.template.spec.replicatedJobs names the"
    " jobs to change"
)
_PATCHED_METADATA = "use spec.runtimePatches, in trainingRuntimeSpec.template.metadata"
_POD: Path = ("spec", "template", "spec", "replicatedJobs", "[]", "template", "spec", "template", "spec")

_TRAINJOB: dict[Path, str] = {
    ("spec", "podSpecOverrides"): f"removed in Trainer v2.1: {_PATCHES}",
    ("spec", "podTemplateOverrides"): f"removed in Trainer v2.2: {_PATCHES}",
    ("spec", "labels"): f"removed in Trainer v2.2: {_PATCHED_METADATA}.labels",
    ("spec", "annotations"): f"removed in Trainer v2.2: {_PATCHED_METADATA}.annotations",
    ("spec", "datasetConfig"): "removed in Trainer v2.0: use spec.initializer.dataset",
    ("spec", "modelConfig"): (
        "removed in Trainer v2.0: use spec.initializer.model for the input; the training code saves the output"
    ),
    ("spec", "trainer", "numProcPerNode"): (
        "a number; leave it out for auto, which Trainer derives from the resources"
    ),
    ("spec", "trainer", "resourcesPerNode", "auto"): (
        "write resources below limits or requests, or leave resourcesPerNode out for those of the runtime"
    ),
}
_RUNTIME: dict[Path, str] = {
    ("spec", "mlPolicy", "torch", "numProcPerNode"): (
        "removed in Trainer v2.2: set spec.trainer.numProcPerNode in the TrainJob, or leave it out: Trainer derives it"
        " from the resources"
    ),
    ("spec", "mlPolicy", "torch", "elasticPolicy"): (
        "removed in Trainer v2.2, which has no elastic training: the number of nodes is fixed; for maxRestarts set the"
        " variable PET_MAX_RESTARTS in the container"
    ),
    (*_POD, "workloadRef"): "removed in Trainer v2.3: use schedulingGroup.podGroupName",
}


def replacement(kind: str, path: Path) -> str | None:
    """Return what to write instead of a field of an earlier release, or None for a field that none had."""
    table = _TRAINJOB if kind == "TrainJob" else _RUNTIME
    return table.get(tuple("[]" if isinstance(step, int) else step for step in path))
