"""Deprecated: use trainc.findings."""

from trainc.findings.formats import HEADER, NAME_WIDTH, plain

__all__ = ["HEADER", "NAME_WIDTH", "plain"]
