"""What a fleet's objects look like with holes: the one origin of the inputs of all peers, so that none does less.

trainc compiles one job of each kind whose values are marks; where a mark stands in the objects, a value of the job
goes. So the templates of peers are right by construction, and that their output equals ours is checked all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import fleet
import yaml
from stopwatch import BenchError

from trainc import Build, Options, Source, compile
from trainc.project.config import parse_lock

MARKS = fleet.Job(
    kind="",
    runtime="",
    namespace="markofnamespace",
    name="markofname",
    team="markofteam",
    tag="markoftag",
    nodes="7001",
    rate="markofrate",
    epochs="markofepochs",
    seed="markofseed",
)
FIELDS = ("namespace", "name", "tag", "nodes", "rate", "epochs", "seed")
"""The fields of a job that its objects show."""

SCALING = ("cpu", "jax")
"""The kinds whose jobs differ in their number of nodes."""

Place = tuple[str | int, ...]


class Skeleton(NamedTuple):
    """The objects of a kind of job, as text; marks stand for the fields of a job."""

    kind: str
    texts: tuple[str, ...]

    def filled(self, values: dict[str, str]) -> tuple[str, ...]:
        """Return the texts with other text in place of the marks, by field."""
        return tuple(_filled(text, values) for text in self.texts)

    def holes(self) -> Iterator[tuple[dict[str, Any], list[tuple[Place, str | int]]]]:
        """Yield each object as data, with the places of its marks and what stands there."""
        for text in self.texts:
            data: dict[str, Any] = yaml.load(text, yaml.CSafeLoader)
            yield data, [(path, value) for path, value in leaves(data) if _filled(str(value), {}) != str(value)]


def _filled(text: str, values: dict[str, str]) -> str:
    for name in sorted(FIELDS, key=lambda each: -len(getattr(MARKS, each))):
        text = text.replace(getattr(MARKS, name), values.get(name, ""))
    return text


def fill(value: str | int, job: fleet.Job) -> str | int:
    """Return what stands in a job's object where a skeleton has this value."""
    text = _filled(str(value), job._asdict())
    return int(text) if isinstance(value, int) else text


def leaves(data: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield every value of JSON that is no mapping and no list, with its path."""
    if isinstance(data, dict | list):
        for step, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(value, (*path, step))
    else:
        yield path, data


def compiled(files: Mapping[str, str]) -> Build:
    """Compile the files of a repository for its environment prod."""
    sources = [Source(name, text) for name, text in files.items() if "/" in name]
    lock, _ = parse_lock(Source("images.lock.yaml", files.get("images.lock.yaml", "")))
    return compile(sources, Options(environment="prod", config=yaml.safe_load(files["trainc.yaml"]), lock=lock))


def skeletons() -> dict[str, Skeleton]:
    """Return the skeleton of every kind of a fleet in its flavour ``LIKE``. BenchError if trainc does not make them."""
    files = dict(fleet.repository(len(fleet.KINDS), fleet.LIKE))
    platform = {name: text for name, text in files.items() if not name.startswith("jobs/")}
    found = {}
    for number, kind in enumerate(fleet.KINDS):
        real = fleet.job(number)
        marked = MARKS._replace(kind=kind, runtime=real.runtime, nodes=MARKS.nodes if kind in SCALING else real.nodes)
        build = compiled({**platform, marked.path: marked.text})
        if build.findings:
            raise BenchError(f"{kind}: {build.findings[0]}")
        texts = [data.decode() for _, data in sorted(build.files.items())]
        found[kind] = Skeleton(kind, tuple(re.sub(r"(?m)\A(#.*\n)*", "", text) for text in texts))
    return found
