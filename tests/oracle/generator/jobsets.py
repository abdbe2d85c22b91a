"""The JobSet's own policies."""

from __future__ import annotations

from oracle.generator.rng import Rng
from oracle.generator.values import Context, Map

REASONS = ("BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "FailedIndexes", "Sadness")
ACTIONS = ("FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts", "RestartJob")


def jobset_fields(context: Context, jobs: list[Map]) -> Map:
    """Return fields of a JobSet's spec that fit its jobs; a few do not."""
    rng = context.rng
    names = [job["name"] for job in jobs]
    result: Map = {}
    if rng.chance(15):
        result["network"] = network(rng)
    if rng.chance(12):
        result["successPolicy"] = {"operator": rng.pick(("All", "Any")), "targetReplicatedJobs": targets(rng, names)}
    if rng.chance(6):
        result["startupPolicy"] = {"startupPolicyOrder": rng.pick(("AnyOrder", "AnyOrder", "InOrder"))}
    if rng.chance(15):
        result["failurePolicy"] = failure_policy(rng, names)
    if rng.chance(6):
        indexes = {"jobIndex": rng.pick((0, 0, 0, 1, -1)), "podIndex": rng.pick((0, 0, 1, 7))}
        result["coordinator"] = {"replicatedJob": rng.pick((*names, "nope") if rng.chance(10) else names), **indexes}
    if rng.chance(6):
        result["volumeClaimPolicies"] = claims(rng, jobs)
    if rng.chance(4):
        result["suspend"] = rng.chance(50)
    if rng.chance(4):
        result["ttlSecondsAfterFinished"] = rng.pick((0, 60))
    if rng.chance(2):
        result["managedBy"] = rng.pick(("example.com/x", "nodomain", "example.com/" + "x" * 60))
    return result


def network(rng: Rng) -> Map:
    """Return a network, mostly of a good subdomain."""
    result: Map = {}
    if rng.chance(40):
        result["enableDNSHostnames"] = rng.chance(50)
    if rng.chance(30):
        result["publishNotReadyAddresses"] = rng.chance(50)
    if rng.chance(50):
        result["subdomain"] = rng.pick(("net", "net", "s" * 63, "", "a.b", "Bad", "1x")) if rng.chance(40) else "net"
    return result


def targets(rng: Rng, names: list[str]) -> list[str]:
    """Return names of jobs, rarely one that is not there."""
    return [*rng.some(names, 2), *(("nope",) if rng.chance(5) else ())]


def failure_policy(rng: Rng, names: list[str]) -> Map:
    """Return a failure policy with rules."""
    result: Map = {"maxRestarts": rng.below(4)} if rng.chance(70) else {}
    if rng.chance(25):
        result["restartStrategy"] = rng.pick(("Recreate", "BlockingRecreate", "InPlaceRestart"))
    rules = []
    for index in range(rng.below(3)):
        rule: Map = {"name": f"rule{index}", "action": rng.pick(ACTIONS if rng.chance(20) else ACTIONS[:3])}
        if rng.chance(6):
            rule["name"] = rng.pick(("", "1x", "a-b", "rule0", "a" * 129))
        if rng.chance(50):
            rule["targetReplicatedJobs"] = targets(rng, names)
        if rng.chance(40):
            rule["onJobFailureReasons"] = rng.some(REASONS if rng.chance(10) else REASONS[:4], 2)
        rules.append(rule)
    return {**result, "rules": rules} if rules else result


def claims(rng: Rng, jobs: list[Map]) -> list[Map]:
    """Return claims of volumes, which a container of the first job then mounts."""
    result: list[Map] = []
    for name in ("claim", "scratch")[: 1 + rng.below(2)]:
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": rng.pick(("1024Mi", "1Gi"))}}}
        policy: Map = {"templates": [{"metadata": {"name": name}, "spec": spec}]}
        if rng.chance(50):
            policy["retentionPolicy"] = {"whenDeleted": rng.pick(("Delete", "Retain"))}
        result.append(policy)
        if rng.chance(90):
            first = jobs[0]["template"]["spec"]["template"]["spec"]["containers"][0]
            first.setdefault("volumeMounts", []).append({"name": name, "mountPath": f"/claims/{name}"})
    return result
