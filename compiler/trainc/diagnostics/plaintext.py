"""Deprecated: use trainc.findings."""

from trainc.findings.reporting import spilled

__all__ = ["spilled"]
