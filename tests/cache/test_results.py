"""`trainc build` says and prints with its cache exactly what it says and prints without."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import crd, policy
from trainc.cache import results
from trainc.cache.results import key_of, load_result, save_result
from trainc.cache.store import Store
from trainc.cli.root import trainc
from trainc.inputs.source import Source
from trainc.project.read import Inputs

ROOT = Path(__file__).parents[2]
JOB = "jobs/team-vision/mnist-cpu.yaml"
COPIED = (
    *("jobs/team-vision", "policies/image-digests.yaml", "policies/namespaces.yaml", "trainc.yaml", "images.lock.yaml"),
    *(
        f"runtimes/{name}.yaml"
        for name in ("horovod-distributed", "mpi-intel-distributed", "team-vision-detector", "torch-distributed")
    ),
)

WARNED = (ROOT / JOB).read_text().replace("name: mnist-cpu", "name: late\n  namespace: team-vision")
WARNED = WARNED.replace("\nspec:", "\nspec:\n  managedBy: kueue.x-k8s.io/multikueue")
"""A job outside of jobs/ that has a warning of its own beside those of its runtime."""

CLEAN: tuple[tuple[str, ...], ...] = (
    (JOB,),
    (JOB, "-o", "json"),
    (JOB, "--format", "json"),
    (JOB, "-q"),
    (JOB, "--env", "prod"),
    (JOB, "--crd-dir", "crds"),
    ("jobs", "-o", "json", "--format", "json"),
    ("--faithful", JOB, "runtimes/torch-distributed.yaml"),
    ("late.yaml",),
    ("late.yaml", "-q", "--format", "json"),
    ("-",),
    ("-", JOB, "--format", "json"),
)
"""Invocations that print objects, with findings in jobs, runtimes and policies, or none."""

FAILING: tuple[tuple[str, ...], ...] = (
    ("late.yaml", "--fail-on", "warning"),
    ("late.yaml", "--fail-on", "warning", "--format", "json"),
    ("--faithful", JOB, "runtimes"),
    ("bad.yaml",),
    ("missing.yaml",),
    ("empty.yaml",),
    (JOB, "--env", "nowhere"),
    (JOB, "--crd-dir", "jobs"),
    ("linked",),
)
"""Those that fail, or speak of what could not be read: no run of them is remembered."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some jobs, runtimes and policies of this repository, and files with every kind of trouble; no test changes it."""
    root = tmp_path_factory.mktemp("results") / "repository"
    root.mkdir()
    for name in COPIED:
        (root / name).parent.mkdir(exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, root / name)
    (root / "late.yaml").write_text(WARNED)
    (root / "bad.yaml").write_text(WARNED.replace("torch-distributed", "none"))
    (root / "empty.yaml").write_text("")
    (root / "crds").mkdir()
    (root / "crds/things.yaml").write_text(crd("Thing", "properties: {size: {type: integer}}"))
    (root / "linked").mkdir()
    (root / "linked/job.yaml").write_text(WARNED)
    (root / "linked/other.yaml").symlink_to("job.yaml")
    return root


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path) -> Path:
    """A folder of caches, and the repository as the working directory."""
    monkeypatch.setenv("TRAINC_CACHE_DIR", str(tmp_path / "caches"))
    monkeypatch.chdir(repository)
    return tmp_path / "caches"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts compilations."""
    from trainc.cli import build

    count: list[int] = []
    compiled = build._compile

    def counted(*words: object) -> object:
        count.append(1)
        return compiled(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(build, "_compile", counted)
    return count


def run(*words: str, stdin: bytes = WARNED.encode()) -> tuple[int, bytes, bytes]:
    result = CliRunner().invoke(trainc, ("build", *words), input=stdin, prog_name="trainc")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout_bytes, result.stderr_bytes


def stored(place: Path) -> list[Path]:
    return sorted(place.rglob("*.results"))


@pytest.mark.parametrize("words", CLEAN, ids=" ".join)
def test_known_and_unknown_results_are_the_same(place: Path, compiled: list[int], words: tuple[str, ...]) -> None:
    plain = run(*words, "--no-cache")
    assert plain[0] == 0
    assert plain[1]
    assert not place.exists(), "--no-cache leaves nothing"
    assert run(*words) == plain
    assert len(compiled) == 2
    assert run(*words) == plain
    assert len(compiled) == 2, "not compiled again"
    assert run(*words, "--no-cache") == plain
    assert len(compiled) == 3, "--no-cache compiles"


@pytest.mark.parametrize("words", FAILING, ids=" ".join)
def test_failing_runs_are_not_remembered(place: Path, words: tuple[str, ...]) -> None:
    plain = run(*words, "--no-cache")
    assert plain[0] != 0 or b"symbolic link" in plain[2]
    assert run(*words) == plain
    assert run(*words) == plain
    assert stored(place) == []


def test_invocations_do_not_mix(place: Path, compiled: list[int]) -> None:
    some = (CLEAN[0], CLEAN[1], CLEAN[3], CLEAN[-1])
    plain = {words: run(*words, "--no-cache") for words in some}
    assert len(set(plain.values())) > len(some) // 2
    assert {words: run(*words) for words in some} == plain
    made = len(compiled)
    assert {words: run(*words) for words in reversed(some)} == plain
    assert len(compiled) == made
    assert len(stored(place)) == 1, "one file a repository"


DENIED = policy("none", "false", "no job at all", resource="trainer.kubeflow.org/trainjobs")


@pytest.mark.parametrize("name", [JOB, "runtimes/torch-distributed.yaml", "policies", "trainc.yaml"])
@pytest.mark.usefixtures("place")
def test_a_change_of_what_is_read_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path, compiled: list[int], name: str
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)
    monkeypatch.chdir(copy)
    before = run(JOB)
    if name == "policies":
        (copy / name / "none.yaml").write_text(DENIED)
    elif name == "trainc.yaml":
        text = (copy / name).read_text()
        (copy / name).write_text(f"{text}\nseverities: {{TC502: 'off'}}\n")
    else:
        text = (copy / name).read_text()
        (copy / name).write_text(text.replace("metadata:", "metadata:\n  labels: {changed: 'yes'}", 1))
    after = run(JOB)
    assert len(compiled) == 2
    assert after == run(JOB, "--no-cache")
    if name != "runtimes/torch-distributed.yaml":  # labels of a runtime come to no object
        assert after != before


def test_standard_input_counts_by_its_bytes(place: Path, compiled: list[int]) -> None:
    other = WARNED.replace("late", "later").encode()
    assert place is not None
    first, second = run("-"), run("-", stdin=other)
    assert first != second
    assert (run("-"), run("-", stdin=other)) == (first, second)
    assert len(compiled) == 2


def test_the_colour_counts(place: Path, compiled: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    from trainc.cli import reporter

    assert place is not None
    grey = run("late.yaml")
    monkeypatch.setattr(reporter, "_colour", lambda _terminal: True)
    coloured = run("late.yaml")
    assert coloured == run("late.yaml", "--no-cache")
    assert b"\x1b[" in coloured[2]
    assert b"\x1b[" not in grey[2]
    assert len(compiled) == 3


def test_what_is_damaged_is_not_used(place: Path, compiled: list[int]) -> None:
    plain = run(JOB)
    (path,) = stored(place)
    whole = path.read_bytes()
    for position in range(0, len(whole), len(whole) // 2):
        path.write_bytes(whole[:position] + bytes((whole[position] ^ 1,)) + whole[position + 1 :])
        assert run(JOB) == plain
        path.write_bytes(whole[:position])
        assert run(JOB) == plain
    assert len(compiled) == 1 + 2 * len(range(0, len(whole), len(whole) // 2))


def test_nothing_is_taken_from_what_others_could_write(place: Path, compiled: list[int]) -> None:
    plain = run(JOB)
    (path,) = stored(place)
    assert path.stat().st_mode & 0o077 == 0
    path.chmod(0o666)
    assert run(JOB) == plain
    assert len(compiled) == 2


def test_no_folder_no_cache(place: Path, compiled: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINC_CACHE_DIR", "")
    assert run(JOB) == run(JOB)
    assert len(compiled) == 2
    assert not place.exists()


def test_the_last_ones_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "LARGEST", 100)
    monkeypatch.setattr(results, "MOST", 4)

    store = Store(tmp_path / "caches" / "tool", "repository")
    for number in range(6):
        save_result(store, str(number), ("", "", "x" * 20))
    assert [load_result(store, str(number)) is not None for number in range(6)] == [
        False,
        False,
        True,
        True,
        True,
        True,
    ]
    save_result(store, "2", ("", "", "y" * 50))
    assert [load_result(store, str(number)) for number in range(6)] == [
        None, None, ("", "", "y" * 50), None, ("", "", "x" * 20), ("", "", "x" * 20),
    ]  # fmt: skip
    save_result(store, "9", ("z" * 101,))
    assert load_result(store, "9") is None, "larger than all together may be"
    assert load_result(store, "2") is not None


names = st.sampled_from(("a", "b", "<stdin>"))
inputs = st.lists(st.lists(st.builds(Source, names, st.binary(max_size=2)), max_size=2), max_size=3)
facts = st.recursive(st.sampled_from(("a", "", True, False, None)), lambda x: st.lists(x, max_size=2).map(tuple))


@given(inputs, facts, inputs, facts)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_one_key_for_one_question(
    read: list[list[Source]], fact: results.Facts, others: list[list[Source]], other: results.Facts
) -> None:
    def key(read: list[list[Source]], fact: results.Facts) -> str | None:
        return key_of([Inputs(tuple(sources)) for sources in read], fact)

    assert key(read, fact) is not None
    assert (key(read, fact) == key(others, other)) == ((read, repr(fact)) == (others, repr(other)))
    assert key(read, fact) != key([*read, []], fact)
