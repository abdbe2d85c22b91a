"""The policies that come with trainc: their own tests pass, and the API server's code says the same of each object."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from oracle import celrunner, policygoldens, policyours
from trainc.documents.classify import identity
from trainc.inputs.source import Source
from trainc.pipeline.policies import create_request
from trainc.policytests.run import Case, Platform, load_platform, read, run, stored_case
from trainc.schema.kinds import split_version

ROOT = Path(__file__).resolve().parents[2] / "policies"
KINDS = {
    "jobset.x-k8s.io/v1alpha2": ("JobSet",),
    "trainer.kubeflow.org/v1alpha1": ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"),
    "v1": ("ConfigMap", "Namespace"),
}
POLICY, BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"


def of_kind(objects: list[Any], kind: str) -> list[Any]:
    return [data for data in objects if data["kind"] == kind]


def sources(pattern: str) -> list[Source]:
    return [Source(path.name, path.read_bytes()) for path in sorted(ROOT.glob(pattern))]


def platform() -> Platform:
    loaded, findings = load_platform(sources("*.yaml"))
    assert findings == ()
    return loaded


def cases() -> list[Case]:
    return [case for source in sources("tests/*.yaml") for case in read(source)[0]]


def test_the_tests_pass_and_show_every_validation() -> None:
    done = run(cases(), platform())
    assert [result.case.name for result in done.results if result.findings] == []
    assert done.untested == ()
    assert len({policy for case in cases() for policy in case.expect}) == len(platform().policies) == 10


def questions(loaded: Platform) -> Iterator[dict[str, Any]]:
    """Yield each test as a question to the oracle, with the policies that it names."""
    rows = [(*split_version(version), kind) for version, kinds in KINDS.items() for kind in kinds]
    known = [loaded.registry.find(*row) for row in rows]
    for case in cases():
        stored, findings = stored_case(case, loaded.registry)
        assert findings == ()
        given = {identity(document): document for document in case.given}
        objects = [document.data for document in {**loaded.set.cluster.objects, **given}.values()]
        current = stored.object or stored.old
        assert current is not None
        made = create_request(current.data, loaded.registry)
        assert made is not None
        old = stored.old.data if stored.old is not None else None
        request = replace(made, operation=case.operation, object=stored.object and stored.object.data, old_object=old)
        names = {data["metadata"]["name"] for data in of_kind(objects, "Namespace")}
        others = [] if request.namespace in ("", *names) else [{"metadata": {"name": request.namespace}}]
        yield {
            "id": case.name,
            "policies": [data for data in of_kind(objects, POLICY) if data["metadata"]["name"] in case.expect],
            "bindings": [data for data in of_kind(objects, BINDING) if data["spec"]["policyName"] in case.expect],
            "params": of_kind(objects, "ConfigMap"),
            "namespaces": [*of_kind(objects, "Namespace"), *others],
            "kinds": [
                {"group": k.group, "version": k.version, "kind": k.kind, "plural": k.plural, "namespaced": k.namespaced}
                for k in known
                if k is not None
            ],
            "request": {
                name: getattr(request, name)
                for name in (
                    *("operation", "object", "old_object", "group", "version", "kind", "resource"),
                    *("namespace", "name", "sub_resource"),
                )
            },
        }


@pytest.mark.go
def test_the_server_says_the_same() -> None:
    if reason := celrunner.missing():
        pytest.skip(reason)
    policygoldens.build()
    asked = list(questions(platform()))
    answers = policygoldens.ask("decide", asked)
    pairs = zip(asked, answers, strict=True)
    assert [q["id"] for q, a in pairs if not policygoldens.agrees(policyours.answer(q), a)] == []
    assert sum(bool(answer["error"]) for answer in answers) > 20
    objects = [document.data for document in platform().set.cluster.objects.values()]
    made = [*of_kind(objects, POLICY), *of_kind(objects, BINDING)]
    assert policygoldens.ask("create", made) == [{"errors": []}] * 20
