"""Texts that act on somebody who reads them: the values, keys and file names with which tests attack every output."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st
from wcwidth import wcwidth

CONTROLS = (
    *map(chr, (*range(0x20), *range(0x7F, 0xA0))),
    "\x1b[31m",
    "\x1b[2J\x1b[H",
    "\x1b[?1049h",
    "\x1b[?25l",
    "\x1b[1A\x1b[2K",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1bP+q544e\x1b\\",
    "\x1b(0",
    "\x1bc",
    "\x1b[6n",
    "\x9b31m",
    "\x9d0;title\x9c",
)
"""What a terminal obeys: C0, DEL and C1, colours, movement, modes, title, link, clipboard, charset, reset, query."""

INVISIBLE = tuple(
    "\xad\u034f\u061c\u115f\u180e\u200b\u200d\u200e\u202a\u202e\u2028\u2029\u2060\u2066\u2069\u3164\ufe00\ufe0f\ufeff"
    "\uffa0\ufff9\ufffe\uffff\ue000\ud800\udcff\U0001fffe\U000323b0\U00050000\U000e0001\U000e0041\U000e0100\U00100000"
)
"""Zero-width and bidirectional characters, fillers, line separators, lone surrogates, selectors, tags, unassigned."""

COMMANDS = (
    "::error::x",
    "::set-output name=a::b",
    " \t::warning file=a::x",
    "\u3000::add-mask::x",
    "::stop-commands::x",
    "::ERROR title=TC101 a::x",
    "##[error]x",
    "###[group]x",
    "##[add-matcher]a.json",
    "##vso[task.setvariable variable=a]b",
    "##teamcity[x]",
    "section_start:0:a\r\x1b[0K",
    "%0A::error::x",
    "%250A",
)
"""What the runner of a CI job obeys in a log."""

MARKUP = (
    "http://evil.example/x",
    "HTTPS://evil.example",
    "ftp://evil.example",
    "www.evil.example",
    "wwww.evil.example",
    "a@evil.example",
    "a@www.evil.example",
    "a@b_c.evil.example",
    "mailto:a@evil.example",
    "xmpp:a@evil.example/x",
    "@team/all",
    "@somebody",
    "#1",
    "a/b#1",
    "GH-1",
    "GHSA-aaaa-bbbb-cccc",
    "CVE-2024-12345",
    "0123456",
    "deadbeef0",
    ":tada:",
    "[a](http://evil.example)",
    "[a\\]](http://evil.example)",
    "\\[a](0)",
    "[a][b]",
    "![a](http://evil.example/a.png)",
    "<http://evil.example>",
    "<img src=x onerror=alert(1)>",
    "<a href='javascript:x'>a</a>",
    "<!-- ",
    "-->",
    "<!-- trainc diff -->",
    "</details>",
    "</summary><b>",
    "</code>",
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "</style>",
    "</title>",
    '" onload="x',
    "' x='",
    "]]>",
    "<![CDATA[",
    "<?x ?>",
    "&lt;b&gt;&#64;a",
    "&x;",
    "**a**",
    "_a_",
    "~~a~~",
    "`a`",
    "```",
    "~~~",
    "| a |",
    "\\|",
    "|---|",
    "- [ ] a",
    "1. a",
    "1) a",
    "# a",
    "> a",
    "===",
    "---",
    "[^1]",
    "$a$",
    "\\",
    "{{7*7}}{% x %}",
    '"]; click a "http://evil.example"',
    "%%{init: {}}%%",
    "#quot;#35;",
    "[[ATTACHMENT|/etc/passwd]]",
    "a" + "\u0336\u0489" * 9,
)
"""What a reader of Markdown, HTML, XML, Mermaid or SARIF obeys, and what GitHub turns into a link."""

SYNTAX = (
    "\n",
    "\r\n",
    "\n\n",
    ": ",
    " #",
    "\n---\n",
    "...",
    '"',
    "'",
    "}",
    "]",
    ",",
    "\\u202e",
    "\\x1b",
    "!!x",
    "&a *a",
)
"""What YAML and JSON are made of."""

PIECES = (*CONTROLS, *INVISIBLE, *COMMANDS, *MARKUP, *SYNTAX)

EVERYTHING = tuple("".join(PIECES[start::7]) for start in range(7))
"""Seven long texts that contain all pieces."""


def _is_drawn(char: str) -> bool:
    """Return whether pyte draws a character: it stops at marks of no width that it does not combine."""
    return wcwidth(char) != 0 or unicodedata.combining(char) > 0 or unicodedata.category(char)[0] in "CZ"


def texts(max_size: int = 6) -> st.SearchStrategy[str]:
    """Return a strategy for texts of pieces and of any characters."""
    chars = st.text(st.characters(exclude_categories=()).filter(_is_drawn), max_size=4)
    pieces = st.one_of(st.sampled_from(PIECES), chars, st.sampled_from(("a", " ", "spec")))
    return st.lists(pieces, max_size=max_size).map("".join)
