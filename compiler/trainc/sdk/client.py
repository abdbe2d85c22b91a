"""The client: ``TrainerClient`` of the Kubeflow SDK for a repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kubeflow.trainer import TrainerClient
from kubeflow.trainer.types import types

from trainc.project.read import find_root
from trainc.sdk.backend import GitBackend, Trainer


class GitTrainerClient(TrainerClient):
    """A TrainerClient that writes TrainJobs to a repository, and reads runtimes and jobs from it.

    ``root`` is the project folder, or one below it; ``namespace`` the folder of jobs/ and the namespace of the jobs.
    Each TrainJob is compared with the revision ``base`` of the repository, whose output a cluster may already have.
    What only a cluster knows raises NeedsClusterError: logs, events, the status of a job, the packages of an image.
    """

    backend: GitBackend

    def __init__(
        self, root: str | os.PathLike[str] = ".", namespace: str = "default", *, base: str | None = "HEAD"
    ) -> None:
        self.backend = GitBackend(find_root(Path(root).resolve()), namespace, base)

    def train(
        self,
        runtime: str | types.Runtime | None = None,
        initializer: types.Initializer | None = None,
        trainer: Trainer | None = None,
        options: list[Any] | None = None,
        *,
        name: str | None = None,
        replace: bool = False,
    ) -> str:
        """Write a TrainJob to ``jobs/<namespace>/<name>.yaml``, and return its name.

        The TrainJob is that of the SDK, compiled for all environments before it is written. ``name`` is the same as the
        option Name, and one of them is required. A file that ``train`` wrote is overwritten, any other only with
        ``replace``.

        Raises FindingsError, and writes nothing, if the TrainJob has errors; ValueError and RuntimeError as the SDK
        does; FileExistsError for a file that is not overwritten. Warns with FindingsWarning.
        """
        return self.backend.train(runtime, initializer, trainer, options, name=name, replace=replace)
