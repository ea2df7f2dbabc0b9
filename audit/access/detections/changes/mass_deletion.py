"""22: many blobs, a folder's worth or a whole container deleted, by whomever."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from audit.access.baselines.daily_amounts import DailyAmounts, add_amount, usual_before
from audit.access.baselines.recoverability import (
    BLOBS,
    CONTAINERS,
    AccountProtection,
    note_protection,
    recovery_text,
)
from audit.access.model.azure_scanners import ScannerClaim, scanner_claim
from audit.access.model.coverage import Coverage, Same
from audit.access.model.detection import (
    HOUR_S,
    Detection,
    EventContext,
    ResponseStep,
    Tunable,
)
from audit.access.model.findings import graver_key, make_finding
from audit.access.model.sightings import LISTED, digest_of, origin_of, touch
from audit.access.parsers.operations import OperationLevel, find_operation
from core.base.times import day_text
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Activity, Finding, Severity, Topic

_MOST_BLOBS: Final = 16_384
_MOST: Final = 2048
_DISTANCES: Final = 5.0
_SPREAD: Final = 0.7
_YOUNG_DAYS: Final = 3
_LIVE_S: Final = 24 * HOUR_S
_MOST_ABOVE: Final = 3
"""Folders above a blob that are remembered with it: a run, a step, a part of it."""
_EXPIRES: Final = "SetBlobExpiry"

_BLOBS: Final = "blobs"
_CONTAINER: Final = "container"
_PLACE: Final = frozenset({Same.ACCOUNT, Same.CONTAINER, Same.WHO})


class MadeBlob(msgspec.Struct, gc=False, array_like=True):
    """Who made a blob, and when somebody read it last."""

    who: str
    read: float = 0.0


class MassDeleteState(msgspec.Struct):
    """What this detection remembers."""

    made: dict[int, MadeBlob] = {}
    deleted: dict[str, DailyAmounts] = {}
    """Blobs that a principal deleted in a store, by day."""
    others: dict[str, DailyAmounts] = {}
    """Of those, what others had made."""
    live: dict[str, DailyAmounts] = {}
    """Of those, what was read within a day before."""
    accounts: dict[str, AccountProtection] = {}
    raised: dict[str, int] = {}


def _see(
    event: Access | Activity, state: MassDeleteState, known: EventContext
) -> Sequence[Finding]:
    if isinstance(event, Activity):
        note_protection(state.accounts, event, known)
        return ()
    if event.act is Act.READ:
        if state.made:
            _note_read(event, state, known)
        return ()
    if not known.done:
        return ()
    if _is_delete(event):
        return _judge_delete(event, state, known)
    if event.blob and event.operation_count == 0 and (event.bytes_in or event.act is Act.COPY):
        _note_made(event, state, known)
    return ()


def _is_delete(access: Access) -> bool:
    return access.succeeded and (access.act is Act.DELETE or access.operation == _EXPIRES)


def _is_blob_delete(access: Access) -> bool:
    is_azure = scanner_claim(access) is ScannerClaim.SHOWN
    return _is_delete(access) and bool(access.blob) and not is_azure


def _is_container_delete(access: Access) -> bool:
    is_azure = scanner_claim(access) is ScannerClaim.SHOWN
    return _is_delete(access) and not access.blob and not is_azure


def _note_read(access: Access, state: MassDeleteState, known: EventContext) -> None:
    made = state.made.get(digest_of(access.container, access.blob))
    if made is None:
        return
    made.read = known.at
    for folder in _folders_of(access.blob):
        if (above := state.made.get(digest_of(access.container, folder))) is not None:
            above.read = known.at


def _folders_of(blob: str) -> Iterator[str]:
    """Yield the nearest folders above a blob, each with a slash at its end: no blob has that."""
    for _ in range(_MOST_ABOVE):
        blob = blob.rstrip("/").rpartition("/")[0]
        if not blob:
            return
        yield f"{blob}/"


def _note_made(access: Access, state: MassDeleteState, known: EventContext) -> None:
    digest = digest_of(access.container, access.blob)
    made = touch(state.made, digest, lambda: MadeBlob(known.who), _MOST_BLOBS)
    made.who = known.who
    for folder in _folders_of(access.blob):
        above = digest_of(access.container, folder)
        touch(state.made, above, lambda: MadeBlob(known.who), _MOST_BLOBS).who = known.who


def _judge_delete(access: Access, state: MassDeleteState, known: EventContext) -> Sequence[Finding]:
    claim = scanner_claim(access)
    if claim is ScannerClaim.SHOWN:
        return ()
    if not access.blob:
        return _judge_container(access, state, known)
    is_folder = find_operation(access.operation).level is OperationLevel.FOLDER
    path = f"{access.blob.rstrip('/')}/" if is_folder else access.blob
    made = state.made.pop(digest_of(access.container, path), None)
    is_claimed = claim is ScannerClaim.CLAIMED
    found = _judge_many(access, state, known, is_claimed=is_claimed)
    if made is not None and made.who != known.who:
        found += _judge_others(access, made, state, known, is_claimed=is_claimed)
    return found


def _judge_container(
    access: Access, state: MassDeleteState, known: EventContext
) -> Sequence[Finding]:
    severity = Severity.HIGH if access.grant and access.caller in LISTED else Severity.CRITICAL
    name = f"container {access.account}/{access.container} {known.who} {known.day}"
    finding_key = graver_key(state.raised, name, severity, least=Severity.MEDIUM)
    if finding_key is None:
        return ()
    back = recovery_text(state.accounts, access.account, CONTAINERS)
    return [
        make_finding(
            DETECTION,
            access,
            known,
            finding_key,
            severity,
            f"A container of {access.store} was deleted",
            f"{access.account}/{access.container}, with all weights in it, by {known.who} from "
            f"{origin_of(access)}. {back}",
            aspect=_CONTAINER,
        )
    ]


def _judge_many(
    access: Access, state: MassDeleteState, known: EventContext, *, is_claimed: bool
) -> list[Finding]:
    days = touch(state.deleted, known.pair, DailyAmounts, _MOST)
    is_folder = find_operation(access.operation).level is OperationLevel.FOLDER
    count = add_amount(days, known.day, known.tuned["deleted_folder_blobs"] if is_folder else 1)
    if count < known.tuned["deleted_least_blobs"]:
        return []
    is_grave = count >= known.tuned["deleted_grave_blobs"] and not is_claimed
    severity = Severity.HIGH if is_grave else Severity.MEDIUM
    name = f"deleted {access.store} {known.who} {known.day}"
    if _is_usual(days, known.day, count):
        return []
    finding_key = graver_key(state.raised, name, severity, least=Severity.MEDIUM)
    if finding_key is None:
        return []
    usual = usual_before(days, known.day)
    history = (
        f"a day had {usual.median:.0f} (median of {usual.days})"
        if usual
        else "it has deleted nothing on any day before"
    )
    each = known.tuned["deleted_folder_blobs"]
    folders = f" (a folder counts as {each:.0f})" if is_folder else ""
    return [
        make_finding(
            DETECTION,
            access,
            known,
            finding_key,
            severity,
            f"{known.who} deletes many blobs of {access.store}",
            f"{count:.0f} on {day_text(known.at)}{folders}, from {origin_of(access)}; {history}. "
            f"{recovery_text(state.accounts, access.account, BLOBS)}",
            events=int(count),
            aspect=_BLOBS,
        )
    ]


def _judge_others(
    access: Access,
    made: MadeBlob,
    state: MassDeleteState,
    known: EventContext,
    *,
    is_claimed: bool,
) -> list[Finding]:
    """Judge a delete of what somebody else made: gravely where it is in use."""
    days = touch(state.others, known.pair, DailyAmounts, _MOST)
    is_folder = find_operation(access.operation).level is OperationLevel.FOLDER
    each = known.tuned["deleted_folder_blobs"] if is_folder else 1
    count = add_amount(days, known.day, each)
    is_live = made.read > known.at - _LIVE_S
    in_use = touch(state.live, known.pair, DailyAmounts, _MOST)
    live = add_amount(in_use, known.day, each if is_live else 0)
    least = known.tuned["deleted_others_blobs"]
    if count < least:
        return []
    is_strange = not access.grant or access.caller not in LISTED
    is_grave = (live >= least or is_strange) and not is_claimed
    severity = Severity.HIGH if is_grave else Severity.MEDIUM
    name = f"others {access.store} {known.who} {known.day}"
    if _is_usual(days, known.day, count):
        return []
    finding_key = graver_key(state.raised, name, severity, least=Severity.MEDIUM)
    if finding_key is None:
        return []
    folder = access.blob.rpartition("/")[0] or access.container
    return [
        make_finding(
            DETECTION,
            access,
            known,
            finding_key,
            severity,
            f"{known.who} deletes what others wrote to {access.store}",
            f"{count:.0f} blobs on {day_text(known.at)}, {live:.0f} of them read within a day "
            f"before, from {origin_of(access)}; the last one lay in {folder} and was written by "
            f"{made.who}. {recovery_text(state.accounts, access.account, BLOBS)}",
            events=int(count),
            aspect=_BLOBS,
        )
    ]


def _is_usual(days: DailyAmounts, day: int, count: float) -> bool:
    usual = usual_before(days, day)
    return bool(usual and usual.days >= _YOUNG_DAYS and count < usual.limit(_DISTANCES, _SPREAD))


DETECTION: Final = Detection(
    id="mass-delete",
    number=22,
    title="Many blobs, or a container, deleted",
    about="Who deletes far more blobs of a store in a day than it is used to, whatever its right: "
    "medium, high once there are as many as several checkpoints have. Who deletes blobs that "
    "somebody else wrote: medium, high where they were read within a day before, or where the "
    "request had no grant or came from a network that nobody listed. Who deletes a container: "
    "high, critical without a grant or from elsewhere. A folder counts as many blobs, setting an "
    "expiry as a delete. Trainers that delete their own old checkpoints, and jobs that clean up, "
    "are held against their own days after three of them.",
    severity=Severity.CRITICAL,
    techniques=("T1485", "T1070"),
    needs=(
        "the StorageWrite and StorageDelete logs; the StorageRead log, to know what is in use",
        "Azure's Activity log, to say what can be brought back",
    ),
    blind=(
        "one who deletes a few blobs a day, or its own",
        "who wrote a blob longer ago than is remembered",
        "how many blobs a folder had that was deleted as one",
        "a container deleted over Azure's management interface",
    ),
    fires=(
        "DeleteBlob of 1,200 blobs by a granted identity in its own Pod (medium, then high)",
        "DeleteBlob of 16 shards that another wrote and that were read today (high)",
        "DeleteContainer by a granted identity (high), without a grant (critical)",
        "DeleteDirectory of 40 folders (medium, then high)",
    ),
    quiet=(
        "a trainer that deletes its own checkpoints as it goes on",
        "a job that deletes 150 old blobs each night, after three nights",
        "deletes of lifecycle rules that Azure signed as a trusted service",
    ),
    remedy="Undelete what is needed (soft delete, versions), and give the principal a role without "
    "delete.",
    steps=(
        ResponseStep(5, "Take the principal's role on the store away, or end its AccessGrant."),
        ResponseStep(10, "End its Pods; revoke its tokens where a person is behind it."),
        ResponseStep(15, "List deleted blobs, versions and containers; note when they expire."),
        ResponseStep(60, "Undelete, and check the digests of what came back."),
        ResponseStep(240, "Ask its owner what the deletes were for; expect a job that is right."),
    ),
    recoverable="Deleted blobs within the days of soft delete, or their versions; a container "
    "within the days of its own soft delete, and then with its blobs. On accounts with a "
    "hierarchical namespace soft delete brings folders back, too, and there are no versions. "
    "Otherwise only a copy in another account.",
    bound=f"the makers of {_MOST_BLOBS} blobs; thrice 60 days of {_MOST} pairs of principal and "
    "store",
    begin=MassDeleteState,
    see=_see,
    acts=frozenset({Act.READ, Act.WRITE, Act.COPY, Act.DELETE}),
    covers={
        _BLOBS: Coverage(_is_blob_delete),
        _CONTAINER: Coverage(_is_container_delete, _PLACE),
    },
    topics=frozenset({Topic.PROTECTION}),
    tuning=(
        Tunable(
            "deleted_least_blobs",
            100,
            "blobs",
            "old checkpoints go away in dozens of shards",
        ),
        Tunable(
            "deleted_grave_blobs",
            1000,
            "blobs",
            "as many as all the shards of several checkpoints",
        ),
        Tunable(
            "deleted_others_blobs",
            10,
            "blobs",
            "a small checkpoint has as many shards; few jobs delete what others wrote",
        ),
        Tunable("deleted_folder_blobs", 25, "blobs", "a checkpoint of dozens of shards"),
    ),
)
