"""Broken, half-written, foreign and expired contents, and clocks that are off."""

import base64
import datetime as dt
from collections.abc import Callable
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from certs.authority import KeyPair, issue, make_authority, read_certificates, validity
from certs.rotation import Authority, Leaf, RotationState
from tests.unit.certs.world import SETTINGS, START, WANTED, World

MINUTE, DAY, YEAR = dt.timedelta(minutes=1), dt.timedelta(days=1), dt.timedelta(days=365)
FOREIGN = make_authority("Foreign CA", validity(START, YEAR))


def foreign(name: str) -> Leaf:
    """Return a sound pair of another CA, with that one's bundle."""
    pair = issue(FOREIGN, WANTED[name], validity(START, SETTINGS.leaf_lifetime))
    return Leaf(pair, FOREIGN.certificate)


def settled() -> World:
    """Return a world whose CA has been everywhere for a day."""
    world = World()
    for _ in range(3):
        world.pass_()
        world.now += DAY / 2
    return world


CURVE = bytes.fromhex("06082a8648ce3d0301")
VERSION = bytes.fromhex("a003020102")
ALTERNATIVE = bytes.fromhex("0603551d11")


def spoilt(certificate: bytes, part: bytes, other: bytes) -> bytes:
    """Return it with other bytes in one place: PEM that is read, and breaks when it is used."""
    der = read_certificates(certificate)[0].public_bytes(serialization.Encoding.DER)
    assert part in der
    body = base64.encodebytes(der.replace(part, other)).decode()
    return f"-----BEGIN CERTIFICATE-----\n{body}-----END CERTIFICATE-----\n".encode()


SPOILS: dict[str, Callable[[bytes], bytes]] = {
    "an unknown curve": lambda one: spoilt(one, CURVE, CURVE[:-2] + b"\x7f\x01"),
    "an unknown version": lambda one: spoilt(one, VERSION, VERSION[:-1] + b"\x26"),
    "one extension twice": lambda one: spoilt(one, bytes.fromhex("0603551d23"), ALTERNATIVE),
}


def spoil_leaf(how: str) -> Callable[[Leaf], Leaf]:
    """Return what does it to a pair's certificate."""
    return lambda leaf: Leaf(
        KeyPair(SPOILS[how](leaf.pair.certificate), leaf.pair.key), leaf.bundle
    )


def odd_key() -> bytes:
    """Return a key that is sound, and of no use here."""
    return X25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


BREAKS: dict[str, Callable[[Leaf], Leaf]] = {
    "empty": lambda _: Leaf(KeyPair(b"", b""), b""),
    "junk": lambda _: Leaf(KeyPair(b"\xff\x00", b"junk"), b"-----BEGIN"),
    "half-written": lambda leaf: Leaf(KeyPair(leaf.pair.certificate[:200], leaf.pair.key), b""),
    "another's key": lambda leaf: Leaf(KeyPair(leaf.pair.certificate, FOREIGN.key), leaf.bundle),
    "no bundle": lambda leaf: Leaf(leaf.pair, b""),
    "foreign": lambda _: foreign("gate"),
    "another's names": lambda _: foreign("client"),
    "a key for something else": lambda leaf: Leaf(
        KeyPair(leaf.pair.certificate, odd_key()), leaf.bundle
    ),
    **{how: spoil_leaf(how) for how in SPOILS},
}


@pytest.mark.parametrize("damage", BREAKS)
def test_a_leaf_that_is_damaged_is_mended_at_once(damage: str) -> None:
    """And nothing else changes; least of all what is trusted."""
    world = settled()
    before = world.state
    broken = BREAKS[damage](before.leaves["gate"])
    world.state = replace(before, leaves={**before.leaves, "gate": broken})
    world.pass_()
    assert world.problems() == []
    trusted = [(each.certificate, each.key) for each in world.state.authorities]
    assert trusted == [(each.certificate, each.key) for each in before.authorities]
    assert world.state.bundles == before.bundles
    others = {name: leaf for name, leaf in world.state.leaves.items() if name != "gate"}
    assert others == {name: leaf for name, leaf in before.leaves.items() if name != "gate"}
    assert world.pass_() == world.state


@pytest.mark.parametrize("how", ["an unknown curve", "an unknown version"])
def test_a_ca_that_breaks_when_it_is_used_stops_nothing(how: str) -> None:
    """In the record, and in every place while the record is lost: control goes on without it."""
    world = settled()
    spoil = SPOILS[how](FOREIGN.certificate)
    authorities = (Authority(spoil, FOREIGN.key), *world.state.authorities)
    world.state = replace(world.state, authorities=authorities)
    world.pass_()
    assert world.problems() == []
    assert spoil not in {each.certificate for each in world.state.authorities}
    leaves = {
        name: Leaf(leaf.pair, leaf.bundle + spoil) for name, leaf in world.state.leaves.items()
    }
    bundles = tuple(bundle + spoil for bundle in world.state.bundles)
    world.state = RotationState((), leaves, bundles)
    world.pass_()
    assert spoil not in world.state.bundles[0]
    assert world.problems() == []


def test_a_bundle_that_somebody_changed_is_put_back() -> None:
    """Also with more in it than there should be."""
    world = settled()
    right = world.state.bundles
    for wrong in (b"", b"junk", right[0] + FOREIGN.certificate):
        world.state = replace(world.state, bundles=(wrong,))
        world.pass_()
        assert world.state.bundles == right


@pytest.mark.parametrize("place", WANTED)
def test_what_one_place_holds_is_not_trusted_elsewhere(place: str) -> None:
    """The record of the CAs is lost, and one Secret holds a foreign CA and its leaf."""
    world = settled()
    leaves = {**world.state.leaves, place: foreign(place)}
    world.state = RotationState((), leaves, world.state.bundles)
    world.pass_()
    trusted = read_certificates(world.state.bundles[0])
    assert read_certificates(FOREIGN.certificate)[0] not in trusted
    world.now += SETTINGS.distribution * 2
    assert world.problems() == []


def test_everything_deleted_is_made_anew() -> None:
    """The way to trust nothing of before."""
    world = settled()
    old = world.state.bundles[0]
    world.state = RotationState(bundles=(old,))
    world.pass_()
    assert old not in world.state.bundles[0]
    world.now += SETTINGS.distribution
    assert world.problems() == []


def test_a_key_of_the_authority_that_is_broken_is_replaced_without_a_gap() -> None:
    """Its certificate stays trusted for what it signed; a new CA takes over in time."""
    world = settled()
    (only,) = world.state.authorities
    world.state = replace(world.state, authorities=(replace(only, key=b"junk"),))
    world.pass_()
    assert len(world.state.authorities) == 2
    for _ in range(3):
        world.now += SETTINGS.distribution
        world.pass_()
        assert world.problems() == []


def test_after_years_without_control_one_pass_mends_everything() -> None:
    """All has expired: there is nobody left to ask for patience."""
    world = settled()
    world.now += YEAR * 2
    world.pass_()
    world.now += SETTINGS.distribution
    assert world.problems() == []
    assert len(world.state.authorities) == 1


def test_what_a_clock_ahead_made_is_mended_by_one_that_is_right() -> None:
    """Not valid yet, to everyone whose clock is right: made anew, and mended in one pass."""
    world = World(now=START + YEAR)
    world.pass_()
    world.now = START
    world.leaves = {name: [] for name in WANTED}
    world.bundles = []
    world.pass_()
    assert world.problems() == []
    world.now += DAY
    world.pass_()
    assert world.problems() == []


def test_a_distribution_of_the_future_counts_from_now() -> None:
    """A mark by a clock that was ahead must not let a CA sign early, nor never."""
    world = settled()
    pair = make_authority("Next", validity(world.now, YEAR))
    ahead = Authority(pair.certificate, pair.key, world.now + DAY)
    world.state = replace(world.state, authorities=(*world.state.authorities, ahead))
    world.pass_()
    assert world.state.authorities[1].distributed is None
    world.now += MINUTE
    world.pass_()
    assert world.state.authorities[1].distributed == world.now
    assert [bool(each.key) for each in world.state.authorities] == [True, True]
    world.now += SETTINGS.distribution
    world.pass_()
    assert [bool(each.key) for each in world.state.authorities] == [False, True]
    assert world.problems() == []


def test_a_clock_an_hour_back_changes_nothing() -> None:
    """The five minutes at the beginning are used up, but nothing was made just now."""
    world = settled()
    before = world.state
    world.now -= dt.timedelta(hours=1)
    assert world.pass_() == before
