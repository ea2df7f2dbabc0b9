"""Decides which CAs are trusted, which one signs, and which leaves are made anew.

Two rules leave no gap. A new CA is first only added to the bundle; it signs once every place that
holds the bundle has been seen with it for `distribution`, in which every party reads its place
again. A former CA stays in the bundle until no leaf that it signed can be valid any more: so a
gate that is cut off for weeks, and shows its old leaf, is trusted as long as that leaf is valid.
"""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from cryptography import x509

from certs.authority import (
    SKEW,
    KeyPair,
    LeafNames,
    is_for,
    is_issued_by,
    is_pair,
    is_valid,
    issue,
    make_authority,
    read_certificate,
    read_certificates,
    validity,
    write_certificate,
)
from certs.lifetimes import RotationSettings


@dataclass(frozen=True)
class Authority:
    """A CA of the bundle."""

    certificate: bytes
    key: bytes | None = field(default=None, repr=False)
    """None for one that signs nothing any more."""
    distributed: dt.datetime | None = None
    """Since when every place has been seen with it."""
    signed_until: dt.datetime | None = None
    """When the last leaf that it signed ends; None is not known, so its own end at the latest."""


@dataclass(frozen=True)
class Leaf:
    """A pair and the bundle beside it, as a Secret holds them; any of it may be broken."""

    pair: KeyPair
    bundle: bytes


@dataclass(frozen=True)
class RotationState:
    """All that was found, and what is to be there."""

    authorities: tuple[Authority, ...] = ()
    """Oldest first; none where there are none yet, or their record is lost."""
    leaves: Mapping[str, Leaf] = field(default_factory=dict)
    bundles: tuple[bytes, ...] = ()
    """The bundles of all further places (webhook configurations)."""


def plan_rotation(
    state: RotationState,
    wanted: Mapping[str, LeafNames],
    now: dt.datetime,
    settings: RotationSettings,
) -> RotationState:
    """Return what is to be there; nothing but the keys that are made depends on chance.

    Write it in this order: authorities, leaves, bundles. A stop in between is harmless.
    """
    places = _places(state, wanted)
    found = _read(state.authorities, now) or _salvage(places, now)
    found = _mark(found, places, now, settings)
    if _is_due(found, now, settings):
        pair = make_authority("Sallyport CA", validity(now, settings.authority_lifetime))
        found.append(Authority(pair.certificate, pair.key, None, now.replace(microsecond=0)))
    trust = _choose(found, now, settings)
    bundle = b"".join(each.certificate for each in trust.authorities)
    leaves = {
        name: Leaf(_renew(state.leaves.get(name), names, trust, now, settings), bundle)
        for name, names in wanted.items()
    }
    made = [leaf.pair for name, leaf in leaves.items() if leaf.pair != _pair_of(state, name)]
    return RotationState(_note_signed(trust, made), leaves, (bundle,) * len(state.bundles))


def _read(authorities: Iterable[Authority], now: dt.datetime) -> list[Authority]:
    """Keep what can be read and has not expired; a key that is another's is left out.

    One that is not valid yet is kept: a clock that was ahead made it, or ours lags behind.
    """
    kept = []
    for each in authorities:
        certificates = read_certificates(each.certificate)
        if certificates and certificates[0].not_valid_after_utc > now:
            sound = each.key is not None and is_pair(KeyPair(each.certificate, each.key))
            kept.append(each if sound else replace(each, key=None))
    return kept


def _salvage(places: list[set[x509.Certificate]], now: dt.datetime) -> list[Authority]:
    """Go on trusting what every place holds, though the record of the CAs is lost.

    Of every one: so whoever can write one Secret is not trusted elsewhere for it. To trust nothing
    of before, delete a pair as well.
    """
    held = set[x509.Certificate].intersection(*places)
    return [
        Authority(write_certificate(ca))
        for ca in sorted(held, key=lambda ca: ca.not_valid_before_utc)
        if is_valid(ca, now)
    ]


def _places(state: RotationState, wanted: Mapping[str, LeafNames]) -> list[set[x509.Certificate]]:
    """Return the CAs that each place holds; a leaf that is missing holds none."""
    leaves = (state.leaves.get(name) for name in wanted)
    bundles = [leaf.bundle if leaf else b"" for leaf in leaves]
    return [set(read_certificates(bundle)) for bundle in (*bundles, *state.bundles)]


def _mark(
    found: list[Authority],
    places: list[set[x509.Certificate]],
    now: dt.datetime,
    settings: RotationSettings,
) -> list[Authority]:
    """Note which CAs are everywhere now; one that was and is not begins again, till it signs."""
    marked = []
    for each in found:
        certificate = read_certificate(each.certificate)
        everywhere = all(certificate in place for place in places)
        since = each.distributed if each.distributed and each.distributed <= now else None
        if since is None or now - since < settings.distribution:
            since = (since or now) if everywhere else None
        marked.append(replace(each, distributed=since))
    return marked


def _is_due(found: list[Authority], now: dt.datetime, settings: RotationSettings) -> bool:
    """Return whether a new CA is needed: there is none that can sign, or the newest is old."""
    able = [each for each in found if _can_sign(each, now)]
    if not able:
        return True
    return now >= replacement_time(
        read_certificate(able[-1].certificate), settings.authority_lifetime
    )


def _can_sign(authority: Authority, now: dt.datetime) -> bool:
    return authority.key is not None and is_valid(read_certificate(authority.certificate), now)


def replacement_time(certificate: x509.Certificate, lifetime: dt.timedelta) -> dt.datetime:
    """Say when it is replaced: after two thirds of its life, or of what a life is to be now."""
    made = certificate.not_valid_before_utc + SKEW
    return made + min(certificate.not_valid_after_utc - made, lifetime) * 2 / 3


@dataclass(frozen=True)
class _Trust:
    """What is trusted, and what signs."""

    authorities: tuple[Authority, ...]
    signer: Authority
    everywhere: bool
    """Whether every party trusts the signer by now."""


def _choose(found: list[Authority], now: dt.datetime, settings: RotationSettings) -> _Trust:
    """Have the newest CA sign that everyone trusts; if there is none, the oldest that can.

    Then former CAs lose their keys, and leave once all that they signed has expired.
    """
    signer = (
        signing_authority(found, now, settings) or found[-1]
    )  # `_is_due` saw to it that one can.
    if _known_for(signer, now) < settings.distribution:
        return _Trust(tuple(found), signer, everywhere=False)
    at = found.index(signer)
    former = (replace(each, key=None) for each in found[:at] if trusted_until(each) > now)
    return _Trust((*former, *found[at:]), signer, everywhere=True)


def signing_authority(
    authorities: Iterable[Authority], now: dt.datetime, settings: RotationSettings
) -> Authority | None:
    """Return the one that signs; None where none can."""
    able = [each for each in authorities if _can_sign(each, now)]
    known = [each for each in able if _known_for(each, now) >= settings.distribution]
    return next(iter(known[-1:] or able), None)


def trusted_until(authority: Authority) -> dt.datetime:
    """Say until when one that signs nothing more must be trusted."""
    end = read_certificate(authority.certificate).not_valid_after_utc
    return min(end, authority.signed_until or end)


def _known_for(authority: Authority, now: dt.datetime) -> dt.timedelta:
    """Return for how long every place has had it."""
    return now - authority.distributed if authority.distributed else dt.timedelta(-1)


def _renew(
    leaf: Leaf | None,
    names: LeafNames,
    trust: _Trust,
    now: dt.datetime,
    settings: RotationSettings,
) -> KeyPair:
    """Keep a pair that works; one that is old is replaced once everyone trusts the signer."""
    if leaf and _works(leaf.pair, names, trust, now):
        old = now >= replacement_time(
            read_certificate(leaf.pair.certificate), settings.leaf_lifetime
        )
        if not (old and trust.everywhere):
            return leaf.pair
    signer = KeyPair(trust.signer.certificate, trust.signer.key or b"")
    return issue(signer, names, validity(now, settings.leaf_lifetime))


def _works(pair: KeyPair, names: LeafNames, trust: _Trust, now: dt.datetime) -> bool:
    """Return whether everyone who trusts the bundle takes it."""
    if not is_pair(pair):
        return False
    certificate = read_certificate(pair.certificate)
    bundle = [read_certificate(each.certificate) for each in trust.authorities]
    valid = [ca for ca in bundle if is_valid(ca, now)]
    return (
        is_valid(certificate, now)
        and is_issued_by(certificate, valid)
        and is_for(certificate, names)
    )


def _pair_of(state: RotationState, name: str) -> KeyPair | None:
    leaf = state.leaves.get(name)
    return leaf.pair if leaf else None


def _note_signed(trust: _Trust, made: Iterable[KeyPair]) -> tuple[Authority, ...]:
    """Note on the signer how long it must be trusted for what it has just signed."""
    known = trust.signer.signed_until
    ends = [read_certificate(pair.certificate).not_valid_after_utc for pair in made]
    if known is None or not ends:
        return trust.authorities
    signer = replace(trust.signer, signed_until=max(known, *ends))
    return tuple(signer if each is trust.signer else each for each in trust.authorities)
