"""PersistentVolumeClaims: those that a JobSet makes, and those of ephemeral volumes."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.checks.problem import Place, Problem
from trainc.checks.rules import dns_subdomain, label_selector, text
from trainc.kube.quantity import from_json
from trainc.source import JsonObject, as_list, get

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
ALONE = "ReadWriteOncePod"


def claim_problems(place: Place, spec: JsonObject) -> Iterator[Problem]:
    """Check a claim's spec.

    Source: k8s.io/kubernetes v1.34.4 pkg/apis/core/validation, ValidatePersistentVolumeClaimSpec, without data sources.
    """
    modes, at = as_list(spec.get("accessModes")), place.child("accessModes")
    if not modes:
        yield at.required("at least 1 access mode is required")
    yield from label_selector(place.child("selector"), spec.get("selector"))
    for index, mode in enumerate(modes):
        if mode not in ACCESS_MODES:
            yield at.within(index).unsupported(mode, ACCESS_MODES)
    if ALONE in modes and any(mode in ACCESS_MODES and mode != ALONE for mode in modes):
        yield at.forbidden(f"may not use {ALONE} with other access modes")
    yield from _storage(place, spec)
    if storage_class := text(spec, "storageClassName"):
        yield from dns_subdomain(place.child("storageClassName"), storage_class)
    volume_mode = spec.get("volumeMode")
    if volume_mode is not None and volume_mode not in VOLUME_MODES:
        yield place.child("volumeMode").unsupported(volume_mode, VOLUME_MODES)


def _storage(place: Place, spec: JsonObject) -> Iterator[Problem]:
    # The server's name for the field lacks a step.
    at = place.child("resources").within("requests").named(f"{place.field}.resources[storage]")
    storage = get(spec, "resources", "requests", "storage")
    if storage is None:
        yield at.required()
        return
    quantity = from_json(storage)
    if quantity.sign() <= 0:
        yield at.within("storage").invalid(quantity.canonical(), "must be greater than zero")
