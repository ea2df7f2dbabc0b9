"""Compares the fields of a version of Kubernetes with the table of this release."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import msgspec

from app.settings.root import Settings
from control.filled_fields import BARE_SPEC
from core.base.errors import ClusterError, InvalidObjectError, SettingsError
from core.base.json_errors import DECODE_ERRORS
from core.kubernetes.field_rows import NOTHING_KNOWN, FieldRows, KnownFields
from kube.client.objects import Objects, open_objects
from kube.resources.known_fields import ADDED, FILLED, parse_added, parse_filled
from policies.fields.openapi import read_types
from policies.fields.table import BEYOND, FieldTable, built_in_rows, canonical_json

_OPENAPI: Final = "/openapi/v3"

_BARE_POD: Final = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "sallyport-preflight-"},
    "spec": BARE_SPEC,
}


class Compared(msgspec.Struct, frozen=True, rename="camel"):
    """What was compared."""

    version: str
    """Of Kubernetes; empty where it is not said."""
    known: list[str]
    """The versions of which each field is known."""
    unknown: list[str]
    """Type and field: `core/PodSpec.example`."""
    filled: list[str]
    """Unknown fields of a Pod that kube-apiserver fills in by itself, with their values."""
    problem: str = ""
    """Why it is not known what kube-apiserver fills in; empty where it is."""


def compare_file(path: Path) -> Compared:
    """Compare with a file of Kubernetes' OpenAPI.

    Raises:
        SettingsError: it is none.
    """
    try:
        document = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except DECODE_ERRORS as error:
        raise SettingsError(f"--openapi {path}: is no JSON object: {error}") from error
    info = document.get("info") or {}
    compared = _compare([document], NOTHING_KNOWN, str(info.get("version") or ""))
    if not read_types([document], built_in_rows().kinds):
        problem = "has no kind of Kubernetes' own: give api/openapi-spec/swagger.json"
        raise SettingsError(f"--openapi {path}: {problem}")
    return compared


async def compare_cluster(settings: Settings) -> Compared:
    """Compare with a cluster's own OpenAPI.

    Raises:
        ClusterError: it does not answer, or refuses.
    """
    async with open_objects(settings.kubeconfig) as objects:
        index = (await objects.get(_OPENAPI) or {}).get("paths") or {}
        groups = {kind.partition("/")[0] for kind in built_in_rows().kinds}
        paths = [name for name in index if _group_of(name) in groups]
        documents = [await objects.get(f"{_OPENAPI}/{name}") or {} for name in sorted(paths)]
        version = str((await objects.get("/version") or {}).get("gitVersion") or "")
        known = await _known_fields(objects, settings.namespace)
        compared = _compare(documents, known, version)
        try:
            filled = await _filled(objects, FieldTable(built_in_rows(), known.added))
        except ClusterError as error:
            return msgspec.structs.replace(compared, problem=str(error))
        return msgspec.structs.replace(compared, filled=filled)


def _group_of(path: str) -> str | None:
    """Return the API group of a path of OpenAPI's index: `apis/apps/v1`; None of another path."""
    match path.split("/"):
        case ["api", _]:
            return ""
        case ["apis", group, _]:
            return group
    return None


async def _known_fields(objects: Objects, namespace: str) -> KnownFields:
    found: dict[str, Any] = {ADDED: FieldRows(), FILLED: frozenset()}
    for name, parse in ((ADDED, parse_added), (FILLED, parse_filled)):
        with suppress(InvalidObjectError):
            try:
                live = await objects.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
            except ClusterError as error:
                if error.status != HTTPStatus.FORBIDDEN:
                    raise
                live = None
            if live is not None:
                found[name] = parse(msgspec.json.encode(live))
    return KnownFields(found[ADDED], found[FILLED])


def _compare(documents: Iterable[Mapping[str, Any]], known: KnownFields, version: str) -> Compared:
    table = FieldTable(built_in_rows(), known.added)
    types = read_types(documents, table.kinds)
    unknown = [
        f"{of}.{name}"
        for of, fields in types.items()
        for name in fields
        if name not in table.types.get(of, {})
    ]
    return Compared(version, list(table.versions), unknown, [])


async def _filled(objects: Objects, table: FieldTable) -> list[str]:
    made = await objects.try_create("/api/v1/namespaces/default/pods", _BARE_POD)
    found = table.search("", "Pod", msgspec.json.encode(made))
    return sorted(
        {
            f"{each.everywhere} = {canonical_json(each.value)}"
            for each in found
            if each is not None and each != BEYOND
        }
    )
