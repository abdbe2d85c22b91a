"""The data of the page: jobs, the graphs of their replicated jobs, images and findings, as JSON values.

``page`` escapes the names, messages and all other text of inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, as_list, get, objects
from trainc.changes.usage import gpus_of, pods_of, replicated_jobs
from trainc.findings import CODES, Finding, sort_key
from trainc.gitops.pods import images
from trainc.inputs.source import Document
from trainc.pipeline.content import Job
from trainc.pipeline.context import Context
from trainc.pipeline.job import Executor
from trainc.pipeline.jobresults import DocumentId, document_id
from trainc.upstream import PRIORITY_LABEL, QUEUE_LABEL


class Numbers:
    """Numbers values in the order in which they are first seen; equal ones once."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.rows: list[Json] = []

    def of(self, key: str, row: Json) -> int:
        """Return the number of a row, whose key is unique to it."""
        if key not in self.values:
            self.values[key] = len(self.rows)
            self.rows.append(row)
        return self.values[key]


Rows = dict[tuple[str, DocumentId], JsonObject]
"""What the page shows of jobs, by environment and document."""


def without_objects(inner: Executor, rows: Rows) -> Executor:
    """Return an executor whose jobs have no objects and files; what the page shows of them is added to ``rows``.

    The objects of a job take 40 KB.
    """
    graphs: dict[str, Json] = {}  # which many jobs have in common

    def execute(context: Context, documents: Iterable[Document]) -> Iterator[Job]:
        for job in inner(context, documents):
            row = _job(context.options.environment, job)
            rows[context.options.environment, document_id(job.document)] = row
            row["graph"] = graphs.setdefault(repr(row["graph"]), row["graph"])
            yield replace(job, objects=(), files=())

    return execute


def fleet(jobs: Mapping[str, Sequence[Job]], findings: Iterable[Finding], rows: Rows | None = None) -> JsonObject:
    """Return the data of jobs by environment, and of the findings of the same run.

    ``rows`` are those of ``without_objects``, if it was used. The jobs are in the order of their names, so that the
    page can sort by their positions.
    """
    known = rows or {}
    listed = sorted(findings, key=sort_key)
    by_document: dict[DocumentId, list[int]] = {}
    for number, finding in enumerate(listed):
        by_document.setdefault(document_id(finding.document), []).append(number)
    graphs, pictures = Numbers(), Numbers()
    listed_jobs: list[Json] = []
    for environment, job in sorted(
        ((environment, job) for environment, group in jobs.items() for job in group),
        key=lambda pair: (pair[1].namespace, pair[1].name, pair[0]),
    ):
        # A job that has an error together with others has lost its objects.
        row = known.get((environment, document_id(job.document))) if job.summaries else None
        row = row or _job(environment, job)
        numbered: JsonObject = {
            "graph": graphs.of(repr(row["graph"]), row["graph"]),
            "images": [pictures.of(str(image), _image(str(image))) for image in as_list(row["images"])],
            "findings": [
                number
                for document in (job.document, job.runtime)
                if document is not None
                for number in by_document.get(document_id(document), [])
            ],
        }
        listed_jobs.append({**row, **numbered})
    return {
        "jobs": listed_jobs,
        "graphs": graphs.rows,
        "images": pictures.rows,
        "findings": [_finding(finding) for finding in listed],
        "codes": {code: CODES[code].title for code in sorted({finding.code for finding in listed})},
    }


def totals(data: JsonObject) -> dict[str, int]:
    """Return the numbers at the top of the page."""
    jobs, found, pictures = (objects(data[key]) for key in ("jobs", "findings", "images"))
    severities = [finding["severity"] for finding in found]
    return {
        "jobs": len(jobs),
        "namespaces": len({str(job["namespace"]) for job in jobs}),
        "environments": len({str(job["environment"]) for job in jobs}),
        "pods": sum(_number(job["pods"]) for job in jobs),
        "gpus": sum(_number(job["gpus"]) for job in jobs),
        "errors": severities.count("error"),
        "warnings": severities.count("warning"),
        "notes": severities.count("note"),
        "images": len(pictures),
        "pinned": sum(picture["digest"] is not None for picture in pictures),
    }


def _job(environment: str, job: Job) -> JsonObject:
    jobset = next((item.data for item in job.objects if item.data.get("kind") == "JobSet"), {})
    labels = get(jobset, "metadata", "labels")
    graph = _graph(jobset)
    is_suspended = get(jobset, "spec", "suspend") is True
    used = sorted({image for item in job.objects for _, image in images(item.data)})
    named = get(job.document.data, "spec", "runtimeRef", "name") or ""
    return {
        "environment": environment,
        "namespace": job.namespace,
        "name": job.name,
        # The environment may replace the one that the TrainJob names.
        "runtime": str(named if job.runtime is None else get(job.runtime.data, "metadata", "name")),
        "queue": str(get(labels, QUEUE_LABEL) or ""),
        "priority": str(get(labels, PRIORITY_LABEL) or ""),
        "file": job.document.source.name,
        "state": "suspended" if is_suspended else "ready" if job.objects else "not compiled",
        "pods": 0 if is_suspended else sum(_number(part["pods"]) for part in graph),
        "gpus": 0 if is_suspended else sum(_number(part["gpus"]) for part in graph),
        "graph": [*graph],
        "images": [*used],
        "objects": [f"{item.data['kind']}/{get(item.data, 'metadata', 'name')}" for item in job.objects],
    }


def _graph(jobset: JsonObject) -> list[JsonObject]:
    """Return the replicated jobs of a JobSet, with their pods and GPUs, and what each waits for."""
    parts = objects(get(jobset, "spec", "replicatedJobs"))
    return [
        {
            "name": part.name,
            "pods": part.pods,
            "gpus": sum(count for _, count in gpus_of(get(data, "template", "spec", "template", "spec")))
            * pods_of(data),
            "waits": [{"for": each.name, "until": each.status} for each in part.depends_on],
        }
        for part, data in zip(replicated_jobs(jobset), parts, strict=True)
    ]


def _image(image: str) -> JsonObject:
    name, _, digest = image.partition("@")
    return {"name": name, "digest": digest or None}


def _finding(finding: Finding) -> JsonObject:
    return {
        "severity": finding.severity.value,
        "code": finding.code,
        "file": finding.file,
        "line": finding.line,
        "message": finding.message,
        "hint": finding.hint or None,
    }


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0
