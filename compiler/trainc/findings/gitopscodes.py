"""The codes of what only a tree in git needs: TC6xx."""

from __future__ import annotations

from trainc.findings.code import Code
from trainc.findings.finding import Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

GITOPS = {
    "TC601": Code(
        _E,
        "suspended job in a queue",
        "Kueue starts and stops a JobSet through spec.suspend. With suspend: true in git, Argo CD's self-heal would"
        " stop the job whenever Kueue has admitted it.",
        "leave spec.suspend to Kueue",
    ),
    "TC602": Code(
        _E,
        "two jobs meet",
        "namespaces of the environment in trainc.yaml leads two jobs of one name to the same namespace, or a run number"
        " gives a job the name of another: one would replace the other.",
        "rename one of the jobs, or keep their namespaces apart",
    ),
    "TC603": Code(
        _N,
        "job in no environment",
        "No environment of trainc.yaml has this TrainJob among its jobs: it is not compiled, and hardly checked.",
    ),
    "TC604": Code(
        _W,
        "unknown service account",
        "A pod names a service account that trainc does not make, and that is among no documents given. Where it is"
        " missing, the pods are never created.",
        "add the ServiceAccount beside the runtime, or list it under serviceAccounts in trainc.yaml",
    ),
    "TC605": Code(
        _E,
        "environment patch that cannot be merged",
        "A patch of the environment in trainc.yaml does not fit the objects that it is meant for.",
    ),
    "TC606": Code(
        _W,
        "environment patch without a target",
        "A patch of the environment in trainc.yaml is meant for objects that no job of the environment has.",
    ),
    "TC607": Code(
        _N,
        "companion of the whole cluster",
        "A ClusterRole or ClusterRoleBinding stands beside a runtime. An Application of a namespace has no rights over"
        " the whole cluster, so trainc does not write it to out/: a cluster's administrator must apply it.",
    ),
    "TC608": Code(
        _E,
        "two companions of one name",
        "Two runtimes bring different objects of one kind and name to one namespace, or a companion has the name of an"
        " object that trainc makes for a job. Argo CD would swap one for the other at every sync.",
        "rename one of the two",
    ),
    "TC609": Code(
        _E,
        "run number",
        'The annotation trainc.dev/run counts the runs of a TrainJob. From "2" on the names of its objects end in the'
        ' number, so that the job runs again; "1" is the plain name. trainc has no other annotation.',
    ),
    "TC610": Code(
        _E,
        "JobSet that removes itself",
        "With ttlSecondsAfterFinished a finished JobSet is gone after a while. In a tree that is synced automatically"
        " it is then missing, is made again by the next commit, or at once, and the job runs once more.",
        "leave it out",
    ),
    "TC611": Code(
        _E,
        "more jobs run again than allowed",
        "With naming: content a change of what cannot be changed gives a JobSet another name: the job that runs is"
        " removed and runs again from the start. A change of a runtime does that to all its jobs, so validate --base"
        " counts them.",
        "split the change, or raise naming.maxReruns in trainc.yaml",
    ),
    "TC612": Code(
        _E,
        "namespace without leave",
        "argocd.namespaces in trainc.yaml lists the namespaces that the AppProject allows, and this is none of them:"
        " Argo CD would refuse the job.",
        "put the job into another namespace, or have the platform team add this one",
    ),
    "TC613": Code(
        _W,
        "name in trainc.yaml that no job has",
        "A pattern of jobs, a namespace or a runtime that trainc.yaml names in an environment is not that of any"
        " TrainJob. A pattern with a slip of the pen leaves jobs out, and what was made of them is removed; a namespace"
        " or runtime with one leaves its jobs where they are. A registry with one leaves the images as they are.",
        "correct the name, or take it out of trainc.yaml",
    ),
    "TC620": Code(
        _E,
        "unknown transport",
        "The annotation trainc.dev/transport of a runtime with mlPolicy.mpi says ssh or kubexec, and goes before"
        " transport of the environment. A runtime has no other annotation of trainc.",
    ),
    "TC621": Code(
        _E,
        "sshd without ssh",
        "With transport kubexec mpirun reaches the nodes by kubectl exec, and no keys are made: sshd would end for want"
        " of its host key, or wait for nobody.",
        "use a runtime whose nodes run no sshd, such as mpi-distributed-kubexec, or give this one the annotation"
        " trainc.dev/transport: ssh",
    ),
    "TC622": Code(
        _E,
        "launcher without a token",
        "With transport kubexec the launcher runs kubectl, which needs the token of the pod's service account.",
        "leave out automountServiceAccountToken: trainc sets it",
    ),
    "TC623": Code(
        _W,
        "exec into pods for others, too",
        "With transport kubexec the launcher's service account may exec into every pod of the namespace. Other pods"
        " that have the token of the same account may do so as well.",
        "give the launcher an account of its own, or leave serviceAccountName out: trainc makes one",
    ),
}
