"""Structural schemas, as a Kubernetes API server applies them to custom resources: prune, default, validate."""

from trainc.schema.admission import (
    Admitted,
    admit,
    has_rules,
    read,
    unknown_field_hint,
    validate,
    validate_object,
)
from trainc.schema.defaulting import default
from trainc.schema.fitting import fit
from trainc.schema.judge import is_clean
from trainc.schema.pruning import drop_nulls, prune
from trainc.schema.rewriting import Go
from trainc.schema.structural import KINDS, Resource, Structural, parse, resource, schema_for
from trainc.schema.violation import Violation

__all__ = [
    "KINDS",
    "Admitted",
    "Go",
    "Resource",
    "Structural",
    "Violation",
    "admit",
    "default",
    "drop_nulls",
    "fit",
    "has_rules",
    "is_clean",
    "parse",
    "prune",
    "read",
    "resource",
    "schema_for",
    "unknown_field_hint",
    "validate",
    "validate_object",
]
