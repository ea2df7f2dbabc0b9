"""All that the controller of egress follows of a cluster, each kind by one watch.

At 2,000 namespaces with 10,000 allowlists and 14,000 policies it takes about 60 MB.
"""

import asyncio
from functools import partial
from typing import Final

import msgspec

from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.decision.namespaces import Namespace
from core.egress.allowlists import (
    KIND,
    EgressAllowlist,
    EgressDestinations,
    parse_allowlist,
    parse_destinations,
)
from core.kubernetes.conditions import Condition
from core.people.two_person import Approvable
from kube.client.connection import Connection
from kube.client.settings import LiveSettings
from kube.egress.allowlists import SETS_PATH, allowlists_path
from kube.egress.network_policies import PLURALS, POLICY_PATHS, LivePolicy, read_policy
from kube.egress.service_endpoints import (
    SLICES_PATH,
    ServiceShape,
    SliceMark,
    read_mark,
    read_service,
)
from kube.resources.namespaces import parse_namespace
from kube.resources.paths import NAMESPACES_PATH, SERVICES_PATH
from kube.watch.delta import DeltaWatch
from kube.watch.listwatch import Resource

ALLOWLISTS_PATH: Final = f"/apis/{names.API_VERSION}/{names.ALLOWLISTS_RESOURCE}"


class IntentStatus(msgspec.Struct, frozen=True, rename="camel"):
    """`status` of an EgressAllowlist."""

    observed_generation: int = 0
    addresses: int = 0
    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """Return a condition."""
        return next((each for each in self.conditions if each.type == kind), None)


class Intent(msgspec.Struct, frozen=True):
    """An EgressAllowlist as it lies in the cluster."""

    namespace: str
    name: str
    uid: str
    generation: int
    deleting: bool
    finalizers: tuple[str, ...]
    version: str
    status: IntentStatus
    allowlist: EgressAllowlist | None
    """None where it cannot be read."""
    problem: str
    """Why it cannot be read; empty where it can."""

    @property
    def path(self) -> str:
        """Where it lies."""
        return intent_path(self.namespace, self.name)


class BrokenSet(msgspec.Struct, frozen=True):
    """An EgressDestinations that cannot be read, and why."""

    problem: str


class WatchedNamespace(msgspec.Struct, frozen=True):
    """A Namespace."""

    namespace: Namespace
    terminating: bool


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] | None = None
    resource_version: str = ""


class _Head(msgspec.Struct):
    metadata: _Meta
    status: IntentStatus | None = None


class _BareHead(msgspec.Struct):
    metadata: _Meta


_HEAD: Final = msgspec.json.Decoder(_Head)
_BARE_HEAD: Final = msgspec.json.Decoder(_BareHead)


class EgressWatch:
    """What a cluster has; run `run` as a task."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        follow = partial(DeltaWatch, connection, settings)
        self.places: DeltaWatch[WatchedNamespace] = follow(
            Resource("Namespaces", NAMESPACES_PATH, read_watched_namespace)
        )
        self.intents: DeltaWatch[Intent] = follow(
            Resource("EgressAllowlists", ALLOWLISTS_PATH, read_intent, optional=True)
        )
        self.sets: DeltaWatch[EgressDestinations | BrokenSet] = follow(
            Resource("EgressDestinations", SETS_PATH, _read_set, optional=True)
        )
        self.services: DeltaWatch[ServiceShape] = follow(
            Resource("Services", SERVICES_PATH, read_service)
        )
        self.slices: DeltaWatch[SliceMark] = follow(
            Resource("EndpointSlices", SLICES_PATH, read_mark)
        )
        self.policies: dict[str, DeltaWatch[LivePolicy]] = {
            kind: follow(
                Resource(
                    kind,
                    f"{path}/{PLURALS[kind]}",
                    partial(read_policy, kind=kind),
                    optional=kind != "NetworkPolicy",
                )
            )
            for kind, path in POLICY_PATHS.items()
        }
        first = (self.places, self.intents, self.sets, self.services, self.slices)
        self._all: tuple[DeltaWatch[object], ...] = (*first, *self.policies.values())  # type: ignore[arg-type]  # Nothing is put in.

    def require(self) -> None:
        """Raise NotSyncedError unless all of it can be relied on."""
        for each in self._all:
            each.require()

    def approvable(self, kind: str, key: str) -> Approvable | None:
        """Return what is approved of an allowlist (`namespace/name`), or of a set (its name).

        None where there is none, or it cannot be read.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        if kind == KIND:
            self.intents.require()
            intent = self.intents.objects.get(key)
            found = intent.allowlist if intent else None
            return found.approvable if found else None
        self.sets.require()
        each = self.sets.objects.get(key)
        return each.approvable if isinstance(each, EgressDestinations) else None

    async def run(self) -> None:
        """Keep it until cancelled."""
        await asyncio.gather(*(each.run() for each in self._all))


def intent_path(namespace: str, name: str) -> str:
    """Return the path of an allowlist."""
    return f"{allowlists_path(namespace)}/{name}"


def read_intent(raw: bytes | msgspec.Raw) -> Intent:
    """Read an EgressAllowlist; one that is broken is kept with the reason.

    Raises:
        InvalidObjectError: it has no metadata, which kube-apiserver never says.
    """
    try:
        status, meta = _head(raw)
    except DECODE_ERRORS as error:
        raise decode_error("EgressAllowlist", error) from error
    allowlist, problem = None, ""
    try:
        allowlist = parse_allowlist(raw)
    except InvalidObjectError as error:
        problem = str(error)
    return Intent(
        meta.namespace,
        meta.name,
        meta.uid,
        meta.generation,
        meta.deletion_timestamp is not None,
        meta.finalizers or (),
        meta.resource_version,
        status,
        allowlist,
        problem,
    )


def read_watched_namespace(raw: bytes | msgspec.Raw) -> WatchedNamespace:
    """Read a Namespace.

    Raises:
        InvalidObjectError: it is none, which kube-apiserver never says.
    """
    namespace = parse_namespace(raw)
    return WatchedNamespace(
        namespace, _BARE_HEAD.decode(raw).metadata.deletion_timestamp is not None
    )


def _head(raw: bytes | msgspec.Raw) -> tuple[IntentStatus, _Meta]:
    """Read what is not `spec`; a status that somebody else broke counts as none."""
    try:
        head = _HEAD.decode(raw)
    except DECODE_ERRORS:
        return IntentStatus(), _BARE_HEAD.decode(raw).metadata
    return head.status or IntentStatus(), head.metadata


def _read_set(raw: msgspec.Raw) -> EgressDestinations | BrokenSet:
    try:
        return parse_destinations(raw)
    except InvalidObjectError as error:
        return BrokenSet(str(error))
