"""From the documents given to `trainc build` to the text of their objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from trainc.cli.reading import Read
from trainc.cli.work import choose, definitions, no_document, nothing, parse_config, with_nothing, worth_telling
from trainc.documents.emit import emit_inert
from trainc.findings import Diagnostic, Silenced, has_errors, sort_key
from trainc.findings.inert import for_json
from trainc.kube.fieldorder import ordered_object
from trainc.options import Options
from trainc.pipeline import compile  # noqa: A004 - its public name
from trainc.read import merge
from trainc.records import replace
from trainc.settings import of_every_job
from trainc.source import JsonObject


def build(
    read: Read, paths: Iterable[str], output: str, faithful: bool, environment: str | None
) -> tuple[tuple[Diagnostic, ...], tuple[Silenced, ...], Callable[[], str]]:
    """Compile; return the findings, those silenced, and what gives the text of the objects.

    BadParameter for a wrong environment.
    """
    options, findings = _options(read, faithful, environment)
    crds = definitions(read.folders)
    result = compile(merge([read.given, read.platform]).sources, replace(options, crds=crds.sources))
    found = worth_telling([result.findings], read.platform.sources)
    beside = (*findings, *read.given.findings, *read.platform.findings, *crds.findings)
    findings = tuple(sorted((*beside, *found), key=sort_key))
    if not has_errors(findings) and not result.jobs:
        what = "no document here" if no_document(read.given) else "no TrainJob here"
        findings = with_nothing(findings, (nothing(path, what) for path in paths))
    return findings, result.silenced, lambda: _WRITERS[output](found.data for found in result.objects)


def _options(read: Read, faithful: bool, environment: str | None) -> tuple[Options, tuple[Diagnostic, ...]]:
    """Return what a repository adds to the documents given, and what is wrong with its file.

    Without an environment, it is the first one. BadParameter for one that is not there.
    """
    if faithful or read.config is None:
        return Options(faithful=faithful), ()
    config, findings = parse_config(read.config, read.lock)
    environment = config.environments[0] if environment is None else choose(config, environment)[0]
    return replace(config, data=of_every_job(config.data, environment)).options(environment), findings


def _yaml(objects: Iterable[JsonObject]) -> str:
    return "---\n".join(emit_inert(data) for data in objects)


def _json(objects: Iterable[JsonObject]) -> str:
    items = [ordered_object(data) for data in objects]
    made = {"apiVersion": "v1", "kind": "List", "items": items}
    return for_json(json.dumps(made, indent=2, ensure_ascii=False) + "\n")


_WRITERS: Mapping[str, Callable[[Iterable[JsonObject]], str]] = {"yaml": _yaml, "json": _json}
