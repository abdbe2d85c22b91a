"""Asks the operators of v1 jobs, and older releases of Trainer, what they create: ``make goldens``.

Beside each document of ``tests/migrate/cases`` that an operator reads lies ``<case>.created.json``, a list with one
answer per document: its objects, or the error with which the operator refuses it. Comments at the head of a case choose
how the operator is configured:

    # gang: volcano          the operator's flag for gang scheduling
    # trainer: v2.0          the release of Trainer that a TrainJob is for

A suspended job is asked about as if it ran, for its pods. Each operator is a Go module of its own below
``operators/``, because they need different releases of Kubernetes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import gotools  # noqa: E402 - the folder above is not on the path of a script
from trainc import Source  # noqa: E402
from trainc.documents.load import load  # noqa: E402

Json = Any
CASES = HERE.parent / "migrate" / "cases"
OPERATORS = HERE / "operators"


class Operator(NamedTuple):
    """A Go program: its folder below ``operators/``, and the release where one folder serves several."""

    folder: str
    release: str = ""

    @property
    def name(self) -> str:
        """The name of the program's file."""
        return self.folder + self.release

    @property
    def modules(self) -> list[str]:
        """Flags of go that choose the modules to build with."""
        if self.release == "v2.2":
            return ["-tags=configured"]
        return [f"-modfile={self.release}.mod"] if self.release else []

    @cache  # noqa: B019 - there are six operators
    def missing(self) -> str | None:
        """Say why the operator cannot be built on this machine, or None if it can."""
        return gotools.missing(OPERATORS / self.folder, *(flag for flag in self.modules if "modfile" in flag))

    def ask(self, questions: Iterable[Json]) -> list[Json]:
        """Build the operator and ask it. Raises OracleError."""
        folder = OPERATORS / self.folder
        binary = folder / self.name
        gotools.run(["go", "build", *self.modules, "-o", str(binary), "."], folder=folder)
        return gotools.ask([binary], questions, folder)


class Question(NamedTuple):
    """A document of a case, and who is asked about it."""

    operator: Operator
    document: Json
    text: Json


def questions(path: Path) -> list[Question]:
    """Return what to ask about the documents of a case."""
    settings = dict(re.findall(r"^# (gang|trainer): (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE))
    loaded, _ = load(Source(path.name, path.read_text(encoding="utf-8")))
    documents = [document.data for document in loaded]
    cluster = [*documents, *_beside(path)]
    found = []
    for document in documents:
        version, kind = str(document["apiVersion"]), str(document["kind"])
        if version == "kubeflow.org/v2beta1" and kind == "MPIJob":
            operator, text = Operator("mpi"), {"job": _running(document), "gang": settings.get("gang", "")}
        elif version in ("kubeflow.org/v1", "kubeflow.org/v1alpha2"):
            # v1alpha2 is the older name of the same API: training-operator reads v1 only
            job = {**_running(document), "apiVersion": "kubeflow.org/v1"}
            operator, text = Operator("training"), {"job": job, "gang": settings.get("gang", "")}
        elif version == "batch.volcano.sh/v1alpha1":
            operator, text = Operator("volcano"), {"job": document}
        elif kind == "TrainJob" and "trainer" in settings:
            others = [one for one in cluster if one["kind"] != "TrainJob"]
            operator, text = Operator("trainer", settings["trainer"]), {"documents": [document, *others]}
        else:
            continue
        found.append(Question(operator, document, text))
    return found


def _running(document: Json) -> Json:
    spec = document.get("spec") or {}
    policy = spec.get("runPolicy") or {}
    return (
        {**document, "spec": {**spec, "runPolicy": {**policy, "suspend": False}}} if policy.get("suspend") else document
    )


def _beside(path: Path) -> list[Json]:
    beside = path.with_suffix(".runtimes.yaml")
    if not beside.exists():
        return []
    return [document.data for document in load(Source(beside.name, beside.read_text(encoding="utf-8")))[0]]


def cases() -> list[Path]:
    """Return the cases about which an operator can be asked."""
    return [path for path in sorted(CASES.glob("*.yaml")) if "." not in path.stem and questions(path)]


def operators() -> set[Operator]:
    """Return the operators that cases are for."""
    return {question.operator for path in cases() for question in questions(path)}


def golden(path: Path) -> Path:
    """Return the file with the answers about a case."""
    return path.with_suffix(".created.json")


def read(path: Path) -> list[Json]:
    """Return the answers about the documents of a case, in the order of ``questions``."""
    found: list[Json] = json.loads(golden(path).read_text(encoding="utf-8"))
    return found


def fresh() -> dict[Path, str]:
    """Ask all operators that can be built here, and return the texts of goldens."""
    asked = {path: questions(path) for path in cases()}
    by_operator: dict[Operator, list[Json]] = {}
    for found in asked.values():
        for question in found:
            by_operator.setdefault(question.operator, []).append(question.text)
    answers = {operator: iter(operator.ask(texts)) for operator, texts in by_operator.items() if not operator.missing()}
    return {
        golden(path): _text([next(answers[question.operator]) for question in found])
        for path, found in asked.items()
        if all(question.operator in answers for question in found)
    }


def _text(answers: list[Json]) -> str:
    """Write each object on a line of its own."""
    lines = []
    for answer in answers:
        objects = [json.dumps(one, sort_keys=True, ensure_ascii=False) for one in answer.get("objects") or ()]
        rest = {key: value for key, value in answer.items() if key != "objects"}
        head = json.dumps(rest, sort_keys=True, ensure_ascii=False)[1:-1]
        lines.append("{" + head + (", " if head else "") + '"objects": [\n' + ",\n".join(objects) + "\n]}")
    return "[" + ",\n".join(lines) + "]\n"


def main() -> int:
    """Write the goldens."""
    for path, text in fresh().items():
        path.write_text(text, encoding="utf-8", newline="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
