"""The pair that `sallyport run` makes for itself."""

import datetime as dt
import ipaddress
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from certs.self_signed_pair import PairFiles, make_pair

HOSTS = ["localhost", "gate.sallyport.svc", "127.0.0.1", "::1"]
LONG = dt.timedelta(days=30)


def content(files: PairFiles) -> tuple[bytes, bytes, bytes]:
    """Return what is in the three files."""
    return files.ca.read_bytes(), files.certificate.read_bytes(), files.key.read_bytes()


@pytest.mark.parametrize("host", HOSTS)
def test_a_strict_verifier_accepts_the_pair_for_each_host(tmp_path: Path, host: str) -> None:
    """Names and addresses are subject alternative names, as Go and browsers demand."""
    files = make_pair(tmp_path / "new", HOSTS, LONG)
    ca = x509.load_pem_x509_certificate(files.ca.read_bytes())
    leaf = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    subject: x509.DNSName | x509.IPAddress
    try:
        subject = x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        subject = x509.DNSName(host)
    chain = PolicyBuilder().store(Store([ca])).build_server_verifier(subject).verify(leaf, [])
    assert chain == [leaf, ca]


def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    """Mode 0600, in a folder of mode 0700; nothing is left of the writing."""
    files = make_pair(tmp_path / "new", HOSTS, LONG)
    assert stat.S_IMODE(files.key.stat().st_mode) == 0o600
    assert stat.S_IMODE(files.key.parent.stat().st_mode) == 0o700
    assert sorted(path.name for path in files.key.parent.iterdir()) == [
        "ca.crt",
        "tls.crt",
        "tls.key",
    ]


def test_a_good_pair_is_reused(tmp_path: Path) -> None:
    """Also for fewer hosts: whoever trusts the CA goes on doing so."""
    before = content(make_pair(tmp_path, HOSTS, LONG))
    assert content(make_pair(tmp_path, HOSTS[:2], LONG)) == before


def test_a_new_host_needs_a_new_pair(tmp_path: Path) -> None:
    """The old one does not name it."""
    before = content(make_pair(tmp_path, HOSTS, LONG))
    assert content(make_pair(tmp_path, [*HOSTS, "10.0.0.1"], LONG)) != before


def test_a_pair_that_ends_within_a_day_is_made_anew(tmp_path: Path) -> None:
    """It would expire while the machine is in use."""
    before = content(make_pair(tmp_path, HOSTS, dt.timedelta(hours=23)))
    assert content(make_pair(tmp_path, HOSTS, LONG)) != before


@pytest.mark.parametrize("name", ["ca.crt", "tls.crt", "tls.key"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "another's"])
def test_a_damaged_pair_is_made_anew(tmp_path: Path, name: str, damage: str) -> None:
    """Whatever is wrong with whichever file, a whole pair is there afterwards."""
    folder = tmp_path / "new"
    make_pair(folder, HOSTS, LONG)
    path = folder / name
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:50])
    else:
        make_pair(tmp_path / "other", HOSTS, LONG)
        path.write_bytes((tmp_path / "other" / name).read_bytes())
    files = make_pair(folder, HOSTS, LONG)
    ca = x509.load_pem_x509_certificate(files.ca.read_bytes())
    leaf = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    leaf.verify_directly_issued_by(ca)
    assert content(make_pair(folder, HOSTS, LONG)) == content(files)


def test_no_hosts_are_an_error(tmp_path: Path) -> None:
    """A certificate for nobody is of no use."""
    with pytest.raises(ValueError, match="at least one host"):
        make_pair(tmp_path, [], LONG)
