"""A small MPI job, compiled, for the tests beside this file."""

from __future__ import annotations

from builders import role, runtime, trainjob
from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import JsonObject

RUNTIME = runtime(
    role(image="example.com/node:1", container=", command: [/usr/sbin/sshd, -De, -h, /root/.ssh/id_rsa]"),
    role("launcher", trainer=True, pod="POD", containers='[{name: node, image: "example.com/launcher:1"CONTAINER}]'),
    policy="{mpi: {mpiImplementation: OpenMPI, numProcPerNode: 2}}",
)
JOB = trainjob("NAME", metadata=", namespace: team", trainer="{numNodes: 2EXTRA}")


def build(
    keys: JsonObject | str | None = None,
    *,
    pod: str = "",
    container: str = "",
    job: str = "",
    name: str = "job",
    fixes: tuple[str, ...] = (),
    faithful: bool = False,
    beside: tuple[Source, ...] = (),
    options: JsonObject | None = None,
) -> Build:
    """Compile the job; ``pod`` and ``container`` are fields of the launcher, ``job`` of spec.trainer."""
    options = {**(options or {}), **({} if keys is None else {"sshKeys": keys})}
    sources = [
        Source(
            "runtimes/rt.yaml",
            RUNTIME.replace("POD", pod or "{}").replace("{}\n", "\n").replace("CONTAINER", container),
        ),
        Source("jobs/team/job.yaml", JOB.replace("EXTRA", job).replace("NAME", name)),
    ]
    config: JsonObject = {"environments": {"prod": options}}
    return compile([*sources, *beside], Options(faithful=faithful, fixes=fixes, config=config))
