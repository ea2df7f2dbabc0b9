"""A request's body read: an AdmissionReview v1 of kube-apiserver made a Request.

The shape is k8s.io/api/admission/v1 types.go. Only what a decision needs is typed; fields
that are not known are skipped, so newer API servers are understood.
"""

import re
from functools import partial
from typing import Annotated, Final, NoReturn

import msgspec

from admission.objects.size_limits import LARGE_VALUES, MAX_SKIPPED_VALUES
from core.base.errors import InvalidReviewError
from core.base.json_errors import DECODE_ERRORS
from core.base.json_values import COUNTED_FROM, count_values
from core.decision.request import DecodedPod, Kind, Operation, Phase, Request
from core.kubernetes.pod import Pod
from core.people.subject import Subject

API_VERSION = "admission.k8s.io/v1"
KIND = "AdmissionReview"

_FIX = f"send an {API_VERSION} {KIND} as kube-apiserver does"
_NULL = b"null"

# Echoed, logged and kept, so bounded; kube-apiserver's are UUIDs of 36 characters.
_Uid = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]

# Keys of caches and of access reviews. kube-apiserver with Entra sends at most 200 groups.
MAX_GROUPS = 1_000
MAX_EXTRA_KEYS = 100
MAX_EXTRA_VALUES = 1_000
MAX_IDENTITY_CHARACTERS = 1_024

# Kept, logged and shown, so bounded as Kubernetes bounds them (RFC 1123 and 1035).
_LONGEST_NAME = 253
_DnsName = Annotated[str, msgspec.Meta(max_length=_LONGEST_NAME)]
_DnsLabel = Annotated[str, msgspec.Meta(max_length=63)]

_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_IDENTITY_CHARACTERS)]
_Text = Annotated[str, msgspec.Meta(max_length=MAX_IDENTITY_CHARACTERS)]
_Groups = Annotated[list[_Text], msgspec.Meta(max_length=MAX_GROUPS)]
_Values = Annotated[list[str], msgspec.Meta(max_length=MAX_EXTRA_VALUES)]
_Extra = Annotated[dict[str, _Values | None], msgspec.Meta(max_length=MAX_EXTRA_KEYS)]

_OF_POD = b'"kind":{"group":"","version":"v1","kind":"Pod"}'
"""As kube-apiserver writes it; what says so, but is not, is only read twice."""

_HEAD_BYTES = 512
"""It stands within these."""

_OBJECT_KEYS: Final = (b',"object":{', b',"oldObject":{')
"""Nothing else is written so: a quotation mark within a text has a backslash before it."""

_NO_OBJECT: Final = b',"object":{}'

_ENDS_AS_DRY_RUN: Final = re.compile(
    rb',"dryRun":true(?:,"options":(?:null|\{[^{}]*\}))?\}\}\s*\Z', re.ASCII
)
"""What kube-apiserver writes after the objects, at the very end."""

_LONGEST_END: Final = 4096

_LONGEST_HEAD: Final = 1024 * 1024
"""Bytes of what a review says before its objects: 1,000 groups are 1 MB."""


class _UserInfo(msgspec.Struct, gc=False):
    username: _Name
    uid: _Text | None = None
    groups: _Groups | None = None
    extra: _Extra | None = None


class _Kind(msgspec.Struct, gc=False):
    kind: _DnsLabel
    version: _DnsLabel
    group: _DnsName = ""


class _Request(msgspec.Struct, rename="camel", gc=False):
    uid: _Uid
    kind: _Kind
    operation: Operation
    user_info: _UserInfo
    namespace: _DnsName | None = None
    name: _DnsName | None = None
    sub_resource: _DnsName | None = None
    dry_run: bool | None = None
    object: msgspec.Raw = msgspec.Raw()
    old_object: msgspec.Raw = msgspec.Raw()


class _Review(msgspec.Struct, rename="camel", gc=False):
    api_version: str
    kind: str
    request: _Request


class _PodRequest(_Request, rename="camel", gc=False):
    object: Pod | None = None  # type: ignore[assignment]  # Typed, where it is JSON otherwise.


class _PodReview(msgspec.Struct, rename="camel", gc=False):
    api_version: str
    kind: str
    request: _PodRequest


class _Metadata(msgspec.Struct, rename="camel", frozen=True, gc=False):
    generate_name: str | None = None


class _Named(msgspec.Struct, gc=False):
    metadata: _Metadata = _Metadata()


class _Specified(msgspec.Struct, gc=False):
    spec: msgspec.Raw = msgspec.Raw()


class _SpecRequest(msgspec.Struct, gc=False):
    object: _Specified | None = None


class _SpecReview(msgspec.Struct, gc=False):
    request: _SpecRequest


_DECODER = msgspec.json.Decoder(_Review)
_SPEC_DECODER = msgspec.json.Decoder(_SpecReview)
_NAMED = msgspec.json.Decoder(_Named)
_POD_DECODER = msgspec.json.Decoder(_PodReview)


def decode_review(
    body: bytes,
    *,
    patched: bool = False,
    authenticated: bool = False,
    value_count: int | None = None,
) -> Request:
    """Read one request body.

    A `null` object is an absent one. The objects in the answer share `body`'s memory. A Pod is read
    at once, unless it may be `patched`, which takes its JSON. The objects of a review that holds
    more than MAX_SKIPPED_VALUES are empty, and `value_count` says why. `authenticated` is whether
    its caller proved to be kube-apiserver: nothing in the body can. `value_count` is given where
    the body's values have been counted already.

    Raises:
        InvalidReviewError: the message names the field and never repeats a value from the body,
            which may hold names.
    """
    if not body:
        message = f"the body is empty; {_FIX}"
        raise InvalidReviewError(message)
    values = value_count
    if values is None:
        values = count_values(body) if len(body) > COUNTED_FROM else 0
    if values > MAX_SKIPPED_VALUES:
        body = _without_objects(body)
    typed = not patched and values <= LARGE_VALUES
    review = (_decode_with_pod(body) if typed else None) or _decode(body)
    if review.api_version != API_VERSION:
        message = f"apiVersion: must be {API_VERSION}; set it in admissionReviewVersions"
        raise InvalidReviewError(message)
    if review.kind != KIND:
        message = f"kind: must be {KIND}; {_FIX}"
        raise InvalidReviewError(message)
    wire = review.request
    if isinstance(wire, _PodRequest) and wire.object is not None:
        wire.name = wire.name or _generated(wire.object.metadata.generate_name)
        submitted = DecodedPod(wire.object, partial(_object_of, body), partial(_spec_of, body))
        return _to_request(wire, submitted, values, authenticated)
    wire.name = wire.name or _generated(_beginning_of(wire.object))
    return _to_request(wire, _to_object(wire.object, "object"), values, authenticated)


def _without_objects(body: bytes) -> bytes:
    """Return a review with an empty object in the place of both, and what follows them.

    Raises:
        InvalidReviewError: they do not stand where it writes them.
    """
    starts = [start for start in map(body.find, _OBJECT_KEYS) if 0 < start <= _LONGEST_HEAD]
    if not starts:
        message = f"the body holds more than {MAX_SKIPPED_VALUES:,} values; {_FIX}"
        raise InvalidReviewError(message)
    is_dry_run = _ENDS_AS_DRY_RUN.search(body, max(min(starts), len(body) - _LONGEST_END))
    return body[: min(starts)] + _NO_OBJECT + (b',"dryRun":true}}' if is_dry_run else b"}}")


def _generated(beginning: str | None) -> str:
    """Name what has no name yet, on the way to its final state: no object can be called so."""
    return f"{beginning}*" if beginning and len(beginning) <= _LONGEST_NAME else ""


def _beginning_of(raw: msgspec.Raw) -> str | None:
    if not memoryview(raw):
        return None
    try:
        return _NAMED.decode(raw).metadata.generate_name
    except (msgspec.DecodeError, RecursionError):
        return None  # Who judges it says what is wrong with its shape.


def _decode_with_pod(body: bytes) -> _PodReview | None:
    """Read a review of a Pod; None where it is none, or not as it should be in any way."""
    if body.find(_OF_POD, 0, _HEAD_BYTES) < 0:
        return None
    try:
        if not body.isascii():
            body.decode()
        review = _POD_DECODER.decode(body)
    except DECODE_ERRORS:
        return None
    kind, pod = review.request.kind, review.request.object
    is_pod = (kind.group, kind.version, kind.kind) == ("", "v1", "Pod")
    return review if is_pod and pod is not None else None


def _object_of(body: bytes) -> msgspec.Raw:
    return _DECODER.decode(body).request.object


def _spec_of(body: bytes) -> msgspec.Raw:
    found = _SPEC_DECODER.decode(body).request.object
    return msgspec.Raw() if found is None else found.spec


def _decode(body: bytes) -> _Review:
    try:
        if not body.isascii():
            body.decode()  # Objects are kept raw, which skips msgspec's own check.
        return _DECODER.decode(body)
    except UnicodeDecodeError as error:
        message = f"the body is not UTF-8 at byte {error.start}; {_FIX}"
        raise InvalidReviewError(message) from None
    except msgspec.DecodeError as error:
        _refuse(str(error))
    except RecursionError:
        message = f"the body is nested too deeply to be read; {_FIX}"
        raise InvalidReviewError(message) from None


def _refuse(text: str) -> NoReturn:
    """Turn msgspec's words into ours: the field first, no value, and what to do."""
    problem, _, path = text.partition(" - at `$")
    field = path.rstrip("`").removeprefix(".")
    if problem.startswith("Object missing required field `"):
        missing = problem.split("`")[1]
        field, problem = f"{field}.{missing}" if field else missing, "is missing"
    elif problem.startswith("Invalid enum value"):
        problem = f"must be one of {', '.join(operation.value for operation in Operation)}"
    else:
        problem = problem.replace("`", "")
    message = f"{field or 'the body'}: {problem}; {_FIX}"
    raise InvalidReviewError(message) from None


def _to_request(
    wire: _Request,
    submitted: msgspec.Raw | DecodedPod | None,
    values: int,
    authenticated: bool,  # noqa: FBT001  Handed on as it came.
) -> Request:
    kind = wire.kind
    if not kind.kind or not kind.version:
        message = f"request.kind: kind and version must not be empty; {_FIX}"
        raise InvalidReviewError(message)
    if submitted is None and wire.operation in {Operation.CREATE, Operation.UPDATE}:
        message = f"request.object: is missing for {wire.operation.value}; {_FIX}"
        raise InvalidReviewError(message)
    return Request(
        uid=wire.uid,
        kind=Kind(kind.kind, kind.version, kind.group),
        operation=wire.operation,
        subject=_to_subject(wire.user_info),
        namespace=wire.namespace or "",
        name=wire.name or "",
        subresource=wire.sub_resource or "",
        submitted=submitted,
        old_object=_to_object(wire.old_object, "oldObject"),
        value_count=values,
        dry_run=bool(wire.dry_run),
        phase=Phase.VALIDATING,
        authenticated=authenticated,
    )


def _to_object(raw: msgspec.Raw, field: str) -> msgspec.Raw | None:
    view = memoryview(raw)
    if not view or view == _NULL:
        return None
    if view[0] != ord("{"):
        message = f"request.{field}: must be an object or null; {_FIX}"
        raise InvalidReviewError(message)
    return raw


def _to_subject(user: _UserInfo) -> Subject:
    extra = user.extra or {}
    if sum(len(values or ()) for values in extra.values()) > MAX_EXTRA_VALUES:
        message = f"request.userInfo.extra: has more than {MAX_EXTRA_VALUES:,} values; {_FIX}"
        raise InvalidReviewError(message)
    return Subject(
        username=user.username,
        uid=user.uid or "",
        groups=user.groups or [],
        extra={key: values or [] for key, values in extra.items()},
    )
