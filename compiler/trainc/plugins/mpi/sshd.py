"""Whether a container's command line runs sshd, the shell scripts in it read as a shell reads them."""

from __future__ import annotations

import shlex

OPERATORS = ";&|()\n"
"""What ends a command in a shell's script."""

_BEFORE_COMMANDS = ("exec", "--", "then", "do", "else", "{")


def runs_sshd(words: list[str]) -> bool:
    """Tell whether a command line, or a shell's script in it, runs sshd: by a path of programs, or as a command."""
    tokens = shell_words(words)
    return any(_runs(tokens[index - 1] if index else "", token) for index, token in enumerate(tokens))


def _runs(before: str, word: str) -> bool:
    folder, slash, _ = word.rpartition("/")
    if not is_sshd(word) or slash:
        return is_sshd(word) and folder.endswith("bin")  # not /run/sshd, its folder
    return before in _BEFORE_COMMANDS or not before.strip(OPERATORS)


def is_sshd(word: str) -> bool:
    """Tell whether a word is the name of OpenSSH's server, or a path of it."""
    return word.rpartition("/")[2] == "sshd"


def shell_words(words: list[str]) -> list[str]:
    """Return the words of a command line, those of shell scripts in it one by one."""
    if words and is_sshd(words[0]):
        return words
    return [token for word in words for token in _tokens(word)]


def _tokens(word: str) -> list[str]:
    """Return the words of a shell's script, and its operators; a word without blanks is no script."""
    if not any(map(str.isspace, word)):
        return [word]
    lexer = shlex.shlex(word.replace("\\\n", " "), posix=True, punctuation_chars=OPERATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:  # a quote that nobody closes
        return []
