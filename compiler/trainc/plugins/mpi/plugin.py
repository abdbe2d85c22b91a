"""The MPI plugin: hostfile, volumes and the launcher's variables, with checks and known bugs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, existing, get, objects
from trainc.basics.regex import lazy
from trainc.findings import Finding, report
from trainc.kube.fielderror import invalid
from trainc.kube.gojson import int32
from trainc.kube.pods import REFERENCE
from trainc.plugins.base import (
    Plugin,
    config_map,
    env_names,
    environment,
    gpu_count,
    known_bug,
    literal,
    node_containers,
    node_resources,
    refused,
    secret_must_exist,
    typed_env,
)
from trainc.plugins.model import Container, Model, Objects, PodSet
from trainc.plugins.mpi import transport
from trainc.plugins.mpi.implementations import (
    HOSTFILE,
    HOSTFILE_DIRECTORY,
    IMPLEMENTATION_PATH,
    IMPLEMENTATIONS,
    MAX_HOSTS,
    Implementation,
    host_count,
    hostfile,
    implementation_of,
)
from trainc.upstream import JOBSET_LABEL, LAUNCHER, NODE, TRAINER

HOSTFILE_VOLUME = "mpi-hostfile"


def slots(model: Model, policy: JsonObject) -> int:
    """Return the processes per node (M5): of the TrainJob, else the GPUs if the runtime has 1, else of the runtime."""
    if model.num_proc_per_node is not None:
        return model.num_proc_per_node
    count = policy["numProcPerNode"]
    assert isinstance(count, int)
    gpus = gpu_count(node_resources(model)) if count == 1 else 0
    return int32(gpus) if gpus > 1 else count


def counted(model: Model, policy: JsonObject) -> Model:
    """Return the model with the number of nodes in job node, minus one for a launcher that is a node (M1)."""
    node, wanted = model.pod_set(NODE), nodes(model)
    if node is None or wanted is None:
        return model
    if policy.get("runLauncherAsNode") is True:
        is_counted = model.fixed("launcher-counts-as-node") and model.pod_set(LAUNCHER) is not None
        wanted = max(int32(wanted - 1), 0 if is_counted else 1)
    return model.with_pod_set(replace(node, count=wanted))


def nodes(model: Model) -> int | None:
    """Return the number of nodes: spec.trainer.numNodes, with the fix by default the runtime's; else None."""
    if model.num_nodes is None and model.fixed("mpi-num-nodes"):
        return runtime_nodes(model)
    return model.num_nodes


def runtime_nodes(model: Model) -> int | None:
    """Return the number of nodes in mlPolicy.numNodes, 1 by default (M3); None if job node keeps its own number.

    Since 1 is also Trainer's default, a parallelism of job node takes precedence over it.
    """
    count, node = model.policies.get("numNodes", 1), model.replicated_job(NODE)
    if not isinstance(count, int) or not counts_launchers(model):
        return None
    if count == 1 and get(node, "template", "spec", "parallelism") is not None:
        return None
    return max(count, 1)  # as Trainer does for the trainer's pod set


def check(model: Model) -> Iterator[Finding]:
    """Yield findings on jobs that webhook or build refuse, and on known bugs."""
    policy = as_object(model.policy("mpi"))
    yield from _check_launcher(model, policy)
    yield from _check_reserved(model, policy)
    launcher = model.pod_set(LAUNCHER)
    if implementation_of(policy) is None and launcher is not None and launcher.container(NODE) is not None:
        text = "MPI implementation for 0x... doesn't supported"  # M4: the launcher needs its variables
        message = "unknown mpiImplementation: Trainer accepts it, but cannot build the job"
        more = {"found": str(policy.get("mpiImplementation")), "expected": "one of " + ", ".join(IMPLEMENTATIONS)}
        yield refused("TC404", model.runtime, IMPLEMENTATION_PATH, text, message, stage="build", **more)
    yield from transport.check_known_hosts(model, policy)
    if (count := host_count(counted(model, policy))) > MAX_HOSTS:
        detail = f"the hostfile would have {count} lines, more than {MAX_HOSTS}"
        yield refused("TC407", model.job, ("spec", "trainer", "numNodes"), detail, detail, stage="build")
    if model.options.faithful:  # else gitops/keys creates the Secret
        yield from secret_must_exist(model, transport.secret_name(model), transport.secret_keys(model, policy))
    yield from _known_bugs(model, policy)


def shape(model: Model) -> Model:
    """Set counts and slots; add volumes, mounts and the launcher's variables."""
    policy = as_object(model.policy("mpi"))
    model = counted(model, policy)
    policy = {**policy, "numProcPerNode": slots(model, policy)}
    model = replace(model, policies={**model.policies, "mpi": policy})
    shaped = (_pod_set(model, policy, p) if p.name in (NODE, LAUNCHER) else p for p in model.pod_sets)
    return replace(model, pod_sets=tuple(shaped))


def build(model: Model) -> Objects:
    """Return the ConfigMap with the hostfile, and for kubectl exec with the scripts."""
    policy = as_object(model.policy("mpi"))
    implementation, count = implementation_of(policy), slots(model, policy)
    text = hostfile(model, implementation, count) if implementation else ""
    if transport.by_kubexec(model):
        return (transport.kubexec_map(model, text, count),)
    return (config_map(model, f"{model.name}-mpi-hostfile", {HOSTFILE: text}),)


def _pod_set(model: Model, policy: JsonObject, pod_set: PodSet) -> PodSet:
    launches = pod_set.name == LAUNCHER
    if transport.by_kubexec(model):
        pod_set = pod_set.with_volumes(transport.kubexec_volume(model, pod_set.name))
        mounts: list[JsonObject] = [{"name": transport.KUBEXEC_VOLUME, "mountPath": HOSTFILE_DIRECTORY}]
    else:
        pod_set = pod_set.with_volumes(transport.ssh_volume(model, policy, pod_set.name))
        mounts = [{"name": transport.SSH_VOLUME, "mountPath": str(policy["sshAuthMountPath"])}]
        if launches:
            items: list[Json] = [{"key": HOSTFILE, "path": HOSTFILE, "mode": 0o444}]
            source: JsonObject = {"name": f"{model.name}-mpi-hostfile", "items": items}
            pod_set = pod_set.with_volumes({"name": HOSTFILE_VOLUME, "configMap": source})
            mounts.append({"name": HOSTFILE_VOLUME, "mountPath": HOSTFILE_DIRECTORY})
    containers = (c.with_mounts(*mounts) if c.name == NODE else c for c in pod_set.containers)
    implementation = _implementation(model, policy)
    if launches and implementation is not None:
        ssh, count = transport.ssh_arguments(model, policy), slots(model, policy)
        containers = (
            forwarded(model, implementation, c.with_env(*implementation.environment(c, count, ssh)))
            if c.name == NODE
            else c
            for c in containers
        )
    return replace(pod_set, containers=tuple(containers))


def _implementation(model: Model, policy: JsonObject) -> Implementation | None:
    """Return the implementation with the variables that fixes and transport add."""
    return implementation_of(policy, prrte=model.fixed("openmpi5-variables"), kubexec=transport.by_kubexec(model))


def _check_launcher(model: Model, policy: JsonObject) -> Iterator[Finding]:
    count = 1 if model.num_nodes is None else model.num_nodes
    missing = [name for name in (LAUNCHER, NODE) if model.pod_set(name) is None]
    if count < 2 or policy.get("runLauncherAsNode") is not True or not missing:
        return
    detail = (
        "must have 1 when MPI trainingRuntime with enabled runLauncherAsNode does not have either launcher and node"
    )
    text = invalid("spec.trainer.numNodes", count, detail)
    lacks = " and no ".join(map(repr, missing))
    message = f"numNodes {count} with runLauncherAsNode, but the runtime has no replicated job {lacks}"
    add = " and ".join(f"a replicated job {name!r} with a container {NODE!r}" for name in missing)
    alone = ", or set numNodes: 1: with runLauncherAsNode the launcher then trains alone" if missing == [NODE] else ""
    path, hint = ("spec", "trainer", "numNodes"), f"add {add} to the runtime{alone}"
    yield refused("TC404", model.job, path, text, message, found=str(count), hint=hint)


def _check_reserved(model: Model, policy: JsonObject) -> Iterator[Finding]:
    """Refuse variables that Trainer, a fix or the transport sets."""
    names, path = set(env_names(model)), ("spec", "trainer", "env")
    reserved = IMPLEMENTATIONS["OpenMPI"].reserved
    if (implementation := implementation_of(policy)) is not None:
        reserved |= implementation.reserved
    if found := sorted(names & reserved):
        detail = f"must not have reserved envs, invalid envs configured: [{' '.join(found)}]"
        yield refused("TC401", model.job, path, invalid("spec.trainer.env", typed_env(model), detail), detail)
    elif (extended := _implementation(model, policy)) and (added := sorted(names & extended.reserved)):
        by, hint = "transport kubexec", None
        if not transport.by_kubexec(model):
            by, hint = "fix 'openmpi5-variables'", "set it in env of job 'launcher' in the runtime, where it counts"
        yield report("TC401", model.job, path, f"must not have envs that {by} sets", found=" ".join(added), hint=hint)


# The known bugs.

POLICY = ("spec", "mlPolicy", "mpi")


def _known_bugs(model: Model, policy: JsonObject) -> Iterator[Finding]:
    """Yield a warning for each known bug that affects the job."""
    by_ssh = not transport.by_kubexec(model)
    as_node, nodes = policy.get("runLauncherAsNode") is True, model.policies.get("numNodes")
    if by_ssh and policy.get("mpiImplementation") == "OpenMPI" and not model.fixed("openmpi5-variables"):
        message = (
            "Open MPI 5 and newer ignore the OMPI_MCA_orte_* variables: with such an image every rank runs in the"
            " launcher's pod and the job still succeeds"
        )
        yield known_bug("openmpi5-variables", model.runtime, (*POLICY, "mpiImplementation"), message)
    if as_node and all(map(model.pod_set, (LAUNCHER, NODE))):
        yield from _one_node(model)
    if isinstance(nodes, int) and nodes > 1 and counts_launchers(model) and not model.fixed("mpi-num-nodes"):
        message = f"mlPolicy.numNodes applies to the launcher, which gets {nodes} pods, not to job 'node'"
        yield known_bug("mpi-num-nodes", model.runtime, ("spec", "mlPolicy", "numNodes"), message)
    implementation = implementation_of(policy)
    reach_nodes = as_node and not by_ssh  # kubectl exec starts a process with the variables of the container
    if names := not_forwarded(model, implementation) if implementation is not None and not reach_nodes else []:
        some = "" if names == env_names(model) else f"of these variables {' and '.join(names)} reach"
        target = "launcher's and the node's containers" if as_node else "launcher only"
        shell = "ssh" if by_ssh else "kubectl exec"
        message = f"{some or 'these variables reach'} the {target}; {shell} and mpirun do not forward them to the ranks"
        remedy = "name them on mpirun's command line: -x NAME" if model.fixed(ENV_FIX) else None
        yield known_bug(ENV_FIX, model.job, ("spec", "trainer", "env"), f"{message} on other hosts", remedy)
    if by_ssh:
        yield from _ssh_bugs(model, policy)


def _one_node(model: Model) -> Iterator[Finding]:
    """Warn if one node, of the TrainJob or of the runtime, becomes two hosts, or is not the one that it configures."""
    fix = "launcher-counts-as-node"
    by_job = model.num_nodes is not None
    if (model.num_nodes if by_job else runtime_nodes(model)) != 1:
        return
    message = "with runLauncherAsNode one node becomes two hosts: the launcher and one worker"
    remedy = "enable fix 'mpi-num-nodes', too, or set spec.trainer.numNodes" if model.fixed(fix) else None
    if model.fixed(fix) and nodes(model) == 1:
        set_here = as_object(model.trainer).keys() - {"numNodes", "numProcPerNode"}
        if model.trainer_set != model.pod_set(NODE) or counts_launchers(model) or not set_here:
            return
        message = f"the only node is the launcher, so no pod gets {' and '.join(sorted(set_here))} of spec.trainer"
        remedy = f"set the trainer's label on job {LAUNCHER}, not on job {NODE}, or request two nodes"
    document, field = (model.job, "trainer") if by_job else (model.runtime, "mlPolicy")
    yield known_bug(fix, document, existing(document.data, ("spec", field, "numNodes")), message, remedy)


def counts_launchers(model: Model) -> bool:
    """Return whether mlPolicy.numNodes is the number of launchers, since the launcher has the trainer's label."""
    launcher = model.pod_set(LAUNCHER)
    return launcher is not None and launcher.ancestor == TRAINER


def _ssh_bugs(model: Model, policy: JsonObject) -> Iterator[Finding]:
    rooted = next((name for name in (LAUNCHER, NODE) if transport.may_be_root(transport.pod_of(model, name))), None)
    if rooted is not None and not model.fixed("ssh-key-mode"):
        index = next(index for index, job in enumerate(model.jobs) if job.get("name") == rooted)
        message = "id_rsa is mounted with mode 0640, which ssh refuses if the container runs as root without fsGroup"
        path = ("spec", "template", "spec", "replicatedJobs", index)
        yield known_bug("ssh-key-mode", model.runtime, path, message)
    if transport.strict(model, policy):
        return
    message = "no known_hosts is mounted: ssh either skips the check of host keys (StrictHostKeyChecking no) or fails"
    remedy = None
    if model.fixed("ssh-known-hosts"):
        if transport.is_literal(policy):
            key = f"{str(policy.get('sshAuthMountPath')).rstrip('/')}/id_rsa"
            message += "; the nodes' command line does not configure the job's key (-h .../id_rsa) as sshd's first one"
            remedy = f"make -h {key} the first host key of sshd in job {NODE} of the runtime, so that ssh checks it"
        else:
            message += "; ssh or the kubelet does not take sshAuthMountPath literally"
            remedy = "choose a sshAuthMountPath of letters, digits, dots and dashes"
    yield known_bug("ssh-known-hosts", model.runtime, POLICY, message, remedy)


# The variables of a TrainJob that mpirun forwards to ranks on other hosts.
#
# Hydra's mpiexec (MPICH 5.0, Intel MPI 2021.18) forwards all of its variables; mpirun of Open MPI (4.1, 5.0) only those
# in -x or in the parameter mca_base_env_list. All of these were tested.

ENV_FIX: Final = "env-to-workers"
LIST: Final = "OMPI_MCA_mca_base_env_list"
SEPARATOR: Final = ";"
_SIGNS: Final = frozenset((SEPARATOR, "="))
_OF_ALL_PODS: Final = ("metadata.namespace", f"metadata.labels['{JOBSET_LABEL}']")
"""The fields of a pod that are the same in all pods of a job."""
_EXPORTED = lazy(r"(?:^|[\s'\"])--?x[\s'\"]+([^\s=;&|'\"]+)")
_PLAIN = lazy(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


def forwarded(model: Model, implementation: Implementation, container: Container) -> Container:
    """Return the launcher's container with the list of variables that mpirun forwards, if the fix is enabled.

    Kubernetes expands $(NAME) only after the variable itself, so those of the TrainJob come first.
    """
    names = _forwarded_entries(model) if model.fixed(ENV_FIX) and not implementation.forwards else ()
    if not names:
        return container
    return container.with_env(*environment(model.trainer_list("env")), literal(LIST, SEPARATOR.join(names)))


def not_forwarded(model: Model, implementation: Implementation) -> list[str]:
    """Return the variables of the TrainJob that ranks on other hosts do not get."""
    names = env_names(model)
    if not names or implementation.forwards or LIST in names or LIST.partition("_MCA_")[2] in _command_line(model):
        return []
    added = _forwarded_entries(model) if model.fixed(ENV_FIX) else ()
    listed = str(_runtime_list(model) or "").split(SEPARATOR)
    reached = {entry.partition("=")[0] for entry in (*added, *listed, *_exported(model))}
    return [name for name in names if name not in reached]


def _forwarded_entries(model: Model) -> tuple[str, ...]:
    """Return the entries of the list that the fix sets; none if job or runtime configure forwarding.

    mpirun of Open MPI 4 fails if both -x and the list are set.
    """
    if LIST in env_names(model) or _runtime_list(model) is not None or _exported(model):
        return ()
    launcher = model.pod_set(LAUNCHER)
    if LIST.partition("_MCA_")[2] in _command_line(model) or launcher is None or launcher.ancestor != TRAINER:
        return ()
    own = environment(model.trainer_list("env"))
    container = launcher.container(NODE)
    found = _entries(own, container.with_env(*own).env if container is not None else own)
    return tuple(entries[0] for entries in found if entries)


def _entries(own: Iterable[JsonObject], variables: Iterable[JsonObject]) -> Iterator[list[str]]:
    """Yield the entries, the best one first, that forward each one of ``own`` of the ``variables`` of a container.

    With NAME, mpirun uses its own variable, but the empty string for a value that contains =. With NAME=VALUE, the
    value ends at the first semicolon. Other names, and values with both characters, cannot be forwarded, nor optional
    ones: without a value, Kubernetes leaves $(NAME) as it is.
    """
    signs = _signs_in_values(variables)
    for variable in own:
        name, source = str(variable.get("name")), as_object(variable.get("valueFrom"))
        if _PLAIN.fullmatch(name) and not any(get(reference, "optional") is True for reference in source.values()):
            forms = ((f"{name}=$({name})", SEPARATOR), (name, "="))
            yield [entry for entry, sign in forms if sign not in signs[name]]


def patched_forwarding(model: Model, container: JsonObject) -> tuple[Path, str] | None:
    """Return what is wrong with the list of the fix in the launcher's container after the environment's patches."""
    entries, variables = _forwarded_entries(model), objects(container.get("env"))
    if not entries or literal(LIST, SEPARATOR.join(entries)) not in variables:
        return None
    if _EXPORTED.search(" ".join(transport.command_line(container))):
        field = "args" if container.get("args") else "command"
        return (field, 0), f"mpirun fails, since both its option -x and {LIST} forward variables"
    names = [entry.partition("=")[0] for entry in entries]
    patched = _entries([each for each in variables if each.get("name") in names], variables)
    right = {entry for found in patched for entry in found}
    wrong = next((name for name, entry in zip(names, entries, strict=True) if entry not in right), None)
    if wrong is None:
        return None
    where = next(((index, "value") for index, each in enumerate(variables) if each.get("name") == wrong), ())
    return ("env", *where), f"{wrong} in {LIST} has another value on other hosts"


def _signs_in_values(variables: Iterable[JsonObject]) -> dict[str, frozenset[str]]:
    """Return which of ; and = are in the values of variables, with those to which they refer; none in unknown ones.

    Both are in a value of the launcher's own pod, which is wrong in other pods.
    """
    found: dict[str, frozenset[str]] = {}
    for variable in variables:
        text, source = str(variable.get("value") or ""), as_object(variable.get("valueFrom"))
        earlier = (found.get(reference[2], frozenset()) for reference in REFERENCE.finditer(text))
        of_pod = "resourceFieldRef" in source or get(source, "fieldRef", "fieldPath") not in (None, *_OF_ALL_PODS)
        found[str(variable.get("name"))] = _SIGNS if of_pod else _SIGNS.intersection(text).union(*earlier)
    return found


def _runtime_list(model: Model) -> Json:
    """Return the list that the runtime sets for the launcher, or None."""
    for container in node_containers(model.replicated_job(LAUNCHER)):
        for variable in objects(container.get("env")):
            if variable.get("name") == LIST:
                return variable.get("value") or ""
    return None


def _exported(model: Model) -> list[str]:
    """Return the variables that the launcher's command line forwards: -x NAME, -x NAME=VALUE."""
    return _EXPORTED.findall(_command_line(model))


def _command_line(model: Model) -> str:
    """Return the launcher's command line as one text."""
    return " ".join(transport.node_command_line(model, LAUNCHER))


PLUGIN = Plugin("MPI", ("mlPolicy", "mpi"), check=check, shape=shape, build=build)
