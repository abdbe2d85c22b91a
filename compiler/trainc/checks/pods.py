"""Errors for which the API server refuses a pod template.

Source: k8s.io/kubernetes v1.34.4 pkg/apis/core/validation, ValidatePodTemplateSpec, with every feature gate at its
default and after the defaults of core/v1. Omitted: Windows, old annotations (seccomp), the fields of volume sources
whose drivers have been removed. tests/oracle/pods compares the results with Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Final

from msgspec.structs import replace

from trainc.admission.fields import (
    MAX_ID,
    Field,
    annotation_map,
    dns_label,
    dns_subdomain,
    faults_in,
    internal,
    label_map,
    label_selector,
    label_value_details,
    qualified_name,
    selector_requirement,
    unique,
)
from trainc.basics.jsonvalues import as_list
from trainc.checks.pod_containers import (
    host_port_conflicts,
    validate_containers,
    validate_host_network_ports,
    validate_pod_security_context,
    validate_started_containers,
)
from trainc.checks.pod_resources import (
    pod_claims_of,
    validate_pod_resources,
    validate_resource_claims,
    validate_resources,
)
from trainc.checks.pod_volumes import validate_volumes
from trainc.kube.fielderror import quote
from trainc.kube.names import is_dns1123_subdomain_with_underscores, is_kube_finalizer
from trainc.kube.pods import APP_ARMOR, APP_ARMOR_LOCAL, with_requests

METADATA, CONTAINERS, VOLUMES, RESOURCES = "TC804", "TC805", "TC806", "TC807"
SCHEDULING, SECURITY, SPEC = "TC808", "TC809", "TC810"


def validate_pod_template(template: Field) -> None:
    """Check a pod template: typed as Go has it, with canonical quantities."""
    metadata, spec = template.coded(METADATA).child("metadata"), template.child("spec")
    # The server's names for labels and annotations lack the step through metadata.
    label_map(metadata.child("labels").named(f"{template.name}.labels"))
    annotations = metadata.child("annotations").named(f"{template.name}.annotations")
    pod_annotations(annotations)
    _app_armor(annotations, spec)
    volumes = validate_volumes(spec.coded(VOLUMES).child("volumes"))
    validate_containers(spec.coded(CONTAINERS), volumes)
    _scheduling(spec.coded(SCHEDULING))
    validate_pod_security_context(spec.coded(SECURITY))
    _pod_spec(spec.coded(SPEC))
    if spec.object().get("hostNetwork") is True:
        validate_host_network_ports(spec.coded(CONTAINERS).items("containers"))


_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def pod_annotations(field: Field) -> None:
    """Check the annotations of pods."""
    annotation_map(field)
    cost = field.key(_DELETION_COST)
    if isinstance(cost.value, str):
        is_number = re.fullmatch("-[0-9]+|0|[1-9][0-9]*", cost.value)
        if not is_number or not -(2**31) <= int(cost.value[:20]) < 2**31:
            cost.invalid("must be a 32bit integer")


def _app_armor(annotations: Field, spec: Field) -> None:
    """Check the annotations that were the AppArmor profiles of containers."""
    kinds = ("containers", "initContainers", "ephemeralContainers")
    containers = {each.text("name") for kind in kinds for each in spec.items(kind)}
    for profile in (annotations.key(key) for key in annotations.object() if key.startswith(APP_ARMOR)):
        if (container := str(profile.path[-1]).removeprefix(APP_ARMOR)) not in containers:
            hint = "end the key with the name of a container of the pod, or set securityContext.appArmorProfile there"
            profile.invalid("container not found", container, hint=hint)
        named = profile.text()
        if named not in ("", "runtime/default", "unconfined") and not named.startswith(APP_ARMOR_LOCAL):
            profile.invalid(f"invalid AppArmor profile name: {quote(named)}")


def validate_pod(template: Field) -> None:
    """Check what the server accepts in the template of a Job, but refuses in its pods.

    Their fields have names in the server's errors that begin with metadata or spec.
    """
    spec = template.child("spec").named("spec")
    _requests(spec)
    validate_started_containers(spec)
    _finalizers(template.coded(METADATA).child("metadata", "finalizers").named("metadata.finalizers"))
    _admission(spec)
    if spec.text("nodeName") and spec.items("schedulingGates"):
        node = spec.coded(SCHEDULING).child("nodeName")
        node.forbidden("cannot be set until all schedulingGates have been cleared")
    spec = spec.coded(CONTAINERS)
    for image in (c.child("image") for kind in ("containers", "initContainers") for c in spec.items(kind)):
        if image.text() != image.text().strip():
            image.invalid("must not have leading or trailing whitespace")
    if spec.object().get("hostNetwork") is True:
        containers = spec.items("containers")
        refused = {port.path for port, _ in host_port_conflicts(containers)}
        for port, key in host_port_conflicts(containers, host_network=True):
            if port.path not in refused:
                port.duplicate(key)


def _finalizers(field: Field) -> None:
    """Check the finalizers of pods, which the Job controller copies from the template."""
    for item in field.items():
        qualified_name(item.named(field.name))
        item.invalid_each(is_kube_finalizer(item.text()))
    if {"foregroundDeletion", "orphan"} <= {item.text() for item in field.items()}:
        field.invalid("finalizer orphan and foregroundDeletion cannot be both set")


def _admission(spec: Field) -> None:
    """Check fields that admission plugins of the API server compute from classes, so that a pod has none of its own.

    The plugin Priority sets priority and preemptionPolicy. Without a class they are 0 and PreemptLowerPriority, unless
    the cluster has a default class. RuntimeClass sets the overhead. The values of a class are not compared.
    """
    spec = spec.coded(SPEC)
    given = {key: spec.child(key) for key in ("priority", "preemptionPolicy", "overhead")}
    wrong = "must not be provided in pod spec; priority admission controller computed"
    by_class, hint = "from the given PriorityClass name", "set priorityClassName instead"
    if not spec.text("priorityClassName"):
        without = "must not be set without priorityClassName"
        if number := given["priority"].number():
            text = f"the integer value of priority ({number}) {wrong} 0 {by_class}"
            given["priority"].refused(text, without, hint)
        if given["preemptionPolicy"].text() == "Never":
            text = f"the string value of PreemptionPolicy (Never) {wrong} PreemptLowerPriority {by_class}"
            given["preemptionPolicy"].refused(text, without, hint)
    if given["overhead"].value and not spec.text("runtimeClassName"):
        text = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        hint = "remove it: a runtimeClassName brings the overhead of its class"
        given["overhead"].refused(text, "must not be set without runtimeClassName", hint)


_FROM_CONTAINERS: Final = "the server adds up the requests of the containers, which default to their limits"


def _requests(spec: Field) -> None:
    """Check the pod's own resources with the requests that the server adds, unless they are wrong without these."""
    if spec.object("resources") and not faults_in(_own_resources, spec.value):
        for fault in faults_in(_own_resources, with_requests(spec.object())):
            path = (*spec.path, *fault.path[1:])
            spec.faults.append(replace(fault, code=RESOURCES, path=path, hint=_FROM_CONTAINERS))


def _own_resources(spec: Field) -> None:
    validate_pod_resources(spec.child("resources"), spec)


_NAMES = {
    **dict.fromkeys(("serviceAccountName", "priorityClassName", "runtimeClassName"), dns_subdomain),
    **dict.fromkeys(("hostname", "subdomain"), dns_label),
}


def _pod_spec(spec: Field) -> None:
    """Check the fields of a pod that do not depend on others: deadlines, names, policies, DNS."""
    spec.child("restartPolicy").one_of(("Always", "OnFailure", "Never"))
    spec.child("dnsPolicy").one_of(("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"))
    if (preemption := spec.child("preemptionPolicy")).value == "":
        preemption.required()
    preemption.one_of(("PreemptLowerPriority", "Never"))
    for key, check in _NAMES.items():
        if spec.text(key):
            check(spec.child(key))
    if not spec.text("serviceAccountName") and spec.text("serviceAccount"):  # the same field by its old name
        dns_subdomain(spec.child("serviceAccount").named(f"{spec.name}.serviceAccountName"))
    if spec.child("runtimeClassName").value == "":
        dns_subdomain(spec.child("runtimeClassName"))
    system = spec.text("os", "name")
    if spec.has("os") and spec.child("os", "name").require() and system not in ("linux", "windows"):
        spec.child("os").unsupported(("linux", "windows"), system)
    spec.child("activeDeadlineSeconds").between(1, MAX_ID)
    _dns(spec)
    for gate in spec.items("readinessGates"):
        qualified_name(gate.child("conditionType"))
    for alias in spec.items("hostAliases"):
        _ip_address(alias.child("ip"))
        for name in alias.items("hostnames"):
            dns_subdomain(name)
    _resource_claims(spec)
    resources, overhead = (spec.coded(RESOURCES).child(name) for name in ("resources", "overhead"))
    if resources.has():
        if resources.child("claims").value:
            resources.child("claims").forbidden("claims may not be set for Resources at pod-level")
            validate_resource_claims(spec.coded(RESOURCES), pod_claims_of(spec))
        validate_pod_resources(resources, spec)
    # The server validates the overhead as the limits of a container.
    validate_resources(overhead, overhead.named(f"{overhead.name}.limits"), overhead.child("requests"))
    if spec.child("ephemeralContainers").value:
        spec.child("ephemeralContainers").forbidden("ephemeral containers not allowed in pod template")
    _host_namespaces(spec)


def _host_namespaces(spec: Field) -> None:
    """Check fields that exclude each other with the namespaces of the host."""
    values, excluded = spec.object(), "when `hostUsers` is false"
    if values.get("hostUsers") is False:
        for key, name in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if values.get(key) is True:
                spec.child(key).named(f"{spec.name}.{name}").forbidden(excluded)
        for container in (*spec.items("initContainers"), *spec.items("containers")):
            if container.child("volumeDevices").value:
                container.child("volumeDevices").forbidden(excluded)
    if values.get("hostPID") is True and values.get("shareProcessNamespace") is True:
        shared = spec.child("shareProcessNamespace").named(f"{spec.name}.securityContext.shareProcessNamespace")
        shared.invalid("ShareProcessNamespace and HostPID cannot both be enabled")


def _dns(spec: Field) -> None:
    config = spec.child("dnsConfig")
    servers, searches = config.child("nameservers"), config.child("searches")
    if spec.text("dnsPolicy") == "None":
        if not config.has():
            config.required("must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not servers.require("must provide at least one DNS nameserver when `dnsPolicy` is None"):
            return
    if len(servers.items()) > 3:
        servers.invalid("must not have more than 3 nameservers")
    for server in servers.items():
        _ip_address(server)
    if len(searches.items()) > 32:
        searches.invalid("must not have more than 32 search paths")
    if len(" ".join(map(str, as_list(searches.value)))) > 2048:
        searches.invalid("must not have more than 2048 characters (including spaces) in the search list")
    for search in searches.items():
        if search.text() != ".":
            name = search.text().removesuffix(".")
            search.invalid_each(is_dns1123_subdomain_with_underscores(name), name)
    for option in config.items("options"):
        if not option.text("name"):
            option.required("must not be empty")


def _ip_address(field: Field) -> None:
    # The server accepts leading zeros, and no zone.
    address = field.text()
    plain = ".".join(part.lstrip("0") or part[-1:] for part in address.split("."))
    try:
        ip_address(address if ":" in address else plain)
    except ValueError:
        field.invalid("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def _resource_claims(spec: Field) -> None:
    claims = spec.items("resourceClaims")
    unique(claim.child("name") for claim in claims)
    for claim in claims:
        if (name := claim.child("name")).require():
            dns_label(name)
        sources = [claim.child(kind) for kind in ("resourceClaimName", "resourceClaimTemplateName")]
        given = [source for source in sources if source.value is not None]
        if len(given) != 1:
            both = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            neither = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            claim.invalid(both if given else neither, internal(claim.value, "v1.PodResourceClaim"))
        for source in given:
            dns_subdomain(source)


# The choice of nodes: node selectors, tolerations, affinity, topology spread constraints, scheduling gates.


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _scheduling(spec: Field) -> None:
    label_map(spec.child("nodeSelector"))
    for toleration in spec.items("tolerations"):
        _toleration(toleration)
    _node_affinity(spec.child("affinity", "nodeAffinity"))
    for term in _pod_affinity_terms(spec):
        _pod_affinity_term(term)
    for kind in ("nodeAffinity", "podAffinity", "podAntiAffinity"):
        for weight in (each.child("weight") for each in spec.items("affinity", kind, PREFERRED)):
            if not 1 <= (number := weight.number() or 0) <= 100:
                weight.invalid("must be in the range 1-100", number)
    constraints = spec.items("topologySpreadConstraints")
    last = {_spread(constraint): constraint for constraint in constraints}
    for constraint in constraints:
        _spread_constraint(constraint, is_last=last[_spread(constraint)] is constraint)
    gates = [gate.child("name").named(gate.name) for gate in spec.items("schedulingGates")]
    unique(gates)
    for gate in gates:
        qualified_name(gate)
    if spec.text("nodeName"):
        dns_subdomain(spec.child("nodeName"))


def _toleration(toleration: Field) -> None:
    key, operator, effect = map(toleration.child, ("key", "operator", "effect"))
    value = toleration.text("value")
    if key.text():
        qualified_name(key)
    elif operator.text() != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        operator.invalid(detail, typed=True)
    if toleration.number("tolerationSeconds") is not None and effect.text() != "NoExecute":
        effect.invalid("effect must be 'NoExecute' when `tolerationSeconds` is set", typed=True)
    if operator.text() in ("Equal", ""):
        if details := label_value_details(value):
            operator.invalid(";".join(details), value)
    elif operator.text() == "Exists" and value:
        operator.invalid("value must be empty when `operator` is 'Exists'", value)
    operator.one_of(("Equal", "Exists"))
    effect.one_of(("NoSchedule", "PreferNoSchedule", "NoExecute"))


def _node_affinity(affinity: Field) -> None:
    terms = affinity.child(REQUIRED, "nodeSelectorTerms")
    if affinity.has(REQUIRED) and not terms.items():
        terms.required("must have at least one node selector term")
    for term in terms.items():
        _node_selector_term(term)
    for preferred in affinity.items(PREFERRED):
        # A value that no label can have is allowed here, as no node has to match.
        _node_selector_term(preferred.child("preference"), any_value=True)


def _node_selector_term(term: Field, *, any_value: bool = False) -> None:
    for requirement in term.items("matchExpressions"):
        selector_requirement(requirement, node=True, any_value=any_value)
    for requirement in term.items("matchFields"):
        operator, key, values = map(requirement.child, ("operator", "key", "values"))
        if operator.text() not in ("In", "NotIn"):
            operator.invalid("not a valid selector operator", typed=True)
        elif len(values.items()) != 1:
            values.required("must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
        if key.text() != "metadata.name":
            key.invalid("not a valid field selector key")
        else:
            for value in values.items():
                dns_subdomain(value)


def _pod_affinity_terms(spec: Field) -> Iterator[Field]:
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = spec.child("affinity", kind)
        yield from affinity.items(REQUIRED)
        yield from (each.child("podAffinityTerm") for each in affinity.items(PREFERRED))


def _pod_affinity_term(term: Field) -> None:
    label_selector(term.child("labelSelector"))
    label_selector(term.child("namespaceSelector"))
    for namespace in term.items("namespaces"):
        dns_label(namespace.named(f"{term.name}.namespace"))
    _label_keys(term, "matchLabelKeys")
    _label_keys(term, "mismatchLabelKeys")
    mismatched = {key.text() for key in term.items("mismatchLabelKeys")}
    for key in term.items("matchLabelKeys"):
        if key.text() in mismatched:
            key.invalid("exists in both matchLabelKeys and mismatchLabelKeys")
    topology = term.child("topologyKey")
    topology.require("can not be empty")
    qualified_name(topology)


def label_keys_in_selectors(spec: Field, has_label: Callable[[str], bool]) -> None:
    """Check that no key of matchLabelKeys is in the selector of its term, too.

    The server adds the keys of labels that a pod has to the selector before it validates the pod.
    """
    for term in (*_pod_affinity_terms(spec), *spec.items("topologySpreadConstraints")):
        _key_in_selector(term, has_label)


def _key_in_selector(term: Field, has_label: Callable[[str], bool]) -> None:
    keys = {key.text(): index for index, key in enumerate(term.items("matchLabelKeys"))}
    if not keys or not term.has("labelSelector"):
        return
    selecting = [each.text("key") for each in term.items("labelSelector", "matchExpressions")]
    selecting += (key.text() for key in term.items("matchLabelKeys") if has_label(key.text()))
    found = {*term.object("labelSelector", "matchLabels")}
    for key in selecting:
        if key in keys and key in found:
            item = term.child("matchLabelKeys", keys[key]).named(f"{term.name}[{keys[key]}]")
            item.invalid("exists in both matchLabelKeys and labelSelector", hint="remove the key from labelSelector")
        found.add(key)


def _label_keys(term: Field, kind: str) -> None:
    """Check the keys of labels whose values are those of the pod."""
    keys = term.items(kind)
    if keys and not term.has("labelSelector"):
        term.child(kind).forbidden("must not be specified when labelSelector is not set")
        return
    for key in keys:
        qualified_name(key)


def _spread(constraint: Field) -> tuple[str, str]:
    """Return the key of a constraint, which only one may have."""
    return constraint.text("topologyKey"), constraint.text("whenUnsatisfiable")


def _spread_constraint(constraint: Field, *, is_last: bool) -> None:
    """Check a constraint; ``is_last``: no later one has its key."""
    skew, domains, action = map(constraint.child, ("maxSkew", "minDomains", "whenUnsatisfiable"))
    key = constraint.text("topologyKey")
    if (skew.number() or 0) <= 0:
        skew.invalid("must be greater than zero", skew.number() or 0)
    constraint.child("topologyKey").require("can not be empty")
    action.one_of(("DoNotSchedule", "ScheduleAnyway"), pointer=True)
    if not is_last:
        both = constraint.named(f"{constraint.name}.{{topologyKey, whenUnsatisfiable}}")
        both.duplicate(f"{{{key}, {action.text()}}}")
    if domains.number() is not None:
        if (domains.number() or 0) <= 0:
            domains.invalid("must be greater than zero")
        if action.text() != "DoNotSchedule":
            domains.invalid(f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action.text()}")
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        constraint.child(policy).one_of(("Honor", "Ignore"), pointer=True)
    _label_keys(constraint, "matchLabelKeys")
    label_selector(constraint.child("labelSelector"))
