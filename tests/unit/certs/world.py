"""A model of the places that hold pairs and bundles, and of parties that read them late."""

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import TypeVar

from certs.authority import (
    LeafNames,
    Purpose,
    is_issued_by,
    is_pair,
    is_valid,
    read_certificate,
    read_certificates,
)
from certs.lifetimes import RotationSettings
from certs.rotation import Leaf, RotationState, plan_rotation

START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
SETTINGS = RotationSettings()
WANTED = {
    "gate": LeafNames(Purpose.SERVER, ("gate.ns.svc",)),
    "auditor": LeafNames(Purpose.SERVER, ("auditor.ns.svc",)),
    "client": LeafNames(Purpose.CLIENT, uris=("sallyport://c/gate",)),
}

T = TypeVar("T")


@dataclass
class World:
    """What is stored now, and all that was stored before, with its time."""

    now: dt.datetime = START
    state: RotationState = field(default_factory=lambda: RotationState(bundles=(b"",)))
    leaves: dict[str, list[tuple[dt.datetime, Leaf]]] = field(
        default_factory=lambda: {name: [] for name in WANTED}
    )
    bundles: list[tuple[dt.datetime, bytes]] = field(default_factory=list)
    settings: RotationSettings = SETTINGS

    def pass_(self, writes: int = 99) -> RotationState:
        """Plan and write, one thing after the other; stop after so many writes."""
        planned = plan_rotation(self.state, WANTED, self.now, self.settings)
        for write in (
            self._write_authorities,
            *(lambda p, n=name: self._write_leaf(p, n) for name in WANTED),
            self._write_bundle,
        ):
            if writes <= 0:
                break
            writes -= bool(write(planned))
        return planned

    def _write_authorities(self, planned: RotationState) -> bool:
        changed = planned.authorities != self.state.authorities
        self.state = replace(self.state, authorities=planned.authorities)
        return changed

    def _write_leaf(self, planned: RotationState, name: str) -> bool:
        if planned.leaves[name] == self.state.leaves.get(name):
            return False
        self.state = replace(self.state, leaves={**self.state.leaves, name: planned.leaves[name]})
        self.leaves[name].append((self.now, planned.leaves[name]))
        return True

    def _write_bundle(self, planned: RotationState) -> bool:
        if planned.bundles == self.state.bundles:
            return False
        self.state = replace(self.state, bundles=planned.bundles)
        self.bundles.append((self.now, planned.bundles[0]))
        return True

    def problems(self) -> list[str]:
        """Name each pair and bundle that parties may hold now, and that do not fit."""
        since = self.now - self.settings.distribution
        held = {name: [leaf for _, leaf in recent(self.leaves[name], since)] for name in WANTED}
        bundles = {one.bundle for leaves in held.values() for one in leaves}
        bundles |= {bundle for _, bundle in recent(self.bundles, since)}
        return [
            f"{name} at {self.now}"
            for name, leaves in held.items()
            for leaf in leaves
            for bundle in bundles
            if not fits(leaf, bundle, self.now)
        ]


def recent(
    versions: list[tuple[dt.datetime, T]], since: dt.datetime
) -> list[tuple[dt.datetime, T]]:
    """Return the versions that someone may hold who reads at least as often."""
    before = [each for each in versions if each[0] <= since][-1:]
    return before + [each for each in versions if each[0] > since]


def fits(leaf: Leaf, bundle: bytes, now: dt.datetime) -> bool:
    """Return whether who holds this bundle takes this pair now."""
    certificate = read_certificate(leaf.pair.certificate)
    trusted = [ca for ca in read_certificates(bundle) if is_valid(ca, now)]
    return is_pair(leaf.pair) and is_valid(certificate, now) and is_issued_by(certificate, trusted)
