"""The codes of files that cannot be written, and of faults of trainc."""

from __future__ import annotations

from trainc.diagnostics.code import Code
from trainc.diagnostics.diagnostic import Severity

_E = Severity.ERROR

OUTPUT = {
    "TC901": Code(
        _E,
        "file in the way",
        "A file under out/ does not carry trainc's header, so trainc will neither overwrite nor remove it.",
        "move it away, or delete it if it is not needed",
    ),
    "TC902": Code(_E, "internal error", "A fault of trainc. Please report it, with the input that caused it."),
}
