"""A small MPI job whose transport is kubectl exec, compiled, for the tests beside this file."""

from __future__ import annotations

from builders import role, runtime, trainjob
from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import JsonObject

RUNTIME = runtime(
    role(pod="NODE", image="example.com/node:1", container=", command: [COMMAND]"),
    role("launcher", trainer=True, pod="LAUNCHER", image="example.com/launcher:1"),
    metadata="ANNOTATION",
    policy="{mpi: {mpiImplementation: IMPLEMENTATION, numProcPerNode: 2, runLauncherAsNode: AS_NODE}}",
)
JOB = trainjob(metadata=", namespace: team", trainer="{numNodes: NODESEXTRA}")
ANNOTATED = ", annotations: {trainc.dev/transport: kubexec}"


def build(
    implementation: str = "OpenMPI",
    *,
    transport: JsonObject | str | None = None,
    annotation: str = ANNOTATED,
    command: str = "sleep, infinity",
    node: str = "",
    launcher: str = "",
    as_node: bool = False,
    job: str = "",
    nodes: int = 2,
    options: JsonObject | None = None,
    faithful: bool = False,
) -> Build:
    """Compile the job; ``node`` and ``launcher`` are fields of those pods, ``job`` of spec.trainer."""
    runtime = RUNTIME
    for key, text in (
        ("ANNOTATION", annotation),
        ("IMPLEMENTATION", implementation),
        ("AS_NODE", str(as_node).lower()),
        ("COMMAND", command),
        ("NODE", node),
        ("LAUNCHER", launcher),
    ):
        runtime = runtime.replace(key, text)
    sources = [
        Source("runtimes/rt.yaml", runtime),
        Source("jobs/team/job.yaml", JOB.replace("NODES", str(nodes)).replace("EXTRA", job)),
    ]
    own = {**(options or {}), **({} if transport is None else {"transport": transport})}
    config: JsonObject = {"environments": {"prod": own}, "severities": {"TC825": "ignore"}}
    return compile(sources, Options(faithful=faithful, config=config))
