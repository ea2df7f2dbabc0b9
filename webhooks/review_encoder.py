"""A Decision written as the AdmissionReview v1 that answers a request.

The shape is k8s.io/api/admission/v1 types.go. A denial is code 403, reason Forbidden; a review that
nobody could judge is code 500, reason InternalError. Both refuse; only the first is about the
object.
"""

import textwrap
from collections.abc import Iterable, Mapping

import msgspec

from core.base.errors import InvalidReviewError
from core.base.names import PROBE_ANSWER
from core.base.safe_text import replace_unprintable
from core.decision.decision import Decision, Finding, Patch, Verdict
from core.decision.request import Request
from webhooks.review_decoder import API_VERSION, KIND

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


def encode_probe(request: Request) -> bytes:
    """Return the refusal by which control knows that a gate answered."""
    status = _Status(403, PROBE_ANSWER, "Forbidden")
    return _encode(_Response(request.uid, allowed=False, audit_annotations={}, status=status))


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
