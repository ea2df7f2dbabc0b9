"""A process that records decisions and ships them until it is killed.

`python -m tests.unit.audit.ledger.spool.recording_process FOLDER URL CA CERTIFICATE KEY RUN RATE`
notes in a mapped file how many it appended and when: what is in there survives any kill.
"""

import asyncio
import mmap
import os
import struct
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import uvloop

from audit.clients.auditor import AuditorChannel, AuditorClient
from audit.ledger.records.frames import FrameKind
from audit.ledger.spool.queue import Spool
from audit.ledger.spool.shipper import Shipper
from core.base.ids import uuid7_time
from core.decision.decision import Verdict
from core.decision.document import FORMAT, Asked, DecisionDocument, encode_document
from tests.unit.audit.loopback_auditor import CLUSTER
from webhooks.log import get_logger

MOST: Final = 1 << 16
"""Appends of one run."""

_TIMES: Final = 16
_TIME_MS: Final = 1_790_000_000_000


def decision_id(run: int, number: int) -> uuid.UUID:
    """Return a UUIDv7 that says which append of which run it is."""
    return uuid.UUID(int=_TIME_MS << 80 | 7 << 76 | run << 64 | 2 << 62 | number)


def run_and_number(decision: str) -> tuple[int, int]:
    """Return what `decision_id` put into an id."""
    value = uuid.UUID(decision).int
    return value >> 64 & 0xFFF, value & (1 << 62) - 1


@dataclass(frozen=True)
class Progress:
    """What a run did, in a mapped file; times are of CLOCK_MONOTONIC, in nanoseconds."""

    file: mmap.mmap

    @classmethod
    def of(cls, path: Path) -> "Progress":
        """Map a file, which is made where it is missing."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
        os.ftruncate(descriptor, _TIMES + 8 * MOST)
        return cls(mmap.mmap(descriptor, 0))

    @property
    def appended(self) -> int:
        """How many appends returned."""
        return int(struct.unpack_from("Q", self.file, 0)[0])

    @property
    def sync_since(self) -> int:
        """When the sync that is running began; 0 where none is."""
        return int(struct.unpack_from("Q", self.file, 8)[0])

    def time_of(self, number: int) -> int:
        """When an append returned."""
        return int(struct.unpack_from("Q", self.file, _TIMES + 8 * number)[0])

    def note_append(self, number: int) -> None:
        """Note that an append returned."""
        struct.pack_into("Q", self.file, _TIMES + 8 * number, time.monotonic_ns())
        struct.pack_into("Q", self.file, 0, number + 1)

    def watch_syncs(self) -> None:
        """Note from now on when a sync runs."""
        really = os.fdatasync

        def fdatasync(file: int) -> None:
            struct.pack_into("Q", self.file, 8, time.monotonic_ns())
            try:
                really(file)
            finally:
                struct.pack_into("Q", self.file, 8, 0)

        os.fdatasync = fdatasync  # type: ignore[assignment]  # The spool has descriptors only.


def content(run: int, number: int) -> bytes:
    """Return the document of a decision, of the usual size."""
    name = str(decision_id(run, number))
    asked = Asked(
        uid=name, operation="CREATE", kind="Pod", version="v1", namespace="team", name="x"
    )
    return encode_document(
        DecisionDocument(
            format=FORMAT,
            id=name,
            time=uuid7_time(name),
            cluster=CLUSTER,
            source="validate",
            request=asked,
            requester="oid:1",
            verdict=Verdict.ALLOW,
            allowed=True,
            reason="x" * 900,
        )
    )


async def _record(arguments: list[str]) -> None:
    folder, url, ca, certificate, key, run, rate = arguments
    progress = Progress.of(Path(f"{folder}-{run}"))
    progress.watch_syncs()
    spool = Spool(Path(folder))
    spool.open()
    client = AuditorClient(AuditorChannel(url, Path(ca), Path(certificate), Path(key)))
    shipping = asyncio.create_task(Shipper(spool, client, CLUSTER, get_logger()).run())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    start = time.monotonic()
    for number in range(MOST):
        document = content(int(run), number)
        spool.append(FrameKind.DECISION, decision_id(int(run), number).bytes, document)
        progress.note_append(number)
        early = number / float(rate) - (time.monotonic() - start)
        if early > 0:
            await asyncio.sleep(early)
    await shipping


if __name__ == "__main__":
    uvloop.run(_record(sys.argv[1:]))
