"""The digest of an object's `spec`, alike in a review and in what lives.

kube-apiserver writes both with one encoder (k8s.io/apimachinery, pkg/runtime/serializer/json), so
the bytes are the same as long as nobody changes the `spec`.
"""

import hashlib
from typing import Final

import msgspec

MOST_SPEC: Final = 64 * 1024
"""Bytes; of a larger `spec` no digest is made: it would take longer than a review may."""


class _Object(msgspec.Struct, gc=False):
    spec: msgspec.Raw = msgspec.Raw()


_DECODER: Final = msgspec.json.Decoder(_Object)


def spec_digest(content: bytes | msgspec.Raw) -> str:
    """Return `sha256:` and the digest of the `spec` of an object's JSON.

    Empty where it has none, one that is too large, or where the content is no object.
    """
    if len(memoryview(content)) > 2 * MOST_SPEC:
        return ""
    try:
        return digest_of_spec(_DECODER.decode(content).spec)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


def digest_of_spec(spec: msgspec.Raw) -> str:
    """Return the same of a `spec` as it stands in an object's JSON."""
    view = memoryview(spec)
    return f"sha256:{hashlib.sha256(view).hexdigest()}" if 0 < len(view) <= MOST_SPEC else ""
