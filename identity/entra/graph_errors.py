"""What Graph's refusals mean, and what to mend. Pure; its own texts are looked at, never quoted."""

import re
from http import HTTPStatus
from typing import Final

import msgspec

from core.base.errors import EntraError
from identity.entra.graph_requests import Resource

_UNLICENSED: Final = (
    "not licensed",
    "premium license",
    "requestfromnonpremiumtenant",
    "aadpremiumlicenserequired",
)
"""In code or message of a 403: "Your tenant is not licensed for this feature." and the like."""

_CODE: Final = re.compile(r"[A-Za-z][A-Za-z_]{0,79}")


class _Error(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Refusal(msgspec.Struct):
    error: _Error


RESTING: Final = frozenset({"permission", "licence", "rejected", "foreign-link", "too-large"})
"""Kinds that waiting does not mend: the resource rests, and the others go on."""


def refusal(status: int, body: bytes, resource: Resource, retry_after_s: float = 0.0) -> EntraError:
    """Give the error for an answer that is not 200; its `kind` says of what sort it is."""
    code, told = _read(body)
    named = f" ({code})" if code else ""
    asked = f"Graph, {resource.value}"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        text = "too many requests: other applications of the tenant may ask as well"
        return EntraError(f"{asked}: {text}", "throttled", retry_after_s)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return EntraError(f"{asked}: HTTP {status}{named}", "server-error", retry_after_s)
    if status == HTTPStatus.UNAUTHORIZED:
        text = f"the token is not accepted{named}; check identity.graph and identity.tenant"
        return EntraError(f"{asked}: {text}", "unauthorized")
    if status == HTTPStatus.FORBIDDEN:
        return _forbidden(asked, told, named, resource)
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        text = f"HTTP {status} to another address, which is not followed; check identity.graph"
        return EntraError(f"{asked}: {text}", "redirected")
    return EntraError(f"{asked}: HTTP {status}{named}", "rejected")


def _forbidden(asked: str, told: str, named: str, resource: Resource) -> EntraError:
    if resource.licence and any(each in told for each in _UNLICENSED):
        text = f"the tenant lacks the licence {resource.licence}"
        return EntraError(f"{asked}: {text}: nobody is assessed", "licence")
    text = f"the application lacks the permission {resource.permission}{named}"
    return EntraError(f"{asked}: {text}; grant it, with an admin's consent", "permission")


def _read(body: bytes) -> tuple[str, str]:
    """Give the code, where it is a word, and all that was told, in lower case, to look into."""
    try:
        error = msgspec.json.decode(body, type=_Refusal).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return "", ""
    code = error.code if _CODE.fullmatch(error.code) else ""
    return code, f"{error.code} {error.message}".lower()
