"""Documents that are unusual in form: what `trainc import` keeps of them, and what it refuses."""

from __future__ import annotations

import json
import time
import warnings

import pytest

from trainc import Source
from trainc.basics.jsonvalues import get
from trainc.documents import edit as editing
from trainc.documents import problems
from trainc.documents.load import load
from trainc.findings import Severity
from trainc.migrate import import_documents
from trainc.migrate.trees import Comment, mapping, read_tree, sequence, write_tree

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: {name}}}
spec:
  pytorchReplicaSpecs:
    Master:
      template: &pod
        spec:
          containers:
          - {{name: pytorch, image: "registry.example.com/a:1", command: [torchrun, --nproc-per-node=1{more}]}}
"""
SCALARS = (
    *("yes", "off", "y", "0o14", "0777", "010", "1e3", "1.50", "+5", "1_000", "~", "2024-01-01", "12:30", "0x1F", "5."),
    *("'single'", '"dq\\n"', "'it''s'", '"\\u00e9"', "é", "!!str 5", "123456789012345678901234567890", '""', "TRUE"),
    *("|\n  line\n   more\n", "|-\n  x\n", "|+\n  x\n\n", ">\n  folded\n  text\n\n  para\n", "multi\n  line plain"),
    *('"x\\u2028y"', '"x\\u0085y\\fz"'),
    *("{a: b, 'c': \"d\"}", "[a, b,c]", '"a\\\n   b"'),
)


def files(text: str, namespace: str = "default") -> dict[str, str]:
    return {file.path: file.text for file in import_documents([Source("old.yaml", text)], (), namespace).files}


@pytest.mark.parametrize("scalar", SCALARS)
def test_a_value_means_the_same_when_it_is_written_again(scalar: str) -> None:
    text = f"apiVersion: v1\nkind: X\nmetadata: {{name: a}}\nk: {scalar}\nz: 1\n"
    (before,), _ = load(Source("", text))
    (after,), _ = load(Source("", write_tree(read_tree(text))))
    assert after.data == before.data


def test_a_hexadecimal_number_of_thousands_of_digits_is_a_text() -> None:
    number = f"0x{'f' * 4000}"
    found = files(JOB.format(name="a", more=f", resources: {{requests: {{cpu: {number}}}}}"))
    assert any(f"'{number}'" in text for text in found.values())


def test_a_value_is_written_as_it_was() -> None:
    text = "a: 'single'\nb: \"double\"\nc: [1, 0o14]\nd: |\n  # no comment\n  text\ne: 1.50\n"
    assert write_tree(read_tree(text)) == text


def test_a_stream_may_use_an_anchor_again() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = files("---\n".join(JOB.format(name=name, more="") for name in ("a", "b")))
    assert list(found) == ["jobs/default/a.yaml", "jobs/default/b.yaml"]


def test_a_document_that_only_kubectl_can_read() -> None:
    text = JOB.format(name="a", more="").replace("kind: PyTorchJob", "kind: PyTorchJob\t# a tab")
    (job,) = files(text).values()
    assert "# a tab\n" in job
    assert 'command:\n    - "torchrun"\n' in job


def test_merge_keys_are_written_out() -> None:
    text = JOB.format(name="a", more="") + "    Worker:\n      template:\n        <<: *pod\n"
    (job,) = files(text).values()
    assert "numNodes: 2" in job
    assert "<<" not in job


@pytest.mark.parametrize("name", ["../../etc/passwd", ".hidden", "a/b", "a b"])
def test_a_name_never_leads_out_of_the_project(name: str) -> None:
    result = import_documents([Source("old.yaml", JOB.format(name=f'"{name}"', more=""))])
    assert result.files == ()
    assert [(one.code, one.severity) for one in result.findings] == [("TC030", "error")]


def test_the_namespace_of_jobs_without_one() -> None:
    assert list(files(JOB.format(name="a", more=""), "team")) == ["jobs/team/a.yaml"]


def test_comments_of_items_of_a_list_stay_with_their_item() -> None:
    items = "".join(
        f"# About {name}.\n- " + JOB.format(name=name, more="").replace("\n", "\n  ").rstrip(" ") for name in "ab"
    )
    found = files(f"apiVersion: v1\nkind: List\nitems:\n{items}")
    assert {path: text.splitlines()[0] for path, text in found.items()} == {
        "jobs/default/a.yaml": "# About a.",
        "jobs/default/b.yaml": "# About b.",
    }


def test_comments_above_and_beside_the_first_line_of_an_item() -> None:
    text = JOB.format(name="a", more="").replace(
        "          - {name", "          # Above.\n          - # Inside.\n            {name"
    )
    text = text.replace("[torchrun, --nproc-per-node=1]}", "[torchrun, --nproc-per-node=1]}  # Beside.")
    (job,) = files(text).values()
    lines = job.splitlines()
    for comment in ("# Above.", "# Inside.", "# Beside."):
        assert sum(comment in line for line in lines) == 1
    (again, *_), findings = load(Source("new.yaml", job))
    assert findings == ()
    assert again.data["spec"]["trainer"]["command"] == ["torchrun", "--nproc-per-node=1"]  # type: ignore[index, call-overload]


def test_lines_may_end_as_on_windows() -> None:
    text = "# A comment.\n" + JOB.format(name="a", more="")
    assert files(text.replace("\n", "\r\n")) == files(text)


VOLCANO = """\
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: relay}
spec:
  tasks:
  - name: worker
    replicas: 2
    template: {spec: {restartPolicy: Never, containers: [{name: a, image: "r/a:1", command: [run, relay-worker-0]}]}}
"""


def messages(text: str) -> list[str]:
    return [finding.message for finding in import_documents([Source("old.yaml", text)]).findings]


def test_a_host_of_the_old_job_is_reported_once() -> None:
    message = "host relay-worker-0 does not exist: the pods of a JobSet have other names"
    assert messages(VOLCANO).count(message) == 1


@pytest.mark.parametrize("value", ["1", "t", "TRUE", "0", "false"])
def test_options_of_plugins_are_those_of_go(value: str) -> None:
    plugins = f"  plugins: {{svc: ['--inject-hosts-env={value}', --disable-network-policy={value}]}}\n"
    text = VOLCANO.replace("relay-worker-0", "a").replace("  tasks:", f"{plugins}  tasks:")
    is_true = value not in ("0", "false")
    assert ("VC_WORKER_HOSTS" in "".join(files(text).values())) == is_true
    assert any("NetworkPolicy" in one for one in messages(text)) != is_true


@pytest.mark.parametrize(("kind", "count"), [("labels", 1), ("annotations", 0)])
def test_labels_that_volcano_does_not_copy_to_pods_are_reported(kind: str, count: int) -> None:
    metadata = f"{{name: relay, {kind}: {{volcano.sh/preemptable: 'true', volcano.sh/revocable-zone: rz1}}}}"
    found = messages(VOLCANO.replace("metadata: {name: relay}", f"metadata: {metadata}"))
    assert sum("volcano.sh/revocable-zone has no effect" in one for one in found) == count
    assert not any("preemptable" in one for one in found)


def test_labels_of_a_volcano_job_replace_those_of_a_template() -> None:
    old = VOLCANO.replace("name: relay}", 'name: relay, labels: {volcano.sh/preemptable: "true"}}')
    template = 'template: {metadata: {labels: {volcano.sh/preemptable: "false"}}, '
    assert "false" not in "".join(files(old.replace("template: {", template)).values())


def test_a_switch_does_not_take_the_next_argument() -> None:
    plugins = "  plugins: {svc: [--inject-hosts-env, 'false', --disable-network-policy]}\n"
    text = VOLCANO.replace("relay-worker-0", "a").replace("  tasks:", f"{plugins}  tasks:")
    assert "VC_WORKER_HOSTS" in "".join(files(text).values())
    assert any("NetworkPolicy" in one for one in messages(text))  # Go stops at 'false'


@pytest.mark.parametrize("port", ["--port=abc", "--port", "--port=", "--port=0x10", "--port=022"])
@pytest.mark.parametrize("plugin", ["pytorch", "mpi"])
def test_a_port_of_a_plugin_is_a_number(plugin: str, port: str) -> None:
    text = VOLCANO.replace("relay-worker-0", "a").replace("  tasks:", f"  plugins: {{{plugin}: ['{port}']}}\n  tasks:")
    assert "port must be the number of a port" in messages(text)


@pytest.mark.parametrize("plugin", ["ssh", "mpi"])
def test_keys_beside_the_plugin_pytorch_are_not_dropped(plugin: str) -> None:
    plugins = f"  plugins: {{pytorch: [], {plugin}: []}}\n"
    text = VOLCANO.replace("relay-worker-0", "a").replace("  tasks:", f"{plugins}  tasks:")
    assert "Trainer makes ssh keys for a launcher and its workers only" in messages(text)


@pytest.mark.parametrize(
    ("command", "has_others"),
    [
        ("[bash, -lc, exec torchrun t.py]", False),
        (r'[sh, -ec, "cd /w && pip install a\nA=b torchrun \\\n t.py 2>&1 | tee log"]', False),
        ("[python3, -m, torch.distributed.run, t.py]", False),
        ("[sh, -c, bash prepare.sh && torchrun t.py]", True),
        ("[sh, -c, torchrun --version; accelerate launch t.py]", True),
        ("[sh, -c, 'echo `./prepare`; torchrun t.py']", True),
        ("[bash, run.sh, -c, torchrun]", True),
        (r'[sh, -c, "cat << E > t.py\nimport a\nE\ntorchrun t.py"]', False),
        (r'[sh, -c, "cat << E > conf\nrank: $(./rank)\nE\ntorchrun t.py"]', True),
        (r'[bash, -c, "torchrun t.py <<< yes\n./report"]', True),
        (r'[bash, -c, "torchrun t.py # not <<E\n./report"]', True),
        ("[sh, -c, './run \"$@\"', --, torchrun, t.py]", True),
        ("[torchrun, t.py], lifecycle: {preStop: {exec: {command: [save.sh]}}}", True),
        ("[torchrun, t.py], livenessProbe: {httpGet: {port: 80}}", False),
    ],
)
def test_programs_beside_torchrun_get_the_variables_of_the_operator(command: str, *, has_others: bool) -> None:
    found = files(JOB.format(name="a", more="").replace("[torchrun, --nproc-per-node=1]", command))
    assert ("runtimes/torch-env.yaml" in found) == has_others


@pytest.mark.parametrize("count", ['"3"', "-1", "1.5", "true", "100001", "1000000000000"])
def test_a_number_of_pods_that_is_none_is_an_error(count: str) -> None:
    text = JOB.format(name="a", more="").replace("Master:", f"Master:\n      replicas: {count}")
    assert messages(text) == ["replicas must be a whole number from 0 to 100000"]


def test_a_number_of_pods_that_envsubst_fills_in() -> None:
    text = JOB.format(name="a", more="").replace("Master:", "Master:\n      replicas: $NODES")
    (found,) = import_documents([Source("a.yaml", text)]).findings
    assert found.message == "replicas must be a whole number from 0 to 100000"
    assert found.hint == "fill in variables first, such as with envsubst"


LISTED = (
    ("kubeflow.org/v1", "XGBoostJob", "xgbReplicaSpecs: {Master: {TEMPLATE}, Worker: {replicas: 100000, TEMPLATE}}"),
    (
        "kubeflow.org/v1",
        "TFJob",
        "tfReplicaSpecs: {PS: {replicas: 9, TEMPLATE}, Worker: {replicas: 30000, TEMPLATE}}",
    ),
    (
        "batch.volcano.sh/v1alpha1",
        "Job",
        f"plugins: {{svc: []}}, tasks: [{', '.join(f'{{name: t{n}, replicas: 30000, TEMPLATE}}' for n in range(9))}]",
    ),
)


@pytest.mark.parametrize(("version", "kind", "spec"), LISTED)
def test_more_hosts_than_a_jobset_can_hold_are_an_error(version: str, kind: str, spec: str) -> None:
    spec = spec.replace("TEMPLATE", "template: {spec: {containers: [{name: KIND, image: 'a:1'}]}}")
    spec = spec.replace("KIND", {"XGBoostJob": "xgboost", "TFJob": "tensorflow"}.get(kind, "a"))
    text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{{spec}}}\n"
    imported = import_documents([Source("old.yaml", text)])
    errors = [finding.message for finding in imported.findings if finding.severity is Severity.ERROR]
    assert [" ".join(message.split()[:6]) for message in errors] == ["the variables of the operator list"]
    assert sum(len(file.text) for file in imported.files) < 20_000


def test_a_job_above_a_limit_has_no_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "MAX_OBJECT", 200_000)
    tree = mapping(apiVersion="v1", kind="A", metadata=mapping(name="a"), spec=mapping(a="x" * 210_000))
    text = write_tree(tree, {(id(tree["spec"]), "a"): Comment(["# why"])})
    assert len(text) > 210_000
    assert "# why" not in text


def test_a_container_without_an_image_gets_none() -> None:
    found = files(JOB.format(name="a", more="").replace('image: "registry.example.com/a:1", ', ""))
    assert "image" not in "".join(found.values())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("image:", "ports: [8080], image:", "ports[0] must be a mapping"),
        ("image:", "ports: [{containerPort: 80}, null], image:", "ports[1] must be a mapping"),
        ("image:", "env: a, image:", "env must be a list"),
        ("containers: [", "containers: [{name: b, ports: [80, 81]}, ", "ports[0] must be a mapping"),
        ("containers: [", "initContainers: [{name: b, ports: [80, 81]}], containers: [", "ports[0] must be a mapping"),
        ("containers: [", "initContainers: true, containers: [", "initContainers must be a list"),
        ("containers: [", "initContainers: [null], containers: [", "initContainers[0] must be a mapping"),
        ("spec: {restart", "metadata: {labels: 1}, spec: {restart", "labels must be a mapping"),
    ],
)
def test_lists_and_mappings_of_a_template_have_their_type(old: str, new: str, message: str) -> None:
    template = VOLCANO.partition("template: ")[2].replace(old, new)
    pytorch = JOB.format(name="a", more="").partition("&pod")[0] + template
    assert message in messages(VOLCANO.partition("template: ")[0] + "template: " + template)
    assert message in messages(pytorch)


def test_a_byte_order_mark_is_kept_where_a_file_is_edited_only() -> None:
    mark = "\ufeff# first\n"
    assert files(mark + JOB.format(name="a", more=""))["jobs/default/a.yaml"].startswith("# first\napiVersion:")
    text = (
        mark
        + "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n  labels: {a: b}\n"
    )
    copied, edited = (import_documents([Source("a.yaml", text)], own=own).files[0].text for own in ((), ("a.yaml",)))
    assert (copied, edited[0]) == (edited[1:], "\ufeff")


def test_the_comments_after_the_last_item_of_a_list_are_kept() -> None:
    item = "".join(f"  {line}\n" for line in JOB.format(name="a", more="").splitlines())
    text = f"apiVersion: v1\nkind: List\nitems:\n-{item[1:]}  # the end\n"
    assert files(text)["jobs/default/a.yaml"].endswith("# the end\n")


def test_the_comments_of_an_edited_item_of_a_list_are_kept() -> None:
    item = "apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n# two\n  metadata: {name: a}\n"
    item += "  spec:\n    labels: {a: b}\n"
    text = f"apiVersion: v1\nkind: List\nitems:\n# one\n- {item}"
    found = files(text)["jobs/default/a.yaml"]
    assert found.startswith("# one\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n# two\nmetadata:")


def test_a_job_whose_layout_cannot_be_edited_does_not_keep_others_from_it() -> None:
    job = "apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n  metadata: {name: NAME}\n  spec:\n"
    good = job + "    labels: {a: b}\n"
    anchored = job + "    podTemplateOverrides: &a [{targetJobs: [{name: node}], spec: {serviceAccountName: a}}]\n"
    uses = "apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: NAME}\n  other: *a\n"
    parts = [each.replace("NAME", f"n-{n}") for n, each in enumerate((good, anchored, good, uses, good))]
    text = "apiVersion: v1\nkind: List\nitems:\n" + "".join(f"- {part}" for part in parts)
    result = import_documents([Source("a.yaml", text)], own=("a.yaml",))
    items = [document.data for document in load(Source("a.yaml", result.files[0].text))[0]]
    assert ["labels" in dict(item.get("spec", {})) for item in items] == [False] * 5
    assert ["runtimePatches" in dict(item.get("spec", {})) for item in items] == [True, False, True, False, True]
    assert [(each.code, each.line) for each in result.findings if "layout" in each.message] == [("TC030", 9)]


def test_the_last_line_of_a_text_is_no_comment_above_a_field() -> None:
    version = "apiVersion: trainer.kubeflow.org/v1alpha1\n"
    trainer = "  trainer:\n    args:\n    - |\n      echo\n      # in the text\n"
    job = f"{version}kind: TrainJob\nmetadata: {{name: NAME}}\nspec:\n{trainer}"
    result = import_documents([Source("a.yaml", f"{job}  # above\n  labels: {{a: b}}\n")], own=("a.yaml",))
    assert result.files[0].text.startswith(f"{job}  # above\n  runtimePatches:\n")
    other, item = (each.replace("\n", "\n  ")[:-2] for each in (job, f"{job.replace('NAME', 'a')}  labels: {{a: b}}\n"))
    copied = files(f"apiVersion: v1\nkind: List\nitems:\n- {other}# above\n- {item}")["jobs/default/a.yaml"]
    assert copied.startswith(f"# above\n{version}")
    copied = files(f"apiVersion: v1\nkind: List\nitems:\n- {other}- {item}")["jobs/default/a.yaml"]
    assert copied.startswith(version)


@pytest.mark.parametrize("more", ["", "  suspend: false\n", "# end\n"])
def test_a_text_that_keeps_its_blank_lines_is_edited(more: str) -> None:
    version = "apiVersion: trainer.kubeflow.org/v1alpha1\n"
    runtime = (
        f"{version}kind: TrainingRuntime\nmetadata: {{name: r}}\nspec: {{mlPolicy: {{torch: {{numProcPerNode: 4}}}}}}\n"
    )
    job = f"{version}kind: TrainJob\nmetadata: {{name: a}}\nspec:\n  runtimeRef: {{name: r, kind: TrainingRuntime}}\n"
    trainer = "  trainer:\n    args:\n    - |+ # kept\n      a\n\n"
    data = "  datasetConfig:\n    storageUri: |+\n      hf://a/b\n\n"
    text = files(f"{runtime}---\n{job}{data}{trainer}{more}")["jobs/default/a.yaml"]
    moved = "  initializer:\n    dataset:\n      storageUri: |+\n        hf://a/b\n\n"
    assert text == f"{job}{moved}{trainer}    numProcPerNode: 4\n{more}"


def test_the_comments_of_replaced_fields_in_braces_are_kept() -> None:
    data = "datasetConfig: # 1\n  { storageUri: hf://a/b }, # after"
    model = "modelConfig: { # 2\n  # 3\n  input: {\n    storageUri: hf://c/d # moves\n  } # 4\n  }"
    version = "apiVersion: trainer.kubeflow.org/v1alpha1\n"
    job = f"{version}kind: TrainJob\nmetadata: {{name: a}}\nspec: {{{data}\n  {model}}}\n"
    text = import_documents([Source("a.yaml", job)], own=("a.yaml",)).files[0].text
    assert [text.count(f"# {each}\n") for each in ("1", "after", "2", "3", "moves", "4")] == [1] * 6


def test_the_comment_beside_the_indicator_of_a_replaced_text_is_kept() -> None:
    spec = "spec:\n  runtimeRef: {name: torch-distributed}\n  trainer:\n    numProcPerNode: %s\n      auto\n"
    head = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\n"
    result = import_documents([Source("a.yaml", head + spec % ">- # one for each GPU")], own=("a.yaml",))
    assert "# one for each GPU\n" in result.files[0].text
    assert "auto" not in result.files[0].text


@pytest.mark.parametrize("after", ["", "  suspend: false\n"])
def test_a_trainer_that_is_an_alias_cannot_be_edited(after: str) -> None:
    version = "apiVersion: trainer.kubeflow.org/v1alpha1\n"
    runtime = "kind: TrainingRuntime\nmetadata: {name: r}\nspec: {mlPolicy: {torch: {numProcPerNode: 4}}}\n"
    reference = "  runtimeRef: {name: r, kind: TrainingRuntime}\n"
    job = f"kind: TrainJob\nmetadata: {{name: a}}\nshared: &t {{image: a}}\nspec:\n{reference}  trainer: *t\n{after}"
    result = import_documents([Source("a.yaml", f"{version}{runtime}---\n{version}{job}")])
    assert [file.path for file in result.files] == ["runtimes/r.yaml"]
    assert [(each.code, each.line) for each in result.findings if "layout" in each.message] == [("TC030", 6)]


@pytest.mark.parametrize("again", [1, 2])
def test_an_edit_that_changes_another_item_of_a_list_is_not_made(again: int) -> None:
    job = "apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n  metadata: {name: NAME}\n  spec:\n"
    earlier = job + "    runtimeRef: {name: torch-distributed}\n    trainer: {image: &v a, numProcPerNode: &v auto}\n"
    uses = "apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: NAME}\n  data: {mode: *v}\n"
    parts = [each.replace("NAME", f"n-{n}") for n, each in enumerate((*[earlier] * again, uses))]
    text = "apiVersion: v1\nkind: List\nitems:\n" + "".join(f"- {part}" for part in parts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = import_documents([Source("a.yaml", text)], own=("a.yaml",))
    data = [load(Source("a.yaml", file.text))[0][again].data["data"] for file in result.files]
    assert data == [{"mode": "auto"}] * (again - 1)
    assert [each.line for each in result.findings if "layout" in each.message] == [6 * again - 2]


def test_the_trials_of_edits_that_change_other_items_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    job = "apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n  metadata: {name: n-N}\n  spec:\n"
    job += "    runtimeRef: {name: x}\n    trainer: {image: a, numProcPerNode: &vN auto}\n"
    uses = "apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: n-N}\n  data: {mode: *vN}\n"
    parts = [each.replace("N}", f"{n}}}").replace("vN", f"v{n}") for n in range(8) for each in (job, uses)]
    text = "apiVersion: v1\nkind: List\nitems:\n" + "".join(f"- {part}" for part in parts)
    read: list[Source] = []
    monkeypatch.setattr(editing, "_MOST_READ", 3 * len(text))
    monkeypatch.setattr(editing, "load", lambda source: (read.append(source), load(source))[1])
    result = import_documents([Source("a.yaml", text)], own=("a.yaml",))
    assert (len(read), result.files) == (1 + 5, ())
    assert len([each for each in result.findings if "layout" in each.message]) == 8


def test_a_line_break_does_not_end_a_comment_that_says_what_is_not_imported() -> None:
    text = JOB.format(name="a", more="") + '  "x\\nspec: {}\\n---\\r#": {b: c}\n'
    (job,) = files(text).values()
    shown = "x\\nspec: {}\\n---\\r#"
    first = f"# trainc import: spec.{shown}: {shown} has no equal in a TrainJob, and is not imported"
    assert job.split("\n")[:2] == [first, "apiVersion: trainer.kubeflow.org/v1alpha1"]


def test_a_namespace_that_is_no_text_is_refused() -> None:
    runtime = "kind: TrainingRuntime\nmetadata: {name: r, namespace: [a]}\nspec: {}\n"
    job = "kind: TrainJob\nmetadata: {name: a, namespace: {b: c}}\nspec:\n  podTemplateOverrides: []\n"
    version = "apiVersion: trainer.kubeflow.org/v1alpha1\n"
    reference = "  runtimeRef: {name: r, kind: TrainingRuntime}\n"
    assert files(f"{version}{runtime}---\n{version}{job}{reference}") == {}


@pytest.mark.parametrize(
    "text", ["on", "y", "No", "OFF", "0b1", "1_000", "012", "12:30", "=", "<<", "a\nb", "1e3", "null"]
)
def test_a_string_that_a_converter_adds_stays_a_string(text: str) -> None:
    tree = mapping(apiVersion="v1", kind="X", metadata=mapping(name=text))
    tree["spec"] = mapping(**{text: text}, items=sequence(text))
    (document,), findings = load(Source("", write_tree(tree)))
    assert (document.data["metadata"], findings) == ({"name": text}, ())
    assert document.data["spec"] == {text: text, "items": [text]}


def test_keys_of_json_stay_strings() -> None:
    text = JOB.format(name="a", more="").replace("metadata: {", "metadata: {labels: {'on': 'yes'}, ")
    (document,), _ = load(Source("", text))
    (job,) = files(json.dumps(document.data)).values()
    (again,), findings = load(Source("", job))
    assert (get(again.data, "metadata", "labels"), findings) == ({"on": "yes"}, ())


@pytest.mark.parametrize(
    ("key", "read"), [("yes", "true"), ("1", "1"), ("0x10", "16"), ("2024-01-01", "2024-01-01"), ("!!str tty", "tty")]
)
def test_keys_that_are_no_plain_texts_are_imported_as_kubernetes_reads_them(key: str, read: str) -> None:
    text = JOB.format(name=f"a, labels: {{{key}: b}}", more="").replace("pytorch, ", f"pytorch, {key}: true, ")
    found = files(text)
    (job,) = (load(Source("", each))[0][0].data for path, each in found.items() if path.startswith("jobs/"))
    (runtime,) = (each for path, each in found.items() if path.startswith("runtimes/"))
    assert get(job, "metadata", "labels") == {read: "b"}
    assert f'"{read}": true' in json.dumps(load(Source("", runtime))[0][0].data)


@pytest.mark.parametrize(
    "text", ["\U0001f600 \u0085 \u2028 x", "\U0001f600\x7f", "\U0001f600\ufffe", "\u0085x", f"x{'y' * 1100}"]
)
@pytest.mark.parametrize("is_ascii", [True, False])
def test_texts_and_keys_of_json_are_not_read_as_yaml(text: str, *, is_ascii: bool) -> None:
    (document,), _ = load(Source("", JOB.format(name="a", more="")))
    annotations = {text: text}
    data = {**document.data, "metadata": {"name": "a", "annotations": annotations}}
    (job,) = files(json.dumps(data, ensure_ascii=is_ascii)).values()
    assert get(load(Source("", job))[0][0].data, "metadata", "annotations") == annotations


@pytest.mark.parametrize("text", ["2001-02-30", "2001-12-14 25:59:43", "2001-12-14 21:59:43 -99"])
def test_a_date_that_does_not_exist_is_a_text(text: str) -> None:
    (job,) = files(JOB.format(name=f"a, annotations: {{a: {text}}}", more="")).values()
    assert get(load(Source("", job))[0][0].data, "metadata", "annotations", "a") == text


def test_a_comment_before_a_block_of_text() -> None:
    name = "a\n  annotations:\n    a: # why\n      |\n      text\n\n    b: b"
    (job,) = files(JOB.replace("{{name: {name}}}", "\n  name: {name}").format(name=name, more="")).values()
    assert get(load(Source("", job))[0][0].data, "metadata", "annotations") == {"a": "text\n", "b": "b"}


def test_a_comment_does_not_become_a_part_of_a_string() -> None:
    more = ", 'a\n\n              b', # Beside.\n              \"c\n\n              d\" # Also beside.\n              "
    (job,) = files(JOB.format(name="a", more=more)).values()
    (again,), _ = load(Source("", job))
    assert get(again.data, "spec", "trainer", "command") == ["torchrun", "--nproc-per-node=1", "a\nb", "c\nd"]
    assert "# Beside." in job
    assert "# Also beside." in job


@pytest.mark.parametrize("line_break", ["\r", "\u0085", "\u2028", "\u2029"])
def test_a_comment_ends_at_every_line_break_of_yaml(line_break: str) -> None:
    labels = f"metadata: # One.{line_break}  labels: # Two.{line_break}    x: z{line_break}  "
    text = JOB.format(name="a", more="").replace("metadata: {name: a}", f"{labels}name: a")
    (job,) = files(text).values()
    (again,), findings = load(Source("", job))
    assert (again.data["metadata"], findings) == ({"name": "a", "labels": {"x": "z"}}, ())


@pytest.mark.parametrize(
    ("item", "words"),
    [("args: ['a\nb c', \"d\n e\"]", None), ("args: &x [a]\n    command: *x", ["a"]), ("args: *outside", None)],
)
def test_a_copied_item_of_a_list_has_the_same_values(item: str, words: list[str] | None) -> None:
    job = "apiVersion: trainer.kubeflow.org/v1alpha1\n  kind: TrainJob\n  metadata: {name: a}\n  spec:\n"
    job += f"    labels: {{a: b}}\n    trainer:\n      {item}\n".replace("\n    command", "\n      command")
    text = f"apiVersion: v1\nkind: List\nmetadata: {{finalizers: &outside [a]}}\nitems:\n- {job}"
    result = import_documents([Source("a.yaml", text)])
    copies = [document.data for file in result.files for document in load(Source("", file.text))[0]]
    assert [get(copy, "spec", "trainer", "args") for copy in copies] == ([words] if words else [])
    assert [one.code for one in result.findings if "layout" in one.message] == ([] if words else ["TC030"])


PYTORCH = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: a}
spec:
  SETTING
  pytorchReplicaSpecs:
    Master: {template: {spec: {containers: [{name: pytorch, image: "a:1", command: [torchrun, train.py], resources: {limits: {nvidia.com/gpu: 8}}}]}}}
"""  # noqa: E501


def test_a_number_of_processes_needs_no_quotes() -> None:
    file = files(PYTORCH.replace("SETTING", "nprocPerNode: 4"))["jobs/default/a.yaml"]
    assert "numProcPerNode: 4\n" in file


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("nprocPerNode: four", "nprocPerNode must be a number, auto, cpu or gpu"),
        ('runPolicy: {suspend: "true"}', "suspend must be true or false"),
    ],
)
def test_a_value_of_the_wrong_type_is_not_lost(setting: str, message: str) -> None:
    result = import_documents([Source("old.yaml", PYTORCH.replace("SETTING", setting))])
    assert [(each.code, each.message) for each in result.findings] == [("TC030", message)]


@pytest.mark.parametrize(
    ("processes", "resources", "change"),
    [
        ("auto", "limits: {nvidia.com/gpu: 2}", ("1", "one per GPU")),
        ("4", "limits: {cpu: 3}", ("1", "4")),
        ("4", "requests: {cpu: 3}", None),
        ("auto", "limits: {cpu: 3}", None),
        ("auto", "limits: {cpu: 4}, requests: {cpu: 2}", ("4", "2")),
        ("auto", "limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 2}", None),
    ],
)
def test_a_number_of_processes_that_v2_0_derived_otherwise_is_reported(
    processes: str, resources: str, change: tuple[str, str] | None
) -> None:
    text = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n"
    text += "  runtimeRef: {name: torch-distributed}\n"
    text += "  podSpecOverrides: [{targetJobs: [{name: node}], nodeSelector: {a: b}}]\n"
    text += f"  trainer: {{image: a, numProcPerNode: {processes}, resourcesPerNode: {{{resources}}}}}\n"
    found = [one for one in messages(text) if "in Trainer v2.0" in one]
    words = "with these resources, a node had {} processes in Trainer v2.0; now it is {}"
    assert found == ([words.format(*change)] if change else [])


def test_a_role_without_pods_beside_dynamic_workers() -> None:
    pod = '{spec: {containers: [{name: tensorflow, image: "r/a:1", command: [run]}]}}'
    roles = "".join(
        f"    {role}: {{replicas: {count}, template: {pod}}}\n" for role, count in (("PS", 0), ("Worker", 2))
    )
    old = "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: a}\nspec:\n  enableDynamicWorker: true\n"
    assert '"ps":[]' in "".join(files(f"{old}  tfReplicaSpecs:\n{roles}").values())


@pytest.mark.parametrize(
    ("kind", "field", "container", "main"),
    [
        ("PyTorchJob", "pytorchReplicaSpecs", "pytorch", "Master"),
        ("XGBoostJob", "xgbReplicaSpecs", "xgboost", "Master"),
        ("TFJob", "tfReplicaSpecs", "tensorflow", "Chief"),
    ],
)
def test_replicas_without_pods_get_none(kind: str, field: str, container: str, main: str) -> None:
    roles = "".join(
        f"    {role}: {{replicas: {count}, template: "
        f"{{spec: {{containers: [{{name: {container}, image: r/{role.lower()}, command: [run]}}]}}}}}}\n"
        for role, count in ((main, 1), ("Worker", 0))
    )
    old = f"apiVersion: kubeflow.org/v1\nkind: {kind}\nmetadata: {{name: a}}\nspec:\n  {field}:\n{roles}"
    assert messages(old).count("Worker has no pods and is left out") == 1
    assert "r/worker" not in "".join(files(old).values())
    none = old.replace("replicas: 1", "replicas: 0")
    assert not files(none) and f"{kind} has no replicas with a container" in messages(none)


@pytest.mark.parametrize("number", ["9" * 5000, "2147483648", "\N{ARABIC-INDIC DIGIT THREE}"])
def test_a_number_of_processes_that_no_operator_reads_is_refused(number: str) -> None:
    old = JOB.format(name="a", more="").replace("spec:\n  pyt", f'spec:\n  nprocPerNode: "{number}"\n  pyt')
    assert "nprocPerNode must be a number, auto, cpu or gpu" in messages(old)
    elastic = old.replace("spec:\n  npr", "spec:\n  elasticPolicy: {maxReplicas: 2}\n  npr")
    assert number in "".join(files(elastic).values())
    job = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n"
    trainer = f'  runtimeRef: {{name: torch-distributed}}\n  trainer: {{numProcPerNode: "{number}"}}\n'
    assert "numProcPerNode must be a number, auto, cpu or gpu" in messages(job + trainer)


def test_the_options_of_a_shell_are_read_in_linear_time() -> None:
    old = JOB.format(name="a", more="").replace("torchrun, --nproc-per-node=1", f"sh, -{'c' * 200_000}!, run")
    start = time.process_time()
    assert files(old)
    assert time.process_time() - start < 10


def test_a_gang_of_several_jobs_of_one_kind_is_reported() -> None:
    """As one of the launcher and the workers that it waits for is, in ``cases/mpi2-wait-for-workers.yaml``."""
    worker = (
        "    Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, image: r/b, command: [run]}]}}}\n"
    )
    old = JOB.format(name="a", more="") + worker
    found = messages(old.replace("spec:\n  pyt", "spec:\n  runPolicy: {schedulingPolicy: {queue: q}}\n  pyt"))
    assert sum("since it counts one pod per replicated job (TC459)" in each for each in found) == 1


@pytest.mark.parametrize("policy", ["null", "{schedulingPolicy: null, ttlSecondsAfterFinished: null, suspend: null}"])
def test_a_run_policy_of_nulls_is_none(policy: str) -> None:
    old = JOB.format(name="a", more="")
    with_null = old.replace("spec:\n  pyt", f"spec:\n  backoffLimit: null\n  runPolicy: {policy}\n  pyt")
    assert (files(with_null), messages(with_null)) == (files(old), messages(old))


def test_an_empty_queue_and_priority_class_are_none() -> None:
    old = JOB.format(name="a", more="").replace("spec:\n  pyt", "spec:\n  runPolicy: {schedulingPolicy: {}}\n  pyt")
    empty = old.replace("schedulingPolicy: {}", 'schedulingPolicy: {queue: "", priorityClass: ""}')
    assert (files(empty), messages(empty)) == (files(old), messages(old))


EARLIER = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n"


def edited(text: str) -> str:
    """Return a text of the project after its import."""
    (file,) = import_documents([Source("a.yaml", text)], own=("a.yaml",)).files
    return file.text


def test_each_line_keeps_its_end() -> None:
    text = EARLIER.replace("spec:\n", "spec:\r\n") + "  trainer: {image: a, numProcPerNode: auto}\n  suspend: true\n"
    assert edited(text) == text.replace(", numProcPerNode: auto", "")


def test_a_text_with_a_number_sign_does_not_become_a_comment() -> None:
    overrides = "  podTemplateOverrides:\n  - metadata: {name: 'b # c'}\n    targetJobs: []\n"
    assert "#" not in edited(EARLIER + "  labels: {a: b}\n" + overrides)


def test_a_tab_before_a_comment_is_no_obstacle() -> None:
    text = EARLIER + "  suspend: true\t# why\n  trainer: {image: a, numProcPerNode: auto}\n"
    assert edited(text) == text.replace(", numProcPerNode: auto", "")


def test_the_comment_beside_a_list_item_in_braces_is_kept() -> None:
    item = "{targetJobs: [{name: node}], spec: {serviceAccountName: sa}}"
    text = EARLIER + f"  podTemplateOverrides:\n  - {item}  # why\n"
    assert "  # why\n" in edited(text)


@pytest.mark.parametrize("other", ["a: " + "[" * 500 + "]" * 500, "? [a]\n: b"], ids=["nested", "list-as-key"])
def test_a_copy_has_no_other_document_that_cannot_be_read(other: str) -> None:
    job = EARLIER + "  trainer: {image: a, numProcPerNode: auto}\n"
    assert "".join(files(f"{job}---\n{other}\n").values()) == job.replace(", numProcPerNode: auto", "")


@pytest.mark.parametrize(
    ("command", "is_warned"),
    [
        ("[torchrun, --nproc-per-node=$(PET_NPROC_PER_NODE), a.py]", True),
        ('[sh, -c, "torchrun --nproc_per_node $PET_NPROC_PER_NODE a.py"]', True),
        ('[sh, -c, "accelerate launch --num_processes=${PET_NPROC_PER_NODE} a.py"]', True),
        ("[torchrun, --nproc-per-node=2, a.py]", False),
        ("[python, a.py]", False),
    ],
)
def test_a_command_that_reads_the_number_of_processes_gets_a_warning(command: str, is_warned: bool) -> None:
    text = JOB.format(name="a", more="").replace("[torchrun, --nproc-per-node=1]", command)
    found = [finding.message for finding in import_documents([Source("old.yaml", text)]).findings]
    assert any("nprocPerNode auto" in message for message in found) is is_warned


def test_the_old_name_of_a_service_account_is_not_that_of_a_launcher() -> None:
    """The operator of v1 reads serviceAccountName only, and lets the launcher use an account that it makes."""
    pods = """
    {0}:
      replicas: 1
      template: {{spec: {{serviceAccount: old, containers: [{{name: a, image: "registry.example.com/a:1"}}]}}}}"""
    text = "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: a}\nspec:\n  mpiReplicaSpecs:"
    result = import_documents([Source("old.yaml", text + pods.format("Launcher") + pods.format("Worker"))])
    assert [file.text.count("serviceAccount") for file in result.files] == [0, 1]
    assert "serviceAccount is left out" in " ".join(finding.message for finding in result.findings)


def test_a_template_without_the_gang_scheduler_of_another_one_is_reported() -> None:
    pods = """
    {0}:
      template: {{spec: {{{1}containers: [{{name: pytorch, image: "registry.example.com/a:1"}}]}}}}"""
    text = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n"
    text += "  runPolicy: {schedulingPolicy: {unknown: 1}}\n  pytorchReplicaSpecs:"
    text += pods.format("Master", "schedulerName: kai-scheduler, ") + pods.format("Worker", "")
    messages = " ".join(one.message for one in import_documents([Source("old.yaml", text)]).findings)
    assert "some pods get no schedulerName" in messages
    assert "unknown has no equal" in messages
