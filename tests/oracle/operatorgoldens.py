"""Asks the operators of v1 jobs, and older releases of Trainer, what they create: ``make goldens``.

Beside each document of ``tests/migrate/cases`` that an operator reads lies ``<case>.created.json``, a list with one
answer per document: its objects, or the error with which the operator refuses it. A comment ``# trainer: v2.1`` says
which release of Trainer a TrainJob is for, if its fields do not.

Operators are started with a gang scheduler for jobs that need one. A suspended job is asked about as if it ran, for its
pods, and one exported from a cluster without what the cluster has added. Each operator is a Go module of its own below
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


_METADATA = ("name", "namespace", "labels", "annotations")


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
        return [f"-modfile={self.release}.mod"] if self.release in ("v2.0", "v2.2") else []

    @cache  # noqa: B019 - there are six operators
    def missing(self) -> str | None:
        """Say why the operator cannot be built on this machine, or None if it can."""
        return gotools.missing(OPERATORS / self.folder, *self.modules)

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


@cache
def questions(path: Path) -> list[Question]:
    """Return what to ask about the documents of a case."""
    text = path.read_text(encoding="utf-8")
    release = re.search(r"^# trainer: (\S+)$", text, re.MULTILINE)
    loaded, _ = load(Source(path.name, text))
    documents = [document.data for document in loaded]
    cluster = [*documents, *_beside(path)]
    found = []
    for document in documents:
        version, kind = str(document["apiVersion"]), str(document["kind"])
        job = _new(document)
        if version == "kubeflow.org/v2beta1" and kind == "MPIJob":
            found.append(Question(Operator("mpi"), document, {"job": job, "gang": _gang(document)}))
        elif version in ("kubeflow.org/v1", "kubeflow.org/v1alpha2"):
            # v1alpha2 is the older name of the same API: training-operator reads v1 only
            job = {**job, "apiVersion": "kubeflow.org/v1"}
            found.append(Question(Operator("training"), document, {"job": job, "gang": _gang(document)}))
        elif version == "batch.volcano.sh/v1alpha1":
            found.append(Question(Operator("volcano"), document, {"job": job}))
        elif kind == "TrainJob" and not {"datasetConfig", "modelConfig"} & document["spec"].keys():  # before v2.0
            others = [one for one in cluster if one["kind"] != "TrainJob"]
            found.append(
                Question(
                    Operator("trainer", release[1] if release else _release(document)),
                    document,
                    {"documents": [job, *others]},
                )
            )
    return found


def _new(document: Json) -> Json:
    """Return a job as it was when it was created, but not suspended."""
    metadata = {key: document["metadata"][key] for key in _METADATA if key in document["metadata"]}
    spec = document.get("spec") or {}
    policy = spec.get("runPolicy") or {}
    if policy.get("suspend"):
        spec = {**spec, "runPolicy": {**policy, "suspend": False}}
    rest = {key: value for key, value in document.items() if key != "status"}
    return {**rest, "metadata": metadata, "spec": spec}


def _release(job: Json) -> str:
    """Return the release of Trainer that a TrainJob is for: podTemplateOverrides came with v2.1."""
    return "v2.1" if "podTemplateOverrides" in job["spec"] else "v2.0"


def _gang(document: Json) -> str:
    """Return the gang scheduler with which an operator has to be started for a job."""
    policy = (document["spec"].get("runPolicy") or document["spec"]).get("schedulingPolicy")
    schedulers = set(re.findall(r"'schedulerName': '([^']*)'", str(document["spec"])))
    if policy is None:
        return "volcano" if schedulers == {"volcano"} else ""
    others = schedulers - {"volcano"}
    if others or (not schedulers and "scheduleTimeoutSeconds" in policy):
        return min(others, default="scheduler-plugins-scheduler")
    return "volcano"


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
