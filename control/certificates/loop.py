"""Keeps the CA, the pairs that it signs, and the CA bundle in the webhook configurations."""

import base64
import datetime as dt
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import structlog

from certs.authority import SKEW
from certs.lifetimes import RotationSettings
from certs.rotation import RotationState, plan_rotation
from certs.status import inspect
from control.certificates.status import CertificateStatus
from control.certificates.store import (
    AUTHORITIES,
    CONFIGURATIONS,
    RECORD,
    StoredCertificates,
    bundle_of,
    read_certificates,
    wanted_leaves,
    webhooks_of,
    write_leaf,
    write_record,
)
from control.loop import Loop
from core.base.errors import ClusterError
from kube.client.objects import Objects
from kube.leader.lease import Leadership, wall_time
from kube.resources.secrets import OPAQUE, TLS, Secrets

INTERVAL_S: Final = 30.0

LARGEST_OFFSET: Final = SKEW - dt.timedelta(minutes=1)
"""Clocks that differ by more might not take what is made now for valid."""

_log = structlog.get_logger(__name__)


class Certificates:
    """Brings everything to what `certs.rotation.plan_rotation` says, with each run of `loop`."""

    def __init__(  # noqa: PLR0913 (each is one thing that differs between installations or tests)
        self,
        objects: Objects,
        namespace: str,
        cluster: str,
        settings: RotationSettings | None = None,
        clock: Callable[[], dt.datetime] = wall_time,
        *,
        signs: CertificateStatus | None = None,
        writes: bool = True,
    ) -> None:
        """Take its settings; without `writes` somebody else keeps them all, and it only looks."""
        self._objects = objects
        self._secrets = Secrets(objects, namespace)
        self._wanted = wanted_leaves(namespace, cluster)
        self._settings = settings or RotationSettings()
        self._clock = clock
        self._signs = signs
        self._writing = writes
        self._absent: set[str] = set()
        forget = signs.forget if signs else lambda: None
        self.loop = Loop("certificates", INTERVAL_S, self.run, forget=forget)

    async def run(self, leadership: Leadership) -> None:
        """Look at everything, and write what differs: the CAs, then the pairs, then the bundle.

        Raises:
            ClusterError: something could not be read or written, or clocks differ; the next run
                goes on.
            NotLeaderError: leadership was lost on the way.
        """
        found = await read_certificates(self._objects, self._secrets, self._wanted)
        self._note_absent(found)
        now = self._clock()
        if self._signs:
            seen = found.seen(foreign=not self._writing)
            standing = inspect(seen, self._wanted, now, self._settings)
            await self._signs.show(leadership, standing, now)
        if self._writing:
            self._require_same_time(now)
            await self._write(leadership, found, now)

    async def _write(
        self, leadership: Leadership, found: StoredCertificates, now: dt.datetime
    ) -> None:
        planned = plan_rotation(found.state, self._wanted, now, self._settings)
        if planned.authorities != found.state.authorities:
            content = {RECORD: write_record(planned.authorities)}
            before = found.secrets[AUTHORITIES]
            await self._secrets.write(leadership, AUTHORITIES, before, content, OPAQUE)
        failed = [
            error
            for write in self._writes(leadership, found, planned)
            if (error := await _attempt(write))
        ]
        if self._signs:
            await self._signs.tell_of_changes(leadership, found.state, planned, now)
        if failed:
            raise failed[0]

    def _writes(
        self, leadership: Leadership, found: StoredCertificates, planned: RotationState
    ) -> Iterator[Awaitable[object]]:
        """Yield what is to be written once the CAs are: each for itself, whatever fails."""
        for name, leaf in planned.leaves.items():
            if leaf != found.state.leaves.get(name):
                content = write_leaf(leaf)
                yield self._secrets.write(leadership, name, found.secrets[name], content, TLS)
        bundle = next(iter(planned.leaves.values())).bundle
        for path, configuration in found.configurations.items():
            yield self._trust(leadership, path, configuration, bundle)

    def _require_same_time(self, now: dt.datetime) -> None:
        """Pass only where kube-apiserver's clock says the same.

        By a clock that is off everything may seem to have expired: what is thrown away then is
        what everyone else still trusts. What is there stays valid for weeks without a rotation.
        """
        theirs = self._objects.server_time
        if theirs is not None and abs(now - theirs) > LARGEST_OFFSET:
            seconds = (now - theirs).total_seconds()
            raise ClusterError(
                f"this clock is {abs(seconds):.0f} s {'ahead of' if seconds > 0 else 'behind'} "
                "kube-apiserver's: no certificate is touched until both agree; mend the time of "
                "the node that is off"
            )

    async def _trust(
        self, leadership: Leadership, path: str, configuration: dict[str, Any], bundle: bytes
    ) -> None:
        """Put the bundle into each webhook, and touch nothing else."""
        value = base64.b64encode(bundle).decode()
        changes = [
            {"op": "add", "path": f"/webhooks/{at}/clientConfig/caBundle", "value": value}
            for at, webhook in enumerate(webhooks_of(configuration))
            if bundle_of(webhook) != bundle
        ]
        if not changes:
            return
        version = configuration["metadata"]["resourceVersion"]
        leadership.require()
        await self._objects.change(path, version, changes)
        _log.info("CA bundle put into the webhook configuration", path=path, webhooks=len(changes))

    def _note_absent(self, found: StoredCertificates) -> None:
        """Say once that a configuration is not there: nothing is judged without it."""
        absent = {path for path in CONFIGURATIONS if path not in found.configurations}
        for path in sorted(absent - self._absent):
            _log.warning("no webhook configuration: apply the chart's, or deploy/", path=path)
        self._absent = absent


async def _attempt(write: Awaitable[object]) -> ClusterError | None:
    try:
        await write
    except ClusterError as error:
        return error
    return None
