"""PyTorchJob of Training Operator (pkg/controller.v1/pytorch at v1.9)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from itertools import takewhile
from typing import Final

from ruamel.yaml.comments import CommentedMap

from trainc.basics.jsonvalues import Path, as_list
from trainc.migrate.documents import Converted, Old, whole_number
from trainc.migrate.gang import schedule_together
from trainc.migrate.hosts import check_host
from trainc.migrate.jobs import (
    Replicas,
    RunPolicy,
    count_nodes,
    merged,
    new_job,
    new_runtime,
    replicas_of,
    texts,
    with_pods,
    without_pods,
)
from trainc.migrate.pods import (
    Environment,
    PodSet,
    add_env,
    add_env_of_all,
    completion_index,
    global_index,
    host,
    jobset_name,
    literal,
    replicated_job,
    separate,
)
from trainc.migrate.trees import mapping, sequence
from trainc.upstream import NODE

_FIELD: Final = "pytorchReplicaSpecs"
_CONTAINER: Final = "pytorch"
_PORT, _PORT_NAME = 23456, "pytorchjob-port"
_MASTER: Final = ("MASTER_PORT", "PET_MASTER_PORT", "MASTER_ADDR", "PET_MASTER_ADDR", "WORLD_SIZE", "RANK")
_VARIABLES: Final = ("PYTHONUNBUFFERED", *_MASTER, "PET_NODE_RANK", "PET_NPROC_PER_NODE", "PET_NNODES")
_TORCHRUN: Final = re.compile(r"\btorchrun\b|torch\.distributed\.(?:run|launch)\b")
_STARTS: Final = re.compile(
    r"(?:(?:exec|then|else|do)[ \t]+)?(?:\w+=\S*[ \t]+)*(?:[\w./-]*/)?"
    r"(?:torchrun|python[\d.]*[ \t]+(?:-[\w-]+[ \t]+)*-m[ \t]+torch\.distributed\.(?:run|launch))(?![\w.-])"
)
"""A command that starts torchrun."""
_READS_NOTHING: Final = re.compile(
    r"(?:cat|cd|echo|export|mkdir|mktemp|nvidia-smi|(?:python[\d.]*[ \t]+-m[ \t]+)?pip3?|printf|pwd|read|set|sleep|tee)"
    r"(?![\w./-])"
    r"|\w+=\S*$|#"
)
"""A command without a program that reads the variables."""
_SEPARATOR: Final = re.compile(r"[\n;|()`]|(?<!>)&")
_HERE: Final = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
"""The start of a text within a script, and the line that ends it."""
_SUBSTITUTION: Final = re.compile(r"\$\(|`")
_SHELL: Final = re.compile(r"(?:.*/)?(?:ba|da|z)?sh")
_RUNS_TEXT: Final = re.compile(r"-(?=\w*c)\w*")
"""The option with which a shell runs a text, alone or with others."""
_OF_RANKS: Final = re.compile(r"(?<![A-Z_])(?:MASTER_ADDR|MASTER_PORT|WORLD_SIZE|RANK)\b")
_PROCESSES: Final = re.compile(r"--nproc[-_]per[-_]node")


def convert(old: Old) -> Converted | None:
    """Return a TrainJob whose pods get the variables that the operator sets.

    torchrun needs PET_* only, which Trainer sets. For other programs, the runtime adds MASTER_ADDR, MASTER_PORT,
    WORLD_SIZE and RANK. An elastic job, and one whose master and workers differ, has a runtime without mlPolicy.torch,
    which sets all of them.
    """
    sets = with_pods(old, replicas_of(old, _FIELD, _CONTAINER, "OnFailure", "Master", "Worker"))
    if not sets:
        without_pods(old, _FIELD)
        return None
    job = new_job(old)
    policy = RunPolicy(old, job)
    if not merged(sets):
        runtime, jobs = _separate(old, job, policy, sets)
    else:
        if old.get("spec", "elasticPolicy") is not None:
            pods, runtime = _elastic(old, job, sets)
        else:
            pods, runtime = _fixed(old, job, sets)
        jobs = [replicated_job(count_nodes(old, job, sets), policy.backoff_limit, pods)]
        runtime["spec"]["template"]["spec"]["replicatedJobs"].append(jobs[0])
    schedule_together(old, policy, sets, runtime, jobs)
    return Converted(job, runtime)


def _fixed(old: Old, job: CommentedMap, sets: Mapping[str, Replicas]) -> tuple[PodSet, CommentedMap]:
    """Return the pods and the runtime of a job with a fixed number of equal pods."""
    first = next(iter(sets.values()))
    by_torchrun = _starts_torchrun(first) and not _OF_RANKS.search(first.text)
    nodes = sum(one.count for one in sets.values())
    processes = _processes(old, job, first)
    if by_torchrun or "Master" not in sets:
        environment: Environment = list
        name = "torch"
        variables: tuple[str, ...] = ("PYTHONUNBUFFERED", "PET_NPROC_PER_NODE", "PET_NNODES")
        variables += (*_MASTER, "PET_NODE_RANK") if "Master" in sets else ()
    else:
        environment, name, variables = _variables_of_ranks, "torch-env", _VARIABLES
    pods = PodSet(job=job, environment=environment, variables=variables, port=_PORT_NAME)
    others = [one for index, one in enumerate(first.names) if index != first.main]
    targets = sequence(mapping(jobName=NODE, containerNames=sequence(*others)))
    torch = mapping(envInjection=mapping(targets=targets)) if others else mapping()
    runtime = new_runtime(name, "torch", mapping(numNodes=1, torch=torch))
    if environment is list:
        add_env(job, literal("PYTHONUNBUFFERED", 1))
    elif processes > 1:
        add_env_of_all(old, job, literal("WORLD_SIZE", nodes * processes))
    return pods, runtime


def _starts_torchrun(replicas: Replicas) -> bool:
    """Return whether torchrun starts the program, so that nothing else reads the variables of the operator.

    Any other program may read them: one that a shell, a probe or a hook starts, or one with torchrun as its argument.
    """
    if any("exec" in path for path, _ in texts(replicas.old.get(*replicas.container), ())):
        return False
    command, args = (as_list(replicas.old.get(*replicas.container, key)) for key in ("command", "args"))
    words = [str(word) for word in (*command, *args)] if command else [""]
    if _SHELL.fullmatch(words[0]) is None:
        return _STARTS.match(" ".join(words)) is not None
    options = list(takewhile(lambda word: word.startswith("-") or word == "pipefail", words[1:]))
    script = "".join(words[len(options) + 1 :][:1]) if any(map(_RUNS_TEXT.fullmatch, options)) else ""
    commands = [each.strip() for each in _SEPARATOR.split(_without_texts(script).replace("\\\n", " ")) if each.strip()]
    others = [each for each in commands if _STARTS.match(each) is None]
    return len(others) < len(commands) and all(map(_READS_NOTHING.match, others))


def _without_texts(script: str) -> str:
    """Return a script without its here-documents, such as the function that an SDK writes to a file.

    Lines with commands stay, which the shell runs if the word is not quoted. What does not end is something else, such
    as ``<<< word``.
    """
    kept, end, is_quoted = [], "", False
    for line in script.split("\n"):
        if end:
            end = "" if line.strip() == end else end
            if is_quoted or _SUBSTITUTION.search(line) is None:
                continue
        elif found := _HERE.search(line):
            end, is_quoted = found[2], bool(found[1])
        kept.append(line)
    return script if end else "\n".join(kept)


def _variables_of_ranks() -> list[CommentedMap]:
    """Return the variables of a program that torchrun does not start.

    Trainer sets the variables without a value in place, so that those after them can use their values.
    """
    set_by_trainer = ("PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_NODE_RANK", "PET_NNODES")
    used = {"MASTER_ADDR": 0, "MASTER_PORT": 1, "RANK": 2, "WORLD_SIZE": 3}
    return [
        literal("PYTHONUNBUFFERED", 1),
        *(mapping(name=name) for name in set_by_trainer),
        *(literal(name, f"$({set_by_trainer[index]})") for name, index in used.items()),
    ]


def _processes(old: Old, job: CommentedMap, replicas: Replicas) -> int:
    """Set numProcPerNode, and return the number by which the operator multiplies WORLD_SIZE."""
    path: Path = ("spec", "nprocPerNode")
    value = old.read(*path)
    if (number := whole_number(value)) is not None:
        trainer = job["spec"]["trainer"]
        trainer["numProcPerNode"] = number
        old.moved(trainer, "numProcPerNode", *path)
        return number
    if value not in (None, "auto", "cpu", "gpu"):
        old.refuse(path, "nprocPerNode must be a number, auto, cpu or gpu")
    has_gpu = "gpu" in str(old.get(*replicas.container, "resources")).lower()
    text = replicas.text
    by_default = _TORCHRUN.search(text) is not None and _PROCESSES.search(text) is None
    if (value == "cpu" or not has_gpu) and (by_default or "PET_NPROC_PER_NODE" in text):
        unit = "GPU" if has_gpu else "CPU that the pod requests, or one"
        message = f"nprocPerNode {value or 'auto'}: Trainer lets torchrun start a process per {unit}"
        command = "command" if old.get(*replicas.container, "command") else "args"
        where: Path = path if value is not None else (*replicas.container, command)
        old.warn(where, message, "set spec.trainer.numProcPerNode")
    return 1


def _elastic(old: Old, job: CommentedMap, sets: Mapping[str, Replicas]) -> tuple[PodSet, CommentedMap]:
    """Return the pods and the runtime of an elastic job, with variables of torchrun that Trainer does not set."""
    path: Path = ("spec", "elasticPolicy")
    get = partial(old.read, *path)
    first = next(iter(sets.values()))
    port = get("rdzvPort") or first.port(_PORT_NAME, _PORT)
    backend, where = str(get("rdzvBackend") or "c10d"), get("rdzvHost")
    check_host(old, (*path, "rdzvHost"), str(where), NODE)
    least, most = get("minReplicas"), get("maxReplicas")
    nodes = sets.get("Worker", first).count
    least, most = least or most or nodes, most or least or nodes
    env = [literal("PET_NNODES", f"{least}:{most}")]
    for key, name in (
        ("maxRestarts", "PET_MAX_RESTARTS"),
        ("nProcPerNode", "PET_NPROC_PER_NODE"),
        ("rdzvId", "PET_RDZV_ID"),
    ):
        if (value := get(key)) is not None:
            env.append(literal(name, str(value)))
            old.moved(env[-1], "value", *path, key)
    old.moved(env[0], "value", *path, "minReplicas")
    if get("rdzvConf"):
        pairs = (f"{pair.get('key')}={pair.get('value')}" for pair in old.items(*path, "rdzvConf"))
        env.append(literal("PET_RDZV_CONF", ",".join(pairs)))
    if get("standalone") is True:
        env.append(literal("PET_STANDALONE", ""))
    processes = old.read("spec", "nprocPerNode") or "auto"
    if old.get(*path, "nProcPerNode") is None:
        env.append(literal("PET_NPROC_PER_NODE", str(processes)))
    if old.get(*path, "metrics") is not None:
        message = "metrics have no equal: nothing scales a TrainJob, which starts with numNodes pods"
        old.refuse((*path, "metrics"), message, "remove metrics, and set numNodes to the number of pods to start")
    add_env(job, *env)
    names = ("PYTHONUNBUFFERED", *(str(one["name"]) for one in env), "PET_RDZV_ENDPOINT", "PET_RDZV_BACKEND")
    master = sets.get("Master")
    if master is not None:
        total = sum(one.count for one in sets.values())
        add_env_of_all(old, job, literal("WORLD_SIZE", _world_size(total, str(processes))))
        names += (*_MASTER, "PET_NODE_RANK")

    def environment() -> list[CommentedMap]:
        first_worker = host("node", int(len(sets) > 1))  # after the master
        endpoint = literal("PET_RDZV_ENDPOINT", f"{where or first_worker}:{port}")
        settings = [literal("PYTHONUNBUFFERED", 1), endpoint, literal("PET_RDZV_BACKEND", backend)]
        if master is not None:
            settings += _addresses(master, host("node", 0))
            settings += [completion_index(name) for name in ("RANK", "PET_NODE_RANK")]
        return [jobset_name(), *settings]

    pods = PodSet(job=job, environment=environment, variables=names, port=_PORT_NAME)
    return pods, new_runtime("torch-elastic", "torch", mapping(numNodes=1))


def _addresses(master: Replicas, name: str) -> list[CommentedMap]:
    """Return the variables with the address of the master."""
    port = master.port(_PORT_NAME, _PORT)
    ports = (literal(variable, port) for variable in ("MASTER_PORT", "PET_MASTER_PORT"))
    return [*ports, *(literal(variable, name) for variable in ("MASTER_ADDR", "PET_MASTER_ADDR"))]


def _world_size(nodes: int, processes: str) -> int:
    number = whole_number(processes)
    return nodes * (1 if number is None else number)


def _separate(
    old: Old, job: CommentedMap, policy: RunPolicy, sets: Mapping[str, Replicas]
) -> tuple[CommentedMap, list[CommentedMap]]:
    """Return a runtime with a replicated job of one master, and one with a Job per worker, so that all have a rank."""
    if old.get("spec", "elasticPolicy") is not None:
        old.refuse(("spec", "elasticPolicy"), "an elastic job whose master and workers differ has no equal")
    total = sum(one.count for one in sets.values())
    processes = str(old.read("spec", "nprocPerNode") or "auto")

    def environment() -> list[CommentedMap]:
        return [
            jobset_name(),
            literal("PYTHONUNBUFFERED", 1),
            *_addresses(sets["Master"], host("master", 0)),
            literal("WORLD_SIZE", _world_size(total, processes)),
            *(global_index(name) for name in ("RANK", "PET_NODE_RANK")),
            literal("PET_NPROC_PER_NODE", processes),
            literal("PET_NNODES", total),
        ]

    pods = PodSet(container=_CONTAINER, environment=environment, variables=_VARIABLES)
    return separate(old, job, policy, sets, pods)
