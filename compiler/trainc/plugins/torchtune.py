"""torchtune: the command that ``tune run`` becomes, and what it cannot do.

The trigger is spec.trainer.command being exactly ``[tune, run]``.
"""

from __future__ import annotations

from trainc.basics.jsonvalues import Json, Path, dotted, existing, get
from trainc.findings import Finding
from trainc.kube.fielderror import invalid, quote
from trainc.kube.gojson import trim_space
from trainc.kube.gotypes import typed
from trainc.plugins.base import gpu_count, known_bug, node_resources, pod_containers, refused
from trainc.plugins.model import Findings, Model
from trainc.upstream import ANCESTOR_LABEL, NODE, TRAINER, TRAINER_PORT

ENTRYPOINT = ["tune", "run"]
LLAMA_1B, LLAMA_3B, LLAMA_70B, QWEN = "llama3_2/1B", "llama3_2/3B", "llama3_3/70B", "qwen2_5/1.5B"
MODELS = (LLAMA_1B, LLAMA_3B, LLAMA_70B, QWEN)
MANAGED = ("output_dir", "tokenizer.path", "checkpointer.checkpoint_dir", "tokenizer.merges_file")
"""Settings that only the runtime's own command may carry."""

FIX = "torchtune-dataset-args"
PLACE = "/workspace/dataset"
"""Where Trainer's initializers put a data set."""

INSTRUCTIONS = "torchtune.datasets.instruct_dataset"
FORMATS = {"parquet": "parquet", "json": "json", "jsonl": "json", "csv": "csv"}
"""Endings of files to the loaders of the datasets library."""


def is_entrypoint(model: Model) -> bool:
    """Tell whether the TrainJob asks for torchtune."""
    return model.trainer_value("command") == ENTRYPOINT


def model_name(runtime: str) -> str:
    """Return the model that a runtime's name spells: torchtune-llama3.2-1b is llama3_2/1B; "" if it is none."""
    fields = runtime.split("-")
    return f"{fields[1].replace('.', '_')}/{fields[2].upper()}" if len(fields) == 3 else ""


def arguments(model: Model) -> list[str]:
    """Return spec.trainer.args."""
    return [a for a in model.trainer_list("args") if isinstance(a, str)]


def _enabled(args: list[str], setting: str) -> bool:
    pairs = (arg.partition("=") for arg in args if "=" in arg)
    return any(setting in name and trim_space(value).lower() == "true" for name, _, value in pairs)


def uses_qlora(args: list[str]) -> bool:
    """Tell whether the base model is quantized; DoRA overrules it."""
    return not _enabled(args, "model.use_dora") and _enabled(args, "model.quantize_base")


def uses_lora(args: list[str]) -> bool:
    """Tell whether LoRA modules are configured."""
    return any("model.lora_attn_modules" in arg for arg in args)


def recipe(model: Model, nodes: int, procs: int | str, gpus: int) -> tuple[str, str]:
    """Return torchtune's recipe and the configuration, such as llama3_2/1B_lora."""
    args = arguments(model)
    single = nodes == 1 and (procs == 1 or gpus == 1)
    if nodes == 1 and (uses_qlora(args) or uses_lora(args)):
        kind, suffix = "lora_finetune", "_qlora" if uses_qlora(args) else "_lora"
    else:
        kind, suffix = "full_finetune", "_full_multinode" if nodes > 1 else "_full"
    where = "_single_device" if single else "_distributed"
    return kind + where, model_name(runtime_name(model)) + suffix + ("_single_device" if single else "")


def runtime_name(model: Model) -> str:
    """Return spec.runtimeRef.name."""
    return str(get(model.job.data, "spec", "runtimeRef", "name"))


def command(model: Model, nodes: int, procs: int | str) -> tuple[str, ...]:
    """Return the whole command: ``tune run``, rendezvous, recipe, configuration and the runtime's own settings."""
    gpus = gpu_count(node_resources(model))
    many = nodes > 1 or (procs > 1 if isinstance(procs, int) else gpus > 1)
    rendezvous = [f"--rdzv_endpoint={model.master}:{TRAINER_PORT}"] if many else []
    name, config = recipe(model, nodes, procs, gpus)
    own = [word for word in _runtime_words(model) if word.split("=")[0] in MANAGED]
    return (*ENTRYPOINT, *rendezvous, name, "--config", config, *own, *_dataset(model))


def _runtime_words(model: Model) -> list[str]:
    """Return the command of container node in the trainer's jobs of the runtime."""
    return [
        word
        for job in model.jobs
        if get(job, "template", "metadata", "labels", ANCESTOR_LABEL) == TRAINER
        for container in pod_containers(job)
        if container.get("name") == NODE
        for word in _strings(container.get("command"))
    ]


def _dataset(model: Model) -> list[str]:
    """Return the settings of the data set that the initializer fetches; none without the fix.

    They are those of the runtime's command, which Trainer drops, but for the place. A URI that ends in a file says
    what format it has; without a word from either, torchtune takes instructions from Parquet files. A TrainJob that
    fetches no data set of its own has the runtime's, and its settings as they are.
    """
    if not model.fixed(FIX):
        return []
    if uses_runtimes_dataset(model):
        return [f"{name}={value}" for name, value in _own_dataset(model).items()]
    fetched, own = _fetched(model), _own_dataset(model)
    if fetched is None:
        return []
    format_of_file = FORMATS.get(fetched.rpartition(".")[2].lower()) if "." in fetched else None
    settings = {"dataset": INSTRUCTIONS, "dataset.source": "parquet", **own}
    settings.pop("dataset.data_dir", None)
    settings.pop("dataset.data_files", None)
    if format_of_file is not None:
        settings["dataset.source"] = format_of_file
    settings["dataset.data_files" if format_of_file else "dataset.data_dir"] = "/".join(filter(None, (PLACE, fetched)))
    return [f"{name}={value}" for name, value in settings.items()]


def _own_dataset(model: Model) -> dict[str, str]:
    """Return the settings of the data set in the runtime's command."""
    words = (word.partition("=")[::2] for word in _runtime_words(model))
    return {name: value for name, value in words if name == "dataset" or name.startswith("dataset.")}


def uses_runtimes_dataset(model: Model) -> bool:
    """Tell whether the data set is the one that the runtime fetches and has settings for: the TrainJob names none."""
    uri = get(model.job.data, "spec", "initializer", "dataset", "storageUri")
    named = uri or any(argument.startswith("dataset") for argument in arguments(model))
    return not named and bool(_own_dataset(model))


def _fetched(model: Model) -> str | None:
    """Return what of the data set's folder training is to read: a path in it, "" for all; None where none is fetched.

    Source: Trainer v2.3.0 pkg/initializers/dataset. Of s3 it is what lies below the prefix, a file by its own name; of
    hf the whole repository, in which a longer path is a place. What is cached is in no folder.
    """
    uri = get(model.job.data, "spec", "initializer", "dataset", "storageUri")
    if not isinstance(uri, str) or not uri or uri.startswith("cache://"):
        return None
    if any(argument.startswith("dataset") for argument in arguments(model)):
        return None  # the TrainJob says it itself
    scheme, _, rest = uri.partition("://")
    path = rest.strip("/")
    if scheme == "hf":
        return path.split("/", 2)[2] if path.count("/") > 1 else ""
    name = path.rpartition("/")[2]
    return name if name.rpartition(".")[2].lower() in FORMATS and "." in name else ""


def _strings(value: Json) -> list[str]:
    return [v for v in value if isinstance(v, str)] if isinstance(value, list) else []


def check(model: Model, procs: int | str) -> list[Finding]:
    """Return what Trainer refuses of a torchtune job."""
    name = model_name(runtime_name(model))
    nodes = 1 if model.num_nodes is None else model.num_nodes
    findings = []
    if name not in MODELS:
        detail = f"must have a supported pretrained model, invalid model configured: {name}"
        findings.append(_refuse(model, ("spec", "runtimeRef", "name"), runtime_name(model), detail))
    if nodes > 1 and name != LLAMA_70B:
        findings.append(_refuse(model, ("spec", "trainer", "numNodes"), nodes, f"must be 1 for {name} model"))
    findings += _check_qlora(model, name, nodes, procs)
    args = arguments(model)
    if nodes > 1 and (uses_lora(args) or uses_qlora(args)):
        detail = "LoRA fine-tuning is not supported for multi-node training in TorchTune"
        findings.append(_refuse(model, ("spec", "trainer", "numNodes"), nodes, detail))
    for index, arg in enumerate(args):
        key = arg.split("=")[0]
        if key in MANAGED:
            detail = f"must not set immutable config {quote(key)} in trainer args; it is managed by the runtime"
            findings.append(_refuse(model, ("spec", "trainer", "args", index), arg, detail))
    findings += _check_dataset(model, args)
    return findings


def _check_qlora(model: Model, name: str, nodes: int, procs: int | str) -> list[Finding]:
    _, config = recipe(model, nodes, procs, gpu_count(node_resources(model)))
    if "_qlora" not in config:
        return []
    findings = []
    if name == QWEN:
        detail = f"QLoRA is not supported for {name} model"
        findings.append(_refuse(model, ("spec", "runtimeRef", "name"), runtime_name(model), detail))
    if "_qlora_single_device" not in config and name in (LLAMA_1B, LLAMA_3B):
        resources = model.trainer_value("resourcesPerNode")
        shown = typed(resources, "v1.ResourceRequirements") if isinstance(resources, dict) else None
        one = f"must be auto or 1 for {name} model when using QLoRA"
        gpu = f"must have gpu resource with value 1 for {name} model when using QLoRA"
        findings.append(_refuse(model, ("spec", "trainer", "numProcPerNode"), procs, one))
        findings.append(_refuse(model, ("spec", "trainer", "resourcesPerNode"), shown, gpu))
    return findings


def _check_dataset(model: Model, args: list[str]) -> Findings:
    uri = get(model.job.data, "spec", "initializer", "dataset", "storageUri")
    if uses_runtimes_dataset(model) and not model.fixed(FIX):
        lost = ", ".join(_own_dataset(model))
        message = f"the runtime's {lost} are dropped, and torchtune trains on the default data set of its configuration"
        return known_bug(FIX, model.job, ("spec", "trainer", "command"), message)
    if not isinstance(uri, str) or not uri or any(a.startswith("dataset") for a in args):
        return ()
    cached = _fetched(model) is None
    if model.fixed(FIX) and not cached:
        return ()
    remedy = "what is cached (cache://) is in no folder: name a data set that torchtune can read"
    return known_bug(
        FIX,
        model.job,
        ("spec", "initializer", "dataset", "storageUri"),
        "torchtune is not told of this data set and trains on its default one; set dataset.* in spec.trainer.args",
        remedy if cached else None,  # the fix has nothing to add
    )


def _refuse(model: Model, path: Path, value: Json, detail: str) -> Finding:
    text = invalid(dotted(path), value, detail)
    return refused("TC402", model.job, existing(model.job.data, path), text, detail)
