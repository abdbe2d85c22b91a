"""What reads the output of trainc: a terminal, the runner of GitHub's workflows, a comment on GitHub.

Each returns what it has understood, and fails on what no value of an input may do.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, NamedTuple

import pyte
from markdown_it import MarkdownIt
from wcwidth import wcwidth

DRAWING = frozenset(("draw", "linefeed", "carriage_return", "tab"))
COLOURING = frozenset(("select_graphic_rendition",))


class _Listener:
    """Passes on to a screen what a stream calls, and counts it by name."""

    def __init__(self, screen: pyte.Screen) -> None:
        self.screen, self.called = screen, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            self.called[name] += 1
            return getattr(self.screen, name)(*args, **named)

        return call


def terminal(text: str, *, colour: bool = False) -> list[str]:
    """Show a text on a terminal, and return the lines of the screen. It does nothing but draw; ``colour``: in colours.

    The screen shows exactly the characters of the text, and is afterwards in the state in which it was.
    """
    text = "".join(char for char in text if not _stops_pyte(char))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text) if colour else text
    wanted = [_expanded(line) for line in plain.split("\n")]
    columns = max(map(_width, wanted)) + 1
    screen = pyte.Screen(columns, len(wanted))
    listener, modes = _Listener(screen), set(screen.mode)
    pyte.Stream(listener).feed(text.replace("\n", "\r\n"))
    called = listener.called
    assert set(called) <= DRAWING | (COLOURING if colour else frozenset()), called
    assert called["linefeed"] == len(wanted) - 1
    assert (screen.mode, screen.title, screen.icon_name, screen.charset) == (modes, "", "", 0)
    assert screen.cursor.attrs == screen.default_char, "text after this would be coloured"
    lines = []
    for number in range(len(wanted)):
        row = screen.buffer[number]
        assert colour or all(cell._replace(data=" ") == screen.default_char for cell in row.values())
        lines.append("".join(row[column].data for column in range(max(row, default=-1) + 1)))
    normal = [[unicodedata.normalize("NFC", line) for line in each] for each in (lines, wanted)]
    assert normal[0] == normal[1]
    return lines


def _stops_pyte(char: str) -> bool:
    """Return whether pyte draws nothing from a character on: a mark without columns that Python does not combine."""
    is_mark = unicodedata.category(char) in ("Mn", "Mc", "Me", "Cn")
    return is_mark and wcwidth(char) == 0 and not unicodedata.combining(char)


def _width(text: str) -> int:
    """Return the columns of a text on pyte's screen, which knows no sequences of characters."""
    return sum(max(wcwidth(char), 0) for char in text)


def _expanded(line: str) -> str:
    """Return a line with its tabs expanded as a terminal does, by columns."""
    shown = ""
    for part in re.split("(\t)", line):
        shown += " " * (8 - _width(shown) % 8) if part == "\t" else part
    return shown


# The runner of GitHub: ActionCommand.cs and ActionCommandManager.cs of actions/runner. A line is a command if it begins
# with ::, after white space, or contains ##[ anywhere, and the name that follows is registered.

REGISTERED = frozenset(
    (
        *("add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group", "notice"),
        *("remove-matcher", "save-state", "set-env", "set-output", "set-repo-path", "stop-commands", "warning"),
    )
)
_SPACE = " \t\v\f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""What String.TrimStart of .NET removes (Char.IsWhiteSpace)."""


class Command(NamedTuple):
    """A command in a log of GitHub."""

    name: str
    properties: dict[str, str]
    data: str


def runner(text: str) -> list[Command]:
    """Return the commands that the runner finds in a log, and check that no other CI finds one."""
    assert not re.search(r"##(vso|teamcity)\[", text), "Azure Pipelines, TeamCity"
    assert not re.search(r"section_(start|end):\d+:[\w.-]+(\[[^\]]*\])?\r", text), "GitLab"
    return [command for line in re.split(r"\r\n|\r|\n", text) if (command := _command(line)) is not None]


def _command(line: str) -> Command | None:
    trimmed = line.lstrip(_SPACE)
    if trimmed.startswith("::") and (end := trimmed.find("::", 2)) >= 0:
        found = _parsed(trimmed[2:end], trimmed[end + 2 :], ",", {"%3A": ":", "%2C": ","})
        if found is not None:
            return found
    start = line.find("##[")
    end = line.find("]", start)
    return _parsed(line[start + 3 : end], line[end + 1 :], ";", {"%3B": ";", "%5D": "]"}) if 0 <= start < end else None


def _parsed(info: str, data: str, separator: str, escapes: dict[str, str]) -> Command | None:
    name, space, rest = info.partition(" ")
    if name.lower() not in REGISTERED:
        return None
    pairs = (part.split("=", 1) for part in rest.strip().split(separator) if space)
    properties = {pair[0]: _unescaped(pair[1], escapes) for pair in pairs if len(pair) == 2 and all(pair)}
    return Command(name, properties, _unescaped(data, {} if separator == "," else escapes))


def _unescaped(text: str, more: dict[str, str]) -> str:
    for escape, char in {"%0D": "\r", "%0A": "\n", **more, "%25": "%"}.items():
        text = text.replace(escape, char)
    return text


# A comment on GitHub: CommonMark with tables and strikethrough, in which URLs, host names and addresses become links
# wherever text is not code in backquotes; then, in text of the HTML outside of code, mentions and references do.

_AUTOLINK = re.compile(r"(?i)(?:https?|ftp)://[\w-]|(?<![^\s*_~(])www\.[\w-]")
_ADDRESS = re.compile(r"(?i)[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:mailto|xmpp):\S+@[\w-]")
"""The rules of cmark-gfm's extension autolink, no stricter than it is."""

_REFERENCE = re.compile(r"(?i)@[\w-]|#\d|\bgh-\d|\b[0-9a-f]{7,40}\b|\bcve-\d|\bghsa-\w|:[\w+-]+:|\$[^\s]|\[[ x]\]|\[\^")
"""What GitHub looks for in text: mentions, issues, commits, advisories, emoji, formulas, tasks, footnotes."""

OPAQUE = frozenset(("code", "pre", "script", "style", "a", "tt"))
"""Elements in whose text GitHub looks for nothing."""

EMPTY = frozenset(("br", "hr", "img", "input", "link", "meta", "path", "rect"))


class Page(HTMLParser):
    """The elements of HTML with their attributes, in order, and the text in them, by element."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[tuple[tuple[str, ...], str]] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == [], "an element that is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append((tuple(self.open), data))

    def handle_comment(self, data: str) -> None:
        self.elements.append(("!--", {data: None}))

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        self.elements.append((f"!{decl}", {}))

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_UNJOINED = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).disable("text_join")
"""Keeps decoded escapes apart from the text around them."""


def comment(markdown: str) -> Page:
    """Return a comment as GitHub shows it: no link, image, mention or reference comes from its text."""
    for block in _UNJOINED.parse(markdown):
        for link in _autolinks(block):
            raise AssertionError(f"a link: {link}")
    page = Page(_MARKDOWN.render(markdown))
    for inside, text in page.text:
        if OPAQUE.isdisjoint(inside):
            found = _REFERENCE.search(text)
            assert found is None, (found, text)
    assert {"a", "img", "input", "script", "style"}.isdisjoint(tag for tag, _ in page.elements)
    return page


def _autolinks(block: Any) -> Iterator[str]:
    """Yield the links that become of the text of a block: neighbours are one text, whatever was escaped."""
    text = decoded = ""
    for token in (*(block.children or ()), None):
        if token is not None and token.type in ("text", "text_special"):
            # A URL is found before escapes are decoded, an address after.
            text += token.content if token.type == "text" else "\N{REPLACEMENT CHARACTER}"
            decoded += token.content
            continue
        yield from (match[0] for match in _AUTOLINK.finditer(text))
        yield from (match[0] for match in _ADDRESS.finditer(decoded))
        text = decoded = ""
