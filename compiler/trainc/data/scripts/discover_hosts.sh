#!/bin/sh
# Prints HOST:SLOTS for every host whose pod runs now, in the order of the hostfile: what `horovodrun
# --host-discovery-script` asks again and again. If the cluster does not answer, it prints nothing and ends with 1.
set -u
PATH=/opt/kube:${PATH:-/usr/local/bin:/usr/bin:/bin}
case $0 in */*) here=${0%/*} ;; *) here=/etc/mpi ;; esac

fail() {
    printf 'discover_hosts: %s\n' "$1" >&2
    exit 1
}

command -v kubectl >/dev/null || fail 'the image has no kubectl: install it, or set transport.image in trainc.yaml'
jobset=
read -r jobset <"$here/jobset" || [ -n "$jobset" ] || fail "cannot read $here/jobset"
[ -r "$here/hosts" ] || fail "cannot read $here/hosts"

columns='{range .items[*]}{.status.phase}|{.metadata.deletionTimestamp}|'
columns=$columns'{.status.containerStatuses[?(@.name=="node")].state.running.startedAt}|'
columns=$columns'{.metadata.labels.jobset\.sigs\.k8s\.io/replicatedjob-name} '
columns=$columns'{.metadata.labels.jobset\.sigs\.k8s\.io/job-index} '
columns=$columns'{.metadata.labels.batch\.kubernetes\.io/job-completion-index}{"\n"}{end}'
pods=$(kubectl get pods -l "jobset.sigs.k8s.io/jobset-name=$jobset" -o "jsonpath=$columns") ||
    fail 'kubectl get pods fails'

running='|'$(printf '%s\n' "$pods" | while IFS='|' read -r phase deleted started place; do
    [ "$phase" = Running ] && [ -z "$deleted" ] && [ -n "$started" ] && printf '%s|' "$place"
done)
while read -r host job index completion slots; do
    case $running in *"|$job $index $completion|"*) printf '%s:%s\n' "$host" "$slots" ;; esac
done <"$here/hosts"
