"""A checkpoint that a witness cosigned is an anchor: what it does not agree with is located."""

import base64
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.ledger.log.checkpoints import Checkpoint, cosign, origin_of
from audit.ledger.log.signed_notes import Note, NoteSignature, SignatureType, VerifierKey, sign_note
from tests.unit.audit.ledger.log_verify.honest_log import EVERY, KEY, RECORDS, Scene
from tests.unit.audit.ledger.log_verify.test_standalone_verifier import (
    MAIN,
    write_export,
    write_key,
)
from tests.unit.cli.conftest import Run

WITNESS: Final = Ed25519PrivateKey.from_private_bytes(b"w" * 32)
OTHER: Final = Ed25519PrivateKey.from_private_bytes(b"o" * 32)
NAME: Final = "witness.example/w1"
VKEY: Final = VerifierKey.of(NAME, SignatureType.COSIGNATURE, WITNESS.public_key()).text
LOG: Final = next(iter(Scene().heads().values())).log


def cosigned(
    size: int, root: str, *, log: str = LOG, by: Ed25519PrivateKey = WITNESS, name: str = NAME
) -> bytes:
    """Return a checkpoint that a witness cosigned."""
    text = Checkpoint(origin_of(log), size, bytes.fromhex(root)).text
    signatures = (sign_note(text, origin_of(log), KEY), cosign(text, name, by, 1_700_000_000))
    return Note(text, signatures).content


class Files:
    """An honest export, and a checkpoint; both verifiers are asked."""

    def __init__(self, run: Run, folder: Path) -> None:
        self.run = run
        self.export = write_export(folder / "export.jsonl", Scene().lines())
        self.folder = folder

    def flags(self, *notes: bytes, key: str = VKEY) -> Sequence[str]:
        """Return the flags that name checkpoints."""
        flags = ["--witness-key", key]
        for number, content in enumerate(notes):
            path = self.folder / f"note{number}"
            path.write_bytes(content)
            flags += ["--cosigned", str(path)]
        return flags


@pytest.fixture
def files(run: Run, tmp_path: Path) -> Files:
    """Both, in a folder."""
    return Files(run, tmp_path)


def test_what_a_witness_cosigned_proves_the_log_up_to_it(files: Files) -> None:
    """No key and no anchor is needed; what is younger is counted."""
    head = Scene().heads()[RECORDS - EVERY]
    flags = files.flags(cosigned(head.size, head.root))
    done = files.run("ledger", "verify", files.export, *flags, "--key", _public(files))
    assert (done.code, done.err) == (0, "")
    assert f"Anchor of what {NAME} cosigned: knows {head.size}; proves {head.size}" in done.out
    assert f"Not yet anchored: the last {EVERY} records" in done.out
    assert MAIN([str(files.export), *flags]) == 0


def _public(files: Files) -> Path:
    return write_key(files.folder / "key.pem", KEY)


def test_fork_that_was_cosigned_is_located(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between the last cosigned head that agrees and the one that does not."""
    heads = Scene().heads()
    same, other = heads[EVERY], heads[2 * EVERY]
    notes = (cosigned(same.size, same.root), cosigned(other.size, "ab" * 32))
    flags = files.flags(*notes)
    done = files.run("ledger", "verify", files.export, *flags, "--key", _public(files))
    assert done.code == 1
    assert f"somewhere in {same.size} to {other.size - 1}" in done.out
    assert f"of what {NAME} cosigned has another root for {other.size} records" in done.out
    capsys.readouterr()
    assert MAIN([str(files.export), *flags]) == 1
    said = capsys.readouterr().out
    assert f"the first {other.size} records are not those that you noted" in said


def _changed_time(note: bytes) -> bytes:
    before, _, coded = note.rstrip(b"\n").rpartition(b" ")
    content = bytearray(base64.b64decode(coded))
    content[11] ^= 1
    return before + b" " + base64.b64encode(content) + b"\n"


def _changed_root(note: bytes) -> bytes:
    lines = note.split(b"\n")
    lines[2] = base64.b64encode(bytes(32))
    return b"\n".join(lines)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_changed_time, f"the cosignature is not that of {NAME}"),
        (_changed_root, f"the cosignature is not that of {NAME}"),
        (lambda note: note[:-2], ""),
        (lambda _: b"", ""),
        (lambda _: b"\xff\xfe", ""),
        (lambda note: note.rpartition("— ".encode())[0], "none of your witnesses cosigned it"),
    ],
)
def test_what_no_witness_of_yours_cosigned_proves_nothing(
    files: Files, change: Callable[[bytes], bytes], said: str
) -> None:
    """The file is refused, and not the log judged by it."""
    head = Scene().heads()[RECORDS]
    flags = files.flags(change(cosigned(head.size, head.root)))
    done = files.run("ledger", "verify", files.export, *flags)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert MAIN([str(files.export), *flags]) == 1


def test_strangers_cosignatures_prove_nothing(files: Files) -> None:
    """Another key under the same name, another name with the same key, and another log."""
    head = Scene().heads()[RECORDS]
    for content in (
        cosigned(head.size, head.root, by=OTHER),
        cosigned(head.size, head.root, name="witness.example/w2"),
    ):
        flags = files.flags(content)
        done = files.run("ledger", "verify", files.export, *flags)
        assert (done.code, "none of your witnesses cosigned it" in done.err) == (2, True)
        assert MAIN([str(files.export), *flags]) == 1
    flags = files.flags(cosigned(head.size, head.root, log="ab" * 16))
    done = files.run("ledger", "verify", files.export, *flags, "--key", _public(files))
    assert (done.code, f"is of the log {'ab' * 16}" in done.out) == (1, True)
    assert MAIN([str(files.export), *flags]) == 1


def test_other_origins_are_no_ledgers(files: Files) -> None:
    """A witness may cosign logs of others, whose sizes are of other records."""
    text = Checkpoint("sum.golang.org", 7, bytes(32)).text
    signatures: tuple[NoteSignature, ...] = (cosign(text, NAME, WITNESS, 1_700_000_000),)
    flags = files.flags(Note(text, signatures).content)
    done = files.run("ledger", "verify", files.export, *flags)
    assert (done.code, "which is no ledger's origin" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("x", "--witness-key x: give NAME+ID+BASE64"),
        (
            VerifierKey.of("a", SignatureType.NOTE, KEY.public_key()).text,
            "it is a log's key (type 1), and no witness's",
        ),
    ],
)
def test_wrong_keys_of_witnesses_are_wrong_usage(files: Files, key: str, said: str) -> None:
    """So is one of the two flags alone."""
    head = Scene().heads()[RECORDS]
    done = files.run(
        "ledger", "verify", files.export, *files.flags(cosigned(RECORDS, head.root), key=key)
    )
    assert (done.code, said in done.err) == (64, True)
    done = files.run(
        "ledger", "verify", files.export, "--witness-key", VKEY, "--head", f"1:{'0' * 64}"
    )
    assert (done.code, "--cosigned and --witness-key: give both" in done.err) == (64, True)
