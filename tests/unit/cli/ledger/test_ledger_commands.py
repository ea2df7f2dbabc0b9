"""`sallyport ledger`: export, verify, prove, heads, key, as a person uses them."""

import asyncio
import json
from pathlib import Path
from typing import Final

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from audit.ledger.store.store import Store
from tests.unit.audit.ledger.log_verify import honest_ledgers
from tests.unit.audit.ledger.log_verify.honest_log import KEY, OTHER_KEY
from tests.unit.audit.ledger.store.documents import NOW_MS
from tests.unit.cli.conftest import Run

_PUBLIC: Final = (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


class Place:
    """A folder with a ledger, its anchor and its keys."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder / 'ledger.db'}"
        self.anchor = folder / "anchor.jsonl"
        self.export = folder / "export.jsonl.gz"
        self.key = folder / "key.pem"
        self.other = folder / "other.pem"
        self.private = folder / "private.pem"
        self.proof = folder / "proof.json"
        self.key.write_bytes(KEY.public_key().public_bytes(*_PUBLIC))
        self.other.write_bytes(OTHER_KEY.public_key().public_bytes(*_PUBLIC))
        self.private.write_bytes(
            KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        )
        asyncio.run(honest_ledgers.build(self.url, self.anchor))

    def sign(self) -> None:
        """Sign a head over all there is."""

        async def run() -> None:
            async with Store(self.url) as store:
                await honest_ledgers.publish(store, None, NOW_MS + 10_000)

        asyncio.run(run())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A ledger that nobody touched; the setting names its key."""
    made = Place(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return made


def test_an_export_is_verified_without_the_ledger(run: Run, place: Place) -> None:
    """Exported, carried away, and sound there."""
    exported = run(
        *("ledger", "export", "--ledger", place.url, "-o", place.export, "--key", place.key)
    )
    assert (exported.code, exported.out) == (0, "")
    assert f"{honest_ledgers.SIZE} records and {honest_ledgers.BATCHES} heads" in exported.err
    assert place.export.stat().st_mode & 0o777 == 0o600
    Path(place.url.removeprefix("sqlite:///")).unlink()
    done = run("ledger", "verify", place.export, "--anchor", place.anchor)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Sound: nothing was changed, removed, put in or moved.\n")
    assert f"Not yet anchored: the last {honest_ledgers.EACH} records." in done.out
    assert "Gone: 20 documents, 0 whole records (retention kept 90 days)" in done.out
    assert "In quarantine: 1 record that cannot be read" in done.out


def test_the_first_bad_record_is_named(run: Run, place: Place) -> None:
    """What was done, to which record, and what to do; 1 for scripts."""
    honest_ledgers.tamper(place.url, _change)
    run("ledger", "export", "--ledger", place.url, "-o", place.export, "--key", place.key)
    done = run("ledger", "verify", place.export, "--anchor", place.anchor)
    assert done.code == 1
    assert done.out.startswith("NOT SOUND: ")
    named = honest_ledgers.decision(
        123 - honest_ledgers.OLD - 2, NOW_MS + 123 - honest_ledgers.OLD - 2
    ).id.hex()
    first = next(line for line in done.out.splitlines() if line.startswith("First bad record"))
    assert "position 123: decision " in first
    assert named in first.replace("-", "")
    assert "What to do: compare it with a copy or a backup" in done.out
    as_json = run("ledger", "verify", place.export, "--anchor", place.anchor, "-o", "json")
    assert as_json.code == 1
    assert json.loads(as_json.out)["firstBad"]["position"] == 123


def _change(connection: object) -> None:
    from tests.unit.audit.ledger.log_verify.tampered_rows import document  # noqa: PLC0415

    document(123, b'"pss-baseline"', b'"pss-baselime"', again=True)(connection)  # type: ignore[arg-type]


def test_the_ledger_is_verified_where_it_is(run: Run, place: Place) -> None:
    """Without an export it is the ledger of the settings, whose keys must be given."""
    done = run(
        *("ledger", "verify", "--ledger", place.url, "--anchor", place.anchor),
        *("--key", place.key),
    )
    assert (done.code, done.err) == (0, "")
    other = run(
        *("ledger", "verify", "--ledger", place.url, "--anchor", place.anchor),
        *("--key", place.other),
    )
    assert other.code == 1
    assert "not yours" in other.out


def test_an_export_of_a_while_is_verified_as_one(run: Run, place: Place) -> None:
    """Whoever verifies it says which while; else what is missing is missing."""
    since = "2026-11-21T12:00:00.120Z"
    run(
        *("ledger", "export", "--ledger", place.url, "-o", place.export, "--key", place.key),
        *("--since", since, "--until", "2026-11-21T12:00:00.210Z"),
    )
    asked = ("ledger", "verify", place.export, "--anchor", place.anchor)
    done = run(*asked, "--since", since, "--until", "2026-11-21T12:00:00.210Z")
    assert (done.code, done.err) == (0, "")
    assert f"It begins at {honest_ledgers.OLD + 2 + 2 * honest_ledgers.EACH}" in done.out
    assert f"{3 * honest_ledgers.EACH} records" in done.out
    short = run(*asked)
    assert short.code == 1
    assert "it was made for since 2026-11-21T12:00:00.120Z, and all was asked for" in short.out


def test_a_noted_head_is_as_good_as_an_anchor(run: Run, place: Place) -> None:
    """`heads` prints what to note; it is demanded later."""
    listed = run("ledger", "heads", "--ledger", place.url, "--limit", "2")
    assert listed.code == 0
    noted = listed.out.splitlines()[-1].split()
    assert noted[0] == "--head"
    run("ledger", "export", "--ledger", place.url, "-o", place.export, "--key", place.key)
    assert run("ledger", "verify", place.export, *noted).code == 0
    size, _, root = noted[1].partition(":")
    forged = f"{size}:{root[:-4]}{'0' * 4}"
    done = run("ledger", "verify", place.export, "--head", forged)
    assert done.code == 1
    assert "has another root" in done.out


def test_a_record_is_proven_to_be_in_the_log(run: Run, place: Place) -> None:
    """The proof holds all that is needed; another record in it is found out."""
    place.sign()
    wanted = honest_ledgers.decision(77, NOW_MS + 77)
    identity = json.loads(wanted.payload)["id"]
    made = run("ledger", "prove", identity, "--ledger", place.url, "--key", place.key)
    assert (made.code, made.err) == (0, "")
    place.proof.write_text(made.out)
    checked = ("ledger", "verify", "--proof", place.proof)
    done = run(*checked, "--key", place.key)
    assert done.code == 0
    assert f"is at {honest_ledgers.OLD + 2 + 77} of {honest_ledgers.SIZE}" in done.out
    assert "the key alone vouches" in done.out
    anchored = run(*checked, "--anchor", place.anchor)
    assert anchored.code == 1
    assert "it may be a fork's" in anchored.out
    place.proof.write_text(made.out.replace("pss-baseline", "pss-baselime", 1))
    forged = run(*checked, "--key", place.key, "-o", "json")
    assert forged.code == 1
    assert json.loads(forged.out)["problems"] == ["its path does not lead to the root of its head"]


def test_a_head_is_proven_to_continue_another(run: Run, place: Place) -> None:
    """Consistency, as RFC 9162 has it, also against the anchor."""
    first, second = honest_ledgers.OLD + 2 + honest_ledgers.EACH, honest_ledgers.ANCHORED
    made = run(
        *("ledger", "prove", "--from", first, "--to", second),
        *("--ledger", place.url, "--key", place.key),
    )
    assert made.code == 0
    place.proof.write_text(made.out)
    done = run("ledger", "verify", "--proof", place.proof, "--anchor", place.anchor)
    assert (done.code, done.out) == (
        0,
        "Proven: the head of 322 continues that of 72, of 2026-11-21T12:00:00.300Z.\n",
    )


def test_the_public_key_is_printed(run: Run, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The public half, and nothing of the private one."""
    assert run("ledger", "key").code == 2
    monkeypatch.setenv("SALLYPORT_LEDGER__SIGNING_KEY", str(place.private))
    done = run("ledger", "key")
    assert (done.code, done.out) == (0, place.key.read_text())
    assert json.loads(run("ledger", "key", "-o", "json").out)["pem"] == place.key.read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["EXPORT"],
            "give --anchor FILE, --head SIZE:ROOT, --cosigned FILE or --key PEM",
        ),
        (["EXPORT", "--head", "12"], "--head 12: give SIZE:ROOT"),
        (["EXPORT", "--key", "ANCHOR"], "it is no public key of Ed25519"),
        (["EXPORT", "--key", "KEY", "--since", "soon"], "--since soon: give how long ago"),
        (["missing.jsonl", "--key", "KEY"], "missing.jsonl: No such file"),
    ],
)
def test_wrong_usage_is_64(run: Run, place: Place, arguments: list[str], says: str) -> None:
    """And what is wrong is named."""
    run("ledger", "export", "--ledger", place.url, "-o", place.export, "--key", place.key)
    named = {"EXPORT": place.export, "ANCHOR": place.anchor, "KEY": place.key}
    done = run("ledger", "verify", *(named.get(each, each) for each in arguments))
    assert (done.code, done.out) == (64, "")
    assert says in done.err


def test_what_is_no_export_cannot_be_judged(run: Run, place: Place) -> None:
    """Neither sound nor not: 2."""
    done = run("ledger", "verify", place.key, "--anchor", place.anchor)
    assert done.code == 2
    assert "line 1: " in done.err
