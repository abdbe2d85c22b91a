"""The objects that Argo CD 3.5 needs to sync out/: ApplicationSets, AppProjects, health checks, a plugin's definition.

What they say was run against a real Argo CD where docs/argocd.md says so.
"""

from __future__ import annotations

from trainc.gitops.argocd.applicationset import applicationset
from trainc.gitops.argocd.health import health_checks
from trainc.gitops.argocd.plugin import plugin_definition
from trainc.gitops.argocd.project import projects
from trainc.gitops.argocd.tree import Tree

__all__ = ["Tree", "applicationset", "health_checks", "plugin_definition", "projects"]
