"""Deprecated: use trainc.findings."""

from trainc.findings.plaintext import spilled

__all__ = ["spilled"]
