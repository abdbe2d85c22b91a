"""The codes of files that cannot be written, and of faults of trainc."""

from __future__ import annotations

from trainc.findings.code import Code
from trainc.findings.finding import Severity

_E = Severity.ERROR

OUTPUT = {
    "TC901": Code(
        _E,
        "file in the way",
        "A file under out/ does not carry trainc's header, so trainc will neither overwrite nor remove it.",
        "move it away, or delete it if it is not needed",
    ),
    "TC902": Code(_E, "internal error", "A fault of trainc. Please report it, with the input that caused it."),
    "TC903": Code(
        _E,
        "file under out/ that trainc did not write",
        "The file lacks trainc's header, or lies where trainc writes nothing. Argo CD or Flux would apply it, let it"
        " override the Application, or fail because of it: that goes for .yaml, .yml, .json and .jsonnet, a Chart.yaml,"
        " a kustomization, .argocd-source*.yaml, .sourceignore and links. Other files are a note. diff compares none of"
        " them. `unmanaged` in trainc.yaml names the paths of files that may stay.",
        "move it out of out/, or name it under 'unmanaged' in trainc.yaml",
    ),
    "TC904": Code(
        _E,
        "file under out/ that cannot be compared",
        "The file carries trainc's header and is not what trainc writes: it is not YAML, does not hold exactly one"
        " object, or holds one that no cluster would take. Of the side that is left behind it is a note.",
        "run trainc render",
    ),
}
