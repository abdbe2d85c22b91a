"""Deprecated: use trainc.findings."""

from trainc.findings.explain import listing, page

__all__ = ["listing", "page"]
