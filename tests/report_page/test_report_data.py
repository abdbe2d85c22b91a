"""The data of the page, from compiled jobs; the page without a browser; the same bytes each time."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from click.testing import CliRunner
from fleets import fleet_of

from builders import role, runtime, trainjob
from trainc import Options, Source, compile
from trainc.cli.root import trainc
from trainc.data import load_text
from trainc.pipeline.compile import load_all, run
from trainc.pipeline.job import in_order
from trainc.report.fleet import Rows, fleet, totals, without_objects
from trainc.report.page import page

PIN = "sha256:" + "a" * 64
BIDI = "\u202e"


def data_of(*texts: str, environment: str = "prod") -> Any:
    sources = [Source(f"jobs/a/{number}.yaml", text) for number, text in enumerate(texts)]
    build = compile(sources, Options(environment=environment))
    return fleet({environment: build.jobs}, build.findings)


PARTS = runtime(
    role("prepare", image="example.com/prepare:1"),
    role(
        trainer=True,
        image=f"example.com/train:1@{PIN}",
        container=", resources: {limits: {nvidia.com/gpu: 8, example.com/gpu-slice: 1}}",
    ).replace("        template:\n", "        dependsOn: [{name: prepare, status: Complete}]\n        template:\n", 1),
    policy="{numNodes: 4}",
)


def test_a_job_with_its_graph_images_and_totals() -> None:
    queue = ", labels: {kueue.x-k8s.io/queue-name: night}"
    data = data_of(
        PARTS, trainjob("two", metadata=f", namespace: a{queue}"), trainjob("one", metadata=", namespace: a")
    )
    one, two = data["jobs"]
    assert (one["name"], one["queue"], two["name"], two["queue"]) == ("one", "", "two", "night")
    assert {key: one[key] for key in ("namespace", "runtime", "environment", "state", "pods", "gpus")} == {
        "namespace": "a",
        "runtime": "rt",
        "environment": "prod",
        "state": "ready",
        "pods": 5,
        "gpus": 36,
    }
    assert one["graph"] == two["graph"] == 0
    assert data["graphs"] == [
        [
            {"name": "prepare", "pods": 1, "gpus": 0, "waits": []},
            {"name": "node", "pods": 4, "gpus": 36, "waits": [{"for": "prepare", "until": "Complete"}]},
        ]
    ]
    assert data["images"] == [
        {"name": "example.com/prepare:1", "digest": None},
        {"name": "example.com/train:1", "digest": PIN},
    ]
    found = totals(data)
    assert {key: found[key] for key in ("jobs", "namespaces", "environments", "pods", "gpus", "images", "pinned")} == {
        "jobs": 2,
        "namespaces": 1,
        "environments": 1,
        "pods": 10,
        "gpus": 72,
        "images": 2,
        "pinned": 1,
    }


def test_a_job_with_an_error_is_there_with_its_finding() -> None:
    data = data_of(PARTS, trainjob("bad", trainer="{numNode: 3}"), trainjob("good"))
    bad, good = data["jobs"]
    assert [bad["state"], good["state"], bad["pods"]] == ["not compiled", "ready", 0]
    (number,) = (each for each in bad["findings"] if data["findings"][each]["severity"] == "error")
    assert data["findings"][number] == {
        "severity": "error",
        "code": "TC101",
        "file": "jobs/a/1.yaml",
        "line": 6,
        "message": "unknown field spec.trainer.numNode",
        "hint": "did you mean 'numNodes'?",
    }
    assert data["codes"]["TC101"] == "unknown field"


def test_the_page_needs_no_objects() -> None:
    texts = (PARTS, trainjob("bad", trainer="{numNode: 3}"), trainjob("good"), trainjob("twice"), trainjob("twice"))
    sources = [Source(f"jobs/a/{number}.yaml", text) for number, text in enumerate(texts)]
    rows: Rows = {}
    build = run(load_all(sources), Options(), execute=without_objects(in_order, rows))
    assert not any(job.objects or job.files for job in build.jobs)
    assert fleet({"prod": build.jobs}, build.findings, rows) == data_of(*texts)


def test_the_runtime_is_that_of_the_environment() -> None:
    config = {"environments": {"prod": {"runtimes": {"rt": "torch-distributed", "other": "missing"}}}}
    texts = (PARTS, trainjob("found"), trainjob("lost", runtime="other"))
    build = compile([Source(f"{number}.yaml", text) for number, text in enumerate(texts)], Options(config=config))
    assert [job["runtime"] for job in fleet({"prod": build.jobs}, build.findings)["jobs"]] == [
        "torch-distributed",
        "other",
    ]


def test_a_suspended_job_uses_nothing() -> None:
    data = data_of(PARTS, trainjob("later", more="  suspend: true\n"))
    (job,) = data["jobs"]
    assert [job["state"], job["pods"], job["gpus"]] == ["suspended", 0, 0]
    assert data["graphs"][0][1]["gpus"] == 36


def test_hidden_characters_are_shown() -> None:
    text = page(data_of(PARTS, trainjob("job", runtime=f'"rt{BIDI}x"')))
    assert BIDI not in text
    assert '"runtime":"rt\\\\u202ex"' in text


class Elements(HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script":
            self.scripts.append(data)


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "<!--<script>", "'\"><img src=x>", "{{ 7 * 7 }}"]
)
def test_text_of_inputs_stays_text(text: str) -> None:
    shown = page(fleet_of(3, text=text), title=text, note=text)
    parser = Elements()
    parser.feed(shown)
    names = [tag for tag, _ in parser.found]
    assert names.count("script") == 2
    assert "img" not in names
    assert json.loads(parser.scripts[0])["jobs"][0]["name"] == f"job-00000{text}"


def test_the_page_names_nothing_to_load() -> None:
    parser = Elements()
    parser.feed(page(fleet_of(3)))
    linked = [
        name for _, attributes in parser.found for name in attributes if name in ("src", "href", "data", "srcset")
    ]
    assert linked == ["href"], "the link to the results"
    written = load_text("templates/report.js") + load_text("templates/report.css")
    assert set(re.findall(r"https?://[^\"']+", written)) == {"http://www.w3.org/2000/svg"}
    for unsafe in ("innerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "import ", "url(h", "</"):
        assert unsafe not in written, unsafe


def test_the_same_inputs_give_the_same_page() -> None:
    assert page(fleet_of(50)) == page(fleet_of(50))
    first, second = (page(data_of(PARTS, trainjob("one"), trainjob("two"))) for _ in range(2))
    assert first == second


def test_the_page_goes_to_standard_output(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jobs" / "a").mkdir(parents=True)
    (tmp_path / "jobs" / "a" / "one.yaml").write_text(trainjob("one", runtime="torch-distributed"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(trainc, ["report", "-o", "-", "--title", "Fleet <1>", "--note", "a & b"])
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert "<h1>Fleet &lt;1&gt;</h1>" in shown.stdout
    assert '<p class="note">a &amp; b</p>' in shown.stdout
    assert list(tmp_path.iterdir()) == [tmp_path / "jobs"]
