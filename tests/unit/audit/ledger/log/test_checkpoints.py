"""Checkpoints and cosignatures as https://c2sp.org/tlog-checkpoint and tlog-cosignature say."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.ledger.log.checkpoints import (
    Checkpoint,
    cosign,
    cosigned_at,
    cosigned_bytes,
    parse_checkpoint,
    sign_checkpoint,
)
from audit.ledger.log.heads import sign_head, signed_bytes
from audit.ledger.log.signed_notes import (
    NoteError,
    NoteSignature,
    SignatureType,
    VerifierKey,
    demand_signed,
    parse_note,
)

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
ROOT = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="
SOFA = f"example.com/behind-the-sofa\n20852163\n{ROOT}\n"


def test_example_of_the_specification_is_read() -> None:
    """https://c2sp.org/tlog-checkpoint; written again it is the same text."""
    found = parse_checkpoint(SOFA)
    assert (found.origin, found.size) == ("example.com/behind-the-sofa", 20852163)
    assert found.text == SOFA
    assert parse_checkpoint(f"{SOFA}extension\n") == found


def test_message_of_a_cosignature_is_that_of_the_specification() -> None:
    """https://c2sp.org/tlog-cosignature, "Ed25519 signed message"."""
    assert cosigned_bytes(SOFA, 1679315147).decode() == f"cosignature/v1\ntime 1679315147\n{SOFA}"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\n1\n",
        f"a\n01\n{ROOT}\n",
        f"a\n-1\n{ROOT}\n",
        f"a\n+1\n{ROOT}\n",
        f"a\n١\n{ROOT}\n",
        f"a\n{2**63}\n{ROOT}\n",
        f"a\n{'9' * 5000}\n{ROOT}\n",
        f"\n1\n{ROOT}\n",
        f"a\n1\n{ROOT[:-1]}\n",
        f"a\n1\n{ROOT[:-2]}J=\n",
        "a\n1\nAAAA\n",
        f"a\n1\n{ROOT}\n\nextension\n",
    ],
)
def test_what_is_no_checkpoint_is_refused(text: str) -> None:
    """Each value is written in one way only."""
    with pytest.raises(NoteError):
        parse_checkpoint(text)


def test_head_is_signed_as_a_checkpoint_with_the_same_key() -> None:
    """And no checkpoint can be the text of a head: its origin has no space."""
    head = sign_head("ab" * 16, 7, b"r" * 32, 1_700_000_000_000, KEY)
    note = parse_note(sign_checkpoint(head, KEY).content)
    key = VerifierKey.of("sallyport.dev/ledger/" + "ab" * 16, SignatureType.NOTE, KEY.public_key())
    assert demand_signed(note, [key]) == [key]
    assert parse_checkpoint(note.text) == Checkpoint(key.name, 7, b"r" * 32)
    assert signed_bytes(head).startswith(b"sallyport tree head\n")
    assert " " not in note.text


def test_cosignature_says_when_and_is_of_one_checkpoint_time_and_key() -> None:
    """Whatever is changed of it is refused."""
    signature = cosign(SOFA, "witness.example/w1", KEY, 1679315147)
    key = VerifierKey.of("witness.example/w1", SignatureType.COSIGNATURE, KEY.public_key())
    assert cosigned_at(SOFA, signature, key) == 1679315147
    later = (1679315148).to_bytes(8) + signature.signature[8:]
    other = VerifierKey.of("witness.example/w2", SignatureType.COSIGNATURE, KEY.public_key())
    for text, changed, by in (
        (SOFA.replace("163", "164"), signature, key),
        (SOFA, NoteSignature(signature.name, signature.key_id, later), key),
        (SOFA, NoteSignature(signature.name, signature.key_id, later[:40]), key),
        (SOFA, signature, other),
        (SOFA, cosign(SOFA, "witness.example/w1", KEY, 0), key),
        (SOFA, signature, VerifierKey(key.name, SignatureType.NOTE, key.raw)),
    ):
        with pytest.raises(NoteError):
            cosigned_at(text, changed, by)
