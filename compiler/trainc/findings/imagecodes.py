"""The codes of images: TC7xx."""

from __future__ import annotations

from trainc.findings.code import Code
from trainc.findings.finding import Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

IMAGE = {
    "TC701": Code(
        _E,
        "image lock",
        "images.lock.yaml holds one mapping, images: from the name of an image, spelt out with registry and tag, to its"
        " digest (sha256: and 64 hexadecimal digits).",
        "trainc image lock writes it",
    ),
    "TC702": Code(
        _W,
        "image without a required digest",
        "lock.required in trainc.yaml names the registry of this image, and neither the image nor images.lock.yaml says"
        " its digest. A tag can be moved: then another program runs than the one that was reviewed.",
    ),
    "TC703": Code(
        _N,
        "images without a digest",
        "So many images of all jobs have no digest, neither where they are named nor in images.lock.yaml.",
        "add them with trainc image lock",
    ),
    "TC704": Code(
        _N,
        "line of the image lock that no job uses",
        "images.lock.yaml has the digest of an image that no job of any environment runs, under this name and tag.",
        "remove the line",
    ),
    "TC705": Code(
        _W,
        "two digests of one image",
        "A TrainJob, a runtime or a patch names an image with a digest, and images.lock.yaml has another digest of that"
        " name. The one that is named is used.",
        "name the image without a digest, or remove it from images.lock.yaml",
    ),
    "TC706": Code(
        _E,
        "image definition",
        "images/<name>/image.yaml says what `trainc image build` makes an image of. Its form is"
        " compiler/trainc/data/image.schema.json; docs/images.md explains the keys.",
    ),
    "TC707": Code(
        _E,
        "pins of an image",
        "packages.lock has a Debian package a line (name, version, SHA-256 of the .deb), wheels.lock a wheel a line, as"
        " pip reads it. They say what the image is made of, to the byte.",
        "trainc image update writes it",
    ),
    "TC708": Code(
        _E,
        "pinned package that is not to be had",
        "The package source of this machine has not the version that packages.lock pins, or has it with another"
        " content. Debian's archive keeps the newest version only; a snapshot of it, given with --mirror, keeps all.",
        "trainc image update pins the versions to be had: review the difference, then build",
    ),
}
