"""Compares the fields of a version of Kubernetes with the table of this release."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from app.settings.root import Settings
from cli import exits
from control.filled_fields import BARE_SPEC
from core.base.errors import ClusterError, InvalidObjectError, SettingsError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.kubernetes.field_rows import NOTHING_KNOWN, FieldRows, KnownFields, split_shape
from kube.client.objects import Objects, open_objects
from kube.resources.known_fields import ADDED, FILLED, parse_added, parse_filled
from policies.fields.minors import built_in_lacks, expected_fields
from policies.fields.openapi import read_types
from policies.fields.table import BEYOND, FieldTable, built_in_rows, canonical_json

_OPENAPI: Final = "/openapi/v3"
_CORE: Final = "core/"
"""Types of the core group: of kinds that each kube-apiserver serves."""

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
    lacking: list[str] = []
    """Fields that the OpenAPI of this version must have and lacks: it is incomplete, or of another
    minor than those of `known`."""
    not_served: list[str] = []
    """Kinds of the table that are not there, by group and kind: nothing of them is compared."""

    @property
    def exit_code(self) -> int:
        """What the command ends with: what was not shown weighs more than what is unknown."""
        if self.lacking:
            return exits.NOT_JUDGED
        return exits.REFUSED if self.unknown else exits.ADMITTED


class _Info(msgspec.Struct, frozen=True):
    version: str = ""


class _File(msgspec.Struct, frozen=True):
    info: _Info = _Info()


class _Index(msgspec.Struct, frozen=True):
    paths: dict[str, Any] = {}


class _Resource(msgspec.Struct, frozen=True):
    kind: str = ""
    group: str = ""
    """Of a subresource of another group: that of TokenRequests, below service accounts."""


class _Resources(msgspec.Struct, frozen=True):
    """What a version of a group serves (APIResourceList)."""

    resources: list[_Resource]


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
        shown = _Shown(read_types([document], built_in_rows().kinds), version)
        compared = _compare(shown, NOTHING_KNOWN)
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
        kinds = FieldTable(built_in_rows(), known.added).kinds
        try:
            shown = _Shown(read_types(documents, kinds), version)
            shown = replace(shown, not_served=await _not_served(objects, shown, paths))
            compared = _compare(shown, known)
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


@dataclass(frozen=True)
class _Shown:
    """What OpenAPI shows."""

    types: Mapping[str, Mapping[str, str]]
    version: str
    """Of Kubernetes; empty or `unversioned` where it is not said."""
    not_served: frozenset[str] | None = None
    """Kinds that a cluster says it does not serve; None of a file, which says nothing of it."""


async def _not_served(objects: Objects, shown: _Shown, paths: Sequence[str]) -> frozenset[str]:
    """Return the kinds of which OpenAPI says nothing, and that the cluster's groups do not list.

    `paths` are those of the versions of their groups: `apis/apps/v1`. The core group is always
    served: an OpenAPI without a kind of it is no whole one.
    """
    rows = built_in_rows().kinds
    missing = {kind for kind, of in rows.items() if of not in shown.types}
    if not missing or any(rows[kind].startswith(_CORE) for kind in missing):
        return frozenset()
    served = set()
    for path in paths:
        listed = await _read(objects, f"/{path}", _Resources)
        served |= {f"{each.group or _group_of(path)}/{each.kind}" for each in listed.resources}
    return frozenset(missing - served)


def _compare(shown: _Shown, known: KnownFields) -> Compared:
    """Compare.

    Raises:
        _NothingSaidError: nothing is said of a kind, or of a part of one.
    """
    rows = built_in_rows()
    table = FieldTable(rows, known.added)
    expected = expected_fields(rows, built_in_lacks(), shown.version)
    missing = _missing(shown, rows, expected)
    if missing:
        raise _NothingSaidError(missing)
    unknown = _beside(shown.types, table.types)
    lacking = _beside({of: each for of, each in expected.items() if of in shown.types}, shown.types)
    not_served = sorted(kind for kind, of in rows.kinds.items() if of not in shown.types)
    return Compared(
        FORMAT,
        shown.version,
        list(table.versions),
        unknown,
        [],
        lacking=lacking,
        not_served=not_served,
    )


def _beside(fields: Mapping[str, Iterable[str]], others: Mapping[str, Container[str]]) -> list[str]:
    """Return the fields that are not among the others, as people write them."""
    return [
        f"{of}.{name}"
        for of, found in fields.items()
        for name in found
        if name not in others.get(of, ())
    ]


def _missing(shown: _Shown, rows: FieldRows, expected: Container[str]) -> list[str]:
    """Return the types of kinds, and of fields that are there, of which nothing is said.

    A type that a minor does not have is held by no field that it has. Of a kind that not each
    version of Kubernetes has, or that a cluster does not serve, nothing needs to be said.
    """
    held = (
        split_shape(rows.types[of][name].type)[1]
        for of, fields in shown.types.items()
        for name in fields
        if name in rows.types.get(of, {})
    )
    absent = shown.not_served
    kinds = [
        of
        for kind, of in rows.kinds.items()
        if (of in expected if absent is None else kind not in absent)
    ]
    needed = dict.fromkeys([*kinds, *sorted({*held} - {""})])
    return [of for of in needed if of not in shown.types]


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
