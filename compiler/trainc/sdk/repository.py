"""The files of a repository that the client reads and writes: runtimes/ and jobs/<namespace>/."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, get
from trainc.basics.memo import exclusive
from trainc.documents.classify import classify
from trainc.documents.load import load
from trainc.findings import Finding, has_errors, severities
from trainc.inputs.options import Options, Revision
from trainc.inputs.source import Document, Source
from trainc.pipeline.compile import load_all
from trainc.pipeline.runtimes import Runtimes, admit_builtin, builtin_names
from trainc.project.environments import check_file, load_config, runtimes_among
from trainc.project.files import read_regular
from trainc.project.git import RevisionError, branches_and_tags
from trainc.project.links import top_of
from trainc.project.names import JOBS
from trainc.project.read import Inputs, merge, read_platform, read_tree
from trainc.project.revisions import read_revision
from trainc.project.write import replace_file

HEADER = "# Written by trainc.sdk. Running the notebook again overwrites this file.\n"
"""The first line of a file that ``train`` may overwrite."""


class Stored(NamedTuple):
    """A TrainJob of the repository. ``alone``: its file has no other document, not even one that cannot be read."""

    document: Document
    alone: bool

    @property
    def file(self) -> str:
        """The path of its file from the root."""
        return self.document.source.name

    @property
    def name(self) -> str:
        """Its name."""
        return str(get(self.document.data, "metadata", "name"))

    @property
    def is_written(self) -> bool:
        """Whether the client wrote the file."""
        # git may write the line ends of Windows, and editors a byte order mark.
        first = self.document.source.decoded().removeprefix("\ufeff").partition("\n")[0]
        return self.alone and first.rstrip("\r") == HEADER.rstrip("\n")


class Repository:
    """A project folder, and the namespace of the jobs in it."""

    def __init__(self, root: Path, namespace: str) -> None:
        self.root = root
        self.namespace = namespace

    @exclusive
    def read(self, base: Revision | None = None) -> tuple[list[Stored], list[Finding]]:
        """Return the TrainJobs of the namespace, or those at a revision, and the findings on reading their files."""
        folder = f"{JOBS}/{self.namespace}"
        inputs = read_tree(self.root, folder) if base is None else Inputs(base.sources)
        loaded = [load(source) for source in inputs.sources if source.name.startswith(f"{folder}/")]
        jobs = [
            Stored(job, len(documents) == 1 and not has_errors(found))
            for documents, found in loaded
            for job in classify(documents)[0].jobs
        ]
        return jobs, [*inputs.findings, *(finding for _, findings in loaded for finding in findings)]

    def find(self, name: str, base: Revision | None = None) -> Stored | None:
        """Return the TrainJob of a name, or that at a revision."""
        return next((job for job in self.read(base)[0] if job.name == name), None)

    @exclusive
    def runtimes(self) -> Mapping[str, JsonObject]:
        """Return the runtimes that a job of the namespace can use, by name, as a cluster stores them.

        As for the SDK, a TrainingRuntime comes before a ClusterTrainingRuntime, and that before a built-in one.
        """
        built_in = {name: admitted.document.data for name in builtin_names() if (admitted := admit_builtin(name))}
        beside = runtimes_among(read_tree(self.root, f"{JOBS}/{self.namespace}"))
        documents, _ = classify(load_all(merge([beside, read_platform(self.root)]).sources).documents)
        given = sorted(Runtimes.admit(documents.runtimes, Options()).given.items(), key=lambda entry: entry[0][1])
        own = {name: each.document.data for (_, home, name), each in given if home in ("", self.namespace)}
        return {**built_in, **own}

    @exclusive
    def base(self, revision: str | None) -> Revision | None:
        """Return a revision to compare with; None if there is no repository or no commit yet. Raises RevisionError."""
        try:
            return None if revision is None else read_revision(self.root, revision)
        except RevisionError:
            if revision == "HEAD" and (top_of(self.root) is None or not branches_and_tags(self.root)):
                return None
            raise

    @exclusive
    def check(self, source: Source, base: Revision | None) -> tuple[Finding, ...]:
        """Return the findings on a file of jobs/, also those on changes since a revision."""
        return check_file(self.root, source, *load_config(self.root), base)

    @exclusive
    def settled(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings with the severities of trainc.yaml, without those that it ignores."""
        levels = severities.read(load_config(self.root)[0].data.get(severities.KEY))
        rated = ((finding, levels.get(finding.code, finding.severity)) for finding in findings)
        return [replace(finding, severity=level) for finding, level in rated if level is not None]

    def write(self, source: Source) -> None:
        """Write a file, unless it has this content. Raises OSError."""
        path = self.root / source.name
        data = source.decoded().encode()
        if read_regular(path) != data:
            replace_file(str(path), data)
