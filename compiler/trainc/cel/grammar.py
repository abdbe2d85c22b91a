"""The grammar of cel-go v0.26.0 (parser/gen/CEL.g4): celpy's cel.lark with substitutions, and its LALR(1) tables.

The tables are made by lark and travel as package data (`make schemas` writes them), so that neither lark nor celpy is
imported where the installed celpy has the grammar that they were made from; else they are made anew.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from typing import Any

from trainc.data import installed, load_json
from trainc.records import dataclass
from trainc.regex import lazy

TABLES = "cel_grammar.json"
START, END = "expr", "$END"
WORD = "IDENT"

SUBSTITUTIONS: tuple[tuple[str, str], ...] = (
    # A run of one operator before a member, where cel.lark takes any mixture.
    (
        "unary          : member\n               | unary_not unary\n               | unary_neg unary\n",
        "unary          : member | unary_not member | unary_neg member\n",
    ),
    ('unary_not      : "!"\n', 'unary_not      : "!" | unary_not "!"\n'),
    ('unary_neg      : "-"\n', 'unary_neg      : "-" | unary_neg "-"\n'),
    # Optional selection and escaped names (whose use is an error, but not of syntax).
    ('member_dot     : member "." IDENT\n', 'member_dot     : member "." field | member "." "?" field\n'),
    ('member_index   : member "[" expr "]"\n', 'member_index   : member "[" optexpr "]"\n'),
    (
        'exprlist       : expr ("," expr)*\n',
        'exprlist       : expr | exprlist "," expr\noptexpr        : expr | "?" expr\n'
        "field          : IDENT | ESC_IDENT\n",
    ),
    # Optional elements, entries and fields, and a trailing comma.
    ('list_lit       : "[" [exprlist] "]"', 'list_lit       : "[" [listinits] [","] "]"'),
    ('map_lit        : "{" [mapinits] "}"', 'map_lit        : "{" [mapinits] [","] "}"'),
    ('member_object  : member "{" [fieldinits] "}"', 'member_object  : member "{" [fieldinits] [","] "}"'),
    (
        'mapinits       : expr ":" expr ("," expr ":" expr)*\n',
        'mapinits       : mapinit | mapinits "," mapinit\nmapinit        : optexpr ":" expr\n'
        'listinits      : optexpr | listinits "," optexpr\n',
    ),
    (
        'fieldinits     : IDENT ":" expr ("," IDENT ":" expr)*\n',
        'fieldinits     : fieldinit | fieldinits "," fieldinit\nfieldinit      : field ":" expr | "?" field ":" expr\n',
    ),
    # Numbers are unsigned: a sign is the lexer's affair (tokens.py). No point without a digit behind it.
    ("INT_LIT        : /-?/ /0x/ HEXDIGIT+ | /-?/ DIGIT+\n", "INT_LIT        : /0x/ HEXDIGIT+ | DIGIT+\n"),
    (
        'FLOAT_LIT      : /-?/ DIGIT+ "." DIGIT* EXPONENT? | /-?/ DIGIT* "." DIGIT+ EXPONENT? | /-?/ DIGIT+ EXPONENT\n',
        'FLOAT_LIT      : DIGIT* "." DIGIT+ EXPONENT? | DIGIT+ EXPONENT\n',
    ),
    # Escapes other than these end a token; only triple quotes go over lines; a raw string has no escapes.
    (
        r"""STRING_LIT     : /[rR]?"(?:\\[abfnrtv"'\\]|\\\d{3}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4-8}|.)*?"/""",
        'STRING_LIT     : /"{run}(?:{escape}{run})*"|[rR]"[^"\\r\\n]*"/'.replace("{run}", r'[^"\\\r\n]*'),
    ),
    (
        r"""| /[rR]?'(?:\\[abfnrtv"'\\]|\\\d{3}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}|.)*?'/""",
        "| /'{run}(?:{escape}{run})*'|[rR]'[^'\\r\\n]*'/".replace("{run}", r"[^'\\\r\n]*"),
    ),
    (
        r'''MLSTRING_LIT   : /[rR]?"""(?:\\[abfnrtv"'\\]|\\\d{3}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4-8}'''
        r'''|\r\n|\r|\n|.)*?"""/''',
        r'''MLSTRING_LIT   : /"""(?:{escape}|[^\\])*?"""|[rR]"""[\s\S]*?"""/''',
    ),
    (
        r"""| /[rR]?'''(?:\\[abfnrtv"'\\]|\\\d{3}|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}"""
        r"""|\r\n|\r|\n|.)*?'''/""",
        r"""| /'''(?:{escape}|[^\\])*?'''|[rR]'''[\s\S]*?'''/""",
    ),
    ("IDENT          : /[_a-zA-Z][_a-zA-Z0-9]*/\n", "IDENT          : /[_a-zA-Z][_a-zA-Z0-9]*/\n{esc_ident}\n"),
    # cel-go refuses reserved words behind the grammar, and takes them as names of fields.
    (
        'RESERVED.0       : "as" | "break" | "const" | "continue" | "else"\n'
        '               | "for" | "function" | "if" | "import" | "let"\n'
        '               | "loop" | "package" | "namespace" | "return"\n'
        '               | "var" | "void" | "while"\n',
        "",
    ),
)
"""Text of cel.lark, which must be there exactly once, and what stands in its place."""

SPELLINGS: Mapping[str, str] = {
    "{escape}": r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})""",
    "{esc_ident}": r"ESC_IDENT      : /`[a-zA-Z0-9_.\- \/]+`/",
}


class GrammarChanged(Exception):
    """The installed celpy has a grammar that the substitutions were not written for."""


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What driving the parser takes.

    ``scanner``: a pattern of one token at a place, in its order the longest; the name of the group that matched is the
    terminal, SKIP or SYMBOL. ``symbols`` and ``keywords``: terminals by text, of operators and of reserved names.
    ``actions``: for each state what to do at a terminal: the next state, or minus one minus the number of a rule.
    ``gotos``: for each state the next one after a rule's name. ``rules``: name and number of symbols.
    """

    scanner: re.Pattern[str]
    symbols: Mapping[str, str]
    keywords: Mapping[str, str]
    actions: tuple[Mapping[str, int], ...]
    gotos: tuple[Mapping[str, int], ...]
    rules: tuple[tuple[str, int], ...]
    start: int
    end: int


def grammar_file() -> bytes:
    """Return the grammar of the installed celpy, which is not imported (that takes 95 ms)."""
    return installed("celpy", "cel.lark")


def digest(source: bytes) -> str:
    """Return what tells grammars apart: a digest of celpy's text and of the substitutions."""
    ours = repr((SUBSTITUTIONS, sorted(SPELLINGS.items()))).encode()
    return blake2b(source + b"\0" + ours, digest_size=32).hexdigest()


def adapted(source: bytes) -> str:
    """Return celpy's grammar text as cel-go's; raises GrammarChanged where a substitution does not fit exactly once."""
    text = source.decode("utf-8")
    for old, new in SUBSTITUTIONS:
        if text.count(old) != 1:
            raise GrammarChanged(f"cel.lark has {text.count(old)} times, not once: {old.strip()}")
        text = text.replace(old, new)
    for mark, spelling in SPELLINGS.items():
        text = text.replace(mark, spelling)
    return text


@cache
def tables() -> Tables:
    """Return the tables: those of the package, or new ones where celpy has another grammar than they were made from."""
    source = grammar_file()
    saved = load_json(TABLES)
    if saved["digest"] != digest(source):
        from trainc.cel.grammarbuild import build

        saved = build(source)
    return unpack(saved)


def unpack(saved: Mapping[str, Any]) -> Tables:
    """Return the tables that `grammarbuild.build` packed."""
    names: list[str] = saved["names"]
    actions = tuple({names[key]: to for key, to in zip(row[::2], row[1::2], strict=True)} for row in saved["actions"])
    gotos = tuple({names[key]: to for key, to in zip(row[::2], row[1::2], strict=True)} for row in saved["gotos"])
    return Tables(
        scanner=lazy(saved["scanner"]),
        symbols=saved["symbols"],
        keywords=saved["keywords"],
        actions=tuple(actions[number] for number in saved["rows"]),
        gotos=gotos,
        rules=tuple((names[name], size) for name, size in saved["rules"]),
        start=saved["start"],
        end=saved["end"],
    )
