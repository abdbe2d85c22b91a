"""Deprecated: use trainc.findings."""

from trainc.findings.inert import COMMAND, FORMS, LINE_COMMAND, for_json, for_people, suspicious

__all__ = ["COMMAND", "FORMS", "LINE_COMMAND", "for_json", "for_people", "suspicious"]
