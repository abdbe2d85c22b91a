"""Each fix: what it changes and what it leaves alone, that faithful output has none, and where two of them meet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from effort import some
from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import Json, JsonObject, get
from trainc.documents.emit import emit
from trainc.findings import Severity
from trainc.upstream import FIXES

ROOT = Path(__file__).parents[2]
EXAMPLES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.yaml"))}
EVERY = tuple(FIXES)
CODES = {fix.code for fix in FIXES.values()}
REFUSING = {"jax-reserved-env"}
"""Fixes that refuse what was taken before."""


def built(text: str, *fixes: str, faithful: bool = False, config: JsonObject | None = None) -> Build:
    return compile([Source("case.yaml", text)], Options(fixes=fixes, faithful=faithful, config=config or {}))


def manifests(build: Build) -> str:
    return "---\n".join(emit(made.data) for made in build.objects)


def mentioned(build: Build) -> set[str]:
    """Return the fixes that findings name."""
    return {name for name in FIXES for finding in build.findings if repr(name) in (finding.hint or "")}


def findings(build: Build) -> list[tuple[object, ...]]:
    return [(f.code, f.severity, f.message, f.path, f.hint, f.stage) for f in build.findings]


def errors(build: Build) -> list[str]:
    return [f"{f.code}: {f.message}" for f in build.findings if f.severity is Severity.ERROR]


def jobset(build: Build) -> JsonObject:
    (found,) = [made.data for made in build.objects if made.kind == "JobSet"]
    return found


def replicated(build: Build, name: str) -> JsonObject:
    (found,) = [job for job in get(jobset(build), "spec", "replicatedJobs") if job["name"] == name]  # type: ignore[union-attr,index,call-overload]
    assert isinstance(found, dict)
    return found


def container(build: Build, job: str, name: str = "node") -> JsonObject:
    pod = get(replicated(build, job), "template", "spec", "template", "spec")
    (found,) = [c for c in get(pod, "containers") if c["name"] == name]  # type: ignore[union-attr,index,call-overload]
    assert isinstance(found, dict)
    return found


def env(build: Build, job: str) -> dict[str, Json]:
    return {v["name"]: v.get("value") for v in container(build, job).get("env", [])}  # type: ignore[union-attr,index,call-overload]


def count(build: Build, job: str) -> Json:
    spec = get(replicated(build, job), "template", "spec")
    assert get(spec, "parallelism") == get(spec, "completions")
    return get(spec, "parallelism")


def key_items(build: Build, job: str) -> dict[str, int]:
    volumes = get(replicated(build, job), "template", "spec", "template", "spec", "volumes")
    (volume,) = [v for v in volumes if v["name"] == "mpi-ssh-auth"]  # type: ignore[union-attr,index,call-overload]
    return {item["path"]: item["mode"] for item in volume["secret"]["items"]}  # type: ignore[union-attr,index,call-overload]


def hostfile(build: Build) -> list[str]:
    (text,) = [get(m.data, "data", "hostfile") for m in build.objects if m.name.endswith("-mpi-hostfile")]
    assert isinstance(text, str)
    return text.splitlines()


def test_every_fix_has_an_example() -> None:
    assert set(EXAMPLES) == set(FIXES)


@pytest.mark.parametrize("fix", FIXES)
def test_off_and_on(fix: str) -> None:
    off, on = built(EXAMPLES[fix]), built(EXAMPLES[fix], fix)
    assert fix in mentioned(off)
    assert fix not in mentioned(on)
    assert bool(errors(on)) is (fix in REFUSING), errors(on)
    assert manifests(off) != manifests(on)


@pytest.mark.parametrize("fix", FIXES)
def test_others_change_nothing_in_the_example(fix: str) -> None:
    off = built(EXAMPLES[fix])
    others = tuple(name for name in FIXES if name not in mentioned(off))
    assert fix not in others
    on = built(EXAMPLES[fix], *others)
    assert manifests(on) == manifests(off)
    assert findings(on) == findings(off)


@pytest.mark.parametrize("fix", sorted(set(FIXES) - REFUSING))
def test_with_all_no_bug_is_left(fix: str) -> None:
    on = built(EXAMPLES[fix], *EVERY)
    assert errors(on) == []
    assert mentioned(on) == set()
    assert {f.code for f in on.findings} & CODES == set()


@pytest.mark.parametrize("fix", FIXES)
def test_faithful_has_none(fix: str) -> None:
    plain = built(EXAMPLES[fix], faithful=True)
    told = built(EXAMPLES[fix], faithful=True, config={"fixes": [*EVERY], "environments": {"prod": {}}})
    assert manifests(told) == manifests(plain)
    assert findings(told) == findings(plain)
    assert fix in mentioned(told)


@pytest.mark.parametrize(
    "config",
    [
        {"fixes": ["master-address"]},
        {"defaults": {"fixes": ["master-address"]}},
        {"fixes": [], "environments": {"prod": {"fixes": ["master-address"]}}},
        {"fixes": "recommended"},
        {"fixes": ["recommended", "env-to-workers"]},
    ],
)
def test_from_the_configuration(config: JsonObject) -> None:
    made = built(EXAMPLES["master-address"], config={"environments": {"prod": {}}, **config})
    assert env(made, "worker")["PET_MASTER_ADDR"] == "j-worker-0-0.ring"


def test_recommended_is_what_the_table_says() -> None:
    chosen = Options(config={"fixes": "recommended"}).chosen
    assert chosen == tuple(name for name, fix in FIXES.items() if fix.recommended)
    assert set(FIXES) - set(chosen) == {"env-to-workers"}


def sources() -> Iterator[Source]:
    for path in (*sorted((ROOT / "jobs").rglob("*.yaml")), *sorted((ROOT / "runtimes").glob("*.yaml"))):
        yield Source(path.relative_to(ROOT).as_posix(), path.read_bytes())


@pytest.mark.parametrize("fixes", [*((fix,) for fix in some(FIXES, 4)), ("recommended",), EVERY], ids="+".join)
def test_the_jobs_of_this_repository(fixes: tuple[str, ...]) -> None:
    made = compile(list(sources()), Options(fixes=fixes))
    assert errors(made) == []
    assert len(made.jobs) == len(list((ROOT / "jobs").rglob("*.yaml")))
    assert all(any(one.kind == "JobSet" for one in job.objects) for job in made.jobs)
    assert mentioned(made) & set(fixes) == set()


def test_openmpi5_meets_known_hosts_and_env() -> None:
    made = built(EXAMPLES["env-to-workers"], "openmpi5-variables", "ssh-known-hosts", "env-to-workers")
    found = env(made, "launcher")
    strict = "-o StrictHostKeyChecking=yes -o UserKnownHostsFile=/root/.ssh/known_hosts"
    assert found["OMPI_MCA_plm_rsh_args"] == found["PRTE_MCA_plm_ssh_args"] == f"-o ConnectionAttempts=10 {strict}"
    assert found["OMPI_MCA_mca_base_env_list"] == "EPOCHS=$(EPOCHS);TOKEN=$(TOKEN)"
    names = list(found)
    assert names.index("EPOCHS") < names.index("TOKEN") < names.index("OMPI_MCA_mca_base_env_list")


def test_openmpi5_leaves_what_the_runtime_sets() -> None:
    before, node, after = EXAMPLES["openmpi5-variables"].rpartition("        - name: node\n")
    own = "{name: PRTE_MCA_plm_ssh_args, value: -p 2222}"
    found = env(built(f"{before}{node}                  env: [{own}]\n{after}", "openmpi5-variables"), "launcher")
    assert found["PRTE_MCA_plm_ssh_args"] == "-p 2222"
    assert found["PRTE_MCA_prte_default_hostfile"] == "/etc/mpi/hostfile"


def test_key_mode_meets_known_hosts() -> None:
    made = built(EXAMPLES["ssh-key-mode"], "ssh-key-mode", "ssh-known-hosts")
    assert key_items(made, "launcher")["id_rsa"] == 0o600
    assert key_items(made, "launcher")["known_hosts"] == 0o644
    assert key_items(made, "node")["id_rsa"] == 0o640, "the node's pods have an fsGroup"


@pytest.mark.parametrize(
    ("pod", "own", "mode"),
    [
        ("{runAsNonRoot: true}", "{}", 0o640),
        ("{}", "{runAsNonRoot: true}", 0o640),
        ("{runAsUser: 1000}", "{runAsNonRoot: false}", 0o640),
        ("{runAsNonRoot: true}", "{runAsNonRoot: false}", 0o600),
        ("{runAsUser: 1000}", "{runAsUser: 0}", 0o600),
    ],
)
def test_key_mode_of_other_users(pod: str, own: str, mode: int) -> None:
    before, launcher, after = EXAMPLES["ssh-key-mode"].partition("      - name: launcher\n")
    after = after.replace("containers:", f"securityContext: {pod}\n                containers:", 1)
    after = after.replace("image:", f"securityContext: {own}\n                  image:", 1)
    made = built(before + launcher + after, "ssh-key-mode")
    assert key_items(made, "launcher")["id_rsa"] == mode
    warned = any(code == "TC457" for code, *_ in findings(built(before + launcher + after)))
    assert warned == (mode == 0o600)


@pytest.mark.parametrize(
    ("fixes", "nodes", "launchers"),
    [
        ((), 1, 1),
        (("launcher-counts-as-node",), 0, 1),
        (("launcher-counts-as-node", "mpi-num-nodes"), 0, 1),
    ],
)
def test_one_node(fixes: tuple[str, ...], nodes: int, launchers: int) -> None:
    made = built(EXAMPLES["launcher-counts-as-node"], *fixes)
    assert (count(made, "node"), count(made, "launcher")) == (nodes, launchers)
    assert hostfile(made) == [f"j-node-0-{i}.j slots=1" for i in range(nodes)] + ["j-launcher-0-0.j slots=1"]


@pytest.mark.parametrize(("sets", "warned"), [("image: example.com/own:1", True), ("numProcPerNode: 2", False)])
def test_one_node_that_the_trainjob_does_not_configure(sets: str, warned: bool) -> None:
    """The trainer's label is on job node, which has no pods, so nothing runs the image of the TrainJob."""
    text = EXAMPLES["launcher-counts-as-node"].replace("numNodes: 1\n", f"numNodes: 1\n    {sets}\n")
    label = (
        "          metadata:\n            labels:\n              trainer.kubeflow.org/trainjob-ancestor-step: trainer\n"
    )
    assert (text.count(label), text.count(sets)) == (1, 1)
    fixes = ("launcher-counts-as-node",)
    assert "TC452" not in {code for code, *_ in findings(built(text, *fixes))}
    on_node = text.replace(label, "").replace("        template:\n", f"        template:\n{label}", 1)
    assert ("TC452" in {code for code, *_ in findings(built(on_node, *fixes))}) is warned


@pytest.mark.parametrize(
    ("given", "parallelism", "fixes", "nodes"),
    [
        (4, "", ("mpi-num-nodes",), 3),
        (4, "", ("mpi-num-nodes", "launcher-counts-as-node"), 3),
        (1, "", ("mpi-num-nodes",), 1),
        (1, "", ("mpi-num-nodes", "launcher-counts-as-node"), 0),
        (1, "", ("launcher-counts-as-node",), 1),
        (1, "parallelism: 5", ("mpi-num-nodes", "launcher-counts-as-node"), 5),
        (4, "parallelism: 5", ("mpi-num-nodes",), 3),
    ],
)
def test_nodes_of_the_runtime(given: int, parallelism: str, fixes: tuple[str, ...], nodes: int) -> None:
    text = EXAMPLES["mpi-num-nodes"].replace("numNodes: 4", f"numNodes: {given}")
    text = text.replace("          spec:\n", f"          spec:\n            {parallelism}\n", 1)
    made = built(text, *fixes)
    assert (count(made, "node"), count(made, "launcher")) == (nodes, 1)


def test_omitted_meets_master_and_ports() -> None:
    text = EXAMPLES["master-address"].replace("  trainer: {}\n", "")
    text = text.replace("train:1\n", "train:1\n                  ports: [{containerPort: 80}]\n")
    made = built(text, "trainer-omitted", "master-address", "unnamed-ports")
    assert env(made, "worker")["PET_MASTER_ADDR"] == "j-worker-0-0.ring"
    assert [p["containerPort"] for p in container(made, "worker")["ports"]] == [80, 29500]  # type: ignore[union-attr,index,call-overload]
    assert mentioned(made) == set()


@pytest.mark.parametrize(("policy", "variable"), [("jax", "JAX_NUM_PROCESSES"), ("xgboost", "DMLC_NUM_WORKER")])
def test_an_omitted_trainer_of_other_policies(policy: str, variable: str) -> None:
    made = built(EXAMPLES["trainer-omitted"].replace("torch: {}", f"{policy}: {{}}"), "trainer-omitted")
    assert env(made, "node")[variable] == "1"


def test_torchtune_meets_master_address() -> None:
    text = EXAMPLES["torchtune-dataset-args"].replace("    spec:\n", "    spec:\n      network: {subdomain: ring}\n", 1)
    text = text.replace("  trainer:\n", "  trainer:\n    resourcesPerNode: {limits: {nvidia.com/gpu: 2}}\n")
    command = container(built(text, "torchtune-dataset-args", "master-address"), "node")["command"]
    assert isinstance(command, list)
    assert "--rdzv_endpoint=j-node-0-0.ring:29500" in command
    assert command[-1] == "dataset.data_dir=/workspace/dataset"


def test_volumes_have_the_last_source() -> None:
    other = "                - name: x\n                  emptyDir: {}\n"
    text = EXAMPLES["volume-source-replaced"].replace(
        "                containers:\n", f"{other}                containers:\n", 1
    )
    made = built(text, "volume-source-replaced")
    volumes = get(replicated(made, "node"), "template", "spec", "template", "spec", "volumes")
    claim = {"name": "w", "persistentVolumeClaim": {"claimName": "c"}}
    assert volumes == [claim, {"name": "x", "emptyDir": {}}]


def test_flux_leaves_no_args() -> None:
    text = EXAMPLES["flux-runtime-args"]
    for given, words in (("", "lmp -in melt.in"), ("    args: [-h]\n", "lmp -h"), ("    args: []\n", "lmp")):
        found = container(built(text + given, "flux-runtime-args"), "node")
        assert found["command"] == ["/bin/bash", "/etc/flux-config/entrypoint.sh", words]
        assert "args" not in found


def test_a_fix_is_the_origin_of_what_it_brings() -> None:
    made = built(EXAMPLES["openmpi5-variables"], "openmpi5-variables", "ssh-key-mode")
    (found,) = [one for one in made.objects if one.kind == "JobSet"]
    by_fix = {
        path for path, origin in found.origins().items() if (origin.kind, origin.name) == ("fix", "openmpi5-variables")
    }
    values = {get(found.data, *path) for path in by_fix if path[-1] == "name"}
    assert len(values) == 5
    assert all(str(value).startswith("PRTE_MCA_") for value in values)


def test_reserved_with_openmpi5() -> None:
    given = "  trainer:\n    env:\n    - {name: PRTE_MCA_plm_ssh_args, value: x}\n"
    text = EXAMPLES["openmpi5-variables"].replace("  trainer: {}\n", given)
    assert errors(built(text)) == []
    assert errors(built(text, "openmpi5-variables")) == ["TC401: must not have envs that fix 'openmpi5-variables' sets"]
