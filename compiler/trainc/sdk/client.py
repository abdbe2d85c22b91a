"""The client, and its backend: the Kubernetes backend of the SDK, with a repository in place of the cluster.

The SDK itself makes the TrainJob, which a stand-in for the client of the Kubernetes API receives.
Source: kubeflow 0.5.0, kubeflow/trainer/backends/kubernetes/backend.py and utils.py.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import copy
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, TypeAlias

from kubeflow.common.constants import UNKNOWN
from kubeflow.trainer import TrainerClient
from kubeflow.trainer.backends.kubernetes.backend import KubernetesBackend
from kubeflow.trainer.backends.kubernetes.utils import get_runtime_trainer
from kubeflow.trainer.constants import constants
from kubeflow.trainer.options import Name
from kubeflow.trainer.types import types
from kubeflow_trainer_api import models
from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, as_list, get, put
from trainc.basics.memo import exclusive
from trainc.checks.functions import COMMAND, NAMES, SHELL, SYNTAX, TOO_LONG, read_script
from trainc.documents.emit import Block, emit
from trainc.findings import Finding, Severity, suggest
from trainc.findings.display import escape_text
from trainc.findings.fixes import new_run
from trainc.findings.text import render
from trainc.gitops.base import run_of
from trainc.inputs.options import Revision
from trainc.inputs.source import Source
from trainc.kube.names import is_dns1035_label, is_dns1123_label
from trainc.kube.quantity import from_json
from trainc.project.names import JOBS, is_input
from trainc.project.read import find_own_root
from trainc.sdk import functions
from trainc.sdk.errors import SECRET_CODES, FindingsError, FindingsWarning, NeedsClusterError
from trainc.sdk.options import Reference
from trainc.sdk.repository import HEADER, Repository, Stored
from trainc.upstream import RUN_PATH

Trainer: TypeAlias = types.CustomTrainer | types.CustomTrainerContainer | types.BuiltinTrainer

_UNNAMED = "-"
"""The name of a TrainJob that nobody named, in place of the random one of the SDK."""

_IN_FUNCTION = frozenset((SHELL, NAMES, SYNTAX, TOO_LONG))


class GitBackend(KubernetesBackend):
    """A backend that writes TrainJobs to ``jobs/<namespace>/`` of a repository."""

    def __init__(self, root: Path, namespace: str, base: str | None = "HEAD") -> None:
        if wrong := is_dns1123_label(namespace):
            raise ValueError(f"namespace {namespace!r}: {wrong[0]}")
        self.namespace = namespace
        self.repository = Repository(root, namespace)
        self.base = base

    def list_runtimes(self) -> list[types.Runtime]:
        """Return the runtimes that a job can use, without those that the SDK cannot read."""
        found = []
        for data in self.repository.runtimes().values():
            with suppress(RuntimeError):
                found.append(_runtime(data))
        return found

    def get_runtime(self, name: str) -> types.Runtime:
        """Return a runtime. Raises RuntimeError if it does not exist, or the SDK cannot read it."""
        runtimes = self.repository.runtimes()
        if name not in runtimes:
            hint = suggest(name, runtimes) or f"there are {', '.join(sorted(runtimes))}"
            where = f"runtimes/, {JOBS}/{self.namespace}/ or among the built-in ones"
            message = f"runtime {name!r} not found in {where}: {hint}"
            raise RuntimeError(escape_text(message))
        return _runtime(runtimes[name])

    def train(
        self,
        runtime: str | types.Runtime | None = None,
        initializer: types.Initializer | None = None,
        trainer: Trainer | None = None,
        options: list[Any] | None = None,
        *,
        name: str | None = None,
        replace: bool = False,
    ) -> str:
        """Write a TrainJob, and return its name: see ``GitTrainerClient.train``."""
        given = [*(options or ())]  # once: it may be an iterator
        own = [option for option in given if isinstance(option, Reference)]
        others = [option for option in given if not isinstance(option, Reference)]
        named = [Name(name)] if name is not None else []
        created: list[dict[str, Any]] = []
        spec: dict[str, Any] = {}
        last = (_keep_unnamed, lambda made, *_: spec.update(made))
        backend = copy(self)  # other threads and options may call train, too
        backend.custom_api = SimpleNamespace(create_namespaced_custom_object=lambda *args: created.append(args[-1]))
        super(GitBackend, backend).train(runtime, initializer, trainer, [*others, *named, *last])
        (data,) = created
        for key in _left_out(*(get(one, "spec", "runtimePatches") for one in (spec, data))):
            names = "fields are named as in Kubernetes, such as persistentVolumeClaim"
            raise ValueError(escape_text(f"RuntimePatch: the Kubeflow SDK would leave out {key!r}: {names}"))
        name = _checked_name(data["metadata"]["name"], trainer)
        for option in own:
            option.apply(data["spec"])
        _normalize(data)
        of_function = _function(data, trainer)
        file = f"{JOBS}/{self.namespace}/{name}.yaml"
        if not is_input(file):
            raise ValueError(f"name {name!r}: trainc does not read {file}; choose another name")
        existing = self._existing(name, file, replace)
        source, findings = self._compiled(existing.file if existing else file, data, existing)
        if isinstance(trainer, types.CustomTrainer):
            findings = tuple(one for one in findings if one.file != source.name or one.code not in _IN_FUNCTION)
        findings = (*self.repository.settled(of_function), *findings)
        if errors := [*filter(_is_error, findings)]:
            raise FindingsError(name, errors)
        self.repository.write(source)
        if findings:
            _warn(escape_text(f"\n{render(findings)}"))
        return name

    def _existing(self, name: str, file: str, overwrite: bool) -> Stored | None:
        """Return the TrainJob of a name, if its file may be overwritten. Raises FileExistsError and FindingsError."""
        jobs, findings = self.repository.read()
        job = next((job for job in jobs if job.name == name), None)
        if job is None and (
            errors := [one for one in findings if f"{file}/".startswith(f"{one.file}/") and _is_error(one)]
        ):
            raise FindingsError(name, errors)
        if (job is None and (self.repository.root / file).exists()) or (job is not None and not job.alone):
            message = f"{job.file if job else file} has other documents: change TrainJob {name!r} there"
            raise FileExistsError(escape_text(message))
        if job is not None and not job.is_written and not overwrite:
            message = "was not written by this client: replace=True overwrites it, including its comments"
            raise FileExistsError(escape_text(f"{job.file} {message}"))
        return job

    def _compiled(self, file: str, data: JsonObject, existing: Stored | None) -> tuple[Source, tuple[Finding, ...]]:
        """Return the file of a TrainJob, its errors, and the warnings about it.

        Unless an annotation sets the run number, that of the file or of the base revision is kept, or raised to the
        next free one if a cluster would refuse a change since then.
        """
        fixed = get(data, *RUN_PATH) is not None
        data = data if fixed else _numbered(data, existing)
        if existing is not None and existing.document.source.decoded() == _text(data):
            return self._check(file, data, None)
        base = self.repository.base(self.base)
        if not fixed and existing is None and base is not None:
            data = _numbered(data, self.repository.find(str(get(data, "metadata", "name")), base))
        source, findings = self._check(file, data, base)
        runs = (new_run(finding) for finding in filter(_is_error, findings))
        if not fixed and (run := next(filter(None, runs), None)) is not None:
            data = put(data, run.path, run.value)
            source, findings = self._check(file, data, base)
        return source, findings

    def _check(self, file: str, data: JsonObject, base: Revision | None) -> tuple[Source, tuple[Finding, ...]]:
        source = Source(file, _text(data))
        found = self.repository.check(source, base)
        own = [one for one in found if one.file == file]
        secrets = [one for one in own if one.code in SECRET_CODES]
        errors = [one for one in found if _is_error(one) and one not in secrets]
        refused = [replace(one, severity=Severity.ERROR, hint=None) for one in secrets]
        warned = [one for one in own if one.severity is Severity.WARNING and one not in secrets]
        return source, (*errors, *refused, *warned)

    def list_jobs(self, runtime: types.Runtime | None = None) -> list[types.TrainJob]:
        """Return the TrainJobs of ``jobs/<namespace>/``, or those that reference a runtime.

        Of a runtime that does not exist, or that the SDK cannot read, a job has what its TrainJob says.
        """
        jobs = self.repository.read()[0]
        return self._trainjobs([job for job in jobs if runtime is None or _runtime_of(job) == runtime.name])

    def get_job(self, name: str) -> types.TrainJob:
        """Return a TrainJob, without steps and with an unknown status. Raises RuntimeError if it does not exist."""
        return self._trainjobs([self._find(name)])[0]

    def delete_job(self, name: str) -> None:
        """Delete the file of a TrainJob. Raises RuntimeError if it does not exist, or its file has other documents."""
        job = self._find(name)
        if not job.alone:
            raise RuntimeError(escape_text(f"{job.file} has other documents, too: delete TrainJob {name!r} there"))
        (self.repository.root / job.file).unlink()

    def _find(self, name: str) -> Stored:
        if (job := self.repository.find(name)) is None:
            known = [job.name for job in self.repository.read()[0]]
            hint = suggest(name, known, len(known))
            message = f"TrainJob {name!r} not found in {JOBS}/{self.namespace}/{f': {hint}' if hint else ''}"
            raise RuntimeError(escape_text(message))
        return job

    def _trainjobs(self, jobs: Iterable[Stored]) -> list[types.TrainJob]:
        runtimes = {each.name: each for each in self.list_runtimes()}
        return [self._trainjob(job, runtimes.get(_runtime_of(job)) or _unknown_runtime(job)) for job in jobs]

    def _trainjob(self, job: Stored, runtime: types.Runtime) -> types.TrainJob:
        nodes = get(job.document.data, "spec", "trainer", "numNodes")
        count = nodes if isinstance(nodes, int) and nodes else runtime.trainer.num_nodes
        try:
            changed = datetime.fromtimestamp((self.repository.root / job.file).stat().st_mtime, UTC)
        except FileNotFoundError:  # another process has deleted it since it was read
            changed = datetime.now(UTC)
        return types.TrainJob(job.name, runtime, [], count, changed, UNKNOWN)

    def get_runtime_packages(self, runtime: types.Runtime) -> NoReturn:
        """Raise NeedsClusterError: packages are listed in a pod."""
        image = shlex.quote(runtime.trainer.image)
        pod = f"run packages --rm -i --restart=Never --image={image} -- pip list"
        raise self._needs_cluster("the packages of an image", pod)

    def get_job_logs(self, name: str, follow: bool | None = False, step: str = f"{constants.NODE}-0") -> NoReturn:
        """Raise NeedsClusterError, with the command that shows the logs of a step."""
        role, _, index = step.rpartition("-")
        role, index = (role, index) if index.isdecimal() else (step, "0")
        labels, rank = self._labels(name), int(index)
        job = role
        if role == constants.NODE and self.get_job(name).runtime.trainer.command[:1] == ("mpirun",):
            job, rank = (constants.NODE, rank - 1) if rank else (constants.LAUNCHER, 0)  # as the SDK counts
        labels += f",{constants.JOBSET_RJOB_NAME_LABEL}={job},{constants.JOB_INDEX_LABEL}={rank}"
        raise self._needs_cluster("logs", f"logs -l {labels} -c {role} --tail=-1{' -f' if follow else ''}")

    def get_job_events(self, name: str) -> NoReturn:
        """Raise NeedsClusterError, with the command that shows the events of the pods."""
        raise self._needs_cluster("events", f"describe pods -l {self._labels(name)}")

    def wait_for_job_status(
        self,
        name: str,
        status: set[str] = {constants.TRAINJOB_COMPLETE},  # noqa: B006 - the signature of the SDK
        timeout: int = 600,
        polling_interval: int = 2,
        callbacks: list[Callable[[types.TrainJob], None]] | None = None,
    ) -> NoReturn:
        """Raise NeedsClusterError, with the command that waits for the JobSet."""
        condition = "Failed" if status == {constants.TRAINJOB_FAILED} else "Completed"
        jobset = self._labels(name).partition("=")[2]
        wait = f"wait --for=condition={condition} jobset/{jobset} --timeout={timeout}s"
        raise self._needs_cluster("the status of a job", wait)

    def _needs_cluster(self, what: str, command: str) -> NeedsClusterError:
        return NeedsClusterError(escape_text(f"only the cluster has {what}: kubectl -n {self.namespace} {command}"))

    def _labels(self, name: str) -> str:
        """Return the selector of all pods of a TrainJob, by which the SDK finds them, too."""
        run = run_of(self._find(name).document)
        return f"{constants.JOBSET_NAME_LABEL}={name if run == 1 else f'{name}-{run}'}"


class GitTrainerClient(TrainerClient):
    """A TrainerClient that writes TrainJobs to a repository, and reads runtimes and jobs from it.

    ``root`` is the project folder, or one below it; ``namespace`` the folder of jobs/ and the namespace of the jobs.
    Each TrainJob is compared with the revision ``base`` of the repository, whose output a cluster may already have.
    What only a cluster knows raises NeedsClusterError: logs, events, the status of a job, the packages of an image.
    """

    backend: GitBackend

    def __init__(
        self, root: str | os.PathLike[str] = ".", namespace: str = "default", *, base: str | None = "HEAD"
    ) -> None:
        self.backend = GitBackend(find_own_root(Path(root).resolve(strict=True))[0], namespace, base)

    def train(
        self,
        runtime: str | types.Runtime | None = None,
        initializer: types.Initializer | None = None,
        trainer: Trainer | None = None,
        options: list[Any] | None = None,
        *,
        name: str | None = None,
        replace: bool = False,
    ) -> str:
        """Write a TrainJob to ``jobs/<namespace>/<name>.yaml``, and return its name.

        The TrainJob is that of the SDK, compiled for all environments before it is written. ``name`` is the same as the
        option Name, and one of them is required. A file that ``train`` wrote is overwritten, any other only with
        ``replace``.

        Raises FindingsError, and writes nothing, if the TrainJob has errors; ValueError and RuntimeError as the SDK
        does; FileExistsError for a file that is not overwritten. Warns with FindingsWarning.
        """
        return self.backend.train(runtime, initializer, trainer, options, name=name, replace=replace)


@exclusive
def _warn(text: str) -> None:
    """Warn the caller of ``GitTrainerClient.train``, while no other thread ignores warnings about its function."""
    warnings.warn(text, FindingsWarning, stacklevel=5)


def _numbered(data: JsonObject, previous: Stored | None) -> JsonObject:
    """Return a TrainJob with the run number of the previous one."""
    run = 1 if previous is None else run_of(previous.document)
    return data if run == 1 else put(data, RUN_PATH, str(run))


def _text(data: JsonObject) -> str:
    return HEADER + emit(data)


def _is_error(finding: Finding) -> bool:
    return finding.severity is Severity.ERROR


def _runtime(data: JsonObject) -> types.Runtime:
    """Return a runtime as the SDK reads it. Raises RuntimeError if it cannot."""
    name = str(get(data, "metadata", "name"))
    framework = get(data, "metadata", "labels", constants.RUNTIME_FRAMEWORK_LABEL)
    if not isinstance(framework, str):
        raise RuntimeError(f"runtime {name!r} needs label {constants.RUNTIME_FRAMEWORK_LABEL} for the Kubeflow SDK")
    try:
        spec: Any = models.TrainerV1alpha1TrainingRuntimeSpec.from_dict(data["spec"])
        trainer = get_runtime_trainer(framework, spec.template.spec.replicated_jobs, spec.ml_policy)
    except Exception as error:
        raise RuntimeError(escape_text(f"the Kubeflow SDK cannot read runtime {name!r}: {error}")) from error
    return types.Runtime(name, trainer, types.RuntimeKind(data["kind"]))


def _runtime_of(job: Stored) -> str:
    return str(get(job.document.data, "spec", "runtimeRef", "name"))


def _unknown_runtime(job: Stored) -> types.Runtime:
    """Return what a TrainJob says about its runtime."""
    kind, image = (get(job.document.data, "spec", *path) for path in (("runtimeRef", "kind"), ("trainer", "image")))
    trainer = types.RuntimeTrainer(types.TrainerType.CUSTOM_TRAINER, UNKNOWN, str(image or UNKNOWN))
    trainer.set_command(())
    is_local = kind == types.RuntimeKind.TRAINING_RUNTIME.value
    return types.Runtime(
        _runtime_of(job),
        trainer,
        types.RuntimeKind.TRAINING_RUNTIME if is_local else types.RuntimeKind.CLUSTER_TRAINING_RUNTIME,
    )


def _keep_unnamed(job_spec: dict[str, Any], trainer: object, backend: object) -> None:
    """Keep the SDK from inventing a name, as its last option."""
    metadata = job_spec.setdefault("metadata", {})
    metadata["name"] = metadata.get("name") or _UNNAMED


def _left_out(given: Any, kept: Any) -> Iterator[str]:
    """Yield the keys of patches that the SDK does not know, and leaves out."""
    if isinstance(given, dict):
        for key, value in given.items():
            if value is not None:
                yield from _left_out(value, kept[key]) if key in kept else (key,)
    elif isinstance(given, list | tuple):
        for one, other in zip(given, kept, strict=True):
            yield from _left_out(one, other)


def _checked_name(name: str, trainer: Trainer | None) -> str:
    """Return the name of a TrainJob. Raises ValueError if it has none, or one that no JobSet can have."""
    if name == _UNNAMED:
        function = getattr(getattr(trainer, "func", None), "__name__", "my_job")
        example = re.sub(r"[^a-z0-9]+", "-", function.lower()).strip("-") or "my-job"
        raise ValueError(
            "a TrainJob in a repository needs a name, which a later run of the cell finds again:"
            f' name="{example}", or Name("{example}") in options'
        )
    if wrong := is_dns1035_label(name):
        raise ValueError(f"name {name!r}: {wrong[0]}")
    return name


def _normalize(data: dict[str, Any]) -> None:
    """Write quantities as people do (the SDK makes floats: 4.0), and leave out empty lists of variables.

    Raises ValueError for an amount that is not a number.
    """
    spec = data["spec"]
    for amounts in spec.get("trainer", {}).get("resourcesPerNode", {}).values():
        for resource, amount in (amounts or {}).items():
            if isinstance(amount, int | float):
                if not math.isfinite(amount):
                    raise ValueError(f"resources_per_node: {resource} must be a finite number, not {amount}")
                amounts[resource] = from_json(float(amount)).canonical()
    for initializer in spec.get("initializer", {}).values():
        if not initializer.get("env", True):
            del initializer["env"]


def _function(data: JsonObject, trainer: Trainer | None) -> tuple[Finding, ...]:
    """Adapt the script of a CustomTrainer in a TrainJob, and return the findings on its function.

    Raises ValueError for a function whose file has a name that the script cannot write.
    """
    if not isinstance(trainer, types.CustomTrainer):
        return ()
    if wrong := functions.unfit_file(trainer.func):
        raise ValueError(escape_text(wrong))
    command = as_list(get(data, *COMMAND))
    if (script := read_script(str(command[-1]))) is None:
        return ()
    script = functions.as_written(script, trainer.func)
    command[-1] = Block(functions.adapted(script, trainer.func).text)
    return functions.check(script, trainer.func, trainer.func_args, data)
