"""Checkpoints and cosignatures of ours, read by the Go packages that others use."""

import base64
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from audit.clients.anchor_witness import WitnessAnchor, WitnessPlace
from audit.ledger.log.checkpoints import cosign, origin_of, sign_checkpoint
from audit.ledger.log.head_publisher import HeadPublisher
from audit.ledger.log.heads import sign_head
from audit.ledger.log.signed_notes import Note, SignatureType, VerifierKey
from audit.ledger.store.store import Store
from tests.harness.programs.availability import require
from tests.harness.programs.pki import Authority
from tests.harness.programs.process import ServerProcess
from tests.unit.audit.ledger.log.test_publication import add
from tests.unit.audit.ledger.store.conftest import clock
from webhooks.log import get_logger

LOG_KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
WITNESS_KEY = Ed25519PrivateKey.from_private_bytes(b"w" * 32)
NAME = "witness.example/w1"
LOG = "0123456789abcdef" * 2


def opened(content: bytes) -> subprocess.CompletedProcess[str]:
    """Return what Go says of a note, by the keys of both."""
    log = VerifierKey.of(origin_of(LOG), SignatureType.NOTE, LOG_KEY.public_key())
    witness = VerifierKey.of(NAME, SignatureType.COSIGNATURE, WITNESS_KEY.public_key())
    return opened_by(log.text, witness.text, content)


def opened_by(log: str, witness: str, content: bytes) -> subprocess.CompletedProcess[str]:
    """Return what Go says of a note."""
    return subprocess.run(
        [require("checkpoints"), "open", log, witness],
        input=content.decode(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def note() -> Note:
    """A checkpoint that a witness cosigned."""
    head = sign_head(LOG, 7, b"r" * 32, 1_700_000_000_000, LOG_KEY)
    checkpoint = sign_checkpoint(head, LOG_KEY)
    cosignature = cosign(checkpoint.text, NAME, WITNESS_KEY, 1_700_000_001)
    return Note(checkpoint.text, (*checkpoint.signatures, cosignature))


def test_go_verifies_our_checkpoint_and_cosignature(note: Note) -> None:
    """golang.org/x/mod/sumdb/note with the cosignature of github.com/transparency-dev/formats."""
    done = opened(note.content)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [origin_of(LOG), NAME]


async def test_go_witness_cosigns_our_heads(tmp_path: Path) -> None:
    """The witness of github.com/transparency-dev/witness, asked by the auditor's own client."""
    pair = (authority := Authority(tmp_path)).issue_loopback_server("witness")
    private = LOG_KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "ledger.key").write_bytes(private)
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}", clock) as store:
        name = origin_of((await store.log_state()).id)
        log = VerifierKey.of(name, SignatureType.NOTE, LOG_KEY.public_key()).text
        key = VerifierKey.of(NAME, SignatureType.COSIGNATURE, WITNESS_KEY.public_key()).text
        command: list[str | Path] = [require("checkpoints"), "serve", log, secret()]
        command += [pair.certificate, pair.key]
        printed, cosigned = tmp_path / "witness.log", tmp_path / "cosigned"
        server = ServerProcess("witness", command, printed)
        try:
            server.wait_until(lambda: bool(printed.read_text()), 30)
            url, trust = f"https://127.0.0.1:{printed.read_text().strip()}", authority
            place = WitnessPlace(
                url, key, tmp_path / "ledger.key", trust.certificate_path, cosigned
            )
            for first in (0, 5, 9):  # A new client each time, which does not know how far it is.
                await add(store, first, 3)
                await publish(place, store)
        finally:
            server.stop()
        assert opened_by(log, key, cosigned.read_bytes()).stdout.split() == [name, NAME]


async def publish(place: WitnessPlace, store: Store) -> None:
    """Sign a head, and have it cosigned."""
    anchor = WitnessAnchor(place, store)
    publisher = HeadPublisher(store, place.signing_key, [anchor], get_logger(), clock)
    await publisher.beat()
    await anchor.close()
    assert publisher.failures.total() == 0


def secret() -> str:
    """Return the witness's private key as Go writes it."""
    raw = WITNESS_KEY.private_bytes_raw()
    key_id = VerifierKey.of(NAME, SignatureType.NOTE, WITNESS_KEY.public_key()).key_id.hex()
    return f"PRIVATE+KEY+{NAME}+{key_id}+{base64.b64encode(bytes([1]) + raw).decode()}"


def test_go_refuses_what_is_changed(note: Note) -> None:
    """The size, and the time of the cosignature."""
    other_size = Note(note.text.replace("\n7\n", "\n8\n"), note.signatures)
    assert opened(other_size.content).returncode == 1
    signed = note.signatures[1]
    other = cosign(note.text, NAME, WITNESS_KEY, 1_700_000_002).signature[:8]
    later = type(signed)(signed.name, signed.key_id, other + signed.signature[8:])
    assert opened(Note(note.text, (note.signatures[0], later)).content).returncode == 1
