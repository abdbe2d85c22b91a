"""Deprecated: use trainc.findings."""

from trainc.findings.codes import listing, page

__all__ = ["listing", "page"]
