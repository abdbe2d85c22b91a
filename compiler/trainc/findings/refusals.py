"""The codes TC8xx: what JobSet, the Job controller or the API server would refuse of the objects we write."""

from __future__ import annotations

from trainc.findings.code import Code
from trainc.findings.finding import Severity

_E = Severity.ERROR

_ACCEPTED = (
    "JobSet accepts whatever a pod template says; the API server refuses the Job or the Pod when a controller creates"
    " it, over and over, and nothing runs. Told here, at the line that caused it; under faithful as a warning. Here:"
)

JOBSET = {
    "TC801": Code(_E, "refused by JobSet", "What JobSet's admission webhook refuses."),
    "TC802": Code(
        _E,
        "name too long",
        "The names of the Jobs and Pods are made of the TrainJob's name, the replicated job's and indexes; a Pod's name"
        " must stay within 63 characters.",
        "shorten the TrainJob's name",
    ),
    "TC803": Code(
        _E,
        "Job that cannot be created",
        f"{_ACCEPTED} a negative count, a Job whose pods never end (restartPolicy Always), a podFailurePolicy that"
        " contradicts itself.",
    ),
    "TC804": Code(
        _E,
        "label or annotation of a pod",
        f"{_ACCEPTED} a key or a value that no label may have.",
    ),
    "TC805": Code(
        _E,
        "container that cannot run",
        f"{_ACCEPTED} a container without an image, with a name that is none or is taken, with ports or probes that"
        " cannot be.",
    ),
    "TC806": Code(
        _E,
        "volume that cannot be mounted",
        f"{_ACCEPTED} a mount of a volume that the pod does not have, a volume with two sources or with a source that"
        " lacks something, two mounts at one path.",
    ),
    "TC807": Code(
        _E,
        "resources that cannot be had",
        f"{_ACCEPTED} a request above its limit, a GPU or another device requested without a limit, a part of a device,"
        " a resource without a name that Kubernetes knows.",
    ),
    "TC808": Code(
        _E,
        "scheduling rule",
        f"{_ACCEPTED} a toleration, a node selector, an affinity or a spread constraint that says nothing valid.",
    ),
    "TC809": Code(
        _E,
        "security context",
        f"{_ACCEPTED} a security context that contradicts itself or names a user that cannot be.",
    ),
    "TC810": Code(
        _E,
        "pod that cannot be created",
        f"{_ACCEPTED} a field of the pod's spec: a name that is no DNS name, a deadline below one, a DNS policy without"
        " servers.",
    ),
    "TC811": Code(
        _E,
        "environment variable",
        f"{_ACCEPTED} a name that no variable may have, a value from nowhere or from two places.",
    ),
    "TC812": Code(
        _E,
        "claim that cannot be created",
        "JobSet makes a PersistentVolumeClaim of every template in volumeClaimPolicies, and accepts templates that the"
        " API server refuses then: without an access mode, without a size. Under faithful a warning.",
    ),
}
