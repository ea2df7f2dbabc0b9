"""`crypto.*` of Rego that are digests; none of them keeps a secret (OPA: topdown/crypto.go)."""

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

from policies.builtins import arguments


def digest(algorithm: str) -> Callable[[Any], str]:
    """Make `crypto.md5` and its kind: the digest in hexadecimal."""

    def run(value: Any) -> str:
        content = arguments.text(value, 1).encode()
        return hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()

    return run


def hmac_digest(algorithm: str) -> Callable[[Any, Any], str]:
    """Make `crypto.hmac.md5` and its kind: of a message and a key, in hexadecimal."""

    def run(message: Any, key: Any) -> str:
        content, secret = arguments.text(message, 1).encode(), arguments.text(key, 2).encode()
        return hmac.new(secret, content, algorithm).hexdigest()

    return run


def equal(one: Any, other: Any) -> bool:
    """`crypto.hmac.equal`: whether two digests are the same, in a time that does not tell."""
    return hmac.compare_digest(arguments.text(one, 1).encode(), arguments.text(other, 2).encode())
