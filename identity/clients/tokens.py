"""Signs in to Entra ID as an application, and gives access tokens.

Entra's own texts of a refusal hold names, and are not quoted.
"""

import asyncio
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msal  # type: ignore[import-untyped]
import requests

from core.base.errors import EntraError, SettingsError
from identity.entra.endpoints import AUTHORITY

GRAPH_SCOPE: Final = "/.default"
"""Behind a site: all that the application may do there."""

MOST_BYTES: Final = 64 * 1024
"""Of a file with a token, a certificate or a secret; and of an answer of the token endpoint."""

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


def explain_refusal(answer: Mapping[str, Any]) -> str:
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


def require_site(setting: str, url: str) -> None:
    """Refuse what is no site that a token may be sent to.

    Raises:
        SettingsError: naming the setting and the fix.
    """
    site = urlsplit(url)
    if site.scheme != "https" or not site.hostname or site.path.strip("/"):
        raise SettingsError(f"{setting}: must be https://HOST, without a path")


class CredentialKind(Enum):
    """How an application proves who it is."""

    FEDERATED = "federated"
    """A token of the cluster's, in a file that is renewed: there is no long-lived key."""
    CERTIFICATE = "certificate"
    MANAGED_IDENTITY = "managed-identity"
    SECRET = "secret"  # noqa: S105  A word, not one.


@dataclass(frozen=True, slots=True)
class SignIn:
    """As whom, and where."""

    tenant: str
    client_id: str
    kind: CredentialKind = CredentialKind.FEDERATED
    file: Path | None = None
    """With the token; with the certificate and its key, both PEM; with the secret."""
    allow_secret: bool = False
    authority: str = AUTHORITY
    trust: Path | None = None
    """CA of the authority (PEM); the public ones where it is None."""
    timeout_s: float = 10.0

    def __post_init__(self) -> None:
        """Refuse what cannot work, or must not.

        Raises:
            SettingsError: naming the setting and the fix.
        """
        require_site("identity.authority", self.authority)
        if self.kind is CredentialKind.SECRET and not self.allow_secret:
            raise SettingsError(
                "identity.credential: a secret is a long-lived key: use federated, or allow it "
                "with identity.allow_secret"
            )
        if self.kind is not CredentialKind.MANAGED_IDENTITY and self.file is None:
            raise SettingsError(f"identity.credential: {self.kind.value} needs its file")


class _Application(Protocol):
    """The part of msal that is used."""

    def acquire_token_for_client(self, **asked: Any) -> Mapping[str, Any]:
        """Return a token from memory, or ask for one."""


class Tokens:
    """Gives tokens; msal keeps those that it got until they are about to expire.

    msal keeps refusals, too: those of status 400 for 60 seconds, 429 and 5xx for 5 seconds or what
    Retry-After says. Here they are forgotten at once: who asks again has waited.
    """

    def __init__(self, sign_in: SignIn) -> None:
        for name in ("msal", "urllib3"):  # They log addresses and parts of answers.
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._sign_in = sign_in
        self._client = _Client(sign_in)
        self._lock = threading.Lock()
        self._application: _Application | None = None
        self._changed = 0

    async def get(self, scope: str) -> str:
        """Return a token for a scope, `https://SITE/.default`.

        Raises:
            EntraError: there is none; the message names what to mend.
        """
        return await asyncio.to_thread(self._get, scope)

    def distrust(self) -> None:
        """Forget all tokens: one was refused, or what an application may do has changed."""
        self._application = None

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _get(self, scope: str) -> str:
        with self._lock:
            try:
                found = self._ask(scope)
            except EntraError:
                raise
            except requests.exceptions.SSLError as error:
                raise EntraError(
                    "the certificate of identity.authority is not trusted; see identity.trust",
                    "unreachable",
                ) from error
            except requests.exceptions.RequestException as error:
                raise EntraError(
                    f"identity.authority cannot be reached ({type(error).__name__})", "unreachable"
                ) from error
            except Exception as error:
                raise EntraError(
                    f"no token could be had from identity.authority ({type(error).__name__}); "
                    "check identity.authority and identity.tenant",
                    "token",
                ) from error
        token = found.get("access_token")
        if isinstance(token, str) and token:
            return token
        self.distrust()
        raise EntraError(explain_refusal(found), "token")

    def _ask(self, scope: str) -> Mapping[str, Any]:
        application = self._current()
        if self._sign_in.kind is CredentialKind.MANAGED_IDENTITY:
            return application.acquire_token_for_client(resource=scope.removesuffix(GRAPH_SCOPE))
        return application.acquire_token_for_client(scopes=[scope])

    def _current(self) -> _Application:
        """Return the application, made anew where its certificate or secret is another."""
        application, changed = self._application, self._changed_at()
        if application is None or changed != self._changed:
            application = self._made()
            self._application, self._changed = application, changed
        return application

    def _changed_at(self) -> int:
        if self._sign_in.kind not in {CredentialKind.CERTIFICATE, CredentialKind.SECRET}:
            return 0  # A token is read each time that it is sent.
        assert self._sign_in.file is not None  # noqa: S101  SignIn demands it.
        try:
            return self._sign_in.file.stat().st_mtime_ns
        except OSError as error:
            raise _unreadable(self._sign_in.kind, error) from error

    def _made(self) -> _Application:
        sign_in = self._sign_in
        made: _Application
        if sign_in.kind is CredentialKind.MANAGED_IDENTITY:
            identity = (
                msal.UserAssignedManagedIdentity(client_id=sign_in.client_id)
                if sign_in.client_id
                else msal.SystemAssignedManagedIdentity()
            )
            made = msal.ManagedIdentityClient(identity, http_client=self._client.session)
            return made
        made = msal.ConfidentialClientApplication(
            sign_in.client_id,
            client_credential=self._credential(),
            authority=f"{sign_in.authority.rstrip('/')}/{sign_in.tenant}",
            instance_discovery=False,  # What is configured is trusted; nobody else is asked.
            http_client=self._client,
        )
        return made

    def _credential(self) -> dict[str, Any] | str:
        if self._sign_in.kind is CredentialKind.FEDERATED:
            return {"client_assertion": self._content}
        content = self._content()
        if self._sign_in.kind is CredentialKind.SECRET:
            return content
        return {"private_key": content, "public_certificate": content}

    def _content(self) -> str:
        """Read the file, which may have been renewed."""
        assert self._sign_in.file is not None  # noqa: S101  SignIn demands it.
        try:
            with self._sign_in.file.open(encoding="utf-8") as file:
                content = file.read(MOST_BYTES).strip()
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(self._sign_in.kind, error) from error
        if not content:
            raise EntraError(
                f"the file of identity.credential ({self._sign_in.kind.value}) is empty", "token"
            )
        return content


def _unreadable(kind: CredentialKind, error: Exception) -> EntraError:
    return EntraError(
        f"the file of identity.credential ({kind.value}) cannot be read ({type(error).__name__})",
        "token",
    )


class _Client:
    """What msal asks through: only https, only the authority, no redirects, no proxies."""

    def __init__(self, sign_in: SignIn) -> None:
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = str(sign_in.trust) if sign_in.trust else True
        self._site = sign_in.authority.rstrip("/").casefold()
        self._timeout_s = sign_in.timeout_s

    def get(self, url: str, **asked: Any) -> requests.Response:
        """Ask with GET."""
        return self._ask("GET", url, asked)

    def post(self, url: str, **asked: Any) -> requests.Response:
        """Ask with POST."""
        return self._ask("POST", url, asked)

    def close(self) -> None:
        """Close connections."""
        self.session.close()

    def _ask(self, method: str, url: str, asked: dict[str, Any]) -> requests.Response:
        if not url.casefold().startswith(f"{self._site}/"):
            raise EntraError(
                "identity.authority points to a token endpoint on another host: nothing was sent",
                "token",
            )
        asked |= {"timeout": self._timeout_s, "allow_redirects": False}
        response = self.session.request(method, url, **asked)
        if response.is_redirect or len(response.content) > MOST_BYTES:
            raise EntraError("identity.authority does not answer as Entra ID does", "token")
        return response
