"""What Entra's refusals of a token mean. Pure; Entra's own texts hold names, and are not quoted."""

from collections.abc import Mapping
from typing import Any, Final

_FIXES: Final = {
    50049: "identity.authority does not know this cloud; national clouds have their own",
    53003: "a Conditional Access policy forbids it; exclude the application",
    70021: "no federated credential of the application matches the token's issuer and subject",
    90002: "there is no such tenant; check identity.tenant and identity.authority",
    500011: "the tenant has no service principal for what is asked; check identity.graph",
    700016: "the tenant does not have the application; check identity.client_id",
    700024: "the token or assertion has expired or is not valid yet; check this machine's clock, "
    "and that the token file is renewed",
    700027: "the certificate is not registered with the application; upload it",
    700211: "no federated credential has the token's issuer; it must be the cluster's OIDC issuer",
    700212: "the token's audience must be api://AzureADTokenExchange",
    700213: "no federated credential has the token's subject; it must be the service account's",
    7000112: "the application is disabled",
    7000215: "the client secret is wrong",
    7000222: "the client secret has expired; use federated, which needs none",
    7000229: "the tenant has no service principal for the application; grant it consent",
}
"""By AADSTS code (Microsoft Entra authentication and authorization error codes)."""

_WORDS: Final = {
    "invalid_client": "the application's credential was not accepted",
    "unauthorized_client": "the application may not sign in to this tenant",
    "invalid_scope": "what is asked for is unknown; check identity.graph",
    "temporarily_unavailable": "Entra ID is not available for now",
}
"""By OAuth 2.0 error (RFC 6749, 5.2), where no code is known."""

NO_REASON: Final = "it gave no reason that is known"


def explained(answer: Mapping[str, Any]) -> str:
    """Say why there is no token, from what msal gives: error codes alone count.

    Args:
        answer: `error` and `error_codes` are looked at; `error_description` holds names.
    """
    codes = answer.get("error_codes")
    known = codes if isinstance(codes, list) else []
    code = next((each for each in known if isinstance(each, int) and each in _FIXES), None)
    if code is not None:
        return f"Entra ID refused a token (AADSTS{code}): {_FIXES[code]}"
    other = next((each for each in known if isinstance(each, int)), None)
    named = f" (AADSTS{other})" if other is not None else ""
    word = answer.get("error")
    fix = _WORDS.get(word, NO_REASON) if isinstance(word, str) else NO_REASON
    return f"Entra ID refused a token{named}: {fix}"
