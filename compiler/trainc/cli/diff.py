"""`trainc diff`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import click
from msgspec import Struct
from msgspec.structs import replace

from trainc.cache.run import RunCache, with_cache
from trainc.cache.snapshot import load_last
from trainc.cache.store import open_store
from trainc.changes import compare
from trainc.changes.cluster import files_outside, unexplained, without_new_runs
from trainc.changes.formats import as_json, as_markdown, as_text
from trainc.changes.model import Difference, Directory
from trainc.changes.safeguards import weakened
from trainc.changes.trees import Tree, directories, directory_of, is_below, select
from trainc.changes.trees import sources as output_sources
from trainc.cli.command import CLEAN, ERRORS, STALE, WrongValue, echo
from trainc.cli.compiling import executor_of, request_of, revision_errors
from trainc.cli.completion import complete_file
from trainc.cli.limits import LimitedCommand, allow
from trainc.cli.options import findings_options, revision_option, root_option
from trainc.cli.reporter import Reporter, is_coloured
from trainc.findings import Finding, has_errors, sort_key
from trainc.findings.settling import ReportRules
from trainc.inputs.options import Revision
from trainc.inputs.settings import settings_of_all
from trainc.inputs.source import Document, Source
from trainc.pipeline.content import bytes_of
from trainc.project.config import Config, parse
from trainc.project.environments import load_config
from trainc.project.files import LIMIT, Blob, Kind, git_hash, open_regular, read_open, read_regular
from trainc.project.foreign import foreign, kept_applications, unmanaged
from trainc.project.names import CONFIG, OUT, SETTINGS, is_placed
from trainc.project.planning import plan_request
from trainc.project.read import (
    Inputs,
    merge,
    name_below,
    read_beside_policies,
    read_config,
    read_file,
    read_given,
    read_lock,
    read_project,
)
from trainc.project.write import look

FORMS: Final = ("text", "markdown", "json")

EPILOG = """\b
Examples:
  trainc diff                             out/ of the working tree and HEAD
  trainc diff --base origin/main          against another branch
  trainc diff --base v1 --head v2         two revisions
  trainc diff jobs/team-a/bert.yaml       what one TrainJob's change does
  trainc diff -o markdown > comment.md    for a pull request
  trainc diff --exit-code -q              exit 1 if anything changes
"""


@click.command("diff", cls=LimitedCommand, epilog=EPILOG)
@revision_option("--base", default="HEAD", show_default=True, help="The git revision to compare with.")
@revision_option("--head", help="The git revision to compare.  [default: the working tree]")
@click.option("-o", "--output", type=click.Choice(FORMS), default="text", show_default=True, help="Output format.")
@click.option("--exit-code", is_flag=True, help="Exit 1 if anything differs, as git diff does.")
@root_option
@findings_options(aside=True)
@click.argument("paths", metavar="[PATH]...", nargs=-1, shell_complete=complete_file)
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
    names: list[str] = []
    for path in paths:
        if (name := name_below(root, Path.cwd(), path)) is None:
            raise click.BadParameter(f"{path!r} is outside of the repository", param_hint="PATH")
        names.append(name)
    old = Side.of(root, base, "'--base'")
    new = Side.of(root, head, "'--head'")
    _require_paths(root, names, (old.output, new.output))
    config, of_config = load_config(root)
    difference, of_head = _difference(old, new, names, config, root), new.findings
    del old, new  # with them, compiling would need more memory than in render
    if head is None and not has_errors(of_config):
        stale, broken = _staleness(root, config, names)
        difference = without_new_runs(replace(difference, stale=stale, broken=broken))
    if output == "json":
        text = as_json(difference, base, head or "the working tree")
    else:
        text = as_markdown(difference) if output == "markdown" else as_text(difference, is_coloured())
    echo(text, nl=False, color=is_coloured(), form=output)
    of_sides = {sort_key(finding): finding for finding in (*of_config, *of_head)}  # they may have one trainc.yaml
    of_project = ReportRules.of_project(config.data).settle(of_sides.values())
    status = reporter.report((*of_project, *difference.findings))
    if status != CLEAN:
        return status
    if difference.broken or (exit_code and (difference.jobs or difference.weakened) and not difference.stale):
        return ERRORS
    return STALE if difference.stale else CLEAN


class Side(Struct, frozen=True, eq=False):
    """One side of a comparison: a revision, or the working tree.

    ``settings`` are the texts of trainc.yaml and images.lock.yaml, ``unread`` the files below policies/ that are not
    policies. ``output`` are the files of out/, ``there`` has the kind of every entry of it.
    """

    inputs: Revision
    config: Document | None
    settings: tuple[Source, ...]
    unread: tuple[Source, ...]
    output: Mapping[str, Blob]
    there: Mapping[str, Kind]
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, root: Path, revision: str | None, option: str) -> Side:
        """Read an option's revision, or the working tree. Raises BadParameter."""
        findings: tuple[Finding, ...] = ()
        if revision is not None:
            from trainc.project.git import commit_of, reader
            from trainc.project.revisions import read_inputs, read_output

            with revision_errors(option):

                def read(blob: Blob) -> bytes:
                    with revision_errors(option):
                        return next(contents([(blob.name, blob.hash)]))

                commit = commit_of(root, revision)  # once, as a branch may move meanwhile
                output, there = read_output(root, commit, read)
                sources, unread = read_inputs(root, commit)
                contents = click.get_current_context().with_resource(reader(root))
        else:
            there = look(root, (OUT,))
            output = {}

            def keep_hash(path: str, name: str) -> Inputs:
                found = read_file(path, name)
                for source in found.sources:
                    assert isinstance(source.text, bytes)
                    output[name] = Blob(name, git_hash(source.text), again)
                return replace(found, sources=())

            def again(blob: Blob) -> bytes:
                return read_open(open_regular(root / blob.name), LIMIT)

            found = read_given(root, root, OUT, read=keep_hash) if there.get(OUT) is Kind.FOLDER else Inputs()
            # Links are reported with the other files that trainc did not write.
            findings = tuple(finding for finding in found.findings if has_errors((finding,)))
            inputs = merge([read_project(root), read_config(root), read_lock(root)])
            sources, unread = inputs.sources, read_beside_policies(root).sources
        config, wrong = parse(next((source for source in sources if source.name == CONFIG), None))
        if revision is not None:  # that of the working tree is read with the project
            findings = tuple(finding for finding in wrong if has_errors((finding,)))
        settings = tuple(source for source in sources if source.name in SETTINGS)
        others = tuple(source for source in sources if source.name not in SETTINGS)
        allow(len(others) + len(output), revisions=int(revision is not None))
        of_inputs = Revision(revision or "", others, config.data, is_valid=not has_errors(wrong))
        return cls(of_inputs, config.document, settings, unread, output, there, findings)


def _difference(old: Side, new: Side, names: Collection[str], config: Config, root: Path) -> Difference:
    """Return the difference of two sides, or of the part that ``names`` select, without what is stale."""
    before, after = select(old.output, new.output, names)
    settings = settings_of_all(new.inputs.config)
    earlier = settings_of_all(old.inputs.config) if old.inputs.is_valid else settings
    there = {name: kind for name, kind in new.there.items() if not names or is_below(name, names)}
    shown = {*directories(before), *directories(after)} if names else None
    if shown is not None:  # what happens to them depends on what else is in their applications and AppProjects
        before, after = {**files_outside(shown, old.output), **before}, {**files_outside(shown, new.output), **after}
    kept = kept_applications(config.data, None if new.inputs.name else root)
    foreign_to = partial(foreign, there, exceptions=unmanaged(config.data), folder_of=kept)
    difference = compare(before, after, settings, foreign_to, earlier=earlier, shown=shown)
    texts = [{source.name: source.text for source in side.inputs.sources} for side in (old, new)]
    same = {name for name in texts[0].keys() & texts[1].keys() if texts[0][name] == texts[1][name]}
    return replace(
        difference,
        weakened=weakened(old.inputs, new.inputs, new.config, new.unread),
        unexplained=unexplained(difference, same) if old.settings == new.settings else (),
    )


def _staleness(root: Path, config: Config, names: Collection[str]) -> tuple[tuple[Directory, ...] | None, bool]:
    """Render the working tree without writing, and return the directories of out/ that would change, sorted.

    They are None after an error; the second value is then whether the error is in the inputs. With ``names``, paths
    from root, only files below them or generated from them count.
    """
    store = open_store(root)
    if store is not None and (last := load_last(root, store)) is not None and not last.changed:
        return (), False
    request, execute = request_of(root, (), config), executor_of(None, quiet=True)
    planned, _ = with_cache(
        lambda cache: plan_request(request, (), has_errors, cache, execute),
        None if store is None else RunCache(root, store, compares=True),
    )
    if (plan := planned.plan) is None:
        codes = {finding.code for finding in planned.findings if has_errors((finding,))}
        return None, bool(codes - {"TC014", "TC903"})
    files = [(file.name, bytes_of(file.data) if names else b"") for file in (*plan.create, *plan.change)]
    files += [(name, read_regular(root / name) or b"" if names else b"") for name in plan.remove]
    return tuple(
        sorted(
            {
                directory_of(name)
                for name, data in files
                if is_placed(name)
                and (not names or any(is_below(each, names) for each in (name, *output_sources(data))))
            }
        )
    ), False


def _require_paths(root: Path, names: Iterable[str], trees: Iterable[Tree]) -> None:
    """Raise BadParameter for a name that matches nothing. The hint is for revisions, as git diff takes."""
    from trainc.project.git import is_revision

    for name in names:
        if (root / name).exists() or any(any(select({}, tree, [name])) for tree in trees):
            continue
        if is_revision(root, name):
            first, dots, second = name.replace("...", "..").partition("..")
            options = f"--base {first or 'HEAD'}" + (f" --head {second or 'HEAD'}" if dots else "")
            raise WrongValue(f"{name!r} is a git revision.", f"trainc diff {options}", "PATH")
        raise click.BadParameter(f"Path {name!r} does not exist.", param_hint="'[PATH]...'")
