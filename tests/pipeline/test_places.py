"""Every finding is about a place that is there: in the document as it is compiled, or as it stands in its file."""

from __future__ import annotations

import pytest

from oracle import goldens
from trainc import Options, Source, compile
from trainc.basics.jsonvalues import existing


@pytest.mark.parametrize("faithful", [False, True])
def test_paths_lead_somewhere(faithful: bool) -> None:
    found = 0
    for name, text in goldens.cases():
        for finding in compile([Source("case.yaml", text)], Options(faithful=faithful)).findings:
            found += 1
            places = [(finding.document, finding.path), *((other.document, other.path) for other in finding.related)]
            for document, path in places:
                there = existing(document.data, path) == path or path in document.marks()
                assert there, (name, finding.code, path)
    assert found > 500
