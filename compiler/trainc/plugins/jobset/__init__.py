"""JobSet: the object itself, initializers, and the checks of runtime patches."""

from trainc.plugins.jobset.plugin import JobSet, runs_already

__all__ = ["JobSet", "runs_already"]
