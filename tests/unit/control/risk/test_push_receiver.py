"""Security events over real HTTPS: what is taken, what is refused, and what then has changed."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import rsa
from structlog.testing import capture_logs

from control.risk.push import receiver as module
from core.risk.model import RiskLevel, RiskSource, identity_key
from tests.harness.fakes.event_transmitter import CAEP, claims
from tests.unit.control.risk.event_receiver import Memory, Receiving, receiving, request

PERSON: Final = "51e26eae-d07b-44e5-bb0b-249f49569a8c"
OTHER: Final = "61e26eae-d07b-44e5-bb0b-249f49569a8c"
STRANGER: Final = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest_asyncio.fixture
async def running(tmp_path: Path) -> AsyncIterator[Receiving]:
    """A receiver that asks for no bearer token."""
    async with receiving(tmp_path) as made:
        yield made


def level_of(running: Receiving, person: str = PERSON) -> RiskLevel | None:
    """Return the level that CAEP told of a person."""
    entry = running.memory.snapshot.entry(RiskSource.CAEP, identity_key(person))
    return entry.level if entry else None


async def test_an_event_is_stored_and_acknowledged(running: Receiving) -> None:
    """202 without a body; Okta's Content-Type has a parameter at times."""
    token = running.transmitter.token(claims(PERSON))
    answer = await running.push(token, content_type="application/secevent+jwt; charset=utf-8")
    assert (answer.status, answer.body) == (202, b"")
    assert level_of(running) is RiskLevel.HIGH
    revoked = running.transmitter.token(claims(PERSON, "session-revoked"))
    assert (await running.push(revoked)).status == 202
    assert running.counted() == {"changed": 2}


async def test_an_answer_comes_after_the_event_is_stored(tmp_path: Path) -> None:
    """Never before: a transmitter forgets what was acknowledged."""
    memory = Memory(held=asyncio.Event())
    async with receiving(tmp_path, memory) as running:
        assert memory.held is not None
        pushing = asyncio.create_task(running.push(running.transmitter.token(claims(PERSON))))
        await asyncio.sleep(0.2)
        assert not pushing.done()
        memory.held.set()
        assert (await pushing).status == 202
        assert level_of(running) is RiskLevel.HIGH


async def test_a_write_that_begins_again_counts_once(tmp_path: Path) -> None:
    """Another writer was faster, twice."""
    async with receiving(tmp_path, Memory(conflicts=2)) as running:
        assert (await running.push(running.transmitter.token(claims(PERSON)))).status == 202
        assert running.counted() == {"changed": 1}


REFUSED: Final[list[tuple[dict[str, Any], str, str]]] = [
    ({"iss": "https://other.example/"}, "invalid_issuer", "issuer"),
    ({"aud": "https://other.example/"}, "invalid_audience", "audience"),
    ({"sub": PERSON}, "invalid_request", "malformed"),
    ({"exp": 2_000_000_000}, "invalid_request", "malformed"),
    ({"jti": None}, "invalid_request", "malformed"),
    ({"events": {}}, "invalid_request", "malformed"),
    ({"events": {CAEP + "risk-level-change": {}}}, "invalid_request", "malformed"),
    ({"iat": int(time.time()) - 4000}, "invalid_request", "time"),
    ({"iat": int(time.time()) + 1_000_000}, "invalid_request", "future"),
    ({"sub_id": {"format": "email", "email": "ada@example.com"}}, "invalid_request", "subject"),
    ({"sub_id": None}, "invalid_request", "subject"),
    (
        {"events": {CAEP + "session-revoked": {"event_timestamp": 4_000_000_000}}},
        "invalid_request",
        "future",
    ),
]


@pytest.mark.parametrize(("changes", "error", "result"), REFUSED)
async def test_a_token_that_is_wrong_is_refused_and_changes_nothing(
    running: Receiving, changes: dict[str, Any], error: str, result: str
) -> None:
    """400 with the RFC's word; counted by the reason; the snapshot is the same object."""
    before = running.memory.snapshot
    answer = await running.push(running.transmitter.token(claims(PERSON, **changes)))
    assert answer.status == 400
    assert answer.headers["content-type"] == "application/json"
    said = json.loads(answer.body)
    assert (said["err"], sorted(said)) == (error, ["description", "err"])
    assert "ada" not in said["description"]
    assert running.memory.snapshot is before
    assert running.counted() == {result: 1}


async def test_what_the_issuer_did_not_sign_is_refused(running: Receiving) -> None:
    """Wrongly signed, unsigned, cut short, and no token at all."""
    before = running.memory.snapshot
    good = running.transmitter.token(claims(PERSON))
    forged = running.transmitter.token(claims(PERSON), key=STRANGER)
    unsigned = running.transmitter.token(claims(PERSON), algorithm="none", key="")
    for token, error, result in (
        (forged, "invalid_key", "key"),
        (unsigned, "invalid_key", "key"),
        (good.rpartition(b".")[0] + b".", "invalid_key", "key"),
        (good[:-9], "invalid_key", "key"),
        (good[: len(good) // 3], "invalid_request", "malformed"),
        (b"not a token", "invalid_request", "malformed"),
        (b"", "invalid_request", "malformed"),
        (b'{"alg":"none"}', "invalid_request", "malformed"),
    ):
        counted = running.counted().get(result, 0)
        answer = await running.push(token)
        assert (answer.status, json.loads(answer.body)["err"]) == (400, error)
        assert running.counted()[result] == counted + 1
    assert running.memory.snapshot is before


async def test_a_replayed_token_changes_nothing(running: Receiving) -> None:
    """Acknowledged again, since the first answer may have been lost, but counted, not stored."""
    token = running.transmitter.token(claims(PERSON))
    assert (await running.push(token)).status == 202
    later = running.transmitter.token(
        claims(PERSON, events={CAEP + "risk-level-change": {**_low(), "event_timestamp": _soon()}})
    )
    assert (await running.push(later)).status == 202
    before = running.memory.snapshot
    assert level_of(running) is RiskLevel.LOW
    for _ in range(3):
        assert (await running.push(token)).status == 202
    assert running.memory.snapshot is before
    assert running.counted() == {"changed": 2, "replayed": 3}


async def test_another_token_with_a_known_id_is_refused(running: Receiving) -> None:
    """An id names one event for ever (RFC 8417, 2.2)."""
    said = claims(PERSON)
    assert (await running.push(running.transmitter.token(said))).status == 202
    before = running.memory.snapshot
    answer = await running.push(running.transmitter.token({**said, "iat": said["iat"] + 1}))
    assert (answer.status, json.loads(answer.body)["err"]) == (400, "invalid_request")
    assert running.memory.snapshot is before
    assert running.counted() == {"changed": 1, "replayed": 1}


async def test_a_replay_after_a_restart_changes_nothing(tmp_path: Path) -> None:
    """The memory of ids is lost then; that an entry gives way only to a later one is not."""
    memory = Memory()
    async with receiving(tmp_path, memory) as first:
        old = first.transmitter.token(claims(PERSON))
        new = {**_low(), "event_timestamp": _soon()}
        tokens = [
            old,
            first.transmitter.token(claims(PERSON, events={CAEP + "risk-level-change": new})),
            first.transmitter.token(claims(PERSON, "session-revoked")),
        ]
        keys, private = first.transmitter.keys, first.transmitter.rsa
        for token in tokens:
            assert (await first.push(token)).status == 202
    before = memory.snapshot
    (tmp_path / "again").mkdir()
    async with receiving(tmp_path / "again", memory) as second:
        second.transmitter.keys, second.transmitter.rsa = keys, private
        for token in tokens:
            assert (await second.push(token)).status == 202
        assert second.counted() == {"older": 1, "same": 2}
    assert memory.snapshot is before


async def test_the_memory_of_ids_is_bounded(
    running: Receiving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest is forgotten; taken again, it changes nothing."""
    monkeypatch.setattr(module, "MOST_SEEN", 2)
    tokens = [running.transmitter.token(claims(PERSON)) for _ in range(3)]
    for token in (*tokens, tokens[2], tokens[0]):
        assert (await running.push(token)).status == 202
    assert running.counted() == {"changed": 1, "same": 3, "replayed": 1}


async def test_events_that_are_not_for_us_are_acknowledged(running: Receiving) -> None:
    """A verification of the stream, other types, a device's risk: 202, and nothing is stored."""
    verification = "https://schemas.openid.net/secevent/ssf/event-type/verification"
    device = {CAEP + "risk-level-change": {"principal": "DEVICE", "current_level": "HIGH"}}
    told: tuple[dict[str, Any], ...] = (
        {verification: {"state": "x"}},
        {CAEP + "credential-change": {}},
        device,
    )
    for events in told:
        token = running.transmitter.token(claims(PERSON, events=events))
        assert (await running.push(token)).status == 202
    assert running.counted() == {"acknowledged": 3}
    assert running.memory.writes == 0


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"path": "/"}, 404),
        ({"path": "/v1/security-events/"}, 404),
        ({"method": "GET"}, 405),
        ({"method": "PUT"}, 405),
        ({"content_type": "application/jwt"}, 400),
        ({"content_type": None}, 400),
        ({"content_length": "70000"}, 413),
        ({"content_length": None, "transfer_encoding": "chunked"}, 411),
    ],
)
async def test_what_is_no_such_request_is_refused(
    running: Receiving, changes: dict[str, Any], status: int
) -> None:
    """Before its body is read, and the connection is closed."""
    token = running.transmitter.token(claims(PERSON))
    body = b"" if "transfer_encoding" in changes else token
    answer = await running.send(request(body, **changes))
    assert (answer.status, answer.closes) == (status, True)
    assert json.loads(answer.body)["err"] == "invalid_request"
    assert running.counted() == {"request": 1}
    assert running.memory.writes == 0


async def test_a_bearer_token_is_demanded_where_one_is_set(tmp_path: Path) -> None:
    """Compared whole, read anew each time; an empty or missing file lets nobody in."""
    secret = tmp_path / "bearer"
    secret.write_text("s3cret-of-the-transmitter\n")
    async with receiving(tmp_path, token_file=secret) as running:
        token = running.transmitter.token(claims(PERSON))
        for shown in (None, "", "s3cret-of-the-transmitter", "Bearer ", "Bearer s3cret"):
            answer = await running.push(token, authorization=shown)
            assert (answer.status, json.loads(answer.body)["err"]) == (400, "authentication_failed")
        basic = await running.push(token, authorization="Basic s3cret-of-the-transmitter")
        assert basic.status == 400
        assert running.transmitter.asked == 0, "nothing was verified for a stranger"
        right = "bearer s3cret-of-the-transmitter"
        assert (await running.push(token, authorization=right)).status == 202
        secret.write_text("renewed")
        assert (await running.push(token, authorization=right)).status == 400
        assert (await running.push(token, authorization="Bearer renewed")).status == 202
        secret.write_text("")
        assert (await running.push(token, authorization="Bearer ")).status == 400
        secret.unlink()
        assert (await running.push(token, authorization="Bearer renewed")).status == 503
        assert running.counted() == {"sender": 9, "changed": 1, "replayed": 1}


async def test_no_log_and_no_answer_quotes_a_token(running: Receiving) -> None:
    """Canaries in every claim and header, in tokens that are taken and refused."""
    canary = "ada-canary@example.com"
    texts: list[str] = []
    with capture_logs() as logs:
        for said in (
            claims(PERSON, jti=canary),
            claims(PERSON, jti=canary + "2", reason_admin={"en": canary}),
            claims(PERSON, iss=canary),
            claims(PERSON, aud=canary),
            claims(canary),
            claims(PERSON, events={canary: {}}),
        ):
            for header in ({}, {"kid": canary}, {"typ": canary}):
                token = running.transmitter.token(said, header=header)
                answer = await running.push(token, x_name=canary)
                texts.append(answer.body.decode() + repr(answer.headers))
    told = repr((texts, logs, dict(running.memory.snapshot.records()))) + repr(
        [entry for _, entry in running.memory.snapshot.entries(RiskSource.CAEP)]
    )
    assert "canary" not in told
    assert "security event not taken" in told
    assert running.counted()["changed"] >= 1


def _low() -> dict[str, Any]:
    return {"principal": "USER", "current_level": "LOW"}


def _soon() -> int:
    return int(time.time()) + 60
