#!/bin/sh
# Runs a command in the pod of a host, by kubectl exec: mpirun calls this as it would call ssh.
#
#   kubexec.sh [OPTION]... HOST COMMAND [ARGUMENT]...
#
# As with ssh, command and arguments are joined by blanks and read by a shell in the pod, standard input goes there
# (not with -n), and the exit status is the command's, or 255 if nothing could be run. Other options of ssh are passed
# over. The table `hosts` beside this file tells which pod has the host's name: host, replicated job, job index,
# completion index. Until that pod runs, it is waited for: TRAINC_KUBEXEC_TIMEOUT seconds, 300 if that is not set.
set -u
PATH=/opt/kube:${PATH:-/usr/local/bin:/usr/bin:/bin}
case $0 in */*) here=${0%/*} ;; *) here=/etc/mpi ;; esac
limit=${TRAINC_KUBEXEC_TIMEOUT:-300}

fail() {
    printf 'kubexec: %s\n' "$1" >&2
    exit 255
}

# Prints the pod of the highest restart attempt among those that run, are not being deleted and have a running container
# node; of several the one that was made last. Reads a line a pod, oldest first, as $columns has it.
newest() {
    best=-1
    chosen=
    while IFS='|' read -r name phase deleted started attempt; do
        [ "$phase" = Running ] && [ -z "$deleted" ] && [ -n "$started" ] || continue
        case $attempt in '' | *[!0-9]*) attempt=0 ;; esac
        [ "$attempt" -ge "$best" ] || continue
        best=$attempt
        chosen=$name
    done
    printf '%s' "$chosen"
}

host=
input=-i
while [ $# -gt 0 ]; do
    case $1 in
    --)
        shift
        if [ -z "$host" ] && [ $# -gt 0 ]; then
            host=$1
            shift
        fi
        break
        ;;
    -n)
        input=
        shift
        ;;
    -[BbcDEeFIiJLlmOoPpQRSWw]) # options of ssh that have a value
        shift
        [ $# -eq 0 ] || shift
        ;;
    -*) shift ;;
    *)
        [ -z "$host" ] || break
        host=$1
        shift
        ;;
    esac
done
[ -n "$host" ] && [ $# -gt 0 ] || fail 'usage: kubexec.sh [OPTION]... HOST COMMAND [ARGUMENT]...'
case $limit in '' | *[!0-9]*) fail "TRAINC_KUBEXEC_TIMEOUT is no number of seconds: $limit" ;; esac
command -v kubectl >/dev/null || fail 'the image has no kubectl: install it, or set transport.image in trainc.yaml'

jobset=
read -r jobset <"$here/jobset" || [ -n "$jobset" ] || fail "cannot read $here/jobset"
job=
while read -r name replicated index completion _; do
    # Open MPI may have cut off the domain.
    case $name in "$host" | "$host".*) job=$replicated && break ;; esac
done <"$here/hosts"
[ -n "$job" ] || fail "host $host is not in $here/hosts"

labels=jobset.sigs.k8s.io/jobset-name=$jobset,jobset.sigs.k8s.io/replicatedjob-name=$job
labels=$labels,jobset.sigs.k8s.io/job-index=$index,batch.kubernetes.io/job-completion-index=$completion
columns='{range .items[*]}{.metadata.name}|{.status.phase}|{.metadata.deletionTimestamp}|'
columns=$columns'{.status.containerStatuses[?(@.name=="node")].state.running.startedAt}|'
columns=$columns'{.metadata.labels.jobset\.sigs\.k8s\.io/restart-attempt}{"\n"}{end}'

begun=$(date +%s)
pause=1
while :; do
    reason='no pod of it runs'
    pod=
    if pods=$(kubectl get pods --sort-by=.metadata.creationTimestamp \
        -l "$labels" -o "jsonpath=$columns"); then
        pod=$(printf '%s\n' "$pods" | newest)
    else
        reason='kubectl get pods fails'
    fi
    [ -z "$pod" ] || break
    left=$((limit - $(date +%s) + begun))
    [ "$left" -gt 0 ] || fail "gave up on host $host after $limit s: $reason"
    [ "$pause" -le "$left" ] || pause=$left
    sleep "$pause"
    pause=$((pause < 8 ? pause * 2 : 8))
done
exec kubectl exec ${input:+"$input"} "$pod" -c node -- /bin/sh -c "$*"
