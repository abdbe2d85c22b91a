"""The fields of a pod's spec that stand by themselves."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.checks.pod.resources import pod_level_problems, requirement_problems
from trainc.checks.problem import Place, Problem
from trainc.checks.rules import MAX_ID, between, dns_label, dns_subdomain, number, qualified_name, text
from trainc.records import replace
from trainc.source import Json, JsonObject, as_list, as_object, objects

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION = ("PreemptLowerPriority", "Never")
SYSTEMS = ("linux", "windows")
MAX_NAMESERVERS, MAX_SEARCHES, MAX_SEARCH_LENGTH = 3, 32, 2048
NO_HOST_USERS = "when `hostUsers` is false"
NAMES = ("serviceAccountName", "priorityClassName")


def spec_problems(place: Place, spec: JsonObject) -> Iterator[Problem]:
    """Check deadlines, names, policies and DNS of a pod."""
    yield from _policies(place, spec)
    yield from _names(place, spec)
    deadline = number(spec, "activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= MAX_ID:
        yield place.child("activeDeadlineSeconds").invalid(deadline, between(1, MAX_ID))
    yield from _dns(place, spec)
    for index, gate in enumerate(objects(spec.get("readinessGates"))):
        at = place.child("readinessGates").index(index).child("conditionType")
        yield from qualified_name(at, text(gate, "conditionType"))
    for index, alias in enumerate(objects(spec.get("hostAliases"))):
        at = place.child("hostAliases").index(index)
        yield from _address(at.child("ip"), text(alias, "ip"))
        for i, name in enumerate(as_list(alias.get("hostnames"))):
            yield from dns_subdomain(at.child("hostnames").index(i), str(name))
    yield from _claims(place.child("resourceClaims"), spec.get("resourceClaims"))
    if isinstance(resources := spec.get("resources"), dict):
        yield from pod_level_problems(place.coded("TC807").child("resources"), resources, spec)
    if overhead := as_object(spec.get("overhead")):
        at = place.coded("TC807").child("overhead")
        for problem in requirement_problems(at, {"limits": overhead}):  # the server takes it for limits, too
            yield replace(problem, path=tuple(step for step in problem.path if step != "limits"))
    if spec.get("ephemeralContainers"):
        yield place.child("ephemeralContainers").forbidden("ephemeral containers not allowed in pod template")
    yield from _host(place, spec)


def _policies(place: Place, spec: JsonObject) -> Iterator[Problem]:
    for field, supported in (
        ("restartPolicy", RESTART_POLICIES),
        ("dnsPolicy", DNS_POLICIES),
        ("preemptionPolicy", PREEMPTION),
    ):
        value = text(spec, field)
        if value and value not in supported:
            yield place.child(field).unsupported(value, supported)


def _names(place: Place, spec: JsonObject) -> Iterator[Problem]:
    for field in NAMES:
        if name := text(spec, field):
            yield from dns_subdomain(place.child(field), name)
    if isinstance(runtime_class := spec.get("runtimeClassName"), str):
        yield from dns_subdomain(place.child("runtimeClassName"), runtime_class)
    for field in ("hostname", "subdomain"):
        if name := text(spec, field):
            yield from dns_label(place.child(field), name)
    if isinstance(system := spec.get("os"), dict):
        name, at = text(system, "name"), place.child("os")
        if not name:
            yield at.child("name").required()
        elif name not in SYSTEMS:
            yield at.unsupported(name, SYSTEMS)


def _host(place: Place, spec: JsonObject) -> Iterator[Problem]:
    """Check what the namespaces of the host exclude."""
    if spec.get("hostUsers") is False:
        for field, spelt in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(field) is True:
                yield place.within(field).named(f"{place.field}.{spelt}").forbidden(NO_HOST_USERS)
        for kind in ("initContainers", "containers"):
            for index, container in enumerate(objects(spec.get(kind))):
                if container.get("volumeDevices"):
                    yield place.child(kind).index(index).child("volumeDevices").forbidden(NO_HOST_USERS)
    if spec.get("hostPID") is True and spec.get("shareProcessNamespace") is True:
        at = place.within("shareProcessNamespace").named(f"{place.field}.securityContext.shareProcessNamespace")
        yield at.invalid(True, "ShareProcessNamespace and HostPID cannot both be enabled")


def _dns(place: Place, spec: JsonObject) -> Iterator[Problem]:
    config, at = spec.get("dnsConfig"), place.child("dnsConfig")
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
    for index, option in enumerate(objects(config.get("options"))):
        if not text(option, "name"):
            yield at.child("options").index(index).required("must not be empty")


def _address(place: Place, address: str) -> Iterator[Problem]:
    from ipaddress import ip_address

    # The server reads leading zeros, and takes no zone.
    plain = ".".join(part.lstrip("0") or part[-1:] for part in address.split("."))
    try:
        ip_address(address if ":" in address else plain)
    except ValueError:
        yield place.invalid(address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def _claims(place: Place, claims: Json) -> Iterator[Problem]:
    names: set[str] = set()
    for index, claim in enumerate(objects(claims)):
        at, name = place.index(index), text(claim, "name")
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
