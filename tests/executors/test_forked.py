"""Processes on one machine give what one process gives."""

from __future__ import annotations

import os
from collections.abc import Iterable
from json import dumps
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from builders import trainjob
from trainc.findings.formats import as_json
from trainc.inputs.options import Options, Revision
from trainc.inputs.source import Document, Packed, Source
from trainc.parallel import forked as forking
from trainc.parallel.forked import CHUNK, FEW, forked, pack, ranges, unpack
from trainc.pipeline import job as pipeline_job
from trainc.pipeline.compile import Build, load_all, run
from trainc.pipeline.content import Job, bytes_of
from trainc.pipeline.context import Context, Keep
from trainc.pipeline.job import Executor, in_order
from trainc.pipeline.jobresults import Documents, decode, encode
from trainc.project.read import merge, read_tree

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here")


def read(root: Path) -> tuple[Source, ...]:
    return merge(read_tree(root, name) for name in ("jobs", "runtimes", "policies")).sources


def build(root: Path, execute: Executor, base: Revision | None = None) -> Build:
    return run(load_all(read(root)), Options(base=base), Keep.FILES, execute)


def same(one: Build, other: Build) -> None:
    assert one.files == other.files
    assert as_json(one.findings, False) == as_json(other.findings, False)
    assert [(job.namespace, job.name, job.summaries) for job in one.jobs] == [
        (job.namespace, job.name, job.summaries) for job in other.jobs
    ]


def test_processes_give_what_one_gives(repository: Path) -> None:
    alone = build(repository, in_order)
    assert len(alone.files) > 50
    assert alone.findings
    same(build(repository, forked(3)), alone)


def test_so_they_do_where_jobs_are_wrong(broken: Path) -> None:
    alone = build(broken, in_order)
    assert {finding.code for finding in alone.findings} >= {"TC101", "TC301"}
    assert not alone.files
    same(build(broken, forked(2)), alone)


def test_the_jobs_come_from_other_processes(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, compiled = os.getpid(), pipeline_job.compile_job

    def elsewhere(context: Context, document: Document) -> Job:
        assert os.getpid() != own
        return compiled(context, document)

    monkeypatch.setattr(pipeline_job, "compile_job", elsewhere)
    assert len(build(repository, forked(2)).jobs) == 20


def test_refused_changes_come_from_there_too(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their findings are also on documents of the base revision, in jobs/, runtimes/ and out/."""
    old = build(repository, in_order)
    output = [Packed.of(name, bytes_of(content)) for name, content in old.files.items()]
    base = Revision("base", read(repository), output=tuple(output))
    for path in repository.glob("runtimes/*.yaml"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("image: ", "image: ghcr.io/changed/"), encoding="utf-8")
    alone = build(repository, in_order, base)
    others = [each.document.source.name for one in alone.findings for each in one.related if one.code == "TC204"]
    assert {name.split("/")[0] for name in others} == {"base:out", "base:runtimes"}
    monkeypatch.setattr(forking, "compile_job", None)
    same(build(repository, forked(2), base), alone)


def test_a_text_of_the_server_travels_once(repository: Path) -> None:
    """The one for a container with variables shows all patches, so as many times as it has, for each of them."""
    container = {"name": "node", "env": [{"name": "A", "value": "a" * 10_000}]}
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": {"containers": [container]}}}}}]
    patches = [
        {"manager": f"a.io/{number}", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}}}
        for number in range(10)
    ]
    text = trainjob("patched", runtime="torch-distributed", more=f"  runtimePatches: {dumps(patches)}\n")
    (repository / "jobs/team-vision/patched.yaml").write_text(text, encoding="utf-8")
    sizes = {}

    def travelled(context: Context, documents: Iterable[Document]) -> Iterable[Job]:
        known = Documents(context)
        for job in in_order(context, documents):
            result = encode(job, known, bytes_of)
            sizes[job.name] = len(msgspec.msgpack.encode(result))
            yield decode(result, job.document, known)

    alone = build(repository, in_order)
    found = [finding for finding in alone.findings if finding.code == "TC308"]
    assert len(found) == 10 and len({finding.upstream for finding in found}) == 1
    same(build(repository, travelled), alone)
    assert 100_000 < sizes["patched"] < 120_000


def test_few_jobs_stay(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, compiled = os.getpid(), pipeline_job.compile_job

    def here(context: Context, document: Document) -> Job:
        assert os.getpid() == own
        return compiled(context, document)

    monkeypatch.setattr(pipeline_job, "compile_job", here)
    assert len(build(repository, forked()).jobs) == 20 < FEW
    assert len(build(repository, forked(1)).jobs) == 20


def test_a_process_that_is_killed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline_job, "compile_job", lambda *_: os.kill(os.getpid(), 9))
    with pytest.raises(ChildProcessError, match="a worker process ended unexpectedly"):
        build(repository, forked(2))


def test_it_is_told_so(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trainc.cli.root import trainc

    assert repository == Path.cwd()
    monkeypatch.setattr(pipeline_job, "compile_job", lambda *_: os.kill(os.getpid(), 9))
    result = CliRunner().invoke(trainc, ["render", "--jobs", "2"])
    assert result.exit_code == 2
    assert result.stderr == "trainc: error: a worker process ended unexpectedly (out of time or memory?)\n"
    assert not (repository / "out").exists()


def test_what_cannot_travel_is_compiled_here(repository: Path) -> None:
    seen: list[Document] = []

    def partly(context: Context, documents: Iterable[Document]) -> Iterable[Job]:
        given = tuple(documents)
        others = Documents(context)
        runtime = context.documents.runtimes[0]
        others.by_id.pop((runtime.source.name, runtime.index))
        data = pack(in_order(context, given), others)
        seen.extend(given)
        return unpack(data, given, others, context)

    same(build(repository, partly), build(repository, in_order))
    assert len(seen) == 20


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 1000])
def test_chunks_hold_every_job_once(count: int, workers: int) -> None:
    parts = ranges(count, workers)
    assert [number for part in parts for number in range(*part)] == list(range(count))
    assert max(end - begin for begin, end in parts) <= CHUNK
    assert len(parts) >= min(count, workers)


def test_the_numbers_of_all_chunks_fit_into_the_smallest_pipe() -> None:
    """Nobody reads them before they are written."""
    assert len(ranges(1_000_000, 64)) * forking._NUMBER <= 4096
