"""The Secrets and webhook configurations that hold CAs and certificates, read and written."""

import base64
import binascii
import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from certs.authority import KeyPair, LeafNames, Purpose
from certs.rotation import Authority, Leaf, RotationState
from certs.status import SeenCertificates
from core.base.errors import ClusterError
from core.base.process_names import process_uri
from kube.client.objects import Objects
from kube.resources.paths import ADMISSION_PATH
from kube.resources.secrets import Secret, Secrets

AUTHORITIES: Final = "sallyport-ca"
WEBHOOKS: Final = "sallyport"
RECORD: Final = "authorities.json"

_FORMAT: Final = 1
CONFIGURATIONS: Final = tuple(
    f"{ADMISSION_PATH}/{each}"
    for each in (
        f"validatingwebhookconfigurations/{WEBHOOKS}",
        f"mutatingwebhookconfigurations/{WEBHOOKS}",
        "validatingwebhookconfigurations/sallyport-probe",
    )
)

GATE: Final = "sallyport-gate-tls"
"""The Secret whose certificate kube-apiserver is shown."""


class _StoredAuthority(msgspec.Struct, frozen=True):
    certificate: str
    key: str | None = None
    distributed: int | None = None
    """Unix time in seconds, as is `signed_until`."""
    signed_until: int | None = None


class _Stored(msgspec.Struct, frozen=True):
    """The record of the CAs, `authorities.json` in the Secret `sallyport-ca`."""

    authorities: list[_StoredAuthority]
    format: int = _FORMAT


def wanted_leaves(namespace: str, cluster: str) -> dict[str, LeafNames]:
    """Return the Secrets with pairs, and whom each names."""
    return {
        GATE: LeafNames(Purpose.SERVER, _hosts("sallyport-gate", namespace)),
        "sallyport-auditor-tls": LeafNames(Purpose.SERVER, _hosts("sallyport-auditor", namespace)),
        **{
            f"sallyport-shipping-{process}": LeafNames(
                Purpose.CLIENT, uris=(process_uri(cluster, process),)
            )
            for process in ("gate", "control")
        },
    }


def _hosts(service: str, namespace: str) -> tuple[str, ...]:
    """Return a Service's names, and `localhost` for `kubectl port-forward`.

    kube-apiserver asks for `service.namespace.svc`.
    """
    full = f"{service}.{namespace}.svc"
    return (full, f"{full}.cluster.local", f"{service}.{namespace}", service, "localhost")


@dataclass(frozen=True)
class StoredCertificates:
    """What is in the cluster."""

    state: RotationState
    secrets: Mapping[str, Secret | None] = field(repr=False)
    configurations: Mapping[str, dict[str, Any]]
    """By path; those that exist."""

    def seen(self, *, foreign: bool = False) -> SeenCertificates:
        """Return it by the names that people know; `foreign`: somebody else makes them."""
        leaves = {name: self.state.leaves.get(name) for name in self.secrets if name != AUTHORITIES}
        bundles = {
            f"{path.removeprefix(ADMISSION_PATH + '/')} {webhook.get('name', '?')}": bundle_of(
                webhook
            )
            for path, configuration in self.configurations.items()
            for webhook in webhooks_of(configuration)
        }
        return SeenCertificates(self.state.authorities, leaves, bundles, GATE, foreign)


async def read_certificates(
    objects: Objects,
    secrets: Secrets,
    wanted: Mapping[str, LeafNames],
    also: Iterable[str] = (),
) -> StoredCertificates:
    """Read everything; `also` names further configurations, of which others take care.

    Raises:
        ClusterError: something could not be read; or a later release wrote the record.
    """
    found = {name: await secrets.read(name) for name in (AUTHORITIES, *wanted)}
    configurations = {}
    for path in (*CONFIGURATIONS, *also):
        configuration = await objects.get(path)
        if configuration is not None:
            configurations[path] = configuration
    record = found[AUTHORITIES]
    state = RotationState(
        read_record(record.content.get(RECORD, b"") if record else b""),
        {name: read_leaf(each) for name in wanted if (each := found[name])},
        tuple(bundle_of(one) for each in configurations.values() for one in webhooks_of(each)),
    )
    return StoredCertificates(state, found, configurations)


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
            _time(each.signed_until),
        )
        for each in stored.authorities
    )


def write_record(authorities: tuple[Authority, ...]) -> bytes:
    """Return the record of the CAs as it is stored."""
    stored = [
        _StoredAuthority(
            each.certificate.decode(),
            None if each.key is None else each.key.decode(),
            None if each.distributed is None else int(each.distributed.timestamp()),
            None if each.signed_until is None else int(each.signed_until.timestamp()),
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
    """Return a pair and its bundle as they lie in a Secret."""
    return {"tls.crt": leaf.pair.certificate, "tls.key": leaf.pair.key, "ca.crt": leaf.bundle}


def webhooks_of(configuration: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the webhooks of a configuration."""
    return configuration.get("webhooks") or []


def bundle_of(webhook: Mapping[str, Any]) -> bytes:
    """Return a webhook's CA bundle; empty where there is none, or it cannot be read."""
    try:
        return base64.b64decode(webhook["clientConfig"].get("caBundle") or "")
    except (binascii.Error, ValueError):
        return b""


def _time(seconds: int | None) -> dt.datetime | None:
    try:
        return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return None
