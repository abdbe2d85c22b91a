"""The codes of files that cannot be written, and of faults of trainc."""

from __future__ import annotations

from trainc.diagnostics.code import Code
from trainc.diagnostics.diagnostic import Severity

_E, _W = Severity.ERROR, Severity.WARNING

OUTPUT = {
    "TC901": Code(
        _E,
        "file in the way",
        "A file under out/ does not carry trainc's header, so trainc will neither overwrite nor remove it.",
        "move it away, or delete it if it is not needed",
    ),
    "TC902": Code(_E, "internal error", "A fault of trainc. Please report it, with the input that caused it."),
    "TC903": Code(
        _W,
        "file under out/ that trainc did not write",
        "The file lacks trainc's header, or lies where trainc writes nothing. Whoever syncs its directory reads it, or"
        " stumbles over it: one .json that is no object of Kubernetes breaks a whole Application. diff says nothing"
        " else about it.",
        "move it out of out/",
    ),
    "TC904": Code(
        _E,
        "file under out/ that cannot be compared",
        "The file carries trainc's header and is not what trainc writes: it is not YAML, does not hold exactly one"
        " object, or holds one that no cluster would take. Of the side that is left behind it is a note.",
        "run trainc render",
    ),
}
