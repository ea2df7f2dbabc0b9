"""The verifier that needs nothing of Sallyport says of exports what `ledger verify` does."""

import dataclasses
import gzip
import runpy
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from core.base.errors import InvalidObjectError
from tests.harness.evidence import ROOT
from tests.harness.sizes import PROOF, size
from tests.unit.audit.ledger.log_verify import edited_exports
from tests.unit.audit.ledger.log_verify.edited_exports import AT
from tests.unit.audit.ledger.log_verify.honest_log import (
    EVERY,
    KEY,
    OLD,
    OTHER_KEY,
    RECORDS,
    Scene,
    records,
    verify,
)

SCRIPT: Final = ROOT / "examples/ledger/verify_export.py"
MAIN: Final[Callable[[Sequence[str]], int]] = runpy.run_path(str(SCRIPT))["main"]
STEP: Final = size(6, 1)
"""CI tries each edit that is a multiple of this; `make proof` tries all."""

DIFFERS: Final = {
    "export.format another": "it reads one format; a release those before and after its own",
    "export.format one less": "as above",
    "export.keys another": "it asks the reader's keys alone, and does not read these",
}
"""Edits of which it says another thing than `sallyport ledger verify`, and why."""


def last_root() -> str:
    """Return the root of the whole log, as somebody noted it."""
    return Scene().heads()[RECORDS].root


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The public key of the log's heads."""
    return write_key(tmp_path / "key.pem", KEY)


def write_key(path: Path, key: Ed25519PrivateKey) -> Path:
    """Write the public half of a key as PEM."""
    public = key.public_key()
    path.write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return path


def write_export(path: Path, lines: Sequence[bytes]) -> Path:
    """Write the lines of an export."""
    path.write_bytes(b"".join(lines))
    return path


def test_an_honest_export_is_sound(tmp_path: Path, key: Path) -> None:
    """By a Python that has nothing but its standard library; signatures by openssl."""
    export = tmp_path / "export.jsonl.gz"
    export.write_bytes(gzip.compress(b"".join(Scene().lines())))
    options = ["--key", str(key), "--head", f"{RECORDS}:{last_root()}"]
    done = subprocess.run(
        [sys.executable, "-I", "-S", SCRIPT, export, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Sound: ")


def test_a_head_of_another_key_is_not_sound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names both keys."""
    other = write_key(tmp_path / "other.pem", OTHER_KEY)
    export = write_export(tmp_path / "export", Scene().lines())
    assert MAIN([str(export), "--key", str(other)]) == 1
    assert "is signed with the key" in capsys.readouterr().out


def test_a_forged_signature_is_not_sound(
    tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a head whose root is right."""
    signature = Scene().heads()[RECORDS].signature
    forged = signature[:-1] + ("0" if signature[-1] != "0" else "1")
    lines = [each.replace(signature.encode(), forged.encode()) for each in Scene().lines()]
    assert MAIN([str(write_export(tmp_path / "export", lines)), "--key", str(key)]) == 1
    assert "signature" in capsys.readouterr().out


def test_a_file_or_a_key_that_is_not_there_is_an_error(tmp_path: Path, key: Path) -> None:
    """And no verdict."""
    assert MAIN([str(tmp_path / "none")]) == 2
    export = write_export(tmp_path / "export", Scene().lines())
    with pytest.raises(SystemExit) as ended:
        MAIN([str(export), "--key", str(tmp_path / "none.pem")])
    assert ended.value.code == 2


@pytest.mark.proof
def test_it_agrees_with_ledger_verify(
    tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each edit of an export, by the key alone: sound or not, but for what DIFFERS names.

    It has few heads: openssl is started for each.
    """
    honest = Scene(sizes=[OLD, EVERY, 2 * EVERY, RECORDS]).lines()
    differ, tried = {}, 0
    for edit in list(edited_exports.edits())[::STEP]:
        changed = edit.change(list(honest))
        if changed == honest:
            continue
        tried += 1
        export = write_export(tmp_path / "export", changed)
        code = MAIN([str(export), "--key", str(key)])
        said = capsys.readouterr().out
        assert said.startswith({0: "Sound: ", 1: "Not sound: line "}[code])
        if (code == 0) != is_sound(export):
            differ[edit.name] = said
    assert differ.keys() <= DIFFERS.keys(), differ
    assert tried > size(40, 300)
    if PROOF:
        assert differ.keys() == DIFFERS.keys()


def is_sound(export: Path) -> bool:
    """Return whether `sallyport ledger verify` finds an export sound."""
    try:
        return verify(export, [], keys=[KEY.public_key()]).sound
    except InvalidObjectError:
        return False


def test_a_head_that_was_noted_proves_the_records_before_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without any key, however the rest was made again."""
    changed = [dataclasses.replace(each) for each in records()]
    changed[AT] = dataclasses.replace(changed[AT], payload=b"{}")
    export = write_export(tmp_path / "export", Scene(changed, key=OTHER_KEY).lines())
    assert MAIN([str(export)]) == 0
    assert "agrees with itself only" in capsys.readouterr().out
    assert MAIN([str(export), "--head", f"{RECORDS}:{last_root()}"]) == 1
    assert "not those that you noted" in capsys.readouterr().out


def test_records_after_the_noted_head_are_named(
    tmp_path: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file's own heads are not checked without a key; with it they are."""
    export = str(write_export(tmp_path / "export", Scene().lines()))
    noted = ["--head", f"{EVERY}:{Scene().heads()[EVERY].root}"]
    assert MAIN([export, *noted]) == 0
    said = capsys.readouterr().out
    assert f"Records from {EVERY} on are vouched for by nothing that you gave." in said
    for flags in ([*noted, "--key", str(key)], ["--head", f"{RECORDS}:{last_root()}"]):
        assert MAIN([export, *flags]) == 0
        assert "Records from" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [b"", b"[" * 100_000, b'{"line":"export"}\n', b"\x1f\x8b\x08", b"\xff\n", b"1" * 10_000],
    ids=["empty", "deep", "no fields", "gzip cut short", "no UTF-8", "a number"],
)
def test_what_is_no_export_is_not_sound(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """And raises nothing."""
    assert MAIN([str(write_export(tmp_path / "export", [content]))]) == 1
    assert capsys.readouterr().out.startswith("Not sound: ")


def test_an_export_whose_gzip_is_damaged_is_not_sound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said after which line."""
    packed = bytearray(gzip.compress(b"".join(Scene().lines())))
    packed[len(packed) // 2] ^= 0xFF
    assert MAIN([str(write_export(tmp_path / "export", [bytes(packed)]))]) == 1
    assert capsys.readouterr().out.startswith("Not sound: ")
