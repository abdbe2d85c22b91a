"""The context of a run: the inputs and rules with which its jobs are compiled.

Jobs are independent, so they can be compiled in any order, in other processes, or taken from the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from trainc.admission.base_revision import Base
from trainc.admission.companions import Companions, admit_companions
from trainc.documents.classify import Documents, Key, identity, is_companion
from trainc.documents.load import comments
from trainc.findings import Finding
from trainc.findings.settling import ReportRules
from trainc.gitops.environment import in_cluster, kept_by_removed
from trainc.gitops.runtime_resources import in_namespaces, without_namespace
from trainc.inputs.options import Options
from trainc.inputs.source import Document, Source
from trainc.pipeline.policies import Policies
from trainc.pipeline.runtimes import Runtimes
from trainc.plugins.model import Model, Objects

if TYPE_CHECKING:
    from trainc.pipeline.update_rules import UpdateRules


class Keep(Enum):
    """The parts of a job's objects that a run keeps: everything, files and summaries, or only summaries."""

    OBJECTS = "objects"
    FILES = "files"
    SUMMARIES = "summaries"


class Context(msgspec.Struct, frozen=True, eq=False):
    """The context of a run. ``findings`` are those on everything except jobs.

    ``cluster`` holds the documents that represent objects in the cluster, as it would store them if the kind is known.
    ``unplaced`` are the keys of documents beside runtimes without a namespace, ``placed`` has these documents in each
    namespace with a job of their runtime, and ``seen`` has all that jobs find in the cluster, as it was loaded.
    ``uses`` has the source of each job's runtime, and the job's namespace, if there are ``unplaced`` ones.
    """

    documents: Documents
    companions: Companions
    cluster: Mapping[Key, Document]
    base: Base
    policies: Policies | None
    update_rules: UpdateRules | None
    runtimes: Runtimes
    report_rules: ReportRules
    options: Options
    keep: Keep
    unplaced: frozenset[Key]
    placed: Mapping[Key, Document]
    seen: Mapping[Key, Document]
    uses: tuple[tuple[Source, str], ...]
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(
        cls,
        documents: Documents,
        loaded: Iterable[Document],
        sources: Iterable[Source],
        options: Options,
        keep: Keep,
        *,
        neighbours: Callable[[], Iterable[Document]] = tuple,
        uses: Iterable[tuple[Source, str]] | None = None,
    ) -> Context:
        """Admit everything that is not a job. ``documents`` are those ``loaded`` from ``sources``, by kind.

        ``uses`` are by default those of ``documents``, and of ``neighbours``, jobs that are not compiled.
        """
        companions = admit_companions(documents.cluster.values(), options.crds, faithful=options.faithful)
        cluster = {**documents.cluster, **{identity(document): document for document in companions.documents}}
        settings = options.settings
        base = Base.of(options.base, (options.environment, *kept_by_removed(options)), settings)
        environments = tuple(in_cluster(options))
        existing = base if options.environment in environments else Base.of(options.base, environments, settings)
        policies = Policies.of(documents.cluster.values(), cluster, companions.registry, existing, options)
        update_rules = None
        if base.is_given:
            from trainc.pipeline.update_rules import UpdateRules

            update_rules = UpdateRules(base, companions.registry)
        runtimes = Runtimes.admit(documents.runtimes, options, base)
        report_rules = ReportRules.of((*sources, *options.crds), loaded, options, comments)
        unplaced, placed, seen = frozenset[Key](), dict[Key, Document](), documents.cluster
        if not options.faithful and (unplaced := without_namespace(documents, loaded)):
            if uses is None:
                others = neighbours() if not all(is_companion(seen[key]) for key in unplaced) else ()
                uses = runtimes.uses((*documents.jobs, *others))
            uses = tuple(uses)
            placed = in_namespaces(seen, unplaced, uses)
            seen = {key: document for key, document in seen.items() if key not in unplaced} | placed
        context = cls(
            *(documents, companions, cluster, base, policies, update_rules, runtimes, report_rules, options, keep),
            *(unplaced, placed, seen, tuple(uses or ())),
        )
        context = replace(context, runtimes=runtimes.with_findings(context.check_input))
        of_rules = (finding for rules in context.rules for finding in rules.findings)
        return replace(context, findings=(*companions.findings, *of_rules, *context.runtimes.findings))

    @property
    def rules(self) -> Iterator[Policies | UpdateRules]:
        """The policies and the rules for updates, if the run has them."""
        return (rules for rules in (self.policies, self.update_rules) if rules is not None)

    def check_input(self, document: Document) -> tuple[Finding, ...]:
        """Check an input, as a cluster stores it, against the policies and the base revision."""
        return tuple(dict.fromkeys(finding for rules in self.rules for finding in rules.of_input(document)))

    def check_companion(self, document: Document) -> tuple[Finding, ...]:
        """Check a companion as it is emitted, against the policies and the base revision."""
        found = self.policies.of_companion(document) if self.policies is not None else ()
        of_updates = self.update_rules.of_input(document) if self.update_rules is not None else ()
        return tuple(dict.fromkeys((*found, *of_updates)))

    def check_objects(self, model: Model, objects: Objects) -> tuple[Finding, ...]:
        """Check the objects of a job against the policies and the base revision."""
        return tuple(dict.fromkeys(finding for rules in self.rules for finding in rules.of_objects(model, objects)))
