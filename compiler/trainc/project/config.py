"""trainc.yaml: what trainc compiles for. A pure function from its text; without the file, one environment, prod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object, get
from trainc.findings import Finding, has_errors, report, severities, sort_key, suggest
from trainc.findings.display import is_printable
from trainc.findings.reporting import secrets_in_plain_text
from trainc.inputs.imagelock import Lock
from trainc.inputs.options import Options, Revision
from trainc.inputs.settings import RECOMMENDED, ConfigFile, expanded, options_of
from trainc.inputs.source import Document, Source
from trainc.project.foreign import KEY as UNMANAGED
from trainc.project.typedfiles import convert, read_document
from trainc.upstream import FIXES

FILE = "trainc.yaml"
CODE = "TC013"

_ONLY_FOR = {"secret": "existing", "image": "job", "skipDryRunOnMissingResource": "external-secrets"}
"""Options of sshKeys, and the mode that reads them."""

_TOOLS = ("argocd", "flux")
_RESERVED = ("out", "jobs", "runtimes", "policies")
"""Folders with a meaning: Argo CD's and Flux's objects cannot be written to them."""

_HIDDEN = (".git", "git~1", ".github")
"""Folders that git and GitHub read: what is written to them could run."""


def _default() -> JsonObject:
    return {"environments": {"prod": {}}}


class Config(Struct, frozen=True):
    """What trainc.yaml says. ``environments`` are in the order of the file; ``data`` is the whole of it.

    ``document`` is its text, None where there is no file. ``lock`` is images.lock.yaml beside it.
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
    """Return the configuration, and what is wrong with its text; the default where it is absent, empty or wrong.

    Findings are TC013, and those of any YAML text (TC001 to TC005, TC012).
    """
    if source is None:
        return Config(), ()
    value, document, findings = read_document(source)
    if value is not None and not has_errors(findings):
        _, found = convert(value, document, ConfigFile, CODE)
        findings = (*findings, *sorted((*found, *_rules(document)), key=sort_key))
    if value is None or has_errors(findings):
        return Config(), findings
    data = {**_default(), **document.data}
    return Config(tuple(as_object(data["environments"])), data, document), findings


def _rules(document: Document) -> Iterator[Finding]:
    """Yield what the types of trainc.yaml cannot say."""
    data = document.data
    yield from _fixes(document, ())
    names = as_object(data.get("environments"))
    paths: list[Path] = [("defaults",), *(("environments", name) for name in names)]
    for path in paths:
        yield from _fixes(document, path)
        yield from _ssh_keys(document, path)
        for prefix, replacement in as_object(get(data, *path, "registries")).items():
            if isinstance(replacement, str) and prefix.endswith("/") != replacement.endswith("/"):
                message, expected = "only one of the two ends in a slash", "both end in a slash, or neither"
                where = (*path, "registries", prefix)
                yield report(CODE, document, where, message, found=replacement, expected=expected)
        if len(as_object(get(data, *path, "destination"))) > 1:
            where, expected = (*path, "destination"), "one of name and server"
            yield report(CODE, document, where, "name and server together", expected=expected)
    for index, file in enumerate(as_list(data.get(UNMANAGED))):
        if isinstance(file, str) and file.startswith("out/") and not _is_plain(file.rstrip("/")):
            message = "not a plain path from the folder of trainc.yaml"
            yield report(CODE, document, (UNMANAGED, index), message, found=file, expected="out/prod/README.md")
    written = (finding for name in names for finding in (*_folders(document, name), *_written(document, name)))
    yield from {finding.path: finding for finding in written}.values()
    yield from severities.check(document)
    yield from secrets_in_plain_text(document)


def _fixes(document: Document, path: Path) -> Iterator[Finding]:
    for index, name in enumerate(as_list(get(document.data, *path, "fixes"))):
        if isinstance(name, str) and name != RECOMMENDED and name not in FIXES:
            where, expected = (*path, "fixes", index), f"{RECOMMENDED}, or a name from docs/fixes.md"
            hint = suggest(name, FIXES)
            yield report(CODE, document, where, f"no fix {name!r}", found=name, expected=expected, hint=hint)


def _ssh_keys(document: Document, path: Path) -> Iterator[Finding]:
    keys = expanded(as_object(get(document.data, *path)), "sshKeys")
    mode, where = keys.get("mode", "job"), (*path, "sshKeys")
    if mode == "existing" and "secret" not in keys:
        expected = "{mode: existing, secret: <name>}"
        yield report(CODE, document, where, "sshKeys: existing needs the name of the Secret", expected=expected)
    for key, of in _ONLY_FOR.items():
        if key in keys and mode != of:
            message = f"sshKeys.{key} has no effect with mode {mode}"
            yield report(CODE, document, (*where, key), message, expected=f"mode: {of}")


def without_repository(config: Config, environments: Iterable[str]) -> tuple[Finding, ...]:
    """Return a finding for each of some environments that has no argocd.repoURL, at the place to write it."""
    document = config.document or Document(Source(FILE, b""), {})
    return tuple(found for name in environments for found in _without_repository(document, config.data, name))


def _without_repository(document: Document, data: JsonObject, name: str) -> Iterator[Finding]:
    if not isinstance(get(options_of(data, name), "argocd", "repoURL"), str):
        message = f"environment {name} has no argocd.repoURL, which Argo CD's objects need"
        expected = "the URL by which Argo CD clones this repository"
        yield report(CODE, document, _position(data, name, "argocd"), message, expected=expected)


def _written(document: Document, name: str) -> Iterator[Finding]:
    if get(options_of(document.data, name), "argocd", "write") is not None:
        yield from _without_repository(document, document.data, name)


def _folders(document: Document, name: str) -> Iterator[Finding]:
    """Yield each folder for the objects of Argo CD or Flux that cannot be one."""
    for tool in _TOOLS:
        folder = get(options_of(document.data, name), tool, "write")
        if isinstance(folder, str) and (reason := _unusable(folder)) is not None:
            where, expected = _position(document.data, name, tool), "a folder of this repository, such as deploy/argocd"
            yield report(CODE, document, (*where, "write"), reason, found=folder, expected=expected)


def _unusable(folder: str) -> str | None:
    """Return why a folder cannot be written to, or None."""
    if not _is_plain(folder):
        return "not a plain path from the folder of trainc.yaml"
    # Some file systems ignore case, and dots and spaces at the end of a name.
    steps = [(step, step.casefold().rstrip(". ")) for step in folder.split("/")]
    for step, name in steps:
        if name in _HIDDEN:
            return f"{step}/ belongs to git or GitHub"
    return f"{steps[0][0]}/ is reserved" if steps[0][1] in _RESERVED else None


def _is_plain(path: str) -> bool:
    steps = path.split("/")
    return "\\" not in path and is_printable(path) and all(step not in ("", ".", "..") for step in steps)


def _position(data: JsonObject, name: str, tool: str) -> Path:
    """Return the path of a tool's options for an environment, or of where they would be."""
    own = as_object(as_object(data.get("environments")).get(name))
    if tool not in own and tool in as_object(data.get("defaults")):
        return ("defaults", tool)
    return ("environments", name, tool) if tool in own else ("environments", name)
