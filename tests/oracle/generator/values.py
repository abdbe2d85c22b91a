"""Small values: names, quantities, environment variables, ports, volumes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from oracle.generator.rng import Rng
from oracle.generator.yamltext import Plain

Map = dict[str, Any]

QUANTITIES = (
    "1", "2", "4", "8", "100m", "500m", "1500m", "4000m", "1Gi", "1024Mi", "1000Mi", "1.5Gi", "0.1Gi", "2.5", "1k",
    "1000", "1000000", "1e3", "1.5e3", "2E2", "+3", "5.", ".5", "0", "0.0", "00.10", "1E", "100e-1", "8Ki", "2048Ki",
    "123456789.123456789", "0.000000000001", "1u", "9Ei", "1P", "3.000", "-1", "999999999999999999999",
)  # fmt: skip
SUFFIXES = ("", "", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "n", "u")
BAD_QUANTITIES = ("1e3m", "", "1Kib", "abc", "1 ", "0x10", "1e1.5", "1_000", "--1", "1.2.3")
GPUS = (
    "nvidia.com/gpu", "nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "Example.com/GPU", "aliyun.com/gpu-mem",
)  # fmt: skip
OTHERS = ("memory", "ephemeral-storage", "google.com/tpu", "nvidia.com/mig-1g.5gb", "habana.ai/gaudi", "hugepages-2Mi")
TEXTS = ("", "x", "a b", "yes", "0123", "1e3", "ä€😀", "$(POD_IP)", "a\nb", '"q" \\', "true", "null", "~", "-", "#c")
NAMES = ("A", "B", "C", "HOME", "NCCL_DEBUG", "PATH", "STORAGE_URI", "MASTER_ADDR", "PET_MAX_RESTARTS", "JAX_PLATFORMS")
RESERVED = (
    "PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_NPROC_PER_NODE", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID",
    "JAX_COORDINATOR_ADDRESS", "DMLC_TASK_ID", "DMLC_NUM_WORKER", "DMLC_TRACKER_URI", "OMPI_MCA_orte_default_hostfile",
    "OMPI_MCA_orte_set_default_slots", "FLUX_VIEW_IMAGE", "FLUX_INTERFACE",
)  # fmt: skip
PLAINS = (
    "yes",
    "n",
    "on",
    "~",
    "010",
    "0o17",
    "0x1F",
    "1e3",
    "1_000",
    "1:30",
    "2024-01-01",
    ".5",
    "+.5",
    "08",
    "-",
    "=",
)


@dataclass
class Context:
    """What one case has in common: its generator, its one GPU-like resource (two would be a matter of chance)."""

    rng: Rng
    policy: str = "torch"
    gpu: str = "nvidia.com/gpu"
    volumes: list[str] = field(default_factory=list)


def made_quantity(rng: Rng) -> str:
    """Return the text of a quantity that parses: any digits, any suffix or exponent."""
    digits = "".join(str(rng.below(10)) for _ in range(1 + rng.below(4 if rng.chance(90) else 22)))
    if rng.chance(30):
        digits = f"{digits}000"[-rng.pick((3, 4, 6, 7)) :]
    if rng.chance(35):
        digits += "." + "".join(str(rng.below(10)) for _ in range(rng.below(5 if rng.chance(90) else 14)))
    if rng.chance(15):
        return f"{digits}{rng.pick('eE')}{rng.pick(('', '-', '+'))}{rng.below(12)}"
    return rng.pick(("", "", "", "+", "-" if rng.chance(20) else "")) + digits + rng.pick(SUFFIXES)


def quantity(rng: Rng) -> Any:
    """Return a quantity, mostly one that parses."""
    if rng.chance(35):
        return made_quantity(rng)
    if rng.chance(0.5):
        return rng.pick(BAD_QUANTITIES)
    if rng.chance(30):
        return rng.pick((0, 1, 2, 3, 16, 1000, 1024))
    if rng.chance(0.5):
        return rng.pick((2.5, 4.0, 0.1, True))
    return rng.pick(QUANTITIES)


def resource_list(context: Context) -> Map:
    """Return limits or requests."""
    rng = context.rng
    result: Map = {}
    if rng.chance(70):
        result["cpu"] = quantity(rng)
    if rng.chance(40):
        result[context.gpu] = rng.pick((0, 1, 1, 2, 4, "8", "1k"))
    for name in rng.some(OTHERS, 2) if rng.chance(40) else []:
        result[name] = quantity(rng)
    return result


def resources(context: Context) -> Map:
    """Return resource requirements."""
    rng = context.rng
    result: Map = {}
    if rng.chance(75):
        result["limits"] = resource_list(context)
    if rng.chance(50):
        result["requests"] = resource_list(context)
    if rng.chance(4):
        result["claims"] = [{"name": "claim"}]
    return result


def env(context: Context, reserved: float, most: int = 4) -> list[Map]:
    """Return environment variables of all kinds; ``reserved`` is the share of names that plugins own."""
    rng = context.rng
    names = [rng.pick(RESERVED) if rng.chance(reserved) else rng.pick(NAMES) for _ in range(rng.below(most + 1))]
    if not rng.chance(1):
        names = list(dict.fromkeys(names))
    return [env_var(rng, name) for name in names]


def env_var(rng: Rng, name: str) -> Map:
    """Return one variable: a value, no value, or a source."""
    kind = rng.below(100)
    if kind < 60:
        return {"name": name, "value": rng.pick(TEXTS)}
    if kind < 66:
        return {"name": name}
    sources: tuple[Map, ...] = (
        {"fieldRef": {"fieldPath": "metadata.name"}},
        {"fieldRef": {"fieldPath": "status.podIP", "apiVersion": "v1"}},
        {"resourceFieldRef": {"resource": "limits.cpu", "divisor": rng.pick(("1", "1000m", 0))}},
        {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "node"}},
        {"configMapKeyRef": {"name": "c", "key": "k", "optional": rng.chance(50)}},
        {"secretKeyRef": {"name": "s", "key": "k"}},
        {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}},
        {},
    )
    result: Map = {"name": name, "valueFrom": rng.pick(sources)}
    return {"value": "v", **result} if rng.chance(2) else result


def ports(rng: Rng) -> list[Map]:
    """Return ports: rarely two without a name, which break a job."""
    kind = rng.below(100)
    if kind < 50:
        return [{"containerPort": rng.pick((80, 8080, 29500)), "name": rng.pick(("http", "c10d"))}]
    if kind < 80:
        return [{"containerPort": rng.pick((80, 8080, 29500)), **({"protocol": "UDP"} if rng.chance(20) else {})}]
    if kind < 96:
        return [{"containerPort": 80, "name": "a"}, {"containerPort": rng.pick((81, 29500)), "name": "b"}]
    return [{"containerPort": 80}, {"containerPort": 81, **({"protocol": "UDP"} if rng.chance(30) else {})}]


def words(rng: Rng) -> list[Any]:
    """Return a command or arguments."""
    options = ("python", "train.py", "--lr", "1e-4", "-c", "a b", "x=1", "", "$(A)", "yes", "ä")
    result: list[Any] = [rng.pick(options) for _ in range(rng.below(4))]
    if rng.chance(1):
        result.append(Plain(rng.pick(PLAINS)))
    return result


def metadata(rng: Rng) -> Map:
    """Return labels and annotations."""
    result: Map = {}
    if rng.chance(60):
        result["labels"] = {key: rng.pick(("", "v", "w.1")) for key in rng.some(("app", "team", "x.io/y"), 2)}
    if rng.chance(50):
        result["annotations"] = {key: rng.pick(TEXTS) for key in rng.some(("note", "x.io/z"), 2)}
    if rng.chance(1):
        result["labels"] = {rng.pick(("a b", "ok", "/x")): rng.pick(("a b", "v" * 64, "-"))}
    return result


def volumes(context: Context) -> list[Map]:
    """Return volumes with different names, some of which plugins use."""
    rng = context.rng
    names = rng.some(("data", "scratch", "cfg", "work"), 3)
    if rng.chance(10):
        names.append(rng.pick(("mpi-ssh-auth", "mpi-hostfile", "shared-memory", "flux-install", "j-flux-entrypoint")))
    context.volumes = names
    return [{"name": name, **volume_source(rng)} for name in names]


def volume_source(rng: Rng) -> Map:
    """Return the source of a volume."""
    sources: tuple[Map, ...] = (
        {"emptyDir": {}},
        {"emptyDir": {"medium": "Memory", "sizeLimit": made_quantity(rng)}},
        {"persistentVolumeClaim": {"claimName": "pvc"}},
        {"configMap": {"name": "cm", "items": [{"key": "k", "path": "p"}], "defaultMode": 420}},
        {"configMap": {"name": "other"}},
        {"secret": {"secretName": "s", "defaultMode": Plain(rng.pick(("0400", "0o400", "256")))}},
        {"hostPath": {"path": "/mnt", "type": "Directory"}},
        {"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {"requests": {"storage": made_quantity(rng)}}}}}},
        {"projected": {"sources": [{"configMap": {"name": "a"}}, {"serviceAccountToken": {"path": "t"}}]}},
        {"downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"nfs": {"server": "s", "path": "/"}},
        {},
    )
    return rng.pick(sources[:-1]) if rng.chance(99) else {}
