"""Writes the structural schemas of the pinned CRDs and of Kubernetes' own kinds as package data.

The CRDs are read from the Go modules that tests/oracle pins, so schemas and oracle cannot drift apart. Prose is
dropped, everything else kept. One table holds every distinct sub-schema once, shared by all kinds (a container of a
JobSet is the container of a runtime); where a schema has sub-schemas, the table's schema has their numbers.

The kinds that trainc emits or reads beside those come from the OpenAPI v3 files of the pinned k8s.io/kubernetes, and
the PodGroup of the scheduler plugins from its CRD (Volcano's module has none of its own). Kinds that share sub-schemas
are one file, and kinds.json says where each is. Defaults that are Go's zero values are dropped, too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

REPOSITORY = Path(__file__).resolve().parents[2]
OUTPUT = REPOSITORY / "compiler" / "trainc" / "data" / "schemas"
TRAINER, JOBSET = "github.com/kubeflow/trainer/v2", "sigs.k8s.io/jobset"
CRDS = (
    (TRAINER, "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml"),
    (TRAINER, "manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml"),
    (TRAINER, "manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml"),
    (JOBSET, "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"),
)
KUBERNETES = "k8s.io/kubernetes"
PINNED_BY = REPOSITORY / "tests" / "oracle" / "kinds"
"""The Go module that pins Kubernetes 1.34."""

NATIVE: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "core": {
        "api__v1": (
            *("ConfigMap", "Secret", "ServiceAccount", "LimitRange", "ResourceQuota", "Namespace"),
            *("PersistentVolumeClaim", "Service"),
        ),
        "apis__scheduling.k8s.io__v1": ("PriorityClass",),
        "apis__networking.k8s.io__v1": ("NetworkPolicy",),
        "apis__policy__v1": ("PodDisruptionBudget",),
    },
    "pods": {"api__v1": ("Pod", "PodTemplate"), "apis__batch__v1": ("Job", "CronJob")},
    "rbac": {"apis__rbac.authorization.k8s.io__v1": ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")},
    "admission": {
        "apis__admissionregistration.k8s.io__v1": ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
        "apis__apiextensions.k8s.io__v1": ("CustomResourceDefinition",),
    },
}
"""Kinds by the file that they go to and the OpenAPI file that they come from."""

CUSTOM = (("sigs.k8s.io/scheduler-plugins", "config/crd/bases/scheduling.x-k8s.io_podgroups.yaml"),)

KEPT = ("type", "format", "required", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")
_INT_OR_STRING = {"x-kubernetes-int-or-string": True}
_ANY = {"x-kubernetes-preserve-unknown-fields": True}
TYPES: Mapping[str, dict[str, Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {**_INT_OR_STRING, "format": "quantity"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": _INT_OR_STRING,
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": {"type": "object", **_ANY},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object", **_ANY},
    # A CRD's schemas hold schemas; schema/structural.py knows their keywords.
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps": {"type": "object", **_ANY},
}
"""Types whose OpenAPI schema says less than Go's decoder knows, or that contain themselves."""

OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "CustomResourceDefinitionVersion": ("served", "storage"),
    "HTTPHeader": ("value",),
    "ISCSIVolumeSource": ("lun",),
    "LimitRangeSpec": ("limits",),
    "PodFailurePolicy": ("rules",),
    "PodFailurePolicyOnPodConditionsPattern": ("status",),
    "PreferredSchedulingTerm": ("preference",),
    "PriorityClass": ("value",),
    "RoleRef": ("apiGroup",),
    "ScaleIOVolumeSource": ("secretRef",),
    "SleepAction": ("seconds",),
    "Sysctl": ("value",),
    "TypedLocalObjectReference": ("kind", "name"),
}
"""Fields that OpenAPI calls required, Go's structs having no omitempty there, and without which the API server
accepts an object all the same: it takes Go's zero value, or has a default.
"""


PROSE = frozenset({"description", "title", "example", "externalDocs"})
MAPS = ("properties",)
LISTS = ("allOf", "anyOf", "oneOf")
SINGLES = ("items", "not")


class Table:
    """Sub-schemas, each distinct one once; a sub-schema comes before whatever holds it."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}

    def add(self, schema: dict[str, Any]) -> int:
        """Return the number of schema, of which nothing but prose is lost."""
        node = {key: self._value(key, value) for key, value in schema.items() if key not in PROSE}
        text = json.dumps(node, sort_keys=True)
        if text not in self._numbers:
            self._numbers[text] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[text]

    def _value(self, key: str, value: Any) -> Any:
        if key in MAPS:
            return {name: self.add(value[name]) for name in sorted(value)}
        if key in LISTS:
            return [self.add(schema) for schema in value]
        if key in SINGLES or (key == "additionalProperties" and isinstance(value, dict)):
            return self.add(value)
        return value

    def text(self) -> str:
        """Return the table as a file: a JSON list, a line a sub-schema."""
        rows = (json.dumps(node, separators=(",", ":"), sort_keys=True, ensure_ascii=False) for node in self.nodes)
        return "[\n" + ",\n".join(rows) + "\n]\n"


def module_folder(module: str) -> Path:
    """Return where the Go module lies; raises CalledProcessError where Go or the module is missing."""
    command = ["go", "list", "-m", "-f", "{{.Dir}}", module]
    done = subprocess.run(command, cwd=REPOSITORY / "tests" / "oracle", check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def header(crd: dict[str, Any], root: int) -> dict[str, Any]:
    """Return what a kind's own file says: its identity, its scope and the number of its schema."""
    spec = crd["spec"]
    [version] = spec["versions"]
    return {
        "group": spec["group"],
        "kind": spec["names"]["kind"],
        "plural": spec["names"]["plural"],
        "root": root,
        "scope": spec["scope"],
        "status": "status" in version.get("subresources", {}),
        "version": version["name"],
    }


def expand(schemas: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the structural schema of a type, every reference resolved."""
    if name in TYPES:
        return TYPES[name]
    return _structural(schemas, schemas[name], OPTIONAL.get(name.rpartition(".")[2], ()))


def _structural(schemas: Mapping[str, Any], schema: dict[str, Any], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    reference = schema.get("$ref") or (schema.get("allOf") or [{}])[0].get("$ref")
    if reference is not None:
        found = expand(schemas, reference.rpartition("/")[2])
        return {**found, **_defaulted(schema)}
    result = {key: schema[key] for key in KEPT if schema.get(key)}
    result.update(_defaulted(schema))
    if required := [name for name in schema.get("required", ()) if name not in optional]:
        result["required"] = required
    else:
        result.pop("required", None)
    if "properties" in schema:
        result["properties"] = {name: _structural(schemas, sub) for name, sub in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = _structural(schemas, schema[key])
    return result


def _defaulted(schema: dict[str, Any]) -> dict[str, Any]:
    return {"default": schema["default"]} if schema.get("default") else {}


def native(table: Table, document: dict[str, Any], kind: str, file: str) -> dict[str, Any]:
    """Return the row of kinds.json for a kind of an OpenAPI file, its schema put into table."""
    schemas = document["components"]["schemas"]
    [(name, identity)] = [
        (name, identity)
        for name, schema in schemas.items()
        for identity in schema.get("x-kubernetes-group-version-kind", ())
        if identity["kind"] == kind and name.endswith("." + kind)
    ]
    paths = [
        path
        for path, operations in document["paths"].items()
        if any(
            isinstance(operation, dict) and operation.get("x-kubernetes-group-version-kind", {}).get("kind") == kind
            for operation in operations.values()
        )
    ]
    item = min((path for path in paths if path.endswith("/{name}") and "/watch/" not in path), key=len)
    schema = expand(schemas, name)
    # Metadata is decoded before, and apiVersion and kind belong to every object.
    for key in ("apiVersion", "kind", "metadata"):
        schema["properties"].pop(key)
    return {
        **{key: identity[key] for key in ("group", "version", "kind")},
        "plural": item.split("/")[-2],
        "namespaced": "/{namespace}/" in item,
        "status": f"{item}/status" in paths,
        "native": True,
        "file": file,
        "root": table.add(schema),
    }


def custom(table: Table, crd: dict[str, Any], file: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of kinds.json for the versions of a CRD."""
    spec = crd["spec"]
    for version in spec["versions"]:
        if version["served"]:
            yield {
                "group": spec["group"],
                "version": version["name"],
                "kind": spec["names"]["kind"],
                "plural": spec["names"]["plural"],
                "namespaced": spec["scope"] == "Namespaced",
                "status": "status" in version.get("subresources", {}),
                "native": False,
                "file": file,
                "root": table.add(version["schema"]["openAPIV3Schema"]),
            }


def kubernetes_folder() -> Path:
    """Return where Kubernetes' sources lie; raises CalledProcessError where Go or the module is missing."""
    command = ["go", "mod", "download", "-json", KUBERNETES]
    done = subprocess.run(command, cwd=PINNED_BY, check=True, capture_output=True, text=True)
    return Path(json.loads(done.stdout)["Dir"])


def served_kinds(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Return all kinds of Kubernetes that have a resource of their own: group, kind, versions."""
    groups: dict[str, dict[str, list[str]]] = {}
    for file in sorted(folder.glob("*_openapi.json")):
        paths = json.loads(file.read_bytes()).get("paths", {})
        of_objects = (operations for path, operations in paths.items() if "/{name}/" not in path)
        for operation in (operation for operations in of_objects for operation in operations.values()):
            identity = isinstance(operation, dict) and operation.get("x-kubernetes-group-version-kind")
            if identity:
                versions = groups.setdefault(identity["group"], {}).setdefault(identity["kind"], [])
                versions += [identity["version"]] if identity["version"] not in versions else []
    return groups


def generate_compiled() -> Iterator[tuple[str, str]]:
    """Yield the files of the four CRDs: what identifies a kind in a file each, and their common table."""
    table = Table()
    reader = YAML(typ="safe")
    for module, name in CRDS:
        crd = reader.load((module_folder(module) / name).read_text(encoding="utf-8"))
        root = table.add(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
        found = header(crd, root)
        yield f"{found['kind'].lower()}.json", json.dumps(found, separators=(",", ":"), sort_keys=True) + "\n"
    yield "nodes.json", table.text()


def generate_others() -> Iterator[tuple[str, str]]:
    """Yield the files of the kinds that trainc does not compile: a table for those that share, and their list."""
    folder = kubernetes_folder() / "api" / "openapi-spec" / "v3"
    rows: list[dict[str, Any]] = []
    for file, sources in NATIVE.items():
        table = Table()
        for source, kinds in sources.items():
            document = json.loads((folder / f"{source}_openapi.json").read_bytes())
            rows += [native(table, document, kind, file) for kind in kinds]
        yield f"{file}.json", table.text()
    table, reader = Table(), YAML(typ="safe")
    for module, name in CUSTOM:
        rows += custom(table, reader.load((module_folder(module) / name).read_text(encoding="utf-8")), "podgroups")
    yield "podgroups.json", table.text()
    lines = (json.dumps(row, separators=(",", ":"), sort_keys=True) for row in rows)
    yield "kinds.json", "[\n" + ",\n".join(lines) + "\n]\n"
    yield "groups.json", json.dumps(served_kinds(folder), separators=(",", ":"), sort_keys=True) + "\n"


def main() -> int:
    """Write the files, or, with --check, tell whether they are what would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    check = parser.parse_args().check
    stale = False
    for name, text in (*generate_compiled(), *generate_others()):
        target = OUTPUT / name
        if check:
            if not target.is_file() or target.read_text(encoding="utf-8") != text:
                stale = True
                sys.stderr.write(f"{name} differs from what the pinned modules give\n")
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
