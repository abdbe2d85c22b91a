"""Training runtimes: policies, replicated jobs, containers, and the JobSet's own policies."""

from __future__ import annotations

from typing import Any

from oracle.generator import values
from oracle.generator.jobsets import jobset_fields
from oracle.generator.values import Context, Map

API = "trainer.kubeflow.org/v1alpha1"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
POLICIES = ("torch", "torch", "torchtune", "mpi", "mpi", "jax", "xgboost", "flux", "flux", "plain", "none")
MODELS = ("llama3.2-1b", "llama3.2-1b", "llama3.2-3b", "qwen2.5-1.5b", "llama3.3-70b", "foo-1")


def runtime(context: Context, name: str) -> Map:
    """Return a runtime of the context's policy."""
    rng = context.rng
    meta: Map = {"name": name}
    labels: Map = {}
    if rng.chance(8):
        labels["trainer.kubeflow.org/webhook-validation"] = rng.pick(("disabled", "disabled", "enabled"))
    if rng.chance(4):
        labels["trainer.kubeflow.org/support"] = "deprecated"
    if labels or rng.chance(5):
        meta["labels"] = labels
    jobs = replicated_jobs(context)
    spec: Map = {}
    if context.policy != "none":
        spec["mlPolicy"] = ml_policy(context, jobs)
    if rng.chance(25):
        spec["podGroupPolicy"] = pod_group_policy(context)
    spec["template"] = template(context, jobs)
    return {"apiVersion": API, "kind": "TrainingRuntime", "metadata": meta, "spec": spec}


def ml_policy(context: Context, jobs: list[Map]) -> Map:
    """Return an mlPolicy, rarely with two sources."""
    rng = context.rng
    result: Map = {"numNodes": rng.pick((0, 1, 1, 2, 2, 3, 5, 12, -1))} if rng.chance(60) else {}
    sources = {"torch": _torch, "torchtune": _torch, "mpi": _mpi, "flux": _flux}
    if context.policy in ("jax", "xgboost"):
        result[context.policy] = {}
    elif context.policy in sources:
        name = "torch" if context.policy == "torchtune" else context.policy
        result[name] = sources[context.policy](context, jobs)
    if rng.chance(1):
        result[rng.pick(("torch", "jax", "mpi", "nonsense"))] = {}
    return result


def _torch(context: Context, jobs: list[Map]) -> Map:
    rng = context.rng
    if not rng.chance(20):
        return {}
    targets = []
    for job in rng.some(jobs, 2):
        pod = job["template"]["spec"]["template"]["spec"]
        names = [c["name"] for c in (*pod["containers"], *pod.get("initContainers", ())) if c["name"] != "node"]
        if rng.chance(4):
            names.append(rng.pick(("missing", "node")))
        if names:
            targets.append({"jobName": job["name"], "containerNames": names})
    return {"envInjection": {"targets": targets}}


def _mpi(context: Context, jobs: list[Map]) -> Map:
    rng = context.rng
    result: Map = {}
    if rng.chance(40):
        result["numProcPerNode"] = rng.pick((1, 1, 2, 8, 0))
    if rng.chance(30):
        result["mpiImplementation"] = rng.pick(("OpenMPI", "OpenMPI", "OpenMPI", "", "Intel"))
    if rng.chance(30):
        result["sshAuthMountPath"] = rng.pick(("/root/.ssh", "/home/mpiuser/.ssh", "/data"))
    if rng.chance(60):
        result["runLauncherAsNode"] = rng.chance(80)
    return result


def _flux(context: Context, jobs: list[Map]) -> Map:
    rng = context.rng
    return {"numProcPerNode": rng.pick((1, 2, 4, 4, 0))} if rng.chance(50) else {}


def pod_group_policy(context: Context) -> Map:
    """Return a policy of one of the two gang schedulers, rarely of both."""
    rng = context.rng
    coscheduling: Map = {"scheduleTimeoutSeconds": rng.pick((0, 10, 600))} if rng.chance(50) else {}
    volcano: Map = {}
    if rng.chance(40):
        volcano["networkTopology"] = {"mode": rng.pick(("hard", "soft")), "highestTierAllowed": rng.below(3)}
    if rng.chance(3):
        return {"coscheduling": coscheduling, "volcano": volcano}
    return {"coscheduling": coscheduling} if rng.chance(50) else {"volcano": volcano}


def replicated_jobs(context: Context) -> list[Map]:
    """Return the jobs of a template: the policy's own, often initializers and others."""
    rng = context.rng
    if context.policy == "mpi":
        jobs = [job(context, "launcher", "trainer"), job(context, "node", None)]
        if rng.chance(40):
            jobs.reverse()
        if rng.chance(6):
            jobs.pop(rng.below(2))
    else:
        jobs = [job(context, "worker" if rng.chance(4) else "node", None if rng.chance(3) else "trainer")]
    for name in ("dataset-initializer", "model-initializer"):
        if rng.chance(25):
            jobs.insert(rng.below(len(jobs) + 1), job(context, name, name))
    for name in rng.some(("eval", "ps"), 2) if rng.chance(20) else []:
        jobs.insert(rng.below(len(jobs) + 1), job(context, name, "trainer" if rng.chance(8) else None))
    for index in range(1, len(jobs)):
        if rng.chance(12):
            other = jobs[rng.below(index if rng.chance(90) else len(jobs))]["name"]
            jobs[index]["dependsOn"] = [{"name": other, "status": rng.pick(("Ready", "Complete"))}]
    return jobs


def job(context: Context, name: str, step: str | None) -> Map:
    """Return one replicated job; ``step`` is the value of the ancestor label."""
    rng = context.rng
    main = step if step in ("dataset-initializer", "model-initializer") else "node"
    if rng.chance(1.5):
        main = "main"
    pod = pod_spec(context, main)
    if step == main and rng.chance(95):
        owner = next(c for c in pod["containers"] if c["name"] == main)
        mounts = owner.setdefault("volumeMounts", [])
        mounts.append({"name": "initializer", "mountPath": "/workspace"})
        pod.setdefault("volumes", []).append({"name": "initializer", "persistentVolumeClaim": {"claimName": "w"}})
    template: Map = {"metadata": values.metadata(rng)} if rng.chance(20) else {}
    if step is not None:
        template.setdefault("metadata", {}).setdefault("labels", {})[STEP] = step
    pods: Map = {"metadata": values.metadata(rng)} if rng.chance(20) else {}
    template["spec"] = {**_job_fields(context), "template": {**pods, "spec": pod}}
    result: Map = {"name": "e" * (1 + rng.below(30)) if name == "eval" and rng.chance(30) else name}
    if step is None and rng.chance(25):
        result["replicas"] = rng.pick((0, 1, 2, 3, 11))
    elif rng.chance(10):
        result["replicas"] = 2 if rng.chance(8) else 1
    if rng.chance(6):
        result["groupName"] = rng.pick(("g1", "workers", "Bad_G") if rng.chance(30) else ("g1",))
    return {**result, "template": template}


def _job_fields(context: Context) -> Map:
    rng = context.rng
    result: Map = {}
    for key, options in (
        ("parallelism", (0, 1, 2, 4)),
        ("completions", (1, 2, 8)),
        ("backoffLimit", (0, 3)),
        ("completionMode", ("Indexed", "NonIndexed")),
        ("activeDeadlineSeconds", (60,)),
        ("ttlSecondsAfterFinished", (0, 60)),
        ("suspend", (True, False)),
        ("podReplacementPolicy", ("Failed",)),
    ):
        if rng.chance(8):
            result[key] = rng.pick(options)
    if rng.chance(3):
        rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
        result["podFailurePolicy"] = {"rules": [rule]}
    return result


def pod_spec(context: Context, main: str) -> Map:
    """Return a Pod's spec whose container ``main`` stands somewhere among others."""
    rng = context.rng
    result: Map = {"volumes": values.volumes(context)} if rng.chance(40) else {}
    if not result:
        context.volumes = []
    containers = [container(context, main)]
    for name in rng.some(("side", "proxy"), 2) if rng.chance(25) else []:
        containers.insert(rng.below(len(containers) + 1), container(context, name))
    result["containers"] = containers
    if rng.chance(20):
        names = rng.some(("prepare", "check", "flux-installer" if rng.chance(5) else "wait"), 2)
        result["initContainers"] = [container(context, name, init=True) for name in names]
    for key, percent, options in _POD_FIELDS:
        if rng.chance(percent):
            result[key] = rng.pick(options)
    return result


_TERM: Map = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
_AFFINITY: Map = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM]}}}
_POD_FIELDS: tuple[tuple[str, float, tuple[Any, ...]], ...] = (
    ("nodeSelector", 12, ({"pool": "gpu"}, {"pool": "cpu", "zone": "a"}, {})),
    ("tolerations", 10, ([{"key": "gpu", "operator": "Exists"}], [], [{"operator": "Exists"}])),
    ("affinity", 5, (_AFFINITY, {"podAffinity": {}})),
    ("serviceAccountName", 8, ("sa", "trainer")),
    ("priorityClassName", 8, ("high", "high", "low", "system-node-critical", "nope")),
    ("restartPolicy", 10, ("Never", "OnFailure", "Always")),
    ("overhead", 4, ({"cpu": "250m"}, {"memory": "64Mi", "cpu": 1})),
    ("schedulingGates", 3, ([{"name": "x.io/g"}],)),
    ("imagePullSecrets", 6, ([{"name": "pull"}], [{"name": "a"}, {"name": "b"}])),
    ("securityContext", 6, ({"runAsUser": 1000, "fsGroup": 100}, {}, {"supplementalGroups": [1, 2]})),
    ("terminationGracePeriodSeconds", 4, (0, 30)),
    ("hostNetwork", 3, (True, False)),
    ("schedulerName", 3, ("volcano",)),
    ("runtimeClassName", 3, ("nvidia",)),
    ("dnsConfig", 2, ({"nameservers": ["1.1.1.1"], "options": [{"name": "ndots", "value": "2"}]},)),
    ("hostAliases", 2, ([{"ip": "10.0.0.1", "hostnames": ["a"]}],)),
    ("resourceClaims", 2, ([{"name": "claim", "resourceClaimName": "c"}],)),
    ("topologySpreadConstraints", 2, ([{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}],)),
)  # fmt: skip
_CONTAINER_FIELDS: tuple[tuple[str, float, tuple[Any, ...]], ...] = (
    ("imagePullPolicy", 6, ("Always", "IfNotPresent")),
    ("workingDir", 5, ("/w",)),
    ("securityContext", 8, ({"privileged": True}, {"capabilities": {"add": ["IPC_LOCK"]}}, {})),
    ("envFrom", 6, ([{"secretRef": {"name": "s"}}], [{"configMapRef": {"name": "c"}, "prefix": "P_"}])),
    ("livenessProbe", 3, ({"httpGet": {"port": 80}}, {"grpc": {"port": 80}}, {"exec": {"command": ["true"]}})),
    ("readinessProbe", 2, ({"tcpSocket": {"port": "http"}, "periodSeconds": 5},)),
    ("lifecycle", 2, ({"preStop": {"exec": {"command": ["sleep", "5"]}}},)),
    ("stdin", 2, (True, False)),
)


def container(context: Context, name: str, *, init: bool = False) -> Map:
    """Return a container."""
    rng = context.rng
    result: Map = {"name": name}
    if rng.chance(98):
        result["image"] = rng.pick(("example.com/a:1", "b", ""))
    tune = context.policy == "torchtune" and name == "node"
    if tune and rng.chance(80):
        result["command"] = ["tune", "run", "full", "output_dir=/out", "tokenizer.path=/t", "epochs=1"]
    elif rng.chance(35):
        result["command"] = values.words(rng)
    if rng.chance(30):
        result["args"] = values.words(rng)
    if rng.chance(40):
        result["env"] = values.env(context, 20)
    if rng.chance(15):
        result["ports"] = values.ports(rng)
    if rng.chance(45):
        result["resources"] = values.resources(context)
    if context.volumes and rng.chance(70):
        paths = rng.some(("/data", "/root/.ssh", "/etc/mpi", "/mnt/flux", "/dev/shm"), 2)
        result["volumeMounts"] = [{"name": rng.pick(context.volumes), "mountPath": path} for path in paths]
    if init and rng.chance(25):
        result["restartPolicy"] = "Always"
    for key, percent, options in _CONTAINER_FIELDS:
        if rng.chance(percent):
            result[key] = rng.pick(options)
    return result


def template(context: Context, jobs: list[Map]) -> Map:
    """Return the template of a JobSet around its jobs."""
    rng = context.rng
    result: Map = {"metadata": values.metadata(rng)} if rng.chance(20) else {}
    if rng.chance(6):
        meta = result.setdefault("metadata", {}).setdefault("annotations", {})
        meta["scheduling.volcano.sh/queue-name"] = rng.pick(("q1", "q2", ""))
    result["spec"] = {**jobset_fields(context, jobs), "replicatedJobs": jobs}
    return result
