"""The auditor over HTTPS: where a gate's frames are kept, each once."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from audit.clients.channel import AuditorChannel
from audit.ledger.records.destination import Receipt
from audit.ledger.records.frames import Frame, encode_frame
from audit.ledger.server.frames_protocol import CONTENT_TYPE, FORMAT, PATH, Acknowledged
from core.base.errors import LedgerError

_MOST_ANSWER: Final = 1024 * 1024

_FRAMES_BETWEEN_BREATHS: Final = 64
"""Encoded at once; then the event loop has a turn."""


class AuditorClient:
    """Delivers frames to one auditor (a `Destination`)."""

    def __init__(
        self, url: str, ca: Path, certificate: Path, key: Path, timeout_s: float = 30.0
    ) -> None:
        """Take the address, the CA to trust it by, and the client's pair, all PEM.

        Raises:
            SettingsError: `url` is no `https://host[:port]`.
        """
        self.channel = AuditorChannel(url, ca, certificate, key, timeout_s)
        """For those who ask the same auditor."""

    async def close(self) -> None:
        """Close every connection."""
        await self.channel.close()

    async def deliver(self, cluster: str, frames: Sequence[Frame]) -> Receipt:
        """Have the auditor keep frames of a cluster.

        Raises:
            LedgerError: it did not say that it keeps all of them.
        """
        body = await _encode(frames)
        answer = await self.channel.post(PATH, cluster, CONTENT_TYPE, body, _MOST_ANSWER)
        kept = self._read(answer)
        if missing := {frame.id.hex() for frame in frames}.difference(kept.acknowledged):
            message = f"the auditor {self.channel.name} did not acknowledge {len(missing)} frames"
            raise LedgerError(message)
        return Receipt(kept.stored, kept.known, kept.quarantined)

    def _read(self, answer: bytes) -> Acknowledged:
        name = self.channel.name
        try:
            kept = msgspec.json.decode(answer, type=Acknowledged)
        except msgspec.DecodeError:
            raise LedgerError(f"the auditor {name}: its answer cannot be read") from None
        if abs(kept.format - FORMAT) > 1:
            message = f"the auditor {name} answers in format {kept.format}: upgrade this"
            raise LedgerError(message)
        return kept


async def _encode(frames: Sequence[Frame]) -> bytes:
    parts = []
    for number, frame in enumerate(frames):
        parts.append(encode_frame(frame.kind, frame.id, frame.payload))
        if number % _FRAMES_BETWEEN_BREATHS == 0:
            await asyncio.sleep(0)
    return b"".join(parts)
