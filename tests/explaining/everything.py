"""A job in which every kind of origin meets, and what its fields are explained by."""

from __future__ import annotations

from pathlib import Path

from trainc import Build, Options, Source, compile
from trainc.plugins.model import Object
from trainc.project.config import parse, parse_lock
from trainc.provenance.explain import Row, find, table

DIGEST = "sha256:" + "1" * 64
FOLDER = Path(__file__).with_name("everything")
NAMES = ("trainc.yaml", "images.lock.yaml", "runtimes/rt.yaml", "jobs/team/j.yaml")
TEXTS = {name: (FOLDER / name).read_text(encoding="utf-8") for name in NAMES}


def options() -> Options:
    config, findings = parse(Source("trainc.yaml", TEXTS["trainc.yaml"]))
    lock, more = parse_lock(Source("images.lock.yaml", TEXTS["images.lock.yaml"]))
    assert (findings, more) == ((), ())
    return Options(config=config.data, config_document=config.document, lock=lock)


def built() -> Build:
    found = compile([Source(name, TEXTS[name]) for name in ("runtimes/rt.yaml", "jobs/team/j.yaml")], options())
    assert not [finding for finding in found.findings if finding.severity == "error"]
    return found


def made(kind: str, start: str = "") -> Object:
    """Return the one object of a kind whose name begins so."""
    (one,) = [each for each in built().objects if each.kind == kind and each.name.startswith(start)]
    return one


def row(kind: str, field: str, start: str = "") -> Row:
    """Return the one row of a field of an object."""
    one = made(kind, start)
    paths = find(one.data, field)
    assert isinstance(paths[0], tuple), f"no field {paths}"
    (found,) = table(one, paths, options()).rows  # type: ignore[arg-type]  # checked above
    return found
