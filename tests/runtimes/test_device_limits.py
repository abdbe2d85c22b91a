"""The trainer's container of every runtime has limits that the Kubeflow SDK understands.

``TrainerClient.list_runtimes()`` reads the limits of container ``node`` in the jobs with an ancestor label. Limits that
name neither an accelerator nor CPU raise an exception there, for every runtime of the cluster at once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

RUNTIMES = Path(__file__).resolve().parents[2] / "runtimes"
LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
KNOWN = ("nvidia.com/gpu", "google.com/tpu", "cpu")
DOCUMENTS = [
    pytest.param(document, id=f"{path.stem}-{document['metadata']['name']}")
    for path in sorted(RUNTIMES.glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    if document["kind"].endswith("TrainingRuntime")
]


@pytest.mark.parametrize("runtime", DOCUMENTS)
def test_limits_name_a_device(runtime: dict[str, Any]) -> None:
    for job in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        if LABEL not in job["template"].get("metadata", {}).get("labels", {}):
            continue
        for container in job["template"]["spec"]["template"]["spec"]["containers"]:
            limits = container.get("resources", {}).get("limits")
            assert container["name"] != "node" or not limits or any(name in limits for name in KNOWN)
