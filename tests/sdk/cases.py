"""GitTrainerClient, compared with what the SDK itself sends to an API server. See test_sdk.py, which runs this file."""

# ruff: noqa: T201, W291, W293

from __future__ import annotations

import ast
import contextlib
import functools
import io
import json
import linecache
import os
import pickle
import re
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kubeflow.trainer import (
    BuiltinTrainer,
    CustomTrainer,
    CustomTrainerContainer,
    DataCacheInitializer,
    DataType,
    HuggingFaceDatasetInitializer,
    HuggingFaceModelInitializer,
    Initializer,
    LoraConfig,
    S3DatasetInitializer,
    S3ModelInitializer,
    TorchTuneConfig,
    TorchTuneInstructDataset,
    TrainerClient,
    options,
)
from kubeflow.trainer.backends.kubernetes.backend import KubernetesBackend
from kubernetes.client import ApiException

from effort import thorough
from gitrepo import commit
from trainc.basics.memo import exclusive
from trainc.checks.functions import Script, mistakes, quoted, read_script
from trainc.documents.emit import emit
from trainc.documents.load import load
from trainc.inputs.source import Source
from trainc.kube.quantity import from_json
from trainc.pipeline.runtimes import builtin_object
from trainc.sdk import (
    FindingsError,
    FindingsWarning,
    GitTrainerClient,
    InitializerSecret,
    NeedsClusterError,
    SecretEnv,
)
from trainc.sdk.repository import Repository

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "first-job.ipynb"
PAGE = ROOT / "docs" / "sdk.md"
IMAGE = "registry.example.com/vision/mnist:1.4"
RESOURCES = {"cpu": 4, "memory": "8Gi", "gpu": 1}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "trainc.yaml").write_text("fixes: recommended\nenvironments: {prod: {}}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def client(root: Path) -> GitTrainerClient:
    return GitTrainerClient(namespace="team-a")


def document(path: Path) -> dict[str, Any]:
    found, findings = load(Source(path.name, path.read_bytes()))
    assert not findings
    return found[0].data


def written(client: GitTrainerClient, **arguments: Any) -> dict[str, Any]:
    """Return the TrainJob that the client writes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FindingsWarning)
        name = client.train(**arguments)
    return document(client.backend.repository.root / "jobs" / "team-a" / f"{name}.yaml")


class Api:
    """An API server that has the runtimes of this repository, and keeps what is created."""

    def __init__(self) -> None:
        self.created: list[dict[str, Any]] = []

    def get_namespaced_custom_object(self, *names: str, async_req: bool) -> Any:
        raise ApiException(status=404)

    def get_cluster_custom_object(self, *names: str, async_req: bool) -> Any:
        return SimpleNamespace(get=lambda timeout: document(ROOT / "runtimes" / f"{names[-1]}.yaml"))

    def create_namespaced_custom_object(self, *arguments: Any) -> None:
        assert arguments[:4] == ("trainer.kubeflow.org", "v1alpha1", "team-a", "trainjobs")
        self.created.append(arguments[-1])


def sent(**arguments: Any) -> dict[str, Any]:
    """Return the TrainJob that the SDK sends to an API server, as JSON."""
    backend = object.__new__(KubernetesBackend)  # its __init__ looks for a cluster
    backend.namespace, backend.custom_api = "team-a", Api()
    backend.train(**arguments)
    (created,) = backend.custom_api.created
    return json.loads(json.dumps(created))


def canonical(value: Any) -> Any:
    """Return a TrainJob with canonical quantities, and without what means nothing.

    Those are empty lists, and the empty line at the beginning of a script.
    """
    if isinstance(value, dict):
        kept = {key: canonical(item) for key, item in value.items() if item not in ({}, [])}
        amounts = (key for key in kept if key in ("limits", "requests"))
        return {**kept, **{key: {k: from_json(v).canonical() for k, v in kept[key].items()} for key in amounts}}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    return value.lstrip("\n") if isinstance(value, str) else value


def train_mnist(epochs: int = 1) -> None:
    import random

    for epoch in range(epochs):
        print(f"epoch {epoch}: loss {random.random():.2f}")


POD = options.PodSpecPatch(
    service_account_name="trainer",
    node_selector={"pool": "gpu"},
    tolerations=[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
    volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "mnist"}}],
    containers=[options.ContainerPatch("node", volume_mounts=[{"name": "data", "mountPath": "/data"}])],
    security_context={"runAsUser": 1000},
    scheduling_gates=[{"name": "example.com/quota"}],
    image_pull_secrets=[{"name": "registry"}],
)
PATCH = options.RuntimePatch(
    options.TrainingRuntimeSpecPatch(
        options.JobSetTemplatePatch(
            {"labels": {"example.com/team": "a"}},
            options.JobSetSpecPatch(
                [
                    options.ReplicatedJobPatch(
                        "node",
                        options.JobTemplatePatch(
                            {"annotations": {"example.com/note": "yes"}},
                            options.JobSpecPatch(options.PodTemplatePatch({"labels": {"example.com/on": "on"}}, POD)),
                        ),
                    )
                ]
            ),
        )
    )
)
CONTAINER = CustomTrainerContainer(IMAGE, num_nodes=2, resources_per_node=RESOURCES, env={"A": "yes", "B": "1e3"})
TUNE = TorchTuneConfig(
    dtype=DataType.BF16,
    batch_size=8,
    epochs=2,
    num_nodes=1,
    peft_config=LoraConfig(lora_rank=8, use_dora=True),
    dataset_preprocess_config=TorchTuneInstructDataset(split="train[:10%]", column_map={"input": "q"}),
    resources_per_node={"gpu": 2, "memory": 16 * 1024**3, "cpu": 0.5},
)
HUGGING_FACE = Initializer(
    HuggingFaceDatasetInitializer("hf://tatsu-lab/alpaca/data.json", ignore_patterns=["*.md"]),
    HuggingFaceModelInitializer("hf://meta-llama/Llama-3.2-1B-Instruct"),
)
S3 = Initializer(
    S3DatasetInitializer(
        "s3://data/alpaca", endpoint="https://s3.example.com", region="eu", role_arn="arn:aws:iam::1:role/r"
    ),
    S3ModelInitializer("s3://models/llama"),
)
CACHE = Initializer(DataCacheInitializer("cache://schema/table", "s3://data/metadata.json", 2, worker_mem="2Gi"))

EQUAL: dict[str, dict[str, Any]] = {
    "Name": {"trainer": CONTAINER},
    "Labels": {"trainer": CONTAINER, "options": [options.Labels({"example.com/team": "a"})]},
    "Annotations": {"trainer": CONTAINER, "options": [options.Annotations({"example.com/note": "a: b\n c\n"})]},
    "TrainerCommand": {"trainer": CONTAINER, "options": [options.TrainerCommand(["python", "-c", "\nprint(1)\n"])]},
    "TrainerArgs": {"options": [options.TrainerArgs(["--epochs", "010"])]},
    "RuntimePatch": {"trainer": CONTAINER, "options": [PATCH]},
    "ActiveDeadlineSeconds": {"trainer": CONTAINER, "options": [options.ActiveDeadlineSeconds(3600)]},
    "function": {"trainer": CustomTrainer(train_mnist, {"epochs": 2}, IMAGE, ["tqdm>4"], num_nodes=2, env={"A": ""})},
    "no trainer": {"runtime": "xgboost-distributed"},
    "large amounts": {"trainer": CustomTrainerContainer(IMAGE, resources_per_node={"memory": 1e22, "cpu": 1.1})},
    "mpi": {"runtime": "mlx-distributed", "trainer": CustomTrainer(train_mnist)},
    "torchtune": {"runtime": "torchtune-llama3.2-1b", "initializer": HUGGING_FACE, "trainer": BuiltinTrainer(TUNE)},
    "S3": {"runtime": "torchtune-llama3.2-1b", "initializer": S3, "trainer": BuiltinTrainer(TorchTuneConfig())},
    "cache": {"runtime": "torch-distributed-with-cache", "initializer": CACHE, "trainer": CONTAINER},
}


@pytest.mark.parametrize("case", EQUAL)
def test_a_trainjob_is_the_one_that_the_sdk_sends(case: str, client: GitTrainerClient) -> None:
    arguments = {**EQUAL[case], "options": [options.Name("mnist"), *EQUAL[case].get("options", [])]}
    assert canonical(written(client, **arguments)) == canonical(sent(**arguments))


def test_the_client_is_a_trainer_client(client: GitTrainerClient) -> None:
    assert isinstance(client, TrainerClient)
    assert isinstance(client.backend, KubernetesBackend), "what the options ask for"
    assert client.backend.train(options=[options.Name("plain")]) == "plain"


JOB = """\
# Written by trainc.sdk. Running the notebook again overwrites this file.
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: mnist
spec:
  runtimeRef:
    kind: ClusterTrainingRuntime
    name: torch-distributed
  trainer:
    command:
    - bash
    - -c
    - |-
      read -r -d '' SCRIPT << EOM

      def train_mnist(epochs: int = 1) -> None:
          import random

          for epoch in range(epochs):
              print(f"epoch {epoch}: loss {random.random():.2f}")

      train_mnist()

      EOM
      printf "%s" "$SCRIPT" > "cases.py"
      torchrun "cases.py"
    resourcesPerNode:
      limits:
        cpu: "4"
        memory: 8Gi
        nvidia.com/gpu: "1"
      requests:
        cpu: "4"
        memory: 8Gi
        nvidia.com/gpu: "1"
"""


def test_the_file_reads_as_a_person_would_write_it(client: GitTrainerClient, root: Path) -> None:
    trainer = CustomTrainer(train_mnist, resources_per_node=RESOURCES)
    assert client.train(name="mnist", trainer=trainer) == "mnist"
    assert (root / "jobs/team-a/mnist.yaml").read_text(encoding="utf-8") == JOB


# Functions that the shell changes.


def dollars() -> None:
    print("$5 ${HOME} $(date) $$ $$$ `date` \\$HOME \\\\ \\` $[1+1] $@ $(PATH) $$(PATH) \"$'x'\"")
    print(
        "back\
slash"
    )


def quoting() -> None:
    print("""
EOM
EOM_
""")


def unchanged() -> None:
    print("5 $ 'a' \"b\" \n $. {} \x41 \t 100%".format("ä"))


def blanks() -> None:
    # The first line of the text ends in blanks.
    print("""a  
b""")


def nested() -> Callable[[], None]:
    def prompt() -> None:
        text = f"""
        The indentation of a text,  
        
and a line of blanks, are parts of the text: {1 + 1}
"""
        print(text)

    # A comment may have less indentation.

    return prompt


def run(script: str, folder: Path) -> str:
    """Return the Python file that a container with this script runs."""
    program = folder / "torchrun"
    program.write_text("#!/bin/sh\ncat\n".replace("cat", 'cat "$1"'), encoding="utf-8")
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    command = ["bash", "-c", expanded(script, {"PATH": "/usr/bin"})]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout


def expanded(text: str, variables: dict[str, str]) -> str:
    """Expand a word of a command as the kubelet does: k8s.io/kubernetes/third_party/forked/golang/expansion."""
    names = r"\$(?:(\$)|\(([^)]*)\))"
    return re.sub(names, lambda m: m[1] or variables.get(m[2], m[0]), text)


@pytest.mark.parametrize(
    ("function", "changes"), [(dollars, True), (quoting, True), (unchanged, False), (blanks, False)]
)
def test_a_function_reaches_python_byte_for_byte(
    function: Callable[[], None], changes: bool, client: GitTrainerClient, tmp_path: Path
) -> None:
    arguments = {"trainer": CustomTrainer(function), "options": [options.Name("mnist")]}
    theirs, ours = (job["spec"]["trainer"]["command"][-1] for job in (sent(**arguments), written(client, **arguments)))
    name, code = function.__name__, Path(__file__).read_text(encoding="utf-8")
    (source,) = re.findall(rf"(?ms)^def {name}\(.*?(?=^\n^\n(?:def|@))", code)
    expected = f"{source}\n{name}()"
    assert run(ours, tmp_path) == expected
    assert (run(theirs, tmp_path) == expected) is not changes
    assert "    - |-\n" in (client.backend.repository.root / "jobs/team-a/mnist.yaml").read_text(encoding="utf-8")
    script = read_script(theirs)
    assert script is not None
    assert (("TC060" in {mistake.code for mistake in mistakes(script)}), script.text == ours) == (changes, not changes)


def test_a_text_reaches_python_byte_for_byte(
    client: GitTrainerClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    function = nested()
    function()
    shown = capsys.readouterr().out
    assert shown.splitlines()[2] == " " * 8
    script = written(client, name="mnist", trainer=CustomTrainer(function))["spec"]["trainer"]["command"][-1]
    code = run(script, tmp_path)
    assert code.startswith("def prompt() -> None:\n    text = f")
    exec(code, {})
    assert capsys.readouterr().out == shown


def test_what_bash_changes_is_found(tmp_path: Path) -> None:
    signs = [first + second for first in "$\\`" for second in "a_5{(@*#?!-[$`\\\"' ./%&=+:;~|<>)]},^\n"]
    codes = [f"x = 1 # {sign}1\ny" for sign in signs]
    texts = [
        f'read -r -d \'\' SCRIPT << EOM\n\n{code}\nEOM\nprintf "%s" "$SCRIPT" > "{number}"\ntorchrun "{number}"'
        for number, code in enumerate(codes)
    ]
    scripts = [script for text in texts if (script := read_script(text)) is not None]
    assert len(scripts) == len(signs) == 108
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for folder, commands in ((theirs, texts), (ours, [quoted(script).text for script in scripts])):
        folder.mkdir()
        run("torchrun() { :; }\n" + "".join(f"(\n{command}\n)\n" for command in commands), folder)
    for number, (code, script) in enumerate(zip(codes, scripts, strict=True)):
        file = theirs / str(number)  # missing where bash cannot read the here-document
        changed = not file.exists() or file.read_text(encoding="utf-8") != code
        assert changed == any(mistake.code == "TC060" for mistake in mistakes(script)), code
        assert (ours / str(number)).read_text(encoding="utf-8") == code


# Findings.


def undefined(path: object) -> None:
    print(path, "ä", np.mean([1]))  # noqa: F821


def refusal(client: GitTrainerClient, **arguments: Any) -> str:
    """Return the text of a refusal, and check that nothing is written."""
    with pytest.raises(FindingsError) as caught:
        client.train(name="mnist", **arguments)
    assert not (client.backend.repository.root / "jobs").exists()
    assert caught.value._render_traceback_() == f"FindingsError: {caught.value}".splitlines()
    return str(caught.value)


def test_mistakes_in_a_function_are_shown_at_its_lines(
    client: GitTrainerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = lines.index('    print(path, "ä", np.mean([1]))  # noqa: F821') + 1
    text = refusal(client, trainer=CustomTrainer(undefined, {"path": Path("data")}))
    rule = "only its own source reaches the pod"
    hint = "import or define it inside the function, or pass it in func_args as a number, text, list or dict"
    assert (
        text
        == f"""\
TrainJob 'mnist' has errors, and was not written:

tests/sdk/cases.py:{line - 1}:1: error[TC061]: the function does not define 'PosixPath': {rule}
     |
 {line - 1} | def undefined(path: object) -> None:
     | ^^^^^^^^^^^^^^^^^^
     = found: PosixPath
     = hint: {hint}

tests/sdk/cases.py:{line}:22: error[TC061]: the function does not define 'np': {rule}
     |
 {line} |     print(path, "ä", np.mean([1]))  # noqa: F821
     |                      ^
     = found: np
     = hint: {hint}"""
    )

    def inner() -> None:
        return undefined(client)

    found = refusal(client, trainer=CustomTrainer(inner))
    here = lines.index("        return undefined(client)") + 1
    assert re.findall(r"^tests/sdk/cases.py:(\d+):(\d+)", found, re.M) == [(str(here), "16"), (str(here), "26")]
    assert "TC062]: the script is not valid Python" in refusal(client, trainer=CustomTrainer(lambda: 1))
    assert "TC062]: the script is not valid Python" in refusal(
        client, trainer=CustomTrainer(undefined, {"path": client})
    )


def announced(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def announcing(**arguments: Any) -> None:
        print("begins")
        function(**arguments)

    return announcing


class Settings(dict[str, int]):
    """A dict that reads like an object."""

    __getattr__ = dict.__getitem__


class Program:
    def run(*objects: object) -> None:
        print(objects)

    @staticmethod
    def start() -> None:
        print("starts")


def named_as_a_builtin() -> Callable[..., None]:
    def range(values: object) -> None:  # noqa: A001
        print(values)

    return range


def logs(settings: object = None) -> None:
    print(settings)


def itself() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


@pytest.mark.parametrize(
    ("function", "arguments", "found"),
    [
        (announced(logs), None, "a wrapper of logs"),
        (announced(Program.start), None, "a wrapper of start"),
        (Program().run, None, "a method of Program"),
        (named_as_a_builtin(), {"values": [range(3)]}, "def range(values: object)"),
        (logs, {"settings": Settings(rate=1)}, "settings: Settings"),
        (logs, {"settings": [{"a": {"b", "c"}}]}, "settings: list"),
        (logs, {"settings": frozenset((1, "a"))}, "settings: frozenset"),
        (logs, {"settings": {(1, 2), 3}}, "settings: set"),
        (logs, {"settings": itself()}, "settings: list"),
        (logs, [("settings", 1)], "list"),
        (logs, {1: 2}, "dict"),
    ],
)
def test_what_the_source_does_not_have_is_an_error(
    client: GitTrainerClient, function: Any, arguments: Any, found: str
) -> None:
    text = refusal(client, trainer=CustomTrainer(function, arguments))
    assert re.findall(r"error\[(.*)\]", text) == ["TC062"]
    assert f"= found: {found}\n" in text


def test_numbers_texts_lists_and_dicts_reach_the_function(client: GitTrainerClient) -> None:
    values = [None, True, 1, 2.5, 1j, "a", b"b", (1,), {"c": [{2: range(3)}]}, ..., bytearray(b"c")]
    settings = {"settings": [*values, {1, -2, 2.5}, {"a"}, set(), frozenset({1}), {(1, "a")}]}
    job = written(client, name="mnist", trainer=CustomTrainer(logs, settings))
    assert f"logs(**{settings})" in job["spec"]["trainer"]["command"][-1]
    assert eval(str(settings)) == settings


def id() -> None:  # noqa: A001 - what the next function reads
    """Replace a builtin of Python."""


def reader(max: int) -> Callable[[], None]:  # noqa: A002
    def read() -> None:
        print(id, max, min, __name__)

    return read


def test_a_statement_of_a_cell_hides_nothing_as_the_name_of_a_secret(client: GitTrainerClient) -> None:
    names: dict[str, Any] = {}
    execute("def train():\n    pass\n    print(np.pi)\n", "<cell 1>", names)
    text = refusal(client, trainer=CustomTrainer(names["train"]))
    assert "the function does not define 'np'" in text
    assert "3 |     print(np.pi)\n" in text


def test_the_open_of_a_notebook_is_not_one_of_its_author(client: GitTrainerClient) -> None:
    # As IPython makes it: a function of a module of IPython that functools.wraps gives the names of open().
    ipython: dict[str, Any] = {"__name__": "IPython.core.interactiveshell", "functools": functools, "open": open}
    exec("@functools.wraps(open)\ndef modified_open(file): return open(file)\n", ipython)
    names: dict[str, Any] = {"open": ipython["modified_open"]}
    execute("def train():\n    print(open('/dev/null'))\n", "<cell 1>", names)
    assert client.train(name="mnist", trainer=CustomTrainer(names["train"], image=IMAGE)) == "mnist"


@pytest.mark.parametrize("getter", [dict.get, dict.__getitem__])
def test_settings_with_keys_for_attributes_may_have_the_name_of_a_builtin(
    getter: Any, client: GitTrainerClient
) -> None:
    names: dict[str, Any] = {"input": type("Settings", (dict,), {"__getattr__": getter})()}
    execute("def train():\n    pass\n", "<cell 1>", names)
    assert client.train(name="mnist", trainer=CustomTrainer(names["train"], image=IMAGE)) == "mnist"


def test_a_builtin_that_the_module_replaces_is_a_warning(client: GitTrainerClient) -> None:
    with pytest.warns(FindingsWarning) as caught:
        client.train(name="mnist", trainer=CustomTrainer(reader(1), image=IMAGE))
    found = re.findall(r"warning\[TC061\]: (.*)", str(caught[0].message))
    rule = "only its own source reaches the pod"
    assert found == [
        f"the function does not define '{name}', so it gets Python's {name}: {rule}" for name in ("id", "max")
    ]


def code_of(body: str) -> Script:
    return Script("", f"def train():\n    {body}\n\ntrain()", "train.py", "python", quoted=True)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("class A:\n        size: Size = 1", ["Size"]),
        ("size: Size = 1\n    class A:\n        def method(self) -> None:\n            self.size: Size = 1", []),
        ("text = ''\n    return text" + ".strip()" * 200, []),
        ("text = " + " + ".join(["''"] * 900), []),
        ("def top(k):\n        return k + other", ["other"]),
        ("last = 1\n    def top(k):\n        nonlocal last\n        last = k\n        return last", []),
        ("class top:\n        size = 1\n        text = size", []),
    ],
)
def test_names_that_python_would_not_find_are_found(body: str, names: list[str]) -> None:
    assert [(mistake.code, mistake.found) for mistake in mistakes(code_of(body))] == [("TC061", name) for name in names]


def test_builtins_of_notebooks_are_not_those_of_python() -> None:
    program = """
import builtins
builtins.display = builtins.get_ipython = print  # as IPython does
del builtins.exit
from trainc.checks.functions import Script, mistakes
code = "def train():\\n    display(get_ipython())\\n    exit(len([]))\\n\\ntrain()"
print(*(mistake.found for mistake in mistakes(Script("", code, "train.py", "python"))))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert sorted(done.stdout.split()) == ["display", "get_ipython"]


def test_severities_apply_to_functions(client: GitTrainerClient, root: Path) -> None:
    settings = "environments: {prod: {}}\nseverities: {TC061: %s}\n"
    trainer = CustomTrainer(undefined, {"path": "data"}, image=IMAGE)
    assert "error[TC061]" in refusal(client, trainer=trainer)
    (root / "trainc.yaml").write_text(settings % "warning", encoding="utf-8")
    with pytest.warns(FindingsWarning, match=r"warning\[TC061\]: the function does not define 'np'"):
        client.train(name="mnist", trainer=trainer)
    (root / "trainc.yaml").write_text(settings % "ignore", encoding="utf-8")
    client.train(name="mnist", trainer=trainer)


def test_a_script_of_the_sdk_in_a_command_has_its_warnings(client: GitTrainerClient) -> None:
    script = sent(trainer=CustomTrainer(dollars))["spec"]["trainer"]["command"]
    with pytest.warns(FindingsWarning, match="TC060"):
        client.train(name="mnist", trainer=CONTAINER, options=[options.TrainerCommand(script)])


def test_errors_of_the_compiler_are_raised(client: GitTrainerClient, root: Path) -> None:
    text = refusal(client, trainer=CONTAINER, options=[options.RuntimePatch(), options.RuntimePatch()])
    assert text.splitlines()[2].startswith("jobs/team-a/mnist.yaml:")
    (root / "trainc.yaml").write_text("environment: {}\n", encoding="utf-8")
    assert "trainc.yaml:1:1: error[TC013]" in refusal(client, trainer=CONTAINER)


TOKEN = "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYz012345"


def test_a_token_is_refused_and_the_advice_works(client: GitTrainerClient) -> None:
    model = HuggingFaceModelInitializer("hf://meta-llama/Llama-3.2-1B-Instruct", access_token=TOKEN)
    arguments: dict[str, Any] = {
        "runtime": "torchtune-llama3.2-1b",
        "initializer": Initializer(model=model),
        "trainer": BuiltinTrainer(TorchTuneConfig()),
    }
    text = refusal(client, **arguments)
    assert TOKEN not in text
    assert "error[TC411]: variable ACCESS_TOKEN seems to contain a secret in plain text" in text
    model.access_token = "short"
    assert "error[TC411]" in refusal(client, **arguments)
    model.access_token = None
    example = re.findall(r"^    (\w+\(.*\))  #", text, re.M)
    found = [eval(line, {"InitializerSecret": InitializerSecret, "SecretEnv": SecretEnv}) for line in example]
    with pytest.raises(ValueError, match=r"the TrainJob has no dataset initializer"):
        client.train(name="mnist", options=found, **arguments)
    arguments["initializer"] = HUGGING_FACE
    spec = written(client, name="mnist", options=found, **arguments)["spec"]
    assert {kind: each["secretRef"] for kind, each in spec["initializer"].items()} == {
        "dataset": {"name": "hf-token"},
        "model": {"name": "hf-token"},
    }
    reference = {"secretKeyRef": {"name": "hf-token", "key": "ACCESS_TOKEN"}}
    assert spec["trainer"]["env"] == [{"name": "HF_TOKEN", "valueFrom": reference}]
    with pytest.raises(ValueError, match="SecretEnv option is not compatible with KubernetesBackend"):
        sent(options=[found[1]])
    twice = CustomTrainerContainer(IMAGE, env={"HF_TOKEN": "$(X)"})
    with pytest.raises(ValueError, match="variable HF_TOKEN is set by SecretEnv and by the trainer"):
        client.train(name="two", trainer=twice, options=[found[1]])


def test_a_token_in_func_args_is_refused(client: GitTrainerClient) -> None:
    for token in (TOKEN, "hunter2222"):
        for epochs in (1, object()):
            trainer = CustomTrainer(train_mnist, {"epochs": epochs, "token": token})
            text = refusal(client, trainer=trainer)
            assert "error[TC411]" in text
            assert token not in text


def log_in() -> None:
    import os

    def login(token: str) -> None:
        print(len(token))

    login(token=os.environ["HF_TOKEN"])


def test_a_function_may_read_the_token_that_the_advice_refers_to(client: GitTrainerClient) -> None:
    option = SecretEnv("HF_TOKEN", secret="hf-token", key="ACCESS_TOKEN")
    assert client.train(name="log-in", trainer=CustomTrainer(log_in), options=[option]) == "log-in"


def test_warnings_are_python_warnings(client: GitTrainerClient) -> None:
    with pytest.warns(FindingsWarning, match=r"jobs/team-a/latest\.yaml:11:5: warning\[TC412\]: ") as caught:
        client.train(trainer=CustomTrainerContainer("registry.example.com/vision/mnist"), name="latest")
    assert [one.filename for one in caught] == [__file__]


def test_no_warning_is_lost_while_another_thread_ignores_some(
    client: GitTrainerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ignores = threading.Event()

    @exclusive
    def look_at_another_function() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ignores.set()
            time.sleep(0.2)

    def write(*_: object) -> None:
        threading.Thread(target=look_at_another_function).start()
        assert ignores.wait(10)

    monkeypatch.setattr(Repository, "write", write)
    with pytest.warns(FindingsWarning):
        client.train(trainer=CustomTrainerContainer("registry.example.com/vision/mnist"), name="latest")


# Names and files.


@pytest.mark.parametrize("amount", [float("inf"), float("nan")])
def test_an_amount_is_a_number(amount: float, client: GitTrainerClient) -> None:
    trainer = CustomTrainerContainer(IMAGE, resources_per_node={"cpu": amount})
    with pytest.raises(ValueError, match=rf"^resources_per_node: cpu must be a finite number, not {amount}$"):
        client.train(name="mnist", trainer=trainer)


@pytest.mark.parametrize(
    ("pod", "key"),
    [
        ({"volumes": [{"name": "data", "persistent_volume_claim": {"claimName": "x"}}]}, "persistent_volume_claim"),
        ({"tolerations": [{"Key": "gpu", "operator": "Exists"}]}, "Key"),
        ({"affinity": {"nodeAffinity": None, "node_affinity": {}}}, "node_affinity"),
        ({"containers": [options.ContainerPatch("node", security_context={"run_as_user": 1})]}, "run_as_user"),
    ],
)
def test_what_the_sdk_would_leave_out_of_a_patch_is_an_error(
    pod: dict[str, Any], key: str, client: GitTrainerClient, root: Path
) -> None:
    job = options.JobTemplatePatch(
        spec=options.JobSpecPatch(options.PodTemplatePatch(spec=options.PodSpecPatch(**pod)))
    )
    jobs = options.JobSetSpecPatch([options.ReplicatedJobPatch("node", job)])
    patch = options.RuntimePatch(options.TrainingRuntimeSpecPatch(options.JobSetTemplatePatch(spec=jobs)))
    with pytest.raises(ValueError, match=f"^RuntimePatch: the Kubeflow SDK would leave out '{key}': fields are named "):
        client.train(name="mnist", trainer=CONTAINER, options=[patch])
    assert not (root / "jobs").exists()


def test_a_name_is_needed_that_a_jobset_can_have(client: GitTrainerClient) -> None:
    with pytest.raises(ValueError, match=r'a name, .*: name="train-mnist", or Name'):
        client.train(trainer=CustomTrainer(train_mnist))
    with pytest.raises(ValueError, match='name="my-job"'):
        client.train(trainer=CONTAINER, options=[options.Name("")])
    for name in ("Mnist", "../mnist", "a" * 64, "mnist-", "", "1st", "-"):
        with pytest.raises(ValueError, match="name"):
            client.train(name=name, trainer=CONTAINER)
    with pytest.raises(ValueError, match=r"trainc does not read jobs/team-a/trainc\.yaml"):
        client.train(name="trainc", trainer=CONTAINER)
    with pytest.raises(ValueError, match=r"^namespace '\.\./a': a lowercase RFC 1123 label must"):
        GitTrainerClient(namespace="../a")


def test_a_cell_may_run_again(client: GitTrainerClient, root: Path) -> None:
    path = root / "jobs" / "team-a" / "mnist.yaml"
    client.train(name="mnist", trainer=CONTAINER)
    before = path.stat().st_ino, path.stat().st_mtime_ns
    client.train(name="mnist", trainer=CONTAINER)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == before, "not written again"
    assert written(client, name="mnist", trainer=CustomTrainer(train_mnist))["spec"]["trainer"]["command"]
    moved = path.rename(path.with_name("moved.yaml"))
    client.train(name="mnist", trainer=CONTAINER)
    assert (moved.exists(), path.exists()) == (True, False), "the file of the job"
    by_hand = "# By hand.\n" + moved.read_text(encoding="utf-8").partition("\n")[2]
    moved.write_text(by_hand, encoding="utf-8")
    with pytest.raises(FileExistsError, match=r"jobs/team-a/moved\.yaml was not written by this client: replace=True"):
        client.train(name="mnist", trainer=CONTAINER)
    assert moved.read_text(encoding="utf-8") == by_hand
    client.train(name="mnist", trainer=CONTAINER, replace=True)
    assert moved.read_text(encoding="utf-8").startswith("# Written by trainc.sdk.")
    moved.write_text(f"{by_hand}---\n{by_hand.replace('mnist', 'other')}", encoding="utf-8")
    for name in ("mnist", "moved"):
        with pytest.raises(FileExistsError, match=r"jobs/team-a/moved\.yaml has other documents: change TrainJob"):
            client.train(name=name, trainer=CONTAINER, replace=True)
    path.with_name("broken.yaml").write_text("a: [", encoding="utf-8")
    with pytest.raises(FindingsError, match=r"jobs/team-a/broken\.yaml:\d+:\d+: error\[TC002\]"):
        client.train(name="broken", trainer=CONTAINER)
    with pytest.raises(RuntimeError, match=r"moved\.yaml has other documents, too: delete TrainJob 'other' there"):
        client.delete_job("other")


def test_a_document_that_cannot_be_read_is_kept(client: GitTrainerClient, root: Path) -> None:
    client.train(name="mnist", trainer=CONTAINER)
    path = root / "jobs" / "team-a" / "mnist.yaml"
    text = path.read_text(encoding="utf-8") + "---\na: [\n"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileExistsError, match="has other documents: change TrainJob 'mnist' there"):
        client.train(name="mnist", trainer=CustomTrainer(train_mnist), replace=True)
    with pytest.raises(RuntimeError, match="has other documents, too: delete TrainJob 'mnist' there"):
        client.delete_job("mnist")
    assert path.read_text(encoding="utf-8") == text


def test_line_ends_of_windows_do_not_make_a_file_one_of_a_person(client: GitTrainerClient, root: Path) -> None:
    client.train(name="mnist", trainer=CONTAINER)
    path = root / "jobs" / "team-a" / "mnist.yaml"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\n", b"\r\n"))
    client.train(name="mnist", trainer=CONTAINER)
    assert path.read_bytes() == data


def test_options_may_come_from_an_iterator(client: GitTrainerClient) -> None:
    labels = options.Labels({"example.com/team": "a"})
    assert written(client, name="mnist", trainer=CONTAINER, options=iter([labels]))["metadata"]["labels"]


def test_options_and_threads_may_call_train(client: GitTrainerClient) -> None:
    def inner(*arguments: object) -> None:
        thread = threading.Thread(target=client.train, kwargs={"name": "inner", "trainer": CONTAINER})
        thread.start()
        thread.join()

    assert written(client, name="outer", options=[inner])["metadata"]["name"] == "outer"
    assert [job.name for job in client.list_jobs()] == ["inner", "outer"]


def test_a_job_that_another_process_deletes_while_jobs_are_listed(
    client: GitTrainerClient, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.train(name="mnist", trainer=CONTAINER)
    runtimes = Repository.runtimes

    def deleting(repository: Repository) -> Any:
        (root / "jobs" / "team-a" / "mnist.yaml").unlink(missing_ok=True)
        return runtimes(repository)

    monkeypatch.setattr(Repository, "runtimes", deleting)
    assert [job.name for job in client.list_jobs()] == ["mnist"]
    assert client.list_jobs() == []


@thorough
def test_many_threads_may_begin_at_once(root: Path) -> None:
    program = """
import sys, threading
from trainc.sdk import GitTrainerClient
client, barrier = GitTrainerClient(namespace="team-a"), threading.Barrier(8)
sys.setswitchinterval(1e-6)
def train(number):
    barrier.wait()
    client.train(name=f"job-{number}")
threads = [threading.Thread(target=train, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], cwd=root, check=True)
    assert len([*(root / "jobs" / "team-a").iterdir()]) == 8


def test_an_error_can_be_passed_between_processes(client: GitTrainerClient) -> None:
    with pytest.raises(FindingsError) as caught:
        client.train(name="mnist", trainer=CustomTrainerContainer(IMAGE, num_nodes=-1))
    error = pickle.loads(pickle.dumps(caught.value))
    assert (str(error), len(error.findings)) == (str(caught.value), 1)


def test_a_repository_that_git_does_not_read_is_an_error(
    client: GitTrainerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    client.train(name="mnist", trainer=CONTAINER)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Exception, match="git not found on PATH"):
        client.train(name="other", trainer=CONTAINER)


def test_nothing_is_written_through_a_link(client: GitTrainerClient, root: Path) -> None:
    elsewhere = root.with_name(f"{root.name}-elsewhere")
    elsewhere.mkdir()
    (root / "jobs").symlink_to(elsewhere)
    with pytest.raises(FindingsError, match=r"TC011.*symbolic link, which trainc does not follow"):
        client.train(name="mnist", trainer=CONTAINER)
    assert list(elsewhere.iterdir()) == []


def test_a_change_that_a_cluster_refuses_starts_another_run(client: GitTrainerClient, root: Path) -> None:
    path = root / "jobs" / "team-a" / "mnist.yaml"
    subprocess.run(["git", "init", "-q"], check=True)
    client.train(name="mnist", trainer=CONTAINER)
    render(root)
    commit(root)
    runs = []
    for nodes in (2, 3, 3, 4):
        trainer = CustomTrainerContainer(
            IMAGE, num_nodes=nodes, resources_per_node=RESOURCES, env={"A": "yes", "B": "1e3"}
        )
        client.train(name="mnist", trainer=trainer)
        runs.append(document(path)["metadata"].get("annotations"))
    second = {"trainc.dev/run": "2"}
    assert runs == [None, second, second, second]
    render(root)
    commit(root)
    client.train(name="mnist", trainer=CONTAINER)
    assert document(path)["metadata"]["annotations"] == {"trainc.dev/run": "3"}
    client.delete_job("mnist")
    client.train(name="mnist", trainer=CONTAINER)
    assert document(path)["metadata"]["annotations"] == {"trainc.dev/run": "3"}, "after the 2 of the last commit"
    with pytest.raises(FindingsError, match="TC204"):
        client.train(name="mnist", trainer=CONTAINER, options=[options.Annotations({"trainc.dev/run": "2"})])
    with pytest.raises(NeedsClusterError, match=r"jobset-name=mnist-3$"):
        client.get_job_events("mnist")
    GitTrainerClient(namespace="team-a", base=None).train(name="mnist", trainer=CONTAINER)
    with pytest.raises(Exception, match=r"revision 'nowhere' not found"):
        GitTrainerClient(namespace="team-a", base="nowhere").train(name="mnist", trainer=CustomTrainer(train_mnist))


def test_another_run_gets_no_name_of_another_job(client: GitTrainerClient, root: Path) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    for name in ("mnist", "mnist-2"):
        client.train(name=name, trainer=CONTAINER)
    render(root)
    commit(root)
    client.train(name="mnist", trainer=CustomTrainerContainer(IMAGE, num_nodes=3))
    found = document(root / "jobs" / "team-a" / "mnist.yaml")
    assert found["metadata"]["annotations"] == {"trainc.dev/run": "3"}


def render(root: Path) -> None:
    from click.testing import CliRunner

    from trainc.cli.root import trainc

    done = CliRunner().invoke(trainc, ["render", "--root", str(root)])
    assert done.exit_code == 0, done.output


# Answers from the repository.


def test_runtimes_come_from_the_repository(client: GitTrainerClient, root: Path) -> None:
    names = [runtime.name for runtime in client.list_runtimes()]
    assert {"torch-distributed", "deepspeed-distributed", "torchtune-llama3.2-1b"} < set(names)
    own = (ROOT / "runtimes" / "torch-distributed.yaml").read_text(encoding="utf-8")
    (root / "runtimes").mkdir()
    (root / "runtimes" / "own.yaml").write_text(own.replace("numNodes: 1", "numNodes: 4"), encoding="utf-8")
    spaced = own.replace("kind: ClusterTrainingRuntime", "kind: TrainingRuntime")
    for namespace in ("team-a", "team-b"):
        text = spaced.replace("name: torch-distributed", f"name: ours-{namespace}\n  namespace: {namespace}", 1)
        (root / "runtimes" / f"{namespace}.yaml").write_text(text, encoding="utf-8")
    assert client.get_runtime("torch-distributed").trainer.num_nodes == 4
    assert [runtime.name for runtime in client.list_runtimes()] == [*names, "ours-team-a"]
    assert client.get_runtime("ours-team-a").kind.value == "TrainingRuntime"
    assert written(client, name="mnist", runtime="ours-team-a")["spec"]["runtimeRef"]["kind"] == "TrainingRuntime"
    with pytest.raises(RuntimeError, match=r"'torch-distribted' not found .* did you mean 'torch-distributed'\?"):
        client.get_runtime("torch-distribted")
    plain = own.replace("trainer.kubeflow.org/framework: torch", "example.com/a: b").replace(
        "name: torch", "name: plain", 1
    )
    (root / "runtimes" / "plain.yaml").write_text(plain, encoding="utf-8")
    assert len(client.list_runtimes()) == len(names) + 1
    with pytest.raises(RuntimeError, match=r"'plain-distributed' needs label trainer.kubeflow.org/framework"):
        client.get_runtime("plain-distributed")


def test_a_runtime_beside_the_job_decides_how_its_function_is_started(client: GitTrainerClient, root: Path) -> None:
    """As in the JobSet that render writes; one of another namespace does not."""
    (root / "jobs" / "team-b").mkdir(parents=True)
    own = emit(builtin_object("deepspeed-distributed")).replace("deepspeed-distributed", "torch-distributed")
    (root / "jobs" / "team-b" / "own.yaml").write_text(own, encoding="utf-8")
    trainer = CustomTrainer(train_mnist)
    assert written(client, name="mnist", trainer=trainer)["spec"]["trainer"]["command"][0] == "bash"
    (root / "jobs" / "team-b" / "own.yaml").unlink()
    (root / "jobs" / "team-a" / "own.yaml").write_text(own, encoding="utf-8")
    command = written(client, name="mnist", trainer=trainer)["spec"]["trainer"]["command"]
    assert (command[0], "torchrun" in command[-1]) == ("mpirun", False)


def test_names_in_the_repository_are_escaped(client: GitTrainerClient, root: Path) -> None:
    client.train(name="mnist", trainer=CONTAINER)
    path = root / "jobs" / "team-a" / "mnist.yaml"
    text = path.read_text(encoding="utf-8")
    path.unlink()
    path.with_name("\x1b[31m.yaml").write_text("# By hand.\n" + text, encoding="utf-8")
    path.with_name("two.yaml").write_text(
        f"{text}---\n{text}".replace("name: mnist", 'name: "seconds\\e[31m"'), encoding="utf-8"
    )
    (root / "runtimes").mkdir()
    own = (ROOT / "runtimes" / "torch-distributed.yaml").read_text(encoding="utf-8")
    named = own.replace("name: torch-distributed", 'name: "own\\e[31m"', 1).replace("framework: torch", "framework: 1")
    (root / "runtimes" / "own.yaml").write_text(named, encoding="utf-8")
    asked: list[Callable[[], object]] = [
        lambda: client.train(name="mnist", trainer=CONTAINER),
        lambda: client.get_job("seconds[31m"),
        lambda: client.delete_job("seconds\x1b[31m"),
        lambda: client.get_job_events("seconds\x1b[31m"),
        lambda: client.get_runtime("own"),
        lambda: client.get_runtime("own\x1b[31m"),
    ]
    for ask in asked:
        with pytest.raises((RuntimeError, FileExistsError)) as caught:
            ask()
        assert "\x1b" not in str(caught.value)
        assert "\\x1b[31m" in str(caught.value)


def test_jobs_come_from_the_repository(client: GitTrainerClient, root: Path) -> None:
    assert client.list_jobs() == []
    client.train(name="mnist", trainer=CONTAINER)
    client.train(name="tune", runtime="torchtune-llama3.2-1b", initializer=HUGGING_FACE, trainer=BuiltinTrainer(TUNE))
    (root / "jobs" / "team-a" / "broken.yaml").write_text("kind: [\n", encoding="utf-8")
    assert [job.name for job in client.list_jobs()] == ["mnist", "tune"]
    assert [job.name for job in client.list_jobs(client.get_runtime("torch-distributed"))] == ["mnist"]
    job = client.get_job("mnist")
    assert (job.num_nodes, job.status, job.steps, job.runtime.name) == (2, "Unknown", [], "torch-distributed")
    client.delete_job("mnist")
    assert [job.name for job in client.list_jobs()] == ["tune"]
    for ask in (client.get_job, client.delete_job, client.get_job_logs):
        with pytest.raises(RuntimeError, match=r"TrainJob 'tun' not found in jobs/team-a/: did you mean 'tune'\?"):
            ask("tun")


def test_a_job_whose_runtime_is_missing_is_listed(client: GitTrainerClient, root: Path) -> None:
    client.train(name="mnist", trainer=CONTAINER)
    text = (root / "jobs/team-a/mnist.yaml").read_text(encoding="utf-8").replace("name: mnist", "name: lost")
    text = text.replace("name: torch-distributed", "name: gone\n    kind: TrainingRuntime")
    (root / "jobs/team-a/lost.yaml").write_text(text, encoding="utf-8")
    lost, mnist = client.list_jobs()
    assert (lost.name, lost.num_nodes, mnist.name, mnist.num_nodes) == ("lost", 2, "mnist", 2)
    runtime = lost.runtime
    assert (runtime.name, runtime.kind.value, runtime.trainer.framework) == ("gone", "TrainingRuntime", "Unknown")
    assert runtime.trainer.image == IMAGE
    assert client.list_jobs(runtime) == [lost] == [client.get_job("lost")]
    with pytest.raises(NeedsClusterError):
        client.get_job_logs("lost")
    with pytest.raises(RuntimeError, match="runtime 'gone' not found"):
        client.get_runtime("gone")


def test_the_rest_names_the_command_that_asks_the_cluster(client: GitTrainerClient) -> None:
    client.train(name="mnist", trainer=CONTAINER)
    written(client, name="ranks", runtime="mlx-distributed", trainer=CustomTrainer(train_mnist))
    pods = "logs -l jobset.sigs.k8s.io/jobset-name={},jobset.sigs.k8s.io/replicatedjob-name={}"
    pods = f"only the cluster has logs: kubectl -n team-a {pods},batch.kubernetes.io/job-completion-index={{}}"
    asked: dict[str, Callable[[], object]] = {
        f"{pods.format('mnist', 'node', 0)} -c node --tail=-1": lambda: client.get_job_logs("mnist"),
        f"{pods.format('mnist', 'node', 12)} -c node --tail=-1": lambda: client.get_job_logs("mnist", "node-12"),
        f"{pods.format('ranks', 'launcher', 0)} -c node --tail=-1 -f": lambda: client.get_job_logs(
            "ranks", follow=True
        ),
        f"{pods.format('ranks', 'node', 1)} -c node --tail=-1": lambda: client.get_job_logs("ranks", "node-2"),
        f"{pods.format('mnist', 'model-initializer', 0)} -c model-initializer --tail=-1": lambda: client.get_job_logs(
            "mnist", step="model-initializer"
        ),
        f"{pods.format('mnist', 'data-v2', 0)} -c data-v2 --tail=-1": lambda: client.get_job_logs(
            "mnist", step="data-v2"
        ),
        "only the cluster has events: kubectl -n team-a describe pods -l jobset.sigs.k8s.io/jobset-name=mnist": (
            lambda: client.get_job_events("mnist")
        ),
        "only the cluster has the status of a job: kubectl -n team-a wait --for=condition=Completed jobset/mnist"
        " --timeout=600s": lambda: client.wait_for_job_status("mnist"),
        "only the cluster has the status of a job: kubectl -n team-a wait --for=condition=Failed jobset/mnist"
        " --timeout=60s": lambda: client.wait_for_job_status("mnist", {"Failed"}, timeout=60),
        "only the cluster has the packages of an image: kubectl -n team-a run packages --rm -i --restart=Never"
        f" --image={client.get_runtime('jax-distributed').trainer.image} -- pip list": lambda: (
            client.get_runtime_packages(client.get_runtime("jax-distributed"))
        ),
    }
    for text, ask in asked.items():
        with pytest.raises(NeedsClusterError) as caught:
            ask()
        assert str(caught.value) == text


# The notebook and the page.


def execute(code: str, name: str, names: dict[str, Any]) -> tuple[str, str | None]:
    """Execute code as a cell of a notebook; return what it prints, and how its last expression is shown."""
    code = code.rstrip("\n") + "\n"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)  # as IPython does
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, name, "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), names)
    return printed.getvalue(), None if value is None else repr(value)


def outputs(printed: str, shown: str | None, number: int) -> list[dict[str, Any]]:
    """Return the outputs of a cell as a notebook stores them."""
    found: list[dict[str, Any]] = []
    if printed:
        found.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if shown is not None:
        data = {"text/plain": shown.splitlines(keepends=True)}
        found.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return found


def test_the_notebook_does_what_it_shows(root: Path, update: bool) -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        result = execute("".join(cell["source"]), f"<cell {number}>", names)
        found = {"execution_count": number, "outputs": outputs(*result, number)}
        assert update or {key: cell[key] for key in found} == found
        cell.update(found)
    if update:
        NOTEBOOK.write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")
    assert len(cells) == 7
    assert (root / "jobs" / "team-a" / "mnist.yaml").is_file()


def test_the_file_of_a_cell_replaces_no_module(client: GitTrainerClient, tmp_path: Path) -> None:
    code = "def evaluate():\n    import scores\n    print(scores.best())\n"
    names: dict[str, Any] = {"__name__": "__main__"}
    execute(code, "<cell 1>", names)
    (tmp_path / "scores.py").write_text("import evaluate\nbest = evaluate.best\n", encoding="utf-8")
    (tmp_path / "evaluate.py").write_text("def best(): return 'of the image'\n", encoding="utf-8")
    job = written(client, name="cell", trainer=CustomTrainer(func=names["evaluate"]))
    script = job["spec"]["trainer"]["command"][-1]
    assert script.endswith('torchrun "evaluate.notebook.py"')
    assert run(script.replace("torchrun", sys.executable), tmp_path) == "of the image\n"


NOT_RUN = ("pip install ", "git ")


def test_the_file_of_a_function_has_a_name_that_bash_reads_as_it_is(client: GitTrainerClient, root: Path) -> None:
    names: dict[str, Any] = {}
    for sign in ('"', "$", "`", "\\", "\n"):
        execute("def evaluate():\n    print('$5')\n", f"/notebooks/odd{sign}name.py", names)
        with pytest.raises(
            ValueError, match=rf"^the function is in the file .*: bash reads {re.escape(repr(sign))} in"
        ):
            client.train(name="evaluate", trainer=CustomTrainer(names["evaluate"]))
    execute("def evaluate():\n    print('$5')\n", "/notebooks/it's 100%.py", names)
    client.train(name="evaluate", trainer=CustomTrainer(names["evaluate"]))


def test_the_page_does_what_it_shows(root: Path) -> None:
    text, names, printed = PAGE.read_text(encoding="utf-8"), {"__name__": "__main__"}, ""
    blocks = re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", text)
    assert {language for language, _ in blocks} == {"sh", "python", "yaml", "text"}
    for number, (language, content) in enumerate(blocks):
        if language == "python":
            printed, _ = execute(content, f"<block {number}>", names)
        elif language == "text":
            assert printed == content
        elif language == "yaml":
            assert (root / "jobs" / "team-a" / "mnist.yaml").read_text(encoding="utf-8") == content
        else:
            rest = [line for line in content.splitlines() if not line.startswith(NOT_RUN)]
            assert rest in ([], ["trainc render"])
            if rest:
                render(root)
    assert (root / "jobs" / "team-a" / "llama.yaml").is_file()
