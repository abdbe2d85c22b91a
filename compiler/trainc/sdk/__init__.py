"""The client of the Kubeflow SDK that writes TrainJobs to a repository instead of creating them in a cluster.

Needs the extra ``sdk``: ``pip install 'trainc[sdk]'``. See docs/sdk.md::

    from trainc.sdk import GitTrainerClient

    client = GitTrainerClient(namespace="team-a")
    client.train(name="mnist", runtime="torch-distributed", trainer=CustomTrainer(func=train_mnist))
"""

from __future__ import annotations

try:
    import kubeflow.trainer as _kubeflow  # noqa: F401 - only whether it is installed
except ModuleNotFoundError as error:
    if error.name not in ("kubeflow", "kubeflow.trainer"):
        raise
    raise ImportError("trainc.sdk needs the Kubeflow SDK: pip install 'trainc[sdk]'", name=error.name) from None

from trainc.sdk.client import GitBackend, GitTrainerClient
from trainc.sdk.errors import FindingsError, FindingsWarning, NeedsClusterError
from trainc.sdk.options import InitializerSecret, SecretEnv

__all__ = [
    "FindingsError",
    "FindingsWarning",
    "GitBackend",
    "GitTrainerClient",
    "InitializerSecret",
    "NeedsClusterError",
    "SecretEnv",
]
