"""What the API server refuses in the template of a pod, told before there is one.

Source: k8s.io/kubernetes v1.34.4 pkg/apis/core/validation, ValidatePodTemplateSpec, with every feature gate at its
default and after the defaults of core/v1. Left out: Windows, annotations of old (seccomp, AppArmor), the contents of
volume sources whose drivers have left Kubernetes. tests/oracle/pods compares.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, as_list, as_object, get, objects
from trainc.checks.fields import (
    MAX_ID,
    Field,
    between,
    dns_label,
    dns_subdomain,
    label_selector,
    label_value_details,
    labels,
    number,
    qualified_name,
    selector_requirement,
    text,
)
from trainc.checks.pod_containers import (
    Surroundings,
    container_problems,
    host_network_ports,
    host_port_conflicts,
    pod_security,
)
from trainc.checks.pod_resources import pod_level_problems, requirement_problems
from trainc.checks.pod_volumes import volume_problems
from trainc.findings.fault import Fault
from trainc.kube.names import is_dns1123_label, validate_annotations

METADATA, CONTAINERS, VOLUMES, SCHEDULING, SECURITY, SPEC = "TC804", "TC805", "TC806", "TC808", "TC809", "TC810"
GRACE = 30
"""terminationGracePeriodSeconds where it is absent."""


def template_problems(field: Field, template: JsonObject) -> Iterator[Fault]:
    """Yield what is wrong with a pod template: typed as Go has it, quantities canonical."""
    spec, at = as_object(template.get("spec")), field.child("spec")
    metadata = field.coded(METADATA)
    # The server's names for labels and annotations lack the step through metadata.
    for kind in ("labels", "annotations"):
        named = metadata.within("metadata", kind).named(f"{field.name}.{kind}")
        values = as_object(get(template, "metadata", kind))
        yield from labels(named, values) if kind == "labels" else annotation_problems(named, values)
    volumes, problems = volume_problems(at.coded(VOLUMES).child("volumes"), spec.get("volumes"))
    yield from problems
    grace = number(spec, "terminationGracePeriodSeconds")
    around = Surroundings(
        volumes=volumes,
        claims=tuple(text(claim, "name") for claim in objects(spec.get("resourceClaims")) if text(claim, "name")),
        grace=GRACE if grace is None else grace,
        restart_policy=text(spec, "restartPolicy") or "Always",
        host_users=spec.get("hostUsers") is not False,
    )
    yield from container_problems(at, spec, around)
    yield from scheduling_problems(at.coded(SCHEDULING), spec)
    yield from pod_security(at.coded(SECURITY).child("securityContext"), spec)
    yield from spec_problems(at.coded(SPEC), spec)
    if spec.get("hostNetwork") is True:
        yield from host_network_ports(at.coded(CONTAINERS).child("containers"), objects(spec.get("containers")))


def annotation_problems(field: Field, values: JsonObject) -> Iterator[Fault]:
    """Check annotations; their values are never shown."""
    for text_ in validate_annotations({key: str(value) for key, value in values.items()}, field.name):
        kind, _, detail = text_.removeprefix(f"{field.name}: ").partition(": ")
        yield Fault(field.code, field.path, f"{kind}: {detail}", text_)


def pod_problems(field: Field, spec: JsonObject) -> Iterator[Fault]:
    """Yield what is wrong with a pod alone: a Job takes such a template, and can then create no pod of it."""
    for kind in ("containers", "initContainers"):
        containers, at = objects(spec.get(kind)), field.coded(CONTAINERS).child(kind)
        for index, container in enumerate(containers):
            image = text(container, "image")
            if image != image.strip():
                yield at.index(index).child("image").invalid(image, "must not have leading or trailing whitespace")
    if spec.get("hostNetwork") is True:
        containers, at = objects(spec.get("containers")), field.coded(CONTAINERS).child("containers")
        told = {problem.path for problem in host_port_conflicts(at, containers, host_network=False)}
        for problem in host_port_conflicts(at, containers, host_network=True):
            if problem.path not in told:
                yield problem


# The fields of a pod's spec that stand by themselves.


RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION = ("PreemptLowerPriority", "Never")
SYSTEMS = ("linux", "windows")
MAX_NAMESERVERS, MAX_SEARCHES, MAX_SEARCH_LENGTH = 3, 32, 2048
NO_HOST_USERS = "when `hostUsers` is false"
NAMES = ("serviceAccountName", "priorityClassName")


def spec_problems(field: Field, spec: JsonObject) -> Iterator[Fault]:
    """Check deadlines, names, policies and DNS of a pod."""
    yield from _policies(field, spec)
    yield from _names(field, spec)
    deadline = number(spec, "activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_ID:
        yield field.child("activeDeadlineSeconds").invalid(deadline, between(1, MAX_ID))
    yield from _dns(field, spec)
    for at, gate in field.items(spec, "readinessGates"):
        yield from qualified_name(at.child("conditionType"), text(gate, "conditionType"))
    for at, alias in field.items(spec, "hostAliases"):
        yield from _address(at.child("ip"), text(alias, "ip"))
        for i, name in enumerate(as_list(alias.get("hostnames"))):
            yield from dns_subdomain(at.child("hostnames").index(i), str(name))
    yield from _claims(field, spec)
    if isinstance(resources := spec.get("resources"), dict):
        yield from pod_level_problems(field.coded("TC807").child("resources"), resources, spec)
    if overhead := as_object(spec.get("overhead")):
        at = field.coded("TC807").child("overhead")
        for problem in requirement_problems(at, {"limits": overhead}):  # the server takes it for limits, too
            yield replace(problem, path=tuple(step for step in problem.path if step != "limits"))
    if spec.get("ephemeralContainers"):
        yield field.child("ephemeralContainers").forbidden("ephemeral containers not allowed in pod template")
    yield from _host(field, spec)


def _policies(field: Field, spec: JsonObject) -> Iterator[Fault]:
    for key, supported in (
        ("restartPolicy", RESTART_POLICIES),
        ("dnsPolicy", DNS_POLICIES),
        ("preemptionPolicy", PREEMPTION),
    ):
        yield from field.one_of(spec, key, supported)


def _names(field: Field, spec: JsonObject) -> Iterator[Fault]:
    for key in NAMES:
        if name := text(spec, key):
            yield from dns_subdomain(field.child(key), name)
    if isinstance(runtime_class := spec.get("runtimeClassName"), str):
        yield from dns_subdomain(field.child("runtimeClassName"), runtime_class)
    for key in ("hostname", "subdomain"):
        if name := text(spec, key):
            yield from dns_label(field.child(key), name)
    if isinstance(system := spec.get("os"), dict):
        name, at = text(system, "name"), field.child("os")
        if not name:
            yield at.child("name").required()
        elif name not in SYSTEMS:
            yield at.unsupported(name, SYSTEMS)


def _host(field: Field, spec: JsonObject) -> Iterator[Fault]:
    """Check what the namespaces of the host exclude."""
    if spec.get("hostUsers") is False:
        for key, spelt in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(key) is True:
                yield field.within(key).named(f"{field.name}.{spelt}").forbidden(NO_HOST_USERS)
        for kind in ("initContainers", "containers"):
            for at, container in field.items(spec, kind):
                if container.get("volumeDevices"):
                    yield at.child("volumeDevices").forbidden(NO_HOST_USERS)
    if spec.get("hostPID") is True and spec.get("shareProcessNamespace") is True:
        at = field.within("shareProcessNamespace").named(f"{field.name}.securityContext.shareProcessNamespace")
        yield at.invalid(True, "ShareProcessNamespace and HostPID cannot both be enabled")


def _dns(field: Field, spec: JsonObject) -> Iterator[Fault]:
    config, at = spec.get("dnsConfig"), field.child("dnsConfig")
    if text(spec, "dnsPolicy") == "None":
        if not isinstance(config, dict):
            yield at.required("must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            yield at.child("nameservers").required("must provide at least one DNS nameserver when `dnsPolicy` is None")
            return
    if not isinstance(config, dict):
        return
    servers, searches = as_list(config.get("nameservers")), as_list(config.get("searches"))
    if len(servers) > MAX_NAMESERVERS:
        yield at.child("nameservers").invalid(servers, f"must not have more than {MAX_NAMESERVERS} nameservers")
    for index, server in enumerate(servers):
        yield from _address(at.child("nameservers").index(index), str(server))
    if len(searches) > MAX_SEARCHES:
        yield at.child("searches").invalid(searches, f"must not have more than {MAX_SEARCHES} search paths")
    if len(" ".join(map(str, searches))) > MAX_SEARCH_LENGTH:
        detail = f"must not have more than {MAX_SEARCH_LENGTH} characters (including spaces) in the search list"
        yield at.child("searches").invalid(searches, detail)
    for item, option in at.items(config, "options"):
        if not text(option, "name"):
            yield item.required("must not be empty")


def _address(field: Field, address: str) -> Iterator[Fault]:
    from ipaddress import ip_address

    # The server reads leading zeros, and takes no zone.
    plain = ".".join(part.lstrip("0") or part[-1:] for part in address.split("."))
    try:
        ip_address(address if ":" in address else plain)
    except ValueError:
        yield field.invalid(address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def _claims(field: Field, spec: JsonObject) -> Iterator[Fault]:
    names: set[str] = set()
    for at, claim in field.items(spec, "resourceClaims"):
        name = text(claim, "name")
        if not name:
            yield at.child("name").required()
        elif name in names:
            yield at.child("name").duplicate(name)
        else:
            yield from dns_label(at.child("name"), name)
        names.add(name)
        given = [kind for kind in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(kind) is not None]
        if len(given) != 1:
            shown: JsonObject = {
                "Name": name,
                "ResourceClaimName": claim.get("resourceClaimName"),
                "ResourceClaimTemplateName": claim.get("resourceClaimTemplateName"),
            }
            both = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            neither = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            yield at.invalid(shown, both if given else neither)
        for kind in given:
            yield from dns_subdomain(at.child(kind), text(claim, kind))


# Where a pod may run: tolerations, node selectors, affinity, spread constraints, gates.


EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OPERATORS = ("Equal", "Exists")
UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
NODE_POLICIES = ("Honor", "Ignore")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def scheduling_problems(field: Field, spec: JsonObject) -> Iterator[Fault]:
    """Check everything of a pod's spec that chooses its node."""
    yield from labels(field.child("nodeSelector"), as_object(spec.get("nodeSelector")))
    for at, toleration in field.items(spec, "tolerations"):
        yield from _toleration(at, toleration)
    affinity, at = as_object(spec.get("affinity")), field.child("affinity")
    yield from _node_affinity(at.child("nodeAffinity"), affinity.get("nodeAffinity"))
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _pod_affinity(at.child(kind), affinity.get(kind))
    constraints = objects(spec.get("topologySpreadConstraints"))
    for index, constraint in enumerate(constraints):
        spread = field.child("topologySpreadConstraints").index(index)
        yield from _spread(spread, constraint, constraints[index + 1 :])
    yield from _gates(field, spec)
    if node := text(spec, "nodeName"):
        yield from dns_subdomain(field.child("nodeName"), node)


def _toleration(field: Field, toleration: JsonObject) -> Iterator[Fault]:
    key, operator, value = (text(toleration, kind) for kind in ("key", "operator", "value"))
    effect, at = text(toleration, "effect"), field.child("operator")
    if key:
        yield from qualified_name(field.child("key"), key)
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield at.invalid(operator, detail, typed=True)
    if number(toleration, "tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield field.child("effect").invalid(effect, detail, typed=True)
    if operator in ("Equal", ""):
        if details := label_value_details(value):
            yield at.invalid(value, ";".join(details))
    elif operator == "Exists":
        if value:
            yield at.invalid(value, "value must be empty when `operator` is 'Exists'")
    else:
        yield at.unsupported(operator, OPERATORS)
    yield from field.one_of(toleration, "effect", EFFECTS)


def _node_affinity(field: Field, affinity: Json) -> Iterator[Fault]:
    if isinstance(required := get(affinity, REQUIRED), dict):
        if not objects(required.get("nodeSelectorTerms")):
            yield field.child(REQUIRED, "nodeSelectorTerms").required("must have at least one node selector term")
        for at, term in field.child(REQUIRED).items(required, "nodeSelectorTerms"):
            yield from _term(at, term)
    for at, preferred in field.items(affinity, PREFERRED):
        yield from _weight(at.child("weight"), preferred)
        # A value that no label can have is allowed here: no node has it, and none has to.
        for problem in _term(at.child("preference"), as_object(preferred.get("preference"))):
            if problem.path[-2] != "values":
                yield problem


def _weight(field: Field, term: JsonObject) -> Iterator[Fault]:
    weight = number(term, "weight") or 0
    if not 1 <= weight <= 100:
        yield field.invalid(weight, "must be in the range 1-100")


def _term(field: Field, term: JsonObject) -> Iterator[Fault]:
    for at, requirement in field.items(term, "matchExpressions"):
        yield from selector_requirement(at, requirement, node=True)
    for at, requirement in field.items(term, "matchFields"):
        yield from _field(at, requirement)


def _field(field: Field, requirement: JsonObject) -> Iterator[Fault]:
    operator, key = text(requirement, "operator"), text(requirement, "key")
    values = as_list(requirement.get("values"))
    if operator not in ("In", "NotIn"):
        yield field.child("operator").invalid(operator, "not a valid selector operator", typed=True)
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield field.child("values").required(detail)
    if key != "metadata.name":
        yield field.child("key").invalid(key, "not a valid field selector key")
    else:
        for index, value in enumerate(values):
            yield from dns_subdomain(field.child("values").index(index), str(value))


def _pod_affinity(field: Field, affinity: Json) -> Iterator[Fault]:
    for at, term in field.items(affinity, REQUIRED):
        yield from _pod_term(at, term)
    for at, preferred in field.items(affinity, PREFERRED):
        yield from _weight(at.child("weight"), preferred)
        yield from _pod_term(at.child("podAffinityTerm"), as_object(preferred.get("podAffinityTerm")))


def _pod_term(field: Field, term: JsonObject) -> Iterator[Fault]:
    for kind in ("labelSelector", "namespaceSelector"):
        yield from label_selector(field.child(kind), term.get(kind))
    for index, namespace in enumerate(as_list(term.get("namespaces"))):
        named = field.within("namespaces", index).named(f"{field.name}.namespace")
        yield from named.each_invalid(str(namespace), is_dns1123_label(str(namespace)))
    yield from _label_keys(field, term, ("matchLabelKeys", "mismatchLabelKeys"))
    key = text(term, "topologyKey")
    if not key:
        yield field.child("topologyKey").required("can not be empty")
    yield from qualified_name(field.child("topologyKey"), key)


def _label_keys(field: Field, term: JsonObject, kinds: tuple[str, ...]) -> Iterator[Fault]:
    """Check keys whose values are those of the pod itself."""
    for kind in kinds:
        keys = as_list(term.get(kind))
        if keys and not isinstance(term.get("labelSelector"), dict):
            yield field.child(kind).forbidden("must not be specified when labelSelector is not set")
            continue
        for index, key in enumerate(keys):
            yield from qualified_name(field.child(kind).index(index), str(key))
    mismatched = as_list(term.get("mismatchLabelKeys"))
    for index, key in enumerate(as_list(term.get("matchLabelKeys"))):
        if "mismatchLabelKeys" in kinds and key in mismatched:
            at = field.child("matchLabelKeys").index(index)
            yield at.invalid(key, "exists in both matchLabelKeys and mismatchLabelKeys")


def _spread(field: Field, constraint: JsonObject, others: list[JsonObject]) -> Iterator[Fault]:
    skew, key = number(constraint, "maxSkew") or 0, text(constraint, "topologyKey")
    action = text(constraint, "whenUnsatisfiable")
    if skew <= 0:
        yield field.child("maxSkew").invalid(skew, "must be greater than zero")
    if not key:
        yield field.child("topologyKey").required("can not be empty")
    if action not in UNSATISFIABLE:
        yield field.child("whenUnsatisfiable").unsupported(action, UNSATISFIABLE)
    if any(text(c, "topologyKey") == key and text(c, "whenUnsatisfiable") == action for c in others):
        named = field.named(f"{field.name}.{{topologyKey, whenUnsatisfiable}}")
        yield named.duplicate(f"{{{key}, {action}}}")
    if (domains := number(constraint, "minDomains")) is not None:
        at = field.child("minDomains")
        if domains <= 0:
            yield at.invalid(domains, "must be greater than zero")
        if action != "DoNotSchedule":
            detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield at.invalid(domains, detail)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if policy in constraint and constraint[policy] not in NODE_POLICIES:  # the empty one, too
            yield field.child(policy).unsupported(constraint[policy], NODE_POLICIES)
    yield from _label_keys(field, constraint, ("matchLabelKeys",))
    yield from label_selector(field.child("labelSelector"), constraint.get("labelSelector"))


def _gates(field: Field, spec: JsonObject) -> Iterator[Fault]:
    seen: set[str] = set()
    for at, gate in field.items(spec, "schedulingGates"):
        name = text(gate, "name")
        yield from qualified_name(at, name)
        if name in seen:
            yield at.duplicate(name)
        seen.add(name)
