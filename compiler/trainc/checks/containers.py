"""Containers that do not start, or start with too little memory; secrets in plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from trainc.admission.native import dropped_sources
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted, get, objects
from trainc.basics.regex import lazy
from trainc.findings import Finding, Severity, report
from trainc.findings.reporting import secrets_in_plain_text
from trainc.findings.secrets import Hidden
from trainc.gitops.pods import claim_templates, replicated_jobs, replicated_pods
from trainc.inputs.source import Document
from trainc.kube.pods import IMAGE, gated_fields
from trainc.kube.quantity import Quantity, QuantityError, from_json, parse
from trainc.plugins.base import POD_SPEC
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import report_at, source_of

MEMORY, COMMAND = "TC836", "TC837"
KINDS: Final = ("initContainers", "containers")
TEMPLATE: Final[Path] = ("spec", "template")
"""The path of the JobSet template in a runtime."""

_SHELLS: Final = ("sh", "bash", "dash", "ash", "ksh", "zsh")
_NAMES: Final = [[name] for name in (*_SHELLS, "-", "--", "_", "")]
"""The parameters after a script that only set the name that the shell shows in errors."""

_PARAMETERS = lazy(r"\$\{?[#!]?[0-9@*#]|\b(?:shift|getopts|source)\b|\bfor\s+\w+\s*(?:;|\bdo\b)|\beval\b")
"""How a script of a shell reads its parameters."""

_BYTE: Final = parse("1")
_MEBIBYTE: Final = parse("1Mi")
_PARTS: Final = ("m", "u", "n")
"""The suffixes with which Go writes fractions."""


def containers(
    data: JsonObject, prefix: Path = (), kinds: tuple[str, ...] = KINDS
) -> Iterator[tuple[Path, JsonObject, JsonObject]]:
    """Yield path, replicated job and container of all containers of a JobSet, or of that in a runtime at TEMPLATE."""
    for path, job in replicated_jobs(as_object(get(data, *prefix))):
        pod = as_object(get(job, *POD_SPEC))
        for kind in kinds:
            for number, container in enumerate(objects(pod.get(kind))):
                yield (*prefix, *path, *POD_SPEC, kind, number), job, container


def words(container: JsonObject) -> Iterator[tuple[Path, str]]:
    """Yield the words of a container's command line, with their paths in the container."""
    for key in ("command", "args"):
        for index, word in enumerate(as_list(container.get(key))):
            yield (key, index), str(word)


def _dropped(jobset: JsonObject) -> Iterator[tuple[Path, str]]:
    """Yield the path of each field that a server drops from the pods and claims of a JobSet, and what is said of it."""
    for _, at, pod in replicated_pods(jobset):
        for path, gate in gated_fields(pod):
            reason = f"its feature gate {gate} is off by default" if gate else "it does not have the field"
            what = "from the pods, with the volume and its mounts" if path[-1] == IMAGE else "from the pods"
            yield (*at, *path), f"{what}: {reason}"
        for index, volume in enumerate(objects(pod.get("volumes"))):
            template = get(volume, "ephemeral", "volumeClaimTemplate")
            yield from _dropped_sources(template, (*at, "volumes", index, "ephemeral", "volumeClaimTemplate"))
    for path, _, template in claim_templates(jobset):
        yield from _dropped_sources(template, path)


def _dropped_sources(template: Json, path: Path) -> Iterator[tuple[Path, str]]:
    for key, reason in dropped_sources(as_object(get(template, "spec"))):
        yield (*path, "spec", key), f"from the claim, and the volume is empty: {reason}"


def check_containers(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield findings about dropped fields, memory in fractions of bytes, root, and the words of command lines."""
    for path, reason in _dropped(jobset.data):
        found, hint = str(path[-1]), "remove it, unless your cluster supports it"
        message = f"Kubernetes 1.34 drops {found} {reason}"
        yield report_at("TC101", model, jobset, path, message, severity=Severity.WARNING, found=found, hint=hint)
    for name, path, pod in replicated_pods(jobset.data):
        yield from _memory(model, jobset, path, pod, f"the pod of job {name!r}")
    for path, _, container in containers(jobset.data):
        yield from _memory(model, jobset, path, container, f"container {container.get('name')!r}")
        yield from _root(model, jobset, path, container)
        yield from _capabilities(model, jobset, path, container)
        yield from _command(model, jobset, path, container)


def _command(model: Model, jobset: Object, path: Path, container: JsonObject) -> Iterator[Finding]:
    """Yield a warning for a command that is one word or none, and for words that its shell does not run."""
    named, line = f"container {container.get('name')!r}", [*words(container)]
    if not container.get("command"):
        return  # the image has the program
    where, first = line[0]
    if not first:
        message, hint = f"{named} has no program: the first word of command is empty", "remove it, or write the program"
        yield report_at(COMMAND, model, jobset, (*path, *where), message, found='""', hint=hint)
    elif len(first.split()) > 1:
        found = _short(first)
        message = f"{named} looks for a program called {found!r}, not {found.partition(' ')[0]!r}"
        hint = "write one list item per word, or command: [sh, -c, '...'] for a shell"
        yield report_at(COMMAND, model, jobset, (*path, *where), message, found=found, hint=hint)
    elif first.rpartition("/")[2] in _SHELLS:
        for where, message, hint in _shell(line[1:]):
            found = _short(str(get(container, *where)))
            text = f"the shell of {named} {message}"
            yield report_at(COMMAND, model, jobset, (*path, *where), text, found=found, hint=hint)


def _short(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


def _shell(line: list[tuple[Path, str]]) -> Iterator[tuple[Path, str, str]]:
    """Yield the path of a word after ``sh`` that the shell does not run as intended, a message and a hint."""
    has_script, index = False, 0
    while index < len(line) and line[index][1][:1] in ("-", "+"):
        option = line[index][1]
        has_script = has_script or (option[:2] != "--" and "c" in option)
        index += 2 if option in ("-o", "+o", "-O", "+O") else 1
    (where, text), *more = line[index:] or [((), "")]
    if not has_script and len(text.split()) > 1:
        yield where, f"looks for a script called {_short(text)!r}", "write -c before it"
    elif has_script and more and not _PARAMETERS.search(text) and [word for _, word in more] not in _NAMES:
        hint = "write the whole command line in one word after -c"
        yield more[0][0], f"runs only {_short(text)!r}: the words after it are parameters, which it does not use", hint


def _memory(model: Model, jobset: Object, path: Path, owner: JsonObject, shown: str) -> Iterator[Finding]:
    """Yield a warning for a limit below 1 MiB, or a request in fractions of bytes, and for each limit of 0.

    The kubelet takes 0 for no limit (calculateLinuxResources in pkg/kubelet/kuberuntime, emptyDirLimitEviction in
    pkg/kubelet/eviction of Kubernetes 1.34).
    """
    limits: list[Path] = [("resources", "limits", name) for name in ("cpu", "memory")]
    limits += [("volumes", index, "emptyDir", "sizeLimit") for index, _ in enumerate(objects(owner.get("volumes")))]
    for where in limits:
        amount = get(owner, *where)
        size = _quantity(amount)
        if amount is not None and size is not None and size.is_zero():
            message = f"{shown} has no limit in {dotted(where)}: the kubelet takes 0 for no limit"
            hint = "write an amount, or leave it out"
            yield report_at(MEMORY, model, jobset, (*path, *where), message, found=str(amount), hint=hint)
    for kind in ("limits", "requests"):
        amount = get(owner, "resources", kind, "memory")
        size = _quantity(amount)
        if size is None or size.sign() <= 0 or not size < _MEBIBYTE:
            continue
        if kind == "requests" and not size.canonical().endswith(_PARTS):
            continue
        document, source = source_of(model, jobset, (*path, "resources", kind, "memory"))
        written = get(document.data, *source)
        found = str(amount if isinstance(written, dict | list) or written is None else written)
        message = f"{shown} has a memory {kind[:-1]} of {found}: {_in_bytes(found)}"
        hint = (
            f"write {found[:-1]}Mi for mebibytes" if found.endswith("m") else "write it with a suffix, such as Mi or Gi"
        )
        yield report(MEMORY, document, source, message, found=found, hint=hint)


def _capabilities(model: Model, jobset: Object, path: Path, container: JsonObject) -> Iterator[Finding]:
    """Yield a warning for each capability with CAP_, to which containerd adds another one (WithCapabilities in CRI)."""
    for kind in ("add", "drop"):
        where: Path = ("securityContext", "capabilities", kind)
        for index, found in enumerate(as_list(get(container, *where))):
            if isinstance(found, str) and found.upper().startswith("CAP_"):
                message = (
                    f"container {container.get('name')!r}: containerd does not {kind} {found}, which it does not know"
                )
                details = {"severity": Severity.WARNING, "found": found, "hint": f"write {found[4:]}, without CAP_"}
                yield report_at("TC809", model, jobset, (*path, *where, index), message, **details)


def _root(model: Model, jobset: Object, path: Path, container: JsonObject) -> Iterator[Finding]:
    """Yield an error for a container that the kubelet never starts, since it must not run as root and does.

    Source: verifyRunAsNonRoot, pkg/kubelet/kuberuntime/security_context.go of Kubernetes 1.34.
    """
    contexts = ((*path, "securityContext"), (*path[:-2], "securityContext"))
    found = {}
    for key in ("runAsNonRoot", "runAsUser"):
        values = ((get(jobset.data, *where, key), (*where, key)) for where in contexts)
        found[key] = next((each for each in values if each[0] is not None), (None, ()))
    (required, _), (user, where) = found.values()
    if required is True and user == 0 and user is not False:
        message = f"container {container.get('name')!r} is never started: runAsNonRoot is true, but it runs as user 0"
        hint = "set another runAsUser, or remove runAsNonRoot"
        yield report_at("TC809", model, jobset, where, message, severity=model.severity, hint=hint)


def _in_bytes(written: str) -> str:
    found = _quantity(written)
    if found is None:
        return "this is less than 1 MiB"
    size = "less than one byte" if found < _BYTE else f"{found.value()} bytes"
    return f"the suffix m stands for thousandths, so this is {size}" if written.endswith("m") else f"this is {size}"


def _quantity(amount: Json) -> Quantity | None:
    try:
        return from_json(amount)
    except QuantityError:
        return None


# Secrets in plain text. Everyone who can read the repository can read them, even after they are removed.

CARRIERS = ("env", "command", "args", "storageUri")
"""The fields that pass a value to a container. Elsewhere a name that looks secret is a reference."""

_NO_SECRET = lazy(
    r"\$[({].*|`.*|(?-i:\$[A-Z_][A-Z0-9_]*)|<.*>|\.{0,2}/.*|file:.*|[0-9]{1,6}|\*+|(?:[a-z]{2,3}_)?x{3,}|changeme|todo",
    re.I | re.S,
)
_TEXT_TOKEN = lazy(
    r"(?:.*_)?(?:PAD|EOS|BOS|UNK|MASK|SEP|CLS|STOP|START|END|SPECIAL|IMAGE|DEFAULT|TRIGGER)_?TOKEN", re.I
)
"""Tokens of a language model."""


def check_secrets(model: Model) -> Iterator[Finding]:
    """Yield a finding for each value of TrainJob and runtime that looks like a secret, without showing it."""
    for document in (model.job, model.runtime):
        yield from secrets_in_plain_text(document, partial(_is_secret, document), faithful=model.options.faithful)


def _is_secret(document: Document, value: Hidden) -> bool:
    """Return whether a value that looks secret by its name reaches a container and is not a reference, path or code."""
    path = value.path
    if path[:1] != ("spec",) or not any(step in CARRIERS for step in path):
        return False
    if value.is_code or _NO_SECRET.fullmatch(value.text):
        return False
    names = (value.name.replace("-", "_"), get(document.data, *path[:-1], "name"))
    return not any(isinstance(name, str) and _TEXT_TOKEN.fullmatch(name) for name in names)
