"""Reads one YAML text: line by line where it is plain, as most files are, else with the reader of all YAML."""

from __future__ import annotations

from trainc.documents.problems import Problem
from trainc.documents.yamlplain import read_plain
from trainc.records import NamedTuple
from trainc.source import Json


class YamlText(NamedTuple):
    """What one text holds, and what is wrong with it."""

    data: Json
    problems: list[Problem]


def read_yaml(text: str) -> YamlText:
    """Read the one document of text; a text without any is null.

    Raises Refused (TC001, TC002, TC004, TC012) where there is nothing to go on with.
    """
    plain = read_plain(text)
    if plain is not None:
        return YamlText(plain, [])
    from trainc.documents.yaml import read_events

    return read_events(text)
