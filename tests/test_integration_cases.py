"""Every entry of Trainer's own integration tests of CRD rules and webhooks: upstream's outcome, the real code's, ours.

Upstream: Trainer v2.3.0 test/integration/webhooks. The cases are our own, of the same situations. A request is admitted
only; a case is compiled, too, so that its JobSet is compared (``test_goldens.py`` compares it whole).
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from oracle import goldens, runner
from oracle.admission import Answer, answer, refusals, request, verdict
from oracle.compare import compile_case

OK, FORBIDDEN, INVALID = "succeeds", "is forbidden", "is invalid"
JOB, RUNTIME, CLUSTER_RUNTIME = (
    "trainjob_test.go", "trainingruntime_webhook_test.go", "clustertrainingruntime_webhook_test.go",
)  # fmt: skip
COUNTS = {JOB: 45, RUNTIME: 14, CLUSTER_RUNTIME: 1}
OUTCOMES = {"crd": INVALID, "runtime-crd": INVALID, "webhook": FORBIDDEN, "runtime-webhook": FORBIDDEN}
"""What upstream's client is told by a refusal at a stage; what comes later it is not told."""

NAME = "<nil>: metadata.name must match RFC 1035 DNS label format"
POLICIES = "spec.mlPolicy: Only one of the policy can be configured"
URI = "storageUri may be empty, or it must be a valid URI (scheme://...)"
POD = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec"
GRACE = f"{POD}.terminationGracePeriodSeconds"
WITHOUT = "spec.runtimeRef: must have container with name - {0}-initializer in the {0}-initializer job"
MISSING = "not found: specified trainingRuntime must be created before the TrainJob is created"
IMMUTABLE = "field is immutable"
MANAGED = "ManagedBy must be trainer.kubeflow.org/trainjob-controller or kueue.x-k8s.io/multikueue if set"


class Entry(NamedTuple):
    """An entry of a file of upstream's, counted from 1; our case; what upstream expects; what the refusal says."""

    file: str
    number: int
    case: str
    expected: str = OK
    says: str = ""


ENTRIES = (
    Entry(JOB, 1, "runtime-same-namespace"),
    Entry(
        JOB, 2, "runtime-missing", FORBIDDEN,
        f'spec.runtimeRef: TrainingRuntime.trainer.kubeflow.org "drydock" {MISSING}',
    ),
    Entry(JOB, 3, "runtime-of-cluster"),
    Entry(JOB, 4, "model-without-container", FORBIDDEN, WITHOUT.format("model")),
    Entry(JOB, 5, "dataset-without-container", FORBIDDEN, WITHOUT.format("dataset")),
    Entry(JOB, 6, "dataset"),
    Entry(JOB, 7, "torch-processes"),
    Entry(
        JOB, 8, "torch-reserved-variable", FORBIDDEN,
        "spec.trainer.env: must not have reserved envs, invalid envs configured: [PET_NODE_RANK]",
    ),
    Entry(
        JOB, 9, "flux-no-processes", FORBIDDEN,
        "spec.trainer.numProcPerNode: must be greater than or equal to 1 for Flux TrainJob",
    ),
    Entry(
        JOB, 10, "flux-installer-taken", FORBIDDEN,
        "spec.trainer.initContainers: InitContainer 'flux-installer' is reserved",
    ),
    Entry(JOB, 11, "uri-dataset-bare", INVALID, f"spec.initializer.dataset.storageUri: {URI}"),
    Entry(JOB, 12, "uri-dataset-empty"),
    Entry(JOB, 13, "uri-dataset-no-path", INVALID, f"spec.initializer.dataset.storageUri: {URI}"),
    Entry(JOB, 14, "uri-dataset"),
    Entry(JOB, 15, "uri-model-bare", INVALID, f"spec.initializer.model.storageUri: {URI}"),
    Entry(JOB, 16, "uri-model"),
    Entry(JOB, 17, "command-longest"),
    Entry(JOB, 18, "command-too-long", INVALID, "spec.trainer.command[0]: may not be more than 1048576 bytes"),
    Entry(JOB, 19, "args-longest"),
    Entry(JOB, 20, "args-too-long", INVALID, "spec.trainer.args[0]: may not be more than 1048576 bytes"),
    Entry(JOB, 21, "name"),
    Entry(JOB, 22, "name-63"),
    Entry(JOB, 23, "name-capital", INVALID, NAME),
    Entry(JOB, 24, "name-digit", INVALID, NAME),
    Entry(JOB, 25, "name-hyphen", INVALID, NAME),
    Entry(JOB, 26, "name-too-long", INVALID, "<nil>: metadata.name must be no more than 63 characters"),
    Entry(JOB, 27, "managed-by-trainer"),
    Entry(JOB, 28, "managed-by-multikueue"),
    Entry(JOB, 29, "managed-by-other", INVALID, f"spec.managedBy: {MANAGED}"),
    Entry(JOB, 30, "patches-two-managers"),
    Entry(JOB, 31, "patches-manager"),
    Entry(
        JOB, 32, "patches-manager-no-path", FORBIDDEN,
        'spec.runtimePatches.manager: must be a domain-prefixed path (such as "acme.io/foo")',
    ),
    Entry(JOB, 33, "grace"),
    Entry(JOB, 34, "grace-negative", INVALID, f"{GRACE}: {GRACE} in body should be greater than or equal to 0"),
    Entry(JOB, 35, "grace-zero"),
    Entry(JOB, 36, "default-suspend"),
    Entry(JOB, 37, "default-managed-by"),
    Entry(JOB, 38, "default-api-group"),
    Entry(JOB, 39, "default-kind"),
    Entry(JOB, 40, "update-managed-by", INVALID, f"spec.managedBy: {IMMUTABLE}"),
    Entry(JOB, 41, "update-runtime", INVALID, f"spec.runtimeRef: {IMMUTABLE}"),
    Entry(JOB, 42, "update-initializer", INVALID, f"spec.initializer: {IMMUTABLE}"),
    Entry(JOB, 43, "update-trainer", INVALID, f"spec.trainer: {IMMUTABLE}"),
    Entry(JOB, 44, "update-patches-suspended"),
    Entry(JOB, 45, "update-grace", INVALID, f"{GRACE}: {IMMUTABLE}"),
    Entry(RUNTIME, 1, "runtime"),
    Entry(RUNTIME, 2, "runtime-plain"),
    Entry(RUNTIME, 3, "policies-mpi-torch", INVALID, POLICIES),
    Entry(RUNTIME, 4, "policies-jax-torch", INVALID, POLICIES),
    Entry(RUNTIME, 5, "policies-torch-flux", INVALID, POLICIES),
    Entry(RUNTIME, 6, "policies-mpi-flux", INVALID, POLICIES),
    Entry(RUNTIME, 7, "policies-jax-flux", INVALID, POLICIES),
    Entry(RUNTIME, 8, "policies-jax-mpi", INVALID, POLICIES),
    Entry(RUNTIME, 9, "policies-all", INVALID, POLICIES),
    Entry(
        RUNTIME, 10, "mpi-implementation", INVALID,
        'spec.mlPolicy.mpi.mpiImplementation: supported values: "OpenMPI", ""',
    ),
    Entry(RUNTIME, 11, "default-mpi-implementation"),
    Entry(RUNTIME, 12, "default-mpi-ssh"),
    Entry(RUNTIME, 13, "default-mpi-launcher"),
    Entry(RUNTIME, 14, "default-mpi-processes"),
    Entry(CLUSTER_RUNTIME, 1, "cluster-runtime"),
)  # fmt: skip
CASES = {name for name, _ in goldens.cases()}
REQUESTS = dict(goldens.requests())
DEFAULTS: dict[str, tuple[tuple[str, ...], Any]] = {
    "default-suspend": (("spec", "suspend"), False),
    "default-managed-by": (("spec", "managedBy"), "trainer.kubeflow.org/trainjob-controller"),
    "default-api-group": (("spec", "runtimeRef", "apiGroup"), "trainer.kubeflow.org"),
    "default-kind": (("spec", "runtimeRef", "kind"), "ClusterTrainingRuntime"),
    "default-mpi-implementation": (("spec", "mlPolicy", "mpi", "mpiImplementation"), "OpenMPI"),
    "default-mpi-ssh": (("spec", "mlPolicy", "mpi", "sshAuthMountPath"), "/root/.ssh"),
    "default-mpi-launcher": (("spec", "mlPolicy", "mpi", "runLauncherAsNode"), False),
    "default-mpi-processes": (("spec", "mlPolicy", "mpi", "numProcPerNode"), 1),
}


def test_all_sixty_are_there() -> None:
    assert Counter(entry.file for entry in ENTRIES) == COUNTS
    assert {(entry.file, entry.number) for entry in ENTRIES} == {(f, n + 1) for f in COUNTS for n in range(COUNTS[f])}
    assert len(ENTRIES) == len({entry.case for entry in ENTRIES}) == 60
    assert all(bool(entry.says) == (entry.expected != OK) for entry in ENTRIES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.case)
def test_entry(entry: Entry) -> None:
    real = _real(entry.case)
    assert OUTCOMES.get(real.stage or "", OK) == entry.expected
    assert entry.expected == OK or entry.says in {f"{place}: {detail}" for place, _, detail in real.reasons}
    assert _ours(entry.case) == real


def test_a_name_of_63_letters_is_refused_by_jobset_only() -> None:
    real = _real("name-63")
    assert real.stage == "jobset-webhook"
    assert real.reasons
    assert all("JobSet name is too long" in detail for _, _, detail in real.reasons)
    late = {e.case for e in ENTRIES if _real(e.case).stage not in (None, *OUTCOMES)}
    assert late == {"name-63"}


@pytest.mark.parametrize("case", DEFAULTS)
def test_defaults_are_filled_in(case: str) -> None:
    path, expected = DEFAULTS[case]
    before: Any = REQUESTS[_request(case)]["new"]
    after: Any = request(REQUESTS[_request(case)]).stored
    for key in path:
        before, after = before.get(key, {}), after[key]
    assert before == {}
    assert after == expected
    assert type(after) is type(expected)


@pytest.mark.go
def test_upstream_has_these_entries() -> None:
    if reason := runner.missing():
        pytest.skip(reason)
    module = "github.com/kubeflow/trainer/v2"
    found = subprocess.run(
        ["go", "list", "-m", "-f", "{{.Dir}}", module], cwd=runner.HERE, capture_output=True, text=True, check=True
    )
    folder = Path(found.stdout.strip()) / "test" / "integration" / "webhooks"
    expected = {file: [entry.expected for entry in ENTRIES if entry.file == file] for file in COUNTS}
    assert {file: _matchers((folder / file).read_text(encoding="utf-8")) for file in COUNTS} == expected


def _matchers(text: str) -> list[str]:
    result = []
    for part in text.split("ginkgo.Entry(")[1:]:
        title = part.split('"')[1]
        matcher = re.search(r"Be(Forbidden|Invalid)Error\(\)", part) if title.startswith("Should fail") else None
        result.append(OK if matcher is None else FORBIDDEN if matcher[1] == "Forbidden" else INVALID)
    return result


def _request(case: str) -> str:
    return f"requests/integration/{case}"


def _real(case: str) -> Answer:
    if f"integration/{case}" in CASES:
        return verdict(goldens.read(f"integration/{case}"))
    return verdict(goldens.read(_request(case))["request"])


def _ours(case: str) -> Answer:
    if f"integration/{case}" in CASES:
        found = tuple(refusals(compile_case(goldens.text(f"integration/{case}")).findings))
    else:
        found = request(REQUESTS[_request(case)]).refusals
    return answer(found, _real(case))
