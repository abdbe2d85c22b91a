"""The codes TC82x: what every API accepts, and what then never runs or never ends."""

from __future__ import annotations

from trainc.diagnostics.code import Code
from trainc.diagnostics.diagnostic import Severity

_E, _W = Severity.ERROR, Severity.WARNING

NEVER_RUNS = {
    "TC820": Code(
        _E,
        "storageUri that the initializer refuses",
        "The initializers of Trainer v2.3.0 know a fixed set of schemes: hf, s3 and cache for a data set, hf and s3 for"
        " a model. They fail on any other, and the job with them. Reported where the container runs an image"
        " kubeflow/trainer/dataset-initializer or model-initializer, up to v2.3, with the image's own command. Where"
        " they get no STORAGE_URI at all it is a warning. Under faithful always a warning.",
        "copy the data to a store that the initializer knows, or give the runtime an initializer image of your own",
    ),
    "TC821": Code(
        _E,
        "image that no node can pull",
        "The kubelet parses the name of an image before it pulls it. What is not a valid reference ends as"
        " InvalidImageName: upper case in the path, a space, a URL's https://, a template mark that was not filled in,"
        " a digest of the wrong length. The API server accepts them all. The name is checked after the lock and the"
        " environment's registries and patches have changed it. Under faithful a warning.",
        "write [registry[:port]/]path[:tag][@sha256:digest], the path in lower case",
    ),
    "TC822": Code(
        _E,
        "MPI without a launcher or nodes",
        "Trainer's MPI plugin finds its replicated jobs by their names: 'launcher' gets the hostfile and the variables"
        " of mpirun, the pods of 'node' are the hosts. Without one of them mpirun starts no rank where it should. Only"
        " a runtime with runLauncherAsNode can do with one of them, for jobs of one node. A warning under faithful, and"
        " where a command runs mpirun with a list of hosts of its own.",
    ),
    "TC823": Code(
        _E,
        "misspelt ancestor label",
        "Trainer finds the job that trains and the initializers by the label"
        " trainer.kubeflow.org/trainjob-ancestor-step of a replicated job's template: trainer, dataset-initializer or"
        " model-initializer. It ignores any other value, so nothing of the TrainJob reaches that job. Under faithful a"
        " warning.",
    ),
    "TC824": Code(
        _W,
        "no job has the label of the trainer",
        "Image, command, variables, resources and number of nodes of a TrainJob go to the replicated job whose template"
        " has the label trainer.kubeflow.org/trainjob-ancestor-step: trainer. Where no job has it, they are dropped"
        " without an error, and so are the variables of torch, JAX and XGBoost.",
    ),
    "TC825": Code(
        _W,
        "MPI job that never ends",
        "The nodes of an MPI job run sshd until they are stopped. A JobSet whose successPolicy does not name the"
        " launcher alone waits for them as well, and holds their resources for ever.",
        "write successPolicy: {operator: All, targetReplicatedJobs: [launcher]}",
    ),
    "TC826": Code(
        _W,
        "MPI launcher that does not wait for its nodes",
        "mpirun fails at a node whose sshd does not listen yet. JobSet starts a replicated job after another one is"
        " ready only where dependsOn or an ordered startupPolicy says so.",
        "write dependsOn: [{name: node, status: Ready}] in replicated job launcher",
    ),
    "TC827": Code(
        _E,
        "host names that do not resolve",
        "With network.enableDNSHostnames: false JobSet makes no headless Service, and the pods have no subdomain: the"
        " names <job>-<index>.<subdomain>, by which the plugins tell the processes where the others are, are unknown"
        " to DNS. A warning under faithful, and for one pod whose command does not look as if it used the names.",
        "leave enableDNSHostnames out, or set it to true",
    ),
}
