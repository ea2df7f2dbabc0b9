"""The fake Entra's token endpoint: client assertions, certificates, secrets; AADSTS errors."""

import datetime as dt
import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

AUDIENCE: Final = "api://AzureADTokenExchange"
ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ISSUER: Final = "https://oidc.example/cluster"
SUBJECT: Final = "system:serviceaccount:sallyport:sallyport-control"


class RefusedTokenError(Exception):
    """Entra refuses: its OAuth error and AADSTS code."""

    def __init__(self, error: str, code: int) -> None:
        self.error = error
        self.code = code
        super().__init__(error)


@dataclass
class Issued:
    """What an access token says."""

    scope: str
    until: float
    roles: frozenset[str]


@dataclass
class SignInDesk:
    """One application of one tenant, with a federated credential, a certificate, and a secret."""

    tenant: str
    client_id: str
    folder: Path
    token_lifetime_s: float = 3600.0
    secret: str = field(default_factory=lambda: f"canary-secret-{secrets.token_hex(8)}")
    subject: str = SUBJECT
    """Which the federated credential names."""
    issued: dict[str, Issued] = field(default_factory=dict)
    _key: rsa.RSAPrivateKey = field(
        default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048)
    )
    _thumbprint: str = ""

    @property
    def token_file(self) -> Path:
        """Where the cluster's token lies, as a kubelet projects it."""
        return self.folder / "azure-identity-token"

    @property
    def certificate_file(self) -> Path:
        """Certificate and key in one PEM file."""
        return self.folder / "application.pem"

    @property
    def secret_file(self) -> Path:
        """The client secret."""
        return self.folder / "client-secret"

    def prepare(self, now: float) -> None:
        """Write the files."""
        self.project_token(now)
        self.secret_file.write_text(self.secret)
        self.certificate_file.write_bytes(self._certificate(now))

    def project_token(self, now: float, lifetime_s: float = 3600.0, **claims: Any) -> str:
        """Write a token of the cluster's; `claims` replace its own."""
        content = {
            "iss": ISSUER,
            "sub": SUBJECT,
            "aud": [AUDIENCE],
            "iat": int(now),
            "exp": int(now + lifetime_s),
            "jti": secrets.token_hex(8),
            **claims,
        }
        token = jwt.encode(content, self._key, algorithm="RS256", headers={"kid": "cluster"})
        self.token_file.write_text(token)
        return token

    def answer(
        self, form: Mapping[str, str], endpoint: str, now: float, roles: frozenset[str]
    ) -> dict[str, Any]:
        """Return a token.

        Raises:
            RefusedTokenError: who asks is not the application, or asks for what there is not.
        """
        if form.get("grant_type") != "client_credentials":
            raise RefusedTokenError("unsupported_grant_type", 70003)
        if form.get("client_id") != self.client_id:
            raise RefusedTokenError("unauthorized_client", 700016)
        scope = form.get("scope", "").split()[0] if form.get("scope") else ""
        if not scope.endswith("/.default"):
            raise RefusedTokenError("invalid_scope", 1002012)
        self._authenticate(form, endpoint, now)
        token = f"canary-token-{secrets.token_hex(24)}"
        self.issued[token] = Issued(scope, now + self.token_lifetime_s, roles)
        lifetime = int(self.token_lifetime_s)
        return {"token_type": "Bearer", "expires_in": lifetime, "access_token": token}

    def _authenticate(self, form: Mapping[str, str], endpoint: str, now: float) -> None:
        if "client_secret" in form:
            if not secrets.compare_digest(form["client_secret"], self.secret):
                raise RefusedTokenError("invalid_client", 7000215)
            return
        assertion = form.get("client_assertion", "")
        if form.get("client_assertion_type") != ASSERTION or not assertion:
            raise RefusedTokenError("invalid_request", 900144)
        try:
            header = jwt.get_unverified_header(assertion)
        except jwt.PyJWTError as error:
            raise RefusedTokenError("invalid_client", 50027) from error
        if header.get("x5t#S256"):
            self._check_certificate(header, assertion, endpoint, now)
        else:
            self._check_federated(assertion, now)

    def _check_federated(self, assertion: str, now: float) -> None:
        claims = self._verified(assertion, "RS256")
        if claims.get("iss") != ISSUER:
            raise RefusedTokenError("invalid_client", 700211)
        if claims.get("aud") not in (AUDIENCE, [AUDIENCE]):
            raise RefusedTokenError("invalid_client", 700212)
        if claims.get("sub") != self.subject:
            raise RefusedTokenError("invalid_client", 700213)
        if not now < claims.get("exp", 0):
            raise RefusedTokenError("invalid_client", 700024)

    def _check_certificate(
        self, header: Mapping[str, Any], assertion: str, endpoint: str, now: float
    ) -> None:
        if header["x5t#S256"].rstrip("=") != self._thumbprint:
            raise RefusedTokenError("invalid_client", 700027)
        claims = self._verified(assertion, "PS256")
        named = {claims.get("iss"), claims.get("sub")}
        if named != {self.client_id} or claims.get("aud") != endpoint:
            raise RefusedTokenError("invalid_client", 50027)
        if not claims.get("nbf", now) - 300 <= now < claims.get("exp", 0):
            raise RefusedTokenError("invalid_client", 700024)

    def _verified(self, assertion: str, algorithm: str) -> dict[str, Any]:
        """Check the signature alone: the clock is the fake's own."""
        unchecked = {"verify_exp": False, "verify_nbf": False, "verify_iat": False}
        options: Any = {**unchecked, "verify_aud": False}
        try:
            return jwt.decode(
                assertion, self._key.public_key(), algorithms=[algorithm], options=options
            )
        except jwt.PyJWTError as error:
            raise RefusedTokenError("invalid_client", 700027) from error

    def _certificate(self, now: float) -> bytes:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sallyport-control")])
        at = dt.datetime.fromtimestamp(now, dt.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(at - dt.timedelta(days=1))
            .not_valid_after(at + dt.timedelta(days=2))
            .sign(self._key, hashes.SHA256())
        )
        der = certificate.public_bytes(serialization.Encoding.DER)
        digest = hashlib.sha256(der).digest()
        self._thumbprint = urlsafe_b64encode(digest).decode().rstrip("=")
        pem = serialization.Encoding.PEM
        key = self._key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return certificate.public_bytes(pem) + key


def refusal_of(error: RefusedTokenError, tenant: str, now: float) -> dict[str, Any]:
    """Return the body of a refusal; as Entra's, its text holds names."""
    text = f"AADSTS{error.code}: canary text of Entra's, for Canary Organisation ({tenant})."
    return {
        "error": error.error,
        "error_description": f"{text} Trace ID: {secrets.token_hex(8)}",
        "error_codes": [error.code],
        "timestamp": dt.datetime.fromtimestamp(now, dt.UTC).isoformat(),
        "trace_id": secrets.token_hex(8),
        "correlation_id": secrets.token_hex(8),
    }
