"""Writes docs/commands.md: every command with its options, from the help that `trainc COMMAND --help` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from trainc.cli.root import trainc

TARGET = Path(__file__).parents[2] / "docs" / "commands.md"
INTRODUCTION = """\
# Commands and options

This page is generated from the command line: `trainc COMMAND --help` prints the same. The
[README](../README.md#commands) lists the commands with the page of each; [configuration.md](configuration.md) lists the
keys of trainc.yaml.
"""


def markdown() -> str:
    """Return the page."""
    return "\n".join((INTRODUCTION, *_sections(trainc, "trainc", None)))


def _sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(command, parent, name, **command.context_settings)
    is_group = isinstance(command, click.Group)
    yield f"## {context.command_path}\n"
    yield f"`{' '.join((context.command_path, *command.collect_usage_pieces(context)))}`\n"
    paragraphs = cleandoc(command.help or "").replace("\b\n", "").split("\n\n")
    yield from (f"{_prose(paragraph)}\n" for paragraph in paragraphs)
    options = (option for option in command.get_params(context) if isinstance(option, click.Option))
    records = (option.get_help_record(context) for option in options)
    rows = [f"| `{_cell(names)}` | {_cell(_prose(text))} |" for names, text in filter(None, records)]
    yield "\n".join(("| option | does |", "|---|---|", *rows, ""))
    if command.epilog and not (is_group and parent is not None):  # the commands of a group repeat its examples
        for paragraph in command.epilog.replace("\b\n", "").strip().split("\n\n"):
            title, _, lines = paragraph.strip().partition("\n")
            yield from _epilog(title, lines)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _sections(found, below, context)


def _epilog(title: str, lines: str) -> Iterator[str]:
    """Yield a paragraph below the options: examples as commands with comments, or a list of terms."""
    if title == "Examples:":
        rows = re.findall(r"(?m)^  (\S.*?)(?:  +(\S.*))?$|^  ( {4}\S.*)$", lines)
        width = max((len(name) for name, about, _ in rows if about), default=0)
        commands = (f"{name:<{width}}  # {about}" if about else name or rest for name, about, rest in rows)
        yield "```sh\n" + "\n".join(commands) + "\n```\n"
    else:
        rows = re.findall(r"(?m)^  (\S.*?)(?:  +(\S.*))?$", re.sub(r"\n {10,}", " ", lines))
        terms = (f"- `{name}`: {_prose(about)}" if about else f"- `{name}`" for name, about in rows)
        yield "\n".join((title, "", *terms, ""))


def _prose(text: str) -> str:
    return re.sub(r"[<*]", r"\\\g<0>", " ".join(text.split()))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Write the page."""
    TARGET.write_text(markdown(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
