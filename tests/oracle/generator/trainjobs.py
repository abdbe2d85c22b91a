"""TrainJobs that fit a runtime, with patches, initializers and everything else."""

from __future__ import annotations

from oracle.generator import values
from oracle.generator.runtimes import API, STEP
from oracle.generator.values import Context, Map

NAMES = ("j", "train", "bert-large", "a1", "x-9")
ODD_NAMES = (
    "x" * 33, "x" * 34, "x" * 46, "x" * 47, "x" * 48, "x" * 49, "x" * 58, "x" * 63, "x" * 64, "1abc", "a.b",
    "Abc", "a_b", "a-",
)  # fmt: skip
TUNE_ARGS = (
    "model.lora_attn_modules=['q_proj']", "model.quantize_base=True", "model.use_dora=True", "batch_size=2",
    "model.quantize_base=False", "epochs=3", "output_dir=/x", "tokenizer.path=/y",
)  # fmt: skip
# The last is no list: the merge fails, and upstream's webhook with it.
_DIRECTIVES: tuple[Map, ...] = ({"$patch": "replace", "only": "z"}, {"$patch": "delete"}, {"$retainKeys": "pool"})
_PREFERRED: Map = {
    "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}
}
URIS = ("hf://org/data", "s3://b/k", "", "no-scheme", "pvc://x/y")


def trainjob(context: Context, runtime: Map, name: str) -> Map:
    """Return a TrainJob for a runtime."""
    rng = context.rng
    meta: Map = {"name": name, **(values.metadata(rng) if rng.chance(15) else {})}
    if "namespace" in runtime["metadata"]:
        meta["namespace"] = runtime["metadata"]["namespace"]
    ref: Map = {"name": runtime["metadata"]["name"] if rng.chance(99) else "missing"}
    if runtime["kind"] == "TrainingRuntime" or rng.chance(30):
        ref["kind"] = runtime["kind"] if rng.chance(99) else rng.pick(("TrainingRuntime", "Foo"))
    if rng.chance(5):
        ref["apiGroup"] = "trainer.kubeflow.org" if rng.chance(80) else "example.com"
    spec: Map = {"runtimeRef": ref}
    if rng.chance(90):
        spec["trainer"] = trainer(context)
    jobs = runtime["spec"]["template"]["spec"]["replicatedJobs"]
    if initializer := _initializer(context, [job["name"] for job in jobs]):
        spec["initializer"] = initializer
    if rng.chance(30):
        spec["runtimePatches"] = patches(context, jobs)
    if rng.chance(12):
        spec["suspend"] = rng.chance(60)
    if rng.chance(5):
        managers = ("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue", "example.com/x")
        spec["managedBy"] = rng.pick(managers)
    if rng.chance(3):
        spec["activeDeadlineSeconds"] = rng.pick((1, 3600, 0))
    return {"apiVersion": API, "kind": "TrainJob", "metadata": meta, "spec": spec}


def trainer(context: Context) -> Map:
    """Return spec.trainer; Flux nearly always gets numNodes, without which upstream panics."""
    rng = context.rng
    result: Map = {}
    if rng.chance(90 if context.policy == "flux" else 50):
        options = (1, 1, 2, 2, 3, 4, 11, 0, -2)
        result["numNodes"] = rng.pick(options[:5] if context.policy == "torchtune" else options)
    if rng.chance(20):
        result["numProcPerNode"] = rng.pick((1, 2, 4, 8, 0) if context.policy != "flux" else (1, 2, 4, 8))
    if context.policy == "torchtune" and rng.chance(70):
        result["command"] = ["tune", "run"]
        result["args"] = rng.some(TUNE_ARGS[:6] if rng.chance(90) else TUNE_ARGS, 3)
    else:
        if rng.chance(30):
            result["command"] = values.words(rng)
        if rng.chance(30):
            result["args"] = values.words(rng)
    if rng.chance(30):
        result["image"] = rng.pick(("example.com/new:2", "n", ""))
    if rng.chance(40):
        result["env"] = values.env(context, 4)
    if rng.chance(45):
        result["resourcesPerNode"] = values.resources(context)
    return result


def _initializer(context: Context, names: list[str]) -> Map:
    rng = context.rng
    result: Map = {}
    for key in ("dataset", "model"):
        if not rng.chance(60 if f"{key}-initializer" in names else 1):
            continue
        part: Map = {"storageUri": rng.pick(URIS[:3] if rng.chance(96) else URIS)} if rng.chance(85) else {}
        if rng.chance(30):
            part["env"] = values.env(context, 0, 2)
        if rng.chance(25):
            part["secretRef"] = {"name": "token"} if rng.chance(95) else {}
        result[key] = part
    return result


def patches(context: Context, jobs: list[Map]) -> list[Map]:
    """Return patches of one to three managers."""
    rng = context.rng
    result = []
    for manager in ("a.io/one", "kueue.x-k8s.io/manager", "b.io/two")[: 1 + rng.below(3)]:
        template: Map = {"metadata": values.metadata(rng)} if rng.chance(25) else {}
        if rng.chance(3):
            template.setdefault("metadata", {})["annotations"] = {"scheduling.volcano.sh/queue-name": "q3"}
        if rng.chance(90):
            template["spec"] = {"replicatedJobs": [_job_patch(context, job) for job in rng.some(jobs, 3)]}
        name = manager if rng.chance(98) else rng.pick(("plain", "a.io/one", "A_B/c", "a.io/b c"))
        patch: Map = {"manager": name, "trainingRuntimeSpec": {"template": template}}
        if rng.chance(3):
            patch["time"] = "2025-03-04T05:06:07Z"
        result.append(patch)
    return result


def _job_patch(context: Context, job: Map) -> Map:
    rng = context.rng
    result: Map = {"name": job["name"] if rng.chance(97) else "unknown"}
    template: Map = {"metadata": values.metadata(rng)} if rng.chance(10) else {}
    if rng.chance(2):
        template.setdefault("metadata", {}).setdefault("labels", {})[STEP] = rng.pick(("trainer", "other"))
    pods: Map = {"metadata": values.metadata(rng)} if rng.chance(10) else {}
    if rng.chance(90):
        pods["spec"] = _pod_patch(context, job["template"]["spec"]["template"]["spec"])
    if pods:
        template["spec"] = {"template": pods}
    return {**result, "template": template} if template else result


def _pod_patch(context: Context, pod: Map) -> Map:
    rng = context.rng
    result: Map = {}
    for key, options in (
        ("nodeSelector", ({"pool": "x"}, {"new": "y"}, {}, *_DIRECTIVES)),
        ("tolerations", ([{"key": "p", "operator": "Exists"}], [])),
        ("serviceAccountName", ("patched",)),
        ("securityContext", ({"fsGroup": 7}, {"runAsNonRoot": True, "supplementalGroups": [3]})),
        ("schedulingGates", ([{"name": "x.io/g"}, {"name": "y.io/h"}],)),
        ("imagePullSecrets", ([{"name": "b"}, {"name": "c"}],)),
        ("terminationGracePeriodSeconds", (0, 5)),
        ("affinity", ({"podAntiAffinity": {}}, {"nodeAffinity": {}}, _PREFERRED)),
    ):
        if rng.chance(15):
            result[key] = rng.pick(options)
    if rng.chance(25):
        result["volumes"] = values.volumes(context)
    if rng.chance(40):
        result["containers"] = _container_patches(context, pod["containers"])
    if pod.get("initContainers") and rng.chance(30):
        result["initContainers"] = _container_patches(context, pod["initContainers"])
    return result


def _container_patches(context: Context, containers: list[Map]) -> list[Map]:
    rng = context.rng
    result = []
    for container in rng.some(containers, 3):
        patch: Map = {"name": container["name"] if rng.chance(97) else "typo"}
        if container["name"] not in ("node", "dataset-initializer", "model-initializer") or rng.chance(4):
            patch["env"] = values.env(context, 5, 2)
        if rng.chance(40):
            paths = rng.some(("/data", "/extra"), 2)
            names = rng.shuffled(("data", "scratch"))
            patch["volumeMounts"] = [{"name": n, "mountPath": p} for n, p in zip(names, paths, strict=False)]
        if rng.chance(20):
            patch["securityContext"] = rng.pick(({"privileged": True}, {"runAsUser": 5}))
        if rng.chance(3):
            patch["image"] = "dropped:1"
        result.append(patch)
    return result
