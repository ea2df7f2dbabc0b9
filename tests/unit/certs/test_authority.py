"""The CA and its leaves, as strict verifiers see them."""

import datetime as dt

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs.authority import (
    KeyPair,
    LeafNames,
    Purpose,
    is_for,
    is_issued_by,
    is_pair,
    is_valid,
    issue,
    make_authority,
    read_certificate,
    read_certificates,
    validity,
)
from core.base.process_names import process_uri

NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
YEAR, QUARTER = dt.timedelta(days=365), dt.timedelta(days=90)
SERVER = LeafNames(Purpose.SERVER, ("gate.ns.svc", "10.0.0.1"))
CLIENT = LeafNames(Purpose.CLIENT, uris=(process_uri("prod-1", "gate"),))


@pytest.fixture
def authority() -> KeyPair:
    """A CA of a year."""
    return make_authority("Test CA", validity(NOW, YEAR))


def test_a_server_is_verified_by_its_name_and_no_other(authority: KeyPair) -> None:
    """By a strict verifier, from five minutes ago until the end."""
    leaf = read_certificate(issue(authority, SERVER, validity(NOW, QUARTER)).certificate)
    ca = read_certificate(authority.certificate)
    for moment in (NOW - dt.timedelta(minutes=5), NOW + QUARTER - dt.timedelta(seconds=1)):
        builder = PolicyBuilder().store(Store([ca])).time(moment)
        server = builder.build_server_verifier(x509.DNSName("gate.ns.svc"))
        assert server.verify(leaf, []) == [leaf, ca]
        other = builder.build_server_verifier(x509.DNSName("gate.other.svc"))
        with pytest.raises(VerificationError):
            other.verify(leaf, [])
        with pytest.raises(VerificationError, match="EKU"):
            builder.build_client_verifier().verify(leaf, [])


def test_a_client_is_known_by_its_uri(authority: KeyPair) -> None:
    """And is no server."""
    leaf = read_certificate(issue(authority, CLIENT, validity(NOW, QUARTER)).certificate)
    ca = read_certificate(authority.certificate)
    verified = PolicyBuilder().store(Store([ca])).time(NOW).build_client_verifier().verify(leaf, [])
    assert verified.subjects == [x509.UniformResourceIdentifier("sallyport://prod-1/gate")]
    usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_a_leaf_does_not_outlive_its_authority(authority: KeyPair) -> None:
    """A chain whose root has expired is good for nothing."""
    late = NOW + YEAR - dt.timedelta(days=10)
    leaf = read_certificate(issue(authority, SERVER, validity(late, QUARTER)).certificate)
    ca = read_certificate(authority.certificate)
    assert leaf.not_valid_after_utc == ca.not_valid_after_utc


def test_authorities_have_names_of_their_own() -> None:
    """Verifiers look issuers up by name: two of a bundle must not be mistaken."""
    made = [make_authority("Test CA", validity(NOW, YEAR)) for _ in range(2)]
    assert len({read_certificate(each.certificate).subject for each in made}) == 2


def test_what_belongs_together_is_told_from_what_does_not(authority: KeyPair) -> None:
    """Keys, issuers, names, purposes and times."""
    other = make_authority("Test CA", validity(NOW, YEAR))
    pair = issue(authority, SERVER, validity(NOW, QUARTER))
    leaf, ca = read_certificate(pair.certificate), read_certificate(authority.certificate)
    assert is_pair(pair)
    assert not is_pair(KeyPair(pair.certificate, other.key))
    assert not is_pair(KeyPair(pair.certificate, b"no key"))
    assert is_issued_by(leaf, [read_certificate(other.certificate), ca])
    assert not is_issued_by(leaf, [read_certificate(other.certificate)])
    assert is_for(leaf, LeafNames(Purpose.SERVER, ("gate.ns.svc",)))
    assert not is_for(leaf, LeafNames(Purpose.CLIENT, ("gate.ns.svc",)))
    assert not is_for(leaf, CLIENT)
    assert not is_for(ca, SERVER)
    assert is_valid(leaf, NOW)
    assert not is_valid(leaf, NOW + QUARTER)
    assert not is_valid(leaf, NOW - dt.timedelta(minutes=6))


def test_nobody_gets_no_certificate(authority: KeyPair) -> None:
    """A leaf names at least one."""
    with pytest.raises(ValueError, match="at least one name"):
        issue(authority, LeafNames(Purpose.CLIENT), validity(NOW, QUARTER))


@pytest.mark.parametrize("content", [b"", b"junk", b"-----BEGIN CERTIFICATE-----\nAA"])
def test_a_broken_bundle_holds_nothing(content: bytes) -> None:
    """It is no error: it is written anew."""
    assert list(read_certificates(content)) == []


def test_a_key_is_not_shown(authority: KeyPair) -> None:
    """Pairs end up in tracebacks of tests and debuggers."""
    assert "PRIVATE KEY" not in repr(authority)
