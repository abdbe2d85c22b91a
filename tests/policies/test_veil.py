"""What policies say never holds a secret of the object, however they turn it."""

from __future__ import annotations

import json

import pytest

from trainc import Options, Source, compile
from trainc.admission.policy.policyset import HIDDEN
from trainc.findings.formats import FORMATS

TOKEN = "hf_SuperSecretToken0123456789"
PASSWORD = 'pässwörd"quoted\\x' + "y" * 200
JOB = f"""
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: j, namespace: a}}
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer:
    image: a/b:1
    args: ["--lr=1", "--api-key={TOKEN}"]
    env:
    - {{name: HF_TOKEN, value: {TOKEN}}}
    - {{name: DB_PASSWORD, value: {json.dumps(PASSWORD)}}}
"""
BINDING = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny, Audit]}
"""


def policy(validation: dict[str, str]) -> str:
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["trainjobs", "jobsets"]}]
    variables = [
        {"name": "token", "expression": "string(object.spec.trainer.env[0].value)"},
        {"name": "password", "expression": "string(object.spec.trainer.env[1].value)"},
    ]
    spec = {"matchConstraints": {"resourceRules": rules}, "variables": variables, "validations": [validation]}
    document = {"kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": spec}
    return json.dumps({"apiVersion": "admissionregistration.k8s.io/v1", **document})


def said(validation: dict[str, str]) -> tuple[list[str], str]:
    """Return the messages of the denials of the TrainJob, and all findings in every format."""
    sources = [Source("j.yaml", JOB), Source("p.yaml", policy(validation)), Source("b.yaml", BINDING)]
    findings = compile(sources, Options()).findings
    texts = "".join(FORMATS[name](findings) for name in FORMATS)
    return [found.message for found in findings if found.code == "TC501" and "TrainJob" in found.message], texts


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("'is ' + variables.token", "is ***"),
        ("'is ' + variables.token.upperAscii()", "is ***"),
        ("'is ' + variables.token.substring(3)", HIDDEN),
        ("'is ' + variables.token.split('').join(' ')", HIDDEN),
        ("'is ' + string(size(variables.token))", HIDDEN),
        ("'is ' + '%s'.format([object.spec.trainer.env[1]])", 'is {"name":"DB_PASSWORD", "value":"***"}'),
        ("'is ' + object.spec.trainer.args[1].substring(4)", "is i-key=***"),
        ("'is ' + object.metadata.name", "is j"),
    ],
)
def test_messages(message: str, shown: str) -> None:
    messages, texts = said({"expression": "false", "messageExpression": message})
    assert [text.rpartition("denies the TrainJob: ")[2] for text in messages] == [shown]
    assert "supersecret" not in texts.lower()
    assert "sswörd" not in texts


@pytest.mark.parametrize(
    "expression",
    [
        *("{'a': 1}[variables.token.substring(3)] == 1", "{'a': 1}[variables.password] == 1", "variables.token == 'x'"),
        *("quantity(variables.token).isInteger()", "ip(variables.password).family() == 4"),
        *("'a'.matches('(' + variables.token)", "url(variables.password.substring(2)).getHost() == 'a'"),
        *("semver('1.1.' + variables.token.upperAscii()).major() == 1", "timestamp(0).getHours(variables.token) == 1"),
    ],
)
def test_errors(expression: str) -> None:
    messages, texts = said({"expression": expression})
    assert len(messages) == 1
    assert "supersecret" not in texts.lower()
    assert "sswörd" not in texts


def test_a_message_that_is_written_out_is_shown() -> None:
    messages, _ = said({"expression": "size(variables.token) < 10", "message": "too long"})
    assert [text.rpartition(": ")[2] for text in messages] == ["too long"]
