"""No change hides behind one that looks harmless: a rename, a long line, a longer list."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from html import unescape
from json import dumps, loads
from typing import Any

import pytest

from trainc.changes import Difference, compare, formats, trees
from trainc.changes.cluster import application, files_outside
from trainc.changes.model import Directory, Effect
from trainc.changes.trees import select
from trainc.documents.emit import visible
from trainc.findings import Severity, report
from trainc.findings.display import escape_text
from trainc.gitops.flux import kustomization
from trainc.inputs.settings import Settings, read_settings
from trainc.inputs.source import Document, Source
from trainc.pipeline.content import HEADER
from trainc.project.files import OWNED, Kind
from trainc.project.foreign import foreign


def jobset(name: str, container: dict[str, Any], script: str = "") -> dict[str, bytes]:
    pod = {"template": {"spec": {"containers": [{"name": "node", "image": "x:1", **container}]}}}
    objects = {
        "jobset": {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": pod}}]},
        }
    }
    if script:
        objects["configmap"] = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"run.sh": script}}
    return {
        f"out/prod/a/{name}/{kind}-{name}.yaml": OWNED
        + f"jobs/a/{name}.yaml\n".encode()
        + dumps({**data, "metadata": {"name": name, "namespace": "a"}}).encode()
        for kind, data in objects.items()
    }


def as_account(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the ConfigMaps among some files as ServiceAccounts."""
    found = {path.replace("configmap-", "serviceaccount-"): data for path, data in files.items()}
    return {path: data.replace(b"ConfigMap", b"ServiceAccount") for path, data in found.items()}


def test_a_renamed_job_that_runs_a_program_of_its_name() -> None:
    before = jobset("train", {"image": "example.com/train:1", "command": ["python", "train.py"]})
    after = jobset("other", {"image": "example.com/other:1", "command": ["python", "other.py"]})
    shown = formats.as_text(compare(before, after))
    assert shown.startswith("> prod/a/other: renamed, runs again: was prod/a/train\n")
    assert "    image (node): example.com/train:1 -> example.com/other:1\n" in shown
    assert "    command (node): train.py -> other.py\n" in shown
    assert '.containers[node].command[1]\n- "train.py"\n+ "other.py"\n' in shown


def test_a_renamed_job_whose_script_changes() -> None:
    before, after = jobset("train", {}, "run this\n"), jobset("other", {}, "run that\n")
    shown = formats.as_text(compare(before, after))
    assert "> prod/a/other: renamed, runs again: was prod/a/train\n" in shown
    assert '  data["run.sh"]\n- run this\n+ run that\n' in shown


def test_a_jobset_is_not_read_again_for_each_job_that_it_could_be(monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = (
        {file: data for n in range(20) for file, data in jobset(f"{name}{n:02}x", {"image": f"{name}:{n}"}).items()}
        for name in ("old", "new")
    )
    after |= jobset("other", {"image": "old:7"})
    found: list[str] = []
    load = trees.load
    monkeypatch.setattr(trees, "load", lambda source: found.append(source.name) or load(source))
    assert [str(job.renamed_from) for job in compare(before, after).jobs if job.renamed_from] == ["prod/a/old07x"]
    assert max(Counter(found).values()) <= 3


LONG = "a" * 300


def test_the_end_of_a_long_line() -> None:
    before, after = (jobset("train", {"command": ["sh", "-c", f"{LONG} {end}"]}) for end in ("this", "that; other"))
    shown = formats.as_text(compare(before, after))
    assert f'command[2]\n- ...{"a" * 37} this"\n+ ...{"a" * 37} that; other"\n' in shown


def test_the_end_of_a_long_line_of_a_script() -> None:
    before, after = (jobset("train", {}, f"set -e\n{LONG} {end}\n") for end in ("this", "that; other"))
    shown = formats.as_text(compare(before, after))
    assert f"  set -e\n- ...{'a' * 37} this\n+ ...{'a' * 37} that; other\n" in shown


def test_a_long_line_in_place_of_a_short_one() -> None:
    before, after = (jobset("train", {"command": ["sh", "-c", text]}) for text in ("this", f"{LONG} that"))
    shown = formats.as_text(compare(before, after))
    assert f'- "this"\n+ "{"a" * 197}\n+ {"a" * 103} that"\n' in shown


def test_blanks_at_the_end_of_a_line() -> None:
    before, after = (jobset("train", {}, f"python train.py \\{end}\n  --lr=1\n") for end in ("", " "))
    shown = formats.as_text(compare(before, after))
    assert "- python train.py \\\n+ python train.py \\\\x20\n    --lr=1\n" in shown


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("run\t", "run ", "- run\\t\n+ run\\x20\n"),
        ("run\r", "run", "- run\\r\n+ run\n"),
        ("run\u00a0x", "run x", "- run\\xa0x\n+ run x\n"),
        ("run \u3000", "run", "- run \\u3000\n+ run\n"),
        ("run\tx", "run\\tx", "- run\\tx\n+ run\\\\tx\n"),
    ],
)
def test_blanks_of_other_kinds(old: str, new: str, shown: str) -> None:
    before, after = (jobset("train", {}, f"first\n{line}\nlast\n") for line in (old, new))
    assert shown in formats.as_text(compare(before, after))


def test_a_newline_at_the_end_that_changes_with_another_line() -> None:
    before, after = jobset("train", {}, "first\nlast\n"), jobset("train", {}, "first\nend")
    assert "- last\n+ end\n! newline at the end removed\n" in formats.as_text(compare(before, after))
    assert "- last\n+ end\n! newline at the end added\n" in formats.as_text(
        compare(jobset("train", {}, "first\nlast"), jobset("train", {}, "first\nend\n"))
    )


def test_another_type_is_not_a_hidden_secret() -> None:
    before, after = (jobset("train", {"stdin": value}) for value in (True, 1))
    assert "- true\n+ 1\n" in formats.as_text(compare(before, after))


def test_new_lines_behind_many_old_ones() -> None:
    before, after = (jobset("train", {}, "".join(f"{each}{n}\n" for n in range(40))) for each in "ab")
    shown = formats.as_text(compare(before, after))
    assert [shown.count(f"\n{each}") for each in ("- a", "+ b")] == [15, 15]
    assert "\n  50 more lines\n" in shown


def test_many_similar_lines_in_another_order_take_no_longer_than_other_texts() -> None:
    lines = [str(n * n % 110) for n in range(20_000)]
    before, after = (jobset("train", {}, "\n".join(each)) for each in (lines, sorted(lines)))
    assert "more lines\n" in formats.as_text(compare(before, after))


def test_few_lines_that_are_many_in_another_text_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainc.changes.phrases.unified_diff", None)
    texts = ["\n".join(f"same\n{word} {n}" for n in range(count)) for word, count in (("old", 10_000), ("new", 99))]
    before, after = (jobset("train", {}, text) for text in texts)
    assert "more lines\n" in formats.as_text(compare(before, after))


def test_a_small_change_of_a_long_script_is_shown_alone() -> None:
    lines = [f"line {n}" for n in range(5_000)]
    before, after = (jobset("train", {}, "\n".join([*lines, each, *lines])) for each in ("this", "that"))
    assert "  line 4999\n- this\n+ that\n  line 0\n\n" in formats.as_text(compare(before, after))


def test_two_changes_far_apart_in_4000_lines_are_shown_alone() -> None:
    before, after = ("\n".join([each, *map(str, range(3_998)), each]) for each in ("this", "that"))
    shown = formats.as_text(compare(jobset("train", {}, before), jobset("train", {}, after)))
    assert "- this\n+ that\n  0\n  ...\n  3997\n- this\n+ that\n" in shown


def test_a_weaker_policy_behind_comments_that_are_long_and_many() -> None:
    document = Document(Source("jobs/a/j.yaml", b"x\n"), {})
    comments = [report("TC522", document, (), f"new comment ignores TC411: {'<*' * 800}") for _ in range(1000)]
    policy = report("TC520", Document(Source("policies/p.yaml", b"x\n"), {}), (), "binding 'p' removed since HEAD")
    shown = formats.as_markdown(Difference(weakened=(*comments, policy)))
    assert len(shown) <= formats.LIMIT
    first = "- <code>policies/p.yaml:1</code>: binding &#x27;p&#x27; removed since HEAD\n"
    assert shown.partition("\n\n")[2].partition("\n\n")[2].startswith(first)
    assert "\n- 988 more\n" in shown


def test_a_comment_with_commands_of_ci_fits_after_they_are_broken_up() -> None:
    lines = [f"{number} {'##a[' * 45}" for number in range(10, 50)]
    before, after = (
        {file: data for line in lines for file, data in jobset(f"job-{line[:2]}", {}, f"{line}{end}\n" * 30).items()}
        for end in "xy"
    )
    shown = escape_text(formats.as_markdown(compare(before, after)))
    assert 50_000 < len(shown) <= formats.LIMIT
    assert re.search(r"\nJobs or groups whose fields are not shown here: [0-9]+\.\n\Z", shown)


def shared(*kinds: str) -> dict[str, bytes]:
    return {
        f"out/prod/a/0-shared/{kind.lower()}-x.yaml": OWNED
        + b"runtimes/rt.yaml\n"
        + dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x", "namespace": "a"}}).encode()
        for kind in kinds
    }


def test_new_and_removed_shared_objects_do_not_change_in_place() -> None:
    (job,) = compare(shared("ServiceAccount", "Secret"), shared("ServiceAccount", "RoleBinding")).jobs
    assert job.cluster == (
        "Objects shared by the jobs of the namespace change.",
        "RoleBinding x is created.",
        "Secret x is deleted; pods that still need it will fail.",
    )


def test_an_annotation_that_lets_argo_cd_replace_the_jobset() -> None:
    before = jobset("train", {})
    old, new = b'"metadata": {', b'"metadata": {"annotations": {"argocd.argoproj.io/sync-options": "Force=true"}, '
    (job,) = compare(before, {name: data.replace(old, new) for name, data in before.items()}).jobs
    assert job.cluster == (
        "JobSet train is updated in place (metadata.annotations); its new annotations for Argo CD, such as Force=true,"
        " may delete it and create it again.",
    )


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        ("", "Prune=false", ("JobSet train is now protected from deletion: it gets Prune=false.",)),
        (
            "Prune=false, Delete=false,Validate=true",
            "Validate=true",
            ("JobSet train is no longer protected from deletion: it loses Delete=false, Prune=false.",),
        ),
        ("Validate=true", "", ()),
    ],
)
def test_an_annotation_that_protects_from_deletion(old: str, new: str, sentences: tuple[str, ...]) -> None:
    def annotated(options: str) -> dict[str, bytes]:
        text = f'"annotations": {{"argocd.argoproj.io/sync-options": "{options}"}}, ' if options else ""
        files = jobset("train", {})
        return {name: data.replace(b'"metadata": {', b'"metadata": {' + text.encode()) for name, data in files.items()}

    (job,) = compare(annotated(old), annotated(new)).jobs
    updated = "JobSet train is updated in place (metadata.annotations); its pods keep running."
    assert job.cluster == (updated, *sentences)


def annotated(name: str, annotations: dict[str, str]) -> dict[str, bytes]:
    text = f'"metadata": {{"annotations": {dumps(annotations)}, '
    return {file: data.replace(b'"metadata": {', text.encode()) for file, data in jobset(name, {}).items()}


@pytest.mark.parametrize(
    ("annotation", "value", "of_argocd", "of_flux"),
    [
        ("argocd.argoproj.io/sync-options", "Prune=false", "JobSet train is now protected", "its pods keep running."),
        ("argocd.argoproj.io/sync-options", "Force=true", "Argo CD, such as Force=true, may", "its pods keep running."),
        (
            "kustomize.toolkit.fluxcd.io/prune",
            "Disabled",
            "its pods keep running.",
            "protected from deletion: it gets prune: disabled.",
        ),
        ("kustomize.toolkit.fluxcd.io/force", "enabled", "its pods keep running.", "Flux, such as force: enabled, may"),
        ("kustomize.toolkit.fluxcd.io/substitute", "disabled", "its pods keep running.", "its pods keep running."),
    ],
)
def test_an_annotation_counts_only_for_the_tool_that_reads_it(
    annotation: str, value: str, of_argocd: str, of_flux: str
) -> None:
    """A promise of protection that the tool does not keep would lose a run, or the data of a claim."""
    for tool, expected in (("argocd", of_argocd), ("flux", of_flux)):
        settings = options_of({"prod": {"target": tool}})
        (job,) = compare(jobset("train", {}), annotated("train", {annotation: value}), settings).jobs
        assert expected in job.cluster[-1]
        assert len(job.cluster) == (2 if "protected" in expected else 1)


CONTINUES = "JobSet train stays in the cluster; if it is running, it continues."
STOPS = "The application and JobSet train are deleted, which stops the job if it is still running."


@pytest.mark.parametrize(
    ("annotations", "sentences"),
    [
        ({"argocd.argoproj.io/sync-options": "Prune=false"}, (STOPS,)),
        ({"argocd.argoproj.io/sync-options": "Validate=true, Delete=false"}, ()),
        ({"argocd.argoproj.io/sync-options": "Delete=confirm"}, ()),
        ({"helm.sh/resource-policy": "keep"}, ()),
        ({"kustomize.toolkit.fluxcd.io/prune": "disabled"}, (STOPS,)),
    ],
)
def test_what_keeps_a_jobset_whose_application_is_deleted(
    annotations: dict[str, str], sentences: tuple[str, ...]
) -> None:
    (job,) = compare(annotated("train", annotations), {}).jobs
    assert job.cluster == (sentences or ("The objects stay in the cluster because of their annotations.",))
    assert job.effect.value == ("deleted" if sentences else "kept")


def test_what_argo_cd_does_not_notice_when_it_is_removed() -> None:
    """Its sync status is Synced as long as nothing else changes."""
    annotations = {"argocd.argoproj.io/compare-options": "IgnoreExtraneous"}
    settings = options_of({"prod": {"argocd": {"per": "namespace"}}})
    other = jobset("other", {})
    (job,) = compare({**annotated("train", annotations), **other}, other, settings).jobs
    assert job.cluster == (
        "JobSet train is pruned, which stops it if it is still running.",
        "Argo CD prunes JobSet train only in a sync that another change starts: IgnoreExtraneous.",
    )
    (job,) = compare(annotated("train", annotations), {}, settings).jobs
    assert job.cluster == (STOPS,)
    (job,) = compare({**annotated("train", annotations), **other}, other).jobs
    assert job.cluster == (STOPS,)


@pytest.mark.parametrize("value", ["false", "confirm"])
def test_a_new_run_waits_until_somebody_confirms_that_the_old_one_is_pruned(value: str) -> None:
    before = annotated("train", {"argocd.argoproj.io/sync-options": f"Prune={value}"})
    after = {file: data.replace(b'"name": "train"', b'"name": "train-2"') for file, data in before.items()}
    (job,) = compare(before, after).jobs
    assert job.effect.value == "rerun"
    waits = "Argo CD applies nothing else until somebody confirms that it prunes JobSet train: Prune=confirm."
    assert (waits in job.cluster) == (value == "confirm")


def test_a_part_of_an_application_with_a_refused_job() -> None:
    settings = {"prod": read_settings({"environments": {"prod": {"argocd": {"per": "namespace"}}}}, "prod")}
    kept, gone, other = (
        Directory("prod", namespace, name) for namespace, name in (("a", "kept"), ("a", "gone"), ("b", "x"))
    )
    before = {**jobset("kept", {}), **jobset("gone", {}), **jobset("refused", {}), "out/prod/b/x/jobset-x.yaml": b""}
    after = {**annotated("kept", {"a": "b"}), **jobset("refused", {"image": "x:2"})}
    assert {file.split("/")[3] for file in files_outside({kept, gone}, before)} == {"refused", "x"}
    found = compare(before, after, settings, shown={kept, gone})
    assert [(job.directory, job.effect.value) for job in found.jobs] == [(gone, "held"), (kept, "held")]
    assert found.totals.all.before.jobs == 2
    del after["out/prod/a/refused/jobset-refused.yaml"]
    found = compare(before, after, settings, shown={kept, gone})
    assert [job.effect.value for job in found.jobs] == ["deleted", "updated"]
    assert found.jobs[0].cluster == ("JobSet gone is pruned, which stops it if it is still running.",)
    assert {file.split("/")[3] for file in files_outside({other}, before)} == {"kept", "gone", "refused"}
    assert files_outside({Directory("dev", "a", "kept")}, before) == before


@pytest.mark.parametrize(
    ("argocd", "others", "may_stay"),
    [
        ({"write": "deploy"}, {}, False),
        ({"write": "deploy", "namespaces": ["a"]}, {}, False),
        ({"write": "deploy", "namespaces": ["b", "team-*"]}, {}, True),
        ({"write": "deploy", "project": "default", "namespaces": ["b"]}, {}, False),
        ({"write": "deploy", "project": "default"}, {}, False),
        ({"write": "deploy", "project": "trainc-prod", "namespaces": ["b"]}, {}, True),
        ({"write": "deploy", "onDelete": "keep"}, {}, False),
        ({}, {}, False),
    ],
)
def test_the_last_job_of_a_namespace_that_the_project_forgets(
    argocd: dict[str, Any], others: dict[str, bytes], may_stay: bool
) -> None:
    config = {"environments": {"prod": {"argocd": {"repoURL": "https://example.com/x.git", **argocd}}}}
    found = compare(jobset("train", {}), others, {"prod": read_settings(config, "prod")})
    job = next(job for job in found.jobs if job.directory.job == "train")
    assert (
        any(line.startswith("AppProject trainc-prod no longer allows namespace a:") for line in job.cluster) is may_stay
    )


@pytest.mark.parametrize(
    ("argocd", "others", "may_stay"),
    [
        ({"write": "deploy"}, {}, True),
        ({"write": "deploy", "per": "namespace"}, {}, True),
        ({"write": "deploy"}, as_account(jobset("more", {}, "x\n")), False),
        ({"write": "deploy", "onDelete": "keep"}, {}, False),
        ({}, {}, False),
    ],
)
def test_the_last_object_of_a_kind_that_the_project_forgets(
    argocd: dict[str, Any], others: dict[str, bytes], may_stay: bool
) -> None:
    other = {**jobset("other", {"image": "x:2"}), **others}
    settings = options_of({"prod": {"argocd": {"namespaces": ["a"], **argocd}}})
    removed = jobset("train", {}, "x\n")
    (job,) = compare({**other, **removed, **as_account(removed)}, other, settings).jobs
    sentence = (
        "AppProject trainc-prod no longer allows ServiceAccount: if Argo CD applies it before it deletes these objects,"
        " they stay in the cluster."
    )
    assert (sentence in job.cluster) is may_stay


@pytest.mark.parametrize(
    ("dev", "may_stay"),
    [
        ({"argocd": {"project": "ml"}}, False),
        ({"argocd": {"project": "ml"}, "destination": {"name": "west"}}, True),
        ({"argocd": {"project": "ml", "namespace": "argo"}}, True),
        ({}, True),
    ],
)
def test_an_environment_that_shares_the_project_of_a_removed_job(dev: dict[str, Any], may_stay: bool) -> None:
    written = {"project": "ml", "write": "deploy", "namespaces": ["b"]}
    dev["argocd"] = {"write": "deploy", **dev.get("argocd", {})}
    settings = options_of({"prod": {"argocd": written}, "dev": dev})
    other = {file.replace("/prod/", "/dev/"): data for file, data in jobset("other", {"image": "x:2"}).items()}
    (job,) = compare({**other, **jobset("train", {})}, other, settings).jobs
    assert any(line.startswith("AppProject ml no longer allows namespace a:") for line in job.cluster) is may_stay


@pytest.mark.parametrize(("destination", "may_stay"), [({"name": "west"}, False), ({"name": "east"}, True)])
def test_the_cluster_of_a_removed_job_that_the_project_forgets(destination: dict[str, Any], may_stay: bool) -> None:
    argocd = {"write": "deploy", "namespaces": ["a"]}
    earlier = options_of({"prod": {"argocd": argocd, "destination": {"name": "west"}}})
    settings = options_of({"prod": {"argocd": argocd, "destination": destination}})
    other = jobset("other", {"image": "x:2"})
    (job,) = compare({**other, **jobset("train", {})}, other, settings, earlier=earlier).jobs
    found = any(line.startswith("AppProject trainc-prod no longer allows namespace a:") for line in job.cluster)
    assert found is may_stay


def options_of(environments: dict[str, Any]) -> dict[str, Settings]:
    """Return the settings of environments. All have the URL without which render writes nothing for Argo CD."""
    url = {"repoURL": "https://example.com/x.git"}
    complete = {name: {**each, "argocd": {**url, **each.get("argocd", {})}} for name, each in environments.items()}
    return {name: read_settings({"environments": complete}, name) for name in environments}


@pytest.mark.parametrize(
    ("old", "new", "sentences"),
    [
        (
            {"argocd": {"onDelete": "keep"}},
            {},
            (
                "With onDelete: keep, JobSet train stays in the cluster; if it is running, it continues.",
                "onDelete changes from keep to stop in the same commit: if Argo CD applies that first, a running job is"
                " stopped.",
            ),
        ),
        (
            {},
            {"argocd": {"onDelete": "keep"}},
            (
                "The application and JobSet train are deleted, which stops the job if it is still running.",
                "onDelete changes from stop to keep in the same commit: if Argo CD applies that first, the JobSet"
                " stays, and a running job continues.",
            ),
        ),
        (
            {"target": "flux", "flux": {"onDelete": "keep"}},
            {"target": "flux"},
            ("With onDelete: keep, JobSet train stays in the cluster; if it is running, it continues.",),
        ),
    ],
)
def test_an_application_is_removed_as_it_was_before_the_change(
    old: dict[str, Any], new: dict[str, Any], sentences: tuple[str, ...]
) -> None:
    before, earlier = jobset("train", {}), options_of({"prod": old})
    (job,) = compare(before, {}, options_of({"prod": new}), earlier=earlier).jobs
    assert job.cluster == sentences
    (job,) = compare(before, {}, {}, earlier=earlier).jobs  # the environment is removed, too
    assert job.cluster == sentences[:1]
    (job,) = compare(before, jobset("other", {}), options_of({"prod": new}), earlier=earlier).jobs
    assert job.effect.value == "renamed"
    assert {*sentences} < {*job.cluster}


@pytest.mark.parametrize("value", ["disabled", "Disabled", "di\u017fabled"])
def test_a_removed_environment_of_flux_keeps_what_flux_keeps(value: str) -> None:
    before = annotated("train", {"kustomize.toolkit.fluxcd.io/prune": value})
    (job,) = compare(before, {}, {}, earlier=options_of({"prod": {"target": "flux"}})).jobs
    assert job.effect.value == "kept"


def test_a_job_that_moves_from_or_to_a_namespace_with_a_refused_job() -> None:
    """Each namespace is an application: what is held in one is applied in the other."""
    moved = {name.replace("/a/", "/b/"): data.replace(b'"a"', b'"b"') for name, data in jobset("train", {}).items()}
    settings = options_of({"prod": {"argocd": {"per": "namespace"}}})
    refused = jobset("refused", {}), jobset("refused", {"image": "x:2"})
    for before, after in ((jobset("train", {}), moved), (moved, jobset("train", {}))):
        found = compare({**before, **refused[0]}, {**after, **refused[1]}, settings).jobs
        effects = {job.directory.namespace: job.effect.value for job in found if job.directory.job == "train"}
        assert effects == {"a": "held", "b": "created" if after is moved else "deleted"}
    found = compare({**jobset("train", {}), **refused[0]}, {**moved, **refused[0]}, settings)
    assert ([job.effect.value for job in found.jobs], found.unchanged) == (["renamed"], 1)


@pytest.mark.parametrize("project", [None, "jobs"])
def test_the_last_job_of_a_namespace_that_trainc_yaml_no_longer_lists(project: str | None) -> None:
    argocd = {"write": "deploy", **({"project": project} if project else {})}
    was, now = (options_of({"prod": {"argocd": {**argocd, "namespaces": names}}}) for names in (["a", "b"], ["b*"]))
    (job,) = compare(jobset("train", {}), {}, now, earlier=was).jobs
    assert job.cluster[1].startswith(f"AppProject {project or 'trainc-prod'} no longer allows namespace a:")


@pytest.mark.parametrize(
    ("old", "new", "again"), [(60, None, True), (60, 90, True), (60, 60, True), (None, 60, False), (None, None, False)]
)
@pytest.mark.parametrize("changed", ["jobset-train.yaml", "configmap-train.yaml"])
def test_a_finished_job_that_its_ttl_may_have_deleted(
    old: int | None, new: int | None, again: bool, changed: str
) -> None:
    before, after = (
        {
            file: data.replace(
                b'"spec": {', b'"spec": {"ttlSecondsAfterFinished": %d, ' % ttl if ttl else b'"spec": {', 1
            )
            for file, data in jobset("train", {}, "x\n").items()
        }
        for ttl in (old, new)
    )
    file = f"out/prod/a/train/{changed}"
    after[file] = after[file].replace(b'"namespace"', b'"labels": {"a": "b"}, "namespace"')
    (job,) = compare(before, after).jobs
    assert job.effect.value == "updated"
    ends = job.cluster[0].endswith(" If its TTL has deleted it, it is created again, and the job runs again.")
    assert ends is again


def test_a_group_names_a_job_of_each_environment() -> None:
    before, after = (
        {
            file.replace("/prod/", f"/{environment}/"): data
            for environment in ("dev", "prod")
            for n in range(5)
            for file, data in jobset(f"job{n}", {"image": image}).items()
        }
        for image in ("x:1", "x:2")
    )
    shown = "    jobs: dev/a/job0, prod/a/job0, dev/a/job1, prod/a/job1, dev/a/job2 and 5 more\n"
    assert shown in formats.as_text(compare(before, after))


def test_a_job_with_the_jobset_of_the_one_that_it_replaces() -> None:
    after = jobset("train-2", {})
    before = {file.replace("train-2", "train"): data for file, data in after.items()}
    (job,) = compare(before, after).jobs
    assert job.cluster[-1] == (
        "The two applications sync in no fixed order: both mean JobSet train-2, so it may be gone afterwards."
    )


def test_the_hydrator_has_an_application_per_folder_of_jobs() -> None:
    options = {"namespaces": {"vision": "team-b"}, "argocd": {"hydrator": {"branch": "synced"}}}
    settings = read_settings({"environments": {"prod": options}}, "prod")
    names = [application(Directory("prod", namespace, "train"), settings) for namespace in ("team-a", "team-b")]
    assert names == ["prod.team-a", "prod.vision"]


def test_the_name_of_a_long_kustomization() -> None:
    directory = Directory("prod", "a", "b" * 63)
    settings = read_settings({"environments": {"prod": {"target": "flux"}}}, "prod")
    assert application(directory, settings) == kustomization(f"out/{directory}", settings)["metadata"]["name"]  # type: ignore[call-overload,index]


@pytest.mark.parametrize("kind", ["annotations", "labels"])
@pytest.mark.parametrize("value", ["disabled", "Disabled"])
def test_what_keeps_a_jobset_that_flux_applied(kind: str, value: str) -> None:
    files = annotated("train", {"kustomize.toolkit.fluxcd.io/prune": value})
    settings = {"prod": read_settings({"environments": {"prod": {"target": "flux"}}}, "prod")}
    before = {file: data.replace(b"annotations", kind.encode()) for file, data in files.items()}
    (job,) = compare(before, {}, settings).jobs
    assert job.effect.value == "kept"


@pytest.mark.parametrize("write", [{}, {"write": "deploy/flux"}])
def test_a_removed_job_that_flux_applied(write: dict[str, str]) -> None:
    settings = {"prod": read_settings({"environments": {"prod": {"target": "flux", "flux": write}}}, "prod")}
    (job,) = compare(jobset("train", {}), {}, settings).jobs
    kept = "Without flux.write, nothing deletes Kustomization prod.a.train. JobSet train stays, and a running job"
    assert job.cluster[0].startswith("The Kustomization and JobSet train are deleted" if write else kept)


QUEUED = {"kueue.x-k8s.io/queue-name": "x"}
"""The labels of a JobSet that Kueue may have suspended."""

NEVER_STARTS = "If it is waiting, it stays suspended: Kueue does not start a JobSet without a queue."


def labelled(labels: dict[str, str], *, suspended: bool = False) -> dict[str, bytes]:
    new = b'"suspend": true, "repl' if suspended else b'"repl'
    files = annotated("train", labels).items()
    return {file: data.replace(b"annotations", b"labels").replace(b'"repl', new) for file, data in files}


@pytest.mark.parametrize("old", [{}, {"other": "label"}, QUEUED])
@pytest.mark.parametrize("key", ["queue-name", "priority-class", "max-exec-time-seconds", "prebuilt-workload-name"])
def test_a_label_that_kueue_allows_to_change_only_while_a_jobset_is_suspended(old: dict[str, str], key: str) -> None:
    label = f"kueue.x-k8s.io/{key}"
    new, other = {**old, label: "1"}, {**old, label: "2"}
    is_priority = key == "priority-class"
    for one, two in ((old, new), (new, other), (new, old)):
        is_removed = is_priority and two == old and label not in old
        never = "Kueue never allows a priority class to be removed"
        allowed = "Kueue allows this change only if it leaves the JobSet suspended"
        running, resumed, paused, suspended = (
            compare(labelled(one, suspended=was), labelled(two, suspended=now)).jobs[0]
            for was, now in ((False, False), (True, False), (False, True), (True, True))
        )
        if is_priority and one == new:  # its value may always change
            expected = (never,) if is_removed else ()
            assert all(tuple(each.message for each in job.refusals) == expected for job in (running, suspended))
            continue
        assert [each.message for each in resumed.refusals] == [allowed]
        if QUEUED.items() <= one.items() or (key == "queue-name" and one == new):
            stuck = () if "kueue.x-k8s.io/queue-name" in two else (NEVER_STARTS,)
            assert running.cluster[1:] == (f"{allowed}: if it is running, the sync is refused.", *stuck)
        else:
            assert [each.message for each in running.refusals] == [allowed], "Kueue has not suspended it"
            assert running.annotation == 'trainc.dev/run: "2"'
        assert suspended.effect.value == "updated", "of which no pod exists"
        assert "Kueue" not in " ".join(suspended.cluster)
        if key != "max-exec-time-seconds":
            assert "Kueue" not in " ".join(paused.cluster), "the sync suspends it"


def test_the_advice_names_no_run_by_which_a_job_gets_the_name_of_another() -> None:
    others = {**jobset("train-2", {}), **jobset("train-3", {}), **jobset("train-5", {})}
    before = {**jobset("train", {}), **others}
    after = {**jobset("train", {"image": "x:2"}), **others}
    assert compare(before, after).jobs[0].annotation == 'trainc.dev/run: "4"'
    del after["out/prod/a/train-2/jobset-train-2.yaml"]
    assert compare(before, after).jobs[0].annotation == 'trainc.dev/run: "4"', "which the sync deletes"
    hashed = {"prod": read_settings({"environments": {"prod": {"naming": {"mode": "content"}}}}, "prod")}
    named = (
        {file: data.replace(b'"train"', b'"train-7-12345678"') for file, data in files.items()}
        for files in (labelled({}), labelled({"kueue.x-k8s.io/priority-class": "high"}))
    )
    assert compare(*named, hashed).jobs[0].annotation == 'trainc.dev/run: "8"'


@pytest.mark.parametrize("options", ["Prune=false", "Delete=false", "keep"])
def test_what_keeps_a_jobset_in_an_application_that_stays(options: str) -> None:
    key = "helm.sh/resource-policy" if options == "keep" else "argocd.argoproj.io/sync-options"
    before = annotated("train", {key: options})
    settings = {"prod": read_settings({"environments": {"prod": {"argocd": {"per": "namespace"}}}}, "prod")}
    (job,) = compare({**before, **jobset("other", {})}, jobset("other", {}), settings).jobs
    assert job.effect.value == ("kept" if options == "Prune=false" else "deleted")
    (rerun,) = compare(before, {file: data.replace(b'"train"', b'"train-2"') for file, data in before.items()}).jobs
    stopped = "JobSet train is pruned, which stops it if it is still running."
    start = CONTINUES if options == "Prune=false" else stopped
    assert rerun.cluster[0] == f"{start} train-2 is created and starts 1 pod."


def test_objects_without_a_jobset_that_on_delete_keeps() -> None:
    shared = {name.replace("/train/", "/0-shared/"): data for name, data in jobset("train", {}, "x\n").items()}
    del shared["out/prod/a/0-shared/jobset-train.yaml"]
    settings = {"prod": read_settings({"environments": {"prod": {"argocd": {"onDelete": "keep"}}}}, "prod")}
    (job,) = compare(shared, {}, settings).jobs
    assert job.cluster == ("With onDelete: keep, the objects stay in the cluster.",)


@pytest.mark.parametrize("name", ["jobs/a/one and two.yaml", "jobs/a/\u202e.yaml", "jobs/a/\n.yaml"])
@pytest.mark.parametrize("runtime", ["runtimes/this and that.yaml", "built-in runtimes/torch-distributed.yaml"])
def test_a_job_is_selected_by_any_name_of_its_file(name: str, runtime: str) -> None:
    header = f"# {HEADER}{visible(f'{name} and {runtime}')}\n".encode()
    tree = {"out/prod/a/train/jobset-train.yaml": header + b"{}\n"}
    assert select({}, tree, [name]) == select({}, tree, [runtime]) == ({}, tree)
    assert select({}, tree, ["jobs/a/one"]) == select({}, tree, ["this"]) == ({}, {})


def pod(rest: dict[str, Any], name: str = "train") -> dict[str, bytes]:
    node = {"name": "node", "image": "example.com/a:1", "command": ["python"]}
    template = {"template": {"spec": {"containers": [node], **rest}}}
    data = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "a"},
        "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": template}}]},
    }
    return {"out/prod/a/train/jobset-train.yaml": OWNED + b"jobs/a/train.yaml\n" + dumps(data).encode()}


def row(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Return the cells about changes in the table of a comment."""
    line = next(
        line for line in formats.as_markdown(compare(before, after)).splitlines() if line.startswith("| <code>")
    )
    return [unescape(cell) for cell in re.findall(r"<code>(.*?)</code>", line.split(" | ")[2])]


PRIVILEGED = {
    "hostNetwork": True,
    "securityContext": {"runAsUser": 0},
    "volumes": [{"name": "v", "hostPath": {"path": "/"}}],
    "initContainers": [{"name": "i", "securityContext": {"privileged": True, "capabilities": {"add": ["SYS_ADMIN"]}}}],
}
PRIVILEGES = "hostNetwork, i: privileged, runAsUser=0, i: SYS_ADMIN, hostPath=/"


@pytest.mark.parametrize("account", ["serviceAccountName", "serviceAccount"])
def test_what_a_new_job_runs_and_may_do_is_in_the_table(account: str) -> None:
    assert row({}, pod({**PRIVILEGED, account: "admin", "priorityClassName": "high"})) == [
        "nodes (node): 1",
        "service account (node): admin",
        "priority class (node): high",
        f"privileges (node): {PRIVILEGES}",
        "image (node): example.com/a:1",
        "command (node): python",
        "needs: 1 pod, 0 GPUs",
    ]


def test_the_image_of_a_volume_is_in_the_table() -> None:
    """It may be named like a container."""
    before, after = (
        pod({"volumes": [{"name": "node", "image": {"reference": f"example.com/data:{tag}"}}]}) for tag in (1, 2)
    )
    image = "image (node/volume node): "
    assert row({}, after)[1:3] == [f"{image}example.com/data:2", "image (node): example.com/a:1"]
    assert row(before, after)[0] == f"{image}example.com/data:1 -> example.com/data:2"


def test_a_comment_has_all_properties_of_a_new_job_with_many_replicated_jobs() -> None:
    after = pod({})
    ((file, data),) = after.items()
    header, text = data.split(b"\n", 1)
    jobset = loads(text)
    (job,) = jobset["spec"]["replicatedJobs"]
    others = [
        {**job, "name": name, "replicas": number, "template": loads(dumps(job["template"]).replace("a:1", f"{name}:1"))}
        for number, name in enumerate(("data", "model", "check", "last"), 1)
    ]
    last = others[-1]["template"]["spec"]["template"]["spec"]
    last |= {"hostNetwork": True, "containers": [{**last["containers"][0], "command": ["miner"]}]}
    jobset["spec"]["replicatedJobs"] = others
    after = {file: header + b"\n" + dumps(jobset).encode()}
    assert row({}, after)[0] == "privileges (last): hostNetwork"
    details = unescape(formats.as_markdown(compare({}, after)).partition("<details>")[2])
    assert "\n- <code>image (last): example.com/last:1</code>\n- <code>command (last): miner</code>\n" in details


def test_what_a_pod_may_do_is_told_before_its_paths() -> None:
    many = {
        "volumes": [{"name": "v", "hostPath": {"path": f"/{'a' * 300}"}}],
        "containers": [
            {
                "name": "a" * 63,
                "securityContext": {"runAsUser": 0, "runAsGroup": 0, "capabilities": {"add": ["CHOWN"]}},
            },
            {"name": "node", "image": "example.com/a:1", "securityContext": {"privileged": True}},
        ],
    }
    assert any(cell.startswith("privileges (node): node: privileged, ") for cell in row({}, pod(many)))


@pytest.mark.parametrize(
    ("rest", "name", "cells"),
    [
        (PRIVILEGED, "train-2", [f"privileges (node): added: {PRIVILEGES}"]),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.1"]}}, "train", []),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.1"]}}, "train-2", []),
    ],
)
def test_fields_without_a_property_are_in_the_table(rest: dict[str, Any], name: str, cells: list[str]) -> None:
    found = row(pod({}), pod(rest, name))
    assert found[: len(cells)] == cells
    first, second, *_ = rest
    assert found[len(cells)].startswith(f"JobSet {name}: node {first} added: ")
    assert f", node {second}" in found[len(cells)]


PORT = '"name": "PET_MASTER_PORT", "value": "29500"'
KEY = '"name": "s", "key": "k"'


@pytest.mark.parametrize(
    ("old", "new", "cell"),
    [
        ('"replicas": 2, "template": {"spec": {"p', '"replicas": 3, "template": {"spec": {"p', "replicas 2 to 3"),
        ('"completions": 3', '"completions": 4', "node completions 3 to 4"),
        ('max-exec-time-seconds": "5', 'max-exec-time-seconds": "9', "kueue.x-k8s.io/max-exec-time-seconds 5 to 9"),
        (PORT, PORT.replace("29500", "1"), "PET_MASTER_PORT value 29500 to 1"),
        (KEY, f'{KEY}, "optional": true', "A optional added: True"),
        (KEY, '"name": "s", "key": "l", "optional": true', "A optional added: True"),
    ],
)
def test_a_field_is_in_the_table_if_no_property_shows_its_change(old: str, new: str, cell: str) -> None:
    variables = f'[{{{PORT}}}, {{"name": "A", "valueFrom": {{"secretKeyRef": {{{KEY}}}}}}}]'
    head = '{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "train", "labels": {'
    jobs = '}}, "spec": {"replicatedJobs": [{"name": "node", "replicas": 2, "template": {"spec": {"parallelism": 3, '
    pods = '"completions": 3, "template": {"spec": {"containers": [{"name": "node", "image": "a:1", "env": '
    text = f'{head}"kueue.x-k8s.io/max-exec-time-seconds": "5"{jobs}{pods}{variables}}}]}}}}}}}}}}]}}}}'
    assert old in text
    changed = text.replace(old, new).replace("a:1", "a:2")
    if "replicas" in old:  # as many pods as before
        changed = changed.replace('"parallelism": 3, "completions": 3', '"parallelism": 2, "completions": 2')
    before, after = (
        {"out/prod/a/train/jobset-train.yaml": OWNED + b"jobs/a/train.yaml\n" + each.encode()}
        for each in (text, changed)
    )
    image, *others = row(before, after)
    assert image == "image (node): a:1 -> a:2"
    assert any(each.startswith("JobSet train: ") and cell in each for each in others)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ({"nvidia.com/gpu": 8}, {"nvidia.com/gpu": 4}, "8 -> 4"),
        ({"nvidia.com/gpu": 8}, {"amd.com/gpu": 8}, "nvidia.com/gpu 8 -> amd.com/gpu 8"),
        ({"nvidia.com/gpu": 8}, {"amd.com/gpu": 4}, "nvidia.com/gpu 8 -> amd.com/gpu 4"),
        (
            {"amd.com/gpu": 1, "nvidia.com/gpu": 2},
            {"amd.com/gpu": 8, "nvidia.com/gpu": 1},
            "amd.com/gpu 1, nvidia.com/gpu 2 -> amd.com/gpu 8, nvidia.com/gpu 1",
        ),
    ],
)
def test_gpus_of_several_kinds_are_named(old: dict[str, Any], new: dict[str, Any], shown: str) -> None:
    before, after = (jobset("train", {"resources": {"limits": gpus}}) for gpus in (old, new))
    assert row(before, after)[0] == f"GPUs per node (node): {shown}"


def test_variables_are_the_first_to_be_omitted_from_the_table() -> None:
    many = [{"name": f"A{number}", "value": "x"} for number in range(20)]
    other = {"name": "other", "image": "example.com/b:1"}
    node = {"name": "node", "image": "example.com/a:1", "command": ["python"]}
    found = row(pod({}), pod({"containers": [{**node, "env": many}, other]}))
    assert found[:2] == ["image (node/other): added: example.com/b:1", "env A0 (node): added: x"]
    assert found[6:8] == ["14 more", "env A19 (node): added: x"]


def test_the_content_of_new_shared_objects_is_shown() -> None:
    role = {"kind": "ClusterRole", "name": "admin"}
    metadata = {"name": "x", "namespace": "a", "finalizers": ["example.com/x"]}
    data = {"apiVersion": "v1", "kind": "RoleBinding", "metadata": metadata, "roleRef": role}
    after = {"out/prod/a/0-shared/rolebinding-x.yaml": OWNED + b"runtimes/rt.yaml\n" + dumps(data).encode()}
    shown = formats.as_text(compare({}, after))
    assert "  metadata.finalizers\n+ - example.com/x\n  roleRef\n+ kind: ClusterRole\n+ name: admin\n" in shown
    assert row({}, after) == ["RoleBinding x: created"]


def test_the_application_of_jobs_that_share_one_has_no_name_of_a_job() -> None:
    jobs = {name: [jobset(name, {"image": image}) for image in ("a:1", "a:2")] for name in ("first", "second")}
    before, after = ({k: v for sides in jobs.values() for k, v in sides[side].items()} for side in (0, 1))
    settings = read_settings({"defaults": {"argocd": {"per": "namespace"}}}, "prod")
    shown = formats.as_text(compare(before, after, {"prod": settings}))
    assert "    jobs: prod/a/first, prod/a/second\n" in shown
    assert "    = Refused: Argo CD shows application <environment>.<namespace> as Unknown" in shown


def without_header(tree: dict[str, bytes]) -> dict[str, bytes]:
    return {name: data.partition(b"\n")[2] for name, data in tree.items()}


def test_a_file_that_lost_its_header_is_still_the_same_object() -> None:
    """As after a correction of out/ by hand, which is merged and then rendered over."""
    before, after = (jobset("train", {"image": image}) for image in ("a:1", "a:2"))
    assert [job.effect for job in compare(without_header(before), after).jobs] == [Effect.REFUSED]
    given_up = compare(before, without_header(after), foreign_to=partial(foreign, dict.fromkeys(after, Kind.FILE)))
    assert [job.effect for job in given_up.jobs] == [Effect.REFUSED]
    assert [finding.code for finding in given_up.findings] == ["TC903"]


def test_a_file_that_is_no_longer_generated_but_stays() -> None:
    """As with a file that trainc.yaml lists as unmanaged: Argo CD applies it as before."""
    before = jobset("train", {})
    stays = compare(before, without_header(before))
    assert [(job.effect, job.cluster[0]) for job in stays.jobs] == [
        (Effect.COMMENTS, "No object changes, only comments in files.")
    ]
    two = {name: data + b"\n---\n{}" for name, data in without_header(before).items()}
    assert {finding.severity for finding in compare(before, two).findings} == {Severity.NOTE}


def test_foreign_files_are_not_compared() -> None:
    one, other = ({f"out/prod/a/train/{name}.yaml": text} for name, text in (("x", b"a: 1\n"), ("y", b"{{\n")))
    train = jobset("train", {})
    assert not compare({**train, **one}, {**train, **other}).jobs
    assert not compare(one, other).jobs


def test_an_object_whose_file_has_another_name_is_the_same_object() -> None:
    """As with a file of out/ that somebody moved, or PodGroups of two API groups, whose files get the group."""
    before, after = (jobset("train", {"image": image}) for image in ("a:1", "a:2"))
    moved = {name.replace("jobset-train", "main"): data for name, data in before.items()}
    [job] = compare(moved, after).jobs
    assert (job.effect, [each.effect for each in job.objects]) == (Effect.REFUSED, [Effect.REFUSED])
    assert job.before == job.after


@pytest.mark.parametrize("copy", ["jobset-train-old", "jobset-train_LOCAL_12"])
def test_a_copy_of_a_file_is_the_same_object(copy: str) -> None:
    """Argo CD applies the last one."""
    train, other = (jobset("train", {"image": image}) for image in ("a:1", "a:2"))
    both = {**train, **{name.replace("jobset-train", copy): data for name, data in other.items()}}
    is_last = copy > "jobset-train."
    for before, after in ((both, train), (train, both)):
        difference = compare(before, after)
        assert not difference.findings
        assert [each.effect for job in difference.jobs for each in job.objects] == ([Effect.REFUSED] if is_last else [])
