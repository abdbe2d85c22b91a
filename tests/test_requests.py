"""Every request of the oracle, created or updated by us, against what the real CRDs and webhooks made of it.

Among them are the entries of JobSet's own integration tests of webhooks (JobSet v0.12.0 test/integration/webhook), but
for four that switch a feature gate on.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from oracle import goldens, runner
from oracle.admission import answer, request, verdict, without_times

REQUESTS = dict(goldens.requests())
ELASTIC = range(31, 35)
"""The entries for elastic JobSets, which are off by default."""

JOBSET = (
    "default-completion-mode", "completion-mode", "default-hostnames", "default-addresses", "default-restart-policy",
    "update-node-selector-suspended", "update-node-selector", "update-pod", "default-success-policy",
    "success-unknown-job", "update-suspend", "update-resume", "update-success-policy", "update-failure-policy",
    "default-failure-policy", "update-managed-by", "update-pod-suspended", "update-annotations", "depends-any-order",
    "depends-in-order", "depends-first", "depends-status", "update-depends", "no-jobs", "coordinator-too-long",
    "default-claims", "update-claims", "claims-namespace", "claims-51-policies", "claims-51-templates",
    *(None for _ in ELASTIC), "update-parallelism",
)  # fmt: skip
"""Our request for each entry, in upstream's order."""

ACCEPTED = {
    "completion-mode", "update-node-selector-suspended", "update-suspend", "update-resume", "update-pod-suspended",
    "depends-any-order", "no-jobs", *(case for case in JOBSET if case is not None and case.startswith("default-")),
}  # fmt: skip
"""What upstream expects to be taken; everything else is refused."""


def test_every_entry_of_jobset_has_a_request() -> None:
    cases = [case for case in JOBSET if case is not None]
    assert (len(JOBSET), len(cases)) == (35, 31)
    assert {f"requests/jobset/{case}" for case in cases} == {name for name in REQUESTS if "/jobset/" in name}


@pytest.mark.parametrize("case", [case for case in JOBSET if case is not None])
def test_the_real_code_does_what_jobset_expects(case: str) -> None:
    assert (goldens.read(f"requests/jobset/{case}")["request"]["stage"] is None) == (case in ACCEPTED)


@pytest.mark.parametrize("name", REQUESTS)
def test_request(name: str) -> None:
    result = goldens.read(name)["request"]
    real, ours = verdict(result), request(REQUESTS[name])
    assert answer(ours.refusals, real) == real
    if real.stage is None:
        assert without_times(ours.stored) == without_times(result["object"])


@pytest.mark.go
def test_upstream_has_these_entries() -> None:
    if reason := runner.missing():
        pytest.skip(reason)
    module = "sigs.k8s.io/jobset"
    found = subprocess.run(
        ["go", "list", "-m", "-f", "{{.Dir}}", module], cwd=runner.HERE, capture_output=True, text=True, check=True
    )
    folder = Path(found.stdout.strip()) / "test" / "integration" / "webhook"
    parts = (folder / "jobset_webhook_test.go").read_text(encoding="utf-8").split("ginkgo.Entry(")[1:]
    refused = [re.search(r"(jobSetCreationShouldFail|updateShouldFail): +true", part) is not None for part in parts]
    elastic = [index for index, part in enumerate(parts, 1) if "features.ElasticJobSet, true" in part]
    assert elastic == list(ELASTIC)
    assert [(index, yes) for index, yes in enumerate(refused, 1) if index not in ELASTIC] == [
        (index, case not in ACCEPTED) for index, case in enumerate(JOBSET, 1) if case is not None
    ]
