"""The one table of codes. A number, once released, keeps its meaning for ever."""

from __future__ import annotations

from trainc.diagnostics.code import Code
from trainc.diagnostics.creationcodes import POLICY_CREATION
from trainc.diagnostics.diagnostic import Severity
from trainc.diagnostics.gitopscodes import GITOPS
from trainc.diagnostics.imagecodes import IMAGE
from trainc.diagnostics.joincodes import JOIN
from trainc.diagnostics.mistakecodes import MISTAKES
from trainc.diagnostics.outputcodes import OUTPUT
from trainc.diagnostics.policycodes import POLICY
from trainc.diagnostics.refusals import JOBSET
from trainc.diagnostics.runcodes import NEVER_RUNS
from trainc.options import FIXES

__all__ = ["CODES", "Code"]

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE


INPUT = {
    "TC001": Code(_E, "not UTF-8 text", "Kubernetes reads UTF-8 only. The file holds bytes that are not UTF-8."),
    "TC002": Code(_E, "YAML syntax", "The text is not YAML that kubectl can read."),
    "TC003": Code(
        _E,
        "duplicate key",
        "A mapping holds one key twice. The API server refuses that; other readers silently keep one of the two.",
        "remove one of the two",
    ),
    "TC004": Code(
        _E,
        "value that JSON cannot hold",
        "Kubernetes objects are JSON. YAML can say more: binary data, sets, NaN and infinities, keys that are lists or"
        " mappings, aliases that contain themselves. None of that can reach a cluster.",
    ),
    "TC005": Code(
        _W,
        "ambiguous plain scalar",
        "YAML 1.1, which Kubernetes reads, and YAML 1.2, which many editors and libraries read, give this unquoted"
        " text different values. trainc reads it as Kubernetes does.",
    ),
    "TC006": Code(
        _E,
        "not a Kubernetes object",
        "Every document is a mapping with apiVersion, kind and metadata.name, all of them strings.",
    ),
    "TC007": Code(
        _W,
        "unexpected kind",
        "jobs/ holds TrainJobs. A document of another kind there is not compiled and changes nothing in out/.",
    ),
    "TC008": Code(
        _E,
        "wrong apiVersion",
        "trainc compiles trainer.kubeflow.org/v1alpha1, the version that Trainer v2.3.0 serves. For other kinds: the"
        " CRD given, or Kubernetes 1.34, does not serve this version. Or the group has no kind of this name at all.",
    ),
    "TC009": Code(
        _E,
        "two documents of one identity",
        "Two documents have one API group, kind, namespace and name. In a cluster the later one would replace the"
        " other; trainc asks you to choose.",
        "rename or remove one of the two",
    ),
    "TC010": Code(
        _E,
        "namespace differs from the folder",
        "Below jobs/ the folder is the namespace: jobs/<namespace>/<job>.yaml. metadata.namespace may be left out, or"
        " must say the same.",
    ),
    "TC011": Code(
        _E,
        "unreadable file",
        "A file could not be read, or lies where trainc does not look: below jobs/ there is one level of folders, the"
        " namespaces. Files of the project must be regular files, or links to files within the project.",
    ),
    "TC012": Code(
        _E,
        "input too large",
        "The text holds, or expands to, more than any Kubernetes object may: an API server takes at most 3 MiB. Aliases"
        " that multiply each other do that. Or a file has more documents than trainc reads.",
    ),
    "TC013": Code(
        _E,
        "configuration",
        "trainc.yaml holds a key that trainc does not know, or a value of the wrong type.",
    ),
    "TC014": Code(
        _E,
        "nothing to compile",
        "The input holds no TrainJob. For jobs/ or a folder below it this is a note: once the last TrainJob is deleted,"
        " render removes everything that it generated from it. In a folder with neither trainc.yaml nor jobs/, and for"
        " a file that was named, it is an error.",
    ),
    "TC015": Code(
        _N,
        "companion of a runtime",
        "A runtime's file may hold what its jobs need: a ServiceAccount, a Role, a claim. They go to the folder"
        " 0-shared of every namespace with a job of the runtime. Here no job uses it, or the output is faithful.",
    ),
    "TC016": Code(
        _W,
        "comment that cannot silence",
        "A comment `# trainc: ignore TC409, TC015 reason` silences findings of these codes on what begins on the next"
        " line, or on its own line where it ends one, and on everything below that. It needs codes that there are and"
        " a reason. Errors of input, of trainc itself and wherever a cluster would refuse cannot be silenced.",
    ),
    "TC017": Code(
        _N,
        "comment that silences nothing",
        "A comment ignores a code, and nothing of that code was found on what the comment covers.",
        "remove the code from the comment",
    ),
    "TC018": Code(
        _N,
        "nothing to compare with",
        "A document at the base revision of validate --base cannot be read, or no cluster would have taken it. What has"
        " changed since then is not checked for it.",
    ),
    "TC019": Code(
        _E,
        "job of another operator",
        "trainc compiles TrainJobs only. TrainJob and its runtimes replace the jobs of Training Operator v1"
        " (PyTorchJob, TFJob, MPIJob, ...) and Volcano's Job, so trainc generates nothing from this document. Under"
        " --faithful this is a warning: in a cluster another controller may run the job.",
        "replace it by a TrainJob",
    ),
    "TC020": Code(
        _W,
        "file without documents",
        "A file below jobs/ or runtimes/ is empty or holds nothing but comments. render removes from out/ what it"
        " generated from the file before, and the job is then deleted from the cluster.",
        "delete the file if that is intended",
    ),
    "TC022": Code(
        _E,
        "ConfigMap too large",
        "The API server refuses a ConfigMap whose values add up to more than 1 MiB.",
        "put large files into the image or on a volume",
    ),
    "TC023": Code(
        _W,
        "name that Windows reserves",
        "Windows reserves this name, with any extension, for a device. git on Windows cannot check out the folder below"
        " out/ that has this name.",
        "choose another name",
    ),
}

SCHEMA = {
    "TC101": Code(
        _E,
        "unknown field",
        "The API server drops a field that the schema of its CRD does not have; whoever wrote it meant something by"
        " it. kubectl refuses it, too.",
    ),
    "TC102": Code(_E, "wrong type", "A value has another type than the CRD's schema asks for."),
    "TC103": Code(_E, "required field missing", "The CRD's schema requires this field."),
    "TC104": Code(_E, "value not allowed", "The CRD's schema lists the values that this field may have."),
    "TC105": Code(_E, "value out of bounds", "A number, a length or a count is outside of the CRD's limits."),
    "TC106": Code(_E, "wrong format", "A string does not have the form that the CRD's schema asks for."),
    "TC107": Code(
        _E,
        "duplicate list item",
        "Kubernetes treats this list as a map or a set: two items may not have the same key.",
    ),
    "TC108": Code(
        _E, "invalid metadata", "Kubernetes' own rules for metadata: names, namespaces, labels, annotations."
    ),
    "TC109": Code(
        _E,
        "cannot be decoded",
        "The document passes the CRD's schema, but the controller's Go types cannot hold it, so every webhook refuses"
        " it: a quantity that does not parse, an integer past 32 bits.",
    ),
    "TC110": Code(
        _N,
        "rules not checked",
        "The API server evaluates a CRD's rules only for a document that has the right types, all required fields,"
        " allowed values and no text or list that is too long. More may come up once these are put right.",
    ),
    "TC111": Code(
        _E,
        "CRD that cannot be read",
        "The schema of this CustomResourceDefinition cannot be read: a keyword has a value of the wrong type, or is not"
        " supported in structural schemas. Objects of its kind are not checked until it is put right.",
    ),
    "TC112": Code(
        _W,
        "pattern that cannot be tried",
        "A pattern in a CRD is not a regular expression of Go, or needs more memory than trainc gives one. Texts are"
        " not checked against it.",
    ),
    "TC113": Code(
        _W,
        "CRD that does not count",
        "A CRD of a kind that trainc compiles is not the one of Trainer v2.3.0 or JobSet v0.12.0, for which it"
        " compiles: the cluster may have another version. Or two CRDs define one kind. trainc goes on with its own, or"
        " with the first.",
    ),
}

RULES = {
    "TC201": Code(
        _E,
        "rule of the CRD not met",
        "A rule among the CRD's x-kubernetes-validations does not hold for the document, or cannot be evaluated for it."
        " The message is the CRD author's, as the cluster gives it; `expected` shows the rule.",
    ),
    "TC202": Code(
        _E,
        "change that the CRD forbids",
        "A rule that compares an object with what it was before does not hold: the cluster refuses to change the"
        " object of this name. For TrainJobs and runtimes, which need not reach a cluster, it is a warning. Told by"
        " validate --base.",
        "give the new object another name, or leave the field as it was",
    ),
    "TC204": Code(
        _E,
        "change that a webhook forbids",
        "JobSet's webhook lets hardly anything of a JobSet's replicated jobs change: labels and annotations of pods,"
        " node selectors, tolerations and scheduling gates, and these only while the JobSet is suspended. Trainer's"
        " lets runtimePatches change only while the TrainJob is suspended; since a TrainJob need not reach a cluster,"
        " that is a warning. Told by validate --base.",
        "give the new object another name, or leave the field as it was",
    ),
    "TC205": Code(
        _E,
        "change of an immutable ConfigMap",
        "The API server lets nothing of a ConfigMap change that says immutable: true. trainc says so of those that a"
        " JobSet's pods read, so that no commit changes them under a running job. Told by validate --base.",
        "give the new object another name, or leave the field as it was",
    ),
}

PLUGINS = {
    "TC401": Code(
        _E,
        "reserved environment variable",
        "The runtime's plugin sets this variable itself; Trainer refuses a TrainJob that sets it.",
        "remove it",
    ),
    "TC402": Code(_E, "torchtune", "torchtune supports a fixed set of models and of ways to fine-tune them."),
    "TC403": Code(
        _E,
        "unknown target of envInjection",
        "mlPolicy.torch.envInjection names a replicated job and container that the runtime does not have.",
    ),
    "TC404": Code(_E, "MPI", "What Trainer's MPI plugin refuses."),
    "TC405": Code(_E, "Flux", "What Trainer's Flux plugin refuses, or where it panics."),
    "TC406": Code(_E, "Volcano", "What Trainer's Volcano plugin refuses."),
    "TC407": Code(
        _E,
        "too many hosts",
        "The hostfile would have more lines than trainc writes. Trainer itself runs out of memory.",
        "at most 100,000 hosts",
    ),
    "TC408": Code(
        _W,
        "Secret must exist",
        "The JobSet mounts a Secret that trainc never writes, since no private key belongs in git.",
    ),
    "TC409": Code(
        _W,
        "two GPU-like resources",
        "Trainer takes the first resource with gpu in its name, in Go's random map order: the result differs from run"
        " to run. trainc takes the first by name.",
    ),
    "TC410": Code(
        _E,
        "fewer than one node or process",
        "Every webhook accepts a numNodes or numProcPerNode of 0 and less. With 0 nodes the job is complete at once and"
        " nothing was trained; with less no Job can be created. Under faithful a warning.",
        "set it to 1 or more, or leave it out for the runtime's own",
    ),
    "TC411": Code(
        _W,
        "secret in plain text",
        "A variable, an argument or an address holds what looks like a password, a key or a token, by its name; or any"
        " field holds one by its shape: the tokens of well-known services, a JWT, an HTTP Authorization header. In git"
        " it is read by everyone who reads git, also after it is removed: treat it as known, and replace it.",
        "put a new one into a Secret and refer to it: valueFrom.secretKeyRef, or secretRef of an initializer",
    ),
    "TC412": Code(
        _W,
        "image without a fixed version",
        "An image without a tag, or with the tag latest, is another program tomorrow: the commit does not say what ran,"
        " and nodes that hold an older image run that one.",
        "name a version, best by its digest (image@sha256:)",
    ),
    "TC413": Code(
        _W,
        "not for the MPI workers",
        "Under MPI spec.trainer means the launcher. Its image never reaches job node, and its resources only where the"
        " runtime says runLauncherAsNode: the pods that compute keep what the runtime gives them.",
    ),
    "TC414": Code(
        _E,
        "private key in plain text",
        "A document or a patch of trainc.yaml holds a private key: in an argument, a variable, a script, an annotation"
        " or the data of a ConfigMap. render would write it to out/ as well. Everyone who can read the repository can"
        " read the key, even after it is removed: revoke it. Neither a comment nor trainc.yaml can silence this error."
        " Under --faithful a warning.",
        "store a new key in a Secret, and mount the Secret or refer to it",
    ),
}

KNOWN_BUGS = {
    fix.code: Code(
        _W,
        fix.title,
        f"A known bug of Trainer v2.3.0 ({fix.issue}), which trainc reproduces. {fix.wrong} Fix {name}: {fix.right}",
    )
    for name, fix in FIXES.items()
}

_TABLES = (
    INPUT,
    SCHEMA,
    RULES,
    JOIN,
    PLUGINS,
    KNOWN_BUGS,
    POLICY,
    POLICY_CREATION,
    GITOPS,
    IMAGE,
    JOBSET,
    NEVER_RUNS,
    MISTAKES,
    OUTPUT,
)
CODES: dict[str, Code] = {number: code for table in _TABLES for number, code in table.items()}
