"""Deprecated: use trainc.findings."""

from trainc.findings.formats import FORMATS, with_silenced

__all__ = ["FORMATS", "with_silenced"]
