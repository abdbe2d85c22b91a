"""A repository of many jobs for ``make bench``: out/ of this one, over and over, committed, and one change."""

from __future__ import annotations

from itertools import count, islice
from pathlib import Path

from gitrepo import commit

ROOT = Path(__file__).resolve().parents[1]


def repository(root: Path, size: int) -> None:
    """Write and commit out/ with size jobs below root, no two JobSets alike, and then change one of them."""
    (root / "trainc.yaml").write_text("environments: {prod: {}}\n", encoding="utf-8")
    folders = [folder for folder in sorted((ROOT / "out").glob("*/*/*")) if any(folder.glob("jobset-*.yaml"))]
    jobs = ((number, folder) for number in count() for folder in folders)
    made: list[Path] = []
    for number, folder in islice(jobs, size):
        target = root / folder.relative_to(ROOT).with_name(f"{folder.name}-{number}")
        target.mkdir(parents=True)
        for path in sorted(folder.glob("*.yaml")):
            text = path.read_text(encoding="utf-8").replace("  replicas: 1\n", f"  replicas: {number + 1}\n")
            (target / path.name).write_text(text, encoding="utf-8")
        made += sorted(target.glob("jobset-*.yaml"))
    commit(root)
    changed = made[0].read_text(encoding="utf-8").replace("  replicas: 1\n", "  replicas: 2\n")
    made[0].write_text(changed, encoding="utf-8")
