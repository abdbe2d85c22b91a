"""Deprecated: use trainc.findings."""

from trainc.findings.secrecy import LEAST, MASK, hidden

__all__ = ["LEAST", "MASK", "hidden"]
