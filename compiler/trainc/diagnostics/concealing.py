"""Deprecated: use trainc.findings."""

from trainc.findings.concealing import concealed, veiled

__all__ = ["concealed", "veiled"]
