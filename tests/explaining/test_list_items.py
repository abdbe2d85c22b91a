"""A list item comes from the one with its key, also if several have the same name, or there are thousands."""

from __future__ import annotations

import time

import pytest

from builders import role, runtime, trainjob
from effort import thorough
from trainc import Options, Source, compile
from trainc.basics.differences import place_of
from trainc.basics.jsonvalues import Json
from trainc.project.config import parse
from trainc.provenance.explain import find, table

MOUNTS = 'volumeMounts: [{name: v, mountPath: /a, subPath: "a"}, {name: v, mountPath: /b, subPath: "b"}]'
VOLUMES = "volumes: [{name: v, emptyDir: {}}]"
ADDED = "volumeMounts: [{name: v, mountPath: /c}]"
PATCHES = """\
environments:
  prod:
    patches:
    - target: {kind: JobSet}
      patch:
        spec:
          replicatedJobs:
          - name: node
            template: """


def explained(of_runtime: str, of_patch: str, field: str, pod: str = "", old_pod: str = VOLUMES) -> list[str]:
    """Return the text that each origin of a field of the JobSet leads to.

    The runtime and trainc.yaml set fields of the container, and those of its pod: ``old_pod`` and ``pod``.
    """
    patch = f"{{spec: {{template: {{spec: {{{pod}containers: [{{name: node, {of_patch}}}]}}}}}}}}"
    texts = {
        "rt.yaml": runtime(role(trainer=True, container=f", {of_runtime}", pod=old_pod)),
        "trainc.yaml": PATCHES + patch,
    }
    config, findings = parse(Source("trainc.yaml", texts["trainc.yaml"]))
    assert findings == ()
    options = Options(environment="prod", config=config.data, config_document=config.document)
    build = compile([Source("rt.yaml", texts["rt.yaml"]), Source("j.yaml", trainjob("j"))], options)
    (jobset,) = (one for one in build.objects if one.kind == "JobSet")
    paths = find(jobset.data, field)
    assert isinstance(paths[0], tuple), f"no field {paths}"
    rows = table(jobset, paths, options).rows  # type: ignore[arg-type]  # checked above
    return [
        texts[origin.file].splitlines()[origin.line - 1][origin.column - 1 :]
        for row in rows
        for origin in row.origins
        if origin.file is not None and origin.line is not None and origin.column is not None
    ]


@pytest.mark.parametrize("letter", ["a", "b"])
@pytest.mark.parametrize(("of_runtime", "of_patch"), [(MOUNTS, ADDED), (ADDED, MOUNTS)])
def test_two_mounts_of_a_volume(of_runtime: str, of_patch: str, letter: str) -> None:
    (origin,) = explained(of_runtime, of_patch, f"volumeMounts[mountPath=/{letter}].subPath")
    assert origin.startswith(f'subPath: "{letter}"')


@pytest.mark.parametrize(
    ("items", "field"),
    [
        ("volumeMounts: [{name: v, mountPath: /a}]", "volumeMounts[mountPath=/a].name"),
        ("ports: [{name: http, containerPort: 80}]", "ports[containerPort=80].name"),
    ],
)
def test_a_name_that_is_not_the_key_of_an_item(items: str, field: str) -> None:
    origins = explained(items, items, field)
    assert [origin.count("}") > 3 for origin in origins] == [True, False]  # a patch of one line, and the runtime


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
def test_two_items_with_the_same_key(effect: str) -> None:
    items = ", ".join(f"{{key: k, effect: {each}}}" for each in ("NoSchedule", "NoExecute"))
    (origin,) = explained("tty: true", "tty: true", f"tolerations[effect={effect}].effect", f"tolerations: [{items}], ")
    assert origin.startswith(f"effect: {effect}")


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("hostAliases", "ip: 1.2.3.%s", "hostnames: [a]"),
        ("topologySpreadConstraints", "maxSkew: 1, topologyKey: key%s", "whenUnsatisfiable: ScheduleAnyway"),
    ],
)
def test_items_that_kubernetes_merges_by_another_key_than_a_name(name: str, key: str, value: str) -> None:
    one, two = (f"{{{key % number}, {value}}}" for number in (1, 2))
    of_patch, of_runtime = f"{name}: [{two}], ", f"{name}: [{one}, {two}]"
    found = [
        explained("tty: true", "tty: true", f"{name}[{index}].{value.partition(':')[0]}", of_patch, of_runtime)
        for index in (0, 1)
    ]
    # The runtime's line ends after the list.
    assert [["containers" in origin for origin in origins] for origins in found] == [[False], [True, False]]


@pytest.mark.parametrize(
    ("items", "item", "index", "found"),
    [
        ([{"name": "a"}, {"name": "b"}], {"name": "b", "value": "1"}, 0, 1),
        ([{"name": "a"}], {"name": "b"}, 0, None),
        (["x", "y", "x"], "x", 2, 2),
        (["x", "y"], "y", 5, 1),
        ([{"ip": "1"}, {"ip": "2"}], {"ip": "2"}, 0, 1),
        ([{"verbs": ["get"]}, {"verbs": ["list"]}], {"verbs": ["list"]}, 0, 1),
        ([{"port": 1, "endPort": 2}], {"endPort": 2, "port": 1, "protocol": "TCP"}, 0, 0),
        ([{"port": 1, "endPort": 2}], {"port": 1, "endPort": 3}, 0, None),
    ],
)
def test_the_place_of_an_item(items: list[Json], item: Json, index: int, found: int | None) -> None:
    assert place_of(items, item, index) == found


@thorough
@pytest.mark.parametrize("text", ["effect: NoExecute, tolerationSeconds: NUMBER", "key: kNUMBER"])
def test_many_items_of_a_patch(text: str) -> None:
    """Each could be looked for among all others, once for each of its fields."""

    def seconds(size: int) -> float:
        items = ", ".join(f"{{operator: Exists, {text}}}".replace("NUMBER", str(number)) for number in range(size))
        start = time.process_time()
        explained("tty: true", "tty: true", "tolerations[*]", f"tolerations: [{items}], ")
        return time.process_time() - start

    assert any(seconds(1000) <= 9 * seconds(250) for _ in range(3))


def test_many_containers_with_an_image_of_a_registry() -> None:
    """The image of each could be compared with those of all others."""
    config, findings = parse(Source("trainc.yaml", "environments: {prod: {registries: {ghcr.io: example.com}}}\n"))
    assert findings == ()
    options = Options(environment="prod", config=config.data, config_document=config.document)

    def seconds(size: int) -> float:
        names = ["node", *(f"c{number}" for number in range(size))]
        containers = ", ".join(f'{{name: {name}, image: "ghcr.io/a/{name}:1"}}' for name in names)
        text = runtime(role(trainer=True, containers=f"[{containers}]"))
        build = compile([Source("rt.yaml", text), Source("j.yaml", trainjob("j"))], options)
        start = time.process_time()
        (jobset,) = (one for one in build.objects if one.kind == "JobSet")
        assert any(origin.name == "registries" for origin in jobset.origins().values())
        return time.process_time() - start

    assert any(seconds(600) <= 9 * seconds(150) for _ in range(3))
