"""Work grows with the size of an object where its metadata, or the schema of its CRD, could be compared with each item.

As in test_growth.py, four times the items may take up to nine times as long.
"""

from __future__ import annotations

import time

from growing_texts import numbered, one
from test_growth import is_linear

from builders import crd
from trainc import Options, Source, compile

EMBEDDED = "{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}"


def seconds_of(*sources: Source) -> float:
    start = time.process_time()
    assert not any(finding.code == "TC902" for finding in compile(sources, Options()).findings)
    return time.process_time() - start


def test_many_owners_that_are_controllers() -> None:
    """The server's text about each further one shows all of them."""

    def seconds(size: int) -> float:
        owners = numbered("{apiVersion: v1, kind: A, name: aNUMBER, uid: u, controller: true}", size)
        return seconds_of(Source("job.yaml", one().replace("name: one", f"name: one, ownerReferences: [{owners}]")))

    assert is_linear(seconds, 400)


def test_many_embedded_objects_whose_metadata_go_writes_otherwise() -> None:
    def seconds(size: int) -> float:
        items = numbered("{apiVersion: v1, kind: A, metadata: {labels: null}}", size)
        thing = f"apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: a}}\nobjects: [{items}]\n"
        schema = crd("Thing", f"properties: {{objects: {{type: array, items: {EMBEDDED}}}}}")
        return seconds_of(Source("crd.yaml", schema), Source("thing.yaml", thing))

    assert is_linear(seconds, 2000)
