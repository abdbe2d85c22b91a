"""Reads the kinds that a CustomResourceDefinition defines.

trainc does not check whether a cluster would accept the CRD, since usually a cluster has. A part that trainc cannot
read is a violation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from trainc.basics.jsonvalues import JsonObject, Path, as_object, objects
from trainc.findings import suggest
from trainc.schema.admission import admit
from trainc.schema.formats import COMPILING, MOST_WORK, TooMuchWork, Work, matcher, size_of
from trainc.schema.kinds import BUILT_IN, Resource
from trainc.schema.structural import KEYWORDS, PROSE, SchemaError, parse, subschemas
from trainc.schema.wording import Violation

KIND: Final = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


class Definition(msgspec.Struct, frozen=True):
    """The kind that a CRD defines in each served version; none if the CRD cannot be read.

    ``dropped``: the paths of unknown fields. ``work``: that of compiling the patterns.
    """

    resources: tuple[Resource, ...] = ()
    dropped: tuple[Path, ...] = ()
    violations: tuple[Violation, ...] = ()
    work: int = 0


_EXPECTED = f"at most {MOST_WORK // COMPILING:,} instructions of patterns in all CRDs together"
_HINT = "write the patterns with smaller repetitions"
TOO_LARGE: Final = Definition(
    violations=(Violation("TC012", (), "the patterns of the CRDs are too large", "", expected=_EXPECTED, hint=_HINT),),
    work=MOST_WORK + 1,
)


def define(data: JsonObject) -> Definition:
    """Read a CustomResourceDefinition, a whole object."""
    kind = BUILT_IN.find(*KIND)
    assert kind is not None, "it is in the package"
    admitted = admit(kind, data)
    found = [violation for violation in admitted.violations if not violation.advisory]
    if found:
        return Definition((), admitted.dropped, tuple(found))
    spec: Any = data["spec"]
    resources: list[Resource] = []
    notes: list[Violation] = []
    work = Work()
    for index, version in enumerate(objects(spec["versions"])):
        root: Path = ("spec", "versions", index, "schema", "openAPIV3Schema")
        schema = as_object(as_object(version.get("schema")).get("openAPIV3Schema"))
        try:
            parsed = parse(schema)
        except SchemaError as error:
            found.append(Violation("TC111", (*root, *error.path), str(error), ""))
            continue
        try:
            notes += _notes(schema, root, work)
        except TooMuchWork:
            return TOO_LARGE
        if version.get("served"):
            names, has_status = spec["names"], as_object(version.get("subresources")).get("status") is not None
            identity = str(spec["group"]), str(version["name"]), str(names["kind"]), spec["scope"] == "Namespaced"
            resources.append(Resource(*identity, has_status, parsed, names["plural"]))
    return Definition(() if found else tuple(resources), admitted.dropped, (*found, *notes), work.spent)


def _notes(schema: JsonObject, path: Path, work: Work) -> Iterator[Violation]:
    """Yield the unknown keywords of a schema, and the patterns that are not checked. Raises TooMuchWork."""
    for key in schema:
        if key not in KEYWORDS and key not in PROSE:
            hint = suggest(key, KEYWORDS)
            yield Violation("TC101", (*path, key), f"unknown keyword {key}", "", key, hint=hint, advisory=True)
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and pattern:
        work.spend(COMPILING * size_of(pattern))
        if matcher(pattern) is None:
            message = "trainc cannot evaluate this pattern, so it accepts any text"
            yield Violation("TC112", (*path, "pattern"), message, "", advisory=True)
    for steps, sub in subschemas(schema):
        yield from _notes(sub, (*path, *steps), work)
