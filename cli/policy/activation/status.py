"""`sallyport policy status`: which published bundles are wanted, active and refused."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from app.settings.messages import name_setting
from app.settings.root import Settings
from core.base.errors import SettingsError
from core.base.times import milliseconds_of, time_text
from core.policy_bundles import CONTROL, GONE_S, GateAnnouncement
from kube.bundles.store import BundleStore
from kube.client.objects import open_objects

FORMAT: Final = 1


class GateStanding(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What one gate has."""

    name: str
    in_force: str
    """A revision that is published, or `base`."""
    revision: str
    loaded: list[str]
    refused: dict[str, str]
    """Why, by revision."""
    seen: str
    """RFC 3339: when it last said so, by its own clock."""
    problem: str = ""
    """What keeps it from loading what is wanted or active, and is tried again."""
    foreign: int = 0
    """Files of built-in policies in what is in force that are another release's than its own."""


class BundleStanding(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A bundle that is published."""

    revision: str
    source: str
    published: str
    digest: str
    built: str = ""
    """RFC 3339: when it says that it was built; empty where it does not."""


class Standing(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What `-o json` prints."""

    format: int = FORMAT
    namespace: str
    wanted: str
    active: str
    previous: str
    changed: str
    bundles: list[BundleStanding]
    gates: list[GateStanding]
    """That are there."""
    gone: list[str]
    """Gates that have announced nothing for 75 s: nobody waits for them."""
    control: GateStanding | None
    """What the leading `control` has; None where none has said so for 75 s."""

    source: str = ""
    """The image in a registry that `control` follows; empty where it follows none."""
    source_problem: str = ""
    """Why `control` does not take what is there."""
    not_before: str = ""
    """RFC 3339: what was built before, `control` does not take from there by itself."""

    @property
    def is_settled(self) -> bool:
        """Whether what is wanted is in force in every gate that is there, and nobody refuses."""
        return (
            self.wanted == self.active
            and all(gate.in_force == self.active and not gate.refused for gate in self.gates)
            and (self.control is None or not self.control.refused)
            and not self.source_problem
        )


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[BundleStore]:
    """Yield the store of the bundles that are published in the cluster of the settings.

    Raises:
        SettingsError: it is a folder, or the credentials are missing or broken.
    """
    if settings.cluster is not None:
        raise SettingsError(
            f"{name_setting('cluster')}: bundles are published in a real cluster only; a folder's "
            "gate follows the file of --bundle"
        )
    async with open_objects(settings.kubeconfig) as objects:
        yield BundleStore(objects, settings.namespace)


async def standing_of(store: BundleStore, namespace: str) -> Standing:
    """Read how bundles stand.

    Raises:
        ClusterError: kube-apiserver does not answer, or refuses.
        InvalidObjectError: the head cannot be read.
    """
    head = (await store.read()).head
    there, gone = await read_announcements(store)
    control = there.pop(CONTROL, None)
    return Standing(
        namespace=namespace,
        wanted=head.wanted,
        active=head.active,
        previous=head.previous,
        changed=head.changed,
        bundles=[
            BundleStanding(
                revision=one.revision,
                source=one.source,
                published=one.at,
                digest=one.digest,
                built=_text(one.built),
            )
            for one in head.bundles
        ],
        gates=[_gate(name, said) for name, said in there.items()],
        gone=gone,
        control=None if control is None else _gate(CONTROL, control),
        source="" if control is None else control.source,
        source_problem="" if control is None else control.source_problem,
        not_before=_text(head.not_before),
    )


async def read_announcements(store: BundleStore) -> tuple[dict[str, GateAnnouncement], list[str]]:
    """Return the announcements of gates and control that are there, and the gates gone.

    By kube-apiserver's clock, and each gate's own.
    """
    said = await store.gates() or {}
    since = store.now() - GONE_S
    old = {name for name, each in said.items() if each.at and _unix(each.at) < since}
    there = {name: each for name, each in said.items() if name not in old}
    return there, sorted(old - {CONTROL})


def _text(seconds: int) -> str:
    return time_text(seconds) if seconds else ""


def _unix(text: str) -> float:
    """Return Unix seconds; what is no time is taken for now, as of a gate that is there."""
    try:
        return milliseconds_of(text) / 1000
    except ValueError:
        return math.inf


def _gate(name: str, said: GateAnnouncement) -> GateStanding:
    return GateStanding(
        name=name,
        in_force=said.in_force,
        revision=said.revision,
        loaded=list(said.loaded),
        refused=said.refused,
        seen=said.at,
        problem=said.problem,
        foreign=said.foreign,
    )
