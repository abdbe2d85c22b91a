"""Which names of images the kubelet can parse, told through findings, against the kubelet's own code."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable

import pods_oracle
import pytest

from builders import role, runtime, trainjob
from oracle import gotools
from trainc import Options, Severity, Source, compile

HEX = "0123456789abcdef" * 4
FINE = (
    "ubuntu",
    "a",
    "ubuntu:22.04",
    "pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime",
    "localhost/train",
    "localhost:5000/team/train:1",
    "REGISTRY.example.com:443/team/train:V1_A.b-c",
    "[2001:db8::1]:5000/train",
    "10.0.0.1/train",
    "a_b.c/train",
    "team/my__train--image.v2/x",
    f"train@sha256:{HEX}",
    f"example.com/train:1@sha256:{HEX}",
    f"example.com/train@sha384:{HEX}{HEX[:32]}",
    f"example.com/train@sha512:{HEX}{HEX}",
    "Team/train",  # a registry of that name
    f"example.com/{'y' * 255}",
    f"{'y' * 247}",
    f"train:{'1' * 128}",
)
BROKEN = (
    "Ubuntu",
    "team/Train",
    "docker.io/Train:1",
    "example.com/team/train image:1",
    "https://example.com/train:1",
    "docker://train",
    "{{ .Values.image }}",
    "example.com/train:{{ tag }}",
    "example.com/train:${TAG}",
    "example.com/$TEAM/train",
    "example.com/<team>/train",
    "example.com/train:%(tag)s",
    "example.com/train:",
    "example.com/train:-1",
    "example.com/train:1+2",
    f"train:{'1' * 129}",
    "example.com/train@",
    "example.com/train@sha256",
    "example.com/train@sha256:",
    f"example.com/train@sha256:{HEX[:-1]}",
    f"example.com/train@sha256:{HEX.upper()}",
    f"example.com/train@sha512:{HEX}",
    f"example.com/train@md5:{HEX[:32]}",
    f"example.com/train@{HEX}",
    HEX,
    "/train",
    "example.com/",
    "example.com//train",
    "example.com/-train",
    "example.com/train_",
    "example.com/a___b",
    "example.com:port/train",
    "-example.com/train",
    "example..com:5000/train",
    f"example.com/{'y' * 256}",
    f"{'y' * 248}",
    "tr\u00e4in",
)

RUNTIME = runtime(role(containers="CONTAINERS"))
JOB = trainjob()


def refused(images: Iterable[str]) -> set[str]:
    """Return the images that are errors."""
    containers = [{"name": f"c{index}", "image": image} for index, image in enumerate(images)]
    runtime = RUNTIME.replace("CONTAINERS", json.dumps(containers, ensure_ascii=False))
    findings = compile([Source("rt.yaml", runtime), Source("jobs/team/job.yaml", JOB)], Options()).findings
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    assert {finding.code for finding in errors} <= {"TC821"}
    return {containers[int(finding.path[-2])]["image"] for finding in errors}


def test_what_the_kubelet_cannot_parse_is_an_error() -> None:
    assert refused((*FINE, *BROKEN)) == set(BROKEN)


def mixed(count: int, seed: int) -> list[str]:
    """Return images made of parts that are right and wrong."""
    rng = random.Random(seed)
    hosts = ("", "", "team/", "Team/", "docker.io/", "example.com:5000/", "a_b.c/", "localhost/", "[::1]:5/", "x:y/")
    paths = ("train", "a-b", "a__b", "a.b/c", "A", "a/", "a//b", "y" * 256, "a b", "${A}", "_a")
    tags = ("", "", ":1", ":v1.0-A_b", ":", ":-x", f":{'x' * 128}", f":{'x' * 129}")
    digests = ("", "", f"@sha256:{HEX}", f"@sha256:{HEX[1:]}", f"@sha512:{HEX}", f"@sha512:{HEX}{HEX}", "@", "@md5:a")
    parts = (hosts, paths, tags, digests)
    return sorted({"".join(rng.choice(part) for part in parts) for _ in range(count)})


@pytest.mark.go
def test_the_kubelet_agrees() -> None:
    if (reason := pods_oracle.missing()) is not None:
        pytest.skip(reason)
    images = [*FINE, *BROKEN, *mixed(1500, 7)]
    answers = gotools.ask("./references", images, pods_oracle.ORACLE)
    assert refused(images) == {image for image, answer in zip(images, answers, strict=True) if not answer}
