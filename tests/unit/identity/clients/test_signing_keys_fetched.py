"""Keys of an issuer are fetched when they must be, and no more often."""

import asyncio
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from core.base.errors import SettingsError
from identity.clients.signing_keys import (
    MOST_KEY_BYTES,
    KeysUnavailable,
    SigningKeys,
    UnverifiedToken,
    VerifiedToken,
)
from identity.push.security_events import SecurityEventSettings
from tests.harness.fakes.event_transmitter import AUDIENCE, ISSUER, Transmitter, claims
from tests.unit.identity.clients.issuer import PERSON, Clock, public, refused, settings_of


async def test_a_new_key_is_fetched_at_once_and_unknown_ones_cause_no_flood(
    transmitter: Transmitter, keys: SigningKeys, clock: Clock
) -> None:
    """A rotation works without waiting; strangers cause one request in five minutes."""
    assert isinstance(await keys.verify(transmitter.token(claims(PERSON))), VerifiedToken)
    new = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    token = transmitter.token(claims(PERSON), key=new, header={"kid": "new"})
    transmitter.keys.append(public(RSAAlgorithm, new, kid="new"))
    assert isinstance(await keys.verify(token), VerifiedToken)
    assert transmitter.asked == 2
    stranger = transmitter.token(claims(PERSON), key=new, header={"kid": "other"})
    clock.now += 100
    for _ in range(20):
        found = await keys.verify(stranger)
        assert found == KeysUnavailable("its key is not known; keys were fetched just now", 200.0)
    assert transmitter.asked == 2
    clock.now += 200
    assert (await refused(keys, stranger)).of_key
    assert transmitter.asked == 3


async def test_a_key_that_is_withdrawn_counts_no_longer(
    transmitter: Transmitter, keys: SigningKeys, clock: Clock
) -> None:
    """After an hour at the latest."""
    token = transmitter.token(claims(PERSON))
    assert isinstance(await keys.verify(token), VerifiedToken)
    transmitter.keys = transmitter.keys[1:]
    assert isinstance(await keys.verify(token), VerifiedToken)
    clock.now += 3601
    assert isinstance(await keys.verify(token), UnverifiedToken)


async def test_known_keys_are_used_for_a_day_while_their_site_is_away(
    transmitter: Transmitter, keys: SigningKeys, clock: Clock
) -> None:
    """And then nothing is verified any more: nobody knows whether they were withdrawn."""
    token = transmitter.token(claims(PERSON))
    assert isinstance(await keys.verify(token), VerifiedToken)
    transmitter.stop()
    for _ in range(23):
        clock.now += 3600
        assert isinstance(await keys.verify(token), VerifiedToken)
    assert "cannot connect to 127.0.0.1" in keys.problem
    clock.now += 2 * 3600
    assert isinstance(await keys.verify(token), KeysUnavailable)
    transmitter.start()
    clock.now += 11
    assert isinstance(await keys.verify(token), VerifiedToken)
    assert not keys.problem


@pytest.mark.parametrize(
    "answer",
    [
        (404, {}, b""),
        (302, {"Location": "/other"}, b""),
        (200, {}, b"not JSON"),
        (200, {}, b'{"keys": {}}'),
        (200, {}, b'{"keys": [], "keys": []}'),
        (200, {}, json.dumps({"keys": [{}] * 101}).encode()),
        (200, {}, b'{"keys": []}' + b" " * MOST_KEY_BYTES),
        (200, {"Content-Encoding": "gzip"}, b"not gzip"),
    ],
    ids=range(8),
)
async def test_a_site_that_gives_no_keys_is_asked_again_later(
    transmitter: Transmitter,
    keys: SigningKeys,
    clock: Clock,
    answer: tuple[int, dict[str, str], bytes],
) -> None:
    """Nothing can be said of a token then: it is neither taken nor refused. At most every 10 s."""
    transmitter.answer = answer
    token = transmitter.token(claims(PERSON))
    for _ in range(5):
        assert isinstance(await keys.verify(token), KeysUnavailable)
    assert keys.problem
    assert transmitter.asked == 1
    transmitter.answer = None
    clock.now += 11
    assert isinstance(await keys.verify(token), VerifiedToken)


async def test_many_at_once_fetch_the_keys_once(
    transmitter: Transmitter, keys: SigningKeys
) -> None:
    """Twenty tokens that come before there are keys."""
    tokens = [transmitter.token(claims(PERSON)) for _ in range(20)]
    found = await asyncio.gather(*(keys.verify(token) for token in tokens))
    assert all(isinstance(each, VerifiedToken) for each in found)
    assert transmitter.asked == 1


async def test_a_site_that_is_not_trusted_gives_no_keys(transmitter: Transmitter) -> None:
    """Its certificate is of another CA."""
    public_ones = SecurityEventSettings(ISSUER, AUDIENCE, transmitter.keys_url)
    keys = SigningKeys(public_ones)
    assert isinstance(await keys.verify(transmitter.token(claims(PERSON))), KeysUnavailable)
    assert "not trusted" in keys.problem
    await keys.close()


def test_a_ca_that_cannot_be_read_is_a_wrong_setting(
    transmitter: Transmitter, tmp_path: Path
) -> None:
    """It is told at the start."""
    with pytest.raises(SettingsError, match=r"identity\.security_events\.trust"):
        SigningKeys(settings_of(transmitter, tmp_path / "missing.pem"))
