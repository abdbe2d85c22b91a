"""What a caller can choose."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, Path
from trainc.inputs.imagelock import Lock
from trainc.inputs.settings import RECOMMENDED, Settings, read_settings
from trainc.inputs.source import Document, Source
from trainc.upstream import FIXES


class Revision(Struct, frozen=True, eq=False):
    """The inputs and out/ of a revision, by their names there. ``name`` is what the user calls it.

    ``config`` is its trainc.yaml, parsed. ``settings`` are its trainc.yaml and images.lock.yaml, if it has them.
    """

    name: str
    sources: tuple[Source, ...]
    config: JsonObject = field(default_factory=dict)
    settings: tuple[Document, ...] = ()


class Options(Struct, frozen=True, dict=True):
    """Options of one compilation.

    ``faithful``: exactly what API server, Trainer v2.3.0 and JobSet v0.12.0 make of the given documents.
    ``environment``: a key of ``environments`` in trainc.yaml; the first folder below out/.
    ``config``: the parsed trainc.yaml; ``settings`` are its options for the environment, the defaults under faithful.
    ``config_document``: its text, for the positions of findings.
    ``fixes``: names of FIXES to switch on, beside those of trainc.yaml; ``recommended`` stands for those that are.
    ``crds``: files with CustomResourceDefinitions, which validate objects beside TrainJobs and runtimes.
    ``lock``: the digests of images, by which they are pinned.
    ``base``: an earlier revision; with it, the changes that a cluster would refuse are findings, too.
    ``policies_from``: a revision whose policies and severities apply as well: what they forbid stays forbidden.
    Raises ValueError for unknown fixes, and for fixes under faithful.
    """

    faithful: bool = False
    environment: str = "prod"
    config: JsonObject = field(default_factory=dict)
    fixes: tuple[str, ...] = ()
    crds: tuple[Source, ...] = ()
    base: Revision | None = None
    policies_from: Revision | None = None
    lock: Lock = Lock()
    config_document: Document | None = None

    def __post_init__(self) -> None:
        if self.faithful and self.fixes:
            raise ValueError("faithful output has no fixes")
        for name in self.fixes:
            if name != RECOMMENDED and name not in FIXES:
                raise ValueError(f"unknown fix {name!r}")

    @cached_property
    def settings(self) -> Settings:
        """The options of the environment."""
        return Settings() if self.faithful else read_settings(self.config, self.environment)

    @cached_property
    def _on(self) -> frozenset[str]:
        chosen = frozenset((*self.fixes, *self.settings.fixes))
        recommended = (name for name, fix in FIXES.items() if fix.recommended and RECOMMENDED in chosen)
        return chosen.union(recommended)

    def fixed(self, name: str) -> bool:
        """Tell whether a fix is switched on. Raises KeyError for a name that is none."""
        if name not in FIXES:
            raise KeyError(name)
        return name in self._on

    def concerns(self, path: Path) -> bool:
        """Tell whether a path of trainc.yaml or images.lock.yaml is about this environment."""
        return path[:1] != ("environments",) or path[:2] == ("environments", self.environment)

    def chosen(self) -> tuple[str, ...]:
        """Return the fixes that are switched on, in the table's order."""
        return tuple(name for name in FIXES if self.fixed(name))

    def with_fixes(self, names: tuple[str, ...]) -> Options:
        """Return the same options with exactly these fixes, whatever trainc.yaml says."""
        changed = replace(self, fixes=())
        changed.__dict__["settings"] = replace(self.settings, fixes=names)
        return changed
