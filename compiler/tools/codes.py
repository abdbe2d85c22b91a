"""Writes docs/codes.md from the table of codes."""

from __future__ import annotations

from pathlib import Path

from trainc.findings.codes import markdown

TARGET = Path(__file__).parents[2] / "docs" / "codes.md"


def main() -> None:
    """Write the file."""
    TARGET.write_text(markdown(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
