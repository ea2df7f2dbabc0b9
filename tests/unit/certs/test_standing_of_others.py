"""How certificates stand that somebody else makes: by who trusts whom, without a record of CAs."""

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from certs.authority import (
    KeyPair,
    LeafNames,
    Purpose,
    issue,
    make_authority,
    read_certificate,
    validity,
    write_certificate,
)
from certs.lifetimes import RotationSettings
from certs.rotation import Leaf
from certs.status import CertificateProblem, SeenCertificates, inspect

NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
DAYS = dt.timedelta(days=90)
NAMES = {
    "gate": LeafNames(Purpose.SERVER, ("gate.example",)),
    "auditor": LeafNames(Purpose.SERVER, ("auditor.example",)),
    "shipping": LeafNames(Purpose.CLIENT, ("shipping.example",)),
}
OLD = make_authority("ours", validity(NOW, DAYS))


def renewed(authority: KeyPair, now: dt.datetime) -> KeyPair:
    """Return a CA's next certificate of the same key and name, as cert-manager renews it."""
    old = read_certificate(authority.certificate)
    key = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    builder = (
        x509.CertificateBuilder(old.issuer, old.subject, old.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + DAYS)
    )
    for each in old.extensions:
        builder = builder.add_extension(each.value, each.critical)
    return KeyPair(write_certificate(builder.sign(key, hashes.SHA256())), authority.key)


def leaves(**authorities: KeyPair) -> dict[str, Leaf | None]:
    """Return a leaf for each name, made by its CA, or by the old one."""
    made: dict[str, Leaf | None] = {}
    for name, names in NAMES.items():
        authority = authorities.get(name, OLD)
        made[name] = Leaf(issue(authority, names, validity(NOW, DAYS)), authority.certificate)
    return made


def troubles(
    found: dict[str, Leaf | None], bundle: bytes, now: dt.datetime = NOW
) -> tuple[CertificateProblem, ...]:
    """Return what is wrong, with one webhook that trusts the bundle."""
    seen = SeenCertificates((), found, {"webhook": bundle}, "gate", foreign=True)
    return inspect(seen, NAMES, now, RotationSettings()).troubles


def test_a_ca_that_was_renewed_with_its_key_is_no_trouble() -> None:
    """The former one stands beside all that was not renewed since: it trusts the same."""
    new = renewed(OLD, NOW)
    assert new.certificate != OLD.certificate
    assert not troubles(leaves(), OLD.certificate)
    assert not troubles(leaves(gate=new), OLD.certificate + new.certificate)
    assert not troubles(leaves(gate=new), new.certificate)


@pytest.mark.parametrize("of", ["gate", "auditor"])
def test_a_ca_of_another_key_is_told_where_it_is_not_trusted(of: str) -> None:
    """Each side names what it cannot believe; a webhook is shown the gate's alone."""
    new = make_authority("theirs", validity(NOW, DAYS))
    found = troubles(leaves(**{of: new}), OLD.certificate)
    told = {one.where: one.what for one in found}
    others = [f"Secret {name}" for name in NAMES if name != of]
    assert all(told.pop(each) == f"trusts no CA that signed {of}" for each in others)
    assert "trusts no CA that signed" in told.pop(f"Secret {of}")
    assert told == ({"webhook": "trusts no CA that signed gate"} if of == "gate" else {})
    assert all(one.person and "cert-manager" in one.remedy for one in found)


def test_a_ca_that_has_expired_is_trusted_by_nobody() -> None:
    """A leaf never outlives its CA, but a bundle may."""
    new = renewed(OLD, NOW + DAYS)
    later = NOW + DAYS + dt.timedelta(days=1)
    found = troubles(leaves(gate=new), OLD.certificate, later)
    assert ("webhook", "trusts no CA that is valid") in {(one.where, one.what) for one in found}
