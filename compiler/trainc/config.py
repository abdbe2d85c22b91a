"""trainc.yaml: what trainc compiles for. A pure function from its text; without the file, one environment, prod."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from trainc.diagnostics import Diagnostic, has_errors, report, suggest
from trainc.findings import severities
from trainc.kube.decode import Problem, Refused
from trainc.kube.yamltext import read_yaml, yaml_offsets
from trainc.source import Document, Json, JsonObject, Mark, Path, Source, as_object

KEYS = ("environments", severities.KEY)
ENVIRONMENT_KEYS: tuple[str, ...] = ()

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_RULE = "at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit"
_BOM = "\ufeff"


def _default() -> JsonObject:
    return {"environments": {"prod": {}}}


@dataclass(frozen=True, slots=True)
class Config:
    """What trainc.yaml says. ``environments`` are in the order of the file; ``data`` is the whole of it."""

    environments: tuple[str, ...] = ("prod",)
    data: JsonObject = field(default_factory=_default, hash=False)


def parse(source: Source | None) -> tuple[Config, tuple[Diagnostic, ...]]:
    """Return the configuration, and what is wrong with its text; the default where it is absent, empty or wrong.

    Findings are TC013, and those of any YAML text (TC001 to TC005, TC012).
    """
    if source is None:
        return Config(), ()
    data, document, findings = read_document(source)
    if not has_errors(findings):
        findings = (*findings, *_check(data, document))
    if has_errors(findings) or not isinstance(data, dict):
        return Config(), findings
    data = {**_default(), **data}
    return Config(tuple(as_object(data["environments"])), data), findings


def read_document(source: Source) -> tuple[Json, Document, tuple[Diagnostic, ...]]:
    """Return the one YAML value of a text that is no Kubernetes object, a document to place findings in, and findings.

    Findings are those of any YAML text: TC001 to TC005, TC012. The document's data is empty if the value is no mapping.
    """
    text = source.text if isinstance(source.text, str) else source.text.decode("utf-8", "surrogateescape")
    text = text.removeprefix(_BOM)
    try:
        data, problems = read_yaml(text)
    except Refused as refusal:
        mark = _mark(text, refusal.offset)
        document = Document(source, {}, 0, lambda: {(): mark})
        return None, document, (_finding(document, refusal.problem),)
    document = Document(source, data if isinstance(data, dict) else {}, 0, _marks(text))
    return data, document, tuple(_finding(document, problem) for problem in problems)


def _marks(text: str) -> Callable[[], Mapping[Path, Mark]]:
    return cache(lambda: {path: _mark(text, offset) for path, offset in yaml_offsets(text).items()})


def _mark(text: str, offset: int) -> Mark:
    start = text.rfind("\n", 0, offset) + 1
    return Mark(text.count("\n", 0, offset) + 1, offset - start + 1)


def _finding(document: Document, problem: Problem) -> Diagnostic:
    # A syntax error's hint speaks of files that hold several documents.
    hint = problem.hint if problem.code != "TC002" else None
    return report(problem.code, document, problem.path, problem.message, found=problem.found, hint=hint)


def _check(data: Json, document: Document) -> Iterator[Diagnostic]:
    if data is None:
        return
    if not isinstance(data, dict):
        yield _wrong_type(document, (), data, "a mapping")
        return
    yield from _unknown(document, (), data, KEYS)
    if "environments" in data:
        yield from _environments(document, data["environments"])
    if severities.KEY in data:
        yield from _severities(document, data[severities.KEY])


def _severities(document: Document, value: Json) -> Iterator[Diagnostic]:
    path = (severities.KEY,)
    if not isinstance(value, dict):
        yield _wrong_type(document, path, value, "a mapping from codes to severities, such as {TC409: error}")
        return
    for problem in severities.check(value):
        place = (*path, *problem.path)
        yield report(
            "TC013",
            document,
            place,
            problem.message,
            found=problem.found,
            expected=problem.expected,
            hint=problem.hint,
        )


def _environments(document: Document, value: Json) -> Iterator[Diagnostic]:
    path = ("environments",)
    if not isinstance(value, dict):
        yield _wrong_type(document, path, value, "a mapping from names of environments to their options")
        return
    if not value:
        yield report("TC013", document, path, "no environment", expected="at least one, such as prod: {}")
    for name, options in value.items():
        if not _LABEL.fullmatch(name):
            message = "the name of an environment is not a DNS label"
            yield report("TC013", document, (*path, name), message, found=name, expected=_LABEL_RULE)
        if isinstance(options, dict):
            yield from _unknown(document, (*path, name), options, ENVIRONMENT_KEYS)
        elif options is not None:
            yield _wrong_type(document, (*path, name), options, "a mapping, {} for no options")


def _unknown(document: Document, path: Path, data: JsonObject, known: Collection[str]) -> Iterator[Diagnostic]:
    for key in data:
        if key not in known:
            expected = " or ".join(known) or "no option: environments have none"
            yield report(
                "TC013", document, (*path, key), f"unknown key {key!r}", expected=expected, hint=suggest(key, known)
            )


def _wrong_type(document: Document, path: Path, value: Json, expected: str) -> Diagnostic:
    return report("TC013", document, path, "wrong type", found=_kind(value), expected=expected)


def _kind(value: Json) -> str:
    names = {bool: "a boolean", str: "a string", list: "a list", dict: "a mapping"}
    return "nothing" if value is None else names.get(type(value), "a number")
