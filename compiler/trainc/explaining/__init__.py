"""Where every field of the objects of a job came from: what `trainc explain NAMESPACE/JOB` prints. Pure."""

from __future__ import annotations

from trainc.explaining.fields import Miss, find
from trainc.explaining.origins import Provenance, provenances
from trainc.explaining.render import as_json, as_text
from trainc.explaining.rows import Row, Table, table
from trainc.explaining.target import Unknown, choose

__all__ = [
    "Miss",
    "Provenance",
    "Row",
    "Table",
    "Unknown",
    "as_json",
    "as_text",
    "choose",
    "find",
    "provenances",
    "table",
]
