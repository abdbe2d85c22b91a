"""Work grows with the number of items also where each of them could be compared with each item of another list.

As in test_growth.py, four times the items may take up to nine times as long, where all pairs take sixteen times.
"""

from __future__ import annotations

import itertools
import time
import tracemalloc
from collections.abc import Callable, Mapping
from json import dumps
from pathlib import Path

import pytest
from growing_texts import CONTAINER, JOB, Input, filled, listed, numbered, one, plain_roles, several, trained
from growth import measure, warm_up
from test_growth import is_linear

from builders import binding, crd, role, runtime, trainjob, unbound_policy
from effort import thorough
from trainc import Options, compile
from trainc.admission.policy import policyset
from trainc.admission.policy.documents import Stored
from trainc.admission.policy.expressions import Expressions
from trainc.admission.policy.match import Cluster, ConfigurationError, scope
from trainc.admission.rules import failures
from trainc.basics.jsonvalues import JsonObject
from trainc.changes import compare
from trainc.changes.cluster import application
from trainc.changes.model import Directory, Effect, Usage
from trainc.changes.usage import Demand, totals
from trainc.checks import kubelet
from trainc.checks.nodes import check_order
from trainc.documents.load import load
from trainc.gitops.environment import unknown_names
from trainc.inputs.options import Revision
from trainc.inputs.settings import read_settings
from trainc.inputs.source import Document, Packed, Source
from trainc.plugins.model import Model, Object
from trainc.plugins.mpi.transport import serves_own_key
from trainc.policytests.run import load_platform
from trainc.policytests.run import read as read_tests
from trainc.policytests.run import run as run_tests
from trainc.project.files import OWNED
from trainc.schema import parse
from trainc.schema.kinds import BUILT_IN

pytestmark = thorough

Files = Mapping[str, str]
CONFIG = {"trainc.yaml": "environments: {prod: {}}\n"}


PATCH = """\
  runtimePatches:
  - manager: example.com/m
    trainingRuntimeSpec:
      template: {spec: {replicatedJobs: [{name: node, template: {metadata: {annotations: {patch: patch}}}}]}}
"""


def annotated(annotations: str, more: str = "", patch: str = "") -> Files:
    """Return a runtime whose Jobs have these annotations, and a job of it."""
    runtime = listed("env", f"{{name: API_TOKEN, value: Zm9vYmFyYmF6}}{more}", 1).partition("---\n")[0]
    runtime = runtime.replace("template: {metadata: {", f"template: {{metadata: {{annotations: {{{annotations}}}, ")
    return {**CONFIG, "runtimes/many.yaml": runtime, "jobs/a/one.yaml": one(patch, "many")}


def refused_annotations(count: int, value: str) -> Files:
    """The cluster's message about each of them has all of them, and is searched for secrets."""
    return annotated(numbered(f"aNUMBER: {value}", count))


def refused_secrets(count: int, value: str) -> Files:
    """The cluster's message about each of them, in which all are masked, could be masked again for each."""
    return annotated(numbered(f"api-token-NUMBER: {value}-value-NUMBER", count))


def removed_annotations(count: int, value: str) -> Files:
    """Each of them could be looked for in each one, since what is left is that of a patch."""
    return annotated(numbered("aNUMBER: bNUMBER", count) if value == "old" else "", patch=PATCH)


NAMED = (
    "x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], "
    "properties: {name: {type: string}, a: {type: string, maxLength: 3}, b: {type: string, maxLength: 3}}, "
    "x-kubernetes-validations: [{rule: self == oldSelf}]}"
)


def refused_items(count: int, value: str) -> Files:
    """For each of them, all could be evaluated again without one of its changes."""
    fields = f"properties: {{spec: {{type: array, maxItems: {count}, {NAMED}}}}}"
    spec = numbered(f"{{name: aNUMBER, a: {value}, b: {value}}}", count)
    thing = f"apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: a}}\nspec: [{spec}]\n"
    return {**CONFIG, "crds/a.yaml": crd("Thing", fields), "runtimes/a.yaml": thing, "jobs/a/one.yaml": one()}


def allowed_namespaces(count: int, value: str) -> Files:
    """Each of them could be compared with each one of the base."""
    allowed = numbered(f"{value}-NUMBER", count)
    argocd = f"{{repoURL: https://example.com/a.git, namespaces: [a, {allowed}]}}"
    return {"trainc.yaml": f"environments: {{prod: {{argocd: {argocd}}}}}\n", "jobs/a/one.yaml": one()}


CHANGES: dict[Callable[[int, str], Files], tuple[int, str]] = {
    removed_annotations: (1000, "TC204"),
    refused_annotations: (2000, "TC204"),
    refused_secrets: (500, "TC204"),
    refused_items: (120, "TC202"),
    allowed_namespaces: (1000, "TC521"),
}


@pytest.mark.parametrize("kind", CHANGES, ids=lambda kind: kind.__name__)
def test_changes_of_four_times_the_items(kind: Callable[[int, str], Files]) -> None:
    size, code = CHANGES[kind]

    def seconds(size: int) -> float:
        before = kind(size, "old")
        sources = [Source(name, text) for name, text in before.items() if name.startswith(("jobs/", "runtimes/"))]
        rendered = {name: data.decode() for name, data in compile(sources, Options()).files.items()}
        command = ("validate", "--base=HEAD", "--no-cache", "--jobs=1", "--crd-dir=crds")
        command = command if "crds/a.yaml" in before else command[:-1]
        run = measure(Input(kind(size, "new"), command, committed={**before, **rendered}))
        assert code in run.codes, run
        return run.seconds

    warm_up()
    assert is_linear(seconds, size)


def test_volumes_of_huge_pages_beside_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each volume, all containers could be searched for a request."""
    read, real = [], kubelet.requested
    monkeypatch.setattr(kubelet, "requested", lambda pod: read.append(pod) or real(pod))
    text = trained(pods=f"volumes: [{numbered('{name: vNUMBER, emptyDir: {medium: HugePages}}', 5)}]")
    build = compile([Source("a.yaml", text)], Options())
    assert [finding.code for finding in build.findings].count("TC806") == 5
    assert len(read) == 1


def claims(count: int) -> str:
    """Return the policies of so many claims; each may have fifty."""
    spec = "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"
    claims = [f"{{metadata: {{name: c{number}}}, spec: {spec}}}" for number in range(count)]
    return ", ".join(f"{{templates: [{', '.join(claims[at : at + 50])}]}}" for at in range(0, count, 50))


def with_claims(count: int, runtime: str) -> str:
    policies = f"volumeClaimPolicies: [{claims(count)}], replicatedJobs:"
    return runtime.replace("replicatedJobs:", policies, 1)


MOUNT = "{name: cNUMBER, mountPath: /cNUMBER}"
OF_CONTAINER = "{name: ANUMBER, valueFrom: {resourceFieldRef: {containerName: cNUMBER, resource: limits.cpu}}}"
PAIRS: dict[str, tuple[int, Callable[[int], str]]] = {
    "claims and mounts": (
        320,
        lambda n: with_claims(n, listed("volumeMounts", "{name: cNUMBER, mountPath: /cNUMBER}", n)),
    ),
    "claims without a mount": (40, lambda n: with_claims(n, trained(roles=plain_roles(n)))),
    "containers that variables name": (
        800,
        lambda n: trained(
            filled(CONTAINER, NAME="node", FIELDS=f"env: [{numbered(OF_CONTAINER, n)}]")
            + numbered(", {name: cNUMBER, image: 'a:1'}", n, "")
        ),
    ),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_two_lists_of_a_runtime(kind: str) -> None:
    size, text = PAIRS[kind]

    def seconds(size: int) -> float:
        run = measure(Input(command=("build", "--no-cache", "-"), text=text(size)))
        assert run.status == (1 if kind == "claims without a mount" else 0), run
        return run.seconds

    warm_up()
    assert is_linear(seconds, size)


def test_the_memory_of_replicated_jobs_that_wait() -> None:
    """Each of them could have a set of all that are complete before it."""
    jobs = [
        {"name": f"j{n}", "dependsOn": [{"name": f"j{n - 1}", "status": "Complete"}] if n else []} for n in range(2000)
    ]
    jobset = Object({"spec": {"replicatedJobs": jobs}})
    tracemalloc.start()
    assert not list(check_order(Model, jobset))  # type: ignore[arg-type]  # no finding
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 4_000_000


def test_the_totals_of_jobs_with_gpus_of_many_names() -> None:
    """For each job, the GPUs of all before it could be added up again."""

    def seconds(size: int) -> float:
        usages = (Usage(1, 1, ((f"example.com/gpu-{number}", 1),)) for number in range(size))
        demands = [(Directory("prod", "a", "j"), Demand(), Demand(usage)) for usage in usages]
        start = time.process_time()
        assert totals(demands).all.after.gpu_count == size
        return time.process_time() - start

    assert is_linear(seconds, 2000)


def test_the_applications_of_many_namespaces() -> None:
    """For each of them, all could be sorted."""

    def seconds(size: int) -> float:
        config = {"namespaces": {f"a-{n}": f"b-{n}" for n in range(size)}, "argocd": {"hydrator": {"branch": "x"}}}
        settings = read_settings({"environments": {"prod": config}}, "prod")
        start = time.process_time()
        names = [application(Directory("prod", f"b-{number}", "j"), settings) for number in range(size)]
        assert names == [f"prod.a-{number}" for number in range(size)]
        return time.process_time() - start

    assert is_linear(seconds, 1000)


def test_expected_failures_of_many_validations() -> None:
    """Each of them could be compared with each failure."""

    def seconds(size: int) -> float:
        validations = numbered("{expression: 'false', message: mNUMBER}", size)
        policy = unbound_policy("p", f"[{validations}]", resource="trainer.kubeflow.org/trainjobs")
        job = one().replace("{name: one}", "{name: one, namespace: a}").replace("\n", "\n    ")
        test = f"tests:\n- name: t\n  expect: {{p: [{numbered('mNUMBER', size)}]}}\n  object:\n    {job}\n"
        files = {"policies/p.yaml": f"{policy}---\n{binding('p', 'p')}", "policies/tests/t.yaml": test}
        run = measure(Input({**CONFIG, **files}, ("policy", "test")))
        assert run.status == 0, run
        return run.seconds

    warm_up()
    assert is_linear(seconds, 1000)


def test_a_renamed_job_with_many_objects() -> None:
    """Each of its new objects could be compared with each old one, by the pattern of the old name."""

    def files(job: str, size: int) -> dict[str, bytes]:
        jobset = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "spec": {"replicatedJobs": []}}
        maps = [{"apiVersion": "v1", "kind": "ConfigMap"}] * size
        objects = ({**each, "metadata": {"name": f"{job}-{n}"}} for n, each in enumerate((jobset, *maps)))
        return {
            f"out/prod/a/{job}/{each['kind'].lower()}-{job}-{n}.yaml": OWNED + b"jobs/a/j.yaml\n" + dumps(each).encode()
            for n, each in enumerate(objects)
        }

    def seconds(size: int) -> float:
        before, after = files("old", size), files("new", size)
        start = time.process_time()
        (job,) = compare(before, after).jobs
        assert job.effect is Effect.RENAMED
        assert len(job.objects) == 2 * (size + 1)
        return time.process_time() - start

    assert is_linear(seconds, 250)


def test_pairs_of_items_with_one_name() -> None:
    """For each of them, the whole list could be written as JSON."""

    def seconds(size: int) -> float:
        pairs = numbered("{name: aNUMBER, value: b}, {name: aNUMBER, value: c}", size)
        run = measure(Input(command=("build", "--no-cache", "-"), text=one(f"  trainer: {{env: [{pairs}]}}\n")))
        assert "TC107" in run.codes, run
        return run.seconds

    warm_up()
    assert is_linear(seconds, 200)


def test_rules_of_items_beside_errors() -> None:
    """At each item, its path could be compared with that of each error."""
    rule = [{"rule": "self.a == 'a'"}]
    item = {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": rule}
    schema = parse({"type": "object", "properties": {"spec": {"type": "array", "items": item}}})

    def seconds(size: int) -> float:
        skip = tuple(("spec", index, "b") for index in range(size))
        start = time.process_time()
        assert failures(schema, {"spec": [{"a": "b"}] * size}, skip=skip) == ()
        return time.process_time() - start

    assert is_linear(seconds, 2000)


@pytest.mark.parametrize("kind", ["policies", "params", "companions"])
def test_params_of_many_bindings(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each object could be in the keys of cached jobs for each policy, or compared with the name in each binding."""
    caches = (tmp_path / str(number) for number in itertools.count())
    policy = unbound_policy(
        "pNUMBER", "[{expression: params.data.a == 'b'}]", resource="trainer.kubeflow.org/trainjobs"
    )
    policy = policy.replace("spec:\n", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n")
    named = "paramRef: {name: cNUMBER, namespace: a, parameterNotFoundAction: Allow}, policyName"
    bound = binding("bNUMBER", "pNUMBER" if kind == "policies" else "p0").replace("policyName", named)
    name = "dNUMBER" if kind == "companions" else "cNUMBER"
    given = f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: a}}\ndata: {{a: b}}\n"
    runtime = listed("env", "{name: A, value: b}", 1).partition("---\n")[0]

    def seconds(size: int) -> float:
        policies, bindings, objects = (
            "".join(text.replace("NUMBER", str(number)) for number in range(count))
            for text, count in (
                (f"---\n{policy}", size if kind == "policies" else 1),
                (f"---\n{bound}", size),
                (given, size),
            )
        )
        where = "runtimes/many.yaml" if kind == "companions" else "policies/c.yaml"
        texts = {"jobs/a/one.yaml": one(runtime="many"), "policies/p.yaml": f"{policies}{bindings}"}
        texts |= {"runtimes/many.yaml": runtime, where: f"{runtime}{objects}" if kind == "companions" else objects}
        monkeypatch.setenv("TRAINC_CACHE_DIR", str(next(caches)))
        run = measure(Input({**CONFIG, **texts}, ("render", "--jobs=1")))
        assert ("TC519" in run.codes) == (kind == "companions"), run
        return run.seconds

    warm_up()
    assert is_linear(seconds, 500)


def test_variables_that_are_there_twice() -> None:
    """Each error could write the whole list."""

    def seconds(size: int) -> float:
        env = numbered("{name: aNUMBER, value: a}, {name: aNUMBER, value: b}", size)
        job = one(f"  trainer: {{env: [{env}]}}\n")
        run = measure(Input({"jobs/a/one.yaml": job}, ("validate", "--jobs=1", "--no-cache")))
        assert "TC107" in run.codes, run
        return run.seconds

    warm_up()
    assert is_linear(seconds, 400)


FIELDS = {
    "shown": ("explain a/one", "metadata: {annotations: {FIELDS}}", ""),
    "refused": ("validate --jobs=1", "metadata: {labels: {FIELDS}}", "TC108"),
    "unknown": ("validate --jobs=1", "spec: {FIELDS}", "TC605"),
}


@pytest.mark.parametrize("kind", FIELDS)
def test_fields_of_many_patches(kind: str) -> None:
    """Each patch could be tried on each field that explain shows, or that is wrong."""
    command, patch, code = FIELDS[kind]

    def seconds(size: int) -> float:
        fields = (patch.replace("FIELDS", numbered(f"a{number}-NUMBER: a b", 30)) for number in range(size))
        patches = ", ".join(f"{{target: {{kind: JobSet}}, patch: {{{each}}}}}" for each in fields)
        config = f"environments: {{prod: {{patches: [{patches}]}}}}\n"
        run = measure(Input({"trainc.yaml": config, "jobs/a/one.yaml": one()}, tuple(command.split())))
        assert run.status == (1 if code else 0), run
        assert not code or code in run.codes, run
        return run.seconds

    warm_up()
    assert is_linear(seconds, 120)


def test_params_of_which_none_has_the_version_of_the_policy() -> None:
    """For each binding, all objects of their kind could be looked at."""
    kind = {"paramKind": {"apiVersion": "example.com/v2", "kind": "Thing"}}
    thing = "---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {name: aNUMBER, namespace: a}\n"

    def seconds(size: int) -> float:
        things, _ = load(Source("a.yaml", numbered(thing, size, "")))
        policy = Stored(things[0], "p", kind)
        cluster = Cluster({("example.com/Thing", "a", str(index)): each for index, each in enumerate(things)}, BUILT_IN)
        start = time.process_time()
        for _ in range(size):
            with pytest.raises(ConfigurationError):
                scope(policy, cluster)
        return time.process_time() - start

    assert is_linear(seconds, 1000)


def test_objects_in_versions_that_their_crd_does_not_have() -> None:
    """The finding on each could list all versions of the kind."""

    def seconds(size: int) -> float:
        served = crd("Thing", "properties: {}")
        first = served[served.index("{name: v1,") : served.rindex("]")]
        more = numbered(first.replace("name: v1", "name: v1NUMBER").replace("storage: true", "storage: false"), size)
        things = numbered("---\napiVersion: example.com/w1\nkind: Thing\nmetadata: {name: aNUMBER}\n", size, "")
        files = {"crds/a.yaml": served.replace(first, f"{first}, {more}"), "runtimes/a.yaml": things}
        run = measure(
            Input({**CONFIG, **files, "jobs/a/one.yaml": one()}, ("validate", "--crd-dir=crds", "--no-cache"))
        )
        assert "TC008" in run.codes, run
        return run.seconds

    warm_up()
    assert is_linear(seconds, 1500)


def test_policies_with_many_tests_that_have_a_namespace_of_their_own() -> None:
    """Each test could compile all policies again."""
    spec = "spec: {runtimeRef: {name: x}}"
    job = f"{{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {{name: a, namespace: a}}, {spec}}}"
    own = "{apiVersion: v1, kind: Namespace, metadata: {name: a}}"
    test = f"- {{name: tNUMBER, expect: {{p0: pass}}, object: {job}, namespace: {own}}}\n"
    policy = unbound_policy("pNUMBER", "[{expression: 'true'}]", resource="trainer.kubeflow.org/trainjobs")
    read: list[object] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(policyset, "Expressions", lambda each: read.append(each) or Expressions(each))
        policies = numbered(f"---\n{policy}---\n{binding('bNUMBER', 'pNUMBER')}", 3, "")
        platform, _ = load_platform((Source("policies/p.yaml", policies),))
        cases, _ = read_tests(Source("policies/tests/t.yaml", f"tests:\n{numbered(test, 3, '')}"))
        assert [result.findings for result in run_tests(cases, platform).results] == [()] * 3
    assert len(read) == 3


def test_secrets_on_a_line_that_cannot_be_read() -> None:
    """For each finding on the line, all of its secrets could be looked at."""

    def seconds(size: int) -> float:
        items = numbered("{a: 0777, b: x https://u:pNUMBERass@h/}", size, ", ")
        start = time.process_time()
        assert compile([Source("x.yaml", f"[{items}]\n")], Options()).findings
        return time.process_time() - start

    assert is_linear(seconds, 500)


def test_a_gang_of_many_jobs_that_start_in_order() -> None:
    """For each replicated job, the sets of all jobs before it could be joined."""

    def seconds(size: int) -> float:
        start = "startupPolicy: {startupPolicyOrder: InOrder}"
        text = trained(roles=plain_roles(size)).replace("{spec: {rep", f"{{spec: {{{start}, rep")
        text = text.replace("spec:\n", "spec:\n  podGroupPolicy: {coscheduling: {}}\n", 1)
        begin = time.process_time()
        assert any("podgroup" in name for name in compile([Source("a.yaml", text)]).files)
        return time.process_time() - begin

    assert is_linear(seconds, 250)


@pytest.mark.parametrize("words", [("sshd",), ("sshd", "-D"), ("sshd", "-h", "sshd", "-h"), ("-D",)])
def test_sshd_many_times_in_a_command_line(words: tuple[str, ...]) -> None:
    """The end of each command could be looked for from the beginning, or each of its options copy those after it."""

    def seconds(size: int) -> float:
        start = time.process_time()
        assert not serves_own_key(("sleep", "sshd", *words * (size // len(words))))
        return time.process_time() - start

    assert is_linear(seconds, 20_000)


def test_groups_and_versions_of_a_rule() -> None:
    """For each group, all versions could be looked at, and named."""

    def seconds(size: int) -> float:
        rule = {"apiGroups": ["apps"] * size, "apiVersions": [f"v9x{number}" for number in range(size)]}
        rules = [{**rule, "operations": ["*"], "resources": ["deployments"]}]
        spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "true"}]}
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
        text = dumps({**head, "metadata": {"name": "p"}, "spec": spec})
        start = time.process_time()
        found = compile([Source("policies/p.json", text)], Options()).findings
        assert "or 'v9x19' or" in next(one.message for one in found if one.code == "TC516")
        return time.process_time() - start

    assert is_linear(seconds, 1000)


def test_namespaces_without_jobs_and_files_of_jobs() -> None:
    """For each file, all of the namespaces could be collected."""

    def seconds(size: int) -> float:
        names = [f"n{number}" for number in range(size)]
        config: JsonObject = {"environments": {"prod": {"namespaces": dict.fromkeys(names, "b")}}}
        document = Document(Source("trainc.yaml", b""), config)
        options = Options(environment="prod", config=config, config_document=document)
        data: JsonObject = {"metadata": {"namespace": "a", "name": "j"}, "spec": {}}
        jobs = [Document(Source(f"jobs/a/j{number}.yaml", b"kind: TrainJob"), data) for number in range(size)]
        named = {"apiVersion": "example.com/v1", "kind": "A", "metadata": {"name": "a"}, "namespaces": names}
        (other,), _ = load(Source("runtimes/a.json", dumps(named)))
        start = time.process_time()
        assert unknown_names(jobs, (other,), options) == ()
        return time.process_time() - start

    assert is_linear(seconds, 3000)


def test_claims_that_a_removed_jobset_may_have_had() -> None:
    """For each claim of a new JobSet, that one could be read again, with all of its claims."""

    def seconds(size: int) -> float:
        mounts = numbered("{name: tNUMBER, mountPath: /tNUMBER}", size)
        claim = "accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}"
        templates = [f"{{metadata: {{name: t{number}}}, spec: {{{claim}}}}}" for number in range(size)]
        policies = (f"{{templates: [{', '.join(templates[at : at + 50])}]}}" for at in range(0, size, 50))
        text = runtime(
            role(trainer=True, container=f", volumeMounts: [{mounts}]"),
            spec=f"volumeClaimPolicies: [{', '.join(policies)}]",
        )
        many = Source("runtimes/many.yaml", text)
        old, new = (Source(f"jobs/a/{name}.yaml", trainjob(name)) for name in ("a", "b-a"))
        output = compile([many, old], Options()).files.items()
        base = Revision("main", (many, old), {}, output=tuple(Packed.of(name, data) for name, data in output))
        start = time.process_time()
        assert len(compile([many, new], Options(base=base)).files) == 1
        return time.process_time() - start

    assert is_linear(seconds, 200)


LONG = "m" * 300_000
TRAINJOBS = "trainer.kubeflow.org/trainjobs"


def long_message(bindings: int) -> str:
    policy = unbound_policy("p", f"[{{expression: 'false', message: {LONG}}}]", resource=TRAINJOBS)
    return policy + numbered(f"---\n{binding('bNUMBER', 'p')}", bindings, "")


def named_test(size: int) -> Files:
    """Return a test of a long name, which each of its errors names."""
    job = one().replace("{name: one}", "{name: one, namespace: a}").replace("\n", "\n    ")
    test = f"tests:\n- name: {LONG}\n  expect: {{{numbered('pNUMBER: pass', size)}}}\n  object:\n    {job}\n"
    return {"policies/tests/t.yaml": test}


REPEATED: dict[str, tuple[str, Callable[[int], Files]]] = {
    "message of a policy and bindings": (
        "validate --jobs=1",
        lambda n: {"policies/p.yaml": long_message(n), "jobs/a/one.yaml": one()},
    ),
    "message of a policy and jobs": (
        "validate --jobs=1",
        lambda n: {"policies/p.yaml": long_message(1), "jobs/a/all.yaml": several(JOB, n)},
    ),
    "name of a test and errors": ("policy test", named_test),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_a_long_text_that_each_error_names(kind: str) -> None:
    """Each could keep a copy of the text, or search it for secrets."""
    command, files = REPEATED[kind]
    warm_up()
    run = measure(Input({**CONFIG, **files(300)}, tuple(command.split())))
    assert run.status == 1, run
    assert run.memory < 50, run
