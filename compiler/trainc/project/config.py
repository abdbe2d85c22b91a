"""Converts trainc.yaml, images.lock.yaml and other typed YAML files from text to values. Pure.

msgspec validates a file by its type, and stops at the first error. Only then is jsonschema loaded, which is slow, to
find all errors by the schema that msgspec generates from the type.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from trainc.basics.about import docs_page
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted, existing, get
from trainc.documents.libyaml import hidden_breaks
from trainc.documents.positions import BOM, Lines
from trainc.documents.problems import Problem, Refused
from trainc.documents.yaml import MORE, offsets, read_yaml
from trainc.findings import Finding, Severity, has_errors, report, severities, sort_key, suggest
from trainc.findings.display import is_printable
from trainc.findings.reporting import secrets_in_plain_text
from trainc.gitops.argocd import DEFAULT, Tree
from trainc.inputs.imagelock import IMAGES, NAME, Lock, LockFile, is_registry, key_of
from trainc.inputs.options import Options, Revision
from trainc.inputs.settings import RECOMMENDED, ConfigFile, Settings, expanded, option_path, options_of, settings_of_all
from trainc.inputs.source import Document, Source
from trainc.project.names import CONFIG, DEEPEST, TOO_DEEP
from trainc.upstream import FIXES

CODE = "TC013"

UNMANAGED = "unmanaged"
"""The key with the paths below out/ that others may write to."""

_ONLY_FOR = {"secret": "existing", "image": "job", "skipDryRunOnMissingResource": "external-secrets"}
"""Options of sshKeys, and the mode that they belong to."""

_FULL = "a full name, such as docker.io/library/python or docker.io/team"

_TOOLS = ("argocd", "flux")
_READ_BY: Mapping[Path, str] = {
    ("argocd",): "argocd",
    ("destination",): "argocd",
    ("createNamespace",): "argocd",
    ("sshKeys", "skipDryRunOnMissingResource"): "argocd",
    ("flux",): "flux",
}
"""Options of environments that only one target reads."""

_RESERVED = ("out", "jobs", "runtimes", "policies")
"""Folders to which Argo CD's and Flux's objects cannot be written."""

_HIDDEN = (".git", "git~1", ".github")
"""Folders that git and GitHub read, and from which they may run code."""


def _default() -> JsonObject:
    return {"environments": {"prod": {}}}


class Config(Struct, frozen=True):
    """The configuration. ``environments`` are in the order of the file; ``data`` is the whole file.

    ``document`` is None without a trainc.yaml. ``lock`` is images.lock.yaml.
    """

    environments: tuple[str, ...] = ("prod",)
    data: JsonObject = field(default_factory=_default)
    document: Document | None = None
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


def parse(source: Source | None) -> tuple[Config, tuple[Finding, ...]]:
    """Return the configuration and findings; the default if the file is missing, empty or invalid.

    Findings are TC013, and those of any YAML text (TC001 to TC005, TC012).
    """
    if source is None:
        return Config(), ()
    value, document, findings = read_document(source)
    data = {**_default(), **document.data}
    if value is not None and not has_errors(findings):
        _, found = convert(value, document, ConfigFile, CODE)
        findings = (*findings, *sorted((*found, *_rules(replace(document, data=data))), key=sort_key))
    if value is None or has_errors(findings):
        return Config(), findings
    return Config(tuple(as_object(data["environments"])), data, document), findings


def _rules(document: Document) -> Iterator[Finding]:
    """Yield violations that the types of trainc.yaml cannot express; ``document`` has an environment, if by default."""
    data = document.data
    yield from _fixes(document, ())
    names = as_object(data.get("environments"))
    paths: list[Path] = [("defaults",), *(("environments", name) for name in names)]
    for path in paths:
        yield from _fixes(document, path)
        yield from _ssh_keys(document, path)
        yield from _registries(document, path)
        if len(as_object(get(data, *path, "destination"))) > 1:
            where, expected = (*path, "destination"), "name or server"
            yield report(CODE, document, where, "destination has both name and server", expected=expected)
    for index, name in enumerate(as_list(get(data, "lock", "required"))):
        if isinstance(name, str) and not is_registry(name.partition("/")[0]):
            message, expected = f"lock.required[{index}] does not begin with a registry", _FULL
            yield report(CODE, document, ("lock", "required", index), message, found=name, expected=expected)
    for index, file in enumerate(as_list(data.get(UNMANAGED))):
        if isinstance(file, str) and file.startswith("out/") and not _is_plain(file.rstrip("/")):
            message = "not a plain path relative to the folder of trainc.yaml"
            yield report(CODE, document, (UNMANAGED, index), message, found=file, expected="out/prod/README.md")
    written = [finding for name in names for finding in _folders(document, name)]
    for name in names:
        options = options_of(data, name)
        if options.get("target") != "flux" and get(options, "argocd", "write") is not None:
            written += without_repository(Config(data=data, document=document), [name])
    yield from {finding.path: finding for finding in written}.values()
    yield from _without_effect(document)
    yield from _split_projects(document)
    yield from _read_by_flux(document)
    yield from severities.check(document)
    yield from secrets_in_plain_text(document, lambda value: value.path[-1] == "repoURL")  # Argo CD's objects have it


def _fixes(document: Document, path: Path) -> Iterator[Finding]:
    for index, name in enumerate(as_list(get(document.data, *path, "fixes"))):
        if isinstance(name, str) and name != RECOMMENDED and name not in FIXES:
            where, expected = (*path, "fixes", index), f"{RECOMMENDED}, or a name from {docs_page('fixes')}"
            hint = suggest(name, FIXES)
            yield report(CODE, document, where, f"unknown fix {name!r}", found=name, expected=expected, hint=hint)


def _registries(document: Document, path: Path) -> Iterator[Finding]:
    for prefix, replacement in as_object(get(document.data, *path, "registries")).items():
        if not isinstance(replacement, str):
            continue
        where, version = (*path, "registries", prefix), _version(prefix)
        if prefix.endswith("/") != replacement.endswith("/"):
            message, expected = "only one of the two prefixes ends in a slash", "both or neither"
            yield report(CODE, document, where, message, found=replacement, expected=expected)
        elif version != _version(replacement):  # an image keeps the digest that the lock has for its own tag
            message, hint = "registries cannot change tags and digests", "to run another image, set it in a patch"
            expected = f"a name that ends with {version}" if version else "a name without tag and digest"
            yield report(CODE, document, where, message, found=replacement, expected=expected, hint=hint)


def _version(prefix: str) -> str:
    """Return tag and digest of the beginning of an image's name; without a slash, a colon begins a port."""
    _, slash, last = prefix.rpartition("/")
    return last[len(last.partition("@")[0].partition(":")[0]) :] if slash else ""


def _ssh_keys(document: Document, path: Path) -> Iterator[Finding]:
    keys = expanded(as_object(get(document.data, *path)), "sshKeys")
    mode, where = keys.get("mode", "job"), (*path, "sshKeys")
    if mode == "existing" and "secret" not in keys:
        expected = "{mode: existing, secret: <name>}"
        yield report(CODE, document, where, "sshKeys with mode existing requires secret", expected=expected)
    for key, of in _ONLY_FOR.items():
        if key in keys and mode != of:
            message = f"sshKeys.{key} has no effect with mode {mode}"
            yield report(CODE, document, (*where, key), message, expected=f"mode: {of}")


def _without_effect(document: Document) -> Iterator[Finding]:
    """Yield a warning for each option that the targets of all environments which have it ignore."""
    targets: dict[tuple[Path, Path], set[str]] = {}
    for name, settings in settings_of_all(document.data).items():
        places: tuple[Path, ...] = (("defaults",), ("environments", name))
        for place in places:
            for option in _READ_BY:
                if get(document.data, *place, *option) is not None:
                    targets.setdefault((place, option), set()).add(settings.target)
    for (place, option), found in targets.items():
        if (reader := _READ_BY[option]) not in found:
            message, expected = f"{dotted(option)} has no effect with target {found.pop()}", f"target: {reader}"
            yield report(CODE, document, (*place, *option), message, severity=Severity.WARNING, expected=expected)


def without_repository(config: Config, environments: Iterable[str]) -> Iterator[Finding]:
    """Yield a finding for each environment without argocd.repoURL, at the position to add it."""
    data, document = config.data, config.document or Document(Source(CONFIG, b""), {})
    for name in environments:
        if not isinstance(get(options_of(data, name), "argocd", "repoURL"), str):
            message = f"environment {name} has no argocd.repoURL, which Argo CD's objects require"
            expected = "the URL from which Argo CD clones this repository"
            hint = f"set argocd.repoURL below environments.{name}, or below defaults for all environments"
            if get(data, "environments", name, "argocd") and get(data, "defaults", "argocd", "repoURL"):
                hint = f"repeat it below environments.{name}: argocd there replaces that of defaults as a whole"
            where = existing(data, option_path(data, name, "argocd"))
            yield report(CODE, document, where, message, expected=expected, hint=hint)


def sharing_projects(config: Config, environments: Iterable[str]) -> tuple[str, ...]:
    """Return ``environments`` and those that name the AppProject of one of them, in the order of trainc.yaml."""
    of_all = {name: _project(name, each) or name for name, each in settings_of_all(config.data).items()}
    wanted = {of_all[name] for name in environments}
    return tuple(name for name, project in of_all.items() if project in wanted)


def _project(name: str, settings: Settings) -> tuple[str, str] | None:
    """Return namespace and name of the AppProject of an environment, if trainc writes it."""
    project = Tree(name, settings).project
    return (settings.argocd.namespace, project) if settings.target == "argocd" and project != DEFAULT else None


def _split_projects(document: Document) -> Iterator[Finding]:
    """Yield a warning for each environment that writes the AppProject of another one to another folder."""
    first: dict[tuple[str, str], tuple[str, str]] = {}
    for name, settings in settings_of_all(document.data).items():
        project = _project(name, settings)
        if project is None or not settings.argocd.repo_url:
            continue
        folder = settings.argocd.write or "no folder"
        other, other_folder = first.setdefault(project, (name, folder))
        if folder != other_folder:
            places = f"{other_folder} (environment {other}) and {folder} (environment {name})"
            effect = "one Argo CD would replace each by the other, and refuse the Applications of one environment"
            message = f"AppProject {project[1]} is in {places}, with different content: {effect}"
            where = existing(document.data, option_path(document.data, name, "argocd", "project"))
            expected = "one folder in argocd.write, or different projects"
            yield report(CODE, document, where, message, severity=Severity.WARNING, expected=expected)


def _read_by_flux(document: Document) -> Iterator[Finding]:
    """Yield a warning for each folder that Flux reads with another one: it also reads all folders below it."""
    of_all = settings_of_all(document.data)
    found = [(name, each.target, folder) for name, each in of_all.items() if (folder := each.tool.deployment_folder)]
    for name, target, folder in found:
        for other, tool, below in found if target == "flux" else ():
            if f"{below}/".startswith(f"{folder}/") and (tool, below) != (target, folder):
                message = f"Flux would also apply {tool}.write {below} (environment {other}): it reads subfolders"
                where = existing(document.data, option_path(document.data, name, "flux", "write"))
                expected = "a folder that contains no other one"
                yield report(CODE, document, where, message, severity=Severity.WARNING, found=folder, expected=expected)


def _folders(document: Document, name: str) -> Iterator[Finding]:
    """Yield each folder to which the objects of Argo CD or Flux cannot be written."""
    for tool in _TOOLS:
        folder = get(options_of(document.data, name), tool, "write")
        if isinstance(folder, str) and (reason := _unusable(folder)) is not None:
            where = option_path(document.data, name, tool, "write")
            expected = "a folder of this repository, such as deploy/argocd"
            yield report(CODE, document, where, reason, found=folder, expected=expected)


def _unusable(folder: str) -> str | None:
    """Return why a folder cannot be written to, or None."""
    if not _is_plain(folder):
        return "not a plain path relative to the folder of trainc.yaml"
    # Some file systems ignore case, and dots and spaces at the end of a name.
    steps = [(step, step.casefold().rstrip(". ")) for step in folder.split("/")]
    for step, name in steps:
        if name in _HIDDEN:
            return f"{step}/ belongs to git or GitHub"
    if len(steps) >= DEEPEST:  # with argocd-cm/ in it
        return TOO_DEEP
    return f"{steps[0][0]}/ is reserved" if steps[0][1] in _RESERVED else None


def _is_plain(path: str) -> bool:
    steps = path.split("/")
    return "\\" not in path and is_printable(path) and all(step not in ("", ".", "..") for step in steps)


_SHOWN = 60
"""The most characters of a value that a finding shows."""

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "boolean": "a boolean",
    "integer": "an integer",
    "null": "null",
}
T = TypeVar("T")
_SECOND: Final = "this file has one document, which ends before this line"
_ONE: Final = "move what follows into the document, or remove it"


def read_document(source: Source) -> tuple[Json, Document, tuple[Finding, ...]]:
    """Return the YAML value of a text that is not a Kubernetes object, a document for findings, and findings.

    Findings are those of any YAML text: TC001 to TC005, TC012. The document has no data if the value is not a mapping.
    """
    text = source.text if isinstance(source.text, str) else source.text.decode("utf-8", "surrogateescape")
    text = text.removeprefix(BOM)
    lines = Lines(text)
    try:
        data, problems = read_yaml(text)
    except Refused as refusal:
        mark = lines.mark(refusal.offset)
        document = Document(source, {}, 0, lambda: {(): mark})
        return None, document, (_finding(document, refusal.problem),)
    document = Document(source, data if isinstance(data, dict) else {}, 0, lines.marks(partial(offsets, text), 0))
    findings = [_finding(document, problem) for problem in problems]
    for offset, problem in hidden_breaks(text):
        findings.append(_finding(replace(document, data={}, marks={(): lines.mark(offset)}.copy), problem))
    return data, document, tuple(findings)


def _finding(document: Document, problem: Problem) -> Finding:
    message, hint = problem.message, problem.hint
    if problem.code == "TC002":  # the words are about files that hold several documents
        message, hint = (_SECOND, _ONE) if message == MORE else (message, None)
    return report(problem.code, document, problem.path, message, found=problem.found, hint=hint)


def convert(data: Json, document: Document, kind: type[T], code: str) -> tuple[T | None, list[Finding]]:
    """Return a value converted to a type, or None and a finding of ``code`` for each error."""
    try:
        return msgspec.convert(data, kind), []
    except msgspec.ValidationError as error:
        rows = dict.fromkeys(misfits(data, kind)) or {((), str(error), None, None, None): None}
        return None, [
            report(code, document, path, message, found=found, expected=expected, hint=hint)
            for path, message, found, expected, hint in rows
        ]


Words = tuple[Path, str, str | None, str | None, str | None]
"""Path, message, found, expected and hint."""


def misfits(data: Json, kind: type[Any]) -> Iterator[Words]:
    """Yield the errors of a value by the schema of a type."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    # In JSON Schema 1.0 is an integer, for msgspec it is not.
    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    validator: Any = extend(Draft202012Validator, type_checker=checker)  # type: ignore[no-untyped-call]
    for error in validator(msgspec.json.schema(kind)).iter_errors(data):
        yield from _words(error)


def _words(error: Any) -> Iterator[Words]:
    """Yield the text of a ValidationError of jsonschema in the style of trainc."""
    path, value, wanted = tuple(error.absolute_path), error.instance, error.validator_value
    where = dotted(path) or "the file"
    match error.validator:
        case "additionalProperties":
            known = sorted(error.schema["properties"])
            for key in sorted(value.keys() - known):
                yield (*path, key), f"unknown key {key!r}", None, ", ".join(known), suggest(key, known)
        case "required":
            for key in sorted({*wanted} - value.keys()):
                yield path, f"{dotted((*path, key))} is missing", None, key, None
        case "anyOf" if alternative := _alternative(error):
            for each in alternative:
                yield from _words(each)
        case "anyOf" | "enum" | "type":
            yield path, *_choice(where, value, wanted if error.validator == "anyOf" else [error.schema])
        case "pattern" if "propertyNames" in error.relative_schema_path:
            yield (*path, value), *_limit(repr(value), error)
        case _:
            yield path, *_limit(where, error)


def _limit(where: str, error: Any) -> tuple[str, str | None, str | None, str | None]:
    """Return message, found, expected and hint for a value of the right type that is not valid."""
    value, wanted = error.instance, error.validator_value
    found = value if isinstance(value, str) else _show(value)
    match error.validator:
        case "pattern":
            noun, _, rule = error.schema["patternErrorMessage"].partition(": ")
            return f"{where} is not {noun}", found, rule, None
        case "minLength" | "minItems" | "minProperties":
            return f"{where} must not be empty", None, None, None
        case "maxLength":
            return f"{where} is too long", found, f"at most {wanted} characters", None
        case "maxItems" | "maxProperties":
            return f"{where} has too many entries", str(len(value)), f"at most {wanted}", None
        case "minimum" | "maximum":
            bound = f"{'greater' if error.validator == 'minimum' else 'less'} than or equal to {wanted}"
            return f"{where} must be {bound}", found, bound, None
    return f"{where}: {error.message}", None, None, None


def _alternative(error: Any) -> list[Any]:
    """Return the errors of the alternative that the value has the type of, if any."""
    found: dict[object, list[Any]] = {}
    for each in error.context:
        found.setdefault(each.schema_path[0], []).append(each)
    for errors in found.values():
        if not any(not each.relative_path and each.validator in ("type", "enum") for each in errors):
            return errors
    return []


def _choice(where: str, value: Json, alternatives: Iterable[Mapping[str, Any]]) -> tuple[str, str, str, str | None]:
    """Return message, found, expected and hint for a value that matches no alternative."""
    texts: list[str] = []
    types: list[str] = []
    for each in alternatives:
        texts += map(str, each.get("enum", ()))
        if "enum" not in each and each.get("type") != "null":
            types.append(_TYPES["object" if "$ref" in each else each["type"]])
    *most, last = [*(f'"{text}"' for text in texts), *types]
    expected = f"{', '.join(most)} or {last}" if most else last
    hint = None
    if isinstance(value, str):
        hint = suggest(value, texts) or ("begin each item with a dash" if _TYPES["array"] in types else None)
    return f"{where} must be {expected}", _show(value), expected, hint


def _show(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


LOCK_CODE = "TC701"

HEADER = (
    "# Written by 'trainc image lock': the digest of each image, one image per line, sorted.\n"
    "# 'trainc render' adds the digests to the image names in out/.\n"
)


def parse_lock(source: Source | None) -> tuple[Lock, tuple[Finding, ...]]:
    """Return the lock, empty after an error, and findings: TC701, and those of any YAML text."""
    if source is None:
        return Lock(), ()
    value, document, findings = read_document(source)
    if has_errors(findings):
        return Lock(), findings
    file, found = convert({} if value is None else value, document, LockFile, LOCK_CODE)
    for name in as_object(document.data.get(IMAGES)):
        if NAME.fullmatch(name) is None or key_of(name) != name:
            full = key_of(name) if "@" not in name else None
            expected = full or "registry, path and tag, such as docker.io/library/python:3.12"
            message = "not the full name of an image" if full else "not the name of an image"
            found.append(report(LOCK_CODE, document, (IMAGES, name), message, found=name, expected=expected))
    findings = (*findings, *sorted(found, key=sort_key))
    return (Lock() if file is None or has_errors(findings) else Lock(file.images, document)), findings


def lock_text(digests: Mapping[str, str]) -> str:
    """Return the text of a lock file, which depends on the digests only."""
    # A host in brackets, an IPv6 address, would be a list.
    quoted = {name: f'"{name}"' if name.startswith("[") else name for name in digests}
    lines = "".join(f"  {quoted[name]}: {digest}\n" for name, digest in sorted(digests.items()))
    return f"{HEADER}{IMAGES}:\n{lines}" if lines else f"{HEADER}{IMAGES}: {{}}\n"
