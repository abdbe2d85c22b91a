"""Deprecated: use trainc.findings."""

from trainc.findings.redaction import concealed, veiled

__all__ = ["concealed", "veiled"]
