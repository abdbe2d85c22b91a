"""Structural schemas, as a Kubernetes API server applies them to objects: prune, default, validate."""

from trainc.schema.admission import Admitted, admit, check, unknown_field_hint
from trainc.schema.kinds import KINDS, Resource, resource, schema_for
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
    "check",
    "has_rules",
    "parse",
    "resource",
    "schema_for",
    "unknown_field_hint",
]
