"""Which folder a command works on: --root, or the nearest one upward with a trainc.yaml that can be trusted."""

from __future__ import annotations

import os
from pathlib import Path

from trainc.cli.echo import echo


def project_root(folder: Path, project: str | None) -> Path:
    """Return the root of the project for a working directory; ``project`` is the value of --root.

    A trainc.yaml further up that belongs to somebody else is not used, as git does not use such a repository: in a
    folder that everybody may write to, anyone could put one there.
    """
    if project is not None:
        return Path(os.path.normpath(folder / project))
    from trainc.project.read import CONFIG, find_root  # not for help, or a code that is explained

    found = find_root(folder)
    if found == folder or not _is_foreign(found / CONFIG, folder):
        return found
    from trainc.findings.display import one_line

    what = f"{found / CONFIG} is not used: it belongs neither to you nor to the owner of the working directory"
    echo(f"trainc: warning: {one_line(what)}; --root {one_line(str(found))} uses it", err=True)
    return folder


def _is_foreign(config: Path, folder: Path) -> bool:
    """Tell whether a file belongs neither to the user nor to the owner of a folder; never where files have no owner."""
    user = getattr(os, "geteuid", None)
    return user is not None and config.lstat().st_uid not in (user(), folder.stat().st_uid)
