"""Laws of a difference: nothing differs from itself, swapped sides mirror each other, no bytes make it fail."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from effort import thorough
from trainc.changes import Difference, Effect, compare, formats, usage
from trainc.changes.formats import LIMIT
from trainc.changes.trees import OWNED, directories, is_jobset
from trainc.inputs.source import Source
from trainc.project.files import Blob, git_hash

ROOT = Path(__file__).resolve().parents[2]
TREE = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in sorted((ROOT / "out").glob("*/*/*/*.yaml"))}
PLACES = sorted(directories(TREE))
HEADER = OWNED + b"jobs/a/j.yaml\n"

names = st.sampled_from(
    [
        "out/prod/a/j/jobset-j.yaml",
        "out/prod/a/j/configmap-j.yaml",
        "out/prod/a/0-shared/role-r.yaml",
        "out/prod/a/j/x.json",
        "out/x",
        "jobs/a.yaml",
    ]
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just("x\ny"), st.just("***"))
keys = st.sampled_from(
    ["spec", "replicatedJobs", "template", "containers", "name", "env", "value", "data", "labels", "a.b", "resources"]
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)
kinds = st.sampled_from(
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet"),
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("batch/v1", "Job"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding"),
        ("v1", "PersistentVolumeClaim"),
    ]
)


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    version, kind = draw(kinds)
    rest = draw(st.dictionaries(keys, values, max_size=4))
    metadata = {"name": draw(st.sampled_from(["j", "j-2", "k"])), "namespace": "a"}
    return HEADER + json.dumps({**rest, "apiVersion": version, "kind": kind, "metadata": metadata}).encode()


@st.composite
def edited(draw: st.DrawFn) -> bytes:
    """A file of this repository in which lines are gone, doubled or exchanged."""
    lines = TREE[draw(st.sampled_from(sorted(TREE)))].split(b"\n")
    for _ in range(draw(st.integers(1, 3))):
        one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        how = draw(st.sampled_from(["gone", "doubled", "exchanged", "cut"]))
        if how == "exchanged":
            lines[one], lines[other] = lines[other], lines[one]
        elif how == "cut":
            lines[one] = lines[one][: len(lines[one]) // 2]
        else:
            lines[one : one + 1] = [] if how == "gone" else [lines[one]] * 2
        lines = lines or [b""]
    return b"\n".join(lines)


trees = st.dictionaries(
    names,
    st.one_of(st.binary(max_size=40).map(lambda data: HEADER + data), st.binary(max_size=20), documents(), edited()),
)


def render_all(difference: Difference) -> list[str]:
    shown = [formats.as_text(difference), formats.as_text(difference, colour=True), formats.as_markdown(difference)]
    return [*shown, formats.as_json(difference)]


@given(trees, trees)
def test_no_bytes_make_it_fail(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    found = compare(before, after)
    _, coloured, page, data = render_all(found)
    assert len(page.encode("utf-16-le", "surrogatepass")) // 2 <= LIMIT
    assert [job["effect"] for job in json.loads(data)["jobs"]] == [job.effect.value for job in found.jobs]
    assert coloured.replace("\x1b[", "").isprintable() or "\n" in coloured
    assert all(char >= " " or char in "\n\x1b" for char in coloured)


@given(trees)
def test_nothing_differs_from_itself(tree: dict[str, bytes]) -> None:
    found = compare(tree, tree)
    assert found.jobs == ()
    assert found.totals.all.before == found.totals.all.after


def test_only_what_differs_is_read_of_the_base() -> None:
    changed = next(name for name in TREE if is_jobset(name.rpartition("/")[2]))
    old = {**TREE, changed: TREE[changed] + b"# a comment\n"}
    read: list[str] = []

    def read_base(blob: Blob) -> bytes:
        read.append(blob.name)
        return old[blob.name]

    before = {name: Blob(name, git_hash(data), read_base) for name, data in old.items()}
    after = {name: Blob(name, git_hash(data), lambda blob: TREE[blob.name]) for name, data in TREE.items()}
    assert compare(before, after) == compare(old, TREE)
    assert {name.rpartition("/")[0] for name in read} == {changed.rpartition("/")[0]}
    with_sha256 = {name: replace(blob, hash=f"{blob.hash}0") for name, blob in before.items()}
    assert compare(with_sha256, after) == compare(old, TREE), "whatever hashes the repository has"


@given(st.sets(st.sampled_from(PLACES)), st.sets(st.sampled_from(PLACES)))
def test_swapped_sides_mirror_each_other(one: set[object], other: set[object]) -> None:
    trees = [
        {name: data for name, data in TREE.items() if directories({name: data}).keys() <= side} for side in (one, other)
    ]
    there, back = compare(*trees), compare(*reversed(trees))
    swapped = {Effect.CREATED: Effect.DELETED, Effect.DELETED: Effect.CREATED}
    assert [(job.directory, swapped[job.effect]) for job in there.jobs] == [
        (job.directory, job.effect) for job in back.jobs
    ]
    assert [(job.before, job.after) for job in there.jobs] == [(job.after, job.before) for job in back.jobs]
    assert {job.directory for job in there.jobs} == one ^ other
    assert there.totals.all == back.totals.all._replace(before=back.totals.all.after, after=back.totals.all.before)
    assert there.unchanged == back.unchanged == len(one & other)


@pytest.mark.parametrize("name", [name for name in TREE if is_jobset(name.rpartition("/")[2])])
def test_the_outline_of_a_jobset_takes_what_the_jobset_takes(name: str) -> None:
    from trainc.documents.load import load

    outline = usage._outline(TREE[name])
    assert len(outline) < len(TREE[name]) / 2
    (document,), _ = load(Source(name, TREE[name]))
    assert usage.usage_of(document.data).pods > 0
    assert usage.demand_of_file(TREE[name]).usage == usage.usage_of(document.data)
    assert (read := usage._read(outline)) is not None
    assert read.usage == usage.usage_of(document.data)


@given(edited())
def test_the_outline_of_an_edited_jobset_is_not_believed_blindly(data: bytes) -> None:
    from trainc.documents.load import load

    documents, findings = load(Source("jobset-j.yaml", data))
    if len(documents) == 1 and not findings and documents[0].data["kind"] == "JobSet":
        assert usage.demand_of_file(data).usage.jobs == 1


def test_only_what_differs_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of one file of many reads that file twice; for totals, of each JobSet its outline."""
    from trainc.changes import trees as module

    read: list[str] = []
    real = module.load
    monkeypatch.setattr(module, "load", lambda source: read.append(source.name) or real(source))
    name = next(name for name in TREE if is_jobset(name.rpartition("/")[2]))
    found = compare(TREE, {**TREE, name: TREE[name].replace(b"  name: ", b"  labels: {a: b}\n  name: ", 1)})
    assert [job.effect for job in found.jobs] == [Effect.UPDATED]
    assert read == [name, name]


@thorough
def test_a_comment_of_a_thousand_jobs_fits_and_says_what_is_left_out() -> None:
    (name,) = [name for name in TREE if name.endswith("/mnist-cpu/jobset-mnist-cpu.yaml")]
    many = {name.replace("mnist-cpu", f"job-{number:04}"): TREE[name] for number in range(1000)}
    page = formats.as_markdown(compare({}, many))
    assert 30_000 < len(page.encode("utf-16-le")) // 2 <= LIMIT
    assert "### trainc: 1,000 of 1,000 directories change: 1,000 created\n" in page
    table, details = (int(number) for number in re.findall(r": ([0-9]+)\.$", page, re.M))
    assert page.count("</code> | created |") + table == 1000
    assert page.count("<details><summary><code>prod/") + details == 1000
    assert "mermaid" not in page
    assert page.count("<details>") == page.count("</details>")
