"""Finds calls of built-in functions in a bundle; refuses policies that look outside their input."""

import re
from typing import Final

from core.base.errors import BundleRefusedError, PolicyError
from policies.bundle.format import Bundle
from policies.engine.wasm import Code, Instance

NEVER: Final = frozenset(
    {
        # They ask others, or follow references in a schema to others.
        "http.send",
        "json.match_schema",
        "json.verify_schema",
        "net.lookup_ip_addr",
        # They depend on the clock.
        "crypto.x509.parse_and_verify_certificates",
        "crypto.x509.parse_and_verify_certificates_with_options",
        "io.jwt.decode_verify",
        "time.now_ns",
        # On chance.
        "io.jwt.encode_sign",
        "io.jwt.encode_sign_raw",
        "rand.intn",
        "uuid.rfc4122",
        # On the machine, or they write to its log.
        "opa.runtime",
        "trace",
    }
)
"""What the same input need not answer the same way twice, or what leaves a trace elsewhere:
`nondeterministic` in `opa capabilities`, and those that read a clock without being marked."""

_MEMORY_BYTES: Final = 64 * 1024 * 1024


def place_of(bundle: Bundle, builtin: str) -> str:
    """Return file and line of the first call, or say that they are not known."""
    call = re.compile(rf"(?<![\w.]){re.escape(builtin)}\(")
    for path, text in sorted(bundle.sources.items()):
        for number, line in enumerate(text.splitlines(), 1):
            if call.search(line.split("#")[0]):
                return f"{path}:{number}"
    return "place unknown: the bundle holds no source"


def refuse_outside(bundle: Bundle) -> None:
    """Refuse a bundle that calls any of `NEVER`; what it calls, OPA's compiler has written into it.

    Raises:
        BundleRefusedError: it does, or its policy cannot be read; the message has each place.
    """
    code = None
    try:
        code = Code(bundle.wasm)
        instance = Instance(code, _MEMORY_BYTES, {})
    except PolicyError as error:
        message = f"the bundle's policy.wasm cannot be loaded: {error}"
        raise BundleRefusedError(message) from error
    finally:
        if code is not None:
            code.close()
    called = sorted(instance.required.keys() & NEVER)
    instance.close()
    if called:
        places = "; ".join(f"{name} ({place_of(bundle, name)})" for name in called)
        raise BundleRefusedError(
            f"the bundle calls what policies may never call: {places}. A decision depends on its "
            "input alone: take the call out"
        )
