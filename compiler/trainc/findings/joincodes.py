"""The codes of joining a TrainJob with its runtime: TC3xx."""

from __future__ import annotations

from trainc.findings.code import Code
from trainc.findings.finding import Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

JOIN = {
    "TC301": Code(
        _E,
        "runtime not found",
        "spec.runtimeRef names a TrainingRuntime or ClusterTrainingRuntime that is neither given nor built in.",
    ),
    "TC302": Code(_E, "unsupported kind of runtime", "runtimeRef.kind is TrainingRuntime or ClusterTrainingRuntime."),
    "TC303": Code(
        _W,
        "deprecated runtime",
        "The runtime carries the label trainer.kubeflow.org/support: deprecated and will be removed.",
    ),
    "TC304": Code(_E, "replicas must be 1", "Trainer runs one replica of every job that carries an ancestor label."),
    "TC305": Code(
        _E,
        "required container missing",
        "Trainer shapes the container called node of the trainer's job, and the initializer's own of an initializer's.",
    ),
    "TC306": Code(
        _E,
        "initializer missing in the runtime",
        "The TrainJob configures an initializer for which the runtime has no job, no container or no volume mount.",
    ),
    "TC307": Code(_E, "invalid manager of a runtime patch", "A manager is a domain-prefixed path: acme.io/name."),
    "TC308": Code(
        _E,
        "environment variables in a runtime patch",
        "The containers node, dataset-initializer and model-initializer take variables from the TrainJob's trainer and"
        " initializer, not from patches.",
        "use spec.trainer.env or spec.initializer.*.env",
    ),
    "TC309": Code(
        _E,
        "unknown name in a runtime patch",
        "A patch names a replicated job or container that the runtime does not have. Trainer v2.3.0 merges patches"
        " before it checks them, so the misspelt item is simply added: a job or container without an image, and"
        " nothing of the patch where it was meant.",
    ),
    "TC310": Code(
        _E,
        "patch that cannot be merged",
        "Strategic merge refuses the runtime patch: a $-directive that it does not know, or an item without the key"
        " that tells it from others. Trainer's webhook panics on that, and nothing is created.",
    ),
    "TC311": Code(
        _W,
        "managed by another controller",
        "managedBy names MultiKueue: the Trainer controller of this cluster creates nothing. trainc emits what the"
        " worker cluster's controller would create.",
    ),
    "TC312": Code(
        _W,
        "no static equivalent",
        "Only a running Trainer controller enforces activeDeadlineSeconds of a TrainJob. trainc gives it to the Jobs"
        " where that comes to the same: where all of them start with the JobSet, and none starts anew after a failure."
        " Elsewhere it is an error; under faithful a warning.",
    ),
    "TC313": Code(
        _W,
        "job exists in the cluster",
        "A JobSet of this name runs already: the controller leaves it alone, so no JobSet is emitted.",
    ),
    "TC314": Code(
        _N,
        "runtime without a job",
        "No TrainJob of any environment uses this runtime. It may go; one that a job uses may not.",
    ),
    "TC316": Code(
        _E,
        "runtime snapshot of another owner",
        "The Trainer controller keeps a copy of the runtime in the ConfigMap <job>-runtime-snapshot, and refuses to"
        " work with one that it did not create for this TrainJob. Reported under --faithful only: what trainc emits"
        " needs no snapshot.",
        "rename the TrainJob or the ConfigMap",
    ),
}
