"""Objects of Sallyport's own kinds, read alike: metadata, `spec` and the approved digest."""

import hashlib
import re
from collections.abc import Collection
from typing import Any, Final, TypeVar

import msgspec

from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.base.times import seconds_of

DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")

_TIME: Final = re.compile(r"20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")

_Spec = TypeVar("_Spec")


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """`metadata`, as far as it is read."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    annotations: dict[str, str] | None = None
    deletion_timestamp: str | None = None
    creation_timestamp: str | None = None

    def annotation(self, name: str) -> str:
        """Return an annotation's value; empty where there is none."""
        return (self.annotations or {}).get(name, "")


class UntypedObject(msgspec.Struct, frozen=True):
    """An object before its `spec` is typed."""

    meta: Metadata
    spec: Any
    digest: str
    """`sha256:` and the digest of kind, namespace, name and `spec`: what is approved."""


class _Head(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: Metadata = Metadata()


_HOLDERS: Final = (dict, list)

_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
"""`status` may be there and is never read: nothing is decided by it."""


def read_object(
    raw: bytes | msgspec.Raw,
    kind: str,
    namespace: str = "",
    apart: Collection[str] = (),
) -> UntypedObject:
    """Read an object of a kind of Sallyport's; `namespace` is the request's.

    The fields of `spec` that are named in `apart` are not approved: the digest leaves them out.
    Items of a list may carry no kind, and a new object no namespace: what stands there counts.

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    try:
        whole = msgspec.json.decode(raw)
        head = msgspec.convert(whole, _Head)
    except DECODE_ERRORS as error:
        raise decode_error(kind, error) from error
    what = f"{kind} {head.metadata.name}"
    for field, value, expected in (
        ("apiVersion", head.api_version, names.API_VERSION),
        ("kind", head.kind, kind),
    ):
        if value not in {"", expected}:
            raise InvalidObjectError(what, field, f"{value!r} must be {expected}")
    if unknown := sorted(whole.keys() - _FIELDS):
        raise InvalidObjectError(what, unknown[0], "there is no such field; remove it")
    meta = msgspec.structs.replace(head.metadata, namespace=head.metadata.namespace or namespace)
    spec = whole.get("spec")
    approved = spec
    if apart and isinstance(spec, dict):
        approved = {field: value for field, value in spec.items() if field not in apart}
    return UntypedObject(meta, spec, _digest(kind, meta, approved))


def convert_spec(
    written: UntypedObject, kind: str, spec: type[_Spec], optional: Collection[str]
) -> _Spec:
    """Return the `spec` typed; null in a field named in `optional` is absence, as in Kubernetes.

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    try:
        return msgspec.convert(_without_nulls(written.spec, optional), spec)
    except msgspec.ValidationError as error:
        raise decode_error(f"{kind} {written.meta.name}", error, "spec", spec) from error


def require_match(pattern: re.Pattern[str], text: str, field: str, what: str, wanted: str) -> None:
    """Demand that a text matches a pattern, all of it; `wanted` says for a person what it must be.

    Raises:
        InvalidObjectError: naming `field`.
    """
    if not pattern.fullmatch(text):
        raise InvalidObjectError(what, field, f"{text!r} must be {wanted}")


def parse_time(text: str, *, field: str, what: str) -> float:
    """Read a time to the second in UTC, such as `2026-12-31T18:00:00Z`, as Unix seconds.

    Raises:
        InvalidObjectError: naming `field`.
    """
    try:
        if _TIME.fullmatch(text):
            return seconds_of(text)
    except ValueError:
        pass
    message = f"{text!r} must be a time in UTC to the second, such as 2026-12-31T18:00:00Z"
    raise InvalidObjectError(what, field, message)


def _digest(kind: str, meta: Metadata, spec: Any) -> str:
    """Digest what is approved: its JSON with sorted keys and no spaces."""
    whole = {"kind": kind, "namespace": meta.namespace, "name": meta.name, "spec": spec}
    canonical = msgspec.json.encode(whole, order="deterministic")
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def _without_nulls(value: Any, optional: Collection[str]) -> Any:
    if isinstance(value, dict):
        return {
            key: _without_nulls(each, optional) if isinstance(each, _HOLDERS) else each
            for key, each in value.items()
            if each is not None or key not in optional
        }
    if isinstance(value, list):
        return [
            _without_nulls(each, optional) if isinstance(each, _HOLDERS) else each for each in value
        ]
    return value
