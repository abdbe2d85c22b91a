"""The codes of images: TC7xx."""

from __future__ import annotations

from trainc.diagnostics.code import Code
from trainc.diagnostics.diagnostic import Severity

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
}
