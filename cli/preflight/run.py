"""Compares the fields of a version of Kubernetes with the table of this release."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from app.settings.root import Settings
from control.filled_fields import BARE_SPEC
from core.base.errors import ClusterError, InvalidObjectError, SettingsError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.kubernetes.field_rows import NOTHING_KNOWN, FieldRows, KnownFields, split_shape
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


FORMAT: Final = 1

_GIVE: Final = "give api/openapi-spec/swagger.json of Kubernetes' repository"
_DRY_RUN: Final = "create Pods in the namespace default (a dry run)"
_NAMED: Final = 4
"""Types that an error names; the others are counted."""

_T = TypeVar("_T")


class _NothingSaidError(Exception):
    """OpenAPI says nothing of some types, so nothing is known of their fields."""

    def __init__(self, missing: Sequence[str]) -> None:
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        super().__init__(
            f"says nothing of {', '.join(missing[:_NAMED])}{more}, so nothing is known of their "
            "fields"
        )


class Compared(msgspec.Struct, frozen=True, rename="camel"):
    """`sallyport preflight -o json` (docs/reference/preflight.schema.json)."""

    format: int
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
    unread: list[str] = []
    """Which of the cluster's two ConfigMaps about fields does not count, and why."""


class _Info(msgspec.Struct, frozen=True):
    version: str = ""


class _File(msgspec.Struct, frozen=True):
    info: _Info = _Info()


class _Index(msgspec.Struct, frozen=True):
    paths: dict[str, Any] = {}


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str = ""


def compare_file(path: Path) -> Compared:
    """Compare with a file of Kubernetes' OpenAPI.

    Raises:
        SettingsError: it is none, or says nothing of a kind.
    """
    where = f"--openapi {path}"
    try:
        document = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        version = msgspec.convert(document, _File).info.version
        compared = _compare([document], NOTHING_KNOWN, version)
    except OSError as error:
        raise SettingsError(f"{where}: cannot be read: {error.strerror}") from error
    except DECODE_ERRORS as error:
        problem = decode_error("", error)
        place = f"{problem.field}: " if problem.field else "is no JSON object: "
        raise SettingsError(f"{where}: {place}{problem.problem}: {_GIVE}") from error
    except InvalidObjectError as error:
        raise SettingsError(f"{where}: {error.field}: {error.problem}: {_GIVE}") from error
    except _NothingSaidError as error:
        raise SettingsError(f"{where} {error}: {_GIVE}") from error
    return compared


async def compare_cluster(settings: Settings) -> Compared:
    """Compare with a cluster's own OpenAPI.

    Raises:
        ClusterError: it does not answer, refuses, or says nothing of a kind.
    """
    async with open_objects(settings.kubeconfig) as objects:
        index = await _read(objects, _OPENAPI, _Index)
        groups = {kind.partition("/")[0] for kind in built_in_rows().kinds}
        paths = sorted(name for name in index.paths if _group_of(name) in groups)
        documents = [await _get(objects, f"{_OPENAPI}/{name}") for name in paths]
        version = (await _read(objects, "/version", _Version)).git_version
        known, unread = await _known_fields(objects, settings.namespace)
        try:
            compared = _compare(documents, known, version)
        except InvalidObjectError as error:
            raise ClusterError(f"GET {_OPENAPI}: {error.field}: {error.problem}") from error
        except _NothingSaidError as error:
            remedy = "see which of them kube-apiserver serves, or give --openapi FILE"
            raise ClusterError(f"GET {_OPENAPI}: the answer {error}: {remedy}") from error
        compared = msgspec.structs.replace(compared, unread=unread)
        try:
            filled = await _filled(objects, FieldTable(built_in_rows(), known.added))
        except ClusterError as error:
            return msgspec.structs.replace(compared, problem=_for_person(error, _DRY_RUN))
        return msgspec.structs.replace(compared, filled=filled)


async def _get(objects: Objects, path: str) -> dict[str, Any]:
    try:
        return await objects.get(path) or {}
    except ClusterError as error:
        raise ClusterError(_for_person(error, f"get {path}"), error.status) from error


async def _read(objects: Objects, path: str, kind: type[_T]) -> _T:
    answer = await _get(objects, path)
    try:
        return msgspec.convert(answer, kind)
    except DECODE_ERRORS as error:
        raise ClusterError(str(decode_error(f"GET {path}", error))) from error


def _for_person(error: ClusterError, what: str) -> str:
    """Word a refusal for the person who asks: which right the kubeconfig's user lacks."""
    if error.status != HTTPStatus.FORBIDDEN:
        return str(error)
    return f"the kubeconfig's user may not {what}, or a policy refuses it: {error}"


def _group_of(path: str) -> str | None:
    """Return the API group of a path of OpenAPI's index: `apis/apps/v1`; None of another path."""
    match path.split("/"):
        case ["api", _]:
            return ""
        case ["apis", group, _]:
            return group
    return None


async def _known_fields(objects: Objects, namespace: str) -> tuple[KnownFields, list[str]]:
    """Return what the two ConfigMaps say, and which of them does not count, and why."""
    found: dict[str, Any] = {ADDED: FieldRows(), FILLED: frozenset()}
    unread = []
    for name, parse in ((ADDED, parse_added), (FILLED, parse_filled)):
        path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        try:
            live = await objects.get(path)
            if live is not None:
                found[name] = parse(msgspec.json.encode(live))
        except InvalidObjectError as error:
            unread.append(f"{error}; gates leave it out, too: docs/operate/fields.md")
        except ClusterError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            unread.append(f"ConfigMap {name}: {_for_person(error, f'get {path}')}")
    return KnownFields(found[ADDED], found[FILLED]), unread


def _compare(documents: Iterable[Mapping[str, Any]], known: KnownFields, version: str) -> Compared:
    """Compare.

    Raises:
        InvalidObjectError: a document has not the shape of OpenAPI.
        _NothingSaidError: they say nothing of a kind, or of a part of one.
    """
    rows = built_in_rows()
    table = FieldTable(rows, known.added)
    types = read_types(documents, table.kinds)
    missing = _missing(types, rows)
    if missing:
        raise _NothingSaidError(missing)
    unknown = [
        f"{of}.{name}"
        for of, fields in types.items()
        for name in fields
        if name not in table.types.get(of, {})
    ]
    return Compared(FORMAT, version, list(table.versions), unknown, [])


def _missing(types: Mapping[str, Mapping[str, str]], rows: FieldRows) -> list[str]:
    """Return the types of kinds, and of fields that are there, of which nothing is said.

    A type that a minor does not have is held by no field that it has.
    """
    held = (
        split_shape(rows.types[of][name].type)[1]
        for of, fields in types.items()
        for name in fields
        if name in rows.types.get(of, {})
    )
    needed = dict.fromkeys([*rows.kinds.values(), *sorted({*held} - {""})])
    return [of for of in needed if of not in types]


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
