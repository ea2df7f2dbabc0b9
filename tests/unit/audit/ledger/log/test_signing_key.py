"""The signing key: made once, for its user alone; what is no key is an error."""

import stat
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from audit.ledger.log.heads import key_id
from audit.ledger.log.keys import make_key, read_key
from core.base.errors import LedgerError


def test_a_key_is_made_for_its_user_and_stays(tmp_path: Path) -> None:
    """In a folder that is made as well; what is read later is the same key."""
    path = tmp_path / "state" / "ledger.key"
    assert read_key(path) is None
    made = make_key(path)
    read = read_key(path)
    assert read is not None
    assert key_id(read.public_key()) == key_id(made.public_key())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["ledger.key"]


def test_two_that_make_one_at_once_have_the_same(tmp_path: Path) -> None:
    """Whoever is second takes what the first one made."""
    path = tmp_path / "ledger.key"
    keys: set[str] = set()
    gate = threading.Barrier(4)

    def make() -> None:
        gate.wait()
        keys.add(key_id(make_key(path).public_key()))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    found = read_key(path)
    assert found is not None
    assert keys == {key_id(found.public_key())}


def test_what_is_no_key_is_an_error(tmp_path: Path) -> None:
    """And is not overwritten: nonsense, a key of another kind, a folder."""
    other = ec.generate_private_key(ec.SECP256R1())
    pem = other.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path = tmp_path / "ledger.key"
    for content in (b"nonsense", b"", pem):
        path.write_bytes(content)
        with pytest.raises(LedgerError, match=r"ledger\.signing_key: .* no private key of Ed25519"):
            read_key(path)
    with pytest.raises(LedgerError, match=r"ledger\.signing_key: .*directory"):
        read_key(tmp_path)
    with pytest.raises(LedgerError, match=r"ledger\.signing_key: "):
        make_key(path / "below")
