"""Keys that the External Secrets Operator makes: its generator of SSH keys, and what puts them into a Secret.

Source: the CRDs of external-secrets v1.3.2 (SSHKey is there since v0.19). Every default is written, since a server
would add it. Each time the generator is asked it makes another pair; CreatedOnce is what asks it once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainc.gitops.base import by_environment, namespace_origin
from trainc.gitops.keys.names import keys_name, metadata
from trainc.gitops.naming import name_place
from trainc.model import Model, Object, Objects, Origin
from trainc.plugins.mpi.plugin import secret_name
from trainc.source import JsonObject, Path

GENERATORS = "generators.external-secrets.io/v1alpha1"
SKIP_DRY_RUN: JsonObject = {"argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true"}
_PUBLIC = "{{ .publicKey | trim }}"


def made_by_operator(model: Model) -> Objects:
    """Return the generator, and the ExternalSecret of upstream's name."""
    return tuple(Object(data, _origins(model)) for data in (_generator(model), _external_secret(model)))


def _generator(model: Model) -> JsonObject:
    return {
        "apiVersion": GENERATORS,
        "kind": "SSHKey",
        "metadata": _metadata(model, keys_name(model)),
        "spec": {"keyType": "ed25519"},
    }


def _external_secret(model: Model) -> JsonObject:
    generator: JsonObject = {"apiVersion": GENERATORS, "kind": "SSHKey", "name": keys_name(model)}
    return {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "metadata": _metadata(model, secret_name(model)),
        "spec": {
            "refreshPolicy": "CreatedOnce",
            "refreshInterval": "0s",  # the default is an hour: CreatedOnce ignores it, a reader need not know
            "dataFrom": [{"sourceRef": {"generatorRef": generator}}],
            "target": {
                "name": secret_name(model),
                "creationPolicy": "Owner",
                "deletionPolicy": "Retain",
                "immutable": True,
                "template": _template(),
            },
        },
    }


def _template() -> JsonObject:
    """Return how the pair becomes a Secret as Trainer's own is, with known_hosts as the key Job writes them."""
    return {
        "engineVersion": "v2",
        "mergePolicy": "Replace",
        "type": "kubernetes.io/ssh-auth",
        "data": {
            "ssh-privatekey": "{{ .privateKey }}",
            "ssh-publickey": "{{ .publicKey }}",
            "known_hosts": f"* {_PUBLIC}\n[*]:* {_PUBLIC}\n",
        },
    }


def _metadata(model: Model, name: str) -> JsonObject:
    found = metadata(model, name)
    if model.options.settings.ssh_keys.skip_dry_run:
        found["annotations"] = {**SKIP_DRY_RUN}
    return found


def _origins(model: Model) -> Callable[[], Mapping[Path, Origin]]:
    return lambda: {
        (): by_environment("sshKeys", model),
        ("metadata", "name"): Origin("input", model.job, name_place(model)),
        ("metadata", "namespace"): namespace_origin(model),
    }
