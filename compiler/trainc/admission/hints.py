"""Hints: what replaces a field of an earlier release of Trainer's API in v2.3.0, and names misspelt in expressions.

Source: the CRDs of v2.0.0, v2.1.0 and v2.2.0, compared with those of v2.3.0, and those of v2alpha1 before them.
"""

from __future__ import annotations

from trainc.basics.jsonvalues import Path
from trainc.basics.regex import lazy
from trainc.cel.environments import base
from trainc.documents.classify import RUNTIMES, TRAINJOB
from trainc.findings import suggest

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
        "write a number, or leave it out: Trainer then derives it from the resources"
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


_ADVICE: dict[Path, str] = {
    ("spec", "trainer", "resourcesPerNode"): "write resources below limits or requests",
}
"""What people mean who get these fields of a TrainJob, or fields below them, wrong."""


def field_hint(kind: str, path: Path) -> str | None:
    """Return what to write instead of a field of an earlier release, or of one that is often misunderstood, or None."""
    if kind not in (TRAINJOB, *RUNTIMES):
        return None
    table = _TRAINJOB if kind == TRAINJOB else _RUNTIME
    found = table.get(tuple("[]" if isinstance(step, int) else step for step in path))
    return found or _ADVICE.get(path) or _ADVICE.get(path[:-1])


_UNDECLARED = lazy(r"undeclared reference to '([A-Za-z_][A-Za-z0-9_]*)'")
_MACRO_VARIABLE = lazy(r"\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*,")
_POLICY_NAMES = ("object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer")


def undeclared(expression: str, position: int, message: str) -> tuple[int, str, str | None]:
    """Return position, message and hint for an error of a policy's expression; others than unknown names stay as is."""
    found = _UNDECLARED.match(message)
    if found is None:
        return position, message, None
    name = found[1]
    if expression[position : position + 1] != "(":
        if name == "variables":
            return position, message, "a match condition cannot use variables"
        return position, f"unknown name {name!r}", suggest(name, {*_POLICY_NAMES, *_MACRO_VARIABLE.findall(expression)})
    position = max(expression.rfind(name, 0, position), 0)
    if name in base(new=False).functions:
        hint: str | None = "it is new in Kubernetes 1.34, which does not accept it in a new policy"
    else:
        hint = _function_hint(name)
    return position, f"unknown function {name!r}", hint


def rule_hint(rule: str, message: str) -> str | None:
    """Return what is probably meant by the unknown function that an error of a CRD's rule is about, if it is."""
    found = _UNDECLARED.search(message)
    return _function_hint(found[1]) if found is not None and f"{found[1]}(" in rule else None


def _function_hint(name: str) -> str | None:
    known = base(new=True)
    names = {macro for macro, _ in known.macros} | {function for function in known.functions if function.isidentifier()}
    return suggest(name, names)
