"""The codes TC82x: what every API accepts, and what then never runs or never ends."""

from __future__ import annotations

from trainc.findings.code import Code
from trainc.findings.finding import Severity

_E, _W = Severity.ERROR, Severity.WARNING

NEVER_RUNS = {
    "TC820": Code(
        _E,
        "storageUri that the initializer refuses",
        "The initializers of Trainer v2.3.0 support a fixed set of schemes: hf, s3 and cache for a data set, hf and s3"
        " for a model. With any other scheme they fail, and the job fails with them. Reported for containers that run"
        " the image kubeflow/trainer/dataset-initializer or model-initializer, up to v2.3, with its own command. An"
        " initializer that gets no STORAGE_URI at all is a warning. Under --faithful always a warning.",
        "copy the data to a supported store, or use an initializer image of your own in the runtime",
    ),
    "TC821": Code(
        _E,
        "image that no node can pull",
        "The kubelet parses the name of an image before it pulls it, and reports InvalidImageName for what is not a"
        " valid reference: upper case in the path, a space, https://, a placeholder that nothing filled in, a digest of"
        " the wrong length. The API server accepts all of these. trainc checks the name after images.lock.yaml and the"
        " environment's registries and patches have been applied. Under --faithful a warning.",
        "write [registry[:port]/]path[:tag][@sha256:digest] with the path in lower case",
    ),
    "TC822": Code(
        _E,
        "MPI without a launcher or nodes",
        "Trainer's MPI plugin finds its replicated jobs by name: 'launcher' gets the hostfile and the variables of"
        " mpirun, and the pods of 'node' are the hosts. If one of them is missing, mpirun has nothing to run on or does"
        " not run at all. Only a runtime with runLauncherAsNode needs just one of them, for jobs of one node. A warning"
        " under --faithful, and where a command runs mpirun with its own list of hosts.",
    ),
    "TC823": Code(
        _E,
        "misspelt ancestor label",
        "Trainer finds the job that trains and the initializers by the label"
        " trainer.kubeflow.org/trainjob-ancestor-step of a replicated job's template: trainer, dataset-initializer or"
        " model-initializer. It ignores any other value, so nothing from the TrainJob reaches that job. Under"
        " --faithful a warning.",
    ),
    "TC824": Code(
        _W,
        "no job has the label of the trainer",
        "The image, command, variables, resources and number of nodes of a TrainJob go to the replicated job whose"
        " template has the label trainer.kubeflow.org/trainjob-ancestor-step: trainer. If no job has it, Trainer drops"
        " them without an error, and sets no variables for torch, JAX and XGBoost.",
    ),
    "TC825": Code(
        _W,
        "MPI job that never ends",
        "The nodes of an MPI job run sshd until something stops them. Unless its successPolicy names only the launcher,"
        " the JobSet waits for the nodes as well, and holds their resources forever.",
        "write successPolicy: {operator: All, targetReplicatedJobs: [launcher]}",
    ),
    "TC826": Code(
        _W,
        "MPI launcher that does not wait for its nodes",
        "mpirun fails if the sshd of a node does not listen yet. JobSet waits for one replicated job before it starts"
        " another only if dependsOn or startupPolicy says so.",
        "write dependsOn: [{name: node, status: Ready}] in replicated job launcher",
    ),
    "TC827": Code(
        _E,
        "host names that do not resolve",
        "With network.enableDNSHostnames: false JobSet creates no headless Service and gives the pods no subdomain, so"
        " DNS does not know the names <job>-<index>.<subdomain> by which the processes find each other. A warning under"
        " --faithful, and for a single pod whose command does not seem to use the names.",
        "remove enableDNSHostnames, or set it to true",
    ),
}
