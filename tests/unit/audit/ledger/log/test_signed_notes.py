"""Signed notes, with the examples of the specification and the vectors of Go's sumdb/note."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.ledger.log.signed_notes import (
    MOST_NOTE,
    MOST_SIGNATURES,
    NoteError,
    NoteSignature,
    SignatureType,
    VerifierKey,
    demand_signed,
    parse_note,
    parse_verifier_key,
    sign_note,
)

PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
ENOCH = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = (
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n"
)
PETER_SIGNED = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotp"
    "RZb6KE6RyyBwJnAM=\n"
)
ENOCH_SIGNED = (
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox"
    "33WWd1RvMc+QQ=\n"
)


def test_example_of_the_specification_is_verified() -> None:
    """https://c2sp.org/signed-note, section "Example"."""
    key = parse_verifier_key(
        "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
    )
    content = (
        "This is an example message.\n\n"
        "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH"
        "3mFXmRKuwHjG1Yu72IneyaQM=\n"
    ).encode()
    note = parse_note(content)
    assert demand_signed(note, [key]) == [key]
    assert note.content == content
    assert key.text.startswith("example.com/foo+530d903a+Aeky")


@pytest.mark.parametrize("keys", [(PETER,), (ENOCH,), (PETER, ENOCH)])
def test_signatures_of_unknown_keys_are_ignored(keys: tuple[str, ...]) -> None:
    """Those that are known are verified (Go's TestOpen)."""
    known = list(map(parse_verifier_key, keys))
    note = parse_note((TEXT + "\n" + PETER_SIGNED + ENOCH_SIGNED).encode())
    assert (note.text, demand_signed(note, known)) == (TEXT, known)
    with pytest.raises(NoteError, match="no key that is known"):
        demand_signed(note, [])


def test_wrong_signature_of_a_known_key_makes_the_note_none() -> None:
    """Though another known key signed it."""
    broken = PETER_SIGNED[:60] + "ABCD" + PETER_SIGNED[60:]
    note = parse_note((TEXT + "\n" + broken + ENOCH_SIGNED).encode())
    with pytest.raises(NoteError, match="the signature of PeterNeumann is wrong"):
        demand_signed(note, [parse_verifier_key(ENOCH), parse_verifier_key(PETER)])
    changed = parse_note((f"{TEXT}!\n\n{PETER_SIGNED}").encode())
    with pytest.raises(NoteError, match="is wrong"):
        demand_signed(changed, [parse_verifier_key(PETER)])


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        f"{TEXT}\n",
        f"{TEXT}\n{PETER_SIGNED[:-1]}",
        f"\x01{TEXT}\n{PETER_SIGNED}",
        f"{TEXT}\r\n{PETER_SIGNED}",
        f"{TEXT}\n— Bad Name x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN\n",
        f"{TEXT}\n— Bad+Name x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN\n",
        f"{TEXT}\n{PETER_SIGNED}Unexpected line.\n",
        f"{TEXT}\n— Short x08goA==\n",
        f"{TEXT}\n— None \n",
        TEXT + "\n" + PETER_SIGNED * (MOST_SIGNATURES + 1),
        "a" * MOST_NOTE + "\n\n" + PETER_SIGNED,
    ],
)
def test_what_is_no_note_is_refused(content: str) -> None:
    """Go's TestOpen has most of these; the last two are bounds of our own."""
    with pytest.raises(NoteError):
        parse_note(content.encode())


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    """Go's TestOpen has this too."""
    with pytest.raises(NoteError, match="UTF-8"):
        parse_note(b"\xff" + f"{TEXT}\n{PETER_SIGNED}".encode())


def test_as_many_signatures_as_the_specification_wants_are_taken() -> None:
    """16; the known one may be the last."""
    others = "".join(
        NoteSignature(f"other{number}", b"abcd", b"x" * 64).line for number in range(15)
    )
    note = parse_note((TEXT + "\n" + others + PETER_SIGNED).encode())
    assert len(demand_signed(note, [parse_verifier_key(PETER)])) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PeterNeumann",
        PETER.replace("c74f20a3", "c74f20a4"),
        PETER.replace("c74f20a3", "C74F20A3"),
        PETER.replace("PeterNeumann", "Peter Neumann"),
        PETER[:-4],
        "Ecdsa+c74f20a3+AgAA",
        "x+00000000+",
    ],
)
def test_what_is_no_verifier_key_is_refused(text: str) -> None:
    """Another name, id, length or algorithm."""
    with pytest.raises(NoteError):
        parse_verifier_key(text)


def test_own_signature_is_verified_by_its_key_alone() -> None:
    """Of one name and key, ids tell apart what is signed for."""
    key = Ed25519PrivateKey.generate()
    ours = VerifierKey.of("log.example", SignatureType.NOTE, key.public_key())
    cosigner = VerifierKey.of("log.example", SignatureType.COSIGNATURE, key.public_key())
    signature = sign_note(TEXT, "log.example", key)
    note = parse_note(f"{TEXT}\n{signature.line}".encode())
    assert demand_signed(note, [ours, cosigner]) == [ours]
    assert parse_verifier_key(ours.text) == ours
    with pytest.raises(NoteError):
        demand_signed(note, [cosigner])
