"""Deprecated: use trainc.findings."""

from trainc.findings.redaction import LEAST, MASK
from trainc.findings.secrets import hidden

__all__ = ["LEAST", "MASK", "hidden"]
