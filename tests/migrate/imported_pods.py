"""The pods that an operator creates for an old job, and those that a compiled JobSet creates, in one form.

Both sides become ``Pod``s under names like ``worker-1``. What must differ by design is written alike: names of pods and
of hosts, labels and references by which controllers find their own objects, and variables whose values come from an
index or from a ConfigMap. All else is compared, field by field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from trainc.admission.jobset import admit_jobset
from trainc.basics.jsonvalues import as_list, as_object, get, objects
from trainc.checks.created_pods import created_objects
from trainc.kube.gotypes import POD_SPEC, decode
from trainc.kube.pods import default_pod, default_template

Json = Any

_MAIN = {
    "PyTorchJob": "pytorch",
    "TFJob": "tensorflow",
    "XGBoostJob": "xgboost",
    "JAXJob": "jax",
    "MPIJob": "mpi",
}
"""The container that each operator looks for; without it, the first one counts."""
_INDEX = "batch.kubernetes.io/job-completion-index"
_OPERATORS_LABELS = re.compile(
    r"training\.kubeflow\.org/.*|group-name|mpi-job-.*|volcano\.sh/(?!preemptable|cooldown-time).*|scheduling\.(k8s|x-k8s)\.io/.*"
)
_JOBSETS_LABELS = re.compile(
    r"(alpha\.)?jobset\.sigs\.k8s\.io/.*|(batch\.kubernetes\.io/)?(job-name|controller-uid|job-completion-index)"
    r"|batch\.kubernetes\.io/.*|trainer\.kubeflow\.org/.*|trainc\.dev/.*|scheduling\.(k8s|x-k8s)\.io/.*"
    r"|volcano\.sh/(?!preemptable|cooldown-time).*"
)

_QUOTAS = r"count/|pods$|limits\.|requests\."
_ELSEWHERE = ("volumes", "containers", "initContainers", "hostname", "subdomain", "serviceAccount", "nodeName")
"""Fields of a pod that are compared in another way, or are names of the pod."""


class Difference(NamedTuple):
    """A field that differs: the pod, the path of the field, and both values; None is an absent field.

    ``before`` and ``after`` are all fields of the pod.
    """

    kind: str
    pod: str
    path: str
    old: Json
    new: Json
    before: Mapping[str, Json] = {}
    after: Mapping[str, Json] = {}

    def __str__(self) -> str:
        return f"{self.kind} {self.pod}: {self.path}\n  operator: {self.old!r}\n  trainc:   {self.new!r}"


class Side(NamedTuple):
    """The fields of all pods by name, and the policies of the job."""

    pods: Mapping[str, dict[str, Json]]
    job: dict[str, Json]


def old_side(document: Json, created: Iterable[Json]) -> Side:
    """Return the pods of an operator, and the policies of the job."""
    found = list(created)
    kind, name = document["kind"], get(document, "metadata", "name")
    namespace = get(document, "metadata", "namespace") or "default"
    launcher = next((one for one in found if one["kind"] == "Job"), None)
    pods = {
        str(one["metadata"]["name"]).removeprefix(f"{name}-"): (one["metadata"], one["spec"])
        for one in found
        if one["kind"] == "Pod"
    }
    if launcher is not None:
        template = launcher["spec"]["template"]
        pods = {"launcher": (template["metadata"], template["spec"]), **pods}
    maps = {one["metadata"]["name"]: one.get("data") or {} for one in found if one["kind"] == "ConfigMap"}
    hosts = Hosts(namespace, {f"{name}-{role}": role for role in pods}, name, bare=kind != "Job")
    cluster = Cluster(maps, hosts, (str(get(document, "spec", "mainContainer")), _MAIN.get(kind, "")))
    plain = {role: _fields(*pod, cluster, _OPERATORS_LABELS) for role, pod in pods.items()}
    if kind != "Job":
        for role, fields in plain.items():
            fields["restarts"] = _old_restarts(document, role, launcher)
    return Side(plain, _old_policies(document, found))


def _old_restarts(document: Json, role: str, launcher: Json) -> Json:
    """Return how often a pod of a role starts again: a number, or None for without limit."""
    spec = as_object(document["spec"])
    run = {**spec, **as_object(spec.get("runPolicy"))}
    if launcher is not None and role == "launcher":
        return launcher["spec"].get("backoffLimit", 6)
    specs = next(value for key, value in spec.items() if key.lower().endswith("replicaspecs"))
    kind = re.sub(r"-\d+$", "", role)
    policy = next((each.get("restartPolicy") for key, each in specs.items() if key.lower() == kind), None)
    never = "Never" if document["kind"] in ("MPIJob", "JAXJob", "XGBoostJob", "TFJob") else "OnFailure"
    if policy == "ExitCode" and document["kind"] != "MPIJob":
        return "by exit code"
    is_worker = document["apiVersion"] == "kubeflow.org/v2beta1"  # whose launcher alone has the limit
    return 0 if (policy or never) in ("Never", "ExitCode") else None if is_worker else run.get("backoffLimit")


def new_side(created: Iterable[Json], roles: Iterable[str]) -> Side:
    """Return the pods of a JobSet, under the names of the operator's pods, and the policies of the JobSet."""
    found = list(created)
    jobset = next(one for one in found if one["kind"] == "JobSet")
    name, namespace = get(jobset, "metadata", "name"), get(jobset, "metadata", "namespace") or "default"
    subdomain = get(jobset, "spec", "network", "subdomain") or name
    pods = dict(_expanded(jobset))
    names = _counterparts(list(roles), list(pods))
    maps = {one["metadata"]["name"]: one.get("data") or {} for one in found if one["kind"] == "ConfigMap"}
    hosts = Hosts(namespace, {f"{name}-{own}": role for own, role in names.items()}, subdomain, bare=False)
    cluster = Cluster(maps, hosts, ("node", *_MAIN.values()))
    plain = {role: _fields(*pods[own], cluster, _JOBSETS_LABELS) for own, role in names.items()}
    jobs = {job["name"]: get(job, "template", "spec") for job in objects(get(jobset, "spec", "replicatedJobs"))}
    for own, role in names.items():
        job = as_object(jobs[own.rsplit("-", 2)[0]])
        by_code = job.get("podFailurePolicy") is not None
        plain[role]["restarts"] = "by exit code" if by_code else job.get("backoffLimit", 6)
    return Side(plain, _new_policies(jobset, found, of_launcher="launcher" in names.values()))


def earlier_side(created: Iterable[Json]) -> Side:
    """Return the pods of the JobSet that an earlier release of Trainer creates, and its policies."""
    found = list(created)
    complete = [admit_jobset(one, {})[0] if one["kind"] == "JobSet" else one for one in found]
    jobset = next(one for one in complete if one["kind"] == "JobSet")
    return new_side(complete, [pod for pod, _ in _expanded(jobset)])


def _counterparts(roles: list[str], own: list[str]) -> dict[str, str]:
    """Return the operator's name of each pod of a JobSet.

    A replicated job of the name of a role has the role's pods. Of the other roles, one with a single pod has those of
    the job ``launcher``, and all others share the job ``node``, in order.
    """
    by_job: dict[str, list[str]] = {}
    for pod in own:
        by_job.setdefault(pod.rsplit("-", 2)[0], []).append(pod)
    by_role: dict[str, list[str]] = {}
    for role in roles:
        by_role.setdefault(re.sub(r"-\d+$", "", role), []).append(role)
    for pods in by_role.values():
        pods.sort(key=len)  # operators' answers have worker-10 before worker-2
    names: dict[str, str] = {}
    for name, pods in by_role.items():
        if name.removesuffix("-0") in by_job:  # the pods of an earlier JobSet have the number of a replica, too
            names.update(zip(by_job.pop(name.removesuffix("-0")), pods, strict=False))
        elif len(pods) == 1 and "launcher" in by_job:
            names[by_job.pop("launcher")[0]] = pods[0]
    shared = [role for pods in by_role.values() for role in pods if role not in names.values()]
    names.update(zip(by_job.get("node", []), shared, strict=False))
    return {pod: names.get(pod, f"(more) {pod}") for pod in own}


def _expanded(jobset: Json) -> Iterator[tuple[str, tuple[Json, Json]]]:
    """Yield every pod of a JobSet as job-replica-index, with metadata and spec as the Job controller creates it."""
    first = {}
    for created in created_objects(jobset):
        kind = created.data["kind"]
        name = get(created.data, "metadata", "labels", "jobset.sigs.k8s.io/replicatedjob-name")
        first[str(name), str(kind)] = created.data
    for replicated in objects(get(jobset, "spec", "replicatedJobs")):
        name = str(replicated["name"])
        job, pod = first.get((name, "Job")), first.get((name, "Pod"))
        if job is None or pod is None:
            continue
        spec = as_object(job["spec"])
        count = spec.get("completions") if spec.get("completionMode") == "Indexed" else spec.get("parallelism")
        for replica in range(int(replicated.get("replicas", 1))):
            for index in range(int(count)):
                metadata = _indexed(pod["metadata"], replica, index)
                hostname = f"{get(jobset, 'metadata', 'name')}-{name}-{replica}-{index}"
                yield f"{name}-{replica}-{index}", (metadata, {**as_object(pod["spec"]), "hostname": hostname})


def _indexed(metadata: Json, replica: int, index: int) -> Json:
    """Return the metadata of the pod of an index in a replica; those of the first one are given."""
    fields = {}
    for kind in ("labels", "annotations"):
        values = dict(as_object(metadata.get(kind)))
        if _INDEX in values:
            values[_INDEX] = str(index)
        for key in ("job-index", "job-global-index", "job-group-index"):
            if (first := values.get(f"jobset.sigs.k8s.io/{key}")) is not None:
                values[f"jobset.sigs.k8s.io/{key}"] = str(int(str(first)) + replica)
        fields[kind] = values
    return {**metadata, **fields}


class Hosts:
    """Writes each address of a pod as ``<worker-1>``. ``bare``: the name alone resolves, through a Service of its own.

    The addresses of a job's pods are ``<name>``, ``<name>.<subdomain>`` and the longer forms with namespace and domain.
    """

    def __init__(self, namespace: str, names: Mapping[str, str], subdomain: str, *, bare: bool) -> None:
        self._names = names
        ordered = "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)"
        tail = rf"(?:\.{re.escape(subdomain)})?" if bare else rf"\.{re.escape(subdomain)}"
        domain = rf"(?:\.{re.escape(namespace)})?(?:\.svc)?(?:\.cluster\.local)?"
        self._pattern = re.compile(rf"(?<![\w.-])({ordered}){tail}{domain}(?![\w.-])")

    def canonical(self, text: str) -> str:
        """Return a text with the names of pods instead of their addresses."""
        return self._pattern.sub(lambda found: f"<{self._names[found[1]]}>", text)


class Cluster(NamedTuple):
    """What the fields of pods refer to: ConfigMaps by name, and hosts; and names that a main container has."""

    maps: Mapping[str, Json]
    hosts: Hosts
    main: tuple[str, ...]


def _fields(metadata: Json, spec: Json, cluster: Cluster, own: re.Pattern[str]) -> dict[str, Json]:
    """Return the fields of a pod by path, without the labels and annotations that match ``own``.

    A volume counts where it is mounted, whatever its name; others count by name.
    """
    complete = as_object(decode(default_pod(default_template(as_object(decode(spec, POD_SPEC)))), POD_SPEC))
    found: dict[str, Json] = {}
    for kind in ("labels", "annotations"):
        for key, value in as_object(metadata.get(kind)).items():
            if not own.fullmatch(key):
                found[f"metadata.{kind}[{key}]"] = value
    found |= {field: value for field, value in complete.items() if field not in _ELSEWHERE}
    volumes = {
        str(volume["name"]): _source({key: item for key, item in volume.items() if key != "name"}, cluster)
        for volume in objects(complete.get("volumes"))
    }
    mounted = {
        mount["name"]
        for kind in ("containers", "initContainers")
        for container in objects(complete.get(kind))
        for mount in objects(container.get("volumeMounts"))
    }
    for name, source in volumes.items():
        if name not in mounted:
            found[f"volumes[{name}]"] = source
    names = [container["name"] for container in objects(complete.get("containers"))]
    chosen = next((name for name in cluster.main if name in names), names[0])
    found["containers"] = ["main" if name == chosen else name for name in names]
    found["initContainers"] = [container["name"] for container in objects(complete.get("initContainers"))]
    for kind in ("containers", "initContainers"):
        for container in objects(complete.get(kind)):
            name = "main" if kind == "containers" and container["name"] == chosen else container["name"]
            for path, value in _container(container, metadata, cluster):
                found[f"{kind}[{name}].{path}"] = value
            for mount in objects(container.get("volumeMounts")):
                rest = {key: value for key, value in mount.items() if key not in ("name", "mountPath")}
                path = f"{kind}[{name}].volumeMounts[{mount['mountPath']}]"
                found[path] = {**rest, "volume": volumes[str(mount["name"])]}
    return found


def _container(container: Json, metadata: Json, cluster: Cluster) -> Iterator[tuple[str, Json]]:
    values = _environment(objects(container.get("env")), metadata, cluster)
    for name, value in values.items():
        yield f"env[{name}]", value
    for port in objects(container.get("ports")):
        rest = {key: item for key, item in port.items() if key not in ("containerPort", "protocol")}
        yield f"ports[{port['containerPort']}/{port['protocol']}]", rest
    for field in ("command", "args"):
        yield (
            field,
            [cluster.hosts.canonical(_expanded_text(str(text), values)) for text in as_list(container.get(field))],
        )
    for part, amounts in as_object(container.get("resources")).items():
        for resource, amount in as_object(amounts).items():
            yield f"resources.{part}[{resource}]", amount
    for field, value in container.items():
        if field not in ("name", "env", "ports", "volumeMounts", "command", "args", "resources"):
            yield field, value


def _environment(variables: list[Json], metadata: Json, cluster: Cluster) -> dict[str, Json]:
    """Return the variables that a process sees; of two of one name, the last one counts."""
    found: dict[str, Json] = {}
    for variable in variables:
        value = _variable(variable, metadata, cluster)
        found[variable["name"]] = _expanded_text(value, found) if isinstance(value, str) else value
    return {name: cluster.hosts.canonical(v) if isinstance(v, str) else v for name, v in found.items()}


def _expanded_text(text: str, values: Mapping[str, Json]) -> str:
    """Replace $(NAME) as the kubelet does."""

    def value(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        known = values.get(found[1])
        return known if isinstance(known, str) else found[0]

    return re.sub(r"\$\$|\$\(([^()]*)\)", value, text)


def _variable(variable: Json, metadata: Json, cluster: Cluster) -> Json:
    """Return the value of a variable, where that can be known before the pod runs."""
    source = as_object(variable.get("valueFrom"))
    if reference := as_object(source.get("fieldRef")):
        path = re.fullmatch(r"metadata\.(labels|annotations)\['(.*)'\]", str(reference["fieldPath"]))
        if path and (known := get(metadata, path[1], path[2])) is not None:
            return known
    if reference := as_object(source.get("configMapKeyRef")):
        data = cluster.maps.get(str(reference["name"]))
        if data is not None and reference["key"] in data:
            return data[str(reference["key"])]
    return source or str(variable.get("value", ""))


def _source(source: Json, cluster: Cluster) -> Json:
    """Return the source of a volume; of a ConfigMap of the job, the files with their texts."""
    reference = as_object(source.get("configMap"))
    data = cluster.maps.get(str(reference.get("name")))
    if not reference or data is None:
        return source
    items = objects(reference.get("items")) or [{"key": key, "path": key} for key in data]
    files = {item["path"]: [cluster.hosts.canonical(str(data.get(item["key"]))), item.get("mode")] for item in items}
    return {"files": files}


def _old_policies(document: Json, created: list[Json]) -> dict[str, Json]:
    """Return the policies of an old job."""
    spec = as_object(document["spec"])
    run = {**spec, **as_object(spec.get("runPolicy"))}
    fields = {key: run.get(key) for key in ("ttlSecondsAfterFinished", "activeDeadlineSeconds")}
    clean = run.get("cleanPodPolicy") or "None"
    return {
        "suspend": run.get("suspend") is True,
        "cleanPodPolicy": clean,
        **fields,
        **_group(created),
    }


def _new_policies(jobset: Json, created: list[Json], *, of_launcher: bool) -> dict[str, Json]:
    """Return the policies of a JobSet. ``of_launcher``: the deadline is that of the launcher's Job."""
    spec = as_object(jobset["spec"])
    jobs = objects(spec.get("replicatedJobs"))
    if of_launcher:
        jobs = [job for job in jobs if job["name"] == "launcher"]
    specs = [as_object(get(job, "template", "spec")) for job in jobs]
    deadlines = {spec.get("activeDeadlineSeconds") for spec in specs}
    return {
        "suspend": spec.get("suspend") is True,
        "cleanPodPolicy": "Running",  # JobSet deletes the Jobs that are still active, with their pods
        "ttlSecondsAfterFinished": spec.get("ttlSecondsAfterFinished"),
        "activeDeadlineSeconds": _one(deadlines),
        **_group(created),
    }


def _one(values: set[Json]) -> Json:
    return next(iter(values)) if len(values) == 1 else sorted(map(str, values))


def _group(created: list[Json]) -> dict[str, Json]:
    """Return the fields of a PodGroup. Volcano's Jobs name their queue, and count resources as a quota does, too."""
    group = next((one for one in created if one["kind"] == "PodGroup"), None)
    if group is None:
        return {}
    fields = dict(as_object(group["spec"]))
    if fields.get("queue") == "default":
        del fields["queue"]
    least = as_object(fields.get("minResources"))
    if isinstance(least, dict):
        fields["minResources"] = {key: value for key, value in least.items() if not re.match(_QUOTAS, key)}
    return {"group": group["apiVersion"], **{f"group.{key}": value for key, value in fields.items()}}


def differences(kind: str, old: Side, new: Side) -> Iterator[Difference]:
    """Yield the fields in which the two sides differ; a job's pods first. Volcano restarts jobs by other rules."""
    for pod in [*old.pods, *(pod for pod in new.pods if pod not in old.pods)]:
        before, after = old.pods.get(pod), new.pods.get(pod)
        if before is None or after is None:
            yield Difference(kind, pod, "", before and "exists", after and "exists")
            continue
        yield from _compared(kind, pod, before, after)
    yield from _compared(kind, "(job)", old.job, new.job)


def _compared(kind: str, pod: str, before: Mapping[str, Json], after: Mapping[str, Json]) -> Iterator[Difference]:
    for path in [*before, *(path for path in after if path not in before)]:
        if before.get(path) != after.get(path) and not (kind == "Job" and path == "restarts"):
            yield Difference(kind, pod, path, before.get(path), after.get(path), before, after)
