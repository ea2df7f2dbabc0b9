"""The projections of what makes credentials, and of a Pod's binding to its node.

Sources: k8s.io/api/{authentication,certificates,core}/v1 types.go.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from core.base.json_errors import decode_json_as
from core.people.subject import pseudonymous_user
from policies.projection.images import segment
from policies.projection.model import Object, Projection, Token, bound, check_length
from policies.projection.pods import project_annotations

TOKEN_SECRET: Final = "kubernetes.io/service-account-token"  # noqa: S105  A Secret's type.
_ACCOUNT: Final = "kubernetes.io/service-account.name"
"""The annotation that says whose token such a Secret gets (k8s.io/api/core/v1 types.go)."""

_NOBODY_KNOWS: Final = [""]
"""The organisations where the subject cannot be read: a privilege of their own (`%00`)."""


class _Struct(msgspec.Struct, frozen=True, rename="camel"):
    """camelCase on the wire."""


class _TokenSpec(_Struct, frozen=True):
    audiences: list[str] | None = None
    expiration_seconds: int | None = None
    bound_object_ref: dict[str, Any] | None = None


class _TokenRequest(_Struct, frozen=True):
    spec: _TokenSpec = _TokenSpec()


class _Meta(_Struct, frozen=True):
    annotations: dict[str, str] | None = None


class _Secret(_Struct, frozen=True):
    """What is read of a Secret: never its data."""

    type: str = ""
    metadata: _Meta = _Meta()


class _Binding(_Struct, frozen=True):
    metadata: _Meta = _Meta()


class _CertificateSpec(_Struct, frozen=True):
    signer_name: str = ""
    request: bytes = b""


class _Certificate(_Struct, frozen=True):
    spec: _CertificateSpec = _CertificateSpec()


class _PodCertificateSpec(_Struct, frozen=True):
    signer_name: str = ""
    pod_name: str = ""
    service_account_name: str = ""


class _PodCertificate(_Struct, frozen=True):
    spec: _PodCertificateSpec = _PodCertificateSpec()


def _token(read: _TokenRequest, name: str) -> Object:
    kind, audiences = "TokenRequest", read.spec.audiences or []
    bound(len(audiences), "spec.audiences", kind)
    for index, audience in enumerate(audiences):
        check_length(audience, f"spec.audiences[{index}]", kind)
    return Object(
        kind,
        name,
        tokens=[Token(f"spec.audiences[{i}]", each) for i, each in enumerate(audiences)],
        bound=read.spec.bound_object_ref is not None,
        seconds=read.spec.expiration_seconds or 0,
    )


def _secret(read: _Secret, _name: str) -> Object:
    account = (read.metadata.annotations or {}).get(_ACCOUNT, "")
    check_length(account, f"metadata.annotations[{_ACCOUNT}]", "Secret")
    return Object("Secret", account)


def _binding(_: _Binding, name: str) -> Object:
    return Object("Binding", name)


def _request(read: _Certificate, name: str) -> Object:
    return _certificate("CertificateSigningRequest", read, name)


def _approval(read: _Certificate, name: str) -> Object:
    return _certificate("CertificateApproval", read, name)


def _certificate(kind: str, read: _Certificate, name: str) -> Object:
    check_length(read.spec.signer_name, "spec.signerName", kind)
    from policies.projection.certificate_requests import read_subject  # noqa: PLC0415 (slow)

    subject = read_subject(read.spec.request)
    organisations = subject.organisations if subject is not None else _NOBODY_KNOWS
    bound(len(organisations), "spec.request", kind)
    common = subject.common_names if subject is not None else []
    for text in (*organisations, *common):
        check_length(text, "spec.request", kind)
    return Object(
        kind,
        name,
        signer=_signer(read.spec.signer_name),
        # Go takes the last of several (crypto/x509/pkix, FillFromRDNSequence). Projections and
        # privileges are kept, so they name no person.
        common_name=pseudonymous_user(common[-1]) if common else "",
        organisations=organisations,
    )


def _pod_certificate(read: _PodCertificate, _name: str) -> Object:
    kind, spec = "PodCertificateRequest", read.spec
    check_length(spec.signer_name, "spec.signerName", kind)
    check_length(spec.pod_name, "spec.podName", kind)
    check_length(spec.service_account_name, "spec.serviceAccountName", kind)
    return Object(
        kind, spec.service_account_name, pod=spec.pod_name, signer=_signer(spec.signer_name)
    )


def _signer(name: str) -> str:
    """Return a signer's name as segments of a privilege."""
    return "/".join(map(segment, name.split("/")))


_KINDS: Final[Mapping[str, tuple[type[Any], Callable[[Any, str], Object]]]] = {
    "TokenRequest": (_TokenRequest, _token),
    "Secret": (_Secret, _secret),
    "Binding": (_Binding, _binding),
    "CertificateSigningRequest": (_Certificate, _request),
    "CertificateApproval": (_Certificate, _approval),
    "PodCertificateRequest": (_PodCertificate, _pod_certificate),
}


def is_token_secret(raw: bytes | msgspec.Raw) -> bool:
    """Return whether Kubernetes fills a Secret with a service account's token.

    Raises:
        InvalidObjectError: it does not have a Secret's shape.
    """
    return decode_json_as(_Secret, raw, "Secret").type == TOKEN_SECRET


CREDENTIAL_KINDS: Final = frozenset(_KINDS)
"""What `project_credential` reads."""


def project_credential(kind: str, name: str, raw: bytes | msgspec.Raw) -> Projection:
    """Return the projection of a TokenRequest, a Binding, a CertificateSigningRequest.

    CertificateApproval is the last one's subresource `approval`; a Secret is one that Kubernetes
    fills with a service account's token; a PodCertificateRequest asks for a Pod's certificate.
    `name` is the one in the URL.

    Raises:
        InvalidObjectError: the object does not have its kind's shape, or holds more than is judged.
    """
    shape, describe = _KINDS[kind]
    read = decode_json_as(shape, raw, kind)
    # kube-apiserver copies a Binding's annotations onto the Pod (pkg/registry/core/pod/storage).
    annotations = read.metadata.annotations if isinstance(read, _Binding) else None
    return Projection(
        containers=[],
        object=describe(read, name),
        annotations=project_annotations(annotations) if annotations else {},
    )
