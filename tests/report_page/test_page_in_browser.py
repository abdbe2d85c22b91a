"""The page in a real Chromium: no error and no request, search, sorting, filters, keyboard, and 5,000 jobs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, find_chromium, running
from fleets import fleet_of

from trainc.basics.jsonvalues import objects
from trainc.report.page import page

PROGRAM = find_chromium()
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium found (CHROMIUM names one)"),
]
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
MANY = 5_000

ROWS = "[...document.querySelectorAll('tr.row')]"
NAMES = f"{ROWS}.map((row) => row.querySelector('button').textContent)"
COUNT = "document.getElementById('count').textContent"
FOCUS = "document.activeElement.textContent"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    assert PROGRAM is not None
    with running(PROGRAM) as browser:
        yield browser


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Any:
    def load(size: int, *, text: str = "", **look: Any) -> Browser:
        path = tmp_path / "report.html"
        path.write_text(page(fleet_of(size, text=text), note=f"main{text}"), encoding="utf-8")
        chromium.look(**look)
        chromium.load(path)
        return chromium

    return load


def search(browser: Browser, text: str) -> None:
    browser.run(f"""{{
        const box = document.getElementById("query");
        box.value = {text!r};
        box.dispatchEvent(new Event("input"));
    }}""")


def click(browser: Browser, selector: str) -> None:
    browser.run(f"document.querySelector({selector!r}).click()")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1440, 820, 390])
def test_no_error_no_request_and_nothing_is_cut_off(opened: Any, width: int, dark: bool) -> None:
    browser = opened(200, width=width, dark=dark)
    for tab in ("findings", "images", "jobs"):
        click(browser, f"#tab-{tab}")
    click(browser, "[data-job]")
    assert browser.run("document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.problems() == []


def test_a_fleet_without_jobs(opened: Any) -> None:
    browser = opened(0)
    shown = []
    for tab in ("jobs", "findings", "images"):
        click(browser, f"#tab-{tab}")
        shown.append(browser.run("document.getElementById('panel').textContent"))
    assert shown == ["No jobs.", "No findings.", "No images."]
    assert browser.problems() == []


def test_text_of_inputs_is_inert(opened: Any) -> None:
    browser = opened(20, text=HOSTILE)
    click(browser, "[data-job]")
    for tab in ("findings", "images", "jobs"):
        click(browser, f"#tab-{tab}")
    search(browser, HOSTILE)
    assert browser.run("document.title") == "Training jobs"
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.querySelectorAll('script').length") == 2
    assert HOSTILE in browser.run(NAMES)[0]
    assert browser.problems() == []


def test_a_script_that_is_not_ours_cannot_run(opened: Any) -> None:
    browser = opened(3)
    browser.run("""{
        const script = document.createElement("script");
        script.textContent = "document.title = 'owned'";
        document.body.append(script);
    }""")
    assert browser.run("document.title") == "Training jobs"


def test_search_filters_and_reset(opened: Any) -> None:
    browser = opened(200)
    search(browser, "job-0007 staging")
    assert browser.run(NAMES) == ["team-12/job-00072", "team-15/job-00075", "team-18/job-00078"]
    search(browser, "")
    click(browser, '[data-all="namespace"]')
    click(browser, '[data-facet="namespace"][data-value="team-3"]')
    assert browser.run(COUNT) == "10 jobs"
    click(browser, '[data-facet="queue"][data-value=""]')
    assert browser.run(COUNT) == "4 jobs"
    assert browser.run("[...document.querySelectorAll('#chips button')].map((chip) => chip.textContent)") == [
        "team-3 ✕",
        "no queue ✕",
        "Reset",
    ]
    click(browser, ".reset")
    assert browser.run(COUNT) == "1 to 50 of 200 jobs"
    browser.run("""{
        const select = document.getElementById("state");
        select.value = "errors";
        select.dispatchEvent(new Event("change"));
    }""")
    assert browser.run(COUNT) == "10 jobs"


def test_sorting(opened: Any) -> None:
    browser = opened(200)
    heads = "[...document.querySelectorAll('th[aria-sort]')].map((head) => [head.textContent, head.ariaSort])"
    assert browser.run(heads) == [["Findings", "ascending"]]
    click(browser, '[data-sort="name"]')
    assert browser.run(NAMES)[:2] == ["team-0/job-00000", "team-0/job-00020"]
    assert browser.run(f"{NAMES}.length") == 50
    click(browser, '[data-sort="gpus"]')
    assert browser.run(heads) == [["GPUs", "descending"]]
    assert browser.run(f"{ROWS}[0].children[5].textContent") == "32"
    click(browser, '[data-sort="gpus"]')
    assert browser.run(f"{ROWS}[0].children[5].textContent") == "16"


def test_the_picture_of_a_job_has_its_parts_and_what_they_wait_for(opened: Any) -> None:
    browser = opened(200)
    search(browser, "job-00001")
    click(browser, "[data-job]")
    assert browser.run("document.querySelector('.graph svg').getAttribute('aria-label')") == (
        "dataset-initializer, 1 pod; model-initializer, 1 pod; node, 2 pods, 16 GPUs,"
        " waits until dataset-initializer is complete, waits until model-initializer is complete"
    )
    assert browser.run("document.querySelectorAll('.graph rect').length") == 3
    assert browser.run("document.querySelectorAll('.graph svg > path').length") == 2


def test_the_keyboard_reaches_everything_and_keeps_its_place(opened: Any) -> None:
    browser = opened(200)
    browser.press("/", "/")
    assert browser.run("document.activeElement.id") == "query"
    browser.call("Input.insertText", text="job-00012")
    assert browser.run(COUNT) == "1 job"
    browser.press("Escape")
    assert browser.run(COUNT) == "1 to 50 of 200 jobs"
    browser.run("document.getElementById('tab-jobs').focus()")
    browser.press("ArrowRight")
    assert browser.run("[document.activeElement.id, document.activeElement.ariaSelected]") == ["tab-findings", "true"]
    browser.press("ArrowLeft")
    browser.run("document.querySelector('[data-job]').focus()")
    before = browser.run(FOCUS)
    browser.press("Enter")
    assert browser.run("document.activeElement.ariaExpanded") == "true"
    assert browser.run(FOCUS) == before
    assert browser.problems() == []


def test_every_control_has_a_name(opened: Any) -> None:
    browser = opened(60)
    click(browser, "[data-job]")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    wanted = {"button", "searchbox", "combobox", "tab", "tablist", "tabpanel", "image", "group", "region"}
    named = [node for node in nodes if node.get("role", {}).get("value") in wanted and not node.get("ignored")]
    assert len(named) > 100
    assert [node["role"]["value"] for node in named if not node.get("name", {}).get("value")] == []


def test_five_thousand_jobs_do_not_lag(opened: Any) -> None:
    browser = opened(MANY)
    assert browser.problems() == []
    load = browser.worked()

    def work(script: str) -> float:
        before = browser.worked()
        browser.run(script)
        return browser.worked() - before

    box = "{ const box = document.getElementById('query'); box.value = '%s'; box.dispatchEvent(new Event('input')); }"
    found = {
        "load": load,
        "search": work(box % "job"),
        "again": work(box % "job-0012"),
        "empty": work(box % ""),
        "name": work("document.querySelector('[data-sort=name]').click()"),
        "gpus": work("document.querySelector('[data-sort=gpus]').click()"),
    }
    print({name: round(value) for name, value in found.items()})  # noqa: T201 - with -s
    assert browser.run(COUNT) == f"1 to 50 of {MANY:,} jobs"
    assert found["load"] < 2000, found
    assert all(value < 400 for name, value in found.items() if name != "load"), found


def test_a_job_that_another_file_keeps_from_compiling_has_an_error(chromium: Browser, tmp_path: Path) -> None:
    """An error of trainc.yaml or of a policy is no finding of the job's files."""
    data = fleet_of(3)
    job = objects(data["jobs"])[-1]
    data["findings"] = []
    for each in objects(data["jobs"]):
        each |= {"findings": [], "state": "ready"}
    job |= {"state": "not compiled", "pods": 0, "gpus": 0}
    path = tmp_path / "report.html"
    path.write_text(page(data), encoding="utf-8")
    chromium.load(path)
    name = f"{job['namespace']}/{job['name']}"
    assert chromium.run(f"{NAMES}[0]") == name
    chromium.run("""{
        const box = document.getElementById("state");
        box.value = "errors";
        box.dispatchEvent(new Event("change"));
    }""")
    assert chromium.run(NAMES) == [name]
