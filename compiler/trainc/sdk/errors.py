"""The exceptions of the client."""

from __future__ import annotations

from collections.abc import Iterable

from trainc.findings import Finding
from trainc.findings.display import escape_text
from trainc.findings.text import render

SECRET_CODES = frozenset(("TC411", "TC414"))
SECRETS = """
Create a Secret in the cluster, and pass references to it in options=[...]:

    from trainc.sdk import InitializerSecret, SecretEnv

    InitializerSecret(dataset="hf-token", model="hf-token")  # key ACCESS_TOKEN of Secret hf-token
    SecretEnv("HF_TOKEN", secret="hf-token", key="ACCESS_TOKEN")  # a variable of the trainer
"""


class _Plain(Exception):
    """An exception whose cause is not in the code of trainc, so that notebooks show only its text."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows."""
        return f"{type(self).__name__}: {self}".splitlines()


class FindingsError(_Plain, ValueError):
    """A TrainJob has errors, and nothing was written. ``findings`` are the errors, with file, line and column."""

    def __init__(self, name: str, findings: Iterable[Finding]) -> None:
        self.name = name
        self.findings = tuple(findings)
        advice = SECRETS if any(finding.code in SECRET_CODES for finding in self.findings) else ""
        text = escape_text(render(self.findings))
        super().__init__(f"TrainJob {name!r} has errors, and was not written:\n\n{text}{advice}".rstrip())

    def __reduce__(self) -> tuple[type[FindingsError], tuple[str, tuple[Finding, ...]]]:
        """Return how another process makes this error again."""
        return type(self), (self.name, self.findings)


class FindingsWarning(UserWarning):
    """A TrainJob was written, and has warnings."""


class NeedsClusterError(_Plain, NotImplementedError):
    """The repository has no answer: the text names the command that asks the cluster."""
