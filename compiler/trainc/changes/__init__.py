"""What a change of out/ does: two trees of committed files in, the difference and what the cluster does out. Pure."""

from __future__ import annotations

from trainc.changes.compare import compare
from trainc.changes.model import Difference, Effect, JobChange

__all__ = ["Difference", "Effect", "JobChange", "compare"]
