"""A CA and a serving pair for one machine: what `sallyport run` listens with."""

import datetime as dt
import ipaddress
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

MINIMUM_LEFT = dt.timedelta(days=1)
"""A pair that is valid for less is made anew."""

_SKEW = dt.timedelta(minutes=5)


@dataclass(frozen=True)
class PairFiles:
    """Where a pair lies, PEM."""

    ca: Path
    certificate: Path
    key: Path


def make_pair(folder: Path, hosts: Sequence[str], lifetime: dt.timedelta) -> PairFiles:
    """Make a CA and a pair for `hosts` (DNS names and IP addresses) in `folder`, or reuse it.

    What is there is kept when it is a pair of this CA for all of `hosts` that is valid for
    more than MINIMUM_LEFT. The CA's own key is thrown away: it signs nothing else.

    Raises:
        ValueError: `hosts` is empty.
    """
    if not hosts:
        message = "a certificate needs at least one host name or address"
        raise ValueError(message)
    files = PairFiles(folder / "ca.crt", folder / "tls.crt", folder / "tls.key")
    names = _alternative_names(hosts)
    now = dt.datetime.now(dt.UTC)
    if not _is_usable(files, names, now):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make(files, names, now, now + lifetime)
    return files


def _alternative_names(hosts: Sequence[str]) -> list[x509.GeneralName]:
    names: list[x509.GeneralName] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    return names


def _is_usable(files: PairFiles, names: list[x509.GeneralName], now: dt.datetime) -> bool:
    try:
        ca = x509.load_pem_x509_certificate(files.ca.read_bytes())
        leaf = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        key = serialization.load_pem_private_key(files.key.read_bytes(), password=None)
        leaf.verify_directly_issued_by(ca)
        covered = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
    return (
        leaf.public_key() == key.public_key()
        and set(names) <= set(covered)
        and min(leaf.not_valid_after_utc, ca.not_valid_after_utc) - now > MINIMUM_LEFT
    )


def _make(
    files: PairFiles,
    names: list[x509.GeneralName],
    now: dt.datetime,
    until: dt.datetime,
) -> None:
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_name = _name("Sallyport local CA")
    ca = (
        _builder(ca_name, ca_name, ca_key.public_key(), ca_key.public_key(), now, until)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(ca=True), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    leaf = (
        _builder(_name("Sallyport"), ca_name, key.public_key(), ca_key.public_key(), now, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(ca=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    # The key first: a watcher that looks in between sees halves that do not match, and waits.
    _write(files.key, secret, 0o600)
    _write(files.ca, ca.public_bytes(pem), 0o644)
    _write(files.certificate, leaf.public_bytes(pem), 0o644)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(  # noqa: PLR0913, PLR0917  A certificate has this many parts.
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    issuer_key: ec.EllipticCurvePublicKey,
    now: dt.datetime,
    until: dt.datetime,
) -> x509.CertificateBuilder:
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(until)
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


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write a file whole or not at all."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
