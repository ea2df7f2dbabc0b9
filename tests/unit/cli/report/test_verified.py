"""`sallyport report --verify`: the verdict on the ledger stands on the report's first page."""

import asyncio
import json
import sqlite3
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.unit.audit.ledger.log_verify import honest_ledgers
from tests.unit.audit.ledger.log_verify.honest_log import KEY
from tests.unit.cli.conftest import Run

MONTH = ("--period", "2026-05")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a ledger and its anchor."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    public = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "key.pem").write_bytes(public)
    asyncio.run(
        honest_ledgers.build(f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "anchor.jsonl")
    )
    return tmp_path


def flags(place: Path) -> tuple[str, ...]:
    """Return what makes its report, verified."""
    where = ("--ledger", f"sqlite:///{place / 'ledger.db'}", "--to", str(place))
    verify = ("--verify", "--anchor", str(place / "anchor.jsonl"), "--key", str(place / "key.pem"))
    return ("report", *MONTH, *where, "--format", "html", "-o", "json", *verify)


def page(place: Path) -> str:
    """Return the page that was made."""
    return (place / "sallyport-report-2026-05.html").read_text()


def test_sound_ledger_is_said_to_be_verified(run: Run, place: Path) -> None:
    """With how far the anchor proves it, and what it does not know yet."""
    done = run(*flags(place))
    assert (done.code, json.loads(done.out)["sound"]) == (0, True)
    anchored = honest_ledgers.SIZE - honest_ledgers.EACH
    assert f"verified here against 1 anchor, which proves {anchored} records" in page(place)
    assert f"{honest_ledgers.EACH} younger than that are not anchored yet" in page(place)


def test_ledger_that_was_changed_fails_and_the_report_says_so(run: Run, place: Path) -> None:
    """Exit 1, and the first thing on the page: what is in it may be made up."""
    with sqlite3.connect(place / "ledger.db") as connection:
        connection.execute("UPDATE leaves SET digest = zeroblob(32) WHERE position = 3")
    connection.close()
    done = run(*flags(place))
    said = json.loads(done.out)
    assert (done.code, said["sound"]) == (1, False)
    assert said["attention"][0]["text"].startswith("The ledger is not sound")
    assert page(place).index("VERIFICATION FAILED") < page(place).index("What needs attention")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--verify"], "--verify: give --anchor FILE"),
        (["--anchor", "a.jsonl"], "--anchor: give --verify too"),
        (["--key", "a.pem"], "--key: give --verify too"),
        (["--verify", "--anchor", "a.jsonl"], "--anchor a.jsonl: there is no such file"),
    ],
)
def test_verification_needs_something_to_go_by(
    run: Run, tmp_path: Path, flags: list[str], said: str
) -> None:
    """An anchor out of reach of who writes the ledger."""
    done = run("report", *MONTH, "--to", str(tmp_path), *flags)
    assert (done.code, done.out) == (64, "")
    assert said in done.err


def test_without_it_the_report_says_that_nobody_verified(run: Run, place: Path) -> None:
    """On the first page."""
    done = run(*flags(place)[:-5])
    assert (done.code, json.loads(done.out)["sound"]) == (0, None)
    assert "not verified here" in page(place)
