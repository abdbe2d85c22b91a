"""Compiles a repository under an audit hook and prints, as JSON, what was touched meanwhile.

Arguments: the folder of the package, and the repository whose jobs/ and runtimes/ are compiled.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

from trainc import Options, Source, compile
from trainc.findings import text as findings_text
from trainc.findings.formats import as_json

TOUCHING = ("open", "os.", "socket.", "subprocess.", "shutil.", "tempfile.", "glob.", "ctypes.", "time.sleep")
BROKEN = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: broken}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNods: 2, env: [{name: PET_NNODES, value: "1"}]}
"""

seen: dict[str, list[str]] | None = None


def hook(event: str, args: tuple[object, ...]) -> None:
    """Note an event that reaches the world, while somebody listens."""
    if seen is None or not event.startswith(TOUCHING):
        return
    if event == "open":
        seen["open"].append(str(args[0]))
    if event not in seen["events"]:
        seen["events"].append(event)


def watched(sources: list[Source], options: Options) -> tuple[dict[str, list[str]], dict[str, int]]:
    """Compile, and place and render the findings of a broken job, under the hook."""
    global seen  # noqa: PLW0603 - an audit hook can never be removed
    seen = {"events": [], "open": []}
    build = compile(sources, options)
    broken = compile([*sources, Source("jobs/team/broken.yaml", BROKEN)], options)
    findings_text.render(broken.findings)
    as_json(broken.findings)
    noted, seen = seen, None
    errors = sum(finding.severity == "error" for finding in broken.findings)
    return noted, {"jobs": len(build.jobs), "files": len(build.files), "errors": errors}


def main() -> None:
    """Compile again and again: what the first runs load, the last has. Rules are written once they run often."""
    root = Path(sys.argv[2])
    paths = [*sorted(root.glob("jobs/*/*.yaml")), *sorted(root.glob("runtimes/*.yaml"))]
    sources = [Source(path.relative_to(root).as_posix(), path.read_bytes()) for path in paths]
    options = Options(config={"environments": {"prod": {}}})
    before = (list(sources), repr(options))
    sys.addaudithook(hook)
    runs = [watched(sources, options)]
    last, again = watched(sources, options)
    first = {key: [each for seen, _ in runs for each in seen[key]] for key in last}
    counts = runs[0][1]
    unchanged = before == (sources, repr(options)) and all(each == again for _, each in runs)
    json.dump({"first": first, "last": last, "unchanged": unchanged, **counts}, sys.stdout)


if __name__ == "__main__":
    main()
