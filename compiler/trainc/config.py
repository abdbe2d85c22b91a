"""trainc.yaml: what trainc compiles for. A pure function from its text; without the file, one environment, prod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from trainc.configdeploy import faults as deployment_faults
from trainc.configschema import misfits
from trainc.diagnostics import Diagnostic, has_errors, report, sort_key, suggest
from trainc.diagnostics.plaintext import spilled
from trainc.documents.problems import Problem, Refused
from trainc.documents.yaml import offsets, read_yaml
from trainc.findings import severities
from trainc.findings.severities import Problem as Fault
from trainc.imagelock import Lock
from trainc.options import FIXES, Options, Revision
from trainc.records import dataclass, field
from trainc.regex import lazy
from trainc.settings import RECOMMENDED, expanded
from trainc.source import Document, Json, JsonObject, Mark, Path, Source, as_list, as_object, get

_LABEL = lazy(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LABEL_RULE = "at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit"
_BEGINNING = lazy(r"[a-zA-Z0-9][-a-zA-Z0-9._:@]*(/[-a-zA-Z0-9._:@]+)*/?")
"""What stands at the beginning of an image's name: a registry, and as much of a path as there is."""

_ONLY_FOR = {"secret": "existing", "image": "job", "skipDryRunOnMissingResource": "external-secrets"}
"""Options of sshKeys, and the mode that reads them."""

_BOM = "\ufeff"

FILE = "trainc.yaml"


def _default() -> JsonObject:
    return {"environments": {"prod": {}}}


@dataclass(frozen=True, slots=True)
class Config:
    """What trainc.yaml says. ``environments`` are in the order of the file; ``data`` is the whole of it.

    ``document`` is its text, None where there is no file. ``lock`` is images.lock.yaml beside it.
    """

    environments: tuple[str, ...] = ("prod",)
    data: JsonObject = field(default_factory=_default, hash=False)
    document: Document | None = field(default=None, compare=False, repr=False)
    lock: Lock = Lock()

    def options(
        self,
        environment: str,
        crds: tuple[Source, ...] = (),
        base: Revision | None = None,
        policies_from: Revision | None = None,
    ) -> Options:
        """Return the options of a compilation for one environment."""
        return Options(
            environment=environment,
            config=self.data,
            config_document=self.document,
            crds=crds,
            base=base,
            policies_from=policies_from,
            lock=self.lock,
        )


def parse(source: Source | None) -> tuple[Config, tuple[Diagnostic, ...]]:
    """Return the configuration, and what is wrong with its text; the default where it is absent, empty or wrong.

    Findings are TC013, and those of any YAML text (TC001 to TC005, TC012).
    """
    if source is None:
        return Config(), ()
    data, document, findings = read_document(source)
    if not has_errors(findings):
        findings = (*findings, *sorted(_check(data, document), key=sort_key))
    if has_errors(findings) or not isinstance(data, dict):
        return Config(), findings
    data = {**_default(), **data}
    return Config(tuple(as_object(data["environments"])), data, document), findings


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
    def marks() -> Mapping[Path, Mark]:

        return {path: _mark(text, offset) for path, offset in offsets(text).items()}

    return cache(marks)


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
        yield report("TC013", document, (), "wrong type", found=_kind(data), expected="a mapping")
        return
    problems = [*misfits(data), *_environments(data), *_meanings(data), *deployment_faults(data)]
    if isinstance(levels := data.get(severities.KEY), dict):
        problems += (problem._replace(path=(severities.KEY, *problem.path)) for problem in severities.check(levels))
    yield from _told(document, problems)
    yield from spilled(document)


def report_faults(config: Config, faults: Iterable[Fault]) -> tuple[Diagnostic, ...]:
    """Return the findings (TC013) of faults in a configuration that was read without any."""
    return tuple(_told(config.document or Document(Source(FILE, b""), {}), faults))


def _told(document: Document, faults: Iterable[Fault]) -> Iterator[Diagnostic]:
    for fault in faults:
        found, expected, hint = fault.found, fault.expected, fault.hint
        yield report("TC013", document, fault.path, fault.message, found=found, expected=expected, hint=hint)


def _environments(data: JsonObject) -> Iterator[Fault]:
    path = ("environments",)
    if not isinstance(names := data.get("environments"), dict):
        return
    if not names:
        yield Fault(path, "no environment", expected="at least one, such as prod: {}")
    for name in names:
        if not _LABEL.fullmatch(name):
            message = "the name of an environment is not a DNS label"
            yield Fault((*path, name), message, found=name, expected=_LABEL_RULE)


def _meanings(data: JsonObject) -> Iterator[Fault]:
    """Yield what no schema says, of every place that may hold options."""
    yield from _fixes(data, ())
    places: list[Path] = [("defaults",), *(("environments", name) for name in as_object(data.get("environments")))]
    for path in places:
        options = as_object(get(data, *path))
        yield from _fixes(options, path)
        yield from _keys(options, path)
        yield from _registries(options, path)
        if len(as_object(options.get("destination"))) > 1:
            yield Fault((*path, "destination"), "name and server together", expected="one of name and server")


def _fixes(options: JsonObject, path: Path) -> Iterator[Fault]:
    for index, name in enumerate(as_list(options.get("fixes"))):
        if isinstance(name, str) and name != RECOMMENDED and name not in FIXES:
            expected = f"{RECOMMENDED}, or a name from docs/fixes.md"
            yield Fault((*path, "fixes", index), f"no fix {name!r}", name, expected, suggest(name, FIXES))


def _keys(options: JsonObject, path: Path) -> Iterator[Fault]:
    keys = expanded(options, "sshKeys")
    if keys.get("mode") == "existing" and "secret" not in keys:
        message = "sshKeys: existing needs the name of the Secret"
        yield Fault((*path, "sshKeys"), message, expected="{mode: existing, secret: <name>}")
    mode = keys.get("mode", "job")
    for key, of in _ONLY_FOR.items():
        if key in keys and mode != of:
            yield Fault((*path, "sshKeys", key), f"sshKeys.{key} says nothing with mode {mode}", expected=f"mode: {of}")


def _registries(options: JsonObject, path: Path) -> Iterator[Fault]:
    for beginning, place in as_object(options.get("registries")).items():
        where = (*path, "registries", beginning)
        if not _BEGINNING.fullmatch(beginning):
            expected = "such as ghcr.io or docker.io/library"
            yield Fault(where, "not the beginning of an image's name", beginning, expected)
        elif isinstance(place, str) and beginning.endswith("/") != place.endswith("/"):
            yield Fault(where, "one of the two ends in a slash", place, "both end in a slash, or neither")


def _kind(value: Json) -> str:
    names = {bool: "a boolean", str: "a string", list: "a list", dict: "a mapping"}
    return "nothing" if value is None else names.get(type(value), "a number")
