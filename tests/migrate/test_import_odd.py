"""Documents that are unusual in form: what `trainc import` keeps of them, and what it refuses."""

from __future__ import annotations

import warnings

import pytest

from trainc import Source
from trainc.documents.load import load
from trainc.migrate import import_documents
from trainc.migrate.trees import read_tree, write_tree

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
