"""24: weights that were rewritten with a key of the writer's own: readers are refused. Ransom."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.baselines.recoverability import (
    AccountProtection,
    note_protection,
    recovery_text,
)
from audit.access.baselines.unreadable_blobs import (
    BlobUse,
    RefusedDay,
    about_changer,
    is_lost,
    note_change,
    note_refusal,
)
from audit.access.model.coverage import Coverage, Same
from audit.access.model.detection import Detection, EventContext, ResponseStep, Tunable
from audit.access.model.findings import graver_key, make_finding, moment_text, requests_text
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Activity, Finding, Severity, Topic

_CODE: Final = "blobusescustomerspecifiedencryption"
"""Error code of a request without the key that a blob was written with: HTTP 409 ("Provide an
encryption key on a request to Blob storage")."""

_READS: Final = frozenset({Act.READ, Act.LIST})
_WRITES: Final = frozenset({Act.WRITE, Act.COPY})


class CustomerKeyState(msgspec.Struct):
    """What this detection remembers."""

    uses: dict[int, BlobUse] = {}
    days: dict[str, RefusedDay] = {}
    accounts: dict[str, AccountProtection] = {}
    raised: dict[str, int] = {}


def _see(
    event: Access | Activity, state: CustomerKeyState, known: EventContext
) -> Sequence[Finding]:
    if isinstance(event, Activity):
        note_protection(state.accounts, event, known)
    elif _is_refused(event):
        return _judge(event, state, known)
    elif _is_rewrite(event):
        note_change(state.uses, event, known)
    return ()


def _is_refused(access: Access) -> bool:
    """Return whether a read lacked the key; storage refuses writes by the same code."""
    is_read = access.act in _READS and bool(access.blob)
    return is_read and access.status_text.lower() == _CODE


def _is_rewrite(access: Access) -> bool:
    """Return whether a blob got other bytes."""
    if access.act not in _WRITES or not access.succeeded or not access.blob:
        return False
    return access.operation_count == 0 and bool(access.bytes_in or access.act is Act.COPY)


def _judge(access: Access, state: CustomerKeyState, known: EventContext) -> Sequence[Finding]:
    use, day = note_refusal(state.uses, state.days, access, known)
    if not is_lost(use, known.who):
        severity = Severity.MEDIUM
    elif day.lost >= known.tuned["customer_key_grave_blobs"]:
        severity = Severity.CRITICAL
    else:
        severity = Severity.HIGH
    name = f"{access.store} {known.day}"
    finding_key = graver_key(state.raised, name, severity, least=Severity.MEDIUM)
    if finding_key is None:
        return ()
    folder, _, file = access.blob.rpartition("/")
    wrote = (
        f"{use.who} wrote it from {use.address or 'no address'} at {moment_text(use.changed)}"
        if use.changed
        else "nobody was seen to write it"
    )
    before = ", and it could be read before that" if is_lost(use, known.who) else ""
    found = make_finding(
        DETECTION,
        access,
        known,
        finding_key,
        severity,
        f"Weights of {access.store} were encrypted with a key that their readers do not have",
        f"{len(day.blobs)} blobs and {requests_text(day.events)} of {len(day.readers)} readers "
        f"were refused so far this day; the last one was {file} of {folder or access.container}: "
        f"{wrote}{before}. Storage does not keep such keys: without it the bytes are lost. "
        f"{recovery_text(state.accounts, access.account)}",
        first=day.first,
        events=day.events,
        evidence=[use.change] if use.change else [],
    )
    return [about_changer(found, use)]


DETECTION: Final = Detection(
    id="customer-key",
    number=24,
    title="Weights encrypted with a key that their readers do not have",
    about="Readers are refused with HTTP 409 BlobUsesCustomerSpecifiedEncryption: somebody wrote "
    "the blob with a key of their own in the request (a customer-provided key), which storage does "
    "not keep, and no log of the write shows. High where the blob could be read before another "
    "wrote it; critical once that holds for as many blobs as a small checkpoint has; medium where "
    "the writer asks without the key, or nothing is known of before. It is about who wrote the "
    "blob last. Once for store and day, and again where it turns graver.",
    severity=Severity.CRITICAL,
    techniques=("T1486", "T1485"),
    needs=(
        "the StorageRead and StorageWrite logs",
        "Azure's Activity log, to say what can be brought back",
    ),
    blind=(
        "a rewrite until somebody reads: the log of the write shows no key",
        "what a program encrypts by itself and writes: see detection 23",
        "who wrote a blob longer ago than is remembered",
    ),
    fires=(
        "GetBlob of a shard that was read yesterday is refused with 409 "
        "BlobUsesCustomerSpecifiedEncryption after another wrote it (high)",
        "the same for five shards (critical)",
    ),
    quiet=(
        "other refusals: 403, 404, 409 BlobArchived or LeaseAlreadyPresent, 412",
        "reads with the key: they succeed",
    ),
    remedy="Bring back the versions or soft-deleted snapshots of before the rewrite, and take the "
    "writer's role away.",
    steps=(
        ResponseStep(5, "Take the write role of the principal that the finding names away."),
        ResponseStep(10, "Regenerate the account keys where it wrote with a key or SAS."),
        ResponseStep(15, "List versions and soft-deleted snapshots of the blobs; note expiry."),
        ResponseStep(30, "Forbid customer-provided keys: a default encryption scope, enforced."),
        ResponseStep(60, "Promote the versions of before, or copy them from a backup."),
    ),
    recoverable="Versions and soft-deleted snapshots from before the rewrite have their own keys "
    "and can be read, while they last: an attacker deletes them next. What was written with the "
    "key cannot be read without it, by nobody, Microsoft included.",
    bound="16384 blobs, 512 days and stores with 64 blobs each",
    begin=CustomerKeyState,
    see=_see,
    acts=_WRITES,
    refused=_READS,
    covers={"": Coverage(_is_refused, frozenset({Same.STORE}))},
    topics=frozenset({Topic.PROTECTION}),
    tuning=(
        Tunable(
            "customer_key_grave_blobs",
            5,
            "blobs",
            "one may be a mistake of a tool; a small checkpoint has more shards",
        ),
    ),
)
