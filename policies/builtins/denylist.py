"""Built-in functions of OPA that no policy may call here: why, and what to use instead.

A bundle that calls one is refused when it is loaded (policies/engine/embedded_engine.py).
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Refusal(NamedTuple):
    """Why a function is not supplied."""

    why: str
    instead: str = ""
    """What a policy can do in its place; empty where there is nothing."""


_OUTSIDE: Final = "reaches outside: a policy sees its input and nothing else"
_CHANCE: Final = "gives another answer each time"
_SECRETS: Final = "works with keys, which policies never see"
_INEXACT: Final = "no library for Python gives OPA's own answers for every argument"

_GLOBS: Final = "glob.match for a text and a pattern"
_KEYS: Final = (
    "crypto.parse_private_keys",
    "crypto.x509.parse_keypair",
    "crypto.x509.parse_rsa_private_key",
    "io.jwt.decode_verify",
    "io.jwt.encode_sign",
    "io.jwt.encode_sign_raw",
    *(
        f"io.jwt.verify_{each}{bits}"
        for each in ("es", "hs", "ps", "rs")
        for bits in (256, 384, 512)
    ),
    "io.jwt.verify_eddsa",
    "providers.aws.sign_req",
)
_CERTIFICATES: Final = (
    "crypto.x509.parse_and_verify_certificates",
    "crypto.x509.parse_and_verify_certificates_with_options",
    "crypto.x509.parse_certificate_request",
    "crypto.x509.parse_certificates",
)
_GRAPHQL: Final = ("is_valid", "parse", "parse_and_verify", "parse_query", "parse_schema")

REFUSED: Final[Mapping[str, Refusal]] = (
    {name: Refusal(_SECRETS) for name in _KEYS}
    | {name: Refusal(_INEXACT) for name in _CERTIFICATES}
    | {f"graphql.{each}": Refusal(_INEXACT) for each in (*_GRAPHQL, "schema_is_valid")}
    | {
        "http.send": Refusal(_OUTSIDE, "a parameter of the rule, set in the file of --rules"),
        "io.jwt.decode": Refusal(
            _INEXACT, "split at '.', then base64url.decode and json.unmarshal"
        ),
        "json.match_schema": Refusal(_INEXACT, "conditions on the fields"),
        "json.verify_schema": Refusal(_INEXACT, "conditions on the fields"),
        "net.lookup_ip_addr": Refusal(_OUTSIDE, "net.cidr_contains for addresses"),
        "opa.runtime": Refusal(_OUTSIDE, "a parameter of the rule, set in the file of --rules"),
        "rand.intn": Refusal(_CHANCE, "crypto.sha256 of a name, where some of many are meant"),
        "regex.globs_match": Refusal(_INEXACT, _GLOBS),
        "rego.parse_module": Refusal("reads Rego: a policy is compiled when it is built"),
        "strings.render_template": Refusal(_INEXACT, 'sprintf, or $"…{value}…"'),
        "time.now_ns": Refusal(
            "gives another answer each time, and answers are remembered",
            "expiresAt of a PolicyException for what ends at a time",
        ),
        "trace": Refusal("there is no trace to write to", "print, which the build takes out"),
        "uri.is_valid": Refusal(_INEXACT, "regex.match"),
        "uri.parse": Refusal(_INEXACT, "regex.find_all_string_submatch_n"),
        "uuid.rfc4122": Refusal(_CHANCE, "crypto.sha256 of what it should name"),
        "yaml.is_valid": Refusal(_INEXACT, "json.is_valid, of a field that holds JSON"),
        "yaml.marshal": Refusal(_INEXACT, "json.marshal"),
        "yaml.unmarshal": Refusal(_INEXACT, "json.unmarshal, of a field that holds JSON"),
    }
)
"""By Rego name: every function of OPA 1.22 that is neither compiled in nor supplied."""

WRITTEN_AWAY: Final = frozenset(
    {
        "assign",
        "eq",
        "internal.print",
        "internal.test_case",
        "print",
        "rego.metadata.chain",
        "rego.metadata.rule",
    }
)
"""What OPA's compiler itself turns into something else, or leaves out of a bundle."""


def hint(name: str) -> str:
    """Say what to use in place of a function; empty where nothing is."""
    instead = REFUSED[name].instead if name in REFUSED else ""
    return f"; instead: {instead}" if instead else ""
