"""What other repositories use in CI: the action, hooks and template, whose scripts run here as their hosts run them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from effort import some, thorough
from folders import put
from gitrepo import commit, git, needs_git
from trainc import __version__
from trainc.changes.formats import MARK
from trainc.cli.reporter import FAILING
from trainc.cli.root import trainc
from trainc.project.scaffold import Setup, init_files

pytestmark = needs_git

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/trainc.yml").read_text(encoding="utf-8"))
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
TEMPLATE = (ROOT / "ci/gitlab/trainc.gitlab-ci.yml").read_text(encoding="utf-8")

GH = """\
#!/bin/sh
printf '%s\\n' "$*" >>"$CALLS"
case "$*" in
  */pulls/*) if [ "$REFUSED" = 1 ]; then echo '{"message":"Not Found"}'; exit 1; fi; printf '%s' "$CURRENT" ;;
  *--paginate*) printf '%s' "$EXISTING"; exit "$REFUSED" ;;
  *PATCH*|*POST*) exit "$REFUSED" ;;
esac
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: example.com/bert:1
    numNodes: 2
"""
STUB = """\
#!/bin/sh
echo "trainc $*" >>"$CALLS"
if [ -n "$RENDERS" ]; then mkdir -p out/prod/a && echo generated >"out/prod/a/$RENDERS"; fi
exit "$STATUS"
"""


class Sandbox:
    """A repository of git with one job, what it renders to, a branch that changes it, and a runner's surroundings."""

    def __init__(self, folder: Path, root: str = ".", *, render: bool = True) -> None:
        self.runner = folder / "runner"
        self.repository = folder / "repository"
        self.root = self.repository / root
        (self.runner / "trainc").mkdir(parents=True)
        self.write("trainc.yaml", "environments: {prod: {}}\nfixes: recommended\n")
        self.write("jobs/team-a/bert.yaml", JOB)
        self.program("trainc", f'#!/bin/sh\nexec {sys.executable} -m trainc "$@"\n')
        self.program("gh", GH)
        self.files = {name: self.runner / name.lower() for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "CALLS")}
        self.variables = {"EXISTING": "", "REFUSED": "0", "CURRENT": "c0ffee main"}
        if render:
            self.render()
        commit(self.repository)

    def write(self, name: str, text: str) -> None:
        put(self.root, name, text)

    def render(self) -> None:
        """Render in this process, which takes a tenth of the time of another one."""
        assert CliRunner().invoke(trainc, ["render", "-q", "--root", str(self.root)]).exit_code == 0

    def program(self, name: str, text: str) -> None:
        path = self.runner / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def merge(self, change: str, *, rendered: bool = True) -> None:
        """Change the job on a branch and merge it, as GitHub does for a pull request."""
        git(self.repository, "checkout", "-q", "-b", "change")
        self.write("jobs/team-a/bert.yaml", change)
        if rendered:
            self.render()
        commit(self.repository)
        git(self.repository, "checkout", "-q", "main")
        git(self.repository, "merge", "-q", "--no-ff", "-m", "Merge", "change")

    def shell(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script as the runner of GitHub does with shell: bash."""
        for path in self.files.values():
            path.touch()
        surroundings = {
            **os.environ,
            **{name: str(path) for name, path in self.files.items()},
            **self.variables,
            "PATH": f"{self.runner / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "compiler"),
            "RUNNER_TEMP": str(self.runner),
            "GITHUB_REPOSITORY": "a/b",
            "CI_PROJECT_DIR": str(self.runner),
            **variables,
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(command, cwd=self.root, env=surroundings, capture_output=True, text=True, check=False)

    def step(self, name: str, **contexts: str) -> subprocess.CompletedProcess[str]:
        """Run a step of the action; its expressions are inputs with their defaults, or ``contexts`` by their names."""
        (step,) = (each for each in STEPS if each.get("id") == name)
        values = {f"inputs.{name}": about.get("default", "") for name, about in ACTION["inputs"].items()}
        values |= {"steps.base.outputs.base": "", "github.event.merge_group.base_sha": ""}
        values |= {"github.event.pull_request.head.sha": "c0ffee", "github.event.pull_request.base.ref": "main"}
        values |= {key.replace("__", "."): value for key, value in contexts.items()}
        events = {key: value for key, value in contexts.items() if key.startswith("GITHUB_")}

        def value(match: re.Match[str]) -> str:
            return values[match[1]]

        variables = {key: re.sub(r"\$\{\{ ([\w.-]+) \}\}", value, text) for key, text in step.get("env", {}).items()}
        return self.shell(step["run"], **variables, **events)

    def outputs(self) -> dict[str, str]:
        lines = self.files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)

    def calls(self) -> list[str]:
        return self.files["CALLS"].read_text(encoding="utf-8").splitlines()


def test_a_pull_request_is_checked_compared_and_commented(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    sandbox.merge(JOB.replace("numNodes: 2", "numNodes: 4"))
    commits = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_SHA": git(sandbox.repository, "rev-parse", "HEAD")}
    assert sandbox.step("base", **commits).returncode == 0
    assert sandbox.outputs() == {"base": "HEAD^1"}
    based = {"steps__base__outputs__base": "HEAD^1"}
    done = sandbox.step("check", **based)
    assert done.returncode == 1
    assert "\n::error file=jobs/team-a/bert.yaml,line=8," in f"\n{done.stdout}", "a cluster refuses it"
    assert sandbox.step("diff", **based).returncode == 0
    comment = Path(sandbox.outputs()["file"])
    text = comment.read_text(encoding="utf-8")
    assert text.startswith(f"{MARK}\n### trainc: 1 of 1 directory changes: 1 refused as immutable\n")
    assert sandbox.files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8") == text
    contexts = {"github__event__pull_request__number": "7", "steps__diff__outputs__file": str(comment)}
    values = {"inputs__token": "t", **contexts}
    assert sandbox.step("comment", **values).returncode == 0
    posted = sandbox.runner / "comment.md"
    assert sandbox.calls()[-1] == f"api --method POST repos/a/b/issues/7/comments -F body=@{posted} --silent"
    assert posted.read_text(encoding="utf-8") == text
    sandbox.variables["EXISTING"] = "42\n43"
    assert sandbox.step("comment", **values, inputs__root="ml").returncode == 0
    assert sandbox.calls()[-1] == f"api --method PATCH repos/a/b/issues/comments/42 -F body=@{posted} --silent"
    mark = "<!-- trainc diff of ml -->"
    assert f'startswith("{mark}")' in sandbox.calls()[-2], "not that of another project"
    assert posted.read_text(encoding="utf-8") == text.replace(MARK, mark, 1)
    sandbox.variables["REFUSED"] = "1"
    refused = sandbox.step("comment", **values)
    assert (refused.returncode, refused.stdout[:11]) == (0, "::warning t"), "a token that only reads fails no job"
    assert "--paginate" in sandbox.calls()[-1], "without the list, a second comment would be written"
    sandbox.variables["REFUSED"] = "0"
    for current in ("c0ffee release", "newer main"):
        sandbox.variables["CURRENT"] = current
        old = sandbox.step("comment", **values)
        assert (old.returncode, old.stdout) == (0, "the pull request has a newer commit, or goes to another branch\n")
        assert "PATCH" not in sandbox.calls()[-1]
    sandbox.variables["CURRENT"] = "c0ffee main"
    assert sandbox.step("comment", **values).returncode == 0
    assert "PATCH" in sandbox.calls()[-1]


def test_mistakes_fail_with_paths_from_the_root_of_the_repository(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, "ml/train#ing")
    sandbox.merge(JOB.replace("numNodes", "numNode"), rendered=False)
    done = sandbox.step("check")
    assert done.returncode == 1
    assert done.stdout.startswith("::error file=ml/train#ing/jobs/team-a/bert.yaml,line=8,col=")
    assert sandbox.step("diff", steps__base__outputs__base="HEAD^1").returncode == 1
    sandbox.files["GITHUB_OUTPUT"].unlink()
    assert sandbox.step("sarif").returncode == 0
    log = json.loads(Path(sandbox.outputs()["file"]).read_text(encoding="utf-8"))
    (result,) = log["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "ml/train#ing/jobs/team-a/bert.yaml"


@thorough
def test_a_stale_output_is_reported_after_findings(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    sandbox.merge(JOB.replace("numNodes: 2", "numNodes: 4"), rendered=False)
    done = sandbox.step("check", steps__base__outputs__base="HEAD^1")
    first, *_, last = done.stdout.splitlines()
    assert first.startswith("::error file=jobs/team-a/bert.yaml,line=8,")
    assert last.startswith("::error title=trainc::out/ is stale: ")
    assert done.returncode == 1, "findings win over stale"


def test_a_checkout_without_the_base_says_what_to_do(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    done = sandbox.step("base", GITHUB_EVENT_NAME="pull_request")
    assert (done.returncode, sandbox.outputs()) == (2, {})
    assert done.stdout == (
        "::error title=trainc::no merge commit to compare with: use actions/checkout with fetch-depth: 2\n"
    )
    assert sandbox.step("base", GITHUB_EVENT_NAME="push").returncode == 0
    assert sandbox.outputs() == {"base": ""}
    sandbox.write("jobs/team-a/bert.yaml", JOB.replace("numNodes: 2", "numNodes: 4"))
    stale = sandbox.step("check")
    assert stale.returncode == 3
    assert stale.stdout.splitlines()[-1].startswith("::error title=trainc::out/ is stale: ")
    assert sandbox.step("diff", steps__base__outputs__base="HEAD").returncode == 3
    assert "stale" in Path(sandbox.outputs()["file"]).read_text(encoding="utf-8")


def test_the_base_of_a_pull_request_is_not_the_choice_of_its_author(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, "ml")
    (sandbox.repository / "link").symlink_to("ml")
    sandbox.merge(JOB.replace("numNodes: 2", "numNodes: 4"), rendered=False)
    sandbox.root = sandbox.repository
    event = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_SHA": "c0ffee"}
    done = sandbox.step("base", **event)
    assert (done.returncode, sandbox.outputs()) == (2, {}), "HEAD is a merge, but not that of GitHub"
    event["GITHUB_SHA"] = git(sandbox.repository, "rev-parse", "HEAD")
    for root in ("link", "./link/", "ml/../link", "link/jobs"):
        done = sandbox.step("base", inputs__root=root, **event)
        assert (done.returncode, sandbox.outputs()) == (2, {})
        assert done.stdout == (
            "::error title=trainc::the input root is a link, or behind one: the base may have another project there\n"
        )
    done = sandbox.step("base", inputs__base="v1\nfile=/etc/passwd")
    assert (done.returncode, sandbox.outputs()) == (2, {})
    assert done.stdout == "::error title=trainc::the input base has several lines\n"
    assert sandbox.step("base", inputs__root="./ml/", **event).returncode == 0
    assert sandbox.outputs() == {"base": "HEAD^1"}


def test_the_base_of_a_pull_request_is_no_commit_of_a_submodule(tmp_path: Path) -> None:
    # HEAD^1 in the folder of a submodule is whatever commit of it the pull request chooses.
    sandbox = Sandbox(tmp_path, render=False)
    git(sandbox.repository, "clone", "-q", ".", "ml")
    sandbox.merge(JOB.replace("numNodes: 2", "numNodes: 4"), rendered=False)
    event = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_SHA": git(sandbox.repository, "rev-parse", "HEAD")}
    done = sandbox.step("base", inputs__root="ml", **event)
    assert (done.returncode, sandbox.outputs()) == (2, {})
    assert done.stdout.startswith("::error title=trainc::no merge commit to compare with")


def test_the_base_of_a_merge_group_is_that_of_the_event(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, render=False)
    base = git(sandbox.repository, "rev-parse", "HEAD")
    event = {"GITHUB_EVENT_NAME": "merge_group", "github__event__merge_group__base_sha": base}
    assert sandbox.step("base", **event).returncode == 0
    assert sandbox.outputs() == {"base": base}
    sandbox.files["GITHUB_OUTPUT"].unlink()
    done = sandbox.step("base", **{**event, "github__event__merge_group__base_sha": "c0ffee" + base[6:]})
    assert (done.returncode, sandbox.outputs()) == (2, {})
    message = "no base of the merge group: use actions/checkout with fetch-depth: 0"
    assert done.stdout == f"::error title=trainc::{message}\n"


@pytest.mark.parametrize("event", ["pull_request_target", "pull_request_review", "issue_comment", "workflow_run"])
def test_other_events_of_pull_requests_need_a_base(tmp_path: Path, event: str) -> None:
    sandbox = Sandbox(tmp_path, render=False)
    done = sandbox.step("base", GITHUB_EVENT_NAME=event)
    assert (done.returncode, sandbox.outputs()) == (2, {})
    message = "has no base: use the trigger pull_request, or set the input base"
    assert done.stdout == f"::error title=trainc::{event} {message}\n"
    assert sandbox.step("base", GITHUB_EVENT_NAME=event, inputs__base="main").returncode == 0


def test_a_comment_on_an_earlier_commit_is_replaced_if_a_check_ends_early(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, render=False)
    values = {"inputs__token": "t", "github__event__pull_request__number": "7", "steps__diff__outputs__file": ""}
    assert sandbox.step("comment", **values).returncode == 0
    assert not any("PATCH" in call or "POST" in call for call in sandbox.calls())
    sandbox.variables["EXISTING"] = "42"
    assert sandbox.step("comment", **values).returncode == 0
    comment = sandbox.runner / "comment.md"
    assert sandbox.calls()[-1] == f"api --method PATCH repos/a/b/issues/comments/42 -F body=@{comment} --silent"
    assert "no comparison of the last commit" in comment.read_text(encoding="utf-8")


def test_the_action_is_not_checked_out_over_files_of_a_pull_request(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, render=False)
    before, action = (step for step in WORKFLOW["jobs"]["trainc"]["steps"][1:3])
    assert action["with"]["path"] == ".trainc-action"
    assert sandbox.shell(before["run"]).returncode == 0
    (sandbox.root / ".trainc-action").symlink_to("jobs")
    refused = sandbox.shell(before["run"])
    assert (refused.returncode, refused.stdout[:24]) == (1, "::error title=trainc::no")
    (sandbox.root / ".trainc-action").unlink()
    sandbox.write(".trainc-action/jobs/team-a/bert.yaml", JOB)
    assert sandbox.shell(before["run"]).returncode == 1


@pytest.mark.parametrize("gitlab", some([False, True], 2))
def test_the_project_is_that_of_the_input_root(tmp_path: Path, gitlab: bool) -> None:
    """A pull request that moves trainc.yaml to a folder above has other policies there, and no base."""
    sandbox = Sandbox(tmp_path, "ml")
    base = git(sandbox.repository, "rev-parse", "HEAD")
    (sandbox.root / "trainc.yaml").rename(sandbox.repository / "trainc.yaml")
    sandbox.write("out/prod/team-a/bert/pod.yaml", "kind: Pod\n")
    if gitlab:
        _, job = template()
        (script,) = job["script"]
        sandbox.root = sandbox.repository
        done = sandbox.shell(script, **{**job["variables"], "TRAINC_ROOT": "ml"})
    else:
        done = sandbox.step("check", steps__base__outputs__base=base)
    assert done.returncode == 1
    assert "out/prod/team-a/bert/pod.yaml" in done.stdout


def test_the_action_is_pinned_and_its_scripts_contain_no_expressions() -> None:
    assert [step["id"] for step in STEPS if "run" in step] == ["install", "base", "check", "diff", "comment", "sarif"]
    for step in STEPS:
        assert ("uses" in step) != ("run" in step)
        assert "uses" not in step or re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", step["uses"])
        assert "run" not in step or step["shell"] == "bash"
        assert "${{" not in step.get("run", "")
    for condition in (step["if"] for step in STEPS[4:]):
        assert "!cancelled()" in condition, "the comment says what is wrong"
    for step in (STEPS[6], STEPS[7]):
        assert "github.event.pull_request.head.repo.full_name == github.repository" in step["if"], "not for forks"


def test_no_module_of_a_pull_request_is_run() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / ".github/workflows").iterdir())]
    scripts = "".join([*texts, (ROOT / "action.yml").read_text(encoding="utf-8"), TEMPLATE])
    options = re.findall(r"\bpython3 (.*?)-m ", scripts)
    assert options == ["-I "] * 2, "python3 -m imports modules from the working directory, which is the checkout"


def test_every_input_is_described_and_used() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    used = set(re.findall(r"inputs\.([\w-]+)", text))
    assert used == set(ACTION["inputs"])
    assert all(about["description"].endswith((".", ")")) for about in ACTION["inputs"].values())
    offered = WORKFLOW[True]["workflow_call"]["inputs"]
    passed = WORKFLOW["jobs"]["trainc"]["steps"][-1]["with"]
    assert passed == {name: f"${{{{ inputs.{name} }}}}" for name in passed}
    assert set(offered) == {*passed, "repository", "ref"}
    for name in passed:
        assert str(offered[name]["default"]).lower() == ACTION["inputs"][name]["default"]
        assert offered[name]["description"] == ACTION["inputs"][name]["description"]


def test_versions_are_that_of_the_package() -> None:
    assert WORKFLOW[True]["workflow_call"]["inputs"]["ref"]["default"] == f"v{__version__}"
    assert next(yaml.safe_load_all(TEMPLATE))["spec"]["inputs"]["version"]["default"] == __version__
    for page in sorted((ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        named = re.findall(
            r"trainc/trainc(?:/[\w./-]+?)?(?:@|/)v(\d[\d.]+\d)|rev: v(\d[\d.]+)|trainc==(\d[\d.]+)", text
        )
        assert {version for found in named for version in found if version} <= {__version__}, page


PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"(?ms)^```yaml\n(.*?)^```$", PAGE)


def test_the_examples_of_the_page_fit_the_files() -> None:
    called, action, comment, gitlab, hooks = map(yaml.safe_load, EXAMPLES)
    offered = WORKFLOW[True]["workflow_call"]["inputs"]
    for job in (*called["jobs"].values(), *comment["jobs"].values()):
        path, _, version = job["uses"].partition("@")
        assert (ROOT / path.removeprefix("trainc/trainc/")).is_file()
        assert version == f"v{__version__}"
        assert set(job.get("with", {})) <= set(offered)
    assert comment[True]["workflow_run"]["workflows"] == [called["name"]]
    for each in (called, action):  # a check belongs to a commit, also if its pull request goes to another branch
        assert "edited" in each[True]["pull_request"]["types"]
        assert each[True]["pull_request"]["branches"] == ["main"]
    needed = yaml.safe_load((ROOT / ".github/workflows/diff-comment.yml").read_text(encoding="utf-8"))
    assert comment["jobs"]["comment"]["permissions"] == needed["jobs"]["comment"]["permissions"]
    step = action["jobs"]["check"]["steps"][-1]
    assert step["uses"] == f"trainc/trainc@v{__version__}"
    assert set(step["with"]) <= set(ACTION["inputs"])
    (include,) = gitlab["include"]
    assert (ROOT / include["remote"].partition(f"/v{__version__}/")[2]).is_file()
    assert set(include["inputs"]) <= set(template()[0])
    (repository,) = hooks["repos"]
    assert {hook["id"] for hook in repository["hooks"]} <= {hook["id"] for hook in HOOKS}
    rows = re.findall(r"(?m)^\| `([\w-]+)` \|(?: `([^`]+)`)?[^|]*\|", PAGE)
    assert {name for name, _ in rows} == set(ACTION["inputs"])
    assert all(ACTION["inputs"][name]["default"] == default for name, default in rows if default)


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
@pytest.mark.parametrize("example", [each for each in EXAMPLES if "jobs:" in each], ids=["called", "action", "comment"])
def test_the_workflows_of_the_page_pass_actionlint(example: str, tmp_path: Path) -> None:
    (tmp_path / "workflow.yml").write_text(example, encoding="utf-8")
    command = ["go", "tool", "actionlint", tmp_path / "workflow.yml"]
    done = subprocess.run(command, cwd=ROOT / ".ci", capture_output=True, text=True, check=False)
    if "go: " in done.stderr and not os.environ.get("CI"):
        pytest.skip("the Go module proxy has no actionlint here")
    assert (done.returncode, done.stdout) == (0, "")


@thorough
def test_the_commands_for_any_other_ci(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    git(sandbox.repository, "update-ref", "refs/remotes/origin/main", "HEAD")
    (block,) = re.findall(r"(?ms)^```sh\n(.*?)^```$", PAGE)
    policy = "policy test"
    assert block.splitlines()[-1] == f"trainc {policy}", "which needs policies"
    done = sandbox.shell(block.replace(f"trainc {policy}", f"trainc {policy} --help"))
    assert (done.returncode, done.stderr) == (0, "1 TrainJob is valid\n")
    assert (sandbox.repository / "diff.md").read_text(encoding="utf-8").startswith(MARK)


def test_both_posters_write_the_comment_in_the_same_way() -> None:
    poster = yaml.safe_load((ROOT / ".github/workflows/diff-comment.yml").read_text(encoding="utf-8"))
    (script,) = (step["run"] for step in poster["jobs"]["comment"]["steps"])
    (step,) = (each for each in STEPS if each.get("id") == "comment")
    first, second = (text.partition("post() {\n")[2].partition("\n}\n")[0] for text in (script, step["run"]))
    assert len(first.splitlines()) > 8
    assert first == second


def template() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inputs of GitLab's template, and its job with their defaults."""
    head, _, body = TEMPLATE.partition("\n---\n")
    inputs = yaml.safe_load(head)["spec"]["inputs"]
    text = re.sub(r"\$\[\[ inputs\.([\w-]+) \]\]", lambda match: json.dumps(inputs[match[1]]["default"]), body)
    (job,) = yaml.safe_load(text).values()
    return inputs, job


def test_no_change_keeps_a_check_running() -> None:
    """Each host ends a job after hours only, unless it has a limit of its own."""
    (on_gitlab,) = list(yaml.safe_load_all(TEMPLATE))[-1].values()
    jobs = [on_gitlab, *WORKFLOW["jobs"].values()]
    for host, name in (("github", ".github/workflows/trainc.yml"), ("gitlab", ".gitlab-ci.yml")):
        (file,) = (each for each in init_files(Setup(__version__, ci=host)) if each.name == name)
        found = yaml.safe_load(file.text)
        jobs += found.get("jobs", found).values()
    assert len(jobs) >= 4
    assert all(job.get("timeout-minutes") in (10, 15) or job.get("timeout") == "10 minutes" for job in jobs)


@thorough
def test_the_template_of_gitlab(tmp_path: Path) -> None:
    inputs, job = template()
    assert inputs["fail-on"]["options"] == list(FAILING)
    assert all(about["description"].endswith(".") for about in inputs.values())
    sandbox = Sandbox(tmp_path, "ml")
    base = git(sandbox.repository, "rev-parse", "HEAD")
    sandbox.merge(JOB.replace("numNodes", "numNode"), rendered=False)
    git(sandbox.repository, "remote", "add", "origin", sandbox.repository.as_uri())
    git(sandbox.repository, "branch", "target", base)
    of_request = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "target"}
    variables = {**job["variables"], "TRAINC_ROOT": "ml", **of_request}
    (script,) = job["script"]
    sandbox.root = sandbox.repository  # where GitLab starts
    done = sandbox.shell(script, **variables)
    assert done.returncode == 1
    assert "jobs/team-a/bert.yaml:8:" in done.stdout
    reports = job["artifacts"]["reports"]
    issues = json.loads((sandbox.runner / reports["codequality"]).read_text(encoding="utf-8"))
    (issue,) = (each for each in issues if each["check_name"] == "TC101")
    assert issue["location"] == {"path": "ml/jobs/team-a/bert.yaml", "lines": {"begin": 8}}
    report = (sandbox.runner / reports["junit"]).read_text(encoding="utf-8")
    assert ' name="TC101 ' in report
    assert ' file="ml/jobs/team-a/bert.yaml"' in report
    (page,) = job["artifacts"]["paths"]
    assert (sandbox.runner / page).read_text(encoding="utf-8").startswith(MARK)


def test_a_merged_result_is_compared_with_the_target_branch(tmp_path: Path) -> None:
    """The merge base is older: what others merged since, such as a new run of a job, is not of the merge request."""
    _, job = template()
    sandbox = Sandbox(tmp_path, render=False)
    sandbox.program("trainc", STUB)
    began = commit(sandbox.repository)
    target = commit(sandbox.repository)
    git(sandbox.repository, "remote", "add", "origin", sandbox.repository.as_uri())
    of_request = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": began, "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
    variables = {**job["variables"], **of_request, "STATUS": "0", "RENDERS": ""}
    (script,) = job["script"]
    for base, more in ((began, {}), (target, {"CI_MERGE_REQUEST_TARGET_BRANCH_SHA": target})):
        assert sandbox.shell(script, **variables, **more).returncode == 0
        assert set(re.findall(r"--base (\w+)", "\n".join(sandbox.calls()))) == {base}
        sandbox.files["CALLS"].unlink()


def started() -> dict[str, Any]:
    """Return the job that trainc init writes for GitLab."""
    files = {file.name: file.text for file in init_files(Setup(__version__, ci="gitlab"))}
    (job,) = yaml.safe_load(files[".gitlab-ci.yml"]).values()
    return {"variables": {}, **job}


JOBS = {"template": template()[1], "init": started()}
"""The jobs for GitLab."""


@pytest.mark.parametrize(
    ("job", "name"),
    [
        ("template", "trainc-junit.xml"),
        ("template", "trainc-codequality.json"),
        ("template", "trainc-diff.md"),
        ("init", "trainc.xml"),
    ],
)
def test_a_report_does_not_replace_a_file_of_the_merge_request(tmp_path: Path, job: str, name: str) -> None:
    """Links may lead to a folder of this name. If it is a link to trainc: an empty program has no errors."""
    sandbox = Sandbox(tmp_path, render=False)
    program = sandbox.runner / "bin" / "trainc"
    sandbox.program("trainc", "#!/bin/sh\nexit 0\n")
    script = "\n".join(JOBS[job]["script"])
    assert sandbox.shell(script, **JOBS[job]["variables"]).returncode == 0
    (sandbox.repository / name).unlink(missing_ok=True)
    (sandbox.repository / name).symlink_to(program)
    git(sandbox.repository, "add", name)
    for owner in ({}, {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}):  # of whose repository git lists nothing
        assert sandbox.shell(script, **JOBS[job]["variables"], **owner).returncode != 0
        assert program.read_text(encoding="utf-8") == "#!/bin/sh\nexit 0\n"
    git(sandbox.repository, "rm", "-q", "-f", name)
    sandbox.write(f"{name}/bert.yaml", JOB)
    git(sandbox.repository, "add", name)
    assert sandbox.shell(script, **JOBS[job]["variables"]).returncode != 0
    assert (sandbox.repository / name).is_dir()


@pytest.mark.parametrize("fork", [False, True])
@pytest.mark.parametrize("job", JOBS)
def test_the_policies_of_a_merge_request_are_those_of_the_target_branch(tmp_path: Path, job: str, fork: bool) -> None:
    """A tag may have its name, and the branch of this name in a fork may be old."""
    sandbox = Sandbox(tmp_path, render=False)
    sandbox.program("trainc", "#!/bin/sh\nexit 0\n")
    base = git(sandbox.repository, "rev-parse", "HEAD")
    project = tmp_path / "project"
    git(tmp_path, "clone", "-q", "--bare", str(sandbox.repository), f"{project}.git")
    newer = git(sandbox.repository, "commit-tree", "-p", "HEAD", "-m", "newer", "HEAD^{tree}")
    git(sandbox.repository, "push", "-q", f"{project}.git", f"{newer}:refs/heads/main", f"{base}:refs/tags/main")
    git(sandbox.repository, "remote", "add", "origin", sandbox.repository.as_uri() if fork else f"{project}.git")
    variables = {
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base,
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_MERGE_REQUEST_PROJECT_ID": "1",
        "CI_MERGE_REQUEST_PROJECT_URL": project.as_uri(),
        "CI_PROJECT_ID": "2" if fork else "1",
        "CI_PIPELINE_SOURCE": "merge_request_event",
    }
    done = sandbox.shell("\n".join(JOBS[job]["script"]), **JOBS[job]["variables"], **variables)
    assert done.returncode == 0, done.stderr
    assert git(sandbox.repository, "rev-parse", "FETCH_HEAD") == newer


@pytest.mark.parametrize("job", JOBS)
def test_a_merge_request_without_a_commit_of_its_target_fails(tmp_path: Path, job: str) -> None:
    """GitLab merges it all the same, and has no base for it (MergeRequestDiff.find_base_sha)."""
    sandbox = Sandbox(tmp_path, render=False)
    sandbox.program("trainc", "#!/bin/sh\nexit 0\n")
    git(sandbox.repository, "remote", "add", "origin", sandbox.repository.as_uri())
    git(sandbox.repository, "checkout", "-q", git(sandbox.repository, "commit-tree", "-m", "alone", "HEAD^{tree}"))
    variables = {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
    done = sandbox.shell("\n".join(JOBS[job]["script"]), **JOBS[job]["variables"], **variables)
    assert done.returncode != 0


def test_a_merge_request_with_several_bases_fails(tmp_path: Path) -> None:
    """Of the bases after merges in both directions, the one that git names first may hide a change."""
    sandbox = Sandbox(tmp_path)
    root = sandbox.repository
    git(root, "remote", "add", "origin", root.as_uri())
    ours = git(root, "commit-tree", "-m", "ours", "-p", "HEAD", "HEAD^{tree}")
    theirs = git(root, "commit-tree", "-m", "theirs", "-p", "HEAD", "HEAD^{tree}")
    main, other = (
        git(root, "commit-tree", "-m", "x", "-p", a, "-p", b, "HEAD^{tree}")
        for a, b in ((ours, theirs), (theirs, ours))
    )
    git(root, "branch", "target", main)
    variables = {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "target"}
    for head, status in ((ours, 0), (other, 2)):
        git(root, "checkout", "-q", head)
        done = sandbox.shell("\n".join(JOBS["init"]["script"]), **variables)
        assert done.returncode == status, done.stderr
    assert (
        f"{ours}\\n{theirs}' is not a revision" in done.stderr or f"{theirs}\\n{ours}' is not a revision" in done.stderr
    )


@pytest.mark.parametrize("job", ["init", "page"])
def test_the_base_is_not_guessed_in_a_shallow_clone(tmp_path: Path, job: str) -> None:
    """A chain of empty commits may hide that the branch has a newer commit of its target, and an older one counts."""
    sandbox = Sandbox(tmp_path)
    root = sandbox.repository
    old = git(root, "rev-parse", "HEAD")
    new = git(root, "commit-tree", "-m", "target", "-p", old, "HEAD^{tree}")
    empty = new
    for _ in range(3):
        empty = git(root, "commit-tree", "-m", "empty", "-p", empty, "HEAD^{tree}")
    head = git(root, "commit-tree", "-m", "merge", "-p", old, "-p", empty, "HEAD^{tree}")
    git(root, "branch", "target", new)
    git(root, "branch", "change", head)
    git(root, "branch", "long", empty)
    git(tmp_path, "clone", "-q", "--depth", "3", "--no-single-branch", "-b", "change", root.as_uri(), "clone")
    git(tmp_path / "clone", "remote", "set-head", "origin", "target")
    sandbox.root = tmp_path / "clone"
    assert git(sandbox.root, "merge-base", "--all", "origin/target", "HEAD") == old, "although it is not the base"
    variables = {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "target"}
    (block,) = re.findall(r"(?ms)^```sh\n(.*?)^```$", PAGE)
    script = "\n".join(JOBS["init"]["script"]) if job == "init" else block.replace("origin/main", "origin/target")
    for branch in ("long", "change"):  # the first one has no base in the clone
        git(sandbox.root, "checkout", "-q", f"origin/{branch}")
        done = sandbox.shell(script, **variables)
        assert done.returncode == (2 if job == "init" else 1)
        assert ("GIT_DEPTH" in done.stdout) is (job == "init")
    if job == "init":  # with merged results, GitLab names the base
        assert sandbox.shell(script, **variables, CI_MERGE_REQUEST_TARGET_BRANCH_SHA=new).returncode == 0


def test_the_root_of_a_merge_request_is_no_link(tmp_path: Path) -> None:
    _, job = template()
    sandbox = Sandbox(tmp_path, render=False)
    (sandbox.repository / "link").symlink_to("jobs")
    (script,) = job["script"]
    done = sandbox.shell(script, **{**job["variables"], "TRAINC_ROOT": "link"})
    assert (done.returncode, done.stdout) == (
        2,
        "link is a link, or is behind one, so the target branch may have another project there\n",
    )


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hooks_fail_for_findings_and_for_files_that_are_not_added(tmp_path: Path, hook: dict[str, Any]) -> None:
    sandbox = Sandbox(tmp_path, render=False)
    sandbox.program("trainc", STUB)
    sandbox.variables |= {"STATUS": "0", "RENDERS": ""}
    assert sandbox.shell(f"{hook['entry']} --env prod").returncode == 0
    assert sandbox.calls() == [f"{hook['name']} --env prod"]
    sandbox.variables["RENDERS"] = "jobset-new.yaml"
    done = sandbox.shell(hook["entry"])
    assert (done.returncode, done.stdout) == (1, "not added to git:\nout/prod/a/jobset-new.yaml\n")
    git(sandbox.repository, "add", "out")
    assert sandbox.shell(hook["entry"]).returncode == 0
    sandbox.variables["STATUS"] = "3"
    assert sandbox.shell(hook["entry"]).returncode == 3


def test_hooks_run_for_each_commit() -> None:
    assert [hook["id"] for hook in HOOKS] == ["trainc-check", "trainc-render"]
    for hook in HOOKS:
        assert hook["always_run"] is True, "also for one that only deletes a job, of which pre-commit names no file"
        assert (hook["language"], hook["pass_filenames"]) == ("python", False)
