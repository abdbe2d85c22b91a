"""The texts of small repositories: each function makes one file's, with an error or a finding now and then."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

NAMESPACES = ("a", "b", "shared")
NAMES = ("one", "two")
IMAGES = ("example.com/img:1", "example.com/img:2", "example.com/other:1", "example.com/img:latest")
RUNTIMES = ("plain", "torch", "mpi", "own", "torch-distributed", "jax-distributed")

PLAIN = (
    "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: {name}}}\n"
    "spec:\n  runtimeRef: {{name: {runtime}}}\n  trainer: {{numNodes: 1}}\n"
)
PLAIN_RUNTIME = (
    "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\nmetadata: {{name: {name}}}\n"
    "spec:\n  template:\n    spec:\n      replicatedJobs:\n      - name: node\n        template:\n"
    "          metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}\n"
    "          spec: {{template: {{spec: {{containers: [{{name: node, image: '{image}'}}]}}}}}}\n"
)
"""One job and one runtime in which nothing is found, to be formatted."""

WARNING = "  managedBy: kueue.x-k8s.io/multikueue\n"
SILENT = "  # trainc: ignore TC311 wanted here\n"
DIGESTS = ("a", "b")


def job(rng: Random, name: str) -> str:
    """Return the text of a TrainJob."""
    kind = rng.random()
    runtime = rng.choice(RUNTIMES)
    if kind < 0.02:
        runtime = "missing"
    labels = rng.choice(("", "  labels: {team: x}\n", '  annotations: {trainc.dev/run: "2"}\n'))
    if rng.random() < 0.04:
        labels += f"  namespace: {rng.choice(NAMESPACES)}\n"
    if rng.random() < 0.04:
        labels = rng.choice(("  annotations: {trainc.dev/run: x}\n", "  labels: {kueue.x-k8s.io/queue-name: gpu}\n"))
    image = f"    image: {rng.choice(IMAGES)}\n" if rng.random() < 0.6 else ""
    kind_of = "    kind: TrainingRuntime\n" if runtime == "own" and rng.random() < 0.8 else ""
    text = "# one line more\n" * rng.randrange(3)
    text += "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata:\n"
    text += f"  name: {name}\n{labels}spec:\n  runtimeRef:\n    name: {runtime}\n{kind_of}  trainer:\n"
    text += f"    numNodes: {rng.randrange(1, 4)}\n{image}    command: [python, train.py]\n{_env(rng)}"
    if rng.random() < 0.3:
        text += (SILENT if rng.random() < 0.4 else "") + WARNING
    elif rng.random() < 0.1:
        text += f"  {SILENT.strip()}\n  suspend: false\n"
    if rng.random() < 0.1:
        text += "  suspend: true\n"
    if rng.random() < 0.03:
        text += rng.choice(("  nonsense: 1\n", "  trainer: again\n", "  labels: {a: yes}\n", "\tbroken\n"))
    return text


def _env(rng: Random) -> str:
    if rng.random() < 0.6:
        return ""
    name, value = rng.choice((("SEED", "1"), ("HF_TOKEN", "hf_AbCdEfGhIjKl"), ("PET_NNODES", "2"), ("SEED", "2")))
    return f'    env:\n    - {{name: {name}, value: "{value}"}}\n'


def jobs(rng: Random, name: str) -> str:
    """Return the text of a file below jobs/: mostly one TrainJob, sometimes more, or another kind beside it."""
    kind = rng.random()
    if kind < 0.75:
        return job(rng, name)
    if kind < 0.85:
        return f"{job(rng, name)}---\n{job(rng, f'{name}-b')}"
    if kind < 0.9:
        return f"{job(rng, name)}---\n{claim(rng)}"
    if kind < 0.95:
        indented = "".join(f"  {line}\n" for line in job(rng, name).splitlines())
        return f"apiVersion: v1\nkind: List\nitems:\n-{indented[1:]}"
    return rng.choice(("", "# nothing\n", "a: [\n", claim(rng)))


def claim(rng: Random) -> str:
    """Return the text of a PersistentVolumeClaim."""
    size = rng.choice(("1Gi", "2Gi"))
    return (
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n"
        f"  accessModes: [ReadWriteOnce]\n  resources: {{requests: {{storage: {size}}}}}\n"
    )


def runtime(rng: Random, name: str) -> str:
    """Return the text of a file below runtimes/: a runtime, and perhaps a companion."""
    own = name == "own"
    kind, place = (
        ("TrainingRuntime", f"  namespace: {rng.choice(NAMESPACES)}\n") if own else ("ClusterTrainingRuntime", "")
    )
    policies = {"torch": "  mlPolicy: {numNodes: 2, torch: {}}\n"}
    policies["mpi"] = "  mlPolicy: {numNodes: 2, mpi: {mpiImplementation: OpenMPI, sshAuthMountPath: /root/.ssh}}\n"
    account = "                  serviceAccountName: trainer\n" if rng.random() < 0.3 else ""
    image = rng.choice(IMAGES)
    silence = "  # trainc: ignore TC303, TC412 wanted\n" if rng.random() < 0.15 else ""
    label = "  labels: {trainer.kubeflow.org/support: deprecated}\n" if rng.random() < 0.15 else ""
    odd = "  nonsense: 1\n" if rng.random() < 0.02 else ""
    text = "# a line more\n" * rng.randrange(2)
    text += (
        f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: {kind}\nmetadata:\n{silence}  name: {name}\n{place}{label}"
        f"spec:\n{odd}{policies.get(name, '')}  template:\n    spec:\n      replicatedJobs:\n"
    )
    text += _step("launcher", image, account) if name == "mpi" else ""
    text += _step("node", image, account)
    companion = rng.random()
    if companion < 0.3:
        text += f"---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: {rng.choice(('trainer', 'other'))}}}\n"
    elif companion < 0.45:
        text += f"---\n{claim(rng)}"
    return text


def _step(name: str, image: str, account: str) -> str:
    step = "" if name == "launcher" else "trainer.kubeflow.org/trainjob-ancestor-step: trainer"
    return (
        f"      - name: {name}\n        template:\n          metadata: {{labels: {{{step}}}}}\n          spec:\n"
        "            template:\n              spec:\n"
        f"{account.replace('                  ', '                ')}"
        f"                containers:\n                - name: node\n                  image: {image}\n"
    )


RULES: tuple[tuple[str, str, str, str], ...] = (
    ("trainer.kubeflow.org", "trainjobs", "v1alpha1", "object.spec.trainer.numNodes < 3"),
    ("trainer.kubeflow.org", "trainjobs", "v1alpha1", "has(object.metadata.labels)"),
    ("trainer.kubeflow.org", "clustertrainingruntimes", "v1alpha1", "object.metadata.name != 'torch'"),
    ("jobset.x-k8s.io", "jobsets", "v1alpha2", "object.spec.replicatedJobs.all(r, r.replicas < 2)"),
    ("jobset.x-k8s.io", "jobsets", "v1alpha2", "object.metadata.name != 'one'"),
    ("", "configmaps", "v1", "size(object.data) < 2"),
    ("", "pods", "v1", "object.spec.containers.all(c, !c.image.endsWith(':latest'))"),
    ("jobset.x-k8s.io", "jobsets", "v1alpha2", "object.metadata.nonsense == 1"),
    ("jobset.x-k8s.io", "jobsets", "v1alpha2", "namespaceObject.metadata.labels.team == 'x'"),
)


SELECTORS = (
    *("{}", "{}", "{}", "{matchLabels: {team: x}}", "{matchLabels: {kubernetes.io/metadata.name: a}}"),
    *("{matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [a, b]}]}",),
)


def policy(rng: Random, name: str) -> str:
    """Return the text of a policy with its binding, some for a part of the namespaces."""
    group, resource, version, rule = rng.choice(RULES)
    action = rng.choice(("Warn", "Warn", "Warn", "Audit", "Audit", "Deny"))
    silence = "# trainc: ignore TC513 not yet\n" if rng.random() < 0.1 else ""
    params = "  paramKind: {apiVersion: example.com/v1, kind: Missing}\n" if rng.random() < 0.1 else ""
    extra = (
        "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {team: x}}\n" if rng.random() < 0.2 else ""
    )
    return (
        f"{silence}apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n"
        f"metadata: {{name: {name}}}\nspec:\n{params}  matchConstraints:\n"
        f"    namespaceSelector: {rng.choice(SELECTORS)}\n    resourceRules:\n"
        f'    - {{apiGroups: ["{group}"], apiVersions: [{version}], resources: [{resource}], operations: ["*"]}}\n'
        f'  validations:\n  - expression: "{rule}"\n    message: not so\n'
        "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n"
        f"metadata: {{name: {name}}}\nspec:\n  policyName: {name}\n  validationActions: [{action}]\n"
        f"  matchResources: {{namespaceSelector: {rng.choice(SELECTORS)}}}\n{extra}"
    )


OPTIONS = (
    "{}",
    "{}",
    "{namespaces: {a: b-of-prod}}",
    "{namespaces: {a: shared}}",
    "{queue: research}",
    "{naming: content}",
    "{registries: {example.com: mirror.example.org}}",
    "{runtimes: {plain: torch}}",
    "{jobs: [a]}",
    "{serviceAccounts: [trainer]}",
    "{sshKeys: {mode: existing, secret: keys}}",
    "{argocd: {repoURL: 'https://example.com/r.git', write: deploy/argo}}",
    "{patches: [{target: {kind: JobSet, name: one}, patch: {metadata: {labels: {x: z}}}}]}",
    "{jobs: [none]}",
)
TAILS = (
    "",
    "",
    "fixes: recommended\n",
    "severities: {TC311: error}\n",
    "severities: {TC311: ignore, TC303: note}\n",
    "severities: {TC412: note, TC502: ignore, TC501: warning, TC301: warning}\n",
    "policies: {pods: true}\n",
    "lock: {required: [example.com/img]}\n",
    "nonsense: 1\n",
    "# trainc: ignore TC301 no comment counts here\n",
)


def config(rng: Random) -> str:
    """Return the text of trainc.yaml."""
    if rng.random() < 0.03:
        return "environments: [\n"
    names = rng.choice((("prod",), ("prod",), ("prod", "dev"), ("dev",)))
    head = "# a comment\n" * rng.randrange(2)
    return (
        head + "environments:\n" + "".join(f"  {name}: {rng.choice(OPTIONS)}\n" for name in names) + rng.choice(TAILS)
    )


def lock(rng: Random) -> str:
    """Return the text of images.lock.yaml."""
    chosen = [image for image in IMAGES if rng.random() < 0.5]
    lines = "".join(f"  {image}: sha256:{rng.choice(DIGESTS) * 64}\n" for image in sorted(chosen))
    return f"images:\n{lines}" if lines else "images: {}\n"


Text = Callable[[Random, str], str]
PLACES: dict[str, Text] = {"runtimes": runtime, "policies": policy}
