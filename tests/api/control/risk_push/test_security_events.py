"""Security events over real HTTPS end in the snapshot that a real kube-apiserver stores."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from core.risk.model import RiskLevel, RiskSource, identity_key
from kube.client.objects import Objects
from kube.risk.store import RiskStore
from tests.api.control.risk_push.senders import head_version, person
from tests.api.kube.risk import connected, risky, store
from tests.harness.fakes.event_transmitter import CAEP, Transmitter, claims
from tests.harness.programs.apiserver import ApiServer
from tests.unit.control.risk.event_receiver import Receiving, receiving_from

PEOPLE = 30
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def transmitter(tmp_path: Path) -> Iterator[Transmitter]:
    """An issuer and its keys."""
    with Transmitter(tmp_path) as running:
        yield running


async def push(running: Receiving, token: bytes) -> float:
    """Push a token until it is acknowledged, as a transmitter does; give the seconds it took."""
    began = time.monotonic()
    while time.monotonic() - began < 90:
        answer = await running.push(token)
        if answer.status == 202:
            return time.monotonic() - began
        assert answer.status == 503, answer
        await asyncio.sleep(0.1)
    raise AssertionError("it was not taken in 90 s")


async def test_an_acknowledged_event_is_stored(
    apiserver: ApiServer, namespace: str, transmitter: Transmitter
) -> None:
    """What another process reads right after the answer has it, beside Entra's; prints times."""
    async with store(apiserver, namespace) as ours, store(apiserver, namespace) as other:
        await other.update(risky(1))
        took = []
        async with receiving_from(transmitter, ours) as running:
            for number in range(10):
                took.append(await push(running, transmitter.token(claims(person(number)))))
                entry = (await other.read()).entry(RiskSource.CAEP, identity_key(person(number)))
                assert entry is not None
                assert entry.level is RiskLevel.HIGH
        assert len(list((await other.read()).entries(RiskSource.ENTRA))) == 1
    took.sort()
    print(f"POST to store: median {took[4] * 1000:.0f} ms, most {took[-1] * 1000:.0f} ms")
    assert took[4] < 5


async def test_two_replicas_take_events_at_once_and_lose_none(
    apiserver: ApiServer, namespace: str, transmitter: Transmitter
) -> None:
    """Neither leads, and a leader polls meanwhile: each write names what it read."""
    async with store(apiserver, namespace) as one, store(apiserver, namespace) as two:
        async with (
            receiving_from(transmitter, one) as here,
            receiving_from(transmitter, two) as there,
            store(apiserver, namespace) as leader,
        ):

            async def poll() -> None:
                for number in range(20):
                    await leader.update(risky(number))

            pushes = [
                push((here, there)[number % 2], transmitter.token(claims(person(number))))
                for number in range(PEOPLE)
            ]
            await asyncio.gather(poll(), *pushes)
            assert here.counted()["changed"]
            assert there.counted()["changed"]
        found = await one.read()
        assert {key for key, _ in found.entries(RiskSource.CAEP)} == {
            identity_key(person(number)) for number in range(PEOPLE)
        }
        assert len(list(found.entries(RiskSource.ENTRA))) == 20


async def test_what_is_refused_leaves_the_stored_snapshot_as_it_is(
    apiserver: ApiServer, namespace: str, transmitter: Transmitter
) -> None:
    """Forged, unsigned, old, ahead, replayed: not one write reaches kube-apiserver."""
    now = int(time.time())
    good = transmitter.token(claims(person(1)))
    ahead = {CAEP + "session-revoked": {"event_timestamp": now + 1000}}
    async with store(apiserver, namespace) as ours, connected(apiserver) as connection:
        async with receiving_from(transmitter, ours) as running:
            await push(running, good)
            before = await head_version(connection, namespace)
            assert before
            for token, status in (
                (transmitter.token(claims(person(2)), key=STRANGER), 400),
                (transmitter.token(claims(person(2)), algorithm="none"), 400),
                (transmitter.token(claims(person(2), iat=now - 4000)), 400),
                (transmitter.token(claims(person(2), iat=now + 4000)), 400),
                (transmitter.token(claims(person(2), events=ahead)), 400),
                (transmitter.token(claims("ada@example.com")), 400),
                (good[:-4] + b"AAAA", 400),
                (b"junk", 400),
                (good, 202),
            ):
                assert (await running.push(token)).status == status
            counted = running.counted()
        assert await head_version(connection, namespace) == before
    assert counted == {
        "changed": 1,
        "key": 3,
        "time": 1,
        "future": 2,
        "subject": 1,
        "malformed": 1,
        "replayed": 1,
    }


async def test_an_event_waits_while_the_cluster_does_not_answer(
    apiserver: ApiServer, namespace: str, transmitter: Transmitter
) -> None:
    """503 until the store can be reached again; then the same token is stored."""
    token = transmitter.token(claims(person(1)))
    async with connected(apiserver) as connection:
        lost = RiskStore(Objects(connection, 0.5), "no-such-namespace")
        async with receiving_from(transmitter, lost) as running:
            answer = await running.push(token)
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
            assert namespace not in answer.body.decode()
    async with store(apiserver, namespace) as found, receiving_from(transmitter, found) as running:
        assert (await running.push(token)).status == 202
