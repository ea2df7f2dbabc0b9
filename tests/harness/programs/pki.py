"""A certificate authority of the tests' own, and the keys that the servers present."""

import datetime as dt
import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

WEBHOOK_CLIENT: Final = "kube-apiserver-webhooks"
"""Whom the certificate names that kube-apiserver shows to webhooks."""

VALIDITY: Final = dt.timedelta(days=2)
_SLACK: Final = dt.timedelta(minutes=5)
_PEM: Final = serialization.Encoding.PEM


@dataclass(frozen=True, slots=True)
class KeyPair:
    """The files of a certificate and its private key, both PEM."""

    certificate: Path
    key: Path


def write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> Path:
    """Write a private key as PEM, readable by its owner alone.

    Not PKCS 8: client-go's `keyutil` reads no public key out of that for an EC key.
    """
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            _PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ),
    )
    return path


def new_key() -> ec.EllipticCurvePrivateKey:
    """Return a new P-256 key."""
    return ec.generate_private_key(ec.SECP256R1())


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


class Authority:
    """A certificate authority whose files lie in one folder."""

    def __init__(self, folder: Path, name: str = "sallyport-tests") -> None:
        """Make the authority's key and write its certificate to `folder`/ca.crt.

        Two that somebody trusts at once need two names: verifiers look issuers up by them.
        """
        self._folder = folder
        self._key = new_key()
        self._subject = _name(name)
        self.certificate_path = folder / "ca.crt"
        self.certificate_path.write_bytes(
            self._sign(
                self._subject,
                self._key,
                x509.BasicConstraints(ca=True, path_length=0),
                [],
            ),
        )

    @property
    def pem(self) -> bytes:
        """The authority's own certificate."""
        return self.certificate_path.read_bytes()

    def issue_loopback_server(self, name: str) -> KeyPair:
        """Issue a serving certificate for 127.0.0.1 and localhost: `name`.crt, `name`.key.

        And for the address of the Service `kubernetes`, by which Pods reach kube-apiserver.
        """
        key = new_key()
        names = [
            x509.IPAddress(ipaddress.IPv4Address("127.0.0.1")),
            x509.IPAddress(ipaddress.IPv4Address("10.0.0.1")),
            x509.DNSName("localhost"),
        ]
        certificate = self._folder / f"{name}.crt"
        constraints = x509.BasicConstraints(ca=False, path_length=None)
        certificate.write_bytes(self._sign(_name(name), key, constraints, names))
        return KeyPair(certificate, write_key(self._folder / f"{name}.key", key))

    def issue_client(self, name: str, uri: str) -> KeyPair:
        """Issue a client certificate that carries a URI: `name`.crt, `name`.key."""
        key = new_key()
        certificate = self._folder / f"{name}.crt"
        constraints = x509.BasicConstraints(ca=False, path_length=None)
        names: list[x509.GeneralName] = [x509.UniformResourceIdentifier(uri)]
        certificate.write_bytes(self._sign(_name(name), key, constraints, names))
        return KeyPair(certificate, write_key(self._folder / f"{name}.key", key))

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        constraints: x509.BasicConstraints,
        alternative_names: list[x509.GeneralName],
    ) -> bytes:
        now = dt.datetime.now(dt.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _SLACK)
            .not_valid_after(now + VALIDITY)
            .add_extension(constraints, critical=True)
        )
        if alternative_names:
            names = x509.SubjectAlternativeName(alternative_names)
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(_PEM)
