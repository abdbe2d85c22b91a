"""The options of a compilation."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from trainc.basics.jsonvalues import JsonObject, Path, get
from trainc.inputs.imagelock import Lock
from trainc.inputs.settings import RECOMMENDED, Settings, option_path, read_settings
from trainc.inputs.source import Document, Packed, Source
from trainc.upstream import FIXES


class Revision(Struct, frozen=True, eq=False):
    """The inputs of a revision, and its ``output``, the files of out/. ``name`` is the name that the user gave.

    ``config`` is its parsed trainc.yaml, the default if that is missing or not valid. ``settings`` are its trainc.yaml
    and images.lock.yaml, if they exist.
    """

    name: str
    sources: tuple[Source, ...]
    config: JsonObject = field(default_factory=dict)
    settings: tuple[Document, ...] = ()
    output: tuple[Packed, ...] = ()
    is_valid: bool = True


class Options(Struct, frozen=True, dict=True):
    """Options of one compilation.

    ``faithful``: exactly the output of API server, Trainer v2.3.0 and JobSet v0.12.0 for the documents.
    ``environment``: a key of ``environments`` in trainc.yaml; the first folder below out/.
    ``config``: the parsed trainc.yaml, which is not checked again: a value that is not valid counts as missing;
    ``settings`` are its options for the environment, the defaults under faithful.
    ``config_document``: its text, for the positions of findings.
    ``fixes``: names of FIXES to enable in addition to those of trainc.yaml; ``recommended`` means all recommended ones.
    ``crds``: files with CustomResourceDefinitions for other kinds.
    ``lock``: the digests with which images are pinned.
    ``base``: an earlier revision, from which changes that a cluster would refuse are findings, too.
    ``policies_from``: a revision whose policies and severities apply in addition to the current ones.
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
        for name in ("fixes", "crds"):
            force_setattr(self, name, tuple(getattr(self, name)))  # a program may pass a list, or an iterator
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
    def chosen(self) -> tuple[str, ...]:
        """The enabled fixes, in the order of the table."""
        names = {*self.fixes, *self.settings.fixes}
        with_recommended = RECOMMENDED in names
        return tuple(name for name, fix in FIXES.items() if name in names or (with_recommended and fix.recommended))

    def path_of(self, key: str) -> Path | None:
        """Return the path of an option in the text of trainc.yaml; None if it is not there."""
        data = {} if self.config_document is None else self.config_document.data
        path = option_path(data, self.environment, key)
        return path if get(data, *path) is not None else None

    def fixed(self, name: str) -> bool:
        """Return whether a fix is enabled. Raises KeyError for an unknown name."""
        if name not in FIXES:
            raise KeyError(name)
        return name in self.chosen

    def concerns(self, path: Path) -> bool:
        """Return whether a path of trainc.yaml or images.lock.yaml applies to this environment."""
        return path[:1] != ("environments",) or path[:2] == ("environments", self.environment)

    def with_fixes(self, names: tuple[str, ...]) -> Options:
        """Return the same options with exactly these fixes."""
        changed = replace(self, fixes=())
        changed.__dict__["settings"] = replace(self.settings, fixes=names)
        return changed
