"""`trainc cel`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from trainc.basics.jsonvalues import Json, JsonObject, get
from trainc.cel.issues import Issue, display
from trainc.cel.questions import (
    Answer,
    Question,
    QuestionError,
    answer,
    answer_rule,
    answer_with_celpy,
    read_json,
    read_question,
    unknown_keys,
)
from trainc.cli.command import CLEAN, ENVIRONMENT, ERRORS, Command
from trainc.cli.echo import echo, echo_line
from trainc.documents.load import load
from trainc.findings import has_errors
from trainc.findings.display import one_line
from trainc.findings.text import render
from trainc.inputs.source import Document
from trainc.project.read import read_given, read_stdin
from trainc.schema import parse
from trainc.schema.kinds import BUILT_IN, split_version

EPILOG = """\b
Examples:
  trainc cel '1 + 2'
  trainc cel 'object.spec.replicatedJobs.map(j, j.name)' --object jobset.yaml
  trainc cel 'variables.n > 8' --object job.yaml --variable n=object.spec.n
  trainc cel --env crd 'self != oldSelf' --object a.yaml --old-object b.yaml
  trainc build job.yaml | trainc cel 'size(object.spec)' --object -
  trainc cel --jsonl < expressions.jsonl > results.jsonl
"""

_STDIN = "-"
_FILE = click.Path(exists=True, allow_dash=True)


@click.command("cel", cls=Command, epilog=EPILOG)
@click.option("--object", "object_", metavar="FILE", type=_FILE, help="The object; each document of FILE in turn.")
@click.option("--old-object", metavar="FILE", type=_FILE, help="The object before an update.")
@click.option("--params", metavar="FILE", type=_FILE, help="The parameters of the policy.")
@click.option("--namespace-object", metavar="FILE", type=_FILE, help="The Namespace of the object.")
@click.option("--request", metavar="JSON", help='Fields of the request, such as \'{"operation": "CREATE"}\'.')
@click.option("--variable", "variables", metavar="NAME=EXPR", multiple=True, help="A policy variable; may be repeated.")
@click.option(
    "--env",
    type=click.Choice(("vap", "crd", "dyn")),
    default="vap",
    show_default=True,
    help="Evaluate as in an admission policy, as in the CRD of the object's kind (it is self), or with any variables.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Print text for people, or one JSON object per line.",
)
@click.option(
    "--jsonl", is_flag=True, help="Read expressions from standard input, one JSON object per line; see docs/cel.md."
)
@click.option(
    "--engine",
    type=click.Choice(("trainc", "celpy")),
    default="trainc",
    show_default=True,
    help="Evaluate as the API server does, or with cel-python's own evaluator, for comparison.",
)
@click.argument("expression", metavar="[EXPR]", required=False)
def command(
    expression: str | None, *, jsonl: bool, output: str, engine: str, variables: tuple[str, ...], **given: str | None
) -> int:
    """Evaluate EXPR, a Kubernetes CEL expression, as a Kubernetes 1.34 API server does.

    Prints value, type and cost, or the error and its position. Exits 1 after an
    error. An expression that depends on something unknown offline, such as an
    authorizer, is undecided.
    """
    if jsonl:
        if expression is not None:
            raise click.UsageError("--jsonl reads expressions from standard input")
        if engine != "trainc":
            raise click.UsageError("--jsonl and --engine cannot be combined")
        return _answer_lines()
    if expression is None:
        raise click.UsageError("missing EXPR: pass an expression, or --jsonl")
    status = CLEAN
    for name, question, schema in _questions(expression, str(given["env"]), variables, given):
        made = answer_with_celpy(question) if engine == "celpy" else _evaluate(question, schema)
        status = max(status, ERRORS if made.stage in ("compile", "eval") else CLEAN)
        if output == "json":
            echo(json.dumps(made.written()), form="json")
        else:
            echo(_shown(name, question, made), nl=False)
    return status


def _answer_lines() -> int:
    status = CLEAN
    for number, line in enumerate(sys.stdin, 1):
        if not line.strip():
            continue
        identifier: Json = None
        try:
            data = read_json(line)
            identifier = data.get("id") if isinstance(data, dict) else None
            for key in unknown_keys(data):
                echo_line(f"line {number}: unknown key {key!r} ignored", err=True)
            found = answer(read_question(data), parse).written()
        except QuestionError as error:
            echo_line(f"line {number}: {error}", err=True)
            found, status = {**Answer().written(), "error": f"invalid input: {error}"}, ENVIRONMENT
        echo(json.dumps({"id": identifier, **found}), form="json")
    return status


def _questions(
    expression: str, env: str, variables: tuple[str, ...], given: dict[str, str | None]
) -> Iterator[tuple[str, Question, Document | None]]:
    """Yield a question for each object, with its name, and the document that self is."""
    names: JsonObject = {}
    for option, name in (("old_object", "oldObject"), ("params", "params"), ("namespace_object", "namespaceObject")):
        if (path := given[option]) is not None:
            names[name] = _documents(path)[0].data
    if (request := given["request"]) is not None:
        names["request"] = _request(request)
    rows = [_variable(text) for text in variables]
    if given["object_"] is None:
        yield "", Question(env, expression, names, variables=rows), None
        return
    documents = _documents(given["object_"])
    for document in documents:
        data = document.data
        name = f"{data.get('kind')} {get(data, 'metadata', 'name')}" if len(documents) > 1 else ""
        if env == "crd":
            renamed = {"oldSelf" if key == "oldObject" else key: value for key, value in names.items()}
            yield name, Question(env, expression, {**renamed, "self": data}, variables=rows), document
        else:
            yield name, Question(env, expression, {**names, "object": data}, variables=rows), None


def _documents(path: str) -> list[Document]:
    folder = Path.cwd()
    given = read_stdin(sys.stdin.buffer) if path == _STDIN else read_given(folder, folder, path)
    documents: list[Document] = []
    findings = list(given.findings)
    for source in given.sources:
        loaded, found = load(source)
        documents += loaded
        findings += found
    if has_errors(findings):
        echo(render(findings), err=True, nl=False)
        raise click.ClickException(f"{path} cannot be read")
    if not documents:
        raise click.BadParameter(f"no document in {'standard input' if path == _STDIN else path}")
    return documents


def _request(text: str) -> JsonObject:
    try:
        request = read_json(text)
    except QuestionError as error:
        raise click.BadParameter(str(error), param_hint="--request") from error
    if not isinstance(request, dict):
        raise click.BadParameter("expected a JSON object", param_hint="--request")
    return request


def _variable(text: str) -> Json:
    name, equals, expression = text.partition("=")
    if not equals or not name.strip():
        raise click.BadParameter(f"{text!r} is not NAME=EXPR", param_hint="--variable")
    return {"name": name.strip(), "expression": expression}


def _evaluate(question: Question, self_: Document | None) -> Answer:
    try:
        if question.env != "crd":
            return answer(question, parse)
        data = self_.data if self_ is not None else {}
        group, version = split_version(str(data.get("apiVersion", "")))
        resource = BUILT_IN.find(group, version, str(data.get("kind", "")))
        if resource is None:
            kind = f"{data.get('apiVersion')} {data.get('kind')}" if data else "none; pass --object"
            raise QuestionError(f"--env crd needs an object whose schema is known, found {kind}")
        return answer_rule(question, resource.schema, True)
    except QuestionError as error:
        raise click.UsageError(str(error)) from error


def _shown(name: str, question: Question, made: Answer) -> str:
    lines = [one_line(f"{name}:")] if name else []
    if made.stage == "undecided":
        lines.append(f"undecided: {made.error}")
    elif made.error is not None:
        lines.append(
            made.error if made.position is None else display(question.expr, (Issue(made.position, made.error),))
        )
    else:
        lines.append(json.dumps(made.value, ensure_ascii=False))
    facts = (("type", made.type), ("cost", made.cost))
    lines += (f"{fact}: {value}" for fact, value in facts if value is not None)
    return "".join(f"{line}\n" for line in lines)
