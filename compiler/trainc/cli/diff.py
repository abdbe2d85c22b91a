"""`trainc diff`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Final

import click
import msgspec
from msgspec.structs import replace

from trainc.cache.run import RunCache, with_cache
from trainc.cache.snapshot import load_last
from trainc.cache.store import open_store
from trainc.changes import Difference, compare
from trainc.changes.cluster import unexplained, without_new_runs
from trainc.changes.model import Directory
from trainc.changes.safeguards import weakened
from trainc.changes.trees import Files, directory_of, is_below, select
from trainc.changes.trees import sources as output_sources
from trainc.cli.command import CLEAN, ERRORS, STALE, Command
from trainc.cli.compiling import executor_of, request_of, revision_errors
from trainc.cli.echo import echo
from trainc.cli.options import findings_options, root_option
from trainc.cli.reporter import Reporter, is_coloured
from trainc.findings import Finding, has_errors
from trainc.inputs.options import Revision
from trainc.inputs.settings import read_settings
from trainc.inputs.source import Document, Source
from trainc.project.config import Config, parse
from trainc.project.environments import JOBS, load_config
from trainc.project.files import Kind, is_placed, unmanaged
from trainc.project.planning import plan_request
from trainc.project.read import (
    CONFIG,
    LOCK,
    OUT,
    merge,
    name_below,
    read_beside_policies,
    read_config,
    read_given,
    read_lock,
    read_platform,
    read_tree,
)
from trainc.project.revisions import read_inputs
from trainc.project.write import look

FORMS: Final = ("text", "markdown", "json")
WORKING_TREE: Final = "the working tree"

EPILOG = """\b
Examples:
  trainc diff                             out/ of the working tree and HEAD
  trainc diff --base origin/main          against another branch
  trainc diff --base v1 --head v2         two revisions
  trainc diff jobs/team-a/bert.yaml       what one TrainJob's change does
  trainc diff -o markdown > comment.md    for a pull request
  trainc diff --exit-code -q              exit 1 if anything changes
"""


@click.command("diff", cls=Command, epilog=EPILOG)
@click.option("--base", metavar="REV", default="HEAD", show_default=True, help="The git revision to compare with.")
@click.option("--head", metavar="REV", help="The git revision to compare.  [default: the working tree]")
@click.option("-o", "--output", type=click.Choice(FORMS), default="text", show_default=True, help="Output format.")
@click.option("--exit-code", is_flag=True, help="Exit 1 if anything differs, as git diff does.")
@root_option
@findings_options(aside=True)
@click.argument("paths", metavar="[PATH]...", nargs=-1)
def command(
    *,
    base: str,
    head: str | None,
    output: str,
    exit_code: bool,
    root: Path,
    reporter: Reporter,
    paths: tuple[str, ...],
) -> int:
    """Show what changes in out/, job by job, and what the cluster will do about it.

    Compares out/ at two revisions, or at a revision and in the working tree. If
    out/ in the working tree is stale, that is reported first and the exit status
    is 3: run trainc render. PATHs limit the comparison to directories of out/, or
    to what is generated from files of jobs/ and runtimes/. Differences go to
    standard output, findings to standard error.
    """
    folder = Path.cwd()
    names = [_below(root, folder, path) for path in paths]
    old = _read(root, base, "'--base'")
    new = _read(root, head, "'--head'")
    _require_paths(root, names, (old.files, new.files))
    config, of_config = load_config(root)
    before, after = select(old.files, new.files, names)
    environments = {name.split("/")[1] for name in (*before, *after)}
    settings = {name: read_settings(config.data, name) for name in sorted(environments)}
    there = {name: kind for name, kind in new.there.items() if not names or is_below(name, names)}
    difference = _with_sources(
        compare(before, after, settings, there, unmanaged(config.data)),
        Side.of(root, base, "'--base'"),
        Side.of(root, head, "'--head'"),
    )
    if head is None and not has_errors(of_config):
        stale, broken = _staleness(root, config, names, new.files)
        difference = without_new_runs(replace(difference, stale=stale, broken=broken))
    echo(_rendered(difference, output, base, head or WORKING_TREE), nl=False, color=is_coloured(), form=output)
    findings = (*of_config, *new.findings, *difference.findings)
    reporter.findings(findings)
    return _status(reporter.status(findings), difference, exit_code)


class Side(msgspec.Struct, frozen=True, eq=False):
    """One side of a comparison: its inputs, and files below policies/ that are not policies (``unread``).

    ``settings`` are the texts of trainc.yaml and images.lock.yaml.
    """

    inputs: Revision
    config: Document | None
    unread: tuple[Source, ...]
    settings: tuple[Source, ...]

    @classmethod
    def of(cls, root: Path, revision: str | None, option: str) -> Side:
        """Read the inputs of an option's revision, or of the working tree. Raises BadParameter."""
        if revision is not None:
            with revision_errors(option):
                sources, unread = read_inputs(root, revision)
        else:
            read = merge([read_tree(root, JOBS), read_platform(root), read_config(root), read_lock(root)])
            sources, unread = read.sources, read_beside_policies(root).sources
        config = next((parse(source)[0] for source in sources if source.name == CONFIG), Config())
        settings = tuple(source for source in sources if source.name in (CONFIG, LOCK))
        inputs = tuple(source for source in sources if source.name not in (CONFIG, LOCK))
        return cls(Revision(revision or "", inputs, config.data), config.document, unread, settings)


def _with_sources(difference: Difference, before: Side, after: Side) -> Difference:
    """Return a difference with what is less strict than before, and the changes of out/ that no source explains."""
    found = weakened(before.inputs, after.inputs, after.config, after.unread)
    texts = [{source.name: source.text for source in side.inputs.sources} for side in (before, after)]
    same = {name for name in texts[0].keys() & texts[1].keys() if texts[0][name] == texts[1][name]}
    by_hand = unexplained(difference, same) if before.settings == after.settings else ()
    return replace(difference, weakened=found, unexplained=by_hand)


def _staleness(
    root: Path, config: Config, names: Collection[str], output: Mapping[str, bytes]
) -> tuple[tuple[Directory, ...] | None, bool]:
    """Render the working tree without writing, and return the directories of ``output`` that would change, sorted.

    They are None after an error; the second value is then whether the error is in the inputs. With ``names``, paths
    from root, only files below them or generated from them count.
    """
    store = open_store(root)
    if store is not None and (last := load_last(root, store)) is not None and not last.changed:
        return (), False
    reporter = Reporter("text", "error", quiet=True, verbose=False)
    request, execute = request_of(root, (), config), executor_of(None, quiet=True)
    planned, _ = with_cache(
        lambda cache: plan_request(request, (), reporter.fails, cache, execute),
        None if store is None else RunCache(root, store, compares=True),
    )
    todo = planned.plan
    if todo is None:
        codes = {finding.code for finding in planned.findings if has_errors((finding,))}
        return None, bool(codes - {"TC014", "TC903"})
    files = [(file.name, file.data) for file in (*todo.create, *todo.change)]
    files += [(name, output.get(name, b"")) for name in todo.remove]
    return tuple(sorted({directory_of(name) for name, data in files if _is_wanted(name, data, names)})), False


def _is_wanted(name: str, data: bytes, names: Collection[str]) -> bool:
    return is_placed(name) and (not names or any(is_below(each, names) for each in (name, *output_sources(data))))


def _status(status: int, difference: Difference, exit_code: bool) -> int:
    """Return the exit status, where ``status`` is what findings mean."""
    if status != CLEAN:
        return status
    if difference.broken:
        return ERRORS
    if difference.stale:
        return STALE
    return ERRORS if exit_code and (difference.jobs or difference.weakened) else CLEAN


def _require_paths(root: Path, names: Iterable[str], trees: Iterable[Files]) -> None:
    """Raise BadParameter for a name that matches nothing. The hint is for revisions, as git diff takes."""
    from trainc.project.revisions import is_revision

    for name in names:
        if (root / name).exists() or any(any(select({}, tree, [name])) for tree in trees):
            continue
        if is_revision(root, name):
            first, dots, second = name.replace("...", "..").partition("..")
            wanted = f"--base {first or 'HEAD'}" + (f" --head {second or 'HEAD'}" if dots else "")
            raise click.BadParameter(f"{name!r} is a git revision.\nHint: trainc diff {wanted}", param_hint="PATH")
        raise click.BadParameter(f"Path {name!r} does not exist.", param_hint="'[PATH]...'")


def _below(root: Path, folder: Path, path: str) -> str:
    name = name_below(root, folder, path)
    if name is None:
        raise click.BadParameter(f"{path!r} is outside of the repository", param_hint="PATH")
    return name


class _Tree(msgspec.Struct, frozen=True, eq=False):
    """out/ of a revision or of the working tree: the files read, the kind of every entry, and findings about others."""

    files: dict[str, bytes]
    there: Mapping[str, Kind]
    findings: tuple[Finding, ...] = ()


def _read(root: Path, revision: str | None, option: str) -> _Tree:
    """Read out/ of a revision, or of the working tree. Raises BadParameter for a revision that cannot be read."""
    if revision is None:
        there = look(root, (OUT.rstrip("/"),))
        if not (root / OUT).is_dir():
            return _Tree({}, there)
        found = read_given(root, root, OUT)
        texts = ((source.name, source.text) for source in found.sources)
        files = {name: text if isinstance(text, bytes) else text.encode() for name, text in texts}
        # Links are reported with the other files that trainc did not write.
        return _Tree(files, there, tuple(each for each in found.findings if has_errors((each,))))
    from trainc.project.revisions import output_kinds, read_output

    with revision_errors(option):
        return _Tree(read_output(root, revision), output_kinds(root, revision))


def _rendered(difference: Difference, output: str, base: str, head: str) -> str:
    from trainc.changes.formats import as_json, as_markdown, as_text

    if output == "json":
        return as_json(difference, base, head)
    return as_markdown(difference) if output == "markdown" else as_text(difference, is_coloured())
