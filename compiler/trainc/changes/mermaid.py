"""The replicated jobs of changed jobs and what waits for what, as a Mermaid graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from trainc.changes.model import Effect, JobChange, Pods
from trainc.changes.phrases import effect_of
from trainc.diagnostics.display import one_line

MOST: Final = 20
"""So many jobs are drawn; more would be no picture."""


def render(jobs: Iterable[JobChange]) -> str:
    """Return the text of a graph of the jobs in which pods wait for others; empty for none of them, or too many."""
    drawn = [job for job in jobs if job.effect is not Effect.COMMENTS and any(pods.waits_for for pods in job.graph)]
    if not drawn or len(drawn) > MOST:
        return ""
    return "\n".join(("graph LR", *(line for number, job in enumerate(drawn) for line in _of_job(number, job)))) + "\n"


def _of_job(number: int, job: JobChange) -> Iterator[str]:
    yield f'  subgraph j{number}["{_label(f"{job.place}: {effect_of(job)}")}"]'
    yield from (f'    j{number}n{index}["{_label(_pods(pods))}"]' for index, pods in enumerate(job.graph))
    yield "  end"
    places = {pods.name: index for index, pods in reversed(list(enumerate(job.graph)))}
    for index, pods in enumerate(job.graph):
        for name, status in pods.waits_for:
            if name in places:
                yield f'  j{number}n{places[name]} -- "{_label(status)}" --> j{number}n{index}'


def _pods(pods: Pods) -> str:
    return f"{pods.name}: {pods.pods:,} pod{'s' * (pods.pods != 1)}"


def _label(text: str) -> str:
    """Return a text for a label; what Mermaid or HTML would read as something else is written as its code."""
    return "".join(char if char.isalnum() or char in " -_.,:/" else f"#{ord(char)};" for char in one_line(text, 120))
