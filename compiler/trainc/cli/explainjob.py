"""`trainc explain NAMESPACE/JOB`: compiles the job and prints where its fields came from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from trainc.basics.jsonvalues import get
from trainc.cli.command import CLEAN
from trainc.cli.compiling import choose
from trainc.cli.echo import echo
from trainc.cli.reporter import Reporter
from trainc.documents.classify import TRAINJOB
from trainc.documents.load import load
from trainc.findings import Finding, Severity, has_errors, sort_key, suggest
from trainc.gitops.runtime_resources import FOLDER
from trainc.inputs.options import Options
from trainc.inputs.source import Source
from trainc.pipeline.compile import Build, compile  # noqa: A004 - its public name
from trainc.plugins.model import Objects
from trainc.project.environments import JOBS, load_config
from trainc.project.read import Inputs, merge, read_platform, read_tree
from trainc.provenance.explain import Miss, Table, Unknown, as_json, as_text, field_name, find, table
from trainc.provenance.explain import choose as choose_objects

WHAT = "NAMESPACE/JOB"
FIELD = "FIELD"


def explain_job(root: Path, what: str, field: str, environment: str | None, output: str) -> int:
    """Print the origins of the fields of a job's objects, and return the exit status. Raises BadParameter."""
    reporter = Reporter("text", "error", quiet=True, verbose=False, aside=True)
    config, findings = load_config(root)
    environments = choose(config, environment)
    if has_errors(findings):
        return _refused(reporter, findings)
    namespace, _, name = what.partition("/")
    jobs = _read(root, namespace, name)
    inputs = merge([jobs, read_platform(root)])
    for each in environments:
        options = config.options(each)
        build = compile(inputs.sources, options)
        objects = _objects(build, options, namespace, name)
        if objects is None and not has_errors(build.findings):
            continue
        if has_errors(build.findings) or has_errors(inputs.findings):
            return _refused(reporter, (*inputs.findings, *build.findings))
        tables = _tables(objects or (), field, options)
        echo(as_json(tables) if output == "json" else as_text(tables), nl=False, form=output)
        return CLEAN
    where = f"environment {environment}" if environment else "any environment of trainc.yaml"
    raise click.BadParameter(f"{what} not found in {where}", param_hint=WHAT)


def _refused(reporter: Reporter, findings: Iterable[Finding]) -> int:
    wrong = sorted((one for one in findings if one.severity is Severity.ERROR), key=sort_key)
    reporter.findings(wrong)
    return reporter.status(wrong)


def _objects(build: Build, options: Options, namespace: str, name: str) -> Objects | None:
    """Return the objects of a job, or those that the jobs of a namespace share; None if the environment has none."""
    if name == FOLDER:
        place = options.settings.namespaces.get(namespace, namespace)
        return tuple(one.obj for one in build.shared if one.namespace == place) or None
    return build.jobs[0].objects if build.jobs else None


def _tables(objects: Objects, field: str, options: Options) -> list[Table]:
    """Return a table for each object that a field selects. Raises BadParameter for an unknown field."""
    chosen = choose_objects(objects, field)
    if isinstance(chosen, Unknown):
        hint = f"\nHint: {chosen.hint}" if chosen.hint else ""
        raise click.BadParameter(f"{chosen.message}.{hint}", param_hint=FIELD)
    meant, rest = chosen
    found = [(made, find(made.data, rest)) for made in meant]
    for made, paths in found:
        if isinstance(paths, Miss):
            near = suggest(paths.step, paths.known)
            hint = near or (f"it contains {', '.join(paths.known)}" if paths.known else "it is a value, not a mapping")
            message = f"{made.kind} {made.name}: {paths.step} not found in {field_name(paths.at)}"
            raise click.BadParameter(f"{message}.\nHint: {hint}", param_hint=FIELD)
    return [table(made, paths, options) for made, paths in found if not isinstance(paths, Miss)]


def _read(root: Path, namespace: str, name: str) -> Inputs:
    """Read the file of a job, or all of a namespace for its shared objects. Raises BadParameter if not found."""
    inputs = read_tree(root, f"{JOBS}/{namespace}") if namespace and "/" not in name else Inputs()
    if name == FOLDER and inputs.sources:
        return inputs
    names = {source.name: _names(source) for source in inputs.sources}
    sources = tuple(source for source in inputs.sources if name in names[source.name])
    if sources:
        return Inputs(sources, inputs.findings)
    known = [f"{_namespace(source)}/{job}" for source in read_tree(root, JOBS).sources for job in _names(source)]
    what = f"{namespace}/{name}"
    hint = suggest(what, known) or f"{JOBS}/ has {len(known)} jobs"
    raise click.BadParameter(f"TrainJob {what!r} not found in {JOBS}/.\nHint: {hint}", param_hint=WHAT)


def _names(source: Source) -> tuple[str, ...]:
    documents = (document.data for document in load(source)[0])
    return tuple(str(get(data, "metadata", "name")) for data in documents if data.get("kind") == TRAINJOB)


def _namespace(source: Source) -> str:
    return source.name.split("/")[1]
