"""The checks end to end: near misses are silent, faithful warns where default refuses, nothing is said twice."""

from __future__ import annotations

import json
from textwrap import dedent, indent

import pytest
from job_cases import single_specs

from builders import trainjob
from effort import some
from trainc import Build, Finding, Options, Source, compile
from trainc.findings.formats import FORMATS

CODES = ("TC309", *(f"TC41{i}" for i in range(4)), *(f"TC8{i:02}" for i in range(3, 13)))

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy: {torch: {}}
  template:
    spec:
%(set)s
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              metadata: {labels: {%(labels)s}}
              spec:
%(pod)s
                initContainers: [{name: fetch, image: "example.com/fetch:1"}]
                containers:
                - name: node
                  image: %(image)s
%(container)s
%(sidecar)s
"""


def runtime(pod: str = "", container: str = "", **more: str) -> str:
    values = {"set": "", "labels": "", "sidecar": "", "image": "example.com/img:1", **more}
    values["set"] = indent(dedent(values["set"]), " " * 6)
    values["sidecar"] = indent(values["sidecar"], " " * 16)
    return RUNTIME % {**values, "pod": indent(dedent(pod), " " * 16), "container": indent(dedent(container), " " * 18)}


def job(trainer: str = "{}", rest: str = "") -> str:
    return trainjob("j", trainer=trainer, more=indent(dedent(rest), "  "))


def patch(pod: str) -> str:
    spec = f"{{replicatedJobs: [{{name: node, template: {{spec: {{template: {{spec: {pod}}}}}}}}}]}}"
    return f"runtimePatches: [{{manager: a.io/b, trainingRuntimeSpec: {{template: {{spec: {spec}}}}}}}]\n"


def made(job_text: str, runtime_text: str, *, faithful: bool = False) -> Build:
    return compile([Source("job.yaml", job_text), Source("rt.yaml", runtime_text)], Options(faithful=faithful))


def ours(build: Build) -> list[Finding]:
    assert not [f for f in build.findings if f.code == "TC902"]
    return [f for f in build.findings if f.code in CODES]


NEAR_MISSES = {
    "as it is": (job(), runtime()),
    "one node, one process": (job("{numNodes: 1, numProcPerNode: 1}"), runtime()),
    "no node in the runtime, which Trainer takes for one": (job(), runtime().replace("{torch", "{numNodes: 0, torch")),
    "a new volume in a patch": (
        job(
            rest=patch(
                "{volumes: [{name: new, emptyDir: {}}], containers: [{name: node, volumeMounts: "
                "[{name: new, mountPath: /new}]}], initContainers: [{name: fetch, env: [{name: A, value: b}]}]}"
            )
        ),
        runtime(),
    ),
    "a GPU in limits alone": (job("{resourcesPerNode: {limits: {nvidia.com/gpu: 2, cpu: 4}}}"), runtime()),
    "a GPU in both": (
        job("{resourcesPerNode: {limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 2, cpu: 1500m}}}"),
        runtime(),
    ),
    "a request at its limit": (job("{resourcesPerNode: {limits: {cpu: 1}, requests: {cpu: 1000m}}}"), runtime()),
    "a volume of a claim that JobSet makes": (
        job(),
        runtime(
            set="""\
            volumeClaimPolicies:
            - templates:
              - metadata: {name: work}
                spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
            """,
            container="volumeMounts: [{name: work, mountPath: /work}]\n",
        ),
    ),
    "a volume without a source is an emptyDir": (
        job(),
        runtime("volumes: [{name: tmp}]\n", "volumeMounts: [{name: tmp, mountPath: /tmp}]\n"),
    ),
    "a subdomain that JobSet replaces": (job(), runtime("subdomain: Not_A_Label\n")),
    "restartPolicy Never": (job(), runtime("restartPolicy: Never\n")),
    "a sidecar with a probe": (
        job(),
        runtime(container="livenessProbe: {httpGet: {port: web}}\nports: [{name: web, containerPort: 80}]\n"),
    ),
    "ports of a pod of its own": (
        job(),
        runtime(
            container="ports: [{name: a, containerPort: 80}]\n",
            sidecar="- {name: b, image: 'example.com/b:1', ports: [{name: a, containerPort: 80}]}\n",
        ),
    ),
    "tolerations of all taints": (job(rest=patch("{tolerations: [{operator: Exists}]}")), runtime()),
    "a secret by reference": (
        job("{env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hf, key: token}}}]}"),
        runtime(),
    ),
    "names about secrets, and tokens of text": (
        job(
            '{env: [{name: HF_TOKEN_PATH, value: /run/token}, {name: EOS_TOKEN, value: "</s>"}, '
            '{name: TOKENIZERS_PARALLELISM, value: "false"}, {name: MAX_TOKENS, value: "4096"}, '
            '{name: PASSWORD_FILE, value: /etc/pw}, {name: API_KEY, value: "$(FROM_ELSEWHERE)"}, '
            '{name: SSH_KEY, value: /root/.ssh/id_rsa}, {name: DB_PASSWORD, value: ""}]}'
        ),
        runtime(),
    ),
    "what is like a secret": (
        job(
            '{image: "example.com/a:1@sha256:'
            + "0123456789abcdef" * 4
            + '", args: [--tokenizer=/models/tokenizer.json, '
            "--tokenizer-path=s3://bucket/tokenizers/bpe.model, --max-new-tokens=512, --partition-key=shard, "
            "'--url=https://me:$(PASSWORD)@db/x?password=$(PASSWORD)', a basic authentication needs more, "
            "--zone=asia-east1, '--from=https://x/y?token=$TOKEN&k=1', disk-0123456789abcdefghijklmnopqrstuvwxyz, "
            "grep -e '-----BEGIN RSA PRIVATE KEY-----' /keys/id_rsa], "
            'env: [{name: MAX_TOKENS, value: "4096"}, {name: TOKEN, value: $(PASSWORD)}, '
            '{name: TOKENIZER, value: bert-base-uncased}, {name: PATTERN, value: "*.parquet"}, '
            "{name: COMMIT, value: 0123456789abcdef0123456789abcdef01234567}, {name: SORT_KEY, value: step}, "
            "{name: GITHUB_TOKEN, value: ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}]}"
        ),
        runtime(),
    ),
    "a digest without a tag": (job("{image: example.com/a@sha256:" + "0" * 64 + "}"), runtime()),
    "a tag behind a registry's port": (job('{image: "example.com:5000/a/b:2"}'), runtime()),
    "an image of the runtime that is replaced": (job('{image: "example.com/a:2"}'), runtime(image="latest")),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
@pytest.mark.parametrize("faithful", [False, True])
def test_near_misses_are_silent(name: str, faithful: bool) -> None:
    build = made(*NEAR_MISSES[name], faithful=faithful)
    assert [(f.code, f.message) for f in ours(build)] == []
    assert len(build.objects) == 1, [f.message for f in build.findings]


REFUSED = {
    "TC309": (job(rest=patch("{containers: [{name: nodee, volumeMounts: []}]}")), runtime()),
    "TC410": (job("{numNodes: 0}"), runtime()),
    "TC803": (job(), runtime("restartPolicy: Always\n")),
    "TC804": (job(), runtime(labels="a b: c")),
    "TC805": (job(), runtime(image='""')),
    "TC806": (job(), runtime(container="volumeMounts: [{name: none, mountPath: /a}]\n")),
    "TC807": (job("{resourcesPerNode: {requests: {nvidia.com/gpu: 1}}}"), runtime()),
    "TC808": (job(), runtime("nodeSelector: {a: b c}\n")),
    "TC809": (job(), runtime("securityContext: {runAsUser: -1}\n")),
    "TC810": (job(), runtime("hostname: A\n")),
    "TC811": (job('{env: [{name: a=b, value: "1"}]}'), runtime()),
    "TC812": (
        job(),
        runtime(
            set="volumeClaimPolicies: [{templates: [{metadata: {name: work}, spec: {accessModes: [RWO]}}]}]\n",
            container="volumeMounts: [{name: work, mountPath: /work}]\n",
        ),
    ),
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_can_never_run_is_an_error_and_under_faithful_a_warning(code: str) -> None:
    default, faithful = made(*REFUSED[code]), made(*REFUSED[code], faithful=True)
    assert {(f.code, f.severity) for f in ours(default)} == {(code, "error")}
    assert default.objects == ()
    assert {(f.code, f.severity) for f in ours(faithful)} == {(code, "warning")}
    assert len(faithful.objects) == 1


CPUS = "resources: {%s: {cpu: %s}}"
AFFINITY = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [%s]}}\n"
TERM = "{topologyKey: rack, %s: [%s], labelSelector: {matchExpressions: [{key: %s, operator: Exists}]}}"
SPREAD = (
    "topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule,"
    " matchLabelKeys: [%s], labelSelector: {matchLabels: {%s: b}}}]\n"
)
JOB_KEY, INDEX = "jobset.sigs.k8s.io/job-key", "batch.kubernetes.io/job-completion-index"
TWICE = "exists in both matchLabelKeys and labelSelector"
LARGE_PAGES = "resources: {limits: {memory: 1Gi, hugepages-2Mi: %s}}"
ONLY_IN_PODS = [
    (CPUS % ("limits", 1), CPUS % ("requests", 1), ""),
    (
        CPUS % ("limits", 1),
        CPUS % ("requests", 2),
        "resources.requests.cpu: must be less than or equal to cpu limit of 1",
    ),
    (CPUS % ("requests", 2), CPUS % ("limits", 2), ""),
    (
        CPUS % ("requests", 1),
        CPUS % ("limits", 2),
        "resources.requests.cpu: must be greater than or equal to aggregate",
    ),
    (LARGE_PAGES % "4Mi", LARGE_PAGES % "4Mi", ""),
    (LARGE_PAGES % "2Mi", LARGE_PAGES % "4Mi", "resources.limits.hugepages-2Mi: must be greater than or equal to"),
    (AFFINITY % TERM % ("matchLabelKeys", "other", "other"), "", ""),
    (AFFINITY % TERM % ("mismatchLabelKeys", "own", "own"), "", ""),
    (AFFINITY % TERM % ("matchLabelKeys", "own", "other"), "", ""),
    (AFFINITY % TERM % ("matchLabelKeys", "own", "own"), "", TWICE),
    (AFFINITY % TERM % ("matchLabelKeys", JOB_KEY, JOB_KEY), "", TWICE),
    (SPREAD % ("own", "own"), "", TWICE),
    (SPREAD % (INDEX, INDEX), "", TWICE),
    (SPREAD % ("other", "other"), "", ""),
]


@pytest.mark.parametrize(("pod", "container", "message"), ONLY_IN_PODS)
def test_what_the_server_adds_to_pods_is_checked(pod: str, container: str, message: str) -> None:
    """The server accepts the template, and refuses its pods."""
    found = ours(made(job("{numNodes: 2}"), runtime(pod, container, labels="own: a")))
    texts = [each.message for each in found if each.code in ("TC807", "TC808")]
    assert any(message in text for text in texts) if message else not texts


def test_whatever_a_template_says_is_told_in_its_file() -> None:
    told = 0
    specs = some(single_specs(), 4)
    for spec in specs:
        template = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": spec}
        document = {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "ClusterTrainingRuntime",
            "metadata": {"name": "rt"},
            "spec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}},
        }
        build = made(job(), json.dumps(document, indent=1), faithful=True)
        assert not [f for f in build.findings if f.code == "TC902"]
        found = [f for f in build.findings if "TC802" < f.code < "TC820"]  # what a server refuses
        assert {f.file for f in found} <= {"rt.yaml"}
        assert all(f.upstream or "CAP_" in f.message for f in found)  # those a server accepts
        told += bool(found)
    assert told > len(specs) * 2 / 3


def test_a_finding_of_a_shared_runtime_is_told_once() -> None:
    text = runtime(image="example.com/img:latest")
    other = job().replace("{name: j}", "{name: k}")
    build = compile([Source("a.yaml", job()), Source("b.yaml", other), Source("rt.yaml", text)])
    (found,) = ours(build)
    assert (found.code, found.file, found.line) == ("TC412", "rt.yaml", 21)


def test_a_patched_volume_has_one_code() -> None:
    text = runtime("volumes: [{name: w, emptyDir: {}}]\n")
    trainjob = job(rest=patch("{volumes: [{name: w, configMap: {name: c}}]}"))
    for faithful in (False, True):
        build = made(trainjob, text, faithful=faithful)
        found = [f for f in build.findings if f.code in ("TC461", "TC806")]
        assert [(f.code, f.severity) for f in found] == [("TC461", "warning" if faithful else "error")]


def test_two_sources_of_the_runtime_itself_are_no_bug_of_patches() -> None:
    build = made(job(), runtime("volumes: [{name: w, emptyDir: {}, configMap: {name: c}}]\n"))
    assert [f.code for f in build.findings if f.code in ("TC461", "TC806")] == ["TC806"]


def test_a_missing_trainer_has_one_code() -> None:
    text = job().replace("  trainer: {}\n", "")
    build = made(text, runtime())
    assert [f.code for f in build.findings] == ["TC454"]


def test_the_servers_text_is_kept() -> None:
    (found,) = ours(made(*REFUSED["TC807"]))
    assert found.upstream == (
        "spec.template.spec.containers[0].resources.limits: Required value:"
        " Limit must be set for non overcommitable resources"
    )
    assert found.stage is None
    assert found.path == ("spec", "trainer", "resourcesPerNode", "requests", "nvidia.com/gpu")


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_format_shows_a_secret(name: str) -> None:
    secret = "hf_Zq81kPx0Lm42vBtW"
    text = job(f'{{env: [{{name: HF_TOKEN, value: {secret}}}], args: ["--api-key={secret}", --password, {secret}]}}')
    container = f"env: [{{name: AWS_SECRET_ACCESS_KEY, value: {secret}}}]\n"
    build = made(text, runtime(container=container))
    found = [f for f in build.findings if f.code == "TC411"]
    assert [(f.file, f.path[-3:]) for f in found] == [
        ("job.yaml", ("env", 0, "value")),
        ("job.yaml", ("trainer", "args", 0)),
        ("job.yaml", ("trainer", "args", 2)),
        ("rt.yaml", ("env", 0, "value")),
    ]
    shown = FORMATS[name](build.findings)
    assert "TC411" in shown
    assert secret not in shown
    assert json.dumps(secret)[1:-1] not in shown


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["login(token=os.environ['HF_TOKEN'])"], 0),
        (["api_key=open('/run/key').read()\nclient(\n    url,\n    secret=None, api_key=key)"], 0),
        (["if token==other: run(pad_token=tokenizer.eos_token, use_auth_token=True)"], 0),
        (["--eos-token=[SEP]", "--pad_token", "[PAD]", "--token=`cat /run/token`"], 0),
        (['{"eos_token": "[SEP]"}', "--image-token [IMG] --token $(cat /run/token)"], 0),
        (["login(token='hunter2222')"], 1),
        (["(password=hunter2222 train)"], 1),
        (["$(password=hunter2222 print)"], 1),
        (["--token=get(x)y", "-o user=me, password=hunter2222"], 2),
        (["login --password hunter2222 && train", "train(**{'token': 'hunter2222'})"], 2),
    ],
)
def test_expressions_are_no_secrets(words: list[str], count: int) -> None:
    build = made(job(f"{{args: {json.dumps(words)}}}"), runtime())
    assert [f.code for f in build.findings] == ["TC411"] * count


@pytest.mark.parametrize("field", ["command: [%s]", "args: [a, %s]", "env: [{name: TEXT, value: %s}]"])
def test_a_text_that_linux_does_not_accept(field: str) -> None:
    longest = 128 * 1024 - (len("TEXT=") if "env" in field else 0) - 1
    for size, letter in ((longest, "x"), (longest // 2, "\u00e9")):
        fits, too_long = (made(job(), runtime(container=field % (letter * size + "x" * more))) for more in (0, 2))
        assert not ours(fits)
        (found,) = ours(too_long)
        assert (found.code, found.severity.name) == ("TC811" if "env" in field else "TC805", "ERROR")
        assert letter * 9 not in f"{found.message} {found.found} {found.hint} {found.upstream}"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ('env: [{name: A, value: "%s"}, {name: B, value: $(A)$(A)}]', "TC811"),
        ('env: [{name: A, value: "%s"}, {name: B, value: $$(A)$(A)}]', None),
        ('env: [{name: A, value: "%s"}, {name: B, value: $(C)$(C)}, {name: C, value: $(A)}]', None),
        ('env: [{name: A, value: "%s"}]\nargs: ["$(A)$(A)"]', "TC805"),
        ('env: [{name: A, value: "%s"}]\ncommand: [a, "$(A)$$(A)"]', None),
    ],
)
def test_a_text_that_is_too_long_with_the_values_of_variables(fields: str, code: str | None) -> None:
    found = ours(made(job(), runtime(container=fields % ("x" * 70_000))))
    assert [each.code for each in found if each.severity.name == "ERROR"] == [code] * (code is not None)


def test_a_text_that_becomes_too_long_in_several_steps() -> None:
    variables = [f"{{name: {new}, value: {f'$({old})' * 20}}}" for old, new in ("AB", "BC", "CD")]
    fields = f"env: [{{name: A, value: {'x' * 50}}}, {', '.join(variables)}]"
    (found,) = ours(made(job(), runtime(container=fields)))
    assert (found.code, found.severity.name) == ("TC811", "ERROR")
    assert "env[3].value" in found.message
