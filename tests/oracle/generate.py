"""The fuzzer's generator: whole cases, valid and not, every plugin and every combination.

``case(seed, index)`` is the same on every version of Python; ``documents(rng)`` is one case's text.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

from oracle.generator import trainjobs, values
from oracle.generator.fields import enrich
from oracle.generator.mutations import damage
from oracle.generator.rng import Rng
from oracle.generator.rulebreaks import break_rules
from oracle.generator.runtimes import MODELS, POLICIES, runtime
from oracle.generator.values import Context, Map
from oracle.generator.yamltext import dump

OVERSIZED = 0.5
"""The share of cases, of a hundred, that upstream must never be asked."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A case. ``oversized``: upstream would run out of memory on it, so it must never be asked."""

    seed: int
    index: int
    text: str
    oversized: bool = False

    @property
    def id(self) -> str:
        """The name under which the case can be made again."""
        return f"seed {self.seed} case {self.index}"


def case(seed: int, index: int) -> Generated:
    """Return the case of a seed and an index."""
    rng = Rng(seed, index)
    if rng.chance(OVERSIZED):
        return Generated(seed, index, oversized(rng), oversized=True)
    return Generated(seed, index, documents(rng))


def documents(rng: Rng) -> str:
    """Return the text of a random case."""
    made = objects(rng)
    texts = [dump(document) for document in made]
    if rng.chance(1):
        texts.append(rng.pick([text for document, text in zip(made, texts, strict=True) if _is_job(document)]))
    if rng.chance(0.5):
        texts.insert(rng.below(len(texts) + 1), rng.pick(("- a\n", "text\n", "a: [\n", "# nothing\n", "kind: X\n")))
    return "---\n".join(texts)


def objects(rng: Rng, *, broken: bool = True) -> list[Map]:
    """Return the documents of a random case; ``broken``: rules may be broken and documents damaged on purpose."""
    result: list[Map] = []
    runtimes: list[tuple[Context, Map]] = []
    for number in range(2 if rng.chance(8) else 1):
        policy = rng.pick(POLICIES)
        context = Context(rng, policy, rng.pick(values.GPUS))
        name = f"torchtune-{rng.pick(MODELS)}" if policy == "torchtune" else f"rt{number}"
        made = runtime(context, name)
        if rng.chance(30):
            made["kind"] = "ClusterTrainingRuntime"
        elif rng.chance(15):
            made["metadata"]["namespace"] = "team-a"
        runtimes.append((context, made))
    names = rng.shuffled(trainjobs.NAMES)
    for number in range(2 if rng.chance(12) else 1):
        context, made = rng.pick(runtimes)
        name = rng.pick(trainjobs.ODD_NAMES) if rng.chance(6) else names[number]
        if rng.chance(4):
            name = "n" * (28 + rng.below(24))
        result.append(trainjobs.trainjob(context, made, name))
    unique = {(m["kind"], m["metadata"].get("namespace"), m["metadata"]["name"]): m for _, m in runtimes}
    result += unique.values()
    result += cluster(rng, result)
    result = copy.deepcopy(result)
    ours = [document for document in result if document["apiVersion"].startswith("trainer.")]
    if rng.chance(1):
        # Only of a TrainJob: a runtime that we refuse takes its jobs with it.
        metadata = rng.pick([document for document in ours if _is_job(document)])["metadata"]
        metadata["generateName"] = rng.pick((metadata.pop("name"), "x-", ""))
    for _ in range(1 + rng.below(4) if rng.chance(40) else 0):
        enrich(rng, rng.pick(ours))
    for _ in range(1 + rng.below(3) if broken and rng.chance(20) else 0):
        break_rules(rng, rng.pick(ours))
    for _ in range(1 + rng.below(2) if broken and rng.chance(22) else 0):
        damage(rng, rng.pick(ours))
    return rng.shuffled(result)


def _is_job(document: Map) -> bool:
    return bool(document["kind"] == "TrainJob")


def cluster(rng: Rng, known: list[Map]) -> list[Map]:
    """Return objects that stand for what the cluster holds already."""
    job = known[0]["metadata"]
    here = {"namespace": job["namespace"]} if "namespace" in job else {}
    result: list[Map] = []
    for name in ("high", "low"):
        if rng.chance(60):
            meta = {"name": name}
            result.append({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": 1})
    options: tuple[tuple[str, str, str, Map], ...] = (
        ("v1", "Secret", f"{job['name']}-mpi-ssh-auth", {"data": {}}),
        ("v1", "Secret", f"{job['name']}-flux-curve", {"data": {}}),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", job["name"], {"spec": {"suspend": rng.chance(50)}}),
        ("scheduling.x-k8s.io/v1alpha1", "PodGroup", job["name"], {"spec": {"minMember": 1}}),
        ("scheduling.volcano.sh/v1beta1", "PodGroup", job["name"], {"spec": {"minMember": 1}}),
        ("v1", "PersistentVolumeClaim", f"claim-{job['name']}", {"spec": {"accessModes": ["ReadWriteOnce"]}}),
        ("v1", "ConfigMap", f"{job['name']}-mpi-hostfile", {"data": {"hostfile": ""}}),
        ("example.com/v1", "Thing", "thing", {"spec": {}}),
    )
    for api, kind, name, rest in options:
        if rng.chance(2):
            result.append({"apiVersion": api, "kind": kind, "metadata": {"name": name, **here}, **rest})
    if rng.chance(5):
        result.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a", "labels": {"a": "b"}}})
    return result


def oversized(rng: Rng) -> str:
    """Return an otherwise good case whose hostfile has no end (fact M9)."""
    context = Context(rng, "mpi")
    container = {"name": "node", "image": "example.com/a:1"}
    jobs: list[Map] = []
    for name in ("launcher", "node"):
        labels = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}} if name == "launcher" else {}
        spec = {"template": {"spec": {"containers": [container]}}}
        jobs.append({"name": name, "template": {"metadata": labels, "spec": spec}})
    made = runtime(context, "rt0")
    made["metadata"] = {"name": "rt0"}
    made["spec"] = {"mlPolicy": {"mpi": {}}, "template": {"spec": {"replicatedJobs": jobs}}}
    huge = rng.pick((2_000_000_000, 2_147_483_647, 1_000_000_000))
    job: Map = {"runtimeRef": {"name": "rt0", "kind": "TrainingRuntime"}, "trainer": {"numNodes": huge}}
    head = {"apiVersion": made["apiVersion"], "kind": "TrainJob", "metadata": {"name": "j"}}
    return "---\n".join(map(dump, (made, {**head, "spec": job})))
