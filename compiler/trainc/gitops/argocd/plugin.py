"""The definition of the config management plugin that runs `trainc cmp`, and what it takes from an Application."""

from __future__ import annotations

from typing import Final

from trainc.gitops.argocd.tree import API_VERSION
from trainc.source import JsonObject

PLUGIN: Final = "trainc"
ENV: Final = "env"
JOB: Final = "job"
PARAMETERS: Final = (ENV, JOB)
"""The parameters of the plugin. TRAINC_ENV and TRAINC_JOB in spec.source.plugin.env say the same."""


def plugin_definition() -> JsonObject:
    """Return plugin.yaml: no object of the API, but a file of the sidecar beside Argo CD's repo-server.

    It has no discovery, so it never takes an Application that does not name it.
    """
    environment = _parameter(ENV, "Environment", "One of trainc.yaml; not needed where that has one only.")
    job = _parameter(JOB, "Job", "The name of one job, or 0-shared; without it: all of the namespace.")
    return {
        "apiVersion": API_VERSION,
        "kind": "ConfigManagementPlugin",
        "metadata": {"name": PLUGIN},
        "spec": {
            "generate": {"command": ["trainc", "cmp"]},
            "parameters": {"static": [environment, job]},
        },
    }


def _parameter(name: str, title: str, tooltip: str) -> JsonObject:
    return {"name": name, "title": title, "tooltip": tooltip, "collectionType": "string"}
