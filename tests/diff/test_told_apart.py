"""Two changes that differ in what runs never look the same."""

from __future__ import annotations

import re
from html import unescape
from json import dumps

import pytest

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.changes import compare, formats
from trainc.changes.phrases import grouped
from trainc.project.files import OWNED

NODE: JsonObject = {"name": "node", "image": "example.com/a:1"}


def tree(
    name: str, kind: str, version: str, rest: JsonObject, annotations: JsonObject | None = None
) -> dict[str, bytes]:
    metadata = {"name": name, "namespace": "a", "annotations": annotations or {}}
    data = {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}
    header = OWNED + f"jobs/a/{name}.yaml\n".encode()
    return {f"out/prod/a/{name}/{kind.lower()}-{name}.yaml": header + dumps(data).encode()}


def jobset(pod: JsonObject, name: str = "train", annotations: JsonObject | None = None) -> dict[str, bytes]:
    template: JsonObject = {"spec": {"template": {"spec": {"containers": [NODE], **pod}}}}
    spec: JsonObject = {"replicatedJobs": [{"name": "node", "template": template}]}
    return tree(name, "JobSet", "jobset.x-k8s.io/v1alpha2", {"spec": spec}, annotations)


def paths(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    found = [field.path for job in compare(before, after).jobs for each in job.objects for field in each.fields]
    return [path.removeprefix("spec.replicatedJobs[node].template.spec.template.spec.") for path in found]


SPREAD = {"topologyKey": "zone", "maxSkew": 1}
DNS = {"containerPort": 53}


@pytest.mark.parametrize(
    ("field", "items", "index", "change", "path"),
    [
        (
            "tolerations",
            [{"key": "gpu", "effect": "NoExecute"}] * 2,
            1,
            {"tolerationSeconds": 9},
            "[1].tolerationSeconds",
        ),
        ("tolerations", [{"key": "gpu"}, {"key": "gpu", "effect": "NoExecute"}], 0, {"key": "all"}, "[0].key"),
        ("topologySpreadConstraints", [SPREAD, {**SPREAD, "minDomains": 2}], 0, {"maxSkew": 5}, "[0].maxSkew"),
        (
            "topologySpreadConstraints",
            [SPREAD, {**SPREAD, "topologyKey": "b"}],
            0,
            {"maxSkew": 5},
            "[topologyKey=zone].maxSkew",
        ),
        ("hostAliases", [{"ip": "192.0.2.1", "hostnames": ["a"]}] * 2, 1, {"hostnames": ["b"]}, "[1].hostnames[0]"),
        ("tolerations", [{"key": "gpu"}, {"operator": "Exists"}], 0, {"value": "x"}, "[key=gpu].value"),
    ],
)
def test_which_of_several_items_with_one_key(
    field: str, items: list[JsonObject], index: int, change: JsonObject, path: str
) -> None:
    changed: list[Json] = [*items]
    changed[index] = {**items[index], **change}
    assert paths(jobset({field: [*items]}), jobset({field: changed})) == [f"{field}{path}"]


def test_which_account_of_two_namespaces_gets_rights() -> None:
    accounts = [{"kind": "ServiceAccount", "name": "s", "namespace": namespace} for namespace in "ab"]
    before, after = (
        tree(
            "train",
            "RoleBinding",
            "rbac.authorization.k8s.io/v1",
            {"subjects": [accounts[0], {**accounts[1], "name": name}]},
        )
        for name in ("s", "t")
    )
    assert paths(before, after) == ["subjects[1].name"]


def test_the_place_of_a_new_init_container() -> None:
    one, new = {"name": "one", "image": "x:1"}, {"name": "new", "image": "x:2"}
    before = jobset({"initContainers": [one]})
    assert paths(before, jobset({"initContainers": [one, new]})) == ["initContainers[new]"]
    first = compare(before, jobset({"initContainers": [new, one]}))
    assert "initContainers\n+ - name: new\n+   image: x:2\n  - name: one\n" in formats.as_text(first)


def row(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Return the cells about changes in the table of a comment."""
    page = formats.as_markdown(compare(before, after))
    line = next(line for line in page.splitlines() if line.startswith("| <code>"))
    return [unescape(cell) for cell in re.findall(r"<code>(.*?)</code>", line.split(" | ")[2])]


def test_a_command_of_a_hook_beside_another_image_is_in_the_table() -> None:
    before, after = (
        jobset({"containers": [{**NODE, "image": image, "lifecycle": {"postStart": {"exec": {"command": [command]}}}}]})
        for image, command in (("example.com/a:1", "true"), ("example.com/a:2", "sh"))
    )
    assert row(before, after)[:2] == [
        "image (node): example.com/a:1 -> example.com/a:2",
        "JobSet train: command[0] true to sh",
    ]


def test_a_hidden_change_without_a_property_is_in_the_table() -> None:
    before, after = (jobset({}, annotations={"my-token": token}) for token in ("abcdefgh1", "abcdefgh2"))
    assert row(before, after) == ["JobSet train: my-token changed (hidden: ***)"]


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("run \\\n--a", "run \\ \n--b\n--a", "- run \\\n+ run \\\\x20\n+ --b\n"),
        ("run\n--a", "run2 \\ \n--a", "- run\n+ run2 \\\\x20\n"),
        ("run x\n--a", "run\u00a0x\n--b\n--a", "- run x\n+ run\\xa0x\n+ --b\n"),
    ],
)
def test_blanks_in_lines_that_differ_in_more(old: str, new: str, shown: str) -> None:
    before, after = (jobset({"containers": [{**NODE, "args": [f"{text}\nend\n"]}]}) for text in (old, new))
    assert shown in formats.as_text(compare(before, after))


def test_jobs_with_the_placeholder_in_a_value_are_in_no_group() -> None:
    def both(*values: str) -> dict[str, bytes]:
        named = zip(("one", "two"), values, strict=True)
        trees = [jobset({"schedulerName": value}, name) for name, value in named]
        return trees[0] | trees[1]

    grouped = formats.as_text(compare(both("x", "x"), both("one", "two")))
    assert "2 jobs" in grouped
    shown = formats.as_text(compare(both("x", "x"), both("one", "<job>")))
    assert "2 jobs" not in shown
    assert '+ "<job>"\n' in shown


@pytest.mark.parametrize("name", ["PET_NNODES", "JAX_NUM_PROCESSES", "DMLC_NUM_WORKER"])
def test_a_variable_that_follows_from_the_number_of_nodes_is_no_property_of_its_own(name: str) -> None:
    before, after = (jobset({"containers": [{**NODE, "env": [{"name": name, "value": n}]}]}) for n in "23")
    (job,) = compare(before, after).jobs
    assert paths(before, after) == [f"containers[node].env[{name}].value"]
    assert not job.properties


@pytest.mark.parametrize(
    ("names", "runtime", "shown", "is_one_file"),
    [
        (("first", "first"), "runtimes/own.yaml", "", False),
        (("one-job", "another"), "built-in runtimes/torch.yaml", "", False),
        (("one-job", "another"), "runtimes/own.yaml", "runtimes/own.yaml: ", False),
        (("one-job", "another"), "runtimes/own.yaml", "runtimes/own.yaml: ", True),
    ],
)
def test_the_title_of_a_group_names_only_a_runtime_that_may_explain_it(
    names: tuple[str, ...], runtime: str, shown: str, is_one_file: bool
) -> None:
    def files(pods: int) -> dict[str, bytes]:
        found = {}
        for environment, name in enumerate(names):
            for path, content in jobset({"priority": pods}, name).items():
                sources = f"jobs/a/{name}.yaml".encode()
                moved = path.replace("prod", f"e{environment}")
                shown_sources = b"jobs/a/all.yaml" if is_one_file else sources
                found[moved] = content.replace(sources, shown_sources + f" and {runtime}".encode(), 1)
        return found

    (group,) = grouped(compare(files(1), files(2)).jobs)
    assert group.title == f"{shown}node priority 1 to 2, 2 jobs"


def with_claim(name: str, variable: JsonObject) -> dict[str, bytes]:
    template: JsonObject = {"spec": {"template": {"spec": {"containers": [{**NODE, "env": [variable]}]}}}}
    policy: JsonObject = {"templates": [{"metadata": {"name": "data"}}], "retentionPolicy": {"whenDeleted": "Delete"}}
    spec: JsonObject = {"replicatedJobs": [{"name": "node", "template": template}], "volumeClaimPolicies": [policy]}
    return tree(name, "JobSet", "jobset.x-k8s.io/v1alpha2", {"spec": spec})


def test_new_runs_form_a_group_also_with_claims_and_host_names() -> None:
    def files(run: str) -> dict[str, bytes]:
        found = {}
        for name in ("first", "second"):
            variable: JsonObject = {"name": "PET_MASTER_ADDR", "value": f"{name}{run}-node-0-0.{name}{run}"}
            ((_, data),) = with_claim(f"{name}{run}", variable).items()
            found[f"out/prod/a/{name}/jobset-{name}.yaml"] = data
        return found

    (group,) = grouped(compare(files(""), files("-2")).jobs)
    assert "Its claims are deleted with their data: data-<job>." in group.common.cluster[0]


def test_the_claims_of_a_renamed_job_are_deleted() -> None:
    before, after = (with_claim(name, {"name": "A", "value": "b"}) for name in ("first", "second"))
    (job,) = compare(before, after).jobs
    assert (job.effect.value, job.claims) == ("renamed", ("data-first",))
    assert "Its claims are deleted with their data: data-first." in " ".join(job.cluster)
