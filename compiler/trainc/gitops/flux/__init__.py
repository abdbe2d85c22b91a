"""Flux instead of Argo CD: what objects say to kustomize-controller, and the Kustomizations that apply out/."""

from __future__ import annotations

from trainc.gitops.flux.annotations import PASS, annotated
from trainc.gitops.flux.kustomization import kustomization

__all__ = ["PASS", "annotated", "kustomization"]
