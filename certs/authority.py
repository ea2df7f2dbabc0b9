"""A certificate authority of our own: ECDSA P-256, one level, leaves for servers and clients.

The profile is RFC 5280's as strict verifiers demand it (CA/Browser Forum names only in
subjectAltName, key identifiers everywhere, extended key usage on every leaf).
"""

import datetime as dt
import enum
import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SKEW: Final = dt.timedelta(minutes=5)
"""How far a certificate's beginning lies back: clocks of a cluster differ by less."""

_PEM: Final = serialization.Encoding.PEM
_BLOCK: Final = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_BROKEN: Final = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""What a certificate or key of bytes that are damaged, or somebody's choice, may raise."""


class Purpose(enum.Enum):
    """What a leaf is for: the one extended key usage that it gets."""

    SERVER = ExtendedKeyUsageOID.SERVER_AUTH
    CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


@dataclass(frozen=True)
class LeafNames:
    """Whom a leaf names, and for what."""

    purpose: Purpose
    hosts: tuple[str, ...] = ()
    """DNS names and IP addresses."""
    uris: tuple[str, ...] = ()

    @property
    def alternative(self) -> list[x509.GeneralName]:
        """The subject alternative names."""
        return [*map(_host, self.hosts), *map(x509.UniformResourceIdentifier, self.uris)]


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class Validity:
    """From when to when."""

    since: dt.datetime
    until: dt.datetime


def validity(now: dt.datetime, lifetime: dt.timedelta) -> Validity:
    """Return the validity of what is made `now`; it begins SKEW ago."""
    return Validity(now - SKEW, now + lifetime)


def make_authority(name: str, valid: Validity) -> KeyPair:
    """Make a CA, its name completed by part of its key's identifier: no two are alike."""
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key()).digest.hex()[:8]
    subject = _name(f"{name} {identifier}")
    certificate = (
        _builder(subject, key.public_key(), subject, key, valid)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(ca=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return _pair(certificate, key)


def issue(authority: KeyPair, names: LeafNames, valid: Validity) -> KeyPair:
    """Make a key, and have the CA certify it, not beyond the CA's own end.

    Raises:
        ValueError: `names` names nobody, or the CA's pair cannot be read.
    """
    if not names.alternative:
        message = "a certificate needs at least one name"
        raise ValueError(message)
    ca = read_certificate(authority.certificate)
    ca_key = _read_key(authority.key)
    key = ec.generate_private_key(ec.SECP256R1())
    valid = Validity(valid.since, min(valid.until, ca.not_valid_after_utc))
    usage = x509.ExtendedKeyUsage([names.purpose.value])
    certificate = (
        _builder(_name("Sallyport"), key.public_key(), ca.subject, ca_key, valid)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(ca=False), critical=True)
        .add_extension(usage, critical=False)
        .add_extension(x509.SubjectAlternativeName(names.alternative), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    return _pair(certificate, key)


def read_certificate(pem: bytes) -> x509.Certificate:
    """Read the first certificate.

    Raises:
        ValueError: there is none that can be used.
    """
    found = read_certificates(pem)
    if not found:
        message = "there is no certificate that can be read"
        raise ValueError(message)
    return found[0]


def read_certificates(pem: bytes) -> Sequence[x509.Certificate]:
    """Read all certificates of a bundle that can be used; none where there is none.

    One that is damaged takes no other with it: what is trusted beside it stays trusted.
    """
    return tuple(one for block in _BLOCK.findall(pem) if (one := _read_whole(block)))


def write_certificate(certificate: x509.Certificate) -> bytes:
    """Return a certificate as PEM."""
    return certificate.public_bytes(_PEM)


def is_pair(pair: KeyPair) -> bool:
    """Return whether both can be read and belong together."""
    try:
        return read_certificate(pair.certificate).public_key() == _read_key(pair.key).public_key()
    except _BROKEN:
        return False


def is_issued_by(leaf: x509.Certificate, authorities: Iterable[x509.Certificate]) -> bool:
    """Return whether one of the CAs signed it. Nothing is said about times."""
    return any(_signed(leaf, ca) for ca in authorities)


def is_for(leaf: x509.Certificate, names: LeafNames) -> bool:
    """Return whether it names at least these, and is for their purpose."""
    try:
        extensions = leaf.extensions
        covered = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        usage = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    return set(names.alternative) <= set(covered) and names.purpose.value in usage


def is_valid(certificate: x509.Certificate, now: dt.datetime) -> bool:
    """Return whether `now` lies within its validity."""
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


def _read_whole(block: bytes) -> x509.Certificate | None:
    """Return a certificate of which each part can be read, which happens at its first use."""
    try:
        one = x509.load_pem_x509_certificate(block)
        one.public_key()
        _ = one.subject, one.issuer, one.extensions
        _ = one.not_valid_before_utc, one.not_valid_after_utc
    except _BROKEN:
        return None
    return one


def _signed(leaf: x509.Certificate, ca: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(ca)
    except (*_BROKEN, InvalidSignature):
        return False
    return True


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _read_key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        message = "the key is not an elliptic curve's"
        raise ValueError(message)  # noqa: TRY004 (as every other key that is of no use)
    return key


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    form, secrecy = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return KeyPair(certificate.public_bytes(_PEM), key.private_bytes(_PEM, form, secrecy))


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    valid: Validity,
) -> x509.CertificateBuilder:
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(valid.since)
        .not_valid_after(valid.until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(identifier, critical=False)
    )


def _key_usage(*, ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not ca,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )
