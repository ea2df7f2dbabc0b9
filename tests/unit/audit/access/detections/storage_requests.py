"""Requests to storage that stories of several folders are told with."""

from collections.abc import Iterator
from typing import Any

from audit.access.model.detection import Event
from core.weights.documents.access import Access, Act, Caller, SignedBy
from tests.unit.audit.access.detections.events import access, at, attributed, reads


def habit(days: range, shards: int = 5, step: str = "step-1", **over: Any) -> Iterator[Event]:
    """Tell of a principal that reads the same shards each day."""
    for day in days:
        yield from reads(at(day, 9), range(shards), step, **over)


UNGRANTED: dict[str, Any] = {"grant": "", "ungranted": "no grant", "attribution": attributed()}


def copied(when: float, **over: object) -> list[Access]:
    """Make the three records of one copy."""
    told = {"act": Act.COPY, "correlation": f"copy-{when}", "bytes_out": 0}
    told |= {"copy_source": "weightsa/checkpoints/step-1/shard-0", **over}
    names = ("CopyBlob", "CopyBlobSource", "CopyBlobDestination")
    return [
        access(when + n / 10, operation=name, operation_count=n, **told)
        for n, name in enumerate(names)
    ]


KEY: dict[str, Any] = {
    "signed_by": SignedBy.ACCOUNT_KEY,
    "principal": "",
    "application": "",
    "token": "key1:0123",
    "grant": "",
}
SAS: dict[str, Any] = {**KEY, "signed_by": SignedBy.SAS, "token": "ab:key1:0123"}
SCANNER = "xAzure/1.0 AzureStorage/1.0 ObjectLifeCycleScanner/0.50"
DEFENDER: dict[str, Any] = {
    **UNGRANTED,
    "principal": "44444444-4444-4444-4444-444444444444",
    "application": "c9",
    "caller": Caller.PRIVATE,
    "address": "10.12.7.9",
    "user_agent": "azsdk-net-Storage.Blobs/12.19.1",
    "extra": {"role": "1e7ca9b1-60d1-4db8-a914-f2ca1ff27c40"},
}
"""How Microsoft Defender's scanner asks, by Azure's role for it."""
LIFECYCLE: dict[str, Any] = {
    **KEY,
    "signed_by": SignedBy.UNKNOWN,
    "token": "",
    "caller": Caller.PRIVATE,
    "user_agent": SCANNER,
    "extra": {"identityType": "TrustedAccess"},
    "ungranted": "nobody signed in",
    "attribution": attributed(),
}
"""How lifecycle management deletes, signed as a trusted service."""
CAROL = "33333333-3333-3333-3333-333333333333"
OUTSIDE: dict[str, Any] = {"caller": Caller.PUBLIC, "address": "203.0.113.7"}
