"""The environments of trainc.yaml that the goldens show, and the trees of their objects."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.basics.jsonvalues import JsonObject
from trainc.gitops.argocd import Tree
from trainc.gitops.pods import Summary
from trainc.inputs.settings import read_settings

REPOSITORY = "https://git.example.com/ml/training.git"

OBJECTS: tuple[tuple[str, str, str], ...] = (
    ("jobset.x-k8s.io/v1alpha2", "JobSet", "team-a"),
    ("v1", "ConfigMap", "team-a"),
    ("v1", "Secret", "team-b"),
    ("rbac.authorization.k8s.io/v1", "Role", "team-b"),
    ("batch/v1", "Job", "team-b"),
    ("jobset.x-k8s.io/v1alpha2", "JobSet", "team-b"),
)

FOLDERS = ("team-a", "team-b", "vision")
"""The folders of jobs/ with jobs."""

OPTIONS: Mapping[str, JsonObject] = {
    "plain": {"argocd": {"repoURL": REPOSITORY}},
    "all": {
        "argocd": {
            "repoURL": "ssh://git@git.example.com/{{ml}}/training.git",
            "revision": "release-1",
            "namespace": "gitops",
            "project": "training",
            "automated": False,
            "onDelete": "keep",
            "namespaces": ["team-*", "research"],
        },
        "destination": {"name": "gpu-west"},
        "createNamespace": True,
    },
    "hydrator": {
        "argocd": {"repoURL": REPOSITORY, "hydrator": {"branch": "env/hydrator", "staging": "env/hydrator-next"}},
        "namespaces": {"vision": "team-b", "unused": "elsewhere"},
    },
    "namespaces": {"argocd": {"repoURL": REPOSITORY, "per": "namespace"}, "createNamespace": True},
}


def tree(name: str, options: JsonObject | None = None) -> Tree:
    """Return the tree of an environment with the objects above."""
    given = options if options is not None else OPTIONS[name]
    made = (Summary((api.rpartition("/")[0], kind, place, "one"), place, "one") for api, kind, place in OBJECTS)
    return Tree.of(name, read_settings({"environments": {name: given}}, name), made, FOLDERS)
