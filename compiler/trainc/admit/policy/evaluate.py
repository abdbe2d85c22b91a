"""Evaluates a policy with one param: what its validations and audit annotations come to.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/policy/validating/validator.go, pkg/admission/plugin/webhook/
matchconditions/matcher.go and pkg/admission/plugin/cel/activation.go and condition.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from trainc.admit.policy.decision import ANNOTATION, DENIED, ERROR, INVALID, UNDECIDED
from trainc.admit.policy.expressions import Expression, Expressions
from trainc.cel.composition import Compiled, Problem, Variables
from trainc.cel.values import Undecided, Value
from trainc.kube.gojson import trim_space
from trainc.records import NamedTuple
from trainc.source import JsonObject, Path

BUDGET: Final = 10_000_000
"""What the validations of a policy may cost for one param, and again what its audit annotations may cost."""

CONDITIONS_BUDGET: Final = 2_500_000
"""What its match conditions may cost."""

MAX_MESSAGE: Final = 5 * 1024
"""The bytes of an evaluated message; a longer one is not used."""

MAX_ANNOTATION: Final = 10 * 1024
"""The bytes of the value of an audit annotation; a longer one is cut."""

_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


class Verdict(NamedTuple):
    """What one expression comes to. ``key`` is that of an audit annotation, ``message`` then its value.

    ``certain``: a denial whatever the binding's actions are. ``ordinal`` counts the validations from 0.
    ``guessed``: the server's message is not known offline, and this one stands for it.
    """

    path: Path
    outcome: str
    message: str
    reason: str = ""
    position: int | None = None
    key: str = ""
    certain: bool = False
    ordinal: int = 0
    blame: Compiled | Problem | None = None
    guessed: bool = False


class _Result(NamedTuple):
    """What an expression gave: a value, or an error, or why it is not known."""

    expression: Expression
    value: Value = None
    error: str | None = None
    undecided: str | None = None
    position: int | None = None


class OutOfBudget(Exception):
    """The cost is above what is left. ``path`` leads to the expression at which that showed."""

    def __init__(self, path: Path) -> None:
        super().__init__(_OUT_OF_BUDGET)
        self.path = path


class Evaluation:
    """One evaluation of a policy: of one request, one binding and one param.

    ``names``: all that expressions may refer to but namespaceObject and variables. ``early``: the same as match
    conditions see it.
    """

    def __init__(
        self,
        expressions: Expressions,
        names: Mapping[str, Value],
        early: Mapping[str, Value],
        namespace: Value,
        *,
        ignores: bool,
    ) -> None:
        self._expressions = expressions
        self._names = {**names, "namespaceObject": namespace}
        self._early = {**early, "namespaceObject": None}
        self._ignores = ignores

    def verdicts(self) -> tuple[Verdict, ...]:
        """Return what is to be said; nothing: the request is admitted."""
        blocked = self._blocked()
        return blocked if blocked is not None else self._validated()

    def explain(self, verdict: Verdict, data: JsonObject | None) -> Path:
        """Return the path of the field in ``data``, the object, that a verdict is about, best effort; () if none."""
        if verdict.blame is None or verdict.outcome not in (DENIED, ERROR):
            return ()
        from trainc.admit.policy.explain import explained

        failed = verdict.outcome == ERROR
        return explained(self._expressions, self._names, verdict.blame, data, failed=failed)

    def _blocked(self) -> tuple[Verdict, ...] | None:
        """Return what there is instead of validations, or None if the match conditions let them run."""
        results: list[_Result] = []
        try:
            self._run(self._expressions.conditions, self._early, CONDITIONS_BUDGET, results)
        except OutOfBudget as stop:
            return self._failed(stop.path, str(stop))
        if any(result.value is False for result in results):
            return ()
        errors = [result for result in results if result.error is not None]
        if self._ignores and errors:
            return ()
        for result in results:
            if result.undecided is not None:
                return (_undecided(result),)
        if errors:
            return self._failed(
                errors[0].expression.path, _aggregate(str(result.error) for result in errors), errors[0]
            )
        return None

    def _validated(self) -> tuple[Verdict, ...]:
        results: list[_Result] = []
        try:
            left = self._run(self._expressions.validations, self._names, BUDGET, results)
        except OutOfBudget as stop:
            return self._failed(stop.path, str(stop))
        messages, trouble = self._messages(results, left)
        found: list[Verdict] = []
        for index, result in enumerate(results):
            found += self._judged(result, index, messages.get(result.expression.path[:-1]), trouble)
        annotations: list[_Result] = []
        try:
            self._run(self._expressions.annotations, self._names, BUDGET, annotations)
        except OutOfBudget as stop:
            return self._failed(stop.path, str(stop))  # instead of what the validations came to
        for result in annotations:
            found += self._annotated(result)
        return tuple(found)

    def _messages(self, results: list[_Result], left: int) -> tuple[dict[Path, _Result], str | None]:
        """Return the messages by validation, and what is wrong with all of them."""
        found: list[_Result] = []
        try:
            self._run(self._expressions.messages, self._names, left, found)
        except OutOfBudget as stop:
            return {}, f"failed messageExpression: {stop}"
        return {result.expression.path[:-1]: result for result in found}, None

    def _judged(self, result: _Result, index: int, message: _Result | None, trouble: str | None) -> tuple[Verdict, ...]:
        path = result.expression.path
        if result.undecided is not None:
            return (_undecided(result, index),)
        if result.error is not None:
            return self._failed(path, result.error, result, index)
        if trouble is not None:
            return self._failed(path, trouble, ordinal=index)
        if result.value is True:
            return ()
        row = result.expression.row
        text = _message(message) or trim_space(str(row.get("message") or ""))
        text = text or f"failed expression: {trim_space(result.expression.text)}"
        reason = str(row.get("reason") or INVALID)
        guessed = message is not None and message.undecided is not None
        return (Verdict(path, DENIED, text, reason, ordinal=index, blame=result.expression.made, guessed=guessed),)

    def _annotated(self, result: _Result) -> tuple[Verdict, ...]:
        key = str(result.expression.row.get("key") or "")
        path = result.expression.path
        if result.undecided is not None:
            return (_undecided(result)._replace(key=key),)
        if result.error is not None:
            return tuple(verdict._replace(certain=True) for verdict in self._failed(path, result.error, result))
        text = trim_space(result.value) if isinstance(result.value, str) else ""
        if not text:
            return ()
        raw = text.encode("utf-8", "surrogatepass")[:MAX_ANNOTATION]
        return (Verdict(path, ANNOTATION, raw.decode("utf-8", "replace"), key=key),)

    def _failed(self, path: Path, message: str, result: _Result | None = None, ordinal: int = 0) -> tuple[Verdict, ...]:
        """Return the denial that failurePolicy Fail makes of a failure."""
        if self._ignores:
            return ()
        position, blame = (result.position, result.expression.made) if result is not None else (None, None)
        return (Verdict(path, ERROR, message, INVALID, position, ordinal=ordinal, blame=blame),)

    def _run(
        self, expressions: Iterable[Expression], names: Mapping[str, Value], budget: int, results: list[_Result]
    ) -> int:
        """Evaluate expressions in their order, sharing variables; return what is left. Raises OutOfBudget."""
        variables = Variables(self._expressions.made, names)
        for expression in expressions:
            made = expression.made
            if isinstance(made, Problem):
                results.append(_Result(expression, error=f"compilation error: {made.text}", position=made.position))
                continue
            try:
                outcome = made.program.evaluate(variables.names)
            except Undecided as undecided:
                results.append(_Result(expression, undecided=undecided.reason))
                continue
            charge = variables.take_charge() + outcome.charge
            if charge > budget:
                raise OutOfBudget(expression.path)
            budget -= charge
            if outcome.undecided is not None:
                results.append(_Result(expression, undecided=outcome.undecided))
            elif outcome.error is not None:
                text = f"expression '{expression.text}' resulted in error: {outcome.error.message}"
                position = outcome.error.position
                offset = None if position is None else position + expression.offset
                results.append(_Result(expression, error=text, position=offset))
            else:
                results.append(_Result(expression, outcome.value))
        return budget


def _undecided(result: _Result, index: int = 0) -> Verdict:
    path = result.expression.path
    return Verdict(path, UNDECIDED, str(result.undecided), ordinal=index, blame=result.expression.made)


def _message(result: _Result | None) -> str:
    """Return what a message expression gave, or nothing if that cannot be used."""
    if result is None or not isinstance(result.value, str):
        return ""
    text = trim_space(result.value)
    fits = len(text.encode("utf-8", "surrogatepass")) <= MAX_MESSAGE
    return text if fits and "\n" not in text else ""


def _aggregate(messages: Iterable[str]) -> str:
    """Return the text of several errors; equal ones count once (k8s.io/apimachinery pkg/util/errors)."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
