"""MPI jobs without ssh: what lets their launcher run kubectl exec."""

from trainc.gitops.kubexec.kubexec import PASS

__all__ = ["PASS"]
