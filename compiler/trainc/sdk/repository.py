"""The files of a repository that the client reads and writes: runtimes/ and jobs/<namespace>/."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from trainc.basics.jsonvalues import JsonObject, as_object, get
from trainc.documents.classify import classify
from trainc.documents.load import load
from trainc.findings import Finding, severities
from trainc.inputs.options import Options, Revision
from trainc.inputs.source import Document, Source
from trainc.pipeline.compile import load_all
from trainc.pipeline.runtimes import Runtimes, admit_builtin, builtin_names
from trainc.project.environments import JOBS, check_file, load_config
from trainc.project.files import read_regular
from trainc.project.read import Inputs, read_platform, read_tree
from trainc.project.revisions import RevisionError, read_revision
from trainc.project.write import replace_file

HEADER = "# Written by trainc.sdk. Running the notebook again overwrites this file.\n"
"""The first line of a file that ``train`` may overwrite."""


class Stored(NamedTuple):
    """A TrainJob of the repository. ``alone``: its file has no other document."""

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
        return self.alone and self.document.source.decoded().startswith(HEADER)


class Repository:
    """A project folder, and the namespace of the jobs in it."""

    def __init__(self, root: Path, namespace: str) -> None:
        self.root = root
        self.namespace = namespace

    def read(self, base: Revision | None = None) -> tuple[list[Stored], list[Finding]]:
        """Return the TrainJobs of the namespace, or those at a revision, and the findings on reading their files."""
        folder = f"{JOBS}/{self.namespace}"
        inputs = read_tree(self.root, folder) if base is None else Inputs(base.sources)
        loaded = [load(source) for source in inputs.sources if source.name.startswith(f"{folder}/")]
        jobs = [Stored(job, len(documents) == 1) for documents, _ in loaded for job in classify(documents)[0].jobs]
        return jobs, [*inputs.findings, *(finding for _, findings in loaded for finding in findings)]

    def find(self, name: str, base: Revision | None = None) -> Stored | None:
        """Return the TrainJob of a name, or that at a revision."""
        return next((job for job in self.read(base)[0] if job.name == name), None)

    def runtimes(self) -> Mapping[str, JsonObject]:
        """Return the runtimes that a job of the namespace can use, by name, as a cluster stores them.

        As for the SDK, a TrainingRuntime comes before a ClusterTrainingRuntime, and that before a built-in one.
        """
        built_in = {name: admitted.document.data for name in builtin_names() if (admitted := admit_builtin(name))}
        documents, _ = classify(load_all(read_platform(self.root).sources).documents)
        given = sorted(Runtimes.admit(documents.runtimes, Options()).given.items(), key=lambda entry: entry[0][1])
        own = {name: each.document.data for (_, home, name), each in given if home in ("", self.namespace)}
        return {**built_in, **own}

    def base(self, revision: str | None) -> Revision | None:
        """Return a revision to compare with; None if ``HEAD`` does not exist yet. Raises RevisionError."""
        try:
            return None if revision is None else read_revision(self.root, revision)
        except RevisionError:
            if revision == "HEAD":
                return None
            raise

    def check(self, source: Source, base: Revision | None) -> tuple[Finding, ...]:
        """Return the findings on a file of jobs/, also those on changes since a revision."""
        return check_file(self.root, source, *load_config(self.root), base)

    def not_ignored(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings whose code trainc.yaml does not ignore."""
        levels = as_object(load_config(self.root)[0].data.get(severities.KEY))
        return [finding for finding in findings if levels.get(finding.code) != "ignore"]

    def write(self, source: Source) -> None:
        """Write a file, unless it has this content. Raises OSError."""
        path = self.root / source.name
        data = source.decoded().encode()
        if read_regular(path) != data:
            replace_file(str(path), data)
