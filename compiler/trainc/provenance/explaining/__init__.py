"""Where every field of the objects of a job came from: what `trainc explain NAMESPACE/JOB` prints. Pure."""

from __future__ import annotations

from trainc.provenance.explaining.fields import Miss, find
from trainc.provenance.explaining.origins import Provenance, provenances
from trainc.provenance.explaining.render import as_json, as_text
from trainc.provenance.explaining.rows import Row, Table, table
from trainc.provenance.explaining.target import Unknown, choose

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
