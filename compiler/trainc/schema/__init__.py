"""Structural schemas, as a Kubernetes API server applies them to objects: prune, default, validate."""

from trainc.schema.admission import Admitted, admit, unknown_field_hint
from trainc.schema.kinds import KINDS, Resource, resource
from trainc.schema.structural import SchemaError, Structural, has_rules, parse
from trainc.schema.wording import Violation

__all__ = [
    "KINDS",
    "Admitted",
    "Resource",
    "SchemaError",
    "Structural",
    "Violation",
    "admit",
    "has_rules",
    "parse",
    "resource",
    "unknown_field_hint",
]
