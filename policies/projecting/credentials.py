"""The projections of what makes credentials, and of a Pod's binding to its node.

Sources: k8s.io/api/{authentication,certificates,core}/v1 types.go.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from cryptography import x509
from cryptography.x509.oid import NameOID, ObjectIdentifier

from core.decoding import UNREADABLE, unreadable
from policies.projecting.bounds import bound, check_length
from policies.projecting.images import segment
from policies.projecting.volumes import Token
from policies.projection import Object, Projection


class _Struct(msgspec.Struct, frozen=True, rename="camel"):
    """camelCase on the wire."""


class _TokenSpec(_Struct, frozen=True):
    audiences: list[str] | None = None
    expiration_seconds: int | None = None
    bound_object_ref: dict[str, Any] | None = None


class _TokenRequest(_Struct, frozen=True):
    spec: _TokenSpec = _TokenSpec()


class _Binding(_Struct, frozen=True):
    pass


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
    organisations = _names(subject, NameOID.ORGANIZATION_NAME)
    bound(len(organisations), "spec.request", kind)
    common = _names(subject, NameOID.COMMON_NAME)
    for text in (*organisations, *common):
        check_length(text, "spec.request", kind)
    return Object(
        kind,
        name,
        signer="/".join(map(segment, read.spec.signer_name.split("/"))),
        # Go takes the last of several (crypto/x509/pkix, FillFromRDNSequence).
        common_name=common[-1] if common else "",
        organisations=organisations,
    )


def _subject(request: bytes) -> x509.Name | None:
    """Read the subject of a PKCS #10 request; None where there is nothing to be read."""
    try:
        return x509.load_pem_x509_csr(request).subject
    except ValueError:
        return None


def _names(subject: x509.Name | None, identifier: ObjectIdentifier) -> list[str]:
    if subject is None:
        return []
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
    """Give the projection of a TokenRequest, a Binding, a CertificateSigningRequest.

    CertificateApproval is the last one's subresource `approval`. `name` is the one in the URL.

    Raises:
        InvalidObjectError: the object does not have its kind's shape, or holds more than is judged.
    """
    shape, describe = _KINDS[kind]
    try:
        read = msgspec.json.decode(raw, type=shape)
    except UNREADABLE as error:
        raise unreadable(kind, error) from error
    return Projection(containers=[], object=describe(read, name))
