"""The keys that sign the ledger, over time and over damage."""

import datetime as dt
from dataclasses import replace

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from certs.ledger_keys import LedgerKeys, LedgerKeySettings, PublicKey, key_id, plan_ledger_keys

START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
DAY = dt.timedelta(days=1)
SETTINGS = LedgerKeySettings()


def public_of(private: bytes) -> bytes:
    """Return the public part of a private key."""
    key = serialization.load_pem_private_key(private, password=None)
    assert isinstance(key, Ed25519PrivateKey)
    return key.public_key().public_bytes_raw()


def signing(keys: LedgerKeys) -> PublicKey:
    """Return the public key of what signs now."""
    (found,) = [key for key in keys.public if key.raw == public_of(keys.current)]
    return found


def test_the_first_key_signs_at_once() -> None:
    """And stays as it is for eleven months."""
    keys = plan_ledger_keys(None, START, SETTINGS)
    assert keys.coming is None
    assert keys.public == (
        PublicKey(key_id(public_of(keys.current)), public_of(keys.current), START),
    )
    assert plan_ledger_keys(keys, START + DAY * 334, SETTINGS) == keys


def test_a_key_is_shown_before_it_signs_and_kept_when_it_has() -> None:
    """A month before, its public part; a year later, the former's with its end."""
    first = plan_ledger_keys(None, START, SETTINGS)
    shown = plan_ledger_keys(first, START + DAY * 335, SETTINGS)
    assert shown.current == first.current
    assert shown.coming is not None
    assert shown.public[1].raw == public_of(shown.coming)
    assert shown.public[1].since == START + DAY * 365
    after = plan_ledger_keys(shown, START + DAY * 365, SETTINGS)
    assert (after.current, after.coming) == (shown.coming, None)
    assert after.public[0].until == after.public[1].since == START + DAY * 365
    assert after.public[0].raw == public_of(first.current)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([1, 20, 29, 31, 100, 364, 366, 1000]), max_size=20))
def test_whatever_the_pauses_each_key_was_shown_in_time(pauses: list[int]) -> None:
    """No key signs that was not public for the whole overlap; none is forgotten; no gaps."""
    now, keys = START, plan_ledger_keys(None, START, SETTINGS)
    first_seen = {key.id: now for key in keys.public}
    for pause in pauses:
        now += DAY * pause
        known = {key.id for key in keys.public}
        keys = plan_ledger_keys(keys, now, SETTINGS)
        for key in keys.public:
            first_seen.setdefault(key.id, now)
        assert known <= {key.id for key in keys.public}
        current = signing(keys)
        assert current.until is None
        assert current.since <= now
        assert (
            current.id == keys.public[0].id
            or current.since - first_seen[current.id] >= SETTINGS.overlap
        )
        used = [key for key in keys.public if key.since <= now]
        assert [key.until for key in used[:-1]] == [key.since for key in used[1:]]


def test_a_broken_key_is_replaced_and_its_public_part_is_kept() -> None:
    """What it signed is verified for years."""
    keys = plan_ledger_keys(None, START, SETTINGS)
    now = START + DAY
    mended = plan_ledger_keys(replace(keys, current=b"junk"), now, SETTINGS)
    assert mended.public[0] == replace(keys.public[0], until=now)
    assert signing(mended).since == now
    assert plan_ledger_keys(mended, now + DAY, SETTINGS) == mended


def test_a_broken_key_is_replaced_by_the_coming_one() -> None:
    """Which verifiers know already."""
    shown = plan_ledger_keys(plan_ledger_keys(None, START, SETTINGS), START + DAY * 340, SETTINGS)
    now = START + DAY * 341
    mended = plan_ledger_keys(replace(shown, current=b""), now, SETTINGS)
    assert mended.current == shown.coming
    assert signing(mended).since == now
    assert mended.public[0].until == now


def test_public_keys_that_are_lost_are_made_from_the_private_ones() -> None:
    """The current one and the coming one."""
    shown = plan_ledger_keys(plan_ledger_keys(None, START, SETTINGS), START + DAY * 340, SETTINGS)
    mended = plan_ledger_keys(replace(shown, public=()), START + DAY * 341, SETTINGS)
    assert {key.raw for key in mended.public} >= {public_of(shown.current)}
    assert signing(mended).raw in {public_of(shown.current), public_of(shown.coming or b"")}


def test_a_key_of_the_future_signs_all_the_same() -> None:
    """A clock that was ahead made it; the ledger must be signed."""
    ahead = plan_ledger_keys(None, START + DAY * 900, SETTINGS)
    mended = plan_ledger_keys(ahead, START, SETTINGS)
    assert mended.current == ahead.current
    assert signing(mended).since == START
