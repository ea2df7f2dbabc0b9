"""A witness as an anchor: heads are cosigned, and what it answers is believed only when signed."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.clients.anchor_witness import WitnessAnchor, WitnessPlace
from audit.ledger.log.checkpoints import cosign, origin_of, parse_checkpoint
from audit.ledger.log.cosigned_heads import read_cosigned
from audit.ledger.log.head_publisher import HeadPublisher
from audit.ledger.log.heads import TreeHead, sign_head
from audit.ledger.log.keys import make_key, read_key
from audit.ledger.log.signed_notes import (
    NoteSignature,
    SignatureType,
    VerifierKey,
    parse_note,
)
from audit.ledger.store.store import Store
from audit.ledger.witness.state import WitnessState
from audit.ledger.witness.submissions import parse_submission
from audit.ledger.witness.witness import Witness, WitnessIdentity
from core.base.errors import LedgerError, SettingsError
from tests.harness.programs.pki import Authority
from tests.unit.audit.ledger.log.test_publication import add
from tests.unit.audit.ledger.store.conftest import clock
from webhooks.log import get_logger

IDENTITY = WitnessIdentity("witness.example/w1", Ed25519PrivateKey.from_private_bytes(b"w" * 32))
OTHER = WitnessIdentity("witness.example/w1", Ed25519PrivateKey.from_private_bytes(b"o" * 32))
Answer = Callable[[bytes], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def served(folder: Path, answer: Answer) -> AsyncIterator[tuple[str, Path]]:
    """Yield the URL of what answers requests, and the CA of its certificate."""
    authority = Authority(folder)
    pair = authority.issue_loopback_server("witness")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)

    async def handle(request: web.Request) -> web.StreamResponse:
        return await answer(await request.read())

    app = web.Application()
    app.router.add_post("/add-checkpoint", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"https://127.0.0.1:{port}", authority.certificate_path
    finally:
        await runner.cleanup()


class Place:
    """A ledger, its key, and a witness that knows it."""

    def __init__(self, store: Store, folder: Path, log: str) -> None:
        self.store = store
        self.folder = folder
        key = make_key(folder / "ledger.key").public_key()
        known = VerifierKey.of(origin_of(log), SignatureType.NOTE, key)
        (folder / "seen").mkdir()
        self.witness = Witness(IDENTITY, {known.name: [known]}, WitnessState(folder / "seen"))
        self.answers: list[int] = []

    async def answer(self, content: bytes) -> web.StreamResponse:
        """Answer as the witness does."""
        found = await asyncio.to_thread(self.witness.add_checkpoint, content)
        if isinstance(found, NoteSignature):
            self.answers.append(200)
            return web.Response(text=found.line)
        self.answers.append(int(found.status))
        return web.Response(text=f"{found.text}\n", status=found.status)

    def anchor(self, url: str, trust: Path, **fields: Any) -> WitnessAnchor:
        """Return the anchor."""
        return WitnessAnchor(
            WitnessPlace(
                url,
                IDENTITY.verifier.text,
                self.folder / "ledger.key",
                trust,
                self.folder / "cosigned",
                **fields,
            ),
            self.store,
        )

    def publisher(self, anchor: WitnessAnchor) -> HeadPublisher:
        """Return who signs heads and brings them."""
        return HeadPublisher(self.store, self.folder / "ledger.key", [anchor], get_logger(), clock)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """All of it, in a folder."""
    async with Store(f"sqlite:///{tmp_path / 'ledger.db'}", clock) as store:
        yield Place(store, tmp_path, (await store.log_state()).id)


async def test_each_head_is_cosigned_and_kept(place: Place) -> None:
    """From head to head, also by a process that is new and does not know how far it came."""
    async with served(place.folder, place.answer) as where:
        for first in (0, 5):
            anchor = place.anchor(*where)
            publisher = place.publisher(anchor)
            for more in (first, first + 2):
                await add(place.store, more, 2)
                await publisher.beat()
                assert publisher.failures == {anchor.name: 0}
            await anchor.close()
    assert publisher.anchored == {"witness witness.example/w1": 8}
    assert place.answers == [200, 200, 409, 200, 200]
    note = parse_note((place.folder / "cosigned").read_bytes())
    (reading,) = read_cosigned([note], [IDENTITY.verifier])
    (line,) = reading
    assert line.head is not None
    last = await place.store.last_head()
    assert last is not None
    assert (line.head.size, line.head.root) == (last.size, last.root)


async def test_ledger_that_does_not_continue_is_said_loudly(place: Place) -> None:
    """An older copy, and one that was written anew."""
    async with served(place.folder, place.answer) as where:
        await add(place.store, 0, 6)
        anchor = place.anchor(*where)
        await place.publisher(anchor).beat()
        last = await place.store.last_head()
        assert last is not None
        async with Store(f"sqlite:///{place.folder / 'other.db'}", clock) as other:
            for first, count, says in (
                (100, 3, "or an older one"),
                (103, 3, "DOES NOT CONTINUE"),  # Another root of the same size.
                (106, 6, "DOES NOT CONTINUE"),
            ):
                await add(other, first, count)
                head = await _signed(other, place, last.log)
                fork = WitnessAnchor(anchor._place, other)  # noqa: SLF001  The same, of another ledger.
                with pytest.raises(LedgerError, match=says):
                    await fork.publish(head, b"")
                await fork.close()
        await anchor.close()
    assert (place.folder / "cosigned").read_bytes().split(b"\n")[1] == b"6"


async def _signed(ledger: Store, place: Place, log: str) -> TreeHead:
    key = read_key(place.folder / "ledger.key")
    assert key is not None
    state = await ledger.log_state()
    return sign_head(log, state.tree.size, state.tree.root, 1_700_000_000_000, key)


def _lines(*identities: WitnessIdentity, other_text: bool = False) -> Answer:
    async def answer(content: bytes) -> web.StreamResponse:
        text = parse_submission(content).note.text
        if other_text:
            text = parse_checkpoint(text).text.replace("\n4\n", "\n3\n")
        made = [cosign(text, each.name, each.key, 1_700_000_000).line for each in identities]
        return web.Response(text="".join(made))

    return answer


def _fixed(status: int, text: str = "", **headers: str) -> Answer:
    async def answer(_: bytes) -> web.StreamResponse:
        return web.Response(status=status, text=text, headers=headers)

    return answer


async def _silent(_: bytes) -> web.StreamResponse:
    await asyncio.sleep(30)
    return web.Response()


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (_lines(OTHER), "no cosignature of witness_key"),
        (_lines(), "no cosignature of witness_key"),
        (_lines(IDENTITY, other_text=True), "is no cosignature"),
        (_fixed(200, "nonsense\n"), "is no cosignature"),
        (_fixed(409, "x\n"), "409 without the size"),
        (_fixed(409, f"{'9' * 40}\n"), "409 without the size"),
        (_fixed(409, "9\n"), "it cosigned 9 records of the ledger, whose head has 4"),
        (_fixed(409, "2\n"), "it answers 409"),
        (_fixed(403), "it does not take the signature"),
        (_fixed(404), "it does not know this ledger"),
        (_fixed(500, "\x1b[31mno\n"), r"it answers 500 \("),
        (_fixed(307, location="https://127.0.0.1:1/"), "it answers 307"),
        (_fixed(200, "x" * 1024 * 1024), "more than 65,536 bytes"),
        (_silent, "it does not answer"),
    ],
)
async def test_what_the_witness_did_not_sign_is_an_error(
    place: Place, answer: Answer, says: str
) -> None:
    """Nothing is counted as anchored, and nothing is kept."""
    await add(place.store, 0, 4)
    head = await _signed(place.store, place, (await place.store.log_state()).id)
    async with served(place.folder, answer) as where:
        anchor = place.anchor(*where, timeout_s=2.0)
        with pytest.raises(LedgerError, match=says) as raised:
            await anchor.publish(head, b"")
        await anchor.close()
    assert "\x1b" not in str(raised.value)
    assert await anchor.reached() in {0, 2}
    assert not (place.folder / "cosigned").exists()


async def test_others_signatures_beside_its_own_are_ignored(place: Place) -> None:
    """A witness may sign with several keys."""
    await add(place.store, 0, 4)
    head = await _signed(place.store, place, (await place.store.log_state()).id)
    async with served(place.folder, _lines(OTHER, IDENTITY)) as where:
        anchor = place.anchor(*where)
        await anchor.publish(head, b"")
        await anchor.close()
    assert await anchor.reached() == 4


async def test_witness_that_is_away_or_of_another_ca_is_an_error(
    place: Place, tmp_path: Path
) -> None:
    """The message names the witness."""
    await add(place.store, 0, 4)
    head = await _signed(place.store, place, (await place.store.log_state()).id)
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other").certificate_path
    async with served(place.folder, place.answer) as (url, trust):
        for at, ca in ((url, other), ("https://127.0.0.1:1", trust)):
            anchor = place.anchor(at, ca)
            with pytest.raises(LedgerError, match=r"witness witness.example/w1: it does not"):
                await anchor.publish(head, b"")
            await anchor.close()


@pytest.mark.parametrize(
    ("url", "key", "says"),
    [
        ("https://a", "x", "witness_key: give NAME"),
        ("https://a", "LOG", "it is a log's key"),
        ("http://a", "KEY", "must be https://HOST"),
        ("https://a?b", "KEY", "must be https://HOST"),
        ("https://u:p@a", "KEY", "must be https://HOST"),
    ],
)
def test_wrong_settings_name_the_setting(tmp_path: Path, url: str, key: str, says: str) -> None:
    """Before anything is asked."""
    log = VerifierKey.of("a", SignatureType.NOTE, IDENTITY.key.public_key()).text
    text = {"LOG": log, "KEY": IDENTITY.verifier.text}.get(key, key)
    store = Store(f"sqlite:///{tmp_path / 'ledger.db'}")
    with pytest.raises(SettingsError, match=r"ledger\.anchors") as raised:
        WitnessAnchor(WitnessPlace(url, text, tmp_path / "ledger.key"), store)
    assert says in str(raised.value)
    with pytest.raises(SettingsError, match=r"trust: .* cannot be read"):
        WitnessAnchor(
            WitnessPlace("https://a", IDENTITY.verifier.text, tmp_path, tmp_path / "no.pem"), store
        )
