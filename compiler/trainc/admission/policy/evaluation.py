"""The evaluation of one policy for one binding and one param.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/policy/validating/validator.go, pkg/admission/plugin/webhook/
matchconditions/matcher.go and pkg/admission/plugin/cel/activation.go and condition.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from trainc.admission.policy.documents import ANNOTATION, DENIED, ERROR, INVALID, UNDECIDED
from trainc.admission.policy.examples import Examples
from trainc.admission.policy.expressions import Expression, Expressions
from trainc.admission.policy.values import without_authorizer
from trainc.admission.rules import BUDGET, OUT_OF_BUDGET, message_text
from trainc.basics.jsonvalues import JsonObject, Path
from trainc.cel.codegen import LIMIT, Program
from trainc.cel.composition import Problem, Variables
from trainc.cel.values import EvalError, Undecided, Value
from trainc.cel.work import MESSAGE, PER_COST
from trainc.kube.generated import Generated
from trainc.kube.gojson import trim_space

CONDITIONS_BUDGET: Final = 2_500_000
"""The most that the match conditions of a policy may cost."""

MAX_ANNOTATION: Final = 10 * 1024
"""The most bytes of the value of an audit annotation; longer ones are truncated."""


class Verdict(NamedTuple):
    """The outcome of one expression. ``key`` is that of an audit annotation, ``message`` then its value.

    ``certain``: a denial that does not depend on the binding's actions. ``ordinal`` counts the validations from 0.
    ``guessed``: the server's message is unknown offline, and this one replaces it.
    """

    path: Path
    outcome: str
    message: str
    reason: str = ""
    position: int | None = None
    key: str = ""
    certain: bool = False
    ordinal: int = 0
    blame: Program | Problem | None = None
    guessed: bool = False


class _Result(NamedTuple):
    """The result of an expression: a value, an error, or why it is unknown."""

    expression: Expression
    value: Value = None
    error: str | None = None
    undecided: str | None = None
    position: int | None = None


class OutOfBudget(Exception):
    """The cost exceeds the remaining budget. ``path`` leads to the expression that exceeded it.

    ``ours``: only because trainc counts work that a server does not.
    """

    def __init__(self, path: Path, *, ours: bool) -> None:
        super().__init__(OUT_OF_BUDGET)
        self.path = path
        self.ours = ours


class Evaluation(Struct, frozen=True, eq=False):
    """One evaluation. ``names``: the values that expressions may refer to, ``early`` those of match conditions.

    ``generated``: the values that names depend on. ``ignores``: the policy admits a request when its evaluation fails.
    """

    expressions: Expressions
    names: Mapping[str, Value]
    early: Mapping[str, Value]
    generated: Generated
    ignores: bool

    def verdicts(self) -> tuple[Verdict, ...]:
        """Return the verdicts; none if the request is admitted."""
        blocked = self._blocked() if self.expressions.conditions else None
        return blocked if blocked is not None else self._validated()

    def explain(self, verdict: Verdict, data: JsonObject | None) -> Path:
        """Return the path of the field in ``data``, the object, that a verdict is about, best effort; () if none."""
        if verdict.blame is None or verdict.outcome not in (DENIED, ERROR):
            return ()
        from trainc.admission.policy.explain import explained_path

        failed = verdict.outcome == ERROR
        with self.generated.example(0):
            return explained_path(self.expressions, self.names, verdict.blame, data, failed=failed)

    def _blocked(self) -> tuple[Verdict, ...] | None:
        """Return the verdicts that replace the validations, or None if the match conditions let them run.

        If a condition is unknown, a request that passes all validations is admitted in any case.
        """
        results: list[_Result] = []
        try:
            self._run(self.expressions.conditions, self.early, CONDITIONS_BUDGET, results, exact=False)
        except OutOfBudget as stop:
            return self._stopped(stop)
        if any(result.value is False for result in results):
            return ()
        errors = [result for result in results if result.error is not None]
        if self.ignores and errors:
            return ()
        for result in results:
            if result.undecided is not None:
                return (_undecided(result),) if errors or self._validated() else ()
        if errors:
            texts = list(dict.fromkeys(str(result.error) for result in errors))  # as in apimachinery pkg/util/errors
            text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
            return self._failed(errors[0].expression.path, text, errors[0])
        return None

    def _validated(self) -> tuple[Verdict, ...]:
        results: list[_Result] = []
        try:
            left, variables = self._run(self.expressions.validations, self.names, BUDGET, results, exact=False)
        except OutOfBudget as stop:
            return self._stopped(stop)
        found: list[Verdict] = []
        # The server evaluates all messages. That can be left out if they certainly stay within the budget: variables
        # cost again what they have cost, and nothing costs more than LIMIT.
        most = variables.charged + LIMIT * (variables.waiting + len(self.expressions.messages))
        is_affordable = not self.expressions.messages or most <= left
        if not is_affordable or any(result.value is not True for result in results):
            messages, trouble = self._messages(left)
            for index, result in enumerate(results):
                found += self._verdict(result, index, messages.get(result.expression.path[:-1]), trouble)
        if self.expressions.annotations:
            annotations: list[_Result] = []
            try:
                self._run(self.expressions.annotations, without_authorizer(self.names), BUDGET, annotations)
            except OutOfBudget as stop:
                return self._stopped(stop)  # replaces the verdicts of the validations
            for result in annotations:
                found += self._annotated(result)
        return tuple(found)

    def _messages(self, left: int) -> tuple[dict[Path, _Result], str | None]:
        """Return the messages by validation, and the error that affects all of them."""
        found: list[_Result] = []
        try:
            self._run(self.expressions.messages, without_authorizer(self.names), left, found)
        except OutOfBudget as stop:
            return {}, f"failed messageExpression: {stop}"
        return {result.expression.path[:-1]: result for result in found}, None

    def _verdict(
        self, result: _Result, index: int, message: _Result | None, trouble: str | None
    ) -> tuple[Verdict, ...]:
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
        text = (message_text(message.value) if message else None) or trim_space(str(row.get("message") or ""))
        text = text or f"failed expression: {trim_space(result.expression.text)}"
        reason = str(row.get("reason") or INVALID)
        guessed = message is not None and message.undecided is not None
        return (Verdict(path, DENIED, text, reason, ordinal=index, blame=result.expression.compiled, guessed=guessed),)

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
        """Return the denial to which failurePolicy Fail turns a failure."""
        if self.ignores:
            return ()
        position, blame = (result.position, result.expression.compiled) if result is not None else (None, None)
        return (Verdict(path, ERROR, message, INVALID, position, ordinal=ordinal, blame=blame),)

    def _stopped(self, stop: OutOfBudget) -> tuple[Verdict, ...]:
        if self.ignores and stop.ours:
            return (Verdict(stop.path, UNDECIDED, MESSAGE),)
        return self._failed(stop.path, str(stop))

    def _run(
        self,
        expressions: Iterable[Expression],
        names: Mapping[str, Value],
        budget: int,
        results: list[_Result],
        *,
        exact: bool = True,
    ) -> tuple[int, Variables]:
        """Evaluate expressions in order, sharing variables; return the remaining budget. Raises OutOfBudget.

        Not ``exact``: a result that is the same for all examples of generated values counts.
        """
        examples = Examples(self.expressions.variables_by_name, names, self.generated)
        variables, paid, uncounted = Variables(self.expressions.variables_by_name, names), 0, 0
        for expression in expressions:
            compiled = expression.compiled
            if isinstance(compiled, Problem):
                results.append(
                    _Result(expression, error=f"compilation error: {compiled.text}", position=compiled.position)
                )
                continue
            value, cost, work = compiled.run(variables.names)
            if value.__class__ is Undecided and not exact:
                value, cost, work = examples.agreed(compiled) or (value, cost, work)
            budget -= max(cost, work // PER_COST) + variables.charged - paid
            uncounted += max(0, work // PER_COST - cost)
            paid = variables.charged
            if budget < 0:
                raise OutOfBudget(expression.path, ours=budget + uncounted >= 0)
            if value.__class__ is Undecided:
                results.append(_Result(expression, undecided=value.reason))
            elif value.__class__ is EvalError and self.ignores and value.message.endswith(MESSAGE):
                results.append(_Result(expression, undecided=value.message))  # a limit of ours, not of the server
            elif value.__class__ is EvalError:
                text = f"expression '{expression.text}' resulted in error: {value.message}"
                offset = None if value.position is None else value.position + expression.offset
                results.append(_Result(expression, error=text, position=offset))
            else:
                results.append(_Result(expression, value))
        return budget, variables


def _undecided(result: _Result, index: int = 0) -> Verdict:
    path = result.expression.path
    return Verdict(path, UNDECIDED, str(result.undecided), ordinal=index, blame=result.expression.compiled)
