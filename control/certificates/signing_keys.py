"""Keeps the keys that sign the ledger, in the Secret `sallyport-ledger-signing`."""

import datetime as dt
from collections.abc import Callable
from typing import Annotated, Final

import msgspec

from certs.ledger_keys import LedgerKeys, LedgerKeySettings, PublicKey, key_id, plan_ledger_keys
from control.loop import Loop
from core.base.errors import ClusterError
from kube.client.objects import Objects
from kube.leader.lease import Leadership, wall_time
from kube.resources.secrets import OPAQUE, Secret, Secrets

SECRET: Final = "sallyport-ledger-signing"  # noqa: S105 (its name)
INTERVAL_S: Final = 3600.0

_FORMAT: Final = 1
_CURRENT, _COMING, _PUBLIC = "current.key", "coming.key", "public.json"

_Time = Annotated[dt.datetime, msgspec.Meta(tz=True)]


class _StoredKey(msgspec.Struct, frozen=True):
    id: str
    raw: bytes
    """Base64 in JSON."""
    since: _Time
    until: _Time | None = None


class _StoredKeys(msgspec.Struct, frozen=True):
    """All public keys, `public.json`: what verifiers need, and nothing secret."""

    keys: list[msgspec.Raw]
    """Of `_StoredKey`; each is read by itself, so that one that is broken costs no other."""
    format: int = _FORMAT


class LedgerSigningKeys:
    """Each run of `loop` brings the keys to what `certs.ledger_keys.plan_ledger_keys` says."""

    def __init__(
        self,
        objects: Objects,
        namespace: str,
        settings: LedgerKeySettings | None = None,
        clock: Callable[[], dt.datetime] = wall_time,
    ) -> None:
        self.loop = Loop("signing", INTERVAL_S, self.run)
        self._secrets = Secrets(objects, namespace)
        self._settings = settings or LedgerKeySettings()
        self._clock = clock

    async def run(self, leadership: Leadership) -> None:
        """Look at the keys and write what differs.

        Raises:
            ClusterError: they could not be read or written.
            NotLeaderError: leadership was lost on the way.
        """
        before = await self._secrets.read(SECRET)
        found = read_keys(before) if before else None
        planned = plan_ledger_keys(found, self._clock(), self._settings)
        if planned != found:
            await self._secrets.write(leadership, SECRET, before, write_keys(planned), OPAQUE)


def read_keys(secret: Secret) -> LedgerKeys:
    """Read the keys; what is missing or broken is empty, and `plan_ledger_keys` mends it.

    Raises:
        ClusterError: a later release wrote them in a format that this one must not overwrite.
    """
    content = secret.content
    try:
        stored = msgspec.json.decode(content.get(_PUBLIC, b""), type=_StoredKeys)
    except (msgspec.DecodeError, UnicodeDecodeError):
        stored = _StoredKeys([])
    if stored.format > _FORMAT + 1:
        raise ClusterError(
            f"Secret {SECRET} has the format {stored.format} of a later release; run that"
        )
    public = tuple(key for raw in stored.keys if (key := _read_key(raw)))
    return LedgerKeys(content.get(_CURRENT, b""), content.get(_COMING) or None, public)


def _read_key(raw: msgspec.Raw) -> PublicKey | None:
    try:
        stored = msgspec.json.decode(raw, type=_StoredKey)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if stored.id != key_id(stored.raw):
        return None
    return PublicKey(stored.id, stored.raw, stored.since, stored.until)


def write_keys(keys: LedgerKeys) -> dict[str, bytes]:
    """Return the keys as they lie in the Secret."""
    public = [
        msgspec.Raw(
            msgspec.json.encode(_StoredKey(each.id, each.raw, each.since, each.until)),
        )
        for each in keys.public
    ]
    return {
        _CURRENT: keys.current,
        _COMING: keys.coming or b"",
        _PUBLIC: msgspec.json.encode(_StoredKeys(public)),
    }
