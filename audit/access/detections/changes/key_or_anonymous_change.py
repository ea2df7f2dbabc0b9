"""21: weights written, overwritten or deleted with an account key, a SAS, or no signature."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from audit.access.baselines.recoverability import (
    BLOBS,
    CONTAINERS,
    AccountProtection,
    note_protection,
    recovery_text,
)
from audit.access.model.azure_scanners import ScannerClaim, scanner_claim
from audit.access.model.coverage import Coverage, bytes_written
from audit.access.model.detection import Detection, EventContext, ResponseStep, Tunable
from audit.access.model.findings import graver_key, make_finding, requests_text, size_text
from audit.access.model.sightings import origin_of, touch
from core.weights.documents.access import Access, Act, Caller, SignedBy
from core.weights.documents.events import Activity, Finding, Severity, Topic

_WORDS: Final = {
    SignedBy.ACCOUNT_KEY: "an account key",
    SignedBy.SAS: "a SAS",
    SignedBy.ANONYMOUS: "no signature",
    SignedBy.UNKNOWN: "an unknown kind of signature",
}

_MOST: Final = 4096

_DELETED: Final = "deleted"
_CHANGED: Final = "changed"
_WRITTEN: Final = "written"

_DELETES: Final = frozenset({"setblobexpiry", "submitbatch", "blobbatch"})
"""Writes that delete, now or later: a batch holds deletes or changes of tier, and nothing else."""

_UPKEEP: Final = (
    "lease",
    "metadata",
    "tags",
    "properties",
    "tier",
    "snapshot",
    "undelete",
    "createcontainer",
    "createfilesystem",
    "restorecontainer",
    "preflight",
    "abortcopy",
    "mkdir",
    "directory",
    "setattr",
)
"""Parts of the names of writes that change no bytes of a blob."""


class SignatureChanges(msgspec.Struct, gc=False, array_like=True):
    """What one signature did to one store on one day, of one kind."""

    first: float
    events: int = 0
    bytes: int = 0
    """That came in."""


class KeyOrAnonymousChangeState(msgspec.Struct):
    """What this detection remembers."""

    changes: dict[str, SignatureChanges] = {}
    raised: dict[str, int] = {}
    accounts: dict[str, AccountProtection] = {}


def _see(
    event: Access | Activity, state: KeyOrAnonymousChangeState, known: EventContext
) -> Sequence[Finding]:
    if isinstance(event, Activity):
        note_protection(state.accounts, event, known)
        return ()
    if not _concerns(event) or not _is_target(event, known):
        return ()
    claim = scanner_claim(event)
    did = _kind_of(event)
    name = f"{event.store} {known.who} {known.day} {did}"
    changes = touch(state.changes, name, lambda: SignatureChanges(known.at), _MOST)
    changes.events += 1
    changes.bytes += event.bytes_in
    severity = _severity(event, did, changes.events, known)
    if claim is ScannerClaim.CLAIMED:
        severity = Severity.MEDIUM
    finding_key = graver_key(state.raised, name, severity, least=Severity.MEDIUM)
    if finding_key is None:
        return ()
    return [_finding(event, did, changes, state, known, finding_key, severity, claim)]


def _concerns(access: Access) -> bool:
    if access.signed_by not in _WORDS or not access.succeeded:
        return False
    if access.act is Act.COPY and access.operation_count:
        return False
    return scanner_claim(access) is not ScannerClaim.SHOWN


def _is_change(did: str) -> Callable[[Access], bool]:
    """Return what says whether an access changed the store in one way."""
    return lambda access: _concerns(access) and _kind_of(access) == did


def _is_target(access: Access, known: EventContext) -> bool:
    """Return whether a request changes the store: a copy may only read it."""
    if access.act is not Act.COPY:
        return True
    store = known.surroundings.stores.get(access.store)
    return store is None or store.holds(access.account, access.container, access.blob)


def _kind_of(access: Access) -> str:
    """Say in one word what a change did."""
    operation = access.operation.lower()
    if access.act is Act.DELETE or operation in _DELETES:
        return _DELETED
    if access.act is Act.WRITE and any(word in operation for word in _UPKEEP):
        return _CHANGED
    return _WRITTEN


def _severity(access: Access, did: str, events: int, known: EventContext) -> Severity:
    is_open = access.caller is Caller.PUBLIC or access.signed_by is SignedBy.ANONYMOUS
    if did == _CHANGED:
        return Severity.HIGH if is_open else Severity.MEDIUM
    many = events >= known.tuned["unsigned_deleted_grave_blobs"]
    if is_open or (did == _DELETED and (many or not access.blob)):
        return Severity.CRITICAL
    return Severity.HIGH


def _finding(  # noqa: PLR0913, PLR0917  what a finding is made of
    access: Access,
    did: str,
    changes: SignatureChanges,
    state: KeyOrAnonymousChangeState,
    known: EventContext,
    finding_key: tuple[str, str],
    severity: Severity,
    claim: ScannerClaim,
) -> Finding:
    what = access.blob or f"the container {access.container or access.account}"
    settings = BLOBS if access.blob else CONTAINERS
    claimed = (
        " Its user agent is that of Azure's lifecycle scanner, which anybody can send: compare it "
        "with the rules of the account."
        if claim is ScannerClaim.CLAIMED
        else ""
    )
    sizes = f" and {size_text(changes.bytes)} sent" if changes.bytes else ""
    back = "" if did == _CHANGED else f" {recovery_text(state.accounts, access.account, settings)}"
    return make_finding(
        DETECTION,
        access,
        known,
        finding_key,
        severity,
        f"Weights of {access.store} were {did} with {_WORDS[access.signed_by]}",
        f"{requests_text(changes.events)}{sizes} so far this day, from {origin_of(access)}; the "
        f"last one was {access.operation} of {what}. Whoever holds it can do so, and no log says "
        f"who that was.{claimed}{back}",
        first=changes.first,
        events=changes.events,
        amount=changes.bytes,
        aspect=did,
    )


DETECTION: Final = Detection(
    id="key-or-anonymous-change",
    number=21,
    title="Weights written, overwritten or deleted with a key, a SAS or no signature",
    about="A successful write, copy into the store or delete that was signed with an account key, "
    "a SAS of such a key, nothing, or a kind of signature that this release does not know. One "
    "finding for each signature, store, day and kind of change (deleted, written, changed without "
    "changing bytes); another one where it turns graver. Deletes and writes are high; critical "
    "from a public address, without a signature, of a container, and once as many blobs are "
    "deleted as a small checkpoint has. Leases, tags, metadata, tiers and snapshots are medium, "
    "high from a public address. A delete whose user agent is that of Azure's lifecycle scanner "
    "is medium, as anybody can send that; one that a trusted service of Azure's signed is quiet.",
    severity=Severity.CRITICAL,
    techniques=("T1485", "T1565.001", "T1552", "AML.T0055"),
    needs=(
        "the StorageWrite and StorageDelete logs",
        "a WeightStore",
        "Azure's Activity log, to say what can be brought back",
    ),
    blind=(
        "who it was: that is the point of it",
        "anonymous requests that failed: storage logs few of them",
        "what a batch (SubmitBatch) did, beyond the records of its parts",
        "whether a blob that was written had been there before",
    ),
    fires=(
        "DeleteBlob of 16 shards with the account key from a public address (critical)",
        "PutBlob with a SAS from a node of the cluster (high)",
        "DeleteContainer with the account key (critical)",
        "SetBlobTier or a lease with a SAS from a known network (medium)",
    ),
    quiet=(
        "writes and deletes with Entra ID, and with a SAS of a user delegation key (detection 18)",
        "requests that storage refused",
        "deletes of lifecycle rules that Azure signed as a trusted service",
    ),
    remedy="Set allowSharedKeyAccess to false on the account and regenerate both keys, which ends "
    "every SAS of them; then bring back what was deleted or overwritten.",
    steps=(
        ResponseStep(5, "Regenerate both account keys, or set allowSharedKeyAccess to false."),
        ResponseStep(10, "Set a CanNotDelete lock on the account, and close its firewall."),
        ResponseStep(15, "List deleted blobs, versions and containers; stop their expiry."),
        ResponseStep(60, "Undelete; compare the digests of shards with those that were published."),
        ResponseStep(240, "Find who listed or held the key (detections 1 and 12), and where."),
    ),
    recoverable="Deleted blobs within the days of soft delete; overwritten ones where versioning "
    "or soft delete (which keeps a snapshot of what is overwritten) was on; deleted containers "
    "within the days of their own soft delete. An account key can delete versions and snapshots, "
    "too, but not what soft delete, an immutability policy or a legal hold keeps. Otherwise only "
    "a copy in another account.",
    bound=f"{_MOST} signatures of a day, store and kind, as many findings; 1024 accounts",
    begin=KeyOrAnonymousChangeState,
    see=_see,
    acts=frozenset({Act.WRITE, Act.DELETE, Act.COPY}),
    covers={
        did: Coverage(_is_change(did), bytes_of=bytes_written)
        for did in (_DELETED, _CHANGED, _WRITTEN)
    },
    topics=frozenset({Topic.PROTECTION}),
    tuning=(
        Tunable(
            "unsigned_deleted_grave_blobs",
            10,
            "blobs",
            "a small checkpoint has as many shards; keys and SAS should delete nothing at all",
        ),
    ),
)
