"""The version of trainc and the addresses of its documentation, for messages that are read without the repository."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
"""The one place of the version: pyproject.toml and ``trainc.__version__`` read it here."""

REPOSITORY: Final = "https://github.com/trainc/trainc"
DOCUMENTATION: Final = f"{REPOSITORY}/blob/main/docs"
"""The project URLs Repository and Documentation of pyproject.toml."""

SCHEMAS: Final = "https://raw.githubusercontent.com/trainc/trainc/main/docs/schemas"
"""The address of the JSON schemas for editors: the folder docs/schemas/."""


def docs_page(name: str, anchor: str = "") -> str:
    """Return the address of a page of docs/: ``docs_page("fixes")`` is that of docs/fixes.md."""
    return f"{DOCUMENTATION}/{name}.md" + (f"#{anchor}" if anchor else "")
