"""trainc compiles Kubeflow TrainJobs into the Kubernetes objects that the Trainer controller would create.

The library is one pure function::

    from trainc import Options, Source, compile

    build = compile([Source("job.yaml", text)], Options())

``Diagnostic`` is the earlier name of ``Finding``. It is deprecated and will be removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainc.basics.about import VERSION as __version__  # noqa: N811 - the public name

if TYPE_CHECKING:
    from trainc.findings import Diagnostic, Finding, Severity
    from trainc.inputs.options import Options
    from trainc.inputs.source import Document, Source
    from trainc.pipeline.compile import Build, Job, compile  # noqa: A004 - the public name
    from trainc.plugins.model import Object, Origin

__all__ = [
    "Build",
    "Diagnostic",
    "Document",
    "Finding",
    "Job",
    "Object",
    "Options",
    "Origin",
    "Severity",
    "Source",
    "__version__",
    "compile",
]


_HOMES = {
    "Build": "trainc.pipeline.compile",
    "Diagnostic": "trainc.findings",
    "Document": "trainc.inputs.source",
    "Finding": "trainc.findings",
    "Job": "trainc.pipeline.compile",
    "Object": "trainc.plugins.model",
    "Options": "trainc.inputs.options",
    "Origin": "trainc.plugins.model",
    "Severity": "trainc.findings",
    "Source": "trainc.inputs.source",
    "compile": "trainc.pipeline.compile",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that ``trainc --help`` loads none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'trainc' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
