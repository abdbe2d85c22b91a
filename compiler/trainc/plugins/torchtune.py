"""torchtune: the command line for ``tune run``, and its checks.

Applies if spec.trainer.command is exactly ``[tune, run]``.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.basics.jsonvalues import Json, Path, as_list, dotted, existing, get
from trainc.findings import Finding
from trainc.kube.fielderror import invalid, quote
from trainc.kube.gojson import trim_space
from trainc.kube.gotypes import typed
from trainc.kube.pods import REFERENCE
from trainc.plugins.base import (
    DATASET,
    ancestor,
    dataset_uri,
    gpu_count,
    known_bug,
    node_containers,
    node_resources,
    refused,
)
from trainc.plugins.model import Model
from trainc.upstream import TRAINER, TRAINER_PORT

ENTRYPOINT = ["tune", "run"]
LLAMA_1B, LLAMA_3B, LLAMA_70B, QWEN = "llama3_2/1B", "llama3_2/3B", "llama3_3/70B", "qwen2_5/1.5B"
MODELS = (LLAMA_1B, LLAMA_3B, LLAMA_70B, QWEN)
MANAGED = ("output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file")
"""Settings that only the runtime's command may contain."""

FIX = "torchtune-dataset-args"
FOLDER = "/workspace/dataset"
"""The folder to which Trainer's initializers download a dataset."""

LOCATING = frozenset(f"dataset{end}" for end in ("", "._component_", ".source", ".data_dir", ".data_files"))
"""The settings that say which dataset it is; with others alone, such as dataset.packed, it is torchtune's default."""

INSTRUCTIONS = "torchtune.datasets.instruct_dataset"
FORMATS = {"parquet": "parquet", "json": "json", "jsonl": "json", "csv": "csv"}
"""File extensions, and the loaders of the datasets library for them."""

_RUNTIME: Path = ("spec", "runtimeRef", "name")
_NODES: Path = ("spec", "trainer", "numNodes")


def is_entrypoint(model: Model) -> bool:
    """Return whether the TrainJob uses torchtune."""
    return model.trainer_value("command") == ENTRYPOINT


def model_name(runtime: str) -> str:
    """Return the model in a runtime's name: llama3_2/1B for torchtune-llama3.2-1b; empty if there is none."""
    fields = runtime.split("-")
    return f"{fields[1].replace('.', '_')}/{fields[2].upper()}" if len(fields) == 3 else ""


def arguments(model: Model) -> list[str]:
    """Return spec.trainer.args."""
    return [a for a in model.trainer_list("args") if isinstance(a, str)]


def lora(args: list[str]) -> str | None:
    """Return qlora if the base model is quantized, lora if LoRA modules are configured, or None."""
    pairs = [arg.partition("=") for arg in args if "=" in arg]
    enabled = [name for name, _, value in pairs if trim_space(value).lower() == "true"]
    dora, quantized = (any(key in name for name in enabled) for key in ("model.use_dora", "model.quantize_base"))
    if quantized and not dora:  # DoRA overrides quantization
        return "qlora"
    return "lora" if any("model.lora_attn_modules" in arg for arg in args) else None


def recipe(model: Model, nodes: int, procs: int | str, gpus: int) -> tuple[str, str]:
    """Return torchtune's recipe and the configuration, such as llama3_2/1B_lora."""
    single = nodes == 1 and (procs == 1 or gpus == 1)
    if nodes == 1 and (found := lora(arguments(model))):
        kind, suffix = "lora_finetune", f"_{found}"
    else:
        kind, suffix = "full_finetune", "_full_multinode" if nodes > 1 else "_full"
    end = "_single_device" if single else "_distributed"
    return kind + end, model_name(runtime_name(model)) + suffix + ("_single_device" if single else "")


def runtime_name(model: Model) -> str:
    """Return the name of the runtime: spec.runtimeRef.name, or the runtime that the environment uses instead."""
    return str(get(model.runtime.data, "metadata", "name"))


def command(model: Model, nodes: int, procs: int | str) -> tuple[str, ...]:
    """Return the command: ``tune run``, rendezvous, recipe, configuration and the settings of the runtime."""
    gpus = gpu_count(node_resources(model))
    many = nodes > 1 or (procs > 1 if isinstance(procs, int) else gpus > 1)
    rendezvous = [f"--rdzv_endpoint={model.master}:{TRAINER_PORT}"] if many else []
    name, config = recipe(model, nodes, procs, gpus)
    managed = [word for word in _runtime_words(model) if word.split("=")[0] in MANAGED]
    dataset = [f"{name}={value}" for name, value in _dataset(model).items()]
    return (*ENTRYPOINT, *rendezvous, name, "--config", config, *managed, *dataset)


def _runtime_words(model: Model) -> list[str]:
    """Return the command of container node in the trainer's jobs of the runtime."""
    return [
        word
        for job in model.jobs
        if ancestor(job) == TRAINER
        for container in node_containers(job)
        for word in as_list(container.get("command"))
        if isinstance(word, str)
    ]


def _dataset(model: Model) -> dict[str, str]:
    """Return the settings of the dataset that the initializer downloads; none without the fix.

    They are those of the runtime's command, which Trainer drops, with another path. The file extension of the URI
    determines the format; the default is instructions in Parquet files. For a TrainJob without a dataset, they are the
    settings of the runtime.
    """
    if not model.fixed(FIX):
        return {}
    if uses_runtimes_dataset(model):
        return _runtime_dataset(model)
    path = _dataset_path(model)
    if path is None:
        return {}
    file_format = FORMATS.get(path.rpartition(".")[2].lower()) if "." in path else None
    settings = {"dataset": INSTRUCTIONS, "dataset.source": "parquet", **_runtime_dataset(model)}
    settings.pop("dataset.data_dir", None)
    settings.pop("dataset.data_files", None)
    if file_format is not None:
        settings["dataset.source"] = file_format
    settings["dataset.data_files" if file_format else "dataset.data_dir"] = "/".join(filter(None, (FOLDER, path)))
    return settings


def _runtime_dataset(model: Model) -> dict[str, str]:
    """Return the settings of the dataset in the runtime's command."""
    words = (word.partition("=")[::2] for word in _runtime_words(model))
    return {name: value for name, value in words if name == "dataset" or name.startswith("dataset.")}


def uses_runtimes_dataset(model: Model) -> bool:
    """Return whether the job uses the dataset of the runtime: the TrainJob has none."""
    return dataset_uri(model) is None and not _has_dataset_arguments(model) and bool(_runtime_dataset(model))


def _has_dataset_arguments(model: Model) -> bool:
    return any(argument.startswith("dataset") for argument in arguments(model))


def _dataset_path(model: Model) -> str | None:
    """Return the path of the training data in the dataset's folder, "" for all of it; None if there is no such path.

    Source: Trainer v2.3.0 pkg/initializers/dataset. From s3 it downloads the objects below a prefix, or a file with its
    name; from hf the whole repository, with the rest of the URI as a path in it. A cached dataset is not downloaded.
    """
    uri = dataset_uri(model)
    if not uri or uri.startswith("cache://") or _has_dataset_arguments(model):
        return None
    scheme, has_scheme, rest = uri.partition("://")
    path = rest.partition("#")[0].partition("?")[0].partition("/")[2]  # what urlparse calls the path
    is_hub = scheme.lower() == "hf"
    path = path.partition("/")[2].strip("/") if is_hub else path.rpartition("/")[2]
    if REFERENCE.search(path if has_scheme else uri):  # the kubelet replaces it
        return None
    return path if is_hub or (path.rpartition(".")[2].lower() in FORMATS and "." in path) else ""


def check(model: Model) -> Iterator[Finding]:
    """Yield findings on torchtune jobs that Trainer refuses, and on lost datasets."""
    name = model_name(runtime_name(model))
    nodes = 1 if model.num_nodes is None else model.num_nodes
    procs = "auto" if model.num_proc_per_node is None else model.num_proc_per_node
    if name not in MODELS:
        detail = f"must have a supported pretrained model, invalid model configured: {name}"
        message = f"tune run: the name of runtime {runtime_name(model)!r} does not contain a supported model"
        hint = "use a built-in runtime for torchtune, such as torchtune-llama3.2-1b"
        yield _refuse(model, _RUNTIME, runtime_name(model), detail, message, hint)
    if nodes > 1 and name != LLAMA_70B:
        message = f"tune run: {name or 'this model'} does not support several nodes"
        yield _refuse(model, _NODES, nodes, f"must be 1 for {name} model", message, "set it to 1")
    _, config = recipe(model, nodes, procs, gpu_count(node_resources(model)))
    if "_qlora" in config and name == QWEN:
        detail, hint = f"QLoRA is not supported for {name} model", "remove quantize_base from spec.trainer.args"
        yield _refuse(model, _RUNTIME, runtime_name(model), detail, f"tune run: {name} does not support QLoRA", hint)
    if config.endswith("_qlora") and name in (LLAMA_1B, LLAMA_3B):
        resources = model.trainer_value("resourcesPerNode")
        shown = typed(resources, "v1.ResourceRequirements") if isinstance(resources, dict) else None
        one = f"must be auto or 1 for {name} model when using QLoRA"
        gpu = f"must have gpu resource with value 1 for {name} model when using QLoRA"
        message = f"tune run: QLoRA for {name} requires one process per node"
        yield _refuse(model, ("spec", "trainer", "numProcPerNode"), procs, one, message, "set it to auto or 1")
        message = f"tune run: QLoRA for {name} requires one GPU per node"
        hint = 'set nvidia.com/gpu: "1" in limits'
        yield _refuse(model, ("spec", "trainer", "resourcesPerNode"), shown, gpu, message, hint)
    args = arguments(model)
    if nodes > 1 and lora(args):
        detail = "LoRA fine-tuning is not supported for multi-node training in TorchTune"
        yield _refuse(model, _NODES, nodes, detail, "tune run: LoRA does not support several nodes", "set it to 1")
    for index, arg in enumerate(args):
        key = arg.split("=")[0]
        if key in MANAGED:
            detail = f"must not set immutable config {quote(key)} in trainer args; it is managed by the runtime"
            message = f"tune run: {key} is set by the runtime and cannot be changed"
            yield _refuse(model, ("spec", "trainer", "args", index), arg, detail, message, "remove it")
    yield from _check_dataset(model)


def _check_dataset(model: Model) -> Iterator[Finding]:
    uri = dataset_uri(model)
    keys = {argument.partition("=")[0] for argument in arguments(model) if argument.startswith("dataset")}
    downloaded = {"dataset": INSTRUCTIONS, "dataset.source": "parquet", "dataset.data_dir": FOLDER}
    wanted = _runtime_dataset(model) if uri is None else downloaded
    if keys and keys.isdisjoint(LOCATING) and wanted:
        message = f"args have {', '.join(sorted(keys))}, but not the dataset: torchtune trains on its default one"
        hint = f"add the dataset to args, as in {', '.join(f'{key}={value}' for key, value in wanted.items())}"
        yield known_bug(FIX, model.job, ("spec", "trainer", "args"), message, hint)
    if uses_runtimes_dataset(model) and not model.fixed(FIX):
        lost = ", ".join(_runtime_dataset(model))
        message = f"Trainer drops the runtime's {lost}, so torchtune trains on its default dataset"
        yield known_bug(FIX, model.job, ("spec", "trainer", "command"), message)
    if uri is None or _has_dataset_arguments(model):
        return
    known = _dataset_path(model) is not None
    if not known or not model.fixed(FIX):
        message = "torchtune gets no argument for this dataset and trains on its default one"
        cached = "a dataset in the cache (cache://) has no path: use one that torchtune can read"
        unknown = "its address comes from elsewhere, such as a Secret or another variable, so its path is not known"
        remedy = None if known else cached if uri.startswith("cache://") else unknown
        path = existing(model.job.data, (*DATASET, "storageUri"))
        yield known_bug(FIX, model.job, path, f"{message}: set dataset.* in spec.trainer.args", remedy)


def _refuse(model: Model, path: Path, value: Json, detail: str, *texts: str) -> Finding:
    """Report a job that Trainer refuses; ``texts`` are our message and hint."""
    text, (message, hint) = invalid(dotted(path), value, detail), texts
    return refused("TC402", model.job, existing(model.job.data, path), text, message, hint=hint)
