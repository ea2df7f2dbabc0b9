"""Timestamps of heads (RFC 3161): kept by the auditor, verified by the command, or by hand."""

import asyncio
import hashlib
import json
import time
from itertools import starmap
from pathlib import Path

import pytest

from app.processes.auditor.ledger import open_kept_ledger
from app.settings.root import read_settings
from audit.ledger.log.heads import TreeHead, sign_head
from audit.ledger.log.timestamps import encode_timestamp, make_query
from audit.ledger.store.store import Store
from core.base.ids import uuid7
from core.base.times import milliseconds_of
from tests.unit.audit.clients.openssl_authority import OpensslAuthority
from tests.unit.audit.clients.test_timestamp_authority import replies, served
from tests.unit.audit.ledger.log_verify.honest_log import (
    EVERY,
    KEY,
    OLD,
    OTHER_KEY,
    RECORDS,
    Scene,
)
from tests.unit.audit.ledger.log_verify.test_standalone_verifier import write_key
from tests.unit.audit.ledger.store.documents import CLUSTER, document, frame
from tests.unit.cli.conftest import Done, Run
from tests.unit.cli.ledger.test_witness_command import Hosts
from webhooks.log import get_logger


class Stamped(Hosts):
    """A ledger whose heads were timestamped."""

    def __init__(self, run: Run, folder: Path) -> None:
        super().__init__(run, folder)
        self.authority = OpensslAuthority(folder / "tsa")
        self.stamps = folder / "stamps.jsonl"
        heads = asyncio.run(self._heads())
        self.sizes = [head.size for head in heads]
        for head in heads:
            reply = self.authority.reply(make_query(head).content)
            with self.stamps.open("ab") as file:
                file.write(encode_timestamp(head, reply))

    async def _heads(self) -> list[TreeHead]:
        async with Store(self.url) as store:
            return await store.heads()

    def verify(self, *flags: object) -> Done:
        """Return what the command says of the ledger."""
        stamps = ("--timestamps", self.stamps, "--tsa-ca", self.authority.ca)
        return self.run("ledger", "verify", "--ledger", self.url, *stamps, *flags)


@pytest.fixture
def stamped(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stamped:
    """All heads have a timestamp."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Stamped(run, tmp_path)


def test_timestamps_prove_the_log_up_to_their_last_head(stamped: Stamped) -> None:
    """As an anchor does that keeps no marks."""
    done = stamped.verify("--config", stamped.config)
    assert (done.code, done.err) == (0, "")
    last = f"{stamped.sizes[-1]:,}"
    assert "Anchor of what was timestamped until 20" in done.out
    assert f": knows {last} at 20" in done.out
    assert f"; proves {last} by {len(stamped.sizes)} heads" in done.out
    assert "Not yet anchored" not in done.out
    assert "Its last head was timestamped at 20" in done.out
    assert "the longest delay between the time that a head says and its timestamp is " in done.out


def test_forged_ledger_with_fresh_timestamps_is_not_sound(run: Run, tmp_path: Path) -> None:
    """Written anew, signed with another key, and timestamped by the same authority."""
    authority, stamps = OpensslAuthority(tmp_path / "tsa"), tmp_path / "stamps.jsonl"
    forged = Scene(sizes=[OLD, EVERY, RECORDS], key=OTHER_KEY)
    export = forged.write(tmp_path / "export.jsonl")
    heads = forged.heads()
    replies_made = [authority.reply(make_query(head).content) for head in heads.values()]
    pairs = zip(heads.values(), replies_made, strict=True)
    stamps.write_bytes(b"".join(starmap(encode_timestamp, pairs)))
    given = ("ledger", "verify", export, "--timestamps", stamps, "--tsa-ca", authority.ca)
    done = run(*given)
    assert (done.code, done.out, "give --key PEM as well" in done.err) == (64, "", True)
    done = run(*given, "--key", write_key(tmp_path / "key.pem", KEY))
    assert done.code == 1
    assert f"is signed with the key {heads[OLD].key}, not yours" in done.out
    done = run(*given, "--head", f"{EVERY}:{heads[EVERY].root}")
    assert done.code == 0
    assert f"Not yet anchored: the last {RECORDS - EVERY} records." in done.out


def test_log_that_was_written_anew_is_located(stamped: Stamped) -> None:
    """The timestamp is of a head with another root, so of that stretch nothing is as it was."""
    lines = stamped.stamps.read_bytes().splitlines(keepends=True)
    line = json.loads(lines[-1])
    root = hashlib.sha256(b"other").hexdigest()

    async def other() -> bytes:
        async with Store(stamped.url) as store:
            log = (await store.log_state()).id
        size, time_ms = line["head"]["size"], milliseconds_of(line["head"]["time"])
        changed = sign_head(log, size, bytes.fromhex(root), time_ms, KEY)
        return encode_timestamp(changed, stamped.authority.reply(make_query(changed).content))

    stamped.stamps.write_bytes(b"".join(lines[:-1]) + asyncio.run(other()))
    done = stamped.verify("--config", stamped.config)
    assert done.code == 1
    assert f"somewhere in {stamped.sizes[-2]:,} to {stamped.sizes[-1] - 1:,}" in done.out


def test_timestamps_that_are_not_to_be_believed_are_an_error(
    stamped: Stamped, tmp_path: Path
) -> None:
    """Of another CA; changed; one of the two flags alone; no PEM."""
    other = OpensslAuthority(tmp_path / "other").ca
    done = stamped.verify("--tsa-ca", other)
    assert (done.code, done.out, "line 1: " in done.err) == (2, "", True)
    stamped.stamps.write_bytes(stamped.stamps.read_bytes().replace(b'"size":', b'"size":1', 1))
    done = stamped.verify()
    assert (done.code, done.out, "line 1: " in done.err) == (2, "", True)
    done = stamped.run("ledger", "verify", "--timestamps", stamped.stamps)
    assert (done.code, "--timestamps and --tsa-ca: give both" in done.err) == (64, True)
    done = stamped.verify("--tsa-ca", stamped.stamps)
    assert (done.code, "give certificates in PEM" in done.err) == (64, True)


def test_checkpoint_is_timestamped_by_hand_and_printed_again_later(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's recipe: the same bytes each time, so the timestamp goes on to prove them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    hosts, authority = Hosts(run, tmp_path), OpensslAuthority(tmp_path / "tsa")
    note = hosts.checkpoint().out
    size = note.split("\n")[1]
    (authority.folder / "note").write_text(note)
    authority.run(*"ts -query -data note -sha256 -cert -out note.tsq".split())
    reply = authority.reply((authority.folder / "note.tsq").read_bytes())
    again = hosts.checkpoint("--size", size).out
    assert authority.verifies(again.encode(), reply)
    assert not authority.verifies(note.replace(size, "9").encode(), reply)


def test_auditors_ledger_is_timestamped_as_its_settings_say(run: Run, tmp_path: Path) -> None:
    """Recorded, signed, timestamped; then verified by the command alone."""
    authority, stamps = OpensslAuthority(tmp_path / "tsa"), tmp_path / "stamps.jsonl"
    url = f"sqlite:///{tmp_path / 'ledger.db'}"

    async def record() -> None:
        async with served(replies(authority)) as tsa:
            stamped = {"url": tsa, "ca": authority.ca, "file": stamps}
            key = tmp_path / "ledger.key"
            section = {"url": url, "signing_key": key, "head_every_s": 1, "timestamp": stamped}
            settings = read_settings(None, {"ledger": section})
            async with open_kept_ledger(settings, get_logger()) as kept:
                async with asyncio.timeout(30):
                    while kept.missing():  # noqa: ASYNC110  It has no event.
                        await asyncio.sleep(0.05)
                    now_ms = int(time.time() * 1000)
                    await kept.deliver(CLUSTER, [frame(document(id=uuid7(now_ms)))])
                    while not stamps.exists():  # noqa: ASYNC110  As above.
                        await asyncio.sleep(0.05)

    asyncio.run(record())
    trust = ("--timestamps", stamps, "--tsa-ca", authority.ca)
    config = tmp_path / "config.yaml"
    config.write_text(f"ledger:\n  signing_key: {tmp_path / 'ledger.key'}\n")
    done = run("ledger", "verify", "--ledger", url, "--config", config, *trust)
    assert (done.code, done.err) == (0, "")
    assert "; proves 1 by 1 head" in done.out
