"""What the cluster does with the jobs of environments that are removed or renamed, or get other Applications."""

from __future__ import annotations

from typing import Any

import pytest
from test_hidden_changes import jobset, options_of

from trainc.changes import compare
from trainc.inputs.settings import read_settings


def tree(environment: str, image: str = "x:1") -> dict[str, bytes]:
    found = jobset("train", {"image": image}).items()
    return {name.replace("/prod/", f"/{environment}/"): data for name, data in found}


def sentences(before: dict[str, Any], after: dict[str, Any], environment: str, *, image: str = "x:1") -> str:
    """Return what happens to the job of an environment when ``old`` is removed, and ``new`` has its job."""
    was, now = options_of(before), options_of(after)
    found = compare(tree("old"), tree("new", image) if "new" in after else {}, now, earlier=was).jobs
    (job,) = (each for each in found if each.directory.environment == environment)
    return " ".join(job.cluster)


@pytest.mark.parametrize("tool", ["argocd", "flux"])
@pytest.mark.parametrize("image", ["x:1", "x:2"])
def test_a_renamed_environment_takes_over_what_the_old_one_keeps(tool: str, image: str) -> None:
    options = {"target": tool, tool: {"onDelete": "keep", "write": "deploy", "repoURL": "https://example.com/x.git"}}
    if tool == "flux":
        del options[tool]["repoURL"]  # type: ignore[attr-defined]
    found = sentences({"old": options}, {"new": options}, "new", image=image)
    assert found == (
        "JobSet train of old/a/train stays in the cluster (onDelete: keep), and this application takes it over: its"
        " pods keep running. What cannot change in place is refused."
    )


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [("west", "west", True), ("west", "east", False), (None, "west", False), (None, None, False)],
)
def test_a_job_that_moves_to_another_environment(old: str | None, new: str | None, same: bool) -> None:
    options = [{"destination": {"name": name}} if name else {} for name in (old, new)]
    found = sentences({"old": options[0]}, {"new": options[1]}, "new")
    assert found.startswith("JobSet train is created and starts 1 pod.")
    assert ("both mean JobSet train, so it may be gone afterwards" in found) is same


@pytest.mark.parametrize("name", ["west", "east"])
def test_a_new_job_gets_the_name_that_a_job_of_another_environment_gives_up(name: str) -> None:
    """A job of one environment gets another run, and a new job of the other has the JobSet's name of the earlier."""
    settings = options_of({"old": {"destination": {"name": "west"}}, "new": {"destination": {"name": name}}})
    before, again = (
        {file: data.replace(b'"name": "train"', b'"name": "train-%d"' % run) for file, data in tree("old").items()}
        for run in (2, 3)
    )
    new = {file.replace("/old/", "/new/").replace("train", "train-2"): data for file, data in before.items()}
    created, _ = sorted(compare(before, again | new, settings).jobs, key=lambda job: job.directory)
    both = "This application and that of old/a/train sync in no fixed order: both mean JobSet train-2, so it may be"
    assert any(sentence.startswith(both) for sentence in created.cluster) is (name == "west")


@pytest.mark.parametrize(
    ("other", "may_stay"),
    [
        ({"project": "trainc-old"}, False),
        ({"project": "trainc-old", "namespaces": ["b"]}, True),
        ({"project": "trainc-old", "namespaces": ["a"]}, False),
        ({"project": "another"}, False),
        ({}, False),
    ],
)
def test_an_environment_whose_project_another_one_keeps(other: dict[str, Any], may_stay: bool) -> None:
    environments = {"old": {"argocd": {"write": "deploy"}}, "other": {"argocd": {"write": "deploy", **other}}}
    found = sentences(environments, {"other": environments["other"]}, "old")
    assert ("AppProject trainc-old no longer allows namespace a: if Argo CD applies it before" in found) is may_stay


def test_a_project_that_another_cluster_keeps() -> None:
    shared = {"argocd": {"write": "deploy", "project": "ml", "namespaces": ["a"]}}
    west, east = ({**shared, "destination": {"name": name}} for name in ("west", "east"))
    assert "AppProject ml no longer allows namespace a" in sentences(
        {"old": west, "other": east}, {"other": east}, "old"
    )


LISTED = {"write": "deploy", "namespaces": ["b"]}


@pytest.mark.parametrize(
    ("now", "may_stay"),
    [
        ({"old": {"argocd": LISTED, "target": "flux", "flux": {"write": "deploy"}}}, False),
        ({"old": {"target": "flux"}, "other": {"argocd": {**LISTED, "project": "trainc-old"}}}, True),
        ({"old": {"argocd": LISTED}}, True),
    ],
)
def test_a_project_that_render_no_longer_writes(now: dict[str, Any], may_stay: bool) -> None:
    """Render removes it, unless another environment has it, too."""
    found = sentences({"old": {"argocd": {"write": "deploy"}}}, now, "old")
    assert ("AppProject trainc-old no longer allows namespace a" in found) is may_stay


def test_a_project_that_render_does_not_write_without_a_url() -> None:
    settings = read_settings({"environments": {"old": {"argocd": {"write": "deploy"}}}}, "old")
    (job,) = compare(tree("old"), {}, {"old": settings}).jobs
    assert job.cluster == ("The application and JobSet train are deleted, which stops the job if it is still running.",)


@pytest.mark.parametrize("write", ["deploy", "elsewhere"])
@pytest.mark.parametrize("target", ["flux", "argocd"])
def test_kustomizations_in_a_folder_that_no_environment_writes(target: str, write: str) -> None:
    old = {"target": "flux", "flux": {"write": "deploy"}}
    other = {"target": target, "flux": {"write": write}}  # as from defaults: render cleans it for Argo CD, too
    found = sentences({"old": old, "other": other}, {"other": other}, "old")
    kept = "Without flux.write, nothing deletes Kustomization old.a.train. JobSet train stays, and a running job"
    assert found.startswith("The Kustomization and JobSet train are deleted" if write == "deploy" else kept)


@pytest.mark.parametrize("per", ["job", "namespace"])
def test_an_application_that_remains_keeps_no_job_that_moves(per: str) -> None:
    options = {"destination": {"name": "west"}, "argocd": {"per": per, "onDelete": "keep"}}
    both = options_of({"old": options, "new": options})
    stays = {name.replace("train", "other"): data.replace(b"train", b"other") for name, data in tree("old").items()}
    removed, created = (
        job.cluster
        for job in sorted(
            compare(tree("old") | stays, tree("new") | stays, both).jobs, key=lambda job: job.directory, reverse=True
        )
    )
    taken = "JobSet train of old/a/train stays in the cluster (onDelete: keep), and this application takes it over"
    pruned = removed[0].startswith("JobSet train is pruned")
    assert (pruned, created[0].startswith(taken)) == ((True, False) if per == "namespace" else (False, True))


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ({"onDelete": "keep"}, {"onDelete": "keep"}, "JobSet train is pruned, which stops it if it is still running."),
        ({"onDelete": "keep"}, {"onDelete": "keep", "per": "namespace"}, "With onDelete: keep, JobSet train stays"),
        ({"onDelete": "keep", "per": "namespace"}, {"onDelete": "keep"}, "With onDelete: keep, JobSet train stays"),
        ({"onDelete": "keep"}, {"onDelete": "keep", "namespace": "cd"}, "With onDelete: keep, JobSet train stays"),
        ({"onDelete": "keep"}, {"per": "namespace"}, "With onDelete: keep, JobSet train stays"),
        ({}, {"onDelete": "keep", "per": "namespace"}, "The application and JobSet train are deleted, which stops"),
        ({"repoURL": "x", "onDelete": "keep", "write": "cd"}, {"per": "namespace"}, "JobSet train is pruned, which"),
    ],
)
def test_a_job_that_runs_again_in_another_application(old: dict[str, Any], new: dict[str, Any], sentence: str) -> None:
    """It has not applied the JobSet of the earlier run, so it does not prune that. Its own stays if its file does."""
    was, now = (options_of({"old": {"argocd": options}}) for options in (old, new))
    after = {name: data.replace(b'"name": "train"', b'"name": "train-2"') for name, data in tree("old").items()}
    (job,) = compare(tree("old"), after, now, earlier=was).jobs
    assert job.effect.value == "rerun"
    assert job.cluster[0].startswith(sentence)
    assert job.cluster[0].endswith(" train-2 is created and starts 1 pod.")
    assert ("for a moment both exist" in " ".join(job.cluster)) is not sentence.startswith("With")


FLUX = {"target": "flux", "flux": {"namespace": "argocd", "write": "flux"}}
CREATED_AGAIN = "JobSet train are deleted, which stops the job if it is still running. train is created and starts 1"
IN_PLACE = "JobSet train is updated in place (metadata.annotations); its pods keep running."


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ({}, {}, IN_PLACE),
        ({}, {"argocd": {"per": "namespace"}}, f"The application and {CREATED_AGAIN} pod."),
        ({}, FLUX, f"The application and {CREATED_AGAIN} pod."),
        (FLUX, {}, f"The Kustomization and {CREATED_AGAIN} pod."),
        ({"target": "flux"}, {}, IN_PLACE),
        ({"argocd": {"onDelete": "keep"}}, FLUX, IN_PLACE),
    ],
)
def test_a_jobset_that_another_application_applies(old: dict[str, Any], new: dict[str, Any], sentence: str) -> None:
    was, now = (options_of({"old": options}) for options in (old, new))
    if old == FLUX:  # without this, the Kustomizations stay
        now["other"] = was["old"]
    changed = b'"annotations": {"a": "b"}, "name": "train"'
    after = {name: data.replace(b'"name": "train"', changed) for name, data in tree("old").items()}
    (job,) = compare(tree("old"), after, now, earlier=was).jobs
    assert job.effect.value == "updated"
    assert job.cluster[0] == sentence


def test_a_file_with_new_comments_that_another_application_applies() -> None:
    was, now = options_of({"old": {}}), options_of({"old": {"argocd": {"per": "namespace"}}})
    after = {name: data + b"# new\n" for name, data in tree("old").items()}
    (job,) = compare(tree("old"), after, now, earlier=was).jobs
    assert job.effect.value == "comments"
    assert job.cluster == (f"The application and {CREATED_AGAIN} pod.",)


@pytest.mark.parametrize("hydrated", [False, True])
def test_a_folder_that_is_mapped_to_another_namespace(hydrated: bool) -> None:
    """A hydrator has one Application per folder of jobs/, which remains and prunes, also with onDelete: keep."""
    argocd = {"repoURL": "x", "onDelete": "keep", **({"hydrator": {"branch": "env"}} if hydrated else {})}
    was = options_of({"old": {"argocd": argocd, "namespaces": {"team": "a"}}})
    now = options_of({"old": {"argocd": argocd, "namespaces": {"team": "b"}}})
    after = {name.replace("/a/", "/b/"): data.replace(b'"a"', b'"b"') for name, data in tree("old").items()}
    (job,) = compare(tree("old"), after, now, earlier=was).jobs
    assert job.cluster[0] == "JobSet train is created and starts 1 pod."
    pruned, kept = "JobSet train is pruned, which stops it", "With onDelete: keep, JobSet train stays in the cluster"
    assert job.cluster[1].startswith(pruned if hydrated else kept)
    assert any("two applications" in line for line in job.cluster) is not hydrated
