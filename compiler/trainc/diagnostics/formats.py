"""Deprecated: use trainc.findings."""

from trainc.findings.formats import FORMATS
from trainc.findings.formats import as_sarif as with_silenced

__all__ = ["FORMATS", "with_silenced"]
