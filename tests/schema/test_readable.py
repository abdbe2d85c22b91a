"""The walk finds every value that Go's types cannot read, and no other."""

from __future__ import annotations

import pytest
from corpus import documents, mutated

from trainc.kube.gotypes import GoDecodeError, decode
from trainc.schema import admit, resource
from trainc.schema.inputs import go_types


@pytest.mark.parametrize("seed", range(4))
def test_what_the_walk_calls_readable_is_what_go_can_read(seed: int) -> None:
    """Of documents that fit their schema."""
    for number, given in enumerate(documents()):
        data = mutated(given, 10_000 * seed + number)
        if (kind := str(given["kind"])) not in go_types():
            continue
        admitted = admit(resource(kind), data, go_types()[kind], reads=True)
        if not admitted.violations:
            assert admitted.readable == _can_read(admitted.data, go_types()[kind]), data


def _can_read(data: object, go_type: str) -> bool:
    try:
        decode(data, go_type)  # type: ignore[arg-type]  # JSON
    except GoDecodeError:
        return False
    return True
