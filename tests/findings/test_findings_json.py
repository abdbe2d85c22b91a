from __future__ import annotations

import json

from findings_samples import document

from trainc.findings import Finding, report
from trainc.findings.formats import as_json as render


def test_the_fields_are_those_of_a_finding() -> None:
    (item,) = json.loads(render([report("TC101", document(), (), "m")]))
    assert set(item) == {*Finding.__struct_fields__} - {"document"} | {"file", "line", "column"}


def test_names_and_texts_are_ascii_and_keep_lone_surrogates() -> None:
    text = render([report("TC102", document(name="\udcff.yaml"), (), "b"), report("TC102", document(), (), "ü\ud800")])
    assert text.isascii()
    assert [(item["file"], item["message"]) for item in json.loads(text)] == [
        ("jobs/a/j.yaml", "ü\ud800"),
        ("\udcff.yaml", "b"),
    ]
