"""What the rest of a run asks of jobs that it does not look at, in few words: a record of one has a hundred.

Two things are asked of all jobs together: which names are taken, so each job has its own; and what there is at all
(namespaces, runtimes in use, kinds of objects, images), so jobs that are alike in it share a shape. What was found in a
job is told in every run. A file has facts if all its jobs have. All is plain data, for ``marshal``.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from trainc.documents.classify import COMPANIONS
from trainc.gitops.base import JOBSET
from trainc.records import NamedTuple, dataclass, field
from trainc.settings import Settings

ODD: Final = 50
"""So many files without facts, which every run reads, are few."""


class Shape(NamedTuple):
    """What jobs alike have in common: namespace, as JSON the reference to their runtime, namespace in the cluster,
    place and digest of the runtime, and group, kind, place and namespace of each object (as in ``Summary``)."""

    home: str
    reference: str
    namespace: str
    runtime: tuple[str, int, str]
    objects: tuple[tuple[str, str, str, str], ...]


Identity = tuple[str, str, str, str]
"""Of an object, as ``base.identify`` says it."""

Entry = tuple[int, str, str, int, int, tuple[Identity, ...]]
"""One job of a file: its index and name, its JobSet's name, the numbers of its shape and of its images, and the
identities of its objects that could be those of a companion."""


@dataclass(slots=True)
class Facts:
    """What is known of the jobs of one environment: file to its jobs. ``platform`` is the digest of what is no job.

    ``told`` has the jobs in which something is found: file and index to findings, as in ``Record``.
    """

    platform: str
    shapes: list[Shape] = field(default_factory=list)
    images: list[tuple[str, ...]] = field(default_factory=list)
    jobs: dict[str, list[Entry]] = field(default_factory=dict)
    told: dict[str, dict[int, Any]] = field(default_factory=dict)
    numbers: dict[Any, int] = field(default_factory=dict)
    """The numbers of shapes and images, once one is asked for."""
    in_use: tuple[dict[int, tuple[str, Entry]], set[int]] | None = None
    """What ``used`` gives, once it is asked for."""

    def add(self, file: str, stubs: Iterable[Any], records: Mapping[int, Any]) -> bool:
        """Take the jobs of a file, as the stubs of ``jobs.py`` and its records; False where they have no facts."""
        found, told = [], {}
        for index, metadata, reference in stubs:
            home = _home(file, metadata)
            record = records.get(index)
            if record is None or home is None:
                return False
            namespace, name, _, findings, made, _, runtime, _ = record
            if findings:
                told[index] = findings
            objects = tuple((group, kind, place, space) for (group, kind, place, _), space, _, _ in made)
            shape = Shape(home, json.dumps(reference), namespace, tuple(runtime), objects)
            pictures = tuple(dict.fromkeys(image for _, _, _, images in made for image in images))
            jobset = next((one[0][3] for one in made if one[0][1] == JOBSET), "")
            beside = tuple(tuple(one[0]) for one in made if one[0][1] in COMPANIONS)
            numbers = self._number(self.shapes, shape), self._number(self.images, pictures)
            found.append((index, name, jobset, *numbers, beside))
        self.jobs[file], self.in_use = found, None
        if told:
            self.told[file] = told
        return True

    def _number(self, table: list[Any], value: Any) -> int:
        """Return the number of a value in a table, put there if it is not."""
        if not self.numbers:
            self.numbers = {each: number for known in (self.shapes, self.images) for number, each in enumerate(known)}
        if (number := self.numbers.get(value)) is None:
            number = self.numbers[value] = len(table)
            table.append(value)
        return number

    def compacted(self) -> Facts:
        """Return the same with no shapes and images but those in use, where most are not."""
        shapes, images = self.used()
        if len(self.shapes) + len(self.images) <= 2 * (len(shapes) + len(images)) + 100:
            return self
        new = Facts(self.platform, told=self.told)
        for file, entries in self.jobs.items():
            new.jobs[file] = [
                (
                    index,
                    name,
                    jobset,
                    new._number(new.shapes, self.shapes[s]),
                    new._number(new.images, self.images[i]),
                    by,
                )
                for index, name, jobset, s, i, by in entries
            ]
        return new

    def used(self) -> tuple[dict[int, tuple[str, Entry]], set[int]]:
        """Return the shapes in use, each with the file and the entry of one job, and the images in use."""
        if self.in_use is not None:
            return self.in_use
        shapes: dict[int, tuple[str, Entry]] = {}
        images: set[int] = set()
        for file, entries in self.jobs.items():
            for entry in entries:
                images.add(entry[4])
                if entry[3] not in shapes:
                    shapes[entry[3]] = file, entry
        self.in_use = shapes, images
        return self.in_use


def gather(inputs: Mapping[str, Any], known: Mapping[str, Any], settings: Mapping[str, Settings]) -> bytes:
    """Return the facts of a repository by its inputs and jobs (as in ``Stored``); nothing where they are no use."""
    if not all(map(is_fit, settings.values())) or not set(settings) <= set(known):
        return b""
    found = {name: Facts(known[name][0]) for name in settings}
    for file, (_, _, stubs) in inputs.items():
        extend(found, file, stubs, {name: known[name][2] for name in found})
    return dump(found, inputs)


def is_fit(settings: Settings) -> bool:
    """Tell whether shapes are all that an environment asks of jobs: not where it goes by their names."""
    return not (settings.jobs or settings.patches or (settings.target == "flux" and settings.flux.write))


def extend(found: Mapping[str, Facts], file: str, stubs: Any, known: Mapping[str, Mapping[str, Any]]) -> None:
    """Add a file to the facts of all environments, or to none; ``known`` has records by environment and file."""
    records = [known[name].get(file, (None, {}))[1] for name in found]
    both = zip(found.values(), records, strict=True)
    if stubs is None or not all(facts.add(file, stubs, each) for facts, each in both):
        for facts in found.values():
            facts.jobs.pop(file, None)
            facts.told.pop(file, None)


def dump(found: Mapping[str, Facts], files: Collection[str]) -> bytes:
    """Return facts as bytes; nothing where too many of the files below jobs/ have none."""
    if any(len(files) - len(facts.jobs) > ODD for facts in found.values()):
        return b""
    return marshal.dumps([_plain(name, facts) for name, facts in found.items()])


def _plain(name: str, facts: Facts) -> list[Any]:
    return [name, facts.platform, list(map(tuple, facts.shapes)), facts.images, facts.jobs, facts.told]


def load(data: bytes) -> dict[str, Facts]:
    """Return the facts by environment."""
    return {
        name: Facts(platform, list(map(Shape._make, shapes)), images, jobs, told)
        for name, platform, shapes, images, jobs, told in marshal.loads(data)
    }


def _home(file: str, metadata: Any) -> str | None:
    """Return the namespace of a TrainJob in a file below jobs/, as ``with_namespace`` says; None where it is odd."""
    steps = file.split("/")
    own = metadata.get("namespace", steps[1])
    return own if len(steps) == 3 and own and isinstance(own, str) else None
