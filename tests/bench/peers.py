"""Other tools that do a part of the work: which, in which version, where they are, and how to get them.

    python tests/bench/peers.py [FOLDER]

builds each at its pinned version from the Go module proxy into a folder, ``build/peers`` by default, which git ignores.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "peers"


@dataclass(frozen=True, slots=True)
class Peer:
    """A program: its name, the Go package it is built from, and the module and version that this is in.

    ``source`` is a folder of this repository with a main package, for a module that go install cannot build.
    """

    name: str
    package: str
    module: str
    version: str
    source: Path | None = None

    @property
    def target(self) -> str:
        """What is built, in the form that go install takes."""
        return f"{self.package}@{self.version}"

    def command(self, folder: Path) -> tuple[str | Path, ...]:
        """Return the command that builds it into a folder; go install takes the folder from GOBIN."""
        if self.source is None:
            return "go", "install", self.target
        return "go", "build", "-C", self.source, "-trimpath", "-o", folder.resolve() / self.name, "."


PEERS = (
    Peer("helm", "helm.sh/helm/v3/cmd/helm", "helm.sh/helm/v3", "v3.22.0"),
    Peer("kustomize", "sigs.k8s.io/kustomize/kustomize/v5", "sigs.k8s.io/kustomize/kustomize/v5", "v5.8.1"),
    Peer("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform", "github.com/yannh/kubeconform", "v0.8.0"),
    Peer("conftest", "github.com/open-policy-agent/conftest", "github.com/open-policy-agent/conftest", "v0.71.1"),
    # The module of Kubernetes, which has the main package, has replace directives; tests/e2e/kubectl is that package.
    Peer("kubectl", "k8s.io/kubectl/pkg/cmd", "k8s.io/kubectl", "v0.34.4", ROOT / "tests" / "e2e" / "kubectl"),
    Peer("kubectl-validate", "sigs.k8s.io/kubectl-validate", "sigs.k8s.io/kubectl-validate", "v0.0.4"),
)


def present(folder: Path) -> Mapping[str, Path]:
    """Return the programs of ``PEERS`` in a folder, or else on the PATH, by name."""
    found = {peer.name: shutil.which(peer.name, path=folder) or shutil.which(peer.name) for peer in PEERS}
    return {name: Path(path).resolve() for name, path in found.items() if path is not None}


def pinned(folder: Path) -> Mapping[str, Path]:
    """Return the programs that ``present`` finds in exactly the versions of ``PEERS``."""
    found, versions = present(folder), {peer.name: (peer.module, peer.version) for peer in PEERS}
    return {name: path for name, path in found.items() if version(path, versions[name][0]) == versions[name][1]}


def version(binary: Path, module: str) -> str:
    """Return the version of the module that a binary was built from, as its build says; "unknown" if it does not."""
    if shutil.which("go") is None:
        return "unknown"
    done = subprocess.run(["go", "version", "-m", binary], capture_output=True, text=True, check=False)
    return built_from(done.stdout, module)


def built_from(text: str, module: str) -> str:
    """Return the version of a module in what ``go version -m`` prints."""
    found = re.search(rf"(?m)^\t(?:mod|dep)\t{re.escape(module)}\t(\S+)", text)
    return found[1] if found else "unknown"


def install(folder: Path) -> int:
    """Build every peer that is not there in its version; return how many could not be."""
    if shutil.which("go") is None:
        sys.exit("no Go toolchain (go is not on the PATH)")
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for peer in PEERS:
        there = folder / peer.name
        if there.exists() and version(there, peer.module) == peer.version:
            print(f"{peer.name} {peer.version} is there")
            continue
        print(f"building {peer.target}", flush=True)
        environment = {**os.environ, "GOBIN": str(folder.resolve()), "CGO_ENABLED": "0"}
        failed += subprocess.run(peer.command(folder), env=environment, check=False).returncode != 0
    return failed


def main() -> None:
    """Install."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="where to (default build/peers)")
    failed = install(parser.parse_args().folder)
    if failed:
        sys.exit(f"{failed} of {len(PEERS)} could not be built")


if __name__ == "__main__":
    main()
