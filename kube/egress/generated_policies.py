"""The network policies that Sallyport made, as a review asks for them.

The default deny of each namespace is kept by a watch: by its name alone, and nothing of it but that
it is as Sallyport makes it; 2,000 of them take about 0.3 MB. A Pod's review reads it in enrolled
namespaces alone. All policies of one namespace are listed as they are now, for few reviews.
"""

import asyncio
from functools import partial
from typing import Final, Literal

import msgspec

from core.base import names
from core.base.errors import ClusterError, NotSyncedError
from core.base.json_errors import DECODE_ERRORS, decode_error
from kube.client.connection import Connection
from kube.client.objects import Objects, list_objects
from kube.client.settings import DefaultDeny, LiveSettings
from kube.egress.network_policies import PLURALS, POLICY_PATHS, digest_of
from kube.resources.lookups import may_exist
from kube.watch.listwatch import Resource
from kube.watch.optional import OptionalWatch

_KIND: Final = "NetworkPolicy"
_OURS: Final = {"labelSelector": f"{names.MANAGED_BY_LABEL}=sallyport"}


class GeneratedPolicies:
    """Lists those of a real cluster."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._objects = Objects(connection, settings.review_timeout_s)

    async def list(self, namespace: str) -> tuple[msgspec.Raw, ...]:
        """Return the JSON of each.

        Raises:
            NotSyncedError: the cluster did not say.
        """
        if not may_exist(namespace):
            return ()
        path = f"{POLICY_PATHS[_KIND]}/namespaces/{namespace}/{PLURALS[_KIND]}"
        try:
            return tuple([raw async for raw in list_objects(self._objects, path, parameters=_OURS)])
        except ClusterError as error:
            message = f"the policies that Sallyport made in {namespace}: {error}"
            raise NotSyncedError(message) from error


_NONE: Final = DefaultDeny("NetworkPolicy", "", b"")
_OBJECT: Final = msgspec.json.Decoder(dict[str, object])


class WatchedDefaultDenies(OptionalWatch[Literal[True]]):
    """Those of a real cluster; nothing is watched where `settings.default_deny` names none."""

    def __init__(self, connection: Connection, settings: LiveSettings) -> None:
        self._wanted = settings.default_deny
        self._wait_s = settings.namespace_wait_s
        self._changed = asyncio.Event()
        super().__init__(
            connection, settings, _resource(self._wanted or _NONE), lambda _: self._tell()
        )

    @property
    def tried(self) -> bool:
        """Whether they were loaded, or could not be at first."""
        return self._wanted is None or super().tried

    async def run(self) -> None:
        """Keep them until cancelled."""
        if self._wanted is not None:
            await super().run()

    async def is_egress_closed(self, namespace: str) -> bool:
        """Return whether a namespace has the policy; one that has not yet is waited for.

        Raises:
            NotSyncedError: they have not been loaded, or the watch has been down too long.
        """
        wanted = self._require()
        key = f"{namespace}/{wanted.name}"
        if key in self._watch.objects:
            return True
        try:
            async with asyncio.timeout(self._wait_s):
                while key not in self._watch.objects:
                    await self._changed.wait()
        except TimeoutError:
            self._require()
            return False
        return True

    def _require(self) -> DefaultDeny:
        if self._wanted is None:
            raise NotSyncedError("nobody watches which namespaces are closed by default")
        if self._watch.unserved:
            message = (
                f"the cluster knows no {self._wanted.kind}, by which egress.engine closes "
                "namespaces: set another, or install it"
            )
            raise NotSyncedError(message)
        self._watch.require()
        return self._wanted

    def _tell(self) -> None:
        self._changed.set()
        self._changed.clear()


def _resource(wanted: DefaultDeny) -> Resource[Literal[True]]:
    return Resource(
        f"{wanted.kind} {wanted.name}",
        f"{POLICY_PATHS[wanted.kind]}/{PLURALS[wanted.kind]}",
        partial(_read, wanted=wanted),
        fields=f"metadata.name={wanted.name}",
    )


def _read(raw: msgspec.Raw, wanted: DefaultDeny) -> Literal[True] | None:
    """Return True of one that is as it is made."""
    try:
        return True if digest_of(_OBJECT.decode(raw)) == wanted.digest else None
    except DECODE_ERRORS as error:
        raise decode_error(wanted.kind, error) from error
