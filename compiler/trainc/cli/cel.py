"""`trainc cel`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click

from trainc.admission.policy.creation import accepts_expressions
from trainc.basics.about import docs_page
from trainc.basics.jsonvalues import Json, JsonObject, get
from trainc.cel.issues import Issue, display
from trainc.cel.questions import (
    TOO_DEEP,
    Answer,
    NamedExpression,
    Question,
    QuestionError,
    answer,
    answer_rule,
    answer_with_celpy,
    normalized,
    read_json,
    read_question,
    unknown_keys,
)
from trainc.cli.command import CLEAN, ENVIRONMENT, ERRORS, Command, echo, echo_line, standard_input
from trainc.cli.paths import Existing
from trainc.documents.load import load
from trainc.findings import has_errors
from trainc.findings.display import one_line
from trainc.findings.text import render
from trainc.inputs.source import Document
from trainc.project.files import LIMIT
from trainc.project.read import read_given, read_stdin
from trainc.schema import parse
from trainc.schema.kinds import BUILT_IN, split_version

EPILOG = """\b
Examples:
  trainc cel '1 + 2'
  trainc cel 'object.spec.replicatedJobs.map(j, j.name)' --object jobset.yaml
  trainc cel 'variables.n > 8' --object a.yaml --variable n=object.spec.n
  trainc cel --env crd 'self != oldSelf' --object a.yaml --old-object b.yaml
  trainc build job.yaml | trainc cel 'size(object.spec)' --object -
  trainc cel --jsonl < expressions.jsonl > results.jsonl
"""

_STDIN = "-"
_FILE = Existing(allow_dash=True)


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
    "--jsonl",
    is_flag=True,
    help=f"Read expressions from standard input, one JSON object per line; see {docs_page('cel')}.",
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
    expression: str | None, *, jsonl: bool, output: str, engine: str, variables: tuple[str, ...], **options: str | None
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
    for name, question, schema in _questions(expression, str(options["env"]), variables, options):
        result = answer_with_celpy(question) if engine == "celpy" else _evaluate(question, schema)
        status = max(status, ERRORS if result.stage in ("compile", "eval") else CLEAN)
        if output == "json":
            echo(json.dumps(result.written()), form="json")
        else:
            echo(_text_of(name, question, result), nl=False)
    return status


def _answer_lines() -> int:
    status = CLEAN
    for number, line in enumerate(iter(partial(standard_input().readline, LIMIT + 1), b""), 1):
        if len(line) > LIMIT:
            echo_line(f"line {number}: more than {LIMIT:,} bytes", err=True)
            return ENVIRONMENT
        if not line.strip():
            continue
        identifier: Json = None
        try:
            data = read_json(line)
            identifier = data.get("id") if isinstance(data, dict) else None
            for key in unknown_keys(data):
                echo_line(f"line {number}: unknown key {key!r} ignored", err=True)
            found = answer(read_question(data), parse, accepts_expressions).written()
        except QuestionError as error:
            echo_line(f"line {number}: {error}", err=True)
            found, status = {**Answer().written(), "error": f"invalid input: {error}"}, ENVIRONMENT
        echo(json.dumps({"id": identifier, **found}), form="json")
    return status


def _questions(
    expression: str, env: str, variables: tuple[str, ...], options: dict[str, str | None]
) -> Iterator[tuple[str, Question, Document | None]]:
    """Yield a question for each object, with its name, and the document that self is."""
    names: JsonObject = {}
    for option, name in (("old_object", "oldObject"), ("params", "params"), ("namespace_object", "namespaceObject")):
        if (path := options[option]) is not None:
            names[name] = _documents(path)[0].data
    if (request := options["request"]) is not None:
        try:
            names["request"] = normalized(read_json(request))
        except QuestionError as error:
            raise click.BadParameter(str(error), param_hint="--request") from error
        except RecursionError:
            raise click.BadParameter(TOO_DEEP, param_hint="--request") from None
        if not isinstance(names["request"], dict):
            raise click.BadParameter("a JSON object is required", param_hint="--request")
    rows: list[NamedExpression] = []
    for text in variables:
        variable, equals, definition = text.partition("=")
        if not equals or not variable.strip():
            raise click.BadParameter(f"{text!r} is not NAME=EXPR", param_hint="--variable")
        rows.append(NamedExpression(variable.strip(), definition))
    if options["object_"] is None:
        yield "", Question(env, expression, names, variables=rows), None
        return
    documents = _documents(options["object_"])
    for document in documents:
        data = document.data
        name = f"{data.get('kind')} {get(data, 'metadata', 'name')}" if len(documents) > 1 else ""
        values = {**names, "object": data}
        if env == "crd":
            values = {"oldSelf" if key == "oldObject" else key: value for key, value in names.items()} | {"self": data}
        yield name, Question(env, expression, values, variables=rows), document if env == "crd" else None


def _documents(path: str) -> list[Document]:
    folder = Path.cwd()
    inputs = read_stdin(standard_input()) if path == _STDIN else read_given(folder, folder, path)
    documents: list[Document] = []
    findings = list(inputs.findings)
    for source in inputs.sources:
        loaded, found = load(source)
        documents += loaded
        findings += found
    if has_errors(findings):
        echo(render(findings), err=True, nl=False)
        raise click.ClickException(f"{path} cannot be read")
    if not documents:
        raise click.BadParameter(f"no document in {'standard input' if path == _STDIN else path}")
    return documents


def _evaluate(question: Question, self_: Document | None) -> Answer:
    try:
        if question.env != "crd":
            return answer(question, parse, accepts_expressions)
        data = self_.data if self_ is not None else {}
        group, version = split_version(str(data.get("apiVersion", "")))
        resource = BUILT_IN.find(group, version, str(data.get("kind", "")))
        if resource is None:
            kind = f"{data.get('apiVersion')} {data.get('kind')}" if data else "none; pass --object"
            raise QuestionError(f"--env crd needs an object whose schema is known, found {kind}")
        return answer_rule(question, resource.schema, True)
    except QuestionError as error:
        raise click.UsageError(str(error)) from error


def _text_of(name: str, question: Question, result: Answer) -> str:
    lines = [one_line(f"{name}:")] if name else []
    if result.stage == "undecided":
        lines.append(f"undecided: {result.error}")
    elif result.error is None:
        lines.append(json.dumps(result.value, ensure_ascii=False))
    elif result.position is None:
        lines.append(result.error)
    else:
        lines.append(display(question.expr, (Issue(result.position, result.error),)))
    lines += [f"type: {result.type}"] if result.type is not None else []
    lines += [f"cost: {result.cost}"] if result.cost is not None else []
    return "".join(f"{line}\n" for line in lines)
