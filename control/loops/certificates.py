"""Keeps the CA, the pairs that it signs, and the CA bundle in the webhook configurations."""

import base64
import binascii
import datetime as dt
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import structlog

from certs.authority import KeyPair, LeafNames, Purpose
from certs.rotation import Authority, Leaf, RotationSettings, State, plan
from control.loop import Loop
from core.errors import ClusterError
from core.names import process_uri
from kube.lease import Leadership, wall_time
from kube.objects import Objects
from kube.secrets import OPAQUE, TLS, Secret, Secrets

AUTHORITIES: Final = "sallyport-ca"
WEBHOOKS: Final = "sallyport"
INTERVAL_S: Final = 30.0

_RECORD: Final = "authorities.json"
_FORMAT: Final = 1
_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1"
_CONFIGURATIONS: Final = tuple(
    f"{_ADMISSION}/{kind}webhookconfigurations/{WEBHOOKS}" for kind in ("validating", "mutating")
)

_log = structlog.get_logger(__name__)


class _StoredAuthority(msgspec.Struct, frozen=True):
    certificate: str
    key: str | None = None
    distributed: int | None = None
    """Unix time in seconds."""


class _Stored(msgspec.Struct, frozen=True):
    """The record of the CAs, `authorities.json` in the Secret `sallyport-ca`."""

    authorities: list[_StoredAuthority]
    format: int = _FORMAT


def wanted_leaves(namespace: str, cluster: str) -> dict[str, LeafNames]:
    """Give the Secrets with pairs, and whom each names."""
    return {
        "sallyport-gate-tls": LeafNames(Purpose.SERVER, _hosts("sallyport-gate", namespace)),
        "sallyport-auditor-tls": LeafNames(Purpose.SERVER, _hosts("sallyport-auditor", namespace)),
        **{
            f"sallyport-shipping-{process}": LeafNames(
                Purpose.CLIENT, uris=(process_uri(cluster, process),)
            )
            for process in ("gate", "control")
        },
    }


def _hosts(service: str, namespace: str) -> tuple[str, ...]:
    """Give a Service's names, and `localhost` for `kubectl port-forward`.

    kube-apiserver asks for `service.namespace.svc`.
    """
    full = f"{service}.{namespace}.svc"
    return (full, f"{full}.cluster.local", f"{service}.{namespace}", service, "localhost")


@dataclass(frozen=True)
class _Found:
    """What is in the cluster, and as of when."""

    state: State
    secrets: Mapping[str, Secret | None] = field(repr=False)
    configurations: Mapping[str, dict[str, Any]]
    """By path; those that exist."""


class Certificates:
    """Each run brings everything to what `certs.rotation.plan` says. `loop` is its loop."""

    def __init__(
        self,
        objects: Objects,
        namespace: str,
        cluster: str,
        settings: RotationSettings | None = None,
        clock: Callable[[], dt.datetime] = wall_time,
    ) -> None:
        self.loop = Loop("certificates", INTERVAL_S, self.run)
        self._objects = objects
        self._secrets = Secrets(objects, namespace)
        self._wanted = wanted_leaves(namespace, cluster)
        self._settings = settings or RotationSettings()
        self._clock = clock
        self._absent: set[str] = set()

    async def run(self, leadership: Leadership) -> None:
        """Look at everything, and write what differs: the CAs, then the pairs, then the bundle.

        Raises:
            ClusterError: something could not be read or written; the next run goes on.
            NotLeaderError: leadership was lost on the way.
        """
        found = await self._look()
        planned = plan(found.state, self._wanted, self._clock(), self._settings)
        if planned.authorities != found.state.authorities:
            content = {_RECORD: write_record(planned.authorities)}
            before = found.secrets[AUTHORITIES]
            await self._secrets.write(leadership, AUTHORITIES, before, content, OPAQUE)
        failed = [
            error
            for write in self._writes(leadership, found, planned)
            if (error := await _attempt(write))
        ]
        if failed:
            raise failed[0]

    def _writes(
        self, leadership: Leadership, found: _Found, planned: State
    ) -> Iterator[Awaitable[object]]:
        """Give what is to be written once the CAs are: each for itself, whatever fails."""
        for name, leaf in planned.leaves.items():
            if leaf != found.state.leaves.get(name):
                content = write_leaf(leaf)
                yield self._secrets.write(leadership, name, found.secrets[name], content, TLS)
        bundle = next(iter(planned.leaves.values())).bundle
        for path, configuration in found.configurations.items():
            yield self._trust(leadership, path, configuration, bundle)

    async def _look(self) -> _Found:
        secrets = {name: await self._secrets.read(name) for name in (AUTHORITIES, *self._wanted)}
        configurations = {}
        for path in _CONFIGURATIONS:
            configuration = await self._objects.get(path)
            self._note(path, absent=configuration is None)
            if configuration is not None:
                configurations[path] = configuration
        record = secrets[AUTHORITIES]
        state = State(
            read_record(record.content.get(_RECORD, b"") if record else b""),
            {name: read_leaf(each) for name in self._wanted if (each := secrets[name])},
            tuple(_bundle(one) for each in configurations.values() for one in _webhooks(each)),
        )
        return _Found(state, secrets, configurations)

    async def _trust(
        self, leadership: Leadership, path: str, configuration: dict[str, Any], bundle: bytes
    ) -> None:
        """Put the bundle into each webhook, and touch nothing else."""
        value = base64.b64encode(bundle).decode()
        changes = [
            {"op": "add", "path": f"/webhooks/{at}/clientConfig/caBundle", "value": value}
            for at, webhook in enumerate(_webhooks(configuration))
            if _bundle(webhook) != bundle
        ]
        if not changes:
            return
        version = configuration["metadata"]["resourceVersion"]
        precondition = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
        leadership.require()
        await self._objects.change(path, [precondition, *changes])
        _log.info("CA bundle put into the webhook configuration", path=path, webhooks=len(changes))

    def _note(self, path: str, *, absent: bool) -> None:
        """Say once that a configuration is not there: nothing is judged without it."""
        if absent and path not in self._absent:
            _log.warning("no webhook configuration: apply the chart's, or deploy/", path=path)
            self._absent.add(path)
        elif not absent:
            self._absent.discard(path)


async def _attempt(write: Awaitable[object]) -> ClusterError | None:
    try:
        await write
    except ClusterError as error:
        return error
    return None


def read_record(content: bytes) -> tuple[Authority, ...]:
    """Read the record of the CAs; nothing where it cannot be read.

    Raises:
        ClusterError: a later release wrote it in a format that this one must not overwrite.
    """
    try:
        stored = msgspec.json.decode(content, type=_Stored)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()
    if stored.format > _FORMAT + 1:
        raise ClusterError(
            f"Secret {AUTHORITIES} has the format {stored.format} of a later release; run that"
        )
    return tuple(
        Authority(
            each.certificate.encode(),
            None if each.key is None else each.key.encode(),
            _time(each.distributed),
        )
        for each in stored.authorities
    )


def write_record(authorities: tuple[Authority, ...]) -> bytes:
    """Give the record of the CAs as it is stored."""
    stored = [
        _StoredAuthority(
            each.certificate.decode(),
            None if each.key is None else each.key.decode(),
            None if each.distributed is None else int(each.distributed.timestamp()),
        )
        for each in authorities
    ]
    return msgspec.json.encode(_Stored(stored))


def read_leaf(secret: Secret) -> Leaf:
    """Read a pair and its bundle out of a Secret; what is missing is empty."""
    certificate, key, bundle = (
        secret.content.get(name, b"") for name in ("tls.crt", "tls.key", "ca.crt")
    )
    return Leaf(KeyPair(certificate, key), bundle)


def write_leaf(leaf: Leaf) -> dict[str, bytes]:
    """Give a pair and its bundle as they lie in a Secret."""
    return {"tls.crt": leaf.pair.certificate, "tls.key": leaf.pair.key, "ca.crt": leaf.bundle}


def _webhooks(configuration: Mapping[str, Any]) -> list[dict[str, Any]]:
    return configuration.get("webhooks") or []


def _bundle(webhook: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(webhook["clientConfig"].get("caBundle") or "")
    except (binascii.Error, ValueError):
        return b""


def _time(seconds: int | None) -> dt.datetime | None:
    try:
        return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return None
