"""Files are read in one place, project/files.py, which opens only regular files and stops at a limit."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from syntax import modules, nodes

READING = frozenset(("open", "fdopen", "read_text", "read_bytes", "file_digest"))
ALLOWED = {
    "project.files: os.open": "the one place",
    "project.read: os.open": "a path that the user names may be a pipe; read_open has the limit",
    "project.write: open": "writes a temporary file",
    "project.write: os.open": "opens a folder, to write its entries to the disk, and a source that is replaced",
    "cache.checkpoint: os.open": "its own file, in blocks of the records' sizes",
    "cache.run: Checkpoint.open": "the same",
    "cache.store: open": "writes a temporary file",
    "cache.store: os.open": "the opener of that",
    "cache.store: records[0].read_text": "a file of the installed package",
    "cli: os.open": "the null device, in place of a closed output",
    "cli: os.fdopen": "the same",
    "data: (ROOT / name).read_bytes": "a file of the package",
    "data: (ROOT / name).read_text": "a file of the package",
    "data: found.open": "a file of the package",
    "images.definition: read_bytes": "that of project.read",
    "images.layout: read_bytes": "that of project.read",
    "images.layout: os.fdopen": "what open_regular has opened",
    "images.layout: hashlib.file_digest": "reads it by blocks",
    "images.layout: file_digest": "the function of these two",
    "images.layers: file_digest": "that of images.layout",
    "images.layers: tarfile.open": "what image build has written",
    "images.build: made.open": "what image build has written",
    "images.build: normal.open": "writes a file",
    "images.rootfs: path.open": "a package that apt or pip has downloaded",
    "images.rootfs: hashlib.file_digest": "reads it by blocks",
    "images.rootfs: path.read_text": "the package sources of the machine",
    "images.rootfs: Path(line).read_text": "the package lists of apt",
    "images.rootfs: Path(mirror).read_text": "--mirror, a regular file that the user names",
}
"""Calls and their reasons."""


def reading(tree: ast.Module) -> Iterator[str]:
    """Yield the calls that open or read a file, as they are written."""
    for node in nodes(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in READING:
                yield ast.unparse(node.func)


def test_files_are_read_in_one_place() -> None:
    found = {f"{name}: {call}" for name, tree in modules().items() for call in reading(tree)}
    assert found == set(ALLOWED)
