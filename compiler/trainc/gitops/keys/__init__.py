"""SSH keys of MPI jobs: never in git, made once in the cluster."""

from trainc.gitops.keys.keys import PASS

__all__ = ["PASS"]
