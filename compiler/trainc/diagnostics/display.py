"""Deprecated: use trainc.findings."""

from trainc.findings.display import is_printable, one_line, width

__all__ = ["is_printable", "one_line", "width"]
