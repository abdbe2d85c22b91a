"""trainc and other tools on the same fifteen mistakes: writes docs/comparison.md.

    python tests/comparison/compare.py [FOLDER]

FOLDER holds the other tools, as ``python tests/bench/peers.py`` builds them (default build/peers); all must be there in
their pinned versions. ``correct/`` is a repository without mistakes, with a chart, a kustomization and Rego rules for
the same job. ``mistakes/`` has the files that differ, a folder per mistake, and ``cases.yaml`` what is expected.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import yaml
from click.testing import CliRunner

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "bench"))

import contest  # noqa: E402
import peerinputs  # noqa: E402
import peers  # noqa: E402

from gitrepo import commit  # noqa: E402
from trainc.cli.root import trainc  # noqa: E402
from trainc.schema.kinds import BUILT_IN, resource  # noqa: E402

PAGE = ROOT / "docs" / "comparison.md"
NAMES = ("helm", "kustomize", "kubectl", "kubeconform", "kubectl-validate", "conftest")
SCHEMAS = "schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "helm": ("template", "train", "helm/chart", "-f", "helm/train.yaml"),
    "kustomize": ("build", "kustomize/train"),
    "kubectl": ("create", "--dry-run=client", "--validate=strict", "-f"),  # and the file
    "kubeconform": ("-strict", "-n", "1", "-schema-location", SCHEMAS, "jobs", "runtimes", "out"),
    "kubectl-validate": ("--local-crds", "crds", "jobs", "runtimes", "out"),
    "conftest": ("test", "--no-color", "--policy", "rego", "jobs", "runtimes", "out"),
}
PRINTS = {"helm": "the JobSet", "kustomize": "the JobSet"}
"""What a tool prints without an error; the page shortens it."""
KINDS = {
    "missed": "not found",
    "cluster": "needs a cluster",
    "accepted": "accepted by a cluster",
    "other": "not its work",
}
CHAIN = ("helm", "kubectl-validate", "conftest")
NO_CLUSTER = "connection refused"
COLOUR = re.compile(r"\x1b\[\d*m")
FINDING = re.compile(r"(?m)^(\S+:\d+:\d+): (?:error|warning|note)\[(TC\d+)\]: ")


@dataclass(frozen=True, slots=True)
class Place:
    """A file, and the line and column in it, from 1."""

    file: str
    line: int
    column: int

    @classmethod
    def of(cls, text: str) -> Place:
        file, line, column = text.rsplit(":", 2)
        return cls(file, int(line), int(column))


@dataclass(frozen=True, slots=True)
class Output:
    """A command as it is typed, what it prints, and its exit status."""

    command: str
    text: str
    status: int

    @property
    def shown(self) -> str:
        return f"$ {self.command}\n{self.text.rstrip()}\nexit {self.status}\n".replace("\n\nexit", "\nexit")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a tool makes of a mistake.

    It has ``found`` or ``missed`` it, needs a ``cluster``, which may have ``accepted`` it, or does ``other`` work.
    """

    kind: str
    why: str = ""
    file: bool = False
    line: bool = False
    column: bool = False
    field: bool = False
    advice: bool = False

    @property
    def summary(self) -> str:
        """The cell of the table of all mistakes."""
        if self.kind != "found":
            return KINDS[self.kind]
        parts = [name for name in ("file", "line", "column", "field", "advice") if getattr(self, name)]
        return ", ".join(parts) or "found"


@dataclass(frozen=True, slots=True)
class Case:
    """A mistake, as cases.yaml describes it."""

    data: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def place(self) -> Place:
        return Place.of(self.data["at"])

    @property
    def command(self) -> str:
        return str(self.data.get("command", "trainc validate"))

    def arguments(self, tool: str) -> tuple[str, ...]:
        return (*COMMANDS[tool], self.place.file) if tool == "kubectl" else COMMANDS[tool]

    def verdict(self, tool: str, output: Output | None) -> Verdict:
        """Return what another tool makes of the mistake. AssertionError if it is not what cases.yaml says."""
        told = self.data[tool]
        if "other" in told:
            return Verdict("other", told["other"])
        assert output is not None
        if "missed" in told:
            assert output.status == 0, (self.name, tool, output)
            return Verdict("missed", told["missed"])
        for kind in ("cluster", "accepted"):
            if kind in told:
                assert NO_CLUSTER in output.text, (self.name, tool, output)
                return Verdict(kind, told[kind])
        assert output.status != 0, (self.name, tool, output)
        assert told["found"] in output.text, (self.name, tool, output)
        return self._found(told, output.text)

    def own_verdict(self, output: Output) -> Verdict:
        """Return what trainc makes of the mistake. AssertionError if that is not one finding, at its position."""
        assert FINDING.findall(output.text) == [(self.data["at"], self.data["code"])], (self.name, output)
        advice = self.data.get("advice") or bool(re.search(r"(?m)^ *= (?:hint|expected): ", output.text))
        return self._found({**self.data, "advice": advice}, output.text)

    def _found(self, told: Mapping[str, Any], text: str) -> Verdict:
        place = Place.of(told.get("at", self.data["at"]))
        field, advice = told.get("field"), told.get("advice", False)
        for part in (field, advice):
            assert not isinstance(part, str) or part in text, (self.name, part, text)
        return Verdict(
            "found",
            told.get("why", ""),
            file=Path(place.file).name in text,
            line=re.search(rf"(?:\bline |:){place.line}\b", text) is not None,
            column=f":{place.line}:{place.column}" in text,
            field=bool(field),
            advice=bool(advice),
        )

    def shortened(self, tool: str, output: Output) -> Output:
        """Return an output without the objects that a tool prints where it finds no mistake, with a mark."""
        if output.status or tool not in PRINTS:
            return output
        lines = output.text.splitlines()
        part = self.data[tool].get("shows")
        kept = [line for line in lines if part is not None and part in line]
        mark = f"[... {len(lines) - len(kept)}{' other' if kept else ''} lines: {PRINTS[tool]}]"
        return Output(output.command, "\n".join([*kept, mark]), 0)


def cases() -> list[Case]:
    return [Case(each) for each in yaml.safe_load((HERE / "cases.yaml").read_text(encoding="utf-8"))]


def lay_out(root: Path, case: Case | None) -> None:
    """Write the repository with a mistake. Where changes count, git has the one without it."""
    shutil.copytree(HERE / "correct", root)
    if case is not None:
        if "--base" in case.command:
            commit(root)
        shutil.copytree(HERE / "mistakes" / case.name, root, dirs_exist_ok=True)


def write_schemas(root: Path) -> None:
    """Write the schemas for kubeconform: those of ``trainc schema``, of JobSet's CRD and of the Pod."""
    shutil.copytree(ROOT / "docs" / "schemas", root / "schemas")
    pod = BUILT_IN.find("", "v1", "Pod")
    assert pod is not None
    kinds = {"jobset.x-k8s.io/jobset_v1alpha2.json": resource("JobSet"), "v1/pod_v1.json": pod}
    metadata = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    for name, kind in kinds.items():
        schema = peerinputs.json_schema(kind.schema)
        schema["properties"] |= metadata
        path = root / "schemas" / name
        path.parent.mkdir()
        path.write_text(json.dumps(schema), encoding="utf-8")


def write_crds(root: Path) -> None:
    """Write the CRDs of Trainer and JobSet, which are in the Go module cache, for kubectl-validate."""
    (root / "crds").mkdir()
    (root / "crds" / "jobset.yaml").write_text(contest.crd(), encoding="utf-8")
    words = ["go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/trainer/v2"]
    done = subprocess.run(words, cwd=contest.ORACLE, capture_output=True, text=True, check=True)
    for path in (Path(done.stdout.strip()) / "manifests" / "base" / "crds").glob("trainer.*.yaml"):
        shutil.copyfile(path, root / "crds" / path.name)


def run(root: Path, tool: str, binary: Path, arguments: tuple[str, ...]) -> Output:
    """Run another tool in a folder, without a cluster, settings and colours."""
    environment = {"HOME": str(root.parent), "KUBECONFIG": os.devnull, "PATH": os.environ["PATH"], "NO_COLOR": "1"}
    done = subprocess.run(
        [binary, *arguments],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    shown = (f"'{word}'" if "{" in word else word for word in arguments)
    return Output(
        f"{tool} {' '.join(shown)}", COLOUR.sub("", done.stdout).replace(str(root), "/repository"), done.returncode
    )


def peer_outputs(case: Case, scratch: Path, binaries: Mapping[str, Path]) -> dict[str, Output]:
    """Run the other tools on a mistake."""
    root = scratch / case.name
    lay_out(root, case)
    write_schemas(root)
    write_crds(root)
    return {
        name: run(root, name, binary, case.arguments(name))
        for name, binary in binaries.items()
        if "other" not in case.data[name]
    }


def trainc_output(case: Case | None, root: Path, command: str = "") -> Output:
    """Run trainc, by default the command of the case, in this process. Changes the working folder for that time."""
    lay_out(root, case)
    command = case.command if case is not None else command
    with contextlib.chdir(root):
        result = CliRunner().invoke(trainc, command.split()[1:], prog_name="trainc")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Output(command, result.output, result.exit_code)


def difference(case: Case) -> str:
    """Return what the mistake changes in the input of trainc, as a diff."""
    old, new = (HERE / "correct" / case.place.file, HERE / "mistakes" / case.name / case.place.file)
    before = old.read_text(encoding="utf-8").splitlines(True) if old.exists() else []
    lines = [*difflib.unified_diff(before, new.read_text(encoding="utf-8").splitlines(True), n=1)]
    return f"# {case.place.file}\n" + "".join(line for line in lines[2:] if not line.startswith("@@"))


def accepted(scratch: Path, binaries: Mapping[str, Path]) -> Output:
    """Run the other tools on the repository without a mistake, and return what kubectl prints.

    AssertionError if one other than kubectl, which needs a cluster, does not accept it.
    """
    root = scratch / "correct"
    lay_out(root, None)
    write_schemas(root)
    write_crds(root)
    job = ("jobs/team-a/train.yaml",)
    arguments = {name: (*COMMANDS[name], *(job if name == "kubectl" else ())) for name in NAMES}
    outputs = {name: run(root, name, binaries[name], arguments[name]) for name in NAMES}
    assert [name for name, output in outputs.items() if output.status] == ["kubectl"], outputs
    return outputs["kubectl"]


def page(ours: Mapping[str, Output], theirs: Mapping[str, Mapping[str, Output]], kubectl: Output) -> str:
    """Return docs/comparison.md, from the outputs of trainc and of the other tools by mistake."""
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False)
    template = environment.from_string((HERE / "comparison.md.j2").read_text(encoding="utf-8"))
    sections = []
    for case in cases():
        outputs = theirs[case.name]
        verdicts = {name: case.verdict(name, outputs.get(name)) for name in NAMES}
        shown = {
            name: case.shortened(name, output).shown
            for name, output in outputs.items()
            if verdicts[name].kind not in ("cluster", "accepted")
        }
        section = {"case": case, "ours": ours[case.name], "verdicts": verdicts, "outputs": shown, "all": outputs}
        section["own"] = case.own_verdict(ours[case.name])
        anchor = re.sub(r"[^\w -]", "", case.data["title"].lower()).replace(" ", "-")
        sections.append({**section, "difference": difference(case), "anchor": anchor})
    found = {name: [each["verdicts"][name].kind == "found" for each in sections] for name in NAMES}
    return template.render(
        sections=sections,
        versions={peer.name: peer.version for peer in peers.PEERS},
        names=NAMES,
        counts={name: sum(each) for name, each in found.items()},
        chain=sum(map(any, zip(*(found[name] for name in CHAIN), strict=True))),
        kubectl=kubectl,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=peers.FOLDER, help="where the tools are")
    binaries = peers.pinned(parser.parse_args().folder)
    if missing := [name for name in NAMES if name not in binaries]:
        sys.exit(f"not found in the pinned version: {', '.join(missing)} (python tests/bench/peers.py)")
    os.environ["TRAINC_CACHE_DIR"] = ""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name).resolve()
        tools = {tool: binaries[tool] for tool in NAMES}
        theirs = {case.name: peer_outputs(case, scratch, tools) for case in cases()}
        ours = {case.name: trainc_output(case, scratch / f"trainc-{case.name}") for case in cases()}
        kubectl = accepted(scratch, tools)
    PAGE.write_text(page(ours, theirs, kubectl), encoding="utf-8")


if __name__ == "__main__":
    main()
