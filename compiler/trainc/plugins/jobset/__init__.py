"""JobSet: the object itself, initializers, and the checks of runtime patches."""

from trainc.plugins.jobset.checks import patched_sources
from trainc.plugins.jobset.plugin import JobSet, runs_already

__all__ = ["JobSet", "patched_sources", "runs_already"]
