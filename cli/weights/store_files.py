"""WeightStores, AccessGrants and their Approvals, read from files: what stands in for a cluster."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec

from cli.output import STANDARD_INPUT, as_unicode
from core.approvals.approvals import KIND as APPROVAL
from core.approvals.approvals import parse_approval
from core.base import names
from core.base.errors import InvalidObjectError, SettingsError
from core.base.times import second_text
from core.weights.access_grants import KIND as GRANT
from core.weights.access_grants import parse_grant
from core.weights.stores import KIND as STORE
from core.weights.stores import parse_store
from kube.manifests.reader import Manifest, find_files, read_paths, read_stream
from kube.weights.recorded_objects import RecordedObject, read_recorded

_PARSERS: Final[Mapping[str, Callable[[bytes], Any]]] = {
    STORE: parse_store,
    GRANT: parse_grant,
    APPROVAL: parse_approval,
}
_NAMESPACED: Final = frozenset({GRANT, APPROVAL})

_MOST_FAULTS: Final = 10
"""That are told one by one."""

_EVER: Final = f"{second_text(0)}Z"
"""Stands for a `creationTimestamp` that a file lacks: nobody knows since when it is there."""


@dataclass(frozen=True)
class StoreFiles:
    """What the files hold."""

    stores: Sequence[RecordedObject]
    grants: Sequence[RecordedObject]
    approvals: Sequence[RecordedObject]
    """Those of AccessGrants."""
    skipped: Mapping[str, int]
    """Objects of other kinds, by kind."""
    undated: frozenset[str]
    """Of objects without `metadata.creationTimestamp`: kind and key, with a space between."""
    deleted: Mapping[str, str] = field(default_factory=dict)
    """By key: grants that are being deleted, and since when."""


@dataclass
class _Reading:
    found: dict[tuple[str, str], tuple[Manifest, RecordedObject]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    undated: set[str] = field(default_factory=set)
    deleted: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def read_store_files(paths: Sequence[str]) -> StoreFiles:
    """Read all that files and folders hold, `-` for standard input.

    Raises:
        SettingsError: a path is not there, or holds no WeightStore and no AccessGrant.
        InvalidObjectError: an object is wrong; the message names each file, object and field.
    """
    reading = _Reading()
    for file in _files(paths):
        try:
            for manifest in _manifests(file):
                _take(reading, manifest)
        except InvalidObjectError as error:
            reading.faults.append(str(error))
    if reading.faults:
        raise _refusal(reading.faults)
    by_kind: dict[str, list[RecordedObject]] = {kind: [] for kind in _PARSERS}
    for kind, key in sorted(reading.found):
        by_kind[kind].append(reading.found[kind, key][1])
    if not (by_kind[STORE] or by_kind[GRANT]):
        raise SettingsError(
            f"--stores {', '.join(map(as_unicode, paths))}: holds no {STORE} and no {GRANT} of "
            f"{names.API_VERSION}: write what `kubectl get weightstores,accessgrants,approvals "
            "-A -o yaml` prints into it"
        )
    return StoreFiles(
        by_kind[STORE],
        by_kind[GRANT],
        by_kind[APPROVAL],
        dict(reading.skipped.most_common()),
        frozenset(reading.undated),
        reading.deleted,
    )


def _files(paths: Sequence[str]) -> Iterator[Path | str]:
    for path in paths:
        if path == STANDARD_INPUT:
            yield path
        else:
            yield from find_files(Path(path))


def _manifests(file: Path | str) -> Iterator[Manifest]:
    if isinstance(file, Path):
        yield from read_paths([file])
        return
    if sys.stdin is None:
        raise SettingsError("standard input is closed: name a file")
    yield from read_stream(sys.stdin.buffer, file)


def _take(reading: _Reading, manifest: Manifest) -> None:
    kind = manifest.kind
    if manifest.group != names.GROUP or kind not in _PARSERS or _approves_another(manifest):
        reading.skipped[kind] += 1
        return
    try:
        recorded = _read(manifest)
    except InvalidObjectError as error:
        where = f"{error.field}: " if error.field else ""
        reading.faults.append(f"{manifest.source}: {error.what}: {where}{error.problem}")
        return
    before = reading.found.setdefault((kind, recorded.key), (manifest, recorded))
    if before[0].value != manifest.value:
        reading.faults.append(
            f"{manifest.source}: {kind} {recorded.key}: metadata.name: is in {before[0].source} "
            "too, and differs: keep one of them"
        )
    metadata = manifest.value["metadata"]
    if not metadata.get("creationTimestamp"):
        reading.undated.add(f"{kind} {recorded.key}")
    if kind == GRANT and metadata.get("deletionTimestamp"):
        reading.deleted[recorded.key] = metadata["deletionTimestamp"]


def _approves_another(manifest: Manifest) -> bool:
    """Return whether it is an Approval of something else than an AccessGrant."""
    spec = manifest.value.get("spec")
    approved = spec.get("for") if isinstance(spec, dict) else None
    kind = approved.get("kind") if isinstance(approved, dict) else GRANT
    return manifest.kind == APPROVAL and isinstance(kind, str) and kind != GRANT


def _read(manifest: Manifest) -> RecordedObject:
    """Read an object as `control` records it.

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    kind = manifest.kind
    _PARSERS[kind](manifest.raw)
    metadata = manifest.value.get("metadata") or {}
    for name in ("name", *(["namespace"] if kind in _NAMESPACED else [])):
        if not metadata.get(name):
            what = f"{kind} {metadata.get('name') or ''}".rstrip()
            raise InvalidObjectError(what, f"metadata.{name}", "is missing: say it")
    dated = {**metadata, "creationTimestamp": metadata.get("creationTimestamp") or _EVER}
    recorded = read_recorded(kind, msgspec.json.encode({**manifest.value, "metadata": dated}))
    if recorded is None:
        raise InvalidObjectError(f"{kind} {metadata['name']}", "spec", "says nothing: remove it")
    if not recorded.uid:
        digest = recorded.digest.removeprefix("sha256:")
        return msgspec.structs.replace(recorded, uid=f"none-{digest[:12]}")
    return recorded


def _refusal(faults: Sequence[str]) -> InvalidObjectError:
    shown = "".join(f"\n  {fault}" for fault in faults[:_MOST_FAULTS])
    more = f"\n  and {len(faults) - _MOST_FAULTS} more" if len(faults) > _MOST_FAULTS else ""
    count = "1 object is" if len(faults) == 1 else f"{len(faults)} objects are"
    return InvalidObjectError("--stores", "", f"{count} wrong, nothing was ingested:{shown}{more}")
