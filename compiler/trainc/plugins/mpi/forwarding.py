"""Which variables of a TrainJob reach ranks on other hosts, and how mpirun is told to hand them over.

Hydra's mpiexec (MPICH 5.0, Intel MPI 2021.18) hands every rank all of its own variables; mpirun of Open MPI (4.1, 5.0)
only those that -x or the parameter mca_base_env_list names. All of it was run.
"""

from __future__ import annotations

from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, as_list, objects
from trainc.basics.regex import lazy
from trainc.plugins.base import env_names, environment, literal, pod_containers
from trainc.plugins.model import Container, Model
from trainc.plugins.mpi.implementations import Implementation
from trainc.upstream import LAUNCHER, NODE, TRAINER

FIX: Final = "env-to-workers"
LIST: Final = "OMPI_MCA_mca_base_env_list"
SEPARATOR: Final = ";"
_EXPORTED = lazy(r"(?:^|[\s'\"])-x[\s'\"]+([^\s=;&|'\"]+)")
_PLAIN = lazy(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


def forwarded(model: Model, implementation: Implementation, container: Container) -> Container:
    """Return the launcher's container that tells mpirun to forward the TrainJob's variables; the fix is its switch.

    Kubernetes expands $(NAME) only behind the variable itself, so those of the TrainJob come first.
    """
    names = _told(model) if model.fixed(FIX) and not implementation.forwards else ()
    if not names:
        return container
    return container.with_env(*environment(model.trainer_list("env")), literal(LIST, SEPARATOR.join(names)))


def left_behind(model: Model, implementation: Implementation) -> list[str]:
    """Return the variables of the TrainJob that ranks on other hosts do not get."""
    names = env_names(model)
    if not names or implementation.forwards or LIST in names or LIST.partition("_MCA_")[2] in _command_line(model):
        return []
    told = _told(model) if model.fixed(FIX) else ()
    listed = str(_own_list(model) or "").split(SEPARATOR)
    reached = {entry.partition("=")[0] for entry in (*told, *listed, *_exported(model))}
    return [name for name in names if name not in reached]


def _told(model: Model) -> tuple[str, ...]:
    """Return the entries of the list that the fix sets; none where job or runtime say themselves what is forwarded.

    mpirun of Open MPI 4 ends at once where it finds both -x and the list.
    """
    if LIST in env_names(model) or _own_list(model) is not None or _exported(model):
        return ()
    launcher = model.pod_set(LAUNCHER)
    if LIST.partition("_MCA_")[2] in _command_line(model) or launcher is None or launcher.ancestor != TRAINER:
        return ()
    entries = (_entry(variable) for variable in objects(model.trainer_list("env")))
    return tuple(entry for entry in entries if entry is not None)


def _entry(variable: JsonObject) -> str | None:
    """Return what hands over one variable, or None where nothing can.

    mpirun takes NAME from its own environment, but an empty text for a value with = in it; with NAME=VALUE the value
    ends at the first semicolon.
    """
    name, value = str(variable.get("name")), variable.get("value")
    if not _PLAIN.fullmatch(name):
        return None
    if not isinstance(value, str) or SEPARATOR not in value:
        return f"{name}=$({name})"
    return name if "=" not in value else None


def _own_list(model: Model) -> Json:
    """Return the list that the runtime sets for the launcher, or None."""
    for job in model.jobs:
        for container in pod_containers(job) if job.get("name") == LAUNCHER else ():
            for variable in objects(container.get("env")) if container.get("name") == NODE else ():
                if variable.get("name") == LIST:
                    return variable.get("value") or ""
    return None


def _exported(model: Model) -> list[str]:
    """Return the variables that the launcher's command line forwards itself; -x NAME, -x NAME=VALUE."""
    return _EXPORTED.findall(_command_line(model))


def _command_line(model: Model) -> str:
    """Return command and arguments of the launcher, the TrainJob's or the runtime's."""
    job = next((job for job in model.jobs if job.get("name") == LAUNCHER), None)
    own = next((c for c in pod_containers(job) if c.get("name") == NODE), {})
    given = (("command", model.command), ("args", model.args))
    words = (word for key, value in given for word in (value if value is not None else as_list(own.get(key))))
    return " ".join(map(str, words))
