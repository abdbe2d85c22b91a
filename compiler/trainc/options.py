"""What a caller can choose."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainc.settings import RECOMMENDED, Settings, read_settings
from trainc.source import Document, JsonObject, Source


@dataclass(frozen=True, slots=True)
class Revision:
    """What a revision holds of inputs and out/, under the names there. ``name`` is what its user calls it."""

    name: str
    sources: tuple[Source, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one compilation.

    ``faithful``: exactly what API server, Trainer v2.3.0 and JobSet v0.12.0 make of the documents given.
    ``environment``: a key of ``environments`` in trainc.yaml; the first folder below out/.
    ``config``: the parsed trainc.yaml; ``settings`` is what it says for the environment, and nothing under faithful.
    ``config_document``: its text, where findings in it are placed.
    ``fixes``: names of FIXES to switch on, beside those of trainc.yaml; ``recommended`` stands for those that are.
    ``crds``: files with CustomResourceDefinitions, by which objects beside TrainJobs and runtimes are judged.
    ``base``: what was there before; with it the changes that a cluster would refuse are findings, too.
    Raises ValueError for fixes that are not there, and for fixes under faithful.
    """

    faithful: bool = False
    environment: str = "prod"
    config: JsonObject = field(default_factory=dict, hash=False)
    fixes: tuple[str, ...] = ()
    crds: tuple[Source, ...] = ()
    base: Revision | None = None
    config_document: Document | None = field(default=None, repr=False, compare=False)
    settings: Settings = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.faithful and self.fixes:
            raise ValueError("faithful output has no fixes")
        settings = Settings() if self.faithful else read_settings(self.config, self.environment)
        for name in self.fixes:
            if name != RECOMMENDED and name not in FIXES:
                raise ValueError(f"no fix {name!r}")
        object.__setattr__(self, "settings", settings)

    def fixed(self, name: str) -> bool:
        """Tell whether a fix is switched on. Raises KeyError for a name that is none."""
        chosen = (*self.fixes, *self.settings.fixes)
        return name in chosen or (RECOMMENDED in chosen and FIXES[name].recommended)


@dataclass(frozen=True, slots=True)
class Fix:
    """A known bug of Trainer v2.3.0 that trainc reproduces unless the fix is switched on.

    ``code`` is the warning's, ``issue`` upstream's, ``wrong`` what happens, ``right`` what the fix does instead.
    ``recommended``: whether fixes: recommended switches it on, for the reason in docs/fixes.md.
    """

    code: str
    title: str
    issue: str
    wrong: str
    right: str
    recommended: bool = False


FIXES: dict[str, Fix] = {
    "openmpi5-variables": Fix(
        "TC451",
        "Open MPI 5 ignores the variables",
        "kubeflow/trainer#4028",
        "Only Open MPI 4's variables (OMPI_MCA_orte_*) are set. Open MPI 5 and newer ignore them: all ranks run in the"
        " launcher's pod and the job reports success.",
        "PRRTE's variables (PRTE_MCA_*) are set as well.",
    ),
    "launcher-counts-as-node": Fix(
        "TC452",
        "one node becomes two",
        "kubeflow/trainer#3954",
        "With runLauncherAsNode, numNodes 1 makes a launcher and one worker: two hosts, as numNodes 2 does.",
        "numNodes counts the launcher: 1 makes no worker.",
    ),
    "unnamed-ports": Fix(
        "TC453",
        "unnamed ports replace each other",
        "kubeflow/trainer pkg/apply (no issue known)",
        "Two ports without a name count as the same port. The trainer's port 29500 replaces an unnamed one of container"
        " node, and two unnamed ports in any container become duplicates that JobSet refuses.",
        "Ports are told apart by number and protocol.",
    ),
    "trainer-omitted": Fix(
        "TC454",
        "no variables without spec.trainer",
        "kubeflow/trainer#4076",
        "A TrainJob without spec.trainer gets none of the variables of torch, JAX and XGBoost, and no port.",
        "An absent spec.trainer is the same as an empty one.",
    ),
    "jax-reserved-env": Fix(
        "TC455",
        "JAX variables can be replaced",
        "kubeflow/trainer#3669",
        "spec.trainer.env may set JAX_NUM_PROCESSES, JAX_PROCESS_ID and JAX_COORDINATOR_ADDRESS; that value wins.",
        "They are refused, as torch's and XGBoost's are.",
    ),
    "env-to-workers": Fix(
        "TC456",
        "variables do not reach MPI workers",
        "kubeflow/trainer#3427",
        "spec.trainer.env reaches the launcher's container; ssh and mpirun do not forward it to the ranks.",
        "The launcher's mpirun is told to forward them.",
    ),
    "ssh-key-mode": Fix(
        "TC457",
        "private key readable by the group",
        "kubeflow/trainer#3262",
        "id_rsa is mounted with mode 0640. ssh refuses it where the container runs as root without fsGroup.",
        "The mode is 0600.",
    ),
    "ssh-known-hosts": Fix(
        "TC458",
        "host keys are not known",
        "kubeflow/trainer (no issue known)",
        "The Secret is mounted without known_hosts, so that images must switch off the check of host keys.",
        "known_hosts is mounted, and the check stays on where sshd serves the Secret's own key.",
    ),
    "gang-min-member": Fix(
        "TC459",
        "the gang counts pods that cannot run yet",
        "kubeflow/trainer (no issue known)",
        "minMember sums the pods of all replicated jobs, initializers included, though the trainer's pods start only"
        " when the initializers are complete: the gang is never satisfied.",
        "minMember counts the pods that run together.",
    ),
    "master-address": Fix(
        "TC460",
        "the master's address is fixed",
        "kubeflow/trainer (no issue known)",
        "The address of rank 0 is made of job name node and the TrainJob's name, even if the trainer's job is called"
        " otherwise or network.subdomain is set: it then points to nothing.",
        "The address is made of the trainer's own job and the subdomain.",
    ),
    "volume-source-replaced": Fix(
        "TC461",
        "a patched volume keeps both sources",
        "kubeflow/trainer (no issue known)",
        "A runtime patch that gives a volume another source leaves the old one in place. JobSet accepts that; no Pod"
        " can be made of it.",
        "The patch's source replaces the runtime's.",
    ),
    "cache-dataset-mount": Fix(
        "TC462",
        "the cache runtime refuses data sets",
        "kubeflow/trainer#3714",
        "torch-distributed-with-cache has no volume mount called initializer, which a TrainJob with initializer.dataset"
        " is checked for: every such TrainJob is refused.",
        "The check passes where the data set goes to the cache.",
    ),
    "mpi-num-nodes": Fix(
        "TC463",
        "mlPolicy.numNodes goes to the launcher",
        "kubeflow/trainer (no issue known)",
        "With MPI, mlPolicy.numNodes sets the number of launchers, and job node keeps its own parallelism.",
        "mlPolicy.numNodes is the default of spec.trainer.numNodes.",
    ),
    "torchtune-dataset-args": Fix(
        "TC464",
        "torchtune is not told of the data set",
        "kubeflow/sdk#768",
        "A data set that is not on Hugging Face is fetched, but torchtune gets no argument for it and trains on its"
        " default data set.",
        "The arguments for the fetched data set are added.",
    ),
    "flux-runtime-args": Fix(
        "TC465",
        "the runtime's args stay behind Flux' command",
        "kubeflow/trainer (no issue known)",
        "The container's command is replaced by Flux' entrypoint, but the runtime's args stay and are handed to it.",
        "The runtime's args become part of the wrapped command.",
    ),
}
"""By name; names are part of the contract. docs/fixes.md is made from this table."""
