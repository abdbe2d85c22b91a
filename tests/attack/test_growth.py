"""Work grows with the size of the input, not with its square: each kind of input at one size and at four times that.

What is compared is the user CPU time of the command in a process of its own. Four times the input may take up to nine
times as long, where work that grows with the square takes sixteen times. Other processes can only make both longer, so
the least of several measurements count, until these pass or no more are due. Some texts are padded where each document
could be looked up in the whole text, so that small numbers of documents show it.

Only CI runs this file. docs/trust.md has the figures for sizes from 1,000 to 64,000, which growth.py measures.
"""

from __future__ import annotations

import math
import re
import symtable
import time
import tracemalloc
from collections.abc import Callable
from itertools import count as count_up
from itertools import product
from json import dumps
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from growing_texts import CONTAINER, JOB, Input, filled, listed, numbered, one, several, trained
from growth import KINDS, made, measure, warm_up

from builders import binding
from effort import thorough
from trainc import Options, compile
from trainc.admission.base_revision import Base, identify
from trainc.admission.policy import PolicySet, Request, match
from trainc.admission.rules import Rule
from trainc.basics.jsonvalues import Json, JsonObject, as_object
from trainc.basics.jsonvalues import Path as FieldPath
from trainc.cel.codegen import Program
from trainc.cel.composition import compile_expression
from trainc.cel.declarations import admission
from trainc.changes import compare, formats, safeguards
from trainc.checks.created_pods import created_objects
from trainc.checks.functions import Script, mistakes
from trainc.documents.edit import Edit, apply
from trainc.documents.load import comments, load
from trainc.documents.rewrite import Rewrite
from trainc.findings import report, suggest
from trainc.findings.codes import CODES
from trainc.findings.fixes import Action, Fix
from trainc.findings.formats import FORMATS
from trainc.findings.redaction import masked_lines, masked_object
from trainc.findings.secrets import is_secret, secrets
from trainc.findings.severities import immovable
from trainc.findings.suppression import read as read_comments
from trainc.gitops import service_accounts
from trainc.gitops.base import not_allowed
from trainc.gitops.environment import in_cluster
from trainc.gitops.images import is_required, rewritten
from trainc.inputs.options import Revision
from trainc.inputs.settings import ArgoCD, Settings
from trainc.inputs.source import Document, Packed, Source
from trainc.kube.merge import merge
from trainc.kube.pods import default_template
from trainc.migrate import pytorch, volcano
from trainc.migrate.documents import Old
from trainc.migrate.jobs import new_runtime
from trainc.migrate.runtimes import Runtimes
from trainc.migrate.trees import mapping
from trainc.pipeline.update_rules import UpdateRules
from trainc.policytests.run import read as read_tests
from trainc.policytests.run import stored_case
from trainc.project.catalog import Runtime
from trainc.project.files import OWNED
from trainc.project.fixing import diff_text
from trainc.project.foreign import kept_applications
from trainc.schema.field_help import split
from trainc.schema.kinds import BUILT_IN

pytestmark = thorough

PAGE = Path(__file__).parents[2] / "docs/trust.md"
MOST = 9
"""Times the work that four times the input may take."""

LEAST = 0.03
"""Seconds below which nothing is compared."""

TRIES = 8


def is_linear(seconds: Callable[[int], float], size: int) -> bool:
    """Return whether four times the size takes about four times the work, in one of three tries."""
    return any(seconds(4 * size) <= MOST * max(seconds(size), LEAST) for _ in range(3))


@pytest.mark.parametrize("kind", KINDS)
def test_four_times_the_input_takes_about_four_times_the_work(kind: str) -> None:
    size, _ = KINDS[kind]
    warm_up()
    least = [math.inf, math.inf]
    for _ in range(TRIES):
        runs = measure(made(kind, size)), measure(made(kind, 4 * size))
        assert {run.status for run in runs} <= {0, 1, 3}, runs  # 2: a command that has not begun
        assert all("TC902" not in run.codes for run in runs)
        least = [min(seconds, run.seconds) for seconds, run in zip(least, runs, strict=True)]
        if least[1] <= MOST * max(least[0], LEAST):
            return
    pytest.fail(f"{least[0]:.3f} s, and {least[1]:.3f} s for four times the input")


def test_the_page_counts_the_kinds() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert re.findall(r"(?:has|of the) (\d+) kinds", page) == [str(len(KINDS))] * 2


POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: p{}}}
spec:
  matchConstraints: {{resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [pods]}}]}}
  validations: [{{expression: 'true'}}]
"""


def test_objects_beside_policies_of_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each object that a pull request adds could be compared with each policy of the base."""
    policies = [Source(f"policies/p{number}.yaml", POLICY.format(number)) for number in range(3)]
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {{name: n{}}}\n"
    namespaces = [Source(f"policies/n{number}.yaml", namespace.format(number)) for number in range(5)]
    read, real = [], safeguards.read_policy
    monkeypatch.setattr(safeguards, "read_policy", lambda document: read.append(document) or real(document))
    after = Revision("", (*policies, *namespaces), {})
    assert safeguards.weakened(Revision("main", tuple(policies), {}), after, None) == ()
    assert len(read) == len(policies)


def test_bindings_of_other_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each namespace may have its own binding of each policy: objects there meet no others."""
    selector = "objectSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}, resourceRules: "
    texts = [POLICY.format("").replace("resourceRules: ", selector).replace("'true'", "'false'")]
    for number in range(9):
        text = binding(f"b{number}", "p")
        where = f"matchResources: {{namespaceSelector: {{matchLabels: {{{match.NAME_LABEL}: n{number}}}}}}}"
        texts.append(text.replace("policyName: p,", f"policyName: p, {where},"))
    policies = PolicySet.load(load(Source("policies/p.yaml", "---\n".join(texts)))[0], {})
    matched, real = [], match.match
    monkeypatch.setattr(match, "match", lambda rules, *rest: matched.append(rules) or real(rules, *rest))
    for name in "xyz":
        pod: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}
        (denial,) = policies.decide(Request("CREATE", pod, None, "", "v1", "Pod", "pods", "n4", name))
        assert denial.binding is not None and denial.binding.data["metadata"]["name"] == "b4"
    assert len(matched) == 2 * len("xyz")


DIFFERENCES = {
    "arguments in another order": lambda n, new: jobset({"args": (["x", "y"] if new else ["y", "x"]) * n}),
    "texts with a secret": lambda n, new: jobset(
        {"env": [{"name": f"A{i}", "value": f"--token=secret{i} --x={i}{new}"} for i in range(n)]}
    ),
    "tolerations of one key": lambda n, new: jobset(
        {}, {"tolerations": [{"key": "a", "value": str(i)} for i in (range(8 * n, -1, -1) if new else range(8 * n))]}
    ),
    "lines between others": lambda n, new: jobset(
        {"args": ["".join(f"{'b' if new else 'a'}{i}\n{i}\n" for i in range(19 * n // 10))]}
    ),
    "one long key": lambda n, new: jobset({"image": f"a:{new}"}, key=".suspend.value" * 4 * n + '["a"' * 4 * n + "\n"),
}


def jobset(container: JsonObject, pod: JsonObject | None = None, key: str = "a") -> bytes:
    spec = {"containers": [{"name": "node", **container}], **(pod or {})}
    jobs = [{"name": "node", "template": {"spec": {"template": {"spec": spec}}}}]
    metadata = {"annotations": {key: str(container)}, "name": "j"}
    data = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata}
    text = dumps({**data, "spec": {"suspend": True, "replicatedJobs": jobs}})
    # YAML allows a long key only after a question mark.
    return OWNED + b"jobs/a/j.yaml\n" + text.replace('{"annotations": {', '{"annotations": {? ').encode()


@pytest.mark.parametrize("kind", DIFFERENCES)
def test_the_difference_of_four_times_the_fields_takes_about_four_times_the_work(kind: str) -> None:
    def seconds(size: int) -> float:
        files = [{"out/prod/a/j/jobset-j.yaml": DIFFERENCES[kind](size, new)} for new in (False, True)]
        start = time.process_time()
        difference = compare(*files)
        formats.as_markdown(difference)
        assert difference.jobs
        assert not difference.findings
        return time.process_time() - start

    assert is_linear(seconds, 500)


EXPRESSIONS = {
    "signs in a row": lambda n: "-" * (40 * n) + "1 == 1",
    "negations in a row": lambda n: "!" * (40 * n) + "true",
    "names that are evaluated once": lambda n: " && ".join(["object.?a.optMap(x, x).orValue(1) == 1"] * n),
    "calls with reserved names": lambda n: " + ".join(["[f(for(1))]"] * n),
}


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_an_expression_with_four_times_the_parts(kind: str) -> None:
    def seconds(size: int) -> float:
        environment = admission(variables={})
        start = time.process_time()
        made = compile_expression(EXPRESSIONS[kind](size), environment)
        if isinstance(made, Program):
            made.run({"object": {}})
        return time.process_time() - start

    assert is_linear(seconds, 300)


COLONS = {
    "beginnings of tags": lambda n: f"a: [x:y] # {'!<[' * n}",
    "words with a colon after an odd character": lambda n: "---\n".join([f"[{'a!:b, ' * (n // 30)}]\n"] * 4),
    "words with a colon after a quote": lambda n: "---\n".join(["[" + 'a":b, ' * (n // 30) + "]\n"] * 4),
    "colons in a row": lambda n: "---\n".join([f"[a{':' * (n // 10)}b]\n"] * 20),
}


@pytest.mark.parametrize("kind", COLONS)
def test_texts_with_colons_that_libyaml_refuses(kind: str) -> None:
    def seconds(size: int) -> float:
        source = Source("a.yaml", COLONS[kind](size))
        start = time.process_time()
        load(source)
        return time.process_time() - start

    assert is_linear(seconds, 4000)


CLAIM = "{name: cNUMBER, resourceClaimName: x}"
SPREAD = "{topologyKey: kNUMBER, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}"
PODS = {
    "spread constraints": lambda n: trained(pods=f"topologySpreadConstraints: [{numbered(SPREAD, n)}]"),
    **{
        kind: lambda n, claim=claim: trained(
            filled(CONTAINER, NAME="node", FIELDS=f"resources: {{claims: [{numbered(claim, n)}]}}"),
            f"resourceClaims: [{numbered(CLAIM, n)}]",
        )
        for kind, claim in (("claims", "{name: cNUMBER}"), ("misspelled claims", "{name: cNUMBERx}"))
    },
    "containers with a claim": lambda n: trained(
        filled(CONTAINER, NAME="node", FIELDS="")
        + numbered(", {name: nNUMBER, image: 'a:1', resources: {claims: [{name: cNUMBER}]}}", n, ""),
        f"resourceClaims: [{numbered(CLAIM, n)}]",
    ),
}


@pytest.mark.parametrize("kind", PODS)
def test_a_pod_with_four_times_the_items_takes_about_four_times_the_work(kind: str) -> None:
    warm_up()

    def seconds(size: int) -> float:
        run = measure(Input(command=("build", "--no-cache", "-"), text=PODS[kind](size)))
        assert run.status in (0, 1), run
        return run.seconds

    assert is_linear(seconds, 800)  # the JobSet may have 512 KiB


@pytest.mark.parametrize(
    ("edit", "size"), [(Rewrite, 1000), (lambda path: Fix(Action.RENAME, path, f"b{path[-1]}"), 4000)]
)
def test_the_edits_of_many_fields_of_a_mapping(edit: Callable[[FieldPath], Fix | Rewrite], size: int) -> None:
    """Each edit could look at all keys of the mapping, or at the layout of the whole document."""

    def seconds(size: int) -> float:
        source = Source("j.yaml", one("".join(f"  a{number}: {{b: c}}\n" for number in range(size))))
        edits = [Edit(0, edit(("spec", f"a{number}"))) for number in range(size)]
        start = time.process_time()
        assert len(apply(source, edits)[1]) == size
        return time.process_time() - start

    assert is_linear(seconds, size)


@pytest.mark.parametrize("more", ["", ", env: [{name: API_TOKEN, value: Zm9vYmFyYmF6}]"])
def test_the_edits_of_many_jobs_in_one_file(more: str) -> None:
    """Each line could be searched for the secrets of each job, and for equal lines in the rest of the file."""

    def seconds(size: int) -> float:
        before = JOB + "\n" * len(more)
        edited = before.replace("spec:", f"spec:\n  trainer: {{numNodes: 2{more}}}")
        old, new = ({"j.yaml": Source("j.yaml", several(job, size))} for job in (before, edited))
        start = time.process_time()
        assert diff_text(old, new).count("\n+") == size + 1
        return time.process_time() - start

    assert is_linear(seconds, 500)


def test_the_edits_of_many_lines_before_many_equal_ones() -> None:
    """Where no line near is equal, each pair of equal lines further down could be looked at."""

    def seconds(size: int) -> float:
        blank = "\n" * size
        old, new = (
            {"j.yaml": Source("j.yaml", "".join(f"{key}{i}: a\n" for i in range(size)) + blank)} for key in ("a", "b")
        )
        start = time.process_time()
        assert diff_text(old, new).count("\n+b") == size
        return time.process_time() - start

    assert is_linear(seconds, 1650)


def test_the_hint_for_a_name_of_many_words() -> None:
    """Each word of a name could be compared with each word of each candidate."""
    names = ["ab-" * 80 + f"x{i}" for i in range(400)]
    start = time.process_time()
    suggest("abc-" * 60 + "y", names, by_words=True)
    assert time.process_time() - start < 1
    short = [f"torch-team{i}" for i in range(100)]
    assert suggest("troch-team7", [*short, "flux-team7"], by_words=True) == "did you mean 'torch-team7'?"


def test_open_brackets_of_a_field_to_explain() -> None:
    """The end of each could be searched for in all that follows."""
    start = time.process_time()
    assert split("[" * 100_000) is None
    assert time.process_time() - start < 1


def test_the_refused_changes_of_many_variables() -> None:
    """For each change, its input at the base could be admitted again, and searched for the variable."""

    def seconds(size: int) -> float:
        def files(value: str) -> dict[str, str]:
            runtime = listed("env", f"{{name: ANUMBER, value: {value}NUMBER}}", size).partition("---\n")[0]
            return {"runtimes/many.yaml": runtime, "jobs/a/one.yaml": one(runtime="many")}

        before = files("x")
        (jobset,) = compile([Source(name, text) for name, text in before.items()], Options()).files.values()
        settings = {"trainc.yaml": "environments: {prod: {}}\n"}
        committed = {**before, **settings, "out/prod/a/one/jobset-one.yaml": jobset.decode()}
        command = ("validate", "--base=HEAD", "--no-cache", "--jobs=1")
        run = measure(Input(files("y"), command, committed=committed))
        assert "TC204" in run.codes
        return run.seconds

    warm_up()
    assert is_linear(seconds, 400)


def test_a_comment_of_all_codes_above_many_values() -> None:
    """For each code, the path of each value could be found and kept, and compared with those of the base."""
    every = " ".join(code for code in CODES if immovable(code) is None)

    def revision(name: str) -> Revision:
        nested = "".join(f"{' ' * depth}a:\n" for depth in range(1, 80))
        values = f"data:\n{nested}{' ' * 80}a: [\n# trainc: ignore {every} why\n  {'a,' * 1000}]\n"
        text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n{values}# {name}\n"
        return Revision(name, (Source("jobs/a/a.yaml", text),), {})

    start = time.process_time()
    assert not tuple(safeguards.weakened(revision("before"), revision("now"), None))
    assert time.process_time() - start < 1


def test_a_long_reason_to_ignore_many_findings() -> None:
    """For each finding, the reason could be searched for secrets, and for parts of the lines near it."""
    reason = "password: " + "'bb'," * 5000
    values = f"# trainc: ignore TC005 {reason}\ndata: [{'on,' * 1000}]\n"
    source = Source("jobs/a/a.yaml", f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\n{values}")
    start = time.process_time()
    assert len(compile([source], Options()).silenced) == 1000
    assert time.process_time() - start < 1


def test_a_comment_of_all_codes_with_a_long_reason() -> None:
    """For each code, the reason could be searched for secrets, and each quotation in it for parts of the lines near."""
    every = " ".join(code for code in CODES if immovable(code) is None)
    near = f"# password: {'yb' * 990}\n" * 19
    reason = f"password: {'b' * 1500}" + f"'{'yb' * 20}c{'yb' * 20}'," * 100
    source = Source("jobs/a/a.yaml", f"# trainc: ignore {every} {reason}\n{near}apiVersion: v1\n")
    start = time.process_time()
    found = safeguards.weakened(Revision("before", (), {}), Revision("now", (source,), {}), None)
    assert {finding.code for finding in found} == {"TC522"}
    assert time.process_time() - start < 0.5


def test_the_first_change_of_a_spec_below_many_labels() -> None:
    """For each refused change that no other input explains, all labels above the spec could be searched."""

    def job(labels: int, runtime: str) -> Document:
        label = f"labels: {{{numbered('aNUMBER: b', labels)}}}, name: one"
        return load(Source("jobs/a/one.yaml", one(runtime=runtime).replace("name: one", label)))[0][0]

    old, new = job(8000, "many"), job(1, "more")
    rules = UpdateRules(Base("main", {identify(old.data): old}))
    model: Any = SimpleNamespace(job=new, runtime=new)
    start = time.process_time()
    assert {rules._first_change(model) for _ in range(8000)} == {(new, ("spec", "runtimeRef", "name"))}
    assert time.process_time() - start < 1


def test_a_rule_that_names_the_old_value_often() -> None:
    """From each name, its text could be searched to the end."""
    rule = Rule({"rule": "oldSelf != self || " * 5000 + "self == 'a'"}, lambda: pytest.fail("not needed"))
    start = time.process_time()
    assert rule.runs_on_create
    assert time.process_time() - start < LEAST


def test_files_that_keep_an_application_among_many_namespaces() -> None:
    """The settings of the environment could be read for each file."""
    namespaces = {f"team-{number}": f"ml-{number}" for number in range(2000)}
    folder_of = kept_applications({"environments": {"prod": {"namespaces": namespaces}}})
    start = time.process_time()
    assert len({folder_of(f"out/prod/ml-{number}/j/jobset-j.yaml") for number in range(2000)}) == 2000
    assert time.process_time() - start < 1


def test_a_value_that_begins_like_a_long_secret_at_each_position() -> None:
    """Both secrets could be compared with the value at each position."""

    def seconds(size: int) -> float:
        value = f"--token={'a' * size}x --password=b1c2d3 {'a' * size}"
        start = time.process_time()
        assert masked_object({"args": [value]}) == {"args": [f"--token=*** --password=*** {'a' * size}"]}
        return time.process_time() - start

    assert is_linear(seconds, 20_000)


def test_secrets_that_begin_alike() -> None:
    """RE2 could follow all of them from each position: hours in one call, which no limit of time ends."""
    secrets = [f"{letter * size}." for size in range(3, 700) for letter in "ab"]
    text = " ".join(("a" * 700 + "b" * 700, *(f"pw={secret}" for secret in secrets)))
    start = time.process_time()
    masked = " ".join(("a" * 700 + "b" * 700, *("pw=***" for _ in secrets)))
    assert masked_object({"args": [text]}) == {"args": [masked]}
    assert time.process_time() - start < 3


def test_many_secrets_on_one_line() -> None:
    """The line could be copied for each of them."""

    def seconds(size: int) -> float:
        line = "TOKEN=abcd " * size
        document = Document(Source("x.yaml", line), {"kind": "X"})
        start = time.process_time()
        assert masked_lines([document], [line]) == ["TOKEN=*** " * size]
        return time.process_time() - start

    assert is_linear(seconds, 12_000)


def test_refused_secrets_in_one_long_message() -> None:
    """For each of them, the server's message, which quotes the whole object, could be searched and kept."""

    def seconds(size: int) -> float:
        data: JsonObject = {"env": [{"name": f"A{number}_TOKEN", "value": f"value{number}"} for number in range(size)]}
        document = Document(Source("x.yaml", ""), data)
        told = dumps(data)
        start = time.process_time()
        found = [report("TC204", document, ("env", number, "value"), "", upstream=told) for number in range(size)]
        assert len({finding.upstream for finding in found}) == 1
        return time.process_time() - start

    assert is_linear(seconds, 500)


def test_wrong_items_of_a_list_that_is_a_secret() -> None:
    """For each of them, the whole list could be searched for objects."""

    def seconds(size: int) -> float:
        data: JsonObject = {"password": ["yes"] * size}
        start = time.process_time()
        assert all(is_secret(data, ("password", number)) for number in range(size))
        return time.process_time() - start

    assert is_linear(seconds, 2000)


def test_options_behind_many_programs() -> None:
    """For each option, the end of the command could be looked for from each program before it."""

    def seconds(programs: str) -> float:
        start = time.process_time()
        assert [*secrets({"args": [f"{programs}|{'-ux ' * 41}" * 40]})] == []
        return time.process_time() - start

    assert seconds("curl " * 66) < 5 * seconds("curl|" * 66)


def test_passwords_in_commands_of_commands() -> None:
    """Each command could be searched for all passwords in those within it."""

    def found(depth: int) -> int:
        args: Json = ["mysql -puse"]
        for _ in range(depth):
            args = [{"command": args}]
        return len(secrets({"args": args}))

    assert found(1) == found(20) == 1


def test_findings_on_a_text_with_many_secrets() -> None:
    """For each of them, all secrets could be looked at, and the short ones searched for."""

    def seconds(size: int) -> float:
        text = " ".join(f"pw={chr(0x4E00 + number)}" for number in range(size))
        document = Document(Source("a.yaml", text), {"spec": {"args": [text]}})
        start = time.process_time()
        for number in range(size):
            report("TC061", document, ("spec", "args", 0), f"wrong: {number}")
        return time.process_time() - start

    assert is_linear(seconds, 1000)


def test_functions_of_one_name() -> None:
    """For each of them, all arguments of the call could be looked at."""

    def seconds(size: int) -> float:
        code = "def f():0\n" * size + f"f({'0,' * size})"
        start = time.process_time()
        assert mistakes(Script("", code, "train.py", "python", quoted=True)) == ()
        return time.process_time() - start

    assert is_linear(seconds, 1000)


def test_names_of_a_function_around_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them could be looked at again in each function between."""
    names, made = ",".join(f"a{number}" for number in range(100)), []
    monkeypatch.setattr(
        symtable, "Symbol", lambda *args, symbol=symtable.Symbol, **more: made.append(0) or symbol(*args, **more)
    )
    code = f"def f():\n return lambda {names}: {'lambda: ' * 100}({names})\nf()"
    assert mistakes(Script("", code, "train.py", "python", quoted=True)) == ()
    assert len(made) < 10


def test_the_lines_of_a_document_that_cannot_be_read() -> None:
    """For each line, the whole text could be searched for a Secret."""

    def seconds(size: int) -> float:
        source = Source("x.yaml", "value: x of others\n" * size)
        start = time.process_time()
        assert masked_lines([Document(source, {})], source.decoded().split("\n"))[0] == "value: x of others"
        return time.process_time() - start

    assert is_linear(seconds, 1500)


def test_an_image_that_may_come_from_many_registries() -> None:
    """Each of its names could be compared with each name that lock.required has."""
    registries = {f"r.com/{number}": "s.com/b" for number in range(3000)}
    settings = Settings(registries=registries, lock_required=tuple(f"q.com/{number}" for number in range(3000)))
    start = time.process_time()
    assert not is_required("s.com/b/a:1", settings)
    assert time.process_time() - start < 1


@pytest.mark.parametrize("pattern", ["a/NAME", "!a/NAME-*", "NAME"])
def test_a_pattern_for_each_job(pattern: str) -> None:
    """Each could be compared with each job."""

    def seconds(size: int) -> float:
        names = [f"job-{number}" for number in range(size)]
        settings = Settings(jobs=tuple(pattern.replace("NAME", name) for name in names))
        start = time.process_time()
        assert {settings.takes("a", name) for name in names} == {pattern != "NAME"}
        return time.process_time() - start

    assert is_linear(seconds, 1000)


def test_a_namespace_and_a_service_account_for_each_job() -> None:
    """All of them could be read for each job."""

    def seconds(size: int) -> float:
        names = tuple(f"team-{number}" for number in range(size))
        options = Options(faithful=True)
        options.__dict__["settings"] = Settings(argocd=ArgoCD(namespaces=names), service_accounts=names)
        model: Any = SimpleNamespace(options=options)
        start = time.process_time()
        for name in names:
            assert not not_allowed(Document(Source("x", ""), {}), (), name, options)
            assert not service_accounts.check_objects(model, ())
        return time.process_time() - start

    assert is_linear(seconds, 1000)


def test_the_folders_that_share_the_namespaces_of_many() -> None:
    """As with `render jobs/*` in an environment that renames each namespace."""

    def seconds(size: int) -> float:
        homes = [f"team-{number}" for number in range(size)]
        settings = Settings(namespaces={home: f"prod-{home}" for home in homes})
        start = time.process_time()
        assert all(settings.sharing(home) == {f"prod-{home}"} for home in homes)
        return time.process_time() - start

    assert is_linear(seconds, 2000)


def test_registries_that_map_to_one() -> None:
    """For each of them, all others could be tried on an image that may come from it."""

    def seconds(size: int) -> float:
        registries = numbered("r.com/NUMBER: registry.example.com", size)
        config = f"environments: {{prod: {{registries: {{{registries}}}}}}}\n"
        job = one("  trainer: {image: 'registry.example.com/a:1'}\n")
        run = measure(Input({"trainc.yaml": config, "jobs/a/one.yaml": job}))
        assert run.status == 0
        return run.seconds

    warm_up()
    assert is_linear(seconds, 1000)


def test_the_name_of_an_image_of_many_steps() -> None:
    """All of its beginnings could be kept."""
    image = "e.com/" + "a/" * 20_000 + "b:1"
    tracemalloc.start()
    assert rewritten(image, {"r.com": "a.com"}) == image
    assert not is_required(image, Settings(registries={"r.com": "a.com"}, lock_required=("r.com",)))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 * len(image)


TEXTS_OF_ONE_LINE: dict[str, Callable[[int], str]] = {
    "variables without an end": lambda n: one(f"  trainer: {{env: [{{name: A, value: '{'$(' * n}'}}]}}\n"),
    "paths without an end": lambda n: trained(
        filled(CONTAINER, NAME="node", FIELDS=f"volumeMounts: [{{name: v, mountPath: /v, subPathExpr: '{'$(' * n}'}}]"),
        "volumes: [{name: v, emptyDir: {}}]",
    ),
    "escaped quotes": lambda n: one('  trainer: {args: ["' + '\\"' * n + '"]} # \\/\n'),
    "tokens": lambda n: one(
        f"  trainer: {{args: ['{' '.join(f'ghp_abcDEFgh{number:028}' for number in range(n))}']}}\n"
    ),
    "an iSCSI target": lambda n: trained(
        pods=f"volumes: [{{name: v, iscsi: {{targetPortal: a, iqn: '{'iqn.2020-01.' * n}/', lun: 1}}}}]"
    ),
    "an amount with blanks": lambda n: one(
        f"  trainer: {{resourcesPerNode: {{requests: {{cpu: '1 e{' ' * n}!'}}}}}}\n"
    ),
    "a quantity with a fraction as exponent": lambda n: one(
        f"  trainer: {{resourcesPerNode: {{requests: {{cpu: '{'9' * n}e1.5'}}}}}}\n"
    ),
}


@pytest.mark.parametrize("kind", TEXTS_OF_ONE_LINE)
def test_a_text_in_which_each_part_could_be_searched_to_the_end(kind: str) -> None:
    def seconds(size: int) -> float:
        run = measure(Input(text=TEXTS_OF_ONE_LINE[kind](size), command=("build", "--no-cache", "-")))
        assert run.status in (0, 1)
        return run.seconds

    warm_up()
    assert is_linear(seconds, 8000)


EDITS: dict[str, tuple[int, tuple[str, ...], Callable[[int], str]]] = {
    "a code of many codes in a comment": (
        400,
        ("fix", "--diff"),
        lambda n: f"# trainc: ignore {'TC1' * n} TC412 why\n{one()}",
    ),
    "an open quote before blanks": (
        20_000,
        ("fix", "--diff"),
        lambda n: one(f"  unknown: [] # value: '{' ' * n}x\n  trainer: {{numNods: 1}}\n"),
    ),
    "values of values": (
        20_000,
        ("fix", "--diff"),
        lambda n: one(f"  unknown: [] # {'value:' * n}\n  trainer: {{numNods: 1}}\n"),
    ),
    "blanks before empty annotations": (
        10_000,
        ("rerun", "--diff", "one"),
        lambda n: one().replace("name: one", f"name: one, annotations:{' ' * n}&a {{}}"),
    ),
}


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_of_a_long_line(kind: str) -> None:
    size, command, text = EDITS[kind]

    def seconds(size: int) -> float:
        run = measure(Input({"trainc.yaml": "environments: {prod: {}}\n", "jobs/a/one.yaml": text(size)}, command))
        assert run.status in (0, 1, 2, 3), run  # 2: the annotations cannot be edited
        return run.seconds

    warm_up()
    assert is_linear(seconds, size)


def test_the_fields_of_many_items_to_explain() -> None:
    """Each field of the object could be compared with each one that is asked for."""

    def seconds(size: int) -> float:
        runtime = listed("env", "{name: ANUMBER, value: b}", size).partition("---\n")[0]
        files = {"trainc.yaml": "environments: {prod: {}}\n", "runtimes/many.yaml": runtime}
        pod = "spec.replicatedJobs[*].template.spec.template.spec"
        command = ("explain", "a/one", f"{pod}.containers[*].env[*].name")
        run = measure(Input({**files, "jobs/a/one.yaml": one(runtime="many")}, command))
        assert run.status == 0
        return run.seconds

    warm_up()
    assert is_linear(seconds, 2000)


def test_the_values_of_a_list_item_without_a_key_to_explain() -> None:
    """The whole item could be compared for each of them."""

    def seconds(size: int) -> float:
        expression = {"key": "zone", "operator": "In", "values": [f"zone-{number}" for number in range(size)]}
        terms = [{"weight": 1, "preference": {"matchExpressions": [expression]}}]
        affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
        template = {"spec": {"template": {"spec": {"affinity": affinity}}}}
        patch = {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}
        config = {"environments": {"prod": {"patches": [{"target": {"kind": "JobSet"}, "patch": patch}]}}}
        run = measure(Input({"trainc.yaml": dumps(config), "jobs/a/one.yaml": one()}, ("explain", "a/one")))
        assert run.status == 0
        return run.seconds

    warm_up()
    assert is_linear(seconds, 4000)


def test_the_renamed_namespaces_of_an_affinity_to_explain() -> None:
    """Each of them could be looked up among all new names."""

    def seconds(size: int) -> float:
        names = [f"team-{number}" for number in range(size)]
        term = {"topologyKey": "zone", "namespaces": names}
        affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        runtime = trained(pods=f"affinity: {dumps(affinity)}").partition("---\n")[0]
        config = {"environments": {"prod": {"namespaces": {name: f"{name}-test" for name in names}}}}
        files = {"trainc.yaml": dumps(config), "runtimes/many.yaml": runtime, "jobs/a/one.yaml": one(runtime="many")}
        run = measure(Input(files, ("explain", "a/one")))
        assert run.status == 0
        return run.seconds

    warm_up()
    assert is_linear(seconds, 1000)


def test_the_pods_of_many_replicated_jobs() -> None:
    """The labels of each one count the others."""

    def seconds(size: int) -> float:
        pod = {"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}
        jobs = [{"name": f"n{number}", "template": {"spec": pod}} for number in range(size)]
        start = time.process_time()
        made = list(created_objects({"metadata": {"name": "j", "namespace": "a"}, "spec": {"replicatedJobs": jobs}}))
        assert len(made) == 2 * size
        return time.process_time() - start

    assert is_linear(seconds, 1000)


def test_the_environments_of_a_base_revision() -> None:
    """The settings and files of each of them could be read again for each other one."""

    def seconds(size: int) -> float:
        patch: Json = {"target": {"kind": "JobSet"}, "patch": {"metadata": {"labels": {"a": "b"}}}}
        shared: Json = {"argocd": {"onDelete": "keep"}, "patches": [patch] * 100}
        before, after = (
            {
                "defaults": shared,
                "environments": {f"{start}-{at}": {"destination": {"name": f"c{at}"}} for at in range(size)},
            }
            for start in ("old", "new")
        )
        names = (f"out/old-{at}/team/job-{job}/jobset-job.yaml" for at in range(size) for job in range(50))
        base = Revision("main", (), as_object(before), output=tuple(Packed(name, b"") for name in names))
        options = [Options(environment=f"new-{at}", config=as_object(after), base=base) for at in range(size)]
        start = time.process_time()
        for each in options:
            of_base = Base.of(base, in_cluster(each))
            assert len(of_base.of_kind("Secret")) == 2
        return time.process_time() - start

    assert is_linear(seconds, 60)


def test_patches_of_a_long_list_in_another_order() -> None:
    """Each item could be compared with each other one."""

    def seconds(size: int) -> float:
        numbers = range(size)
        env: list[Json] = [{"name": f"E{number}", "value": "a"} for number in numbers]
        changed: list[Json] = [{"name": f"E{number}", "value": "b"} for number in numbers[::-1]]
        deleted: list[Json] = [{"name": f"E{number}", "$patch": "delete"} for number in numbers]
        order: JsonObject = {"$setElementOrder/env": [{"name": f"E{number}"} for number in numbers[::-1]]}
        start = time.process_time()
        for patch, directive in product((changed, deleted), ({}, order)):
            merge({"env": env}, {"env": patch, **directive}, "v1.Container")
        return time.process_time() - start

    assert is_linear(seconds, 1000)


def test_rules_and_labels_of_a_policy_in_another_order() -> None:
    """Each rule, and each label of a selector, could be compared with each one of the base."""

    def seconds(size: int) -> float:
        revisions = []
        for numbers in (range(size), range(size)[::-1]):
            rules = [
                {"apiGroups": [f"g{n}.io"], "apiVersions": ["v1"], "operations": ["*"], "resources": ["r"]}
                for n in numbers
            ]
            labels = {"matchLabels": {f"l{n}": "x" for n in numbers}}
            spec = {"matchConstraints": {"resourceRules": rules, "objectSelector": labels}}
            head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
            text = dumps({**head, "metadata": {"name": "p"}, "spec": {**spec, "validations": [{"expression": "true"}]}})
            revisions.append(Revision("main", (Source("policies/p.json", text.encode()),), {}))
        start = time.process_time()
        assert safeguards.weakened(*revisions, None) == ()
        return time.process_time() - start

    assert is_linear(seconds, 500)


def test_containers_with_fields_that_a_server_drops() -> None:
    """For each of them, all containers could be copied."""

    def seconds(size: int) -> float:
        containers = [{"name": f"c{n}", "image": "a:1", "restartPolicy": "Always"} for n in range(size)]
        start = time.process_time()
        assert "restartPolicy" not in default_template({"containers": [*containers]})["containers"][-1]
        return time.process_time() - start

    assert is_linear(seconds, 2000)


def test_policy_tests_of_objects_that_are_refused() -> None:
    """Each finding could search for its position in the whole file."""
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {unknown: 1, containers: [{name: a, image: b}]}}"

    def seconds(size: int) -> float:
        text = "tests:\n" + numbered(f"- {{name: tNUMBER, object: {pod}, expect: {{p: pass}}}}", size, "\n")
        cases, _ = read_tests(Source("policies/tests/t.yaml", text))
        start = time.process_time()
        for case in cases:
            _, (finding,) = stored_case(case, BUILT_IN)
            assert finding.document.locate(finding.path).column > 1
        return time.process_time() - start

    assert is_linear(seconds, 300)


def test_the_descriptions_of_runtimes_in_one_file() -> None:
    """Each runtime could split the whole file to find the comment above it."""

    def seconds(size: int) -> float:
        documents, _ = load(Source("runtimes/all.yaml", several(f"# A runtime.\n{JOB}", size)))
        start = time.process_time()
        assert {Runtime(document).description for document in documents} == {"A runtime"}
        return time.process_time() - start

    assert is_linear(seconds, 1000)


TASK = "{name: tNUMBER, replicas: 1, template: {spec: {containers: [{name: a, image: b}]}}}"
POLICY_OF_JOB = "{event: eNUMBER, action: RestartJob}"
JOB_OF_VOLCANO = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: x}\n"
STATUS = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: x}
spec: {pytorchReplicaSpecs: {Master: {template: {spec: {containers: [{name: pytorch, image: b, env: [ENV]}]}}}}}
status:
"""


def unequal_policies(count: int) -> Callable[[], object]:
    """Each task of a job could look for its policies among all findings."""
    spec = f"spec: {{tasks: [{numbered(TASK, 50)}], policies: [{numbered(POLICY_OF_JOB, count)}]}}\n"
    (document,), _ = load(Source("old.yaml", JOB_OF_VOLCANO + spec))
    old = Old(document)
    return lambda: volcano.convert(old)


def lost_comments(count: int) -> Callable[[], object]:
    """Each comment of a value that is not imported could be compared with all values that are."""
    text = STATUS.replace("ENV", numbered("{name: aNUMBER}", count)) + numbered("  # c\n  kNUMBER: 1\n", count, "")
    (document,), _ = load(Source("old.yaml", text))
    old = Old(document)
    job = pytorch.convert(old).job
    assert job is not None
    return lambda: old.comments([job])


def own_runtimes(count: int) -> Callable[[], object]:
    """Each new runtime could be compared with all others."""
    known = Runtimes(())
    runtimes = [
        new_runtime(f"r{number}", "mpi", None, mapping(name="node", replicas=number)) for number in range(count)
    ]
    job = mapping(metadata=mapping(name="j"))
    return lambda: [known.reference(runtime, job) for runtime in runtimes]


def dependent_tasks(count: int) -> Callable[[], object]:
    """Each text could be compared with all tasks, and each task be looked for among those that are ordered."""
    tasks = (
        f"{TASK[:-1]}, dependsOn: {{name: [t{number + 1}]}}}}".replace("NUMBER", str(number)) for number in range(count)
    )
    (document,), _ = load(Source("old.yaml", f"{JOB_OF_VOLCANO}spec: {{tasks: [{', '.join(tasks)}]}}\n"))
    old = Old(document)
    return lambda: volcano.convert(old)


def selected_labels(count: int) -> Callable[[], object]:
    """Each label of a selector could be looked for among those of the pods."""
    metadata = f"{{labels: {{{numbered('aNUMBER: b', count)}}}}}"
    term = f"{{topologyKey: zone, labelSelector: {{matchLabels: {{{numbered('cNUMBER: d', count)}}}}}}}"
    affinity = f"{{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
    template = f"template: {{metadata: {metadata}, spec: {{affinity: {affinity}, "
    text = STATUS.removesuffix("status:\n").replace("ENV", "").replace("template: {spec: {", template)
    (document,), _ = load(Source("old.yaml", text))
    old = Old(document)
    return lambda: pytorch.convert(old)


def hosts_of_a_long_name(count: int) -> Callable[[], object]:
    """The name of the job could be compared with a text at each position."""
    container = f"{{name: pytorch, image: b, command: [torchrun, '{'.' * 2 * count}']}}"
    text = STATUS.partition("status:")[0].replace("{name: pytorch, image: b, env: [ENV]}", container)
    (document,), _ = load(Source("old.yaml", text.replace("{name: x}", f"{{name: '{'.' * count}b'}}")))
    old = Old(document)
    return lambda: pytorch.convert(old)


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        *((own_runtimes, 1000), (lost_comments, 750), (unequal_policies, 300), (dependent_tasks, 100)),
        *((selected_labels, 1000), (hosts_of_a_long_name, 10_000)),
    ],
)
def test_the_import_of_four_times_the_input_takes_about_four_times_the_work(
    kind: Callable[[int], Callable[[], object]], size: int
) -> None:
    def seconds(size: int) -> float:
        work = kind(size)
        start = time.process_time()
        work()
        return time.process_time() - start

    assert is_linear(seconds, size)


TEXTS: dict[str, tuple[int, Callable[[int], str]]] = {
    "secrets that << merges": (
        2000,
        lambda n: one("  bogus: {<<: {" + numbered("keyNUMBER_token: abcdefgh" + " " * 500, n) + "}}\n"),
    ),
    "quotes and colons before comments": (
        15,
        lambda n: one("  trainer: {args: [x" + "':b" * n + "]}\n" + "# a comment\n" * n * 5000),
    ),
    "brackets below a comment": (4000, lambda n: "# trainc: ignore TC409 why\na: " + "[" * n),
    "brackets beside a wrong name": (4000, lambda n: JOB.replace("NAME", "12") + "\n---\na: " + "[" * n),
    "brackets behind a list as a key": (4000, lambda n: "? [a]\n: b\na: " + "[" * n),
    "a text below keys that JSON does not have": (
        24,
        lambda n: one("  bogus: " + "{~: " * n + "x" * n * 4000 + "}" * n + "\n"),
    ),
    "tags of a long directive": (2000, lambda n: f"%TAG ! {'x' * n}\r---\r" + one("  bogus: [" + "!a ," * n + "]\n")),
    "directives": (10_000, lambda n: numbered("%TAG !aNUMBER! tag:x\n", n, "") + one()),
}
"""Texts of which a reader, or what looks at the text again, could read parts several times."""


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_that_could_be_read_several_times(kind: str) -> None:
    size, text = TEXTS[kind]
    numbers = count_up()

    def seconds(count: int) -> float:
        source = Source(f"jobs/team/job{next(numbers)}.yaml", text(count))  # not one that is known
        begin = time.process_time()
        FORMATS["text"](compile([source], Options()).findings[:64], False)
        return time.process_time() - begin

    assert is_linear(seconds, size)


def test_comments_in_one_line_of_git() -> None:
    """Each could copy what is before it in the line."""

    def seconds(count: int) -> float:
        source = Source("jobs/team/job.yaml", one("  # trainc: ignore TC409 why\u2028" * count + "\n"))
        found = comments(source, "trainc:")
        begin = time.process_time()
        read_comments(source, lambda *_: found)
        return time.process_time() - begin

    assert is_linear(seconds, 8000)
