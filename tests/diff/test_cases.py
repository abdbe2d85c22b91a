"""One folder a case: two states of a small repository, compiled, and what `trainc diff` says of the change, exactly.

    case.txt:
        # what the case shows
        >>> both: jobs/team/job.yaml      a file of both states; `before: ` and `after: ` are files of one
        >>> replace: OLD => NEW           in all that is compiled of the state after, as another compiler would have it
    expected.txt, expected.md, expected.json

`pytest tests/diff --update` writes what is expected; read the difference.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from trainc import Options, Source, compile
from trainc.changes import Difference, compare, formats
from trainc.inputs.settings import read_settings
from trainc.project.config import parse

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in (HERE / "cases").glob("*/case.txt"))
CONFIG = "trainc.yaml"
FORMS = {
    "expected.txt": formats.as_text,
    "expected.md": formats.as_markdown,
    "expected.json": lambda difference: formats.as_json(difference, "HEAD", "the working tree"),
}


def states(case: str) -> tuple[dict[str, str], dict[str, str], list[tuple[str, str]]]:
    head, *parts = re.split(r"^>>> ", case, flags=re.M)
    assert head.startswith("# "), "a case says what it shows"
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    replaced: list[tuple[str, str]] = []
    for part in parts:
        title, _, body = part.partition("\n")
        side, name = title.split(": ", 1)
        if side == "replace":
            old, new = name.split(" => ")
            replaced.append((old.replace("\\n", "\n"), new.replace("\\n", "\n")))
            continue
        assert side in ("before", "after", "both")
        if side != "after":
            before[name] = body
        if side != "before":
            after[name] = body
    return before, after, replaced


def compiled(files: dict[str, str]) -> dict[str, bytes]:
    config, findings = parse(Source(CONFIG, files[CONFIG]) if CONFIG in files else None)
    assert findings == ()
    sources = [Source(name, body) for name, body in files.items() if name != CONFIG]
    out: dict[str, bytes] = {}
    for environment in config.environments:
        options = Options(environment=environment, config=config.data, config_document=config.document)
        build = compile(sources, options)
        wrong = [finding for finding in build.findings if finding.severity == "error"]
        assert not wrong, wrong
        out |= build.files
    return out


def difference(case: str) -> Difference:
    before, after, replaced = states(case)
    new = compiled(after)
    for old_text, new_text in replaced:
        assert any(old_text.encode() in data for data in new.values()), old_text
        new = {name: data.replace(old_text.encode(), new_text.encode()) for name, data in new.items()}
    config, _ = parse(Source(CONFIG, after[CONFIG]) if CONFIG in after else None)
    settings = {name: read_settings(config.data, name) for name in config.environments}
    return compare(compiled(before), new, settings)


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_case(folder: Path, update: bool) -> None:
    found = difference((folder / "case.txt").read_text(encoding="utf-8"))
    for name, render in FORMS.items():
        shown = render(found)
        if update:
            (folder / name).write_text(shown, encoding="utf-8")
        assert shown == (folder / name).read_text(encoding="utf-8"), name
    json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def test_there_is_a_case_for_every_effect() -> None:
    said = {job["effect"] for folder in CASES for job in json.loads((folder / "expected.json").read_text())["jobs"]}
    assert said == {"created", "updated", "rerun", "renamed", "refused", "held", "deleted", "kept", "comments"}
