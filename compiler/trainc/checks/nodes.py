"""Checks of the nodes of a job together: MPI jobs that cannot start or end, unresolvable host names, wrong endpoints.

Sources: Trainer v2.3.0 pkg/runtime/framework/plugins/mpi/mpi.go, which finds the replicated jobs by name; JobSet
v0.12.0: success policy, dependsOn, startup policy and, in pkg/controllers/jobset_controller.go, the headless Service.
Kubernetes v1.34: pkg/controller/job (only pods of an Indexed Job have host names) and getPodDNSType in
pkg/kubelet/network/dns/dns.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from trainc.basics.jsonvalues import JsonObject, Path, as_list, existing, get, objects, paths
from trainc.basics.regex import lazy
from trainc.checks.containers import containers, words
from trainc.checks.created_pods import JOB_NAMES
from trainc.checks.jobs import NUM_NODES
from trainc.findings import Finding, Severity, report
from trainc.findings.display import listed
from trainc.gitops.pods import pod_specs, replicated_pods
from trainc.plugins import shaped
from trainc.plugins.base import pod_containers
from trainc.plugins.flux import settings
from trainc.plugins.model import Model, Object
from trainc.plugins.mpi.implementations import HOSTFILE_DIRECTORY
from trainc.plugins.mpi.plugin import ENV_FIX, patched_forwarding
from trainc.plugins.mpi.transport import DISCOVER, by_kubexec, command_line
from trainc.plugins.origins import report_at, source_of
from trainc.plugins.podgroup import ones, replicas_in_jobset
from trainc.upstream import FIXES, JOBSET_LABEL, LAUNCHER, NODE

JOBSET: Final[Path] = ("spec", "template", "spec")

_MPIRUN = lazy(r"\b(?:mpirun|mpiexec|orterun|prterun|horovodrun)\b")
_OWN_HOSTS = lazy(r"(?:^|[\s\"'=])(?:--?(?:hostfile|machinefile|hosts?|H)\b|-f\s+\S*host)|host_?file", re.I)


def check_launching(model: Model) -> Iterator[Finding]:
    """Yield findings on the jobs of an MPI runtime."""
    policy = model.policy("mpi")
    if policy is None:
        return
    missing = [name for name in (LAUNCHER, NODE) if model.pod_set(name) is None]
    if missing:
        # One pod may be both launcher and node; upstream refuses several (TC404).
        nodes = model.num_nodes if model.num_nodes is not None else get(model.policies, "numNodes")
        is_one_enough = policy.get("runLauncherAsNode") is True and nodes in (None, 1)
        if not (is_one_enough and len(missing) == 1):
            yield _incomplete(model, missing)
        return
    if _waits_for_nodes(model):
        message = "the JobSet ends only after the pods of job 'node', which run until they are stopped"
        yield report("TC825", model.runtime, existing(model.runtime.data, (*JOBSET, "successPolicy")), message)
    if not by_kubexec(model) and (ahead := _starts_early(model)):  # the kubexec script waits for the pods
        yield ahead


def _incomplete(model: Model, missing: list[str]) -> Finding:
    what = {
        LAUNCHER: "there is no replicated job 'launcher' that gets the hostfile and starts the ranks",
        NODE: "there is no replicated job 'node', so the hostfile lists no workers",
    }
    hint = f"add the replicated job{'s' * (len(missing) - 1)} {' and '.join(map(repr, missing))}"
    others = [str(job.get("name")) for job in model.jobs if job.get("name") not in (LAUNCHER, NODE)]
    if len(missing) == len(others) == 1:
        hint = f"rename replicated job {others[0]!r} to {missing[0]!r}"
    if len(missing) == 1:
        hint += ", or set runLauncherAsNode: true if all ranks run in one pod"
    elif others:
        hint += ", or rename the jobs that have these roles"
    severity = Severity.WARNING if _launches_itself(model) else model.severity
    found = ", ".join(str(job.get("name")) for job in model.jobs)
    path = existing(model.runtime.data, (*JOBSET, "replicatedJobs"))
    message = "; ".join(what[name] for name in missing)
    return report("TC822", model.runtime, path, message, severity=severity, found=found, hint=hint)


def _launches_itself(model: Model) -> bool:
    """Return whether a command runs mpirun with its own list of hosts, without Trainer's hostfile."""
    lines = [" ".join([*(model.command or ()), *(model.args or ())])]
    for container in (each for job in model.jobs for each in pod_containers(job)):
        variables = (str(variable.get("name")) for variable in objects(container.get("env")))
        lines.append(" ".join([*command_line(container), *variables]))
    return any(_MPIRUN.search(line) and _OWN_HOSTS.search(line) for line in lines)


def _waits_for_nodes(model: Model) -> bool:
    """Return whether the success policy waits for job node, whose pods never end by themselves."""
    policy = model.spec.get("successPolicy")
    targets = as_list(get(policy, "targetReplicatedJobs"))
    if get(policy, "operator") == "Any":
        return bool(targets) and LAUNCHER not in targets
    return not targets or NODE in targets


def _starts_early(model: Model) -> Finding | None:
    """Return a finding if the launcher may start before its nodes are ready, or never starts."""
    names = [job.get("name") for job in model.jobs]
    launcher = model.jobs[names.index(LAUNCHER)]
    depends = next((one for one in objects(launcher.get("dependsOn")) if one.get("name") == NODE), None)
    if get(depends, "status") == "Ready":
        return None
    in_order = get(model.spec, "startupPolicy", "startupPolicyOrder") == "InOrder"
    if depends is None and in_order and names.index(NODE) < names.index(LAUNCHER):
        return None
    message, hint = "the launcher starts without waiting until its nodes are ready", None
    if depends is not None:
        message = "the launcher waits for the pods of job 'node' to complete, which run until they are stopped"
    elif in_order:  # for which JobSet refuses dependsOn
        message = "the launcher starts before its nodes: it comes first in replicatedJobs"
        hint = "put replicated job node first"
    elif names.index(NODE) > names.index(LAUNCHER):  # JobSet also refuses dependsOn of a later job
        hint = "put replicated job node first, and write dependsOn: [{name: node, status: Ready}] in launcher"
    jobs = objects(get(model.runtime.data, *JOBSET, "replicatedJobs"))
    index = next((index for index, job in enumerate(jobs) if job.get("name") == LAUNCHER), 0)
    path = existing(model.runtime.data, (*JOBSET, "replicatedJobs", index, "dependsOn"))
    return report("TC826", model.runtime, path, message, hint=hint)


NEVER: Final = "TC828"
REPLICATED: Final[Path] = ("spec", "replicatedJobs")
_NAMED: Final = 20
"""The most replicated jobs that a message names."""


def check_order(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield findings on replicated jobs that wait for themselves, or for what completes the JobSet.

    JobSet evaluates the success policy before it creates the jobs whose dependencies have just completed.
    """
    jobs = [job for job in objects(get(jobset.data, *REPLICATED)) if job.get("replicas") != 0]
    targets = frozenset(map(str, as_list(get(jobset.data, "spec", "successPolicy", "targetReplicatedJobs"))))
    any_of = get(jobset.data, "spec", "successPolicy", "operator") == "Any"
    names = [str(job.get("name")) for job in jobs]
    counted = {name for name in names if not targets or name in targets}
    empty = [name for name, job in zip(names, jobs, strict=True) if get(job, "template", "spec", "completions") == 0]
    at_once = counted.intersection(empty)
    if at_once and len(empty) < len(jobs) and (any_of or at_once == counted):
        done = listed(sorted(map(repr, at_once)), _NAMED)
        message = f"the JobSet is complete before a pod has run: {done} has no pods, and is complete at once"
        yield report_at(NEVER, model, jobset, ("spec", "successPolicy"), message, severity=model.severity)
    every = objects(get(jobset.data, *REPLICATED))
    bits = {str(job.get("name")): 1 << index for index, job in enumerate(every)}
    all_counted = sum(bit for name, bit in bits.items() if name in counted)
    completed: dict[str, int] = {}  # by job, the bits of the jobs that are complete before it starts
    for index, job in enumerate(every):
        name, path, before = str(job.get("name")), (*REPLICATED, index, "dependsOn"), 0
        for dependency in objects(job.get("dependsOn")):
            before |= completed.get(other := str(dependency.get("name")), 0)
            before |= bits.get(other, 0) if dependency.get("status") == "Complete" else 0
            if other == name:
                message = f"replicated job {name!r} waits for itself, and never starts"
                yield report_at(NEVER, model, jobset, path, message, severity=model.severity, hint="remove it")
        completed[name] = before
        ended = before & all_counted
        if not before & bits[name] and ended and (any_of or ended == all_counted):
            shown = sorted(repr(every[number].get("name")) for number in islice(ones(ended), _NAMED))
            rest = ended.bit_count() - len(shown)
            done = ", ".join(shown) + (f" and {rest:,} more" if rest else "")
            message = f"replicated job {name!r} never starts: the JobSet is complete as soon as {done} is"
            yield report_at(NEVER, model, jobset, path, message, severity=model.severity)


# Fields of a TrainJob that seem to apply to every node, but apply only to MPI's launcher.


LAUNCHER_ONLY: Final = "TC413"


def check_mpi(model: Model) -> Iterator[Finding]:
    """Yield warnings about resources and an image that do not reach the workers.

    Source: Trainer v2.3.0 gives spec.trainer to the job with the ancestor label, the launcher, and resourcesPerNode to
    job node only with runLauncherAsNode.
    """
    policy, node, trains = model.policy("mpi"), model.pod_set(NODE), model.trainer_set
    if policy is None or node is None or trains is None or trains.name != LAUNCHER:
        return
    if model.trainer_value("resourcesPerNode") is not None and policy.get("runLauncherAsNode") is not True:
        message = (
            "resourcesPerNode applies only to the launcher: job 'node', which trains, keeps the runtime's resources"
        )
        hint = "set runLauncherAsNode in the runtime, or set the resources of job 'node' there"
        yield report(LAUNCHER_ONLY, model.job, ("spec", "trainer", "resourcesPerNode"), message, hint=hint)
    worker, image = node.container(NODE), model.trainer_value("image")
    if isinstance(image, str) and worker is not None and worker.image != image:
        message = f"the image applies only to the launcher: job 'node', which trains, keeps {worker.image}"
        hint = "use a runtime whose jobs have this image"
        yield report(LAUNCHER_ONLY, model.job, ("spec", "trainer", "image"), message, hint=hint)


# Host names and rendezvous endpoints.


UNRESOLVED: Final = "TC827"
HOSTNAMES: Final[Path] = ("spec", "network", "enableDNSHostnames")
SUBDOMAIN: Final[Path] = ("spec", "network", "subdomain")
REPLICAS: Final = "replicas"
GANGS: Final = ("coscheduling", "volcano")
_PARALLELISM: Final[Path] = ("template", "spec", "parallelism")
_COMPLETIONS: Final[Path] = ("template", "spec", "completions")
_OF_HOSTS: Final = frozenset(("network", REPLICAS, _PARALLELISM[-1], _COMPLETIONS[-1]))
_NOT_BY_PATCH: Final = "change it in the TrainJob (spec.trainer.numNodes) or in the runtime, not by a patch"
_VARIABLE: Final = "change variables and command in the TrainJob or in the runtime, not by a patch"
RANK_0: Final = {"torch": "torch", "jax": "JAX", "xgboost": "XGBoost"}
"""The policies whose plugins pass the host name of rank 0 to every process."""

_RENDEZVOUS = lazy(r"\b(?:torchrun|torch\.distributed|tune|accelerate|deepspeed)\b")
"""Programs that connect to rank 0 by its host name, even if it is the only rank."""


def check_hostnames(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield findings if a plugin passes host names to processes, but pods have none or do not ask the cluster's DNS."""
    if (policy := _user_of_hostnames(model)) is None:
        return
    network, names = get(jobset.data, "spec", "network"), f"the host names that {policy} uses do not resolve"
    severity = Severity.WARNING if policy in RANK_0.values() and _is_alone(model, jobset.data) else model.severity
    if get(network, "enableDNSHostnames") is False:
        subdomain = get(network, "subdomain") or jobset.name
        if all(pod.get("subdomain") != subdomain for _, pod in pod_specs(jobset.data)):  # a Service of its own
            message = f"enableDNSHostnames is false, so {names}"
            yield report_at(UNRESOLVED, model, jobset, HOSTNAMES, message, severity=severity)
        return
    asking = model.trainer_set.name if model.trainer_set is not None else None
    for name, path, pod in replicated_pods(jobset.data):
        mode: Path = (*path[:3], "template", "spec", "completionMode")
        if name == (NODE if policy == "MPI" else asking) and get(jobset.data, *mode) == "NonIndexed":
            message = f"the pods of a NonIndexed Job have no host names, so {names}"
            hint = "remove completionMode, or set it to Indexed"
            yield report_at(UNRESOLVED, model, jobset, mode, message, severity=severity, hint=hint)
        on_host, dns = pod.get("hostNetwork") is True, pod.get("dnsPolicy")
        if policy == "Flux" and name == NODE and (on_host or pod.get("setHostnameAsFQDN") is True):
            field = "hostNetwork" if on_host else "setHostnameAsFQDN"
            message = f"with {field}, pods have another name than Flux' scripts expect, so none runs the command"
            yield report_at(UNRESOLVED, model, jobset, (*path, field), message, severity=severity, hint="remove it")
        elif name == asking and (dns == "Default" or (on_host and dns in (None, "ClusterFirst"))):
            message = f"the pods ask the DNS of their node, not that of the cluster, so {names}"
            hint = f"set dnsPolicy: {'ClusterFirstWithHostNet' if on_host else 'ClusterFirst'}"
            where = (*path, "hostNetwork" if dns is None else "dnsPolicy")
            yield report_at(UNRESOLVED, model, jobset, where, message, severity=Severity.WARNING, hint=hint)


def check_own_hosts(model: Model, jobset: Object) -> Iterator[Finding]:
    """Warn about hosts of the job in its texts without its run number and hash, or in a namespace that is mapped."""
    end, problem = r"(?![\w-])", "does not exist: the name of the JobSet has a run number or a hash"
    hint = "take the name from label jobset.sigs.k8s.io/jobset-name of the pod, by a variable"
    if jobset.name == model.title:
        if model.namespace == model.home:
            return
        end = rf"\.[a-z0-9-]+\.{re.escape(model.home)}(?![\w-])"
        problem = "is not a pod of this job, which trainc.yaml moves to another namespace"
        hint = "leave out the namespace and what follows it: names without it are of the pod's own namespace"
    names = {str(job.get("name")) for job in objects(get(jobset.data, *REPLICATED))}
    hosts = re.compile(rf"(?<![\w.-])(?<![^/]/){re.escape(model.title)}-([a-z0-9-]+)-\d+-\d+{end}")
    for path, _, container in containers(jobset.data):
        values = ((("env", i, "value"), str(each.get("value"))) for i, each in enumerate(objects(container.get("env"))))
        for where, text in (*words(container), *values):
            if found := next((host for host in hosts.finditer(text) if host[1] in names), None):
                more = {"severity": Severity.WARNING, "found": found[0], "hint": hint}
                yield report_at(UNRESOLVED, model, jobset, (*path, *where), f"host {found[0]} {problem}", **more)


def check_own_labels(model: Model, jobset: Object) -> Iterator[Finding]:
    """Warn if affinities or spread constraints select pods by the job's name without run number and hash."""
    if jobset.name == model.title:
        return
    jobs = {f"{model.title}-{job.get('name')}" for job in objects(get(jobset.data, *REPLICATED))}
    for start, pod in pod_specs(jobset.data):
        for path in paths({part: pod.get(part) for part in ("affinity", "topologySpreadConstraints")}):
            if "labelSelector" not in path or not isinstance(value := get(pod, *path), str):
                continue
            key = path[-1] if path[-2] == "matchLabels" else get(pod, *path[:-2], "key")
            term = get(pod, *path[: path.index("labelSelector")])
            job, _, index = value.rpartition("-")
            is_of_job = key in JOB_NAMES and job in jobs and index.isdecimal()
            is_own = value == model.title if key == JOBSET_LABEL else is_of_job
            if is_own and not get(term, "namespaces") and get(term, "namespaceSelector") is None:
                message = f"no pod has the label {key}: {value}: the name of the JobSet has a run number or a hash"
                hint = f"instead, list {JOBSET_LABEL} in matchLabelKeys or mismatchLabelKeys beside labelSelector"
                more = {"severity": Severity.WARNING, "found": value, "hint": hint}
                yield report_at(UNRESOLVED, model, jobset, (*start, *path), message, **more)


def check_patched_hosts(model: Model, jobset: Object) -> Iterator[Finding]:
    """Warn if patches change pods or names after variables, hostfiles and PodGroups have been made for them."""
    known = (jobset.kind, model.namespace, jobset.plain)
    patches = [each.patch for each in model.options.settings.patches if each.matches(*known)]
    by_names = _user_of_hostnames(model)
    user = by_names or ("MPI" if by_kubexec(model) else next((each for each in GANGS if model.uses(each)), None))
    if user is None or not any(map(_changes_hosts, patches)):
        return
    jobs = objects(get(jobset.data, *REPLICATED))
    if all(0 in (get(job, REPLICAS), get(job, *_PARALLELISM)) for job in jobs):
        return  # TC410
    sets = {each.name: each for each in shaped(model).pod_sets}
    found: list[tuple[Path, str, object, object]] = []
    for index, job in enumerate(jobs):
        if (before := sets.pop(name := str(job.get("name")), None)) is not None:
            counts: list[tuple[Path, int]] = [((REPLICAS,), replicas_in_jobset(before)), (_PARALLELISM, before.count)]
            if user not in GANGS:  # which count the pods that run at once
                counts.append((_COMPLETIONS, before.count))
            for inside, was in counts:
                count = get(job, *inside)
                what = f"{inside[-1]} of job {name!r}"
                found.append(((*REPLICATED, index, *inside), what, 1 if count is None else count, was))
    found += ((REPLICATED, f"the number of jobs called {name!r}", 0, 1) for name in sets)
    found += _patched_subdomain(model, jobset, user) if by_names is not None else ()
    for path, what, now, intended in found:
        if now != intended:
            message = f"{what} is {now!r} after the patches, but {user} is set up for {intended!r}"
            yield report_at(UNRESOLVED, model, jobset, path, message, severity=Severity.WARNING, hint=_NOT_BY_PATCH)


def check_patched_variables(model: Model, jobset: Object) -> Iterator[Finding]:
    """Warn if patches change what mpirun forwards, or the settings of Flux, after what uses them has been made."""
    forwards = model.fixed(ENV_FIX) and model.policy("mpi") is not None
    of_flux = settings(model) if model.uses("flux") else {}
    if not model.options.settings.patches or not (forwards or of_flux):
        return
    for path, job, container in containers(jobset.data, kinds=("containers",)):
        names = job.get("name"), container.get("name")
        if forwards and names == (LAUNCHER, NODE) and (problem := patched_forwarding(model, container)) is not None:
            where, message = (*path, *problem[0]), f"after the patches, {problem[1]}"
            yield report_at(FIXES[ENV_FIX].code, model, jobset, where, message, hint=_VARIABLE)
        for index, variable in enumerate(objects(container.get("env")) if names == (NODE, NODE) else ()):
            name, now = str(variable.get("name")), variable.get("value")
            if isinstance(now, str) and now != (intended := of_flux.get(name, now)):
                where, message = (*path, "env", index, "value"), f"Flux is set up for {name}={intended!r}, not {now!r}"
                yield report_at(UNRESOLVED, model, jobset, where, message, severity=Severity.WARNING, hint=_VARIABLE)


def _patched_subdomain(model: Model, jobset: Object, user: str) -> Iterator[tuple[Path, str, object, object]]:
    """Yield the subdomain after and before the patches if they change it; the default is the name of the JobSet.

    Without fix master-address, the address of rank 0 has the default.
    """
    now = get(jobset.data, *SUBDOMAIN) or jobset.name
    before = get(model.spec, *SUBDOMAIN[1:]) or jobset.name
    if now != before:
        is_default = user in RANK_0.values() and not model.fixed("master-address")
        yield SUBDOMAIN, "the subdomain", now, jobset.name if is_default else before


def _changes_hosts(patch: JsonObject) -> bool:
    """Return whether a patch may change how many pods there are, or their host names; directives may remove any."""
    words = {str(path[-1]) for path in paths(patch) if path}
    return not words.isdisjoint(_OF_HOSTS) or any(word.startswith("$") for word in words)


def _user_of_hostnames(model: Model) -> str | None:
    """Return the plugin or program that finds other pods by host names, or None."""
    if model.policy("mpi") is not None:
        return None if by_kubexec(model) else "MPI"
    if model.policy("flux") is not None:
        return "Flux"
    if model.trainer is None and not get(model.policies, "torch", "envInjection", "targets"):
        return None  # no variable is set
    return next((name for policy, name in RANK_0.items() if model.policy(policy) is not None), None)


def _is_alone(model: Model, jobset: JsonObject) -> bool:
    """Return whether one pod trains, and its command does not seem to connect to rank 0."""
    trainer = model.trainer_set and model.trainer_set.name
    for _, job, container in containers(jobset, kinds=("containers",)):
        if trainer is not None and (job.get("name"), container.get("name")) == (trainer, NODE):
            count = get(job, "template", "spec", "parallelism")
            line = " ".join(command_line(container))
            return isinstance(count, int) and count < 2 and bool(line) and not _RENDEZVOUS.search(line)
    return False


LOCALHOST, SCRIPT = "TC830", "TC835"
_OPTION: Final = lazy(r"--rdzv[-_]endpoint")
_ENDPOINT: Final = lazy(r"--rdzv[-_]endpoint[=\s]+[\"']?(?:localhost|127\.0\.0\.1|\[::1\])(?=[:\s\"']|$)")
_ONE_NODE: Final = lazy(r"--(?:standalone\b|nnodes[=\s]+[\"']?1(?![0-9:]))")
_STANDALONE: Final = lazy(r"(?<!\S)--standalone\b")
"""An option with which torchrun meets at localhost. The number of nodes is still that of the variable PET_NNODES.

Source: PyTorch 2.13 torch/distributed/run.py, run().
"""

_NODES: Final = lazy(r"--nnodes\b")
_DISCOVERY: Final = f"{HOSTFILE_DIRECTORY}/{DISCOVER}"


def check_rendezvous(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield warnings about localhost as the endpoint of several nodes, and about a script that only kubexec mounts."""
    by_ssh = model.policy("mpi") is not None and not by_kubexec(model)
    for path, _, container in containers(jobset.data):
        text = " ".join(command_line(container))
        is_standalone = "torchrun" in text and _STANDALONE.search(text) and not _NODES.search(text)
        if "rdzv" in text and _ENDPOINT.search(text) and not _ONE_NODE.search(text):
            yield from _at_localhost(model, jobset, path, container, _OPTION)
        elif is_standalone and any(each.get("name") == "PET_NNODES" for each in objects(container.get("env"))):
            yield from _at_localhost(model, jobset, path, container, _STANDALONE)
        if by_ssh and DISCOVER in text and get(jobset.data, *path[:3], "name") == LAUNCHER:
            mounts = [mount.get("mountPath") for mount in objects(container.get("volumeMounts"))]
            message = f"{_DISCOVERY} does not exist: Trainer mounts only the hostfile there"
            for at, word in words(container) if _DISCOVERY not in mounts else ():
                if _DISCOVERY in word:
                    yield report_at(SCRIPT, model, jobset, (*path, *at), message)


def _at_localhost(
    model: Model, jobset: Object, path: Path, container: JsonObject, pattern: re.Pattern[str]
) -> Iterator[Finding]:
    nodes = get(jobset.data, *path[:3], "template", "spec", "parallelism")
    if isinstance(nodes, int) and nodes > 1:
        option = next(at for at, word in words(container) if pattern.search(word))
        document, source = source_of(model, jobset, (*path, *option))
        if document is not model.job and model.num_nodes is not None:
            document, source = model.job, NUM_NODES
        message = f"{nodes} nodes, but the rendezvous endpoint in the command is localhost: they never find each other"
        hint = "remove --standalone, or use one node" if pattern is _STANDALONE else None
        yield report(LOCALHOST, document, source, message, hint=hint)
