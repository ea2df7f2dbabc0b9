"""Projected volumes, as policies see them: the credentials that they hold."""

from functools import lru_cache
from typing import Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS
from policies.projection.limits import bound

_LONGEST_REMEMBERED: Final = 1024
"""Bytes of a volume that is remembered: what each Pod is given has about 300."""

_MOST_REMEMBERED: Final = 1024


class _Struct(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    """Frozen; absent fields are left out when encoded."""


class Token(_Struct, frozen=True):
    """A service account's token; without an audience it is for the API server."""

    path: str
    audience: str = ""


class Certificate(_Struct, frozen=True):
    """A certificate that a signer gives the Pod."""

    path: str
    signer: str


class _TokenSource(msgspec.Struct):
    audience: str | None = None


class _CertificateSource(msgspec.Struct, rename="camel"):
    signer_name: str = ""


class _Projected(msgspec.Struct, rename="camel"):
    service_account_token: _TokenSource | None = None
    pod_certificate: _CertificateSource | None = None


class ProjectedVolume(msgspec.Struct):
    """What is read of a volume's `projected`."""

    sources: list[_Projected] | None = None


def is_ordinary(raw: msgspec.Raw, *, no_token: bool) -> bool:
    """Say whether a projected volume is what each Pod is given to reach the API server with.

    They are the same but for the name of the volume.
    """
    return not no_token and len(raw) <= _LONGEST_REMEMBERED and _holds_nothing(bytes(raw))


@lru_cache(_MOST_REMEMBERED)
def _holds_nothing(projected: bytes) -> bool:
    try:
        source = msgspec.json.decode(projected, type=ProjectedVolume)
        return credentials_of(source, "", every_token=False) == ([], [])
    except (*DECODE_ERRORS, InvalidObjectError):
        return False  # Whoever reads it to its end says what is wrong, and where.


def credentials_of(
    projected: ProjectedVolume, place: str, *, every_token: bool
) -> tuple[list[Token], list[Certificate]]:
    """Give the credentials of a volume that lies at `place`, but for the token of every Pod's.

    With `every_token` that one too: the Pod says that it wants none, so it is its own.

    Raises:
        InvalidObjectError: there are more than any real Pod has.
    """
    tokens, certificates = [], []
    for index, source in enumerate(projected.sources or ()):
        path = f"{place}.sources[{index}]"
        token = source.service_account_token
        if token and (token.audience or every_token):
            tokens.append(Token(f"{path}.serviceAccountToken.audience", token.audience or ""))
        if source.pod_certificate:
            field = f"{path}.podCertificate.signerName"
            certificates.append(Certificate(field, source.pod_certificate.signer_name))
    bound(len(tokens) + len(certificates), f"{place}.sources")
    return tokens, certificates
