"""`sallyport ledger checkpoint` and `witness`, as two people on two hosts use them."""

import asyncio
import sqlite3
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from audit.ledger.log.checkpoints import cosigned_at, parse_checkpoint
from audit.ledger.log.signed_notes import (
    demand_signed,
    parse_note,
    parse_signature,
    parse_verifier_key,
)
from audit.ledger.store.store import Store
from tests.harness.programs.pki import Authority
from tests.harness.programs.ports import free_ports
from tests.unit.audit.ledger.log_verify import honest_ledgers
from tests.unit.audit.ledger.log_verify.honest_log import KEY
from tests.unit.audit.ledger.store.documents import CLUSTER, NOW_MS
from tests.unit.cli.conftest import Done, Run

NAME = "witness.example/w1"


class Hosts:
    """A ledger's host, and a witness's."""

    def __init__(self, run: Run, folder: Path) -> None:
        self.run = run
        self.url = f"sqlite:///{folder / 'ledger.db'}"
        self.path = folder / "ledger.db"
        self.state = folder / "seen"
        self.state.mkdir()
        self.key, self.request = folder / "witness.pem", folder / "request"
        pem = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self.key.write_bytes(Ed25519PrivateKey.generate().private_bytes(*pem))
        (folder / "ledger.key").write_bytes(KEY.private_bytes(*pem))
        self.config = folder / "config.yaml"
        self.config.write_text(f"ledger:\n  signing_key: {folder / 'ledger.key'}\n")
        asyncio.run(honest_ledgers.build(self.url, folder / "anchor.jsonl"))

    def checkpoint(self, *flags: str) -> Done:
        """Return what the ledger's host prints."""
        return self.run(
            "ledger", "checkpoint", "--ledger", self.url, "--config", self.config, *flags
        )

    def witness(self, request: str) -> Done:
        """Return what the witness says of a request."""
        self.request.write_text(request)
        log = self.checkpoint("--vkey").out.strip()
        known = ("--log", log, "--name", NAME, "--key", self.key, "--state", self.state)
        return self.run("ledger", "witness", self.request, *known)


@pytest.fixture
def hosts(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    """Both; nothing was cosigned yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Hosts(run, tmp_path)


def sizes(hosts: Hosts) -> list[int]:
    """Return the sizes of the ledger's heads."""

    async def read() -> list[int]:
        async with Store(hosts.url) as ledger:
            return [head.size for head in await ledger.heads()]

    return asyncio.run(read())


def test_checkpoint_is_of_the_last_head_or_of_one_that_is_named(hosts: Hosts) -> None:
    """Signed with the ledger's key, under its origin."""
    key = parse_verifier_key(hosts.checkpoint("--vkey").out.strip())
    for flags, size in ((), sizes(hosts)[-1]), (("--size", str(sizes(hosts)[0])), sizes(hosts)[0]):
        done = hosts.checkpoint(*flags)
        note = parse_note(done.out.encode())
        assert (done.code, done.err) == (0, "")
        assert demand_signed(note, [key]) == [key]
        found = parse_checkpoint(note.text)
        assert (found.origin, found.size) == (key.name, size)


def test_witness_cosigns_from_head_to_head(hosts: Hosts) -> None:
    """With the proof that `--old` brings; the line is verified by the key that --vkey prints."""
    vkey = hosts.run("ledger", "witness", "--name", NAME, "--key", hosts.key, "--vkey").out.strip()
    first, last = str(sizes(hosts)[0]), str(sizes(hosts)[-1])
    for old, size in (("0", first), (first, last)):
        request = hosts.checkpoint("--old", old, "--size", size).out
        done = hosts.witness(request)
        assert (done.code, done.err) == (0, "")
        text = parse_note(request.encode().partition(b"\n\n")[2]).text
        signature = parse_signature(done.out.rstrip("\n"))
        assert cosigned_at(text, signature, parse_verifier_key(vkey)) > 0


def test_witness_says_what_it_has_seen_to_another_size(hosts: Hosts) -> None:
    """With the flag that helps; exit 1: nothing failed, it refuses."""
    first = sizes(hosts)[0]
    assert hosts.witness(hosts.checkpoint("--old", "0", "--size", str(first)).out).code == 0
    done = hosts.witness(hosts.checkpoint("--old", "0").out)
    assert (done.code, done.out) == (1, "")
    assert f"Not cosigned (409): the last checkpoint that was cosigned is of {first}" in done.err
    assert f"make it with --old {first}" in done.err


def test_ledger_that_was_written_anew_is_not_cosigned(hosts: Hosts) -> None:
    """Its heads are signed with the right key; the witness has seen another tree."""
    first = sizes(hosts)[0]
    assert hosts.witness(hosts.checkpoint("--old", "0", "--size", str(first)).out).code == 0
    asyncio.run(_fork(hosts))
    request = hosts.checkpoint("--old", str(first)).out
    done = hosts.witness(request)
    assert (done.code, done.out) == (1, "")
    assert "Not cosigned (422): the proof does not show" in done.err


def test_fork_of_the_same_size_is_said(hosts: Hosts) -> None:
    """By HTTP it is a conflict of sizes; a person is told what it is."""
    asyncio.run(_fork(hosts))
    last = sizes(hosts)[-1]
    assert hosts.witness(hosts.checkpoint("--old", "0").out).code == 0
    asyncio.run(_fork(hosts, NOW_MS + 1))
    assert sizes(hosts)[-1] == last
    done = hosts.witness(hosts.checkpoint("--old", str(last)).out)
    assert (done.code, done.out) == (1, "")
    assert f"Not cosigned (409): FORK: at {last} entries" in done.err


async def _fork(hosts: Hosts, at_ms: int = NOW_MS) -> None:
    """Write another log under the same id, as whoever has host and key can."""
    async with Store(hosts.url) as store:
        log = (await store.log_state()).id
    hosts.path.unlink()
    async with Store(hosts.url) as store:
        frames = [honest_ledgers.decision(each, at_ms + each) for each in range(90)]
        await store.deliver(CLUSTER, frames)
    with sqlite3.connect(hosts.path) as connection:
        connection.execute("UPDATE log SET id = ?", (log,))
    connection.close()
    async with Store(hosts.url) as store:
        await honest_ledgers.publish(store, None, NOW_MS)


def test_head_that_is_not_of_its_records_is_not_signed(hosts: Hosts) -> None:
    """A log must never sign two trees."""
    with sqlite3.connect(hosts.path) as connection:
        connection.execute("UPDATE leaves SET digest = zeroblob(32) WHERE position >= 340")
    connection.close()
    done = hosts.checkpoint()
    assert (done.code, done.out) == (2, "")
    assert "is not of these records: nothing is signed" in done.err


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "give one of REQUEST, --listen and --vkey"),
        (("-", "--vkey"), "give one of REQUEST, --listen and --vkey"),
        (("-",), "--state: name the folder"),
        (("-", "--state", "none"), "--state none: there is no such folder"),
        (("-", "--state", "."), "--log: name a log"),
        (("-", "--state", ".", "--log", "x"), "--log x: give NAME+ID+BASE64"),
        (("--listen", "1"), "--listen 1: give HOST:PORT"),
        (("--listen", "127.0.0.1:0"), "--listen: give its certificate too"),
    ],
)
def test_wrong_usage_names_the_flag(hosts: Hosts, flags: tuple[str, ...], said: str) -> None:
    """Nothing is signed."""
    done = hosts.run("ledger", "witness", "--name", NAME, "--key", hosts.key, *flags)
    assert (done.code, done.out) == (64, "")
    assert said in done.err


def test_names_and_keys_are_demanded(hosts: Hosts, tmp_path: Path) -> None:
    """A name with a space could be read as two; a key that is not there is not made."""
    done = hosts.run("ledger", "witness", "--name", "a b", "--key", hosts.key, "--vkey")
    assert (done.code, "--name 'a b' is no name of a key" in done.err) == (64, True)
    done = hosts.run("ledger", "witness", "--name", "a", "--key", tmp_path / "no.pem", "--vkey")
    assert (done.code, "openssl genpkey -algorithm ed25519 -out" in done.err) == (64, True)


def test_witness_serves_until_it_is_stopped(hosts: Hosts, tmp_path: Path) -> None:
    """As a process of its own, over TLS; it ends in order."""
    authority = Authority(tmp_path)
    pair = authority.issue_loopback_server("witness")
    (port,) = free_ports(1)
    log = hosts.checkpoint("--vkey").out.strip()
    request = hosts.checkpoint("--old", "0").out.encode()
    known = ["--name", NAME, "--key", hosts.key, "--state", hosts.state, "--log", log]
    tls = ["--cert", pair.certificate, "--tls-key", pair.key]
    program = Path(sys.executable).with_name("sallyport")
    command = [program, "ledger", "witness", *known, *tls]
    with subprocess.Popen(
        [*map(str, command), "--listen", f"127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            context = ssl.create_default_context(cafile=authority.certificate_path)
            answer = _ask(f"https://127.0.0.1:{port}/add-checkpoint", request, context)
        finally:
            process.terminate()
            _, err = process.communicate(timeout=30)
    assert answer.startswith(f"— {NAME} ".encode()), err
    assert process.returncode == 0


def _ask(url: str, content: bytes, context: ssl.SSLContext) -> bytes:
    for _ in range(200):
        try:
            with urllib.request.urlopen(url, content, timeout=30, context=context) as answer:  # noqa: S310  Of this machine.
                return bytes(answer.read())
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError):
                raise
            time.sleep(0.1)
    return b""
