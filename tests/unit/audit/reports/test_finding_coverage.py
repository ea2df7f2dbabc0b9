"""A finding counts the accesses that its detection counts, and no others."""

from collections.abc import Sequence
from typing import Any

import msgspec

from audit.access.cases import build_cases
from audit.reports.tallies.finding_figures import Figures, FindingFigures
from core.weights.documents.access import Access, Act, Caller
from core.weights.documents.events import Finding
from tests.unit.audit.access.detections.events import (
    BOB,
    START,
    access,
    attributed,
    shown,
    write,
)

REFUSED_KEY: dict[str, Any] = {
    "status": 409,
    "status_text": "BlobUsesCustomerSpecifiedEncryption",
    "bytes_out": 0,
}
UNGRANTED: dict[str, Any] = {"principal": BOB, "grant": "", "ungranted": "no grant covers it"}


def found(events: Sequence[Access], detection: str) -> list[Finding]:
    """Return what a detection finds in events."""
    return list(shown(sorted(events, key=lambda one: one.id), detection))


def counted(findings: Sequence[Finding], events: Sequence[Access]) -> Figures:
    """Return what the last of some findings comes to."""
    figures = FindingFigures(findings)
    for one in events:
        figures.add(one)
    counts = figures.of_finding(findings[-1])
    assert counts is not None
    return counts


def test_finding_that_a_detection_failed_counts_no_accesses() -> None:
    """It happened to fail on an access; it is not about that principal."""
    (made,) = found([access(START, **UNGRANTED)], "ungranted")
    failed = msgspec.structs.replace(
        made, title="The detection ungranted does not work (KeyError)", id=made.id[:-1] + "0"
    )
    figures = FindingFigures([failed])
    figures.add(access(START + 1, **UNGRANTED))
    assert not figures.is_counted(failed)
    assert figures.of_finding(failed) is None


def test_customer_key_counts_refused_reads_and_no_refused_writes() -> None:
    """Storage refuses a write without the key by the same code, and the detection skips it."""
    refused = [access(START + 100 + at, **REFUSED_KEY) for at in range(3)]
    writes = [
        write(START + 200 + at, "step-1/shard-0", **REFUSED_KEY | {"bytes_in": 0})
        for at in range(4)
    ]
    events = [access(START), *refused, *writes]
    assert counted(found(events, "customer-key"), events).events == 3


def test_ungranted_counts_bytes_of_reads_alone() -> None:
    """A listing's answer is no part of a checkpoint."""
    listing = access(
        START, operation="ListBlobs", act=Act.LIST, blob="", bytes_out=1 << 20, **UNGRANTED
    )
    events = [listing, access(START + 10, bytes_out=500, **UNGRANTED)]
    counts = counted(found(events, "ungranted"), events)
    assert (counts.events, counts.amount) == (2, 500)


def test_entry_after_refusals_counts_no_granted_access_from_a_known_network() -> None:
    """The job that was let in all day is not what came in after the refusals."""
    stranger: dict[str, Any] = {
        "address": "203.0.113.9",
        "caller": Caller.PUBLIC,
        "grant": "",
    }
    refused = [
        access(START + 100 + at, blob=f"b{at}", status=403, bytes_out=0, **stranger)
        for at in range(60)
    ]
    entry = access(START + 200, bytes_out=7, **stranger)
    ours = access(START + 50, address="203.0.113.9", caller=Caller.NETWORK)
    events = [ours, *refused, entry]
    findings = [one for one in found(events, "refused-burst") if one.aspect == "entered"]
    assert counted(findings, events).amount == 7


def test_overwrites_count_in_their_own_account() -> None:
    """A copy of the store into the same folder of a backup account overwrites nothing in it."""
    blob = "step-1/shard-0"
    events = [
        write(START, blob, 100),
        write(START + 86_400 * 2, blob, 200, principal=BOB, grant=""),
        write(START + 86_400 * 2 + 9, blob, 4000, principal=BOB, grant="", account="backup"),
    ]
    findings = found(events[:2], "overwritten-weights")
    assert counted(findings, events).amount == 200


def test_token_without_hash_is_not_counted() -> None:
    """The detection cannot tell whether it is that token."""
    stranger: dict[str, Any] = {
        "address": "203.0.113.9",
        "caller": Caller.PUBLIC,
        "attribution": attributed(),
    }
    events = [
        access(START),
        access(START + 60, **stranger),
        access(START + 90, token="", **stranger),
    ]
    assert counted(found(events, "token-two-addresses"), events).events == 2


def test_same_finding_of_two_clusters_is_in_cases_twice() -> None:
    """Two clusters that read one log give a finding one id."""
    (made,) = found([access(START, **UNGRANTED)], "ungranted")
    other = msgspec.structs.replace(made, cluster="west")
    assert sum(case.findings for case in build_cases([made, other]).cases) == 2
