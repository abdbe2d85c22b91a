"""Pinning: every pod, by the name as written, and never under faithful."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from builders import role, runtime, trainjob
from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import Json, JsonObject
from trainc.gitops.images import is_required, lock_notes, rewritten
from trainc.gitops.pods import images, summarize
from trainc.inputs.imagelock import FILE, Lock, key_of
from trainc.plugins.origins import nearest, source_of
from trainc.project.config import lock_text, parse_lock

ONE = "sha256:" + "1" * 64
TWO = "sha256:" + "2" * 64
OTHER = "sha256:" + "3" * 64

RUNTIME = runtime(
    role(
        "launcher",
        trainer=True,
        pod="initContainers: [{name: wait, image: busybox}]",
        image="ghcr.io/team/mpi:1",
    ),
    role(image="ghcr.io/team/mpi:1"),
    policy="{mpi: {mpiImplementation: OpenMPI}}",
)
JOB = trainjob("j", metadata=", namespace: team", trainer="{numNodes: 2}")
DIGESTS = {"docker.io/library/busybox:latest": TWO, "ghcr.io/team/mpi:1": ONE}


def build(digests: dict[str, str], config: JsonObject | None = None, *, faithful: bool = False) -> Build:
    lock, findings = parse_lock(Source(FILE, lock_text(digests)))
    assert findings == ()
    settings: JsonObject = {"environments": {"prod": {}}, **(config or {})}
    options = Options(faithful=faithful, lock=lock, config={} if faithful else settings)
    found = compile([Source("rt.yaml", RUNTIME), Source("j.yaml", JOB)], options)
    assert not [each for each in found.findings if each.severity == "error"]
    return found


def run_by(found: Build) -> Iterator[tuple[str, str]]:
    for made in found.objects:
        for _, image in images(made.data):
            yield made.kind, image


def test_every_pod_is_pinned() -> None:
    assert list(run_by(build(DIGESTS))) == [
        ("JobSet", f"busybox@{TWO}"),
        ("JobSet", f"ghcr.io/team/mpi:1@{ONE}"),
        ("JobSet", f"ghcr.io/team/mpi:1@{ONE}"),
        ("Job", f"ghcr.io/team/mpi:1@{ONE}"),
    ]


def test_the_image_of_a_volume_is_pinned_moved_and_required() -> None:
    volumes = "volumes: [{name: data, image: {reference: ghcr.io/team/data:1}}, {name: tmp, emptyDir: {}}]"
    sources = [Source("rt.yaml", runtime(role(trainer=True, image="ghcr.io/team/mpi:1", pod=volumes)))]
    lock, _ = parse_lock(Source(FILE, lock_text({"ghcr.io/team/data:1": TWO})))
    config: JsonObject = {"environments": {"prod": {"registries": {"ghcr.io": "m.io"}}}, "lock": {"required": ["m.io"]}}
    found = compile([*sources, Source("j.yaml", JOB)], Options(lock=lock, config=config))
    assert [image for _, image in run_by(found)] == ["m.io/team/mpi:1", f"m.io/team/data:1@{TWO}"]
    assert [each.found for each in found.findings if each.code == "TC702"] == ["m.io/team/mpi:1"]
    unpinned = compile([*sources, Source("j.yaml", JOB)], Options(config=config))
    assert {each.found for each in unpinned.findings if each.code == "TC702"} == {"m.io/team/mpi:1", "m.io/team/data:1"}


@pytest.mark.parametrize(
    ("start", "new", "image"),
    [("ghcr.io/team/mpi", "mpi", "mpi:1"), ("ghcr.io/team", "index.docker.io", "index.docker.io/mpi:1")],
)
def test_an_image_that_is_moved_to_docker_hub_by_its_short_name_is_required_and_used(
    start: str, new: str, image: str
) -> None:
    config: JsonObject = {
        "environments": {"prod": {"registries": {start: new}}},
        "lock": {"required": ["ghcr.io/team"]},
    }
    assert image in {each.found for each in build({}, config).findings if each.code == "TC702"}
    found = build(DIGESTS, config)
    assert ("JobSet", f"{image}@{ONE}") in run_by(found)
    lock, _ = parse_lock(Source(FILE, lock_text(DIGESTS)))
    assert lock_notes([(Options(lock=lock, config=config), map(summarize, found.objects))]) == ()


@pytest.mark.parametrize("image", ["index.docker.io/a:1", "Index.docker.io/a:1", "docker.io/a:1"])
@pytest.mark.parametrize("new", ["docker.io", "index.docker.io"])
def test_the_old_name_of_an_image_of_docker_hub_in_any_spelling(image: str, new: str) -> None:
    settings = Options(config={"environments": {"prod": {"registries": {"ghcr.io/": f"{new}/"}}}}).settings
    assert is_required(image, replace(settings, lock_required=("ghcr.io/a",)))
    assert not is_required(image, replace(settings, lock_required=("ghcr.io/docker.io", "ghcr.io/index.docker.io")))


@pytest.mark.parametrize("image", ["m.io/hub/a:1", "m.io/hub/library/a:1"])
@pytest.mark.parametrize("start", ["docker.io", "docker.io/library", "docker.io/a", "docker.io/library/a"])
def test_the_mirror_of_docker_hub_may_add_the_folder_library(image: str, start: str) -> None:
    """As Harbor does: https://github.com/goharbor/harbor/issues/12719."""
    settings = Options(config={"environments": {"prod": {"registries": {"docker.io": "m.io/hub"}}}}).settings
    assert is_required(image, replace(settings, lock_required=(start,)))


def test_pinned_first_and_then_from_another_registry() -> None:
    config: JsonObject = {"environments": {"prod": {"registries": {"docker.io": "mirror.io/hub", "ghcr.io": "m.io"}}}}
    found = {image for _, image in run_by(build(DIGESTS, config))}
    assert found == {f"mirror.io/hub/library/busybox@{TWO}", f"m.io/team/mpi:1@{ONE}"}


@pytest.mark.parametrize(
    ("image", "moved"),
    [
        ("docker.io/busybox:1", "m.io/hub/library/busybox:1"),
        ("index.docker.io/team/x:1", "m.io/hub/team/x:1"),
        ("GHCR.io/team/x:1", "m.io/team/x:1"),
        ("ghcr.io:5000/team/x:1", "ghcr.io:5000/team/x:1"),
        ("quay.io/team/x:1", "m.io/x:1"),
        ("quay.io/team/x/y:1", "m.io/x/y:1"),
    ],
)
def test_a_registry_in_any_spelling_is_replaced(image: str, moved: str) -> None:
    registries = {"docker.io": "m.io/hub", "ghcr.io": "m.io", "quay.io/team": "m.io"}
    assert rewritten(image, registries) == moved


def test_the_longest_of_two_prefixes_in_different_spellings_is_replaced() -> None:
    registries = {"index.docker.io": "m.io/hub", "docker.io/team": "m.io/team"}
    assert rewritten("team/x:1", registries) == "m.io/team/x:1"
    assert rewritten("teams/x:1", registries) == "m.io/hub/teams/x:1"


def test_a_pin_changes_nothing_but_images() -> None:
    def without(value: Json) -> Json:
        if isinstance(value, dict):
            return {key: without(child) for key, child in value.items() if key != "image"}
        return [without(item) for item in value] if isinstance(value, list) else value

    plain, pinned = build({}), build(DIGESTS)
    jobsets = [[without(made.data) for made in each.objects if made.kind == "JobSet"] for each in (plain, pinned)]
    assert jobsets[0] == jobsets[1]
    names = [[made.name for made in each.objects if made.kind == "Job"] for each in (plain, pinned)]
    assert names[0] != names[1], "a Job cannot be changed: another image is another Job"


def test_faithful_knows_no_lock() -> None:
    assert {image for _, image in run_by(build(DIGESTS, faithful=True))} == {"busybox", "ghcr.io/team/mpi:1"}
    assert [made.data for made in build(DIGESTS, faithful=True).objects] == [
        made.data for made in build({}, faithful=True).objects
    ]


@pytest.mark.parametrize(
    ("image", "pinned"),
    [
        ("busybox", f"busybox@{TWO}"),
        ("busybox:latest", f"busybox:latest@{TWO}"),
        ("library/busybox", f"library/busybox@{TWO}"),
        ("docker.io/library/busybox:latest", f"docker.io/library/busybox:latest@{TWO}"),
        ("docker.io/busybox", f"docker.io/busybox@{TWO}"),
        ("index.docker.io/library/busybox", f"index.docker.io/library/busybox@{TWO}"),
        ("index.docker.io/busybox:latest", f"index.docker.io/busybox:latest@{TWO}"),
        ("GHCR.io/team/mpi:1", f"GHCR.io/team/mpi:1@{ONE}"),
        ("ghcr.io:443/team/mpi:1", "ghcr.io:443/team/mpi:1"),
        ("Team/mpi:1", "Team/mpi:1"),
        ("busybox:1", "busybox:1"),
        (f"busybox@{OTHER}", f"busybox@{OTHER}"),
        (f"busybox:latest@{OTHER}", f"busybox:latest@{OTHER}"),
        ("$(IMAGE)", "$(IMAGE)"),
    ],
)
def test_how_an_image_is_pinned(image: str, pinned: str) -> None:
    assert Lock(DIGESTS).pinned(image) == pinned


def test_a_finding_on_a_pinned_image_is_placed_where_the_image_is_written() -> None:
    config: JsonObject = {"environments": {"prod": {"registries": {"ghcr.io": "m.io"}}}}
    made = next(each for each in build(DIGESTS, config).objects if each.kind == "JobSet")
    path, image = next(each for each in images(made.data) if each[1].startswith("m.io/team/mpi:1@"))
    origin = nearest(made.origins(), path)
    assert origin is not None
    assert (image, origin.name) == (f"m.io/team/mpi:1@{ONE}", "registries")
    model = SimpleNamespace(job=None)
    document, place = source_of(model, made, path)  # type: ignore[arg-type]  # only its job is asked for
    assert (document.source.name, document.locate(place).line) == ("rt.yaml", 16)


def test_an_image_that_a_patch_brings_is_judged_too() -> None:
    pod: JsonObject = {"spec": {"template": {"spec": {"containers": [{"name": "ssh-keys", "image": "ghcr.io/x/y:1"}]}}}}
    patch: JsonObject = {"target": {"kind": "Job"}, "patch": pod}
    config: JsonObject = {"environments": {"prod": {"patches": [patch]}}, "lock": {"required": ["ghcr.io/x"]}}
    found = [each for each in build(DIGESTS, config).findings if each.code == "TC702"]
    assert [each.found for each in found] == ["ghcr.io/x/y:1"]


NAMES = st.from_regex(
    r"(?:(?:[a-z]{2,5}\.io|\[[0-9a-f]{0,4}::[0-9]{1,4}\])(?::[0-9]{2,4})?/)?"
    r"[a-z]{1,4}(?:[-_./][a-z]{1,4}){0,3}(?::[a-z0-9.]{1,5})?",
    fullmatch=True,
)


@given(st.dictionaries(NAMES, st.sampled_from((ONE, TWO, OTHER)), max_size=6))
def test_a_lock_is_read_as_it_was_written(given: dict[str, str]) -> None:
    digests = {key: digest for name, digest in given.items() if (key := key_of(name)) is not None}
    text = lock_text(digests)
    lock, findings = parse_lock(Source(FILE, text))
    assert (dict(lock.digests), findings) == (digests, ())
    assert lock_text(lock.digests) == text
    assert all(key_of(key) == key for key in digests)
