"""A kubectl whose cluster is a file: ``get pods`` with a selector and jsonpath, ``exec``, and a note of every call.

The folder that FAKE_KUBECTL names holds ``answers.json``: what one ``get pods`` after the other finds, the last one for
ever: a list of pods, or a text, which is an error. ``calls.jsonl`` gets the arguments. ``exec`` runs the command here.
Tests start it hundreds of times: it imports little.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from pathlib import Path

TYPE_CHECKING = False  # importing it takes as long as all else
if TYPE_CHECKING:
    from typing import Any


def value(pod: Any, path: str) -> str:
    """Return what kubectl prints of a path: names with dots escaped, and a filter of items by name."""
    found = pod
    for name, item in re.findall(r'\.((?:[^.\\\[]|\\.)+)|\[\?\(@\.name=="([^"]*)"\)\]', path):
        if item:
            found = {one["name"]: one for one in found or []}.get(item)
        else:
            found = (found or {}).get(name.replace("\\", ""))
    return "" if found is None else str(found)


def render(template: str, pods: list[Any]) -> str:
    """Return what kubectl prints of pods for a jsonpath with one range over all of them."""
    whole = re.fullmatch(r"\{range \.items\[\*\]\}(.*)\{end\}", template)
    assert whole is not None, template
    parts = re.findall(r'\{"((?:[^"\\]|\\.)*)"\}|\{(\.[^}]*)\}|([^{]+)', whole.group(1))
    return "".join(
        (text.replace("\\n", "\n") if text else value(pod, path) if path else literal)
        for pod in pods
        for text, path, literal in parts
    )


def get_pods(folder: Path, words: list[str]) -> int:
    options = dict(itertools.pairwise(words))
    answers = json.loads((folder / "answers.json").read_text())
    answer = answers[0]
    if len(answers) > 1:
        (folder / "answers.json").write_text(json.dumps(answers[1:]))
    if isinstance(answer, str):
        sys.stderr.write(f"{answer}\n")
        return 1
    wanted = dict(pair.split("=") for pair in options["-l"].split(","))
    pods = [pod for pod in answer if wanted.items() <= pod["metadata"]["labels"].items()]
    if "--sort-by=.metadata.creationTimestamp" in words:
        pods.sort(key=lambda pod: pod["metadata"]["creationTimestamp"])
    sys.stdout.write(render(options["-o"].removeprefix("jsonpath="), pods))
    return 0


def main(folder: Path, words: list[str]) -> int:
    with (folder / "calls.jsonl").open("a", encoding="utf-8") as calls:
        calls.write(json.dumps(words) + "\n")
    if words[0] == "exec":
        at = words.index("--")
        if "-i" not in words[:at]:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execvp(words[at + 1], words[at + 1 :])
    assert words[:2] == ["get", "pods"], words
    return get_pods(folder, words[2:])


if __name__ == "__main__":
    sys.exit(main(Path(os.environ["FAKE_KUBECTL"]), sys.argv[1:]))
