"""`trainc policy test`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from trainc.cli.command import Command, echo
from trainc.cli.options import crds_option, findings_options, root_option
from trainc.cli.paths import Existing
from trainc.cli.reporter import Reporter
from trainc.findings import Severity, has_errors, sort_key
from trainc.findings.display import counted, one_line
from trainc.policytests.run import Run, as_junit, load_platform, run
from trainc.policytests.run import read as read_cases
from trainc.project.environments import nothing, read_crds
from trainc.project.names import POLICIES, POLICY_TESTS
from trainc.project.read import merge, read_platform, read_policy_tests

EPILOG = """\b
Examples:
  trainc policy test                               all of policies/tests/
  trainc policy test policies/tests/gpus.yaml      one file
  trainc policy test --format junit                a JUnit report for CI
"""


@click.group("policy", epilog=EPILOG)
def command() -> None:
    """Test the admission policies in policies/."""


@command.command("test", cls=Command, epilog=EPILOG)
@root_option
@crds_option
@findings_options()
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=Existing())
def test(*, root: Path, crd_dirs: tuple[str, ...], reporter: Reporter, paths: tuple[str, ...]) -> int:
    """Run the policy tests in policies/tests/, or those in PATHs.

    Each test applies the policies in policies/ to an object, and compares the
    result with what it expects. Without PATHs, policies and validations that fail
    in no test are listed as well. Exit 1 if a test fails.
    """
    platform, inputs = read_platform(root), read_policy_tests(root, paths)
    crds = read_crds(root, crd_dirs)
    read = [read_cases(source) for source in inputs.sources]
    cases = tuple(case for found, _ in read for case in found)
    others = [
        *merge((platform, inputs)).findings,  # both read the folder of the tests
        *crds.findings,
        *(finding for _, found in read for finding in found),
    ]
    if not cases and not has_errors(others):
        others += (nothing(path, "no policy test found") for path in paths or (POLICY_TESTS,))
    result = Run(())
    if cases:
        is_complete = not paths and not has_errors(others)
        loaded, found = load_platform(platform.sources, crds.sources)
        result = run(cases, loaded)
        # What matters to policies: all of policies/, and errors elsewhere.
        others += (one for one in found if one.severity is Severity.ERROR or one.file.startswith(f"{POLICIES}/"))
        others += result.untested if is_complete else ()
    failures = [finding for each in result.results for finding in each.findings]
    findings = sorted([*others, *failures], key=sort_key)
    if reporter.format == "junit":
        echo(as_junit(result.results, sorted(others, key=sort_key)), nl=False, form=reporter.format)
    else:
        if reporter.format == "text" and not reporter.quiet:
            blank = ("",) if findings else ()
            echo("".join(f"{line}\n" for line in (*_lines(result), *blank)), nl=False)
        reporter.report(findings)
    if cases:
        failed = sum(1 for each in result.results if each.findings)
        tests = counted(len(cases), "test")
        reporter.remark(f"{failed} of {tests} failed" if failed else f"{tests} passed")
    return reporter.status(findings)


def _lines(result: Run) -> Iterator[str]:
    file = None
    for each in result.results:
        if each.case.document.source.name != file:
            file = each.case.document.source.name
            yield one_line(file)
        yield f"  {'FAIL' if each.findings else 'ok  '}  {one_line(each.case.name)}"
