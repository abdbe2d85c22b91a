"""What fixes read from a job: sshd's command line, what mpirun forwards, which pods start together; and the page."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import Json, as_list, get
from trainc.upstream import ANCESTOR_LABEL, FIXES, TRAINER

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "tests" / "fixes"
STRICT = "StrictHostKeyChecking=yes"


def example(name: str) -> str:
    return (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")


def built(text: str, *fixes: str) -> Build:
    made = compile([Source("case.yaml", text)], Options(fixes=fixes))
    assert not [f for f in made.findings if f.code == "TC902"]
    return made


def launcher(build: Build) -> dict[str, str]:
    (found,) = [made.data for made in build.objects if made.kind == "JobSet"]
    jobs = {job["name"]: job for job in get(found, "spec", "replicatedJobs")}  # type: ignore[union-attr,index,call-overload]
    (container,) = get(jobs["launcher"], "template", "spec", "template", "spec", "containers")  # type: ignore[misc]
    return {v["name"]: v.get("value", "") for v in container["env"]}  # type: ignore[union-attr,index,call-overload]


def with_command(command: str) -> str:
    before, _, after = example("ssh-known-hosts").partition("                  command:\n")
    return f"{before}                  {command}\n{after[after.index('      - name: launcher') :]}"


SERVES = [
    "command: [/usr/sbin/sshd, -De, -h, /root/.ssh/id_rsa]",
    "command: [/usr/sbin/sshd]\n                  args: [-De, -p, '2222', -h/root/.ssh/id_rsa]",
    "command: [sshd, -D, -o, StrictModes=no, -o, HostKey=/root/.ssh/id_rsa]",
    "command: [sshd, -D, -o, 'hostkey /home/mpiuser/.ssh/id_rsa']",
    "command: [sshd, -D, -o, HostKey=id_rsa]",
    "command: [sh, -c, 'sshd -Z; exec sshd -D -h /root/.ssh/id_rsa']",
    "command: [sh, -c, 'exec sshd -D -o ListenAddress=0.0.0.0:2222 -h /root/.ssh/id_rsa']",
    "command: [sh, -c, 'mkdir -p /run/sshd && exec /usr/sbin/sshd -De -h /root/.ssh/id_rsa']",
    "command: [sh, -c, \"mkdir /run/sshd\\n/usr/sbin/sshd -De \\\\\\n -h '/root/.ssh/id_rsa'; wait\"]",
    "command: [/usr/sbin/sshd, -De, -h, /root/.ssh/id_rsa, -h, /etc/ssh/ssh_host_ed25519_key]",
]
SERVES_NOT = [
    "command: [/usr/sbin/sshd, -De]",
    "command: [/usr/sbin/sshd, -De, -f, /home/mpiuser/.sshd_config]",
    "command: [/usr/sbin/sshd, -De, -h, /etc/ssh/ssh_host_ed25519_key]",
    "command: [sshd, -D, -o, IdentityFile=/root/.ssh/id_rsa]",
    "command: [sh, -c, 'cp /root/.ssh/id_rsa /tmp; sshd -De']",
    "command: [sh, -c, 'sshd -De; echo -h /root/.ssh/id_rsa']",
    "command: [sshd, -Z, -h, /root/.ssh/id_rsa]",
    "command: [sshd, '-', -h, /root/.ssh/id_rsa]",
    'command: [sh, -c, "sshd -De -h \'/root/.ssh/id_rsa"]',
    "command: [sleep, -h, /root/.ssh/id_rsa]",
    "command: [/usr/sbin/sshd, -De, -h, /etc/ssh/ssh_host_ed25519_key, -h, /root/.ssh/id_rsa]",
    "command: [sshd, -D, -o, HostKey=/etc/ssh/key, -o, HostKey=/root/.ssh/id_rsa]",
    "command: [sh, -c, 'sshd -p 2222 -h /etc/ssh/key; exec sshd -D -h /root/.ssh/id_rsa']",
    'command: [sh, -c, "sshd -De # see\\n -h /root/.ssh/id_rsa"]',
]


@pytest.mark.parametrize("command", SERVES)
def test_sshd_serves_the_key(command: str) -> None:
    made = built(with_command(command), "ssh-known-hosts")
    assert STRICT in launcher(made)["OMPI_MCA_plm_rsh_args"]
    assert "TC458" not in {f.code for f in made.findings}


@pytest.mark.parametrize("command", SERVES_NOT)
def test_sshd_may_serve_another_key(command: str) -> None:
    made = built(with_command(command), "ssh-known-hosts")
    assert launcher(made)["OMPI_MCA_plm_rsh_args"] == "-o ConnectionAttempts=10"
    (warning,) = [f.message for f in made.findings if f.code == "TC458"]
    assert "-h .../id_rsa" in warning


@pytest.mark.parametrize("sign", [" ", '"', "'", "%h", "$(HOME)", "${HOME}", "\\"])
def test_ssh_or_the_kubelet_replaces_a_sign_of_the_path(sign: str) -> None:
    mount = json.dumps(f"/keys/{sign}")
    text = example("ssh-known-hosts").replace("mpi:\n", f"mpi:\n      sshAuthMountPath: {mount}\n")
    made = built(text, "ssh-known-hosts")
    assert launcher(made)["OMPI_MCA_plm_rsh_args"] == "-o ConnectionAttempts=10"
    assert "sshAuthMountPath" in next(f.message for f in made.findings if f.code == "TC458")


@pytest.mark.parametrize(
    ("trainer", "checks"),
    [("{}", True), ("{args: [-De]}", False), ("{args: [-D, -h, /root/.ssh/id_rsa]}", True), ("{command: []}", False)],
)
def test_sshd_with_the_arguments_of_a_train_job(trainer: str, checks: bool) -> None:
    text = with_command("command: [/usr/sbin/sshd]\n                  args: [-De, -h, /root/.ssh/id_rsa]")
    node = "      - name: node\n        template:\n"
    text = text.replace(node, f"{node}          metadata: {{labels: {{{ANCESTOR_LABEL}: {TRAINER}}}}}\n")
    made = built(text.replace("  trainer: {}\n", f"  trainer: {trainer}\n"), "ssh-known-hosts")
    assert (STRICT in launcher(made)["OMPI_MCA_plm_rsh_args"]) is checks


@pytest.mark.parametrize(
    ("implementation", "variable"),
    [("Intel", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS"), ("MPICH", "HYDRA_LAUNCHER_EXTRA_ARGS")],
)
def test_hydra(implementation: str, variable: str) -> None:
    text = example("ssh-known-hosts").replace("mpi:\n", f"mpi:\n      mpiImplementation: {implementation}\n")
    text = text.replace("  trainer: {}\n", "  trainer: {env: [{name: A, value: a}]}\n")
    found = launcher(built(text, *FIXES))
    mount = "/root/.ssh/known_hosts"
    assert found[variable] == f"-o ConnectionAttempts=10 -o {STRICT} -o UserKnownHostsFile={mount}"
    assert not any("MCA" in name for name in found)
    assert "TC456" not in {f.code for f in built(text).findings}, "Hydra's mpiexec forwards every variable"


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=40))
def test_any_script_is_read(script: str) -> None:
    quoted = script.replace("'", "''")
    built(with_command(f"command: [sh, -c, 'exec sshd -D {quoted}']"), "ssh-known-hosts")


def test_a_secret_without_known_hosts() -> None:
    secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: j-mpi-ssh-auth, namespace: default}\n%s\n"
    for data, warned in (
        ("stringData: {a: b}", True),
        ("stringData: {known_hosts: x}", False),
        ("data: {known_hosts: eA==}", False),
        ("data: {a: eA==}", True),
    ):
        made = built(example("ssh-known-hosts") + secret % data, "ssh-known-hosts")
        paths = [f.path for f in made.findings if "has no key known_hosts" in f.message]
        assert paths == [("metadata", "name")] * warned


@pytest.mark.parametrize(("size", "codes"), [(40_000, set()), (60_000, {"TC811"})])
def test_the_list_with_its_values_is_a_variable_that_linux_accepts(size: int, codes: set[str]) -> None:
    values = ", ".join(f"{{name: V{number}, value: {'x' * size}}}" for number in range(3))
    made = built(trainer(values), "env-to-workers")
    assert {f.code for f in made.findings} & {"TC805", "TC811"} == codes


def trainer(env: str, command: str = "[mpirun, python3, train.py]") -> str:
    text = example("env-to-workers")
    return text[: text.index("  trainer:\n")] + f"  trainer: {{command: {command}, env: [{env}]}}\n"


@pytest.mark.parametrize(
    ("variable", "entry", "left"),
    [
        ("{name: A, value: '1'}", "A=$(A)", False),
        ("{name: A, value: k=v}", "A=$(A)", False),
        ("{name: A, value: a;b}", "A", False),
        ("{name: A, value: 'k=v;l=w'}", None, True),
        ("{name: A}", "A=$(A)", False),
        ("{name: A B, value: '1'}", None, True),
        ("{name: A B, value: '1'}, {name: C, value: '1'}", "C=$(C)", True),
        ("{name: A.b-c, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}", "A.b-c=$(A.b-c)", False),
        ("{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: B, value: $(A):1}", None, True),
        ("{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}", None, True),
        ("{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}", "A=$(A)", False),
        ("{name: A, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}", None, True),
        ("{name: OMPI_MCA_mca_base_env_list, value: A;B}", "A;B", False),
        ("{name: B, value: a;b}, {name: A, value: 'x$(B)'}", "B;A", False),
        ("{name: B, value: k=v}, {name: A, value: 'x;$(B)'}", "B=$(B)", True),
        ("{name: C, value: a;b}, {name: B, value: $(C)}, {name: A, value: =$(B)}", "C;B", True),
        ("{name: A, value: '$(B)'}, {name: B, value: a;b}", "A=$(A);B", False),
        ("{name: B, value: a;b}, {name: A, value: '$$(B)'}", "B;A=$(A)", False),
    ],
)
def test_what_is_forwarded(variable: str, entry: str | None, left: bool) -> None:
    made = built(trainer(variable), "env-to-workers")
    assert launcher(made).get("OMPI_MCA_mca_base_env_list") == entry
    hints = [f.hint for f in made.findings if f.code == "TC456"]
    assert hints == ["name them on mpirun's command line: -x NAME"] * left


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("[mpirun, -x, A, -x, B=2, python3]", []),
        ("[mpirun, -x, A, python3]", ["B"]),
        ("[sh, -c, 'mpirun -x A -n 2 python3 t.py']", ["B"]),
        ("[sh, -c, 'exec mpirun --mca mca_base_env_list \"A;B\" python3']", []),
    ],
)
@pytest.mark.parametrize("fixes", [(), ("env-to-workers",)])
def test_a_command_line_that_forwards(command: str, left: list[str], fixes: tuple[str, ...]) -> None:
    made = built(trainer("{name: A, value: '1'}, {name: B, value: '2'}", command), *fixes)
    assert "OMPI_MCA_mca_base_env_list" not in launcher(made), "Open MPI 4 refuses it together with -x"
    warnings = [f.message for f in made.findings if f.code == "TC456"]
    assert len(warnings) == bool(left)
    assert all(f"of these variables {' and '.join(left)} reach" in warning for warning in warnings)


def test_nothing_is_forwarded_by_a_launcher_that_does_not_train() -> None:
    label = (
        "          metadata:\n            labels:\n              trainer.kubeflow.org/trainjob-ancestor-step: trainer\n"
    )
    text = trainer("{name: A, value: '1'}")
    assert label in text
    made = built(text.replace(label, ""), "env-to-workers")
    assert "OMPI_MCA_mca_base_env_list" not in launcher(made)


def test_a_list_of_the_runtime_stays() -> None:
    text = trainer("{name: A, value: '1'}, {name: B, value: '2'}")
    own = "                  env: [{name: OMPI_MCA_mca_base_env_list, value: 'B;C=3'}]\n"
    head, _, tail = text.rpartition("train:1\n")
    made = built(f"{head}train:1\n{own}{tail}", "env-to-workers")
    assert launcher(made)["OMPI_MCA_mca_base_env_list"] == "B;C=3"
    assert [f.message.split(" reach")[0] for f in made.findings if f.code == "TC456"] == ["of these variables A"]


def test_a_value_refers_to_a_variable_of_the_runtime() -> None:
    head, _, tail = trainer("{name: A, value: '$(B)'}").rpartition("train:1\n")
    made = built(f"{head}train:1\n                  env: [{{name: B, value: a;b}}]\n{tail}", "env-to-workers")
    assert launcher(made)["OMPI_MCA_mca_base_env_list"] == "A"


def gang(jobs: str, policy: str = "coscheduling: {}", spec: str = "") -> tuple[Json, set[str], set[str]]:
    """Return minMember, the jobs whose pods are in the group, and the codes without the fix."""
    text = (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\n"
        "metadata: {name: rt, labels: {trainer.kubeflow.org/webhook-validation: disabled}}\n"
        f"spec:\n  mlPolicy: {{numNodes: 3}}\n  podGroupPolicy: {{{policy}}}\n  template:\n    spec:\n{spec}"
        f"      replicatedJobs:\n{jobs}---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
        "metadata: {name: j}\nspec: {runtimeRef: {name: rt}, trainer: {}}\n"
    )
    made = built(text, "gang-min-member")
    assert "TC459" not in {f.code for f in made.findings}
    return *members_of(made), {f.code for f in built(text).findings}


def members_of(made: Build) -> tuple[Json, set[str]]:
    """Return minMember, and the jobs whose pods are in the group."""
    (group,) = [one.data for one in made.objects if one.kind == "PodGroup"]
    (jobset,) = [one.data for one in made.objects if one.kind == "JobSet"]
    inside = {
        job["name"]  # type: ignore[index,call-overload]
        for job in get(jobset, "spec", "replicatedJobs")  # type: ignore[union-attr]
        if get(job, "template", "spec", "template", "metadata")
    }
    return get(group, "spec", "minMember"), inside


def one(name: str, waits: str = "", label: str = "", count: int = 1, replicas: int = 1) -> str:
    labels = f"{{trainer.kubeflow.org/trainjob-ancestor-step: {label}}}" if label else "{}"
    return (
        f"      - name: {name}\n        replicas: {replicas}\n"
        + (f"        dependsOn: [{waits}]\n" if waits else "")
        + f"        template:\n          metadata: {{labels: {labels}}}\n          spec:\n"
        f"            parallelism: {count}\n"
        f'            template: {{spec: {{containers: [{{name: node, image: "i:1"}}]}}}}\n'
    )


READY, COMPLETE = "{name: %s, status: Ready}", "{name: %s, status: Complete}"
GANGS = [
    (one("node", label="trainer"), 3, {"node"}, False),
    (one("node", label="trainer", replicas=2), 3, {"node"}, False),
    (one("data") + one("node", COMPLETE % "data", "trainer"), 3, {"node"}, True),
    (one("a") + one("b", COMPLETE % "a") + one("node", COMPLETE % "b", "trainer"), 3, {"node"}, True),
    (one("workers", count=4) + one("launcher", READY % "workers", "trainer"), 4, {"workers", "launcher"}, True),
    (
        one("data") + one("node", COMPLETE % "data", count=2) + one("launcher", READY % "node", "trainer"),
        2,
        {"node", "launcher"},
        True,
    ),
    (one("server", count=2, replicas=2) + one("node", label="trainer"), 7, {"server", "node"}, True),
    (one("monitor") + one("data") + one("node", COMPLETE % "data", "trainer"), 3, {"node"}, True),
    (one("node", label="trainer") + one("report", COMPLETE % "node"), 3, {"node"}, True),
    (
        one("node") + one("launcher", READY % "node", "trainer") + one("report", COMPLETE % "launcher"),
        1,
        {"node", "launcher"},
        True,
    ),
    (
        one("node") + one("prepare", count=2) + one("launcher", READY % "node", "trainer"),
        3,
        {"node", "prepare"},  # its pods may have ended before the launcher starts
        True,
    ),
    (
        one("node") + one("sshd") + one("launcher", f"{READY % 'node'}, {READY % 'sshd'}", "trainer"),
        2,
        {"node", "sshd", "launcher"},
        True,
    ),
    (
        one("data")
        + one("prepare")
        + one("node", COMPLETE % "data", "trainer")
        + one("evaluate", f"{READY % 'node'}, {COMPLETE % 'prepare'}"),
        3,
        {"node"},
        True,
    ),
    (
        one("z", count=4)
        + one("a", COMPLETE % "z", count=2)
        + one("launcher", f"{READY % 'z'}, {READY % 'a'}", "trainer"),
        4,
        {"z"},
        True,
    ),
]


@pytest.mark.parametrize("policy", ["coscheduling: {}", "volcano: {}"])
@pytest.mark.parametrize(("jobs", "members", "inside", "warned"), GANGS)
def test_which_pods_are_a_gang(jobs: str, members: int, inside: set[str], warned: bool, policy: str) -> None:
    found, labelled, codes = gang(jobs, policy)
    assert (found, labelled) == (members, inside)
    assert ("TC459" in codes) is warned


def test_a_gang_that_starts_in_order() -> None:
    order = "      startupPolicy: {startupPolicyOrder: InOrder}\n"
    found, labelled, codes = gang(one("server", count=2) + one("node", label="trainer"), spec=order)
    assert (found, labelled) == (2, {"server", "node"})
    assert "TC459" in codes


def test_nodes_without_pods_are_no_gang_of_their_own() -> None:
    text = (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: rt}\nspec:\n"
        "  mlPolicy: {mpi: {mpiImplementation: OpenMPI, runLauncherAsNode: true}}\n"
        "  podGroupPolicy: {coscheduling: {}}\n  template:\n    spec:\n      replicatedJobs:\n"
        + one("node")
        + one("launcher", READY % "node", "trainer")
        + "---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
        "metadata: {name: j}\nspec: {runtimeRef: {name: rt}, trainer: {numNodes: 1}}\n"
    )
    made = built(text, "gang-min-member", "launcher-counts-as-node")
    (group,) = [one.data for one in made.objects if one.kind == "PodGroup"]
    assert get(group, "spec", "minMember") == 1


@pytest.mark.parametrize("policy", ["coscheduling", "volcano"])
def test_the_pods_that_a_gang_counts_are_in_its_group(policy: str) -> None:
    """Job node has no pods, which the fix launcher-counts-as-node decides after coscheduling has its turn."""
    data, model, node = COMPLETE % "data", COMPLETE % "model", READY % "node"
    text = (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: rt}\nspec:\n"
        "  mlPolicy: {mpi: {mpiImplementation: OpenMPI, runLauncherAsNode: true}}\n"
        f"  podGroupPolicy: {{{policy}: {{}}}}\n  template:\n    spec:\n      replicatedJobs:\n"
        f"{one('data')}{one('model')}{one('node', data)}{one('evaluator', f'{data}, {model}')}"
        f"{one('launcher', f'{node}, {model}', 'trainer')}"
        "---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
        "metadata: {name: j}\nspec: {runtimeRef: {name: rt}, trainer: {numNodes: 1}}\n"
    )
    assert members_of(built(text, "gang-min-member", "launcher-counts-as-node")) == (2, {"evaluator", "launcher"})


def test_initializers_outside_a_gang_may_have_another_scheduler() -> None:
    """A warning about their scheduler would be wrong: they are in no group."""
    node = one("node", COMPLETE % "data", "trainer")
    node = node.replace("{containers:", "{schedulerName: volcano, containers:")
    text = (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {name: rt}\nspec:\n"
        f"  podGroupPolicy: {{volcano: {{}}}}\n  template:\n    spec:\n      replicatedJobs:\n{one('data')}{node}"
        "---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
        "metadata: {name: j}\nspec: {runtimeRef: {name: rt}, trainer: {}}\n"
    )
    assert [f.message for f in built(text).findings if f.code == "TC831"]
    assert not [f.message for f in built(text, "gang-min-member").findings if f.code == "TC831"]


@pytest.mark.parametrize("waits", ["", COMPLETE % "data"])
def test_a_launcher_that_is_the_only_node_is_the_gang(waits: str) -> None:
    """Job node has no pods, and who waits for it waits for what it waits for."""
    text = example("launcher-counts-as-node").replace(
        "  template:\n    spec:\n", "  podGroupPolicy: {coscheduling: {}}\n  template:\n    spec:\n", 1
    )
    for name, wait in (("node", waits), ("launcher", READY % "node")):
        head = f"      - name: {name}\n        "
        text = text.replace(f"{head}template", f"{head}dependsOn: [{wait}]\n        template")
    made = built(text.replace("      - name: node\n", f"{one('data')}      - name: node\n", 1), "recommended")
    (group,) = [one.data for one in made.objects if one.kind == "PodGroup"]
    assert get(group, "spec", "minMember") == (1 if waits else 2)  # 0 is refused


NO_JOBS = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: r}
spec: {podGroupPolicy: {POLICY: {}}, template: {spec: {}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: j}
spec: {runtimeRef: {name: r}}
"""


@pytest.mark.parametrize("policy", ["coscheduling", "volcano"])
def test_without_jobs_nothing_is_a_gang(policy: str) -> None:
    codes = {f.code for f in built(NO_JOBS.replace("POLICY", policy), "gang-min-member").findings}
    assert "TC410" in codes
    assert "TC459" not in codes


def test_a_folder_replaces_the_files_of_the_runtimes_data_set() -> None:
    text = example("torchtune-dataset-args").replace("data_dir=/workspace/dataset/data", "data_files=/workspace/a.json")
    made = built(text, "torchtune-dataset-args")
    (jobset,) = [one.data for one in made.objects if one.kind == "JobSet"]
    assert "dataset.data_files" not in str(jobset)
    assert "dataset.data_dir=/workspace/dataset" in str(jobset)


@pytest.mark.parametrize(
    ("uri", "settings"),
    [
        ("s3://corpus/tickets", ["dataset.source=parquet", "dataset.data_dir=/workspace/dataset"]),
        ("s3://corpus/a/b.jsonl", ["dataset.source=json", "dataset.data_files=/workspace/dataset/b.jsonl"]),
        ("s3://corpus", ["dataset.source=parquet", "dataset.data_dir=/workspace/dataset"]),
        ("hf://org/repo", ["dataset.source=parquet", "dataset.data_dir=/workspace/dataset"]),
        ("hf://org/repo/en/v1.0", ["dataset.source=parquet", "dataset.data_dir=/workspace/dataset/en/v1.0"]),
        ("hf://org/repo/x/y.csv", ["dataset.source=csv", "dataset.data_files=/workspace/dataset/x/y.csv"]),
        ("hf://org/x/RX", ["dataset.source=parquet", "dataset.data_dir=/workspace/dataset/RX"]),
        ("hf://org/repo/en", ["dataset.source=parquet", "dataset.data_dir=/workspace/dataset/en"]),
        ("HF://org/repo/x/y.csv", ["dataset.source=csv", "dataset.data_files=/workspace/dataset/x/y.csv"]),
        ("s3://corpus/b.json?version=3", ["dataset.source=json", "dataset.data_files=/workspace/dataset/b.json"]),
        ("s3://corpus/b.json/", ["dataset.source=parquet", "dataset.data_dir=/workspace/dataset"]),
        ("s3://corpus.json", ["dataset.source=parquet", "dataset.data_dir=/workspace/dataset"]),
        ("cache://schema/table", []),
    ],
)
def test_where_the_data_set_is(uri: str, settings: list[str]) -> None:
    made = built(example("torchtune-dataset-args").replace("s3://corpus/tickets", uri), "torchtune-dataset-args")
    (jobset,) = [one.data for one in made.objects if one.kind == "JobSet"]
    pod = get(jobset, "spec", "replicatedJobs", 1, "template", "spec", "template", "spec")
    command = get(pod, "containers", 0, "command")
    assert isinstance(command, list)
    found = [word for word in command if str(word).startswith("dataset")]
    assert found == (["dataset=torchtune.datasets.instruct_dataset", *settings] if settings else [])
    assert ("TC464" in {f.code for f in made.findings}) is not bool(settings)


@pytest.mark.parametrize(
    ("uri", "settings"),
    [
        ("value: hf://org/repo/en", ["dataset.source=parquet", "dataset.data_dir=/workspace/dataset/en"]),
        ("value: hf://$(ORG)/repo/en", ["dataset.source=parquet", "dataset.data_dir=/workspace/dataset/en"]),
        ("value: hf://org/repo/$(LANGUAGE)", []),
        ("value: $(BUCKET)/en", []),
        ("value: cache://schema/table", []),
        ("valueFrom: {secretKeyRef: {name: data, key: uri}}", []),
    ],
)
@pytest.mark.parametrize("replaced", ["{", "{storageUri: s3://corpus/a.json, "])
def test_a_variable_replaces_the_uri_of_the_data_set(uri: str, settings: list[str], replaced: str) -> None:
    text = example("torchtune-dataset-args").partition("    dataset:")[0]
    text += f"    dataset: {replaced}env: [{{name: STORAGE_URI, {uri}}}]}}\n"
    text += "  trainer:\n    command: [tune, run]\n"
    made = built(text, "torchtune-dataset-args")
    (jobset,) = [one.data for one in made.objects if one.kind == "JobSet"]
    command = get(
        jobset, "spec", "replicatedJobs", 1, "template", "spec", "template", "spec", "containers", 0, "command"
    )
    found = [word for word in as_list(command) if str(word).startswith("dataset")]
    assert found == (["dataset=torchtune.datasets.instruct_dataset", *settings] if settings else [])
    assert ("TC464" in {f.code for f in made.findings}) is not bool(settings)


def test_without_a_data_set_the_runtimes_is_used() -> None:
    text = example("torchtune-dataset-args").partition("  initializer:\n    dataset:")[0]
    (jobset,) = [one.data for one in built(text, "torchtune-dataset-args").objects if one.kind == "JobSet"]
    pods = [get(jobset, "spec", "replicatedJobs", at, "template", "spec", "template", "spec") for at in (0, 1)]
    commands = [get(pod, "containers", 0, "command") for pod in pods]
    assert [word for command in commands for word in command or () if "dataset" in str(word)] == [  # type: ignore[union-attr]
        "dataset=torchtune.datasets.instruct_dataset",
        "dataset.source=parquet",
        "dataset.data_dir=/workspace/dataset/data",
    ]


def test_a_data_set_that_no_job_gets() -> None:
    """Without its label, the initializer gets nothing of the TrainJob."""
    label = f"            labels:\n              {ANCESTOR_LABEL}: dataset-initializer\n"
    names = ("torchtune-dataset-args", "cache-dataset-mount")
    made, refused = (built(example(name).replace(label, "            labels: {}\n"), name) for name in names)
    assert "STORAGE_URI" not in str([one.data for one in made.objects])
    assert "TC824" in {f.code for f in made.findings}
    assert ("TC306", "error") in {(f.code, f.severity) for f in refused.findings}


def test_the_page_is_current() -> None:
    spec = importlib.util.spec_from_file_location("fixes_page", ROOT / "compiler" / "tools" / "fixes.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (ROOT / "docs" / "fixes.md").read_text(encoding="utf-8")
    assert page == tool.markdown()
    assert page.count("```diff\n") == len(FIXES)
    assert "```diff\n```" not in page
    for name, fix in FIXES.items():
        assert f"| [`{name}`](#{name}) | {fix.code} | {'yes' if fix.recommended else 'no'} | " in page
        assert f"\n## {name}\n\nWarning {fix.code}; " in page
