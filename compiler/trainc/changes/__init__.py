"""Compares two trees of out/, and predicts what the cluster will do about the difference. Pure."""

from __future__ import annotations

from trainc.changes.compare import compare
from trainc.changes.model import Difference, Effect, JobChange

__all__ = ["Difference", "Effect", "JobChange", "compare"]
