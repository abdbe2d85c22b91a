"""`trainc explain NAMESPACE/JOB`: compiles the job and prints where its fields came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from trainc.basics.jsonvalues import dotted
from trainc.cli.command import CLEAN, WrongValue, echo
from trainc.cli.compiling import choose
from trainc.cli.completion import names_in
from trainc.cli.reporter import Reporter
from trainc.documents.classify import TRAINJOB
from trainc.findings import Finding, Severity, has_errors, sort_key, suggest
from trainc.findings.display import counted
from trainc.gitops.runtime_resources import FOLDER
from trainc.inputs.options import Options
from trainc.pipeline.compile import load_all, run, with_neighbours
from trainc.plugins.model import Objects
from trainc.project.environments import load_config, read_others
from trainc.project.names import JOBS
from trainc.project.read import Inputs, merge, read_tree
from trainc.provenance.explain import Miss, Table, Unknown, as_json, as_text, find, table
from trainc.provenance.explain import choose as choose_objects

WHAT = "NAMESPACE/JOB"
FIELD = "FIELD"


def explain_job(root: Path, what: str, field: str, environment: str | None, output: str) -> int:
    """Print the origins of the fields of a job's objects, and return the exit status. Raises BadParameter."""
    config, findings = load_config(root)
    if has_errors(findings):
        return _report_errors(findings)
    environments = choose(config, environment)
    namespace, _, name = what.partition("/")
    own = _read(namespace, name, root)
    inputs = merge([own, read_others(root, (source.name for source in own.sources), config)])
    loaded = with_neighbours(load_all(inputs.sources), inputs.neighbours)
    for each in environments:
        options = config.options(each)
        build = run(loaded, options)
        objects: Objects = next((job.objects for job in build.jobs if job.name == name), ())
        if name == FOLDER:  # the objects that the jobs of a namespace share
            target = options.settings.namespaces.get(namespace, namespace)
            objects = tuple(one.obj for one in build.shared if one.namespace == target)
        if has_errors(build.findings) or (objects and has_errors(inputs.findings)):
            return _report_errors((*inputs.findings, *build.findings))
        if objects:
            tables = _tables(objects, field, options)
            echo(as_json(tables) if output == "json" else as_text(tables), nl=False, form=output)
            return CLEAN
    where = f"environment {environment}" if environment else "any environment of trainc.yaml"
    raise click.BadParameter(f"{what} not found in {where}", param_hint=WHAT)


def _report_errors(findings: Iterable[Finding]) -> int:
    errors = (finding for finding in findings if finding.severity is Severity.ERROR)
    return Reporter(quiet=True, aside=True).report(sorted(errors, key=sort_key))


def _tables(objects: Objects, field: str, options: Options) -> list[Table]:
    """Return a table for each object that a field selects. Raises BadParameter for an unknown field."""
    chosen = choose_objects(objects, field)
    if isinstance(chosen, Unknown):
        raise WrongValue(f"{chosen.message}.", chosen.hint, FIELD)
    selected, rest = chosen
    tables = []
    for each in selected:
        paths = find(each.data, rest)
        if isinstance(paths, Miss):
            near = suggest(paths.step, paths.known)
            hint = near or (f"it contains {', '.join(paths.known)}" if paths.known else "it is a value, not a mapping")
            message = f"{each.kind} {each.name}: {paths.step} not found in {dotted(paths.at) or 'the whole object'}"
            raise WrongValue(f"{message}.", hint, FIELD)
        tables.append(table(each, paths, options))
    return tables


def _read(namespace: str, name: str, root: Path) -> Inputs:
    """Read the file of a job, or all of a namespace for its shared objects. Raises BadParameter if not found."""
    inputs = read_tree(root, f"{JOBS}/{namespace}") if namespace and "/" not in name else Inputs()
    if name == FOLDER and inputs.sources:
        return inputs
    sources = tuple(source for source in inputs.sources if name in names_in(source, {TRAINJOB}))
    if sources:
        return Inputs(sources, inputs.findings)
    known = [*_jobs(root)]
    wanted = f"{namespace}/{name}"
    hint = suggest(wanted, known, len(known)) or f"{JOBS}/ has {counted(len(known), 'job')}"
    raise WrongValue(f"TrainJob {wanted!r} not found in {JOBS}/.", hint, WHAT)


def jobs_called(root: Path, name: str) -> list[str]:
    """Return the jobs of a name, as NAMESPACE/JOB."""
    return [job for job in _jobs(root) if job.partition("/")[2] == name]


def _jobs(root: Path) -> Iterator[str]:
    for source in read_tree(root, JOBS).sources:
        for name in names_in(source, {TRAINJOB}):
            yield f"{source.name.split('/')[1]}/{name}"
