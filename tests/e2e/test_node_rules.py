"""The rules of the node that need no pod: expansion, quantities, DNS messages, images, security, allowed fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from simulator import allowed
from simulator.environment import ConfigError, expand
from simulator.errors import Unsupported
from simulator.images import Image
from simulator.security import identity


# The cases of k8s.io/kubernetes/third_party/forked/golang/expansion/expand_test.go that a reader would ask about.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(VAR_A)", "A"),
        ("___$(VAR_B)___", "___B___"),
        ("$(VAR_A)_$(VAR_B)", "A_B"),
        ("$$(VAR_B)_$(VAR_A)", "$(VAR_B)_A"),
        ("$$$(VAR_A)", "$A"),
        ("$$$$(VAR_A)", "$$(VAR_A)"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$VAR_A", "$VAR_A"),
        ("$(VAR_A", "$(VAR_A"),
        ("$", "$"),
        ("a$", "a$"),
        ("$$", "$"),
        ("$()", "$()"),
        ("$((VAR_A))", "$((VAR_A))"),
        ("\n$(VAR_A)", "\nA"),
    ],
)
def test_expand(text: str, expected: str) -> None:
    assert expand(text, {"VAR_A": "A", "VAR_B": "B"}) == expected


@drawn(st.text())
def test_expand_leaves_what_was_escaped(text: str) -> None:
    assert expand(text.replace("$", "$$"), {"A": "x"}) == text


def pod(spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": "default"}, "spec": spec}


@pytest.mark.parametrize(
    ("user", "context", "text"),
    [
        ("", {}, "image will run as root"),
        ("0:0", {}, "image will run as root"),
        ("nobody", {}, r"non-numeric user \(nobody\)"),
        ("1000", {"runAsUser": 0}, "runAsUser breaks non-root policy"),
    ],
)
def test_root_is_refused(user: str, context: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        identity(pod({"securityContext": {"runAsNonRoot": True, **context}}), {}, Image(Path("/"), user=user))


def test_what_is_passed_over_has_a_reason() -> None:
    container = {"name": "c", "image": "i", "resources": {"limits": {"cpu": 1}}, "imagePullPolicy": "Always"}
    found = allowed.check(
        pod({"containers": [container], "tolerations": [{"key": "x"}], "affinity": {}, "nodeSelector": None})
    )
    assert found == (
        "containers.resources (no control groups)",
        "containers.imagePullPolicy (images are there)",
        "tolerations (there is one node)",
    )


def test_every_field_passed_over_is_allowed() -> None:
    for path in allowed.PASSED_OVER:
        shape: Any = allowed.SPEC
        for name in path.split("."):
            shape = (shape[0] if isinstance(shape, list) else shape)[name]


def test_what_is_not_carried_out_is_named() -> None:
    container = {"name": "c", "image": "i", "resizePolicy": [], "ports": [{"containerPort": 1, "hostPort": 2}]}
    spec = {"containers": [container], "hostPID": True, "resourceClaims": [], "restartPolicy": "Sometimes"}
    with pytest.raises(Unsupported) as error:
        allowed.check(pod(spec))
    names = ("containers[0].resizePolicy", "containers[0].ports[0].hostPort", "hostPID: True", "resourceClaims")
    assert str(error.value) == (
        f"Pod p: not carried out: {', '.join(f'spec.{name}' for name in names)}, spec.restartPolicy: Sometimes"
    )
