"""Calls of the client for the Kubeflow SDK, for the server of faults."""

from __future__ import annotations

from pathlib import Path

from kubeflow.trainer.options import Name
from kubeflow.trainer.types import types

from trainc.sdk.client import GitBackend


def train(name: str, image: str) -> None:
    """Write a TrainJob, as a notebook does."""
    backend = GitBackend(Path.cwd(), "sdk", None)
    trainer = types.CustomTrainerContainer(image=image)
    backend.train(runtime=backend.get_runtime("torch-distributed"), trainer=trainer, options=[Name(name)])
