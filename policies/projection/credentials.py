"""The projections of what makes credentials, and of a Pod's binding to its node.

Sources: k8s.io/api/{authentication,certificates,core}/v1 types.go.
"""

import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from cryptography import x509
from cryptography.x509.oid import NameOID, ObjectIdentifier

from core.base.json_errors import DECODE_ERRORS, decode_error
from core.people.subject import pseudonymous_user
from policies.projection.images import segment
from policies.projection.limits import bound, check_length
from policies.projection.model import Object, Projection
from policies.projection.pods import project_annotations
from policies.projection.volumes import Token

_REQUEST: Final = re.compile(
    rb"-----BEGIN CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)"
    rb"-----END CERTIFICATE REQUEST-----\s*"
)
"""One block and nothing beside it, as everyone makes them. Of several blocks, and where a line has
more on it, parsers take different ones: what is judged must be what kube-apiserver reads."""

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


class _Binding(_Struct, frozen=True):
    metadata: _Meta = _Meta()


class _CertificateSpec(_Struct, frozen=True):
    signer_name: str = ""
    request: bytes = b""


class _Certificate(_Struct, frozen=True):
    spec: _CertificateSpec = _CertificateSpec()


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


def _binding(_: _Binding, name: str) -> Object:
    return Object("Binding", name)


def _request(read: _Certificate, name: str) -> Object:
    return _certificate("CertificateSigningRequest", read, name)


def _approval(read: _Certificate, name: str) -> Object:
    return _certificate("CertificateApproval", read, name)


def _certificate(kind: str, read: _Certificate, name: str) -> Object:
    check_length(read.spec.signer_name, "spec.signerName", kind)
    subject = _subject(read.spec.request)
    organisations = (
        _names(subject, NameOID.ORGANIZATION_NAME) if subject is not None else _NOBODY_KNOWS
    )
    bound(len(organisations), "spec.request", kind)
    common = _names(subject, NameOID.COMMON_NAME) if subject is not None else []
    for text in (*organisations, *common):
        check_length(text, "spec.request", kind)
    return Object(
        kind,
        name,
        signer="/".join(map(segment, read.spec.signer_name.split("/"))),
        # Go takes the last of several (crypto/x509/pkix, FillFromRDNSequence). Projections and
        # privileges are kept, so they name no person.
        common_name=pseudonymous_user(common[-1]) if common else "",
        organisations=organisations,
    )


def _subject(request: bytes) -> x509.Name | None:
    """Read the subject of a PKCS #10 request; None where it cannot surely be read."""
    block = _REQUEST.fullmatch(request)
    if block is None:
        return None
    try:
        return x509.load_der_x509_csr(binascii.a2b_base64(block[1])).subject
    except ValueError:
        return None


def _names(subject: x509.Name, identifier: ObjectIdentifier) -> list[str]:
    values = (attribute.value for attribute in subject.get_attributes_for_oid(identifier))
    return [value if isinstance(value, str) else value.decode(errors="replace") for value in values]


_KINDS: Final[Mapping[str, tuple[type[Any], Callable[[Any, str], Object]]]] = {
    "TokenRequest": (_TokenRequest, _token),
    "Binding": (_Binding, _binding),
    "CertificateSigningRequest": (_Certificate, _request),
    "CertificateApproval": (_Certificate, _approval),
}


CREDENTIAL_KINDS: Final = frozenset(_KINDS)
"""What `project_credential` reads."""


def project_credential(kind: str, name: str, raw: bytes | msgspec.Raw) -> Projection:
    """Return the projection of a TokenRequest, a Binding, a CertificateSigningRequest.

    CertificateApproval is the last one's subresource `approval`. `name` is the one in the URL.

    Raises:
        InvalidObjectError: the object does not have its kind's shape, or holds more than is judged.
    """
    shape, describe = _KINDS[kind]
    try:
        read = msgspec.json.decode(raw, type=shape)
    except DECODE_ERRORS as error:
        raise decode_error(kind, error) from error
    # kube-apiserver copies a Binding's annotations onto the Pod (pkg/registry/core/pod/storage).
    annotations = read.metadata.annotations if isinstance(read, _Binding) else None
    return Projection(
        containers=[],
        object=describe(read, name),
        annotations=project_annotations(annotations) if annotations else {},
    )
