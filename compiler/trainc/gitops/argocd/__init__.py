"""The objects that Argo CD 3.5 needs to sync out/: ApplicationSets, AppProjects, health checks, a plugin's definition.

What they say was run against a real Argo CD where docs/argocd.md says so.
"""
