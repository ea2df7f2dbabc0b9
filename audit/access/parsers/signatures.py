"""With what a record says that a request proved its right. Pure."""

import re
from typing import Final

from audit.access.parsers.storage_fields import Fields
from core.weights.access import SignedBy

_TYPES: Final = {
    "oauth": SignedBy.OAUTH,
    "bearer": SignedBy.OAUTH,
    "accountkey": SignedBy.ACCOUNT_KEY,
    "sharedkey": SignedBy.ACCOUNT_KEY,
    "authenticated": SignedBy.ACCOUNT_KEY,
    "sas": SignedBy.SAS,
    "saskey": SignedBy.SAS,
    "delegationsas": SignedBy.DELEGATION_SAS,
    "userdelegationsas": SignedBy.DELEGATION_SAS,
    "sasuserdelegation": SignedBy.DELEGATION_SAS,
    "anonymous": SignedBy.ANONYMOUS,
    "kerberos": SignedBy.KERBEROS,
}
"""`identity.type` in lower case and without what stands between its words. `authenticated` and
`bearer` are those of Storage Analytics."""

_BETWEEN: Final = re.compile(r"[^a-z0-9]")

_HASHES: Final = re.compile(r"(key[12]|SasSignature)\(([0-9A-Za-z]{8,128})\)", re.IGNORECASE)

_FULL: Final = 32
_SHORT: Final = 16
_ID: Final = 36


def signed_by(fields: Fields, query: dict[str, str]) -> SignedBy:
    """Say what signed a request.

    A SAS whose query names a delegator (`skoid` is part of what is signed) is a delegation SAS,
    unless its hash says that an account's key signed it. Older records have no type: the word of
    success tells it.
    """
    word = fields.identity.type
    kind = _TYPES.get(word.lower()) or _TYPES.get(_BETWEEN.sub("", word.lower()))
    if kind is None:
        text = f"{fields.properties.metric_response_type or fields.status_text}"
        kind = SignedBy.UNKNOWN
        if not word and text.startswith("Anonymous"):
            kind = SignedBy.ANONYMOUS
        elif not word and text.upper().startswith("SAS"):
            kind = SignedBy.SAS
        elif not word and text.startswith("OAuth"):
            kind = SignedBy.OAUTH
    if kind is SignedBy.SAS and "delegator" in query and not _keyed(fields.identity.token_hash):
        return SignedBy.DELEGATION_SAS
    return kind


def signer(kind: SignedBy, query: dict[str, str], principal: str) -> str:
    """Name who had the key of a delegation SAS issued: nobody proved to be them now."""
    if kind is not SignedBy.DELEGATION_SAS:
        return ""
    return (query.get("delegator") or principal).lower()[:_ID]


def credential(token_hash: str) -> str:
    """Shorten `tokenHash` to what tells tokens, keys and SAS apart, lower case.

    Of a token its first 32 digits; of a key `key1:` and 16; of a SAS 16 of its own, `:key1:`, and
    16 of the key that signed it.
    """
    if "(" not in token_hash:
        return token_hash[:_FULL].lower()
    found = {name.lower(): digest.lower()[:_SHORT] for name, digest in _HASHES.findall(token_hash)}
    own = found.pop("sassignature", "")
    keys = [f"{name}:{digest}" for name, digest in found.items()]
    return ":".join([own, *keys] if own else keys)


def _keyed(token_hash: str) -> bool:
    return token_hash[:4].lower() in {"key1", "key2"}
