from __future__ import annotations

import json
import runpy
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc import Options, Source
from trainc.basics.jsonvalues import JsonObject, as_object, get, paths, put
from trainc.data import ROOT as DATA
from trainc.data import load_json
from trainc.images.definition import Definition
from trainc.inputs.imagelock import LockFile
from trainc.inputs.settings import (
    ConfigFile,
    Destination,
    Flux,
    Naming,
    Patch,
    Settings,
    SshKeys,
    Target,
    Transport,
    read_settings,
)
from trainc.project.config import misfits, parse, read_document

TOOL = Path(__file__).parents[2] / "compiler" / "tools" / "fileschemas.py"

FULL = """\
fixes: recommended
output: 1
lock: {required: [ghcr.io/]}
policies: {pods: true}
severities: {TC409: error}
defaults:
  queue: shared
  transport: kubexec
environments:
  prod:
    jobs: [team-*, '!team-x/old-*']
    destination: {name: west}
    namespaces: {team-a: a}
    createNamespace: true
    imagePullSecrets: [pull]
    registries: {docker.io: mirror.example.com}
    runtimes: {torch-distributed: torch-west}
    serviceAccounts: [reader]
    patches:
    - target: {kind: JobSet, name: 'm*'}
      patch: {metadata: {labels: {a: b}}}
    sshKeys: {mode: existing, secret: keys}
    naming: {mode: content, maxReruns: 3}
    queue: fast
    target: flux
    argocd:
      {repoURL: 'https://example.com/x.git', per: namespace, automated: false, onDelete: keep, namespaces: [a, 'b-*']}
    flux: {source: ml, namespace: gitops, interval: 1h30m, onDelete: keep, write: deploy/flux}
    fixes: [ssh-key-mode]
  test:
"""


def settings(text: str, environment: str = "prod") -> Settings:
    config, findings = parse(Source("trainc.yaml", text))
    assert all("has no effect with target" in finding.message for finding in findings), "FULL has both targets' options"
    return read_settings(config.data, environment)


def test_all_that_can_be_said() -> None:
    found = settings(FULL)
    assert (found.jobs, found.queue, found.target) == (("team-*", "!team-x/old-*"), "fast", "flux")
    assert (found.destination, found.namespaces) == (Destination("west"), {"team-a": "a"})
    assert (found.create_namespace, found.pods, found.lock_required) == (True, True, ("ghcr.io/",))
    assert (found.image_pull_secrets, found.service_accounts) == (("pull",), ("reader",))
    assert (found.registries, found.runtimes) == (
        {"docker.io": "mirror.example.com"},
        {"torch-distributed": "torch-west"},
    )
    assert found.patches == (Patch(Target("JobSet", "m*"), {"metadata": {"labels": {"a": "b"}}}),)
    assert found.ssh_keys == SshKeys("existing", "keys")
    assert found.naming == Naming("content", 3)
    assert found.transport == Transport("kubexec"), "of defaults"
    assert (found.argocd.per, found.argocd.automated, found.argocd.on_delete) == ("namespace", False, "keep")
    assert found.argocd.namespaces == ("a", "b-*")
    assert found.flux == Flux("ml", "gitops", "1h30m", "keep", "deploy/flux")
    assert found.fixes == ("ssh-key-mode",)


def test_an_environment_without_options_has_the_defaults() -> None:
    found = settings(FULL, "test")
    assert (found.queue, found.transport.mode, found.fixes) == ("shared", "kubexec", ("recommended",))
    assert (found.naming, found.ssh_keys, found.jobs) == (Naming(), SshKeys(), ())


def test_nothing_said() -> None:
    assert settings("") == Settings()


def test_a_text_is_short_for_a_mapping() -> None:
    one = settings("environments: {prod: {sshKeys: external-secrets, naming: content}}")
    assert (one.ssh_keys.mode, one.naming.mode) == ("external-secrets", "content")


@pytest.mark.parametrize(
    ("jobs", "taken"),
    [
        ([], ["a/x", "b/y", "b/z"]),
        (["*"], ["a/x", "b/y", "b/z"]),
        (["b"], ["b/y", "b/z"]),
        (["b/y", "a/*"], ["a/x", "b/y"]),
        (["!b/y"], ["a/x", "b/z"]),
        (["b/*", "!b/z"], ["b/y"]),
        (["*/?"], ["a/x", "b/y", "b/z"]),
        (["c*"], []),
        (["!"], ["a/x", "b/y", "b/z"]),
        (["a/", "/x", "b/y/", "b/*/*"], []),
        (["[ab]/[!z]", "!a/?"], ["b/y"]),
        (["b", "a/x", "!b/*", "!a"], []),
    ],
)
def test_which_jobs_an_environment_has(jobs: list[str], taken: list[str]) -> None:
    found = Settings(jobs=tuple(jobs))
    assert [name for name in ("a/x", "b/y", "b/z") if found.takes(*name.split("/"))] == taken


IMAGE: JsonObject = {
    "image": "ghcr.io/team/small:1.2",
    "suite": "bookworm",
    "created": "2026-01-01T00:00:00Z",
    "packages": ["bash"],
    "wheels": ["numpy==2.1"],
    "user": {"name": "user", "id": 1000},
    "files": [{"from": "a", "to": "/a", "executable": True}],
    "links": {"/a": "b"},
    "entrypoint": ["/a"],
    "labels": {"a": "b"},
}
LOCK: JsonObject = {"images": {"docker.io/library/a:1": f"sha256:{'0' * 64}"}}
FILES = {
    "config.schema.json": (ConfigFile, as_object(read_document(Source("trainc.yaml", FULL))[0])),
    "image.schema.json": (Definition, IMAGE),
    "images.lock.schema.json": (LockFile, LOCK),
}
"""By the file with their schema: types, and values with most of their keys."""

VALUES = st.sampled_from(
    [
        *("job", "content", "recommended", "error", "Not a name", "", "a\n", "10m", "/a/b", "a" * 64),
        *([], ["a"], [1], [""], {}, {"mode": "job"}, {"x": "y"}, {"level": "note"}),
        *(0, 1, -1, 1.0, 1.5, 2**70, True, None),
    ]
)
KEYS = st.sampled_from(["sshKeys", "naming", "transport", "fixes", "jobs", "queue", "patches", "zzz", "argocd"])


@pytest.mark.parametrize("name", FILES)
def test_schemas_for_editors_are_current(name: str) -> None:
    assert (DATA / name).read_text(encoding="utf-8") == runpy.run_path(str(TOOL))["text"](FILES[name][0]), (
        "make schemas"
    )
    jsonschema.Draft202012Validator.check_schema(load_json(name))


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_editors_and_trainc_take_the_same(name: str, data: st.DataObject) -> None:
    kind, value = FILES[name]
    for _ in range(data.draw(st.integers(0, 2))):
        path = data.draw(st.sampled_from(list(paths(value))))
        step = (data.draw(KEYS),) if data.draw(st.booleans()) and isinstance(get(value, *path), dict) else ()
        value = put(value, (*path, *step), data.draw(VALUES)) if path or step else value
    problems = list(misfits(value, kind))
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        assert problems
    else:
        assert not problems
    if "1.0" not in json.dumps(value):  # an integer to JSON schema, and not to msgspec
        assert jsonschema.Draft202012Validator(load_json(name)).is_valid(value) == (not problems)


@given(st.dictionaries(KEYS, VALUES))
def test_what_was_never_checked_is_read_without_a_traceback(options: JsonObject) -> None:
    assert Options(config={"environments": {"prod": options}}).settings is not None


def test_a_key_that_is_half_a_character_counts_as_missing() -> None:
    environment = {"\ud800": 1, "queue": "gpu"}
    assert Options(config={"environments": {"prod": environment}}).settings.queue == "gpu"


def test_faithful_knows_no_settings() -> None:
    config: JsonObject = {"environments": {"prod": {"queue": "x"}}}
    assert Options(config=config).settings.queue == "x"
    assert Options(config=config, faithful=True).settings == Settings()


def test_fixes_that_are_none() -> None:
    with pytest.raises(ValueError, match="unknown fix 'zzz'"):
        Options(fixes=("zzz",))
    with pytest.raises(ValueError, match="faithful output has no fixes"):
        Options(fixes=("ssh-key-mode",), faithful=True)
    with pytest.raises(KeyError):
        Options(fixes=("recommended",)).fixed("zzz")
    assert Options(fixes=("ssh-key-mode",)).fixed("ssh-key-mode")
    assert not Options().fixed("ssh-key-mode")
