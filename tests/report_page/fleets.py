"""Data of fleets of any size for the page, without compiling them."""

from __future__ import annotations

from trainc.basics.jsonvalues import JsonObject

RUNTIMES = (
    "torch-distributed",
    "deepspeed-distributed",
    "jax-distributed",
    "torchtune-llama3.2-1b",
    "xgboost-distributed",
)
GRAPHS: list[list[JsonObject]] = [
    [{"name": "node", "pods": 4, "gpus": 32, "waits": []}],
    [
        {"name": "dataset-initializer", "pods": 1, "gpus": 0, "waits": []},
        {"name": "model-initializer", "pods": 1, "gpus": 0, "waits": []},
        {
            "name": "node",
            "pods": 2,
            "gpus": 16,
            "waits": [
                {"for": "dataset-initializer", "until": "Complete"},
                {"for": "model-initializer", "until": "Complete"},
            ],
        },
    ],
]


def fleet_of(size: int, *, text: str = "") -> JsonObject:
    """Return a fleet of so many jobs; ``text`` is part of every name."""
    jobs = sorted((_job(number, size, text) for number in range(size)), key=lambda job: (job["namespace"], job["name"]))
    return {
        "jobs": [*jobs],
        "graphs": [[*graph] for graph in GRAPHS],
        "images": [
            {"name": f"registry.example.com/train/image{text}:{n}", "digest": f"sha256:{n:064x}" if n % 4 else None}
            for n in range(40 if size else 0)
        ],
        "findings": [
            {
                "severity": ("error", "warning", "note")[number % 3],
                "code": ("TC101", "TC604", "TC703")[number % 3],
                "file": f"jobs/team-{number % 20}/job-{number * 7:05}.yaml",
                "line": 3 + number % 9,
                "message": f"unknown field spec.trainer.numNode{text}",
                "hint": "did you mean 'numNodes'?",
            }
            for number in range(size // 7)
        ],
        "codes": {"TC101": "unknown field", "TC604": "unknown service account", "TC703": "image without a digest"},
    }


def _job(number: int, size: int, text: str) -> JsonObject:
    graph = number % 2
    return {
        "environment": ("prod", "staging")[number % 3 == 0],
        "namespace": f"team-{number % 20}{text}",
        "name": f"job-{number:05}{text}",
        "runtime": RUNTIMES[number % 5] + text,
        "queue": ("", "gpu-batch", "gpu-night")[number % 3],
        "priority": "",
        "file": f"jobs/team-{number % 20}/job-{number:05}.yaml",
        "state": "ready",
        "pods": 4,
        "gpus": (32, 16)[graph],
        "graph": graph,
        "images": [number % 40, (number * 3 + 1) % 40],
        "objects": [f"JobSet/job-{number:05}{text}"],
        "findings": [number // 7] if number % 7 == 0 and number + 7 <= size else [],
    }
