"""JobSet: the object itself, initializers, and the checks of runtime patches."""

from trainc.plugins.jobset.plugin import JobSet

__all__ = ["JobSet"]
