"""Deprecated: use trainc.findings."""

from trainc.findings.text import each, render, render_brief, summary

__all__ = ["each", "render", "render_brief", "summary"]
