"""AdmissionReview v1: a request's body read, and a Decision written as its answer.

The shape is k8s.io/api/admission/v1 types.go. Only what a decision needs is typed; fields
that are not known are skipped, so newer API servers are understood. A denial is code 403, reason
Forbidden; a review that nobody could judge is code 500, reason InternalError. Both refuse; only the
first is about the object.
"""

import re
import textwrap
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Final, NoReturn

import msgspec

from admission.objects.size_limits import LARGE_VALUES, MAX_SKIPPED_VALUES
from core.base.errors import InvalidReviewError
from core.base.json_errors import DECODE_ERRORS
from core.base.json_values import COUNTED_FROM, count_values
from core.base.safe_text import replace_unprintable
from core.decision.decision import Decision, Finding, Patch, Verdict
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

WARNING_LENGTH = 120
"""k8s.io/api/admission/v1: warnings should not exceed 120 characters."""

WARNINGS_LENGTH = 4096
"""Past this many in all, kube-apiserver cuts each warning (apiserver/pkg/endpoints/filters)."""

FINDINGS_LENGTH = 10_000
"""Bytes of the audit annotation `findings`; a value is kept under 10 KiB."""

_MORE_LENGTH = 48
_WRAPPER = textwrap.TextWrapper(
    width=WARNING_LENGTH, subsequent_indent="… ", break_on_hyphens=False, max_lines=16
)
_ENCODER = msgspec.json.Encoder()

Patches = list[Patch]
"""A JSONPatch (RFC 6902)."""


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


_DECODER = msgspec.json.Decoder(_Review)
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
        submitted = DecodedPod(wire.object, partial(_object_of, body))
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


class _Status(msgspec.Struct, gc=False):
    code: int
    message: str
    reason: str


class _Response(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    uid: str
    allowed: bool
    audit_annotations: dict[str, str]
    status: _Status | None = None
    warnings: list[str] = []
    patch: bytes | None = None
    """msgspec writes bytes as base64, which is what the API asks for."""
    patch_type: str | None = None


class _AnsweredReview(msgspec.Struct, rename="camel", gc=False):
    api_version: str
    kind: str
    response: _Response


def encode_answer(request: Request, decision: Decision, patches: Patches) -> bytes:
    """Return the body that answers a review; an answer of `/validate` never has patches."""
    response = _respond(request, decision)
    if patches:
        response.patch, response.patch_type = _ENCODER.encode(patches), "JSONPatch"
    return _encode(response)


def no_patches(_request: Request, _decision: Decision) -> Patches:
    """Return the patches of `/validate`."""
    return []


def mutation_patches(request: Request, decision: Decision) -> Patches:
    """Return the patches of `/mutate`: annotations and what is filled in, as the decision says.

    Raises:
        InvalidReviewError: the object's metadata has not the shape that Kubernetes gives it.
    """
    if not decision.allowed:
        return []
    noted = annotation_patches(request, decision.recorded) if decision.recorded else []
    return [*noted, *decision.filled]


def encode_failure(request: Request, message: str) -> bytes:
    """Return the refusal of a review that failed without a Decision."""
    status = _Status(500, message, "InternalError")
    annotations = {"verdict": Verdict.ERROR.value}
    return _encode(
        _Response(request.uid, allowed=False, audit_annotations=annotations, status=status)
    )


def _encode(response: _Response) -> bytes:
    return _ENCODER.encode(_AnsweredReview(API_VERSION, KIND, response))


def _respond(request: Request, decision: Decision) -> _Response:
    status = None
    if not decision.allowed:
        denied = decision.verdict is not Verdict.ERROR
        code, reason = (403, "Forbidden") if denied else (500, "InternalError")
        status = _Status(code, decision.message, reason)
    return _Response(
        request.uid,
        allowed=decision.allowed,
        audit_annotations=audit_annotations(decision),
        status=status,
        warnings=fit_warnings(decision.warnings) if decision.warnings else [],
    )


def audit_annotations(decision: Decision) -> dict[str, str]:
    """Name the decision in the apiserver's audit log: `<webhook name>/<key>`.

    Keys are qualified names without a prefix; what is empty is left out. The caller reads them too:
    one who is not told all is told neither the profile nor other findings than the message has.
    """
    findings = decision.findings if decision.answered is None else decision.answered
    annotations = {
        "decision": decision.id,
        "verdict": decision.verdict.value,
        "mode": decision.mode,
    }
    if decision.profile and decision.answered is None:
        annotations["profile"] = decision.profile
    if decision.policy_revision:
        annotations["policy"] = decision.policy_revision
    if decision.profiles_revision:
        annotations["profiles"] = decision.profiles_revision
    if findings:
        annotations["findings"] = summarize_findings(findings)
    return annotations


def summarize_findings(findings: list[Finding]) -> str:
    """List `rule` or `rule=privilege`, comma-separated, at most FINDINGS_LENGTH bytes."""
    parts = dict.fromkeys(
        f"{finding.rule}={finding.privilege}" if finding.privilege else finding.rule
        for finding in findings
    )
    kept: list[str] = []
    size = 0
    for part in parts:
        size += len(part.encode(errors="replace")) + 1
        if size > FINDINGS_LENGTH - _MORE_LENGTH:
            kept.append(f"… and {len(parts) - len(kept)} more")
            break
        kept.append(part)
    return ",".join(kept)


def fit_warnings(warnings: Iterable[str]) -> list[str]:
    """Wrap warnings at WARNING_LENGTH and keep WARNINGS_LENGTH in all, saying what was left out.

    Control characters become spaces: kube-apiserver drops a warning that has one, since
    warnings travel in a header.
    """
    lines = [line for warning in warnings for line in _wrap(warning)]
    lines = list(dict.fromkeys(lines))
    size = 0
    for index, line in enumerate(lines):
        size += len(line)
        if size > WARNINGS_LENGTH - _MORE_LENGTH:
            return [*lines[:index], f"… and {len(lines) - index} more lines of warnings"]
    return lines


def _wrap(warning: str) -> list[str]:
    if len(warning) <= WARNING_LENGTH and warning.isprintable():
        return [warning] if warning else []
    # No more than can ever be shown: a warning may quote an object's own long strings.
    shown = warning[: WARNINGS_LENGTH * 2]
    return _WRAPPER.wrap(replace_unprintable(shown, " "))


class _ObjectMetadata(msgspec.Struct, gc=False):
    annotations: dict[str, str | None] | None = None


class _Annotated(msgspec.Struct, gc=False):
    metadata: _ObjectMetadata | None = None


_ANNOTATED = msgspec.json.Decoder(_Annotated)


def annotation_patches(request: Request, annotations: Mapping[str, str]) -> Patches:
    """Return the JSONPatch (RFC 6902) that sets annotations, and takes away the empty ones.

    What is there already is not patched. Without an object, as on DELETE, there is nothing to
    patch (kube-apiserver answers a patch there with a 500).
    """
    if request.object is None:
        return []
    metadata = _read_metadata(request.object)
    there = (metadata and metadata.annotations) or {}
    wanted = {key: value for key, value in annotations.items() if value}
    if metadata is None:
        return [_add("/metadata", {"annotations": wanted})] if wanted else []
    if not there:
        return [_add("/metadata/annotations", wanted)] if wanted else []
    set_ = [_add(_path(key), value) for key, value in wanted.items() if there.get(key) != value]
    gone = [key for key, value in annotations.items() if not value and key in there]
    return [*set_, *({"op": "remove", "path": _path(key)} for key in gone)]


def _path(key: str) -> str:
    """Return the JSON pointer (RFC 6901) of an annotation."""
    return f"/metadata/annotations/{key.replace('~', '~0').replace('/', '~1')}"


def _read_metadata(raw: msgspec.Raw) -> _ObjectMetadata | None:
    try:
        return _ANNOTATED.decode(raw).metadata
    except (msgspec.DecodeError, RecursionError):
        message = "request.object.metadata: must be an object whose annotations are strings"
        raise InvalidReviewError(message) from None


def _add(path: str, value: object) -> Patch:
    return {"op": "add", "path": path, "value": value}
