"""Checkpoints and cosignatures of ours, read by the Go packages that others use."""

import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.ledger.log.checkpoints import cosign, origin_of, sign_checkpoint
from audit.ledger.log.heads import sign_head
from audit.ledger.log.signed_notes import Note, SignatureType, VerifierKey
from tests.harness.programs.availability import require

LOG_KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
WITNESS_KEY = Ed25519PrivateKey.from_private_bytes(b"w" * 32)
NAME = "witness.example/w1"
LOG = "0123456789abcdef" * 2


def opened(content: bytes) -> subprocess.CompletedProcess[str]:
    """Return what Go says of a note, by the keys of both."""
    log = VerifierKey.of(origin_of(LOG), SignatureType.NOTE, LOG_KEY.public_key())
    witness = VerifierKey.of(NAME, SignatureType.COSIGNATURE, WITNESS_KEY.public_key())
    return subprocess.run(
        [require("checkpoints"), "open", log.text, witness.text],
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


def test_go_refuses_what_is_changed(note: Note) -> None:
    """The size, and the time of the cosignature."""
    other_size = Note(note.text.replace("\n7\n", "\n8\n"), note.signatures)
    assert opened(other_size.content).returncode == 1
    signed = note.signatures[1]
    other = cosign(note.text, NAME, WITNESS_KEY, 1_700_000_002).signature[:8]
    later = type(signed)(signed.name, signed.key_id, other + signed.signature[8:])
    assert opened(Note(note.text, (note.signatures[0], later)).content).returncode == 1
