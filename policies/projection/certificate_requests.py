"""The subject of a certificate request (PKCS #10), as kube-apiserver reads it."""

import binascii
import re
from dataclasses import dataclass
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID, ObjectIdentifier

_REQUEST: Final = re.compile(
    rb"-----BEGIN CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)"
    rb"-----END CERTIFICATE REQUEST-----\s*"
)
"""One block and nothing beside it, as everyone makes them. Of several blocks, and where a line has
more on it, parsers take different ones: what is judged must be what kube-apiserver reads."""


@dataclass(frozen=True)
class RequestSubject:
    """Whom a request names; both lists in its order."""

    organisations: list[str]
    common_names: list[str]


def read_subject(request: bytes) -> RequestSubject | None:
    """Read the subject of a request (PEM); None where it cannot surely be read."""
    block = _REQUEST.fullmatch(request)
    if block is None:
        return None
    try:
        subject = x509.load_der_x509_csr(binascii.a2b_base64(block[1])).subject
    except ValueError:
        return None
    return RequestSubject(
        _names(subject, NameOID.ORGANIZATION_NAME), _names(subject, NameOID.COMMON_NAME)
    )


def _names(subject: x509.Name, identifier: ObjectIdentifier) -> list[str]:
    values = (attribute.value for attribute in subject.get_attributes_for_oid(identifier))
    return [value if isinstance(value, str) else value.decode(errors="replace") for value in values]
