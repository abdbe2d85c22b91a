"""Options of ``train`` that the Kubeflow SDK lacks: references to Secrets in place of their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Reference:
    """An option that only ``GitBackend`` supports."""

    def __call__(self, job_spec: object, trainer: object, backend: object) -> None:
        """Raise ValueError: only other backends call their options."""
        raise ValueError(f"{type(self).__name__} option is not compatible with {type(backend).__name__}")

    def apply(self, spec: dict[str, Any]) -> None:
        """Add the reference to the spec of a TrainJob. Raises ValueError if it does not fit."""
        raise NotImplementedError


@dataclass(frozen=True)
class SecretEnv(Reference):
    """A variable of the trainer with the value of a key of a Secret (``spec.trainer.env[].valueFrom``)."""

    variable: str
    secret: str
    key: str

    def apply(self, spec: dict[str, Any]) -> None:
        """Add the variable. Raises ValueError if the trainer sets it, too."""
        variables = spec.setdefault("trainer", {}).setdefault("env", [])
        if any(variable["name"] == self.variable for variable in variables):
            raise ValueError(f"variable {self.variable} is set by SecretEnv and by the trainer or another option")
        reference = {"secretKeyRef": {"name": self.secret, "key": self.key}}
        variables.append({"name": self.variable, "valueFrom": reference})


@dataclass(frozen=True)
class InitializerSecret(Reference):
    """The Secrets whose keys are the variables of the initializers (``spec.initializer.*.secretRef``).

    The initializers of Trainer read ACCESS_TOKEN (Hugging Face), ACCESS_KEY_ID and SECRET_ACCESS_KEY (S3).
    """

    dataset: str | None = None
    model: str | None = None

    def apply(self, spec: dict[str, Any]) -> None:
        """Add the references. Raises ValueError for an initializer that the TrainJob lacks."""
        for kind, secret in (("dataset", self.dataset), ("model", self.model)):
            if secret is not None and kind not in spec.get("initializer", {}):
                raise ValueError(f"InitializerSecret: the TrainJob has no {kind} initializer")
            if secret is not None:
                spec["initializer"][kind]["secretRef"] = {"name": secret}
