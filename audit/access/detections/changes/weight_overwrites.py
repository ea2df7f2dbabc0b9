"""23: weights that were there are overwritten, also by who may write: how a model is poisoned."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.baselines.recoverability import (
    AccountProtection,
    note_protection,
    recovery_text,
)
from audit.access.model.coverage import Coverage, Same, bytes_written, folder_of
from audit.access.model.detection import (
    HOUR_S,
    Detection,
    EventContext,
    ResponseStep,
    Tunable,
)
from audit.access.model.findings import graver_key, make_finding
from audit.access.model.sightings import LISTED, digest_of, origin_of, touch
from core.base.times import DAY_S, day_text
from core.weights.documents.access import Access, Act, Caller
from core.weights.documents.events import Activity, Finding, Severity, Topic

_MOST_BLOBS: Final = 16_384
_MOST: Final = 1024
_MOST_FOLDERS: Final = 10
_UPLOAD_S: Final = 6 * HOUR_S
"""Requests of one writer for one blob within so long are one upload, with its parts and retries."""

_REPLACES: Final = frozenset(
    {
        *("putblob", "putblocklist", "putblobfromurl", "copyblob", "copyblobfromurl"),
        *("putpage", "putpagefromurl", "clearpage", "appendblock", "appendblockfromurl"),
        *("createpathfile", "appendfile", "flushfile", "renamefile", "renamepathfile"),
        *("renameblob", "sftpcreate", "sftpwrite", "sftpcommit", "write", "create"),
    }
)
"""Operations after which a blob holds other bytes; blocks that are put and not committed do not."""


class WeightBlob(msgspec.Struct, gc=False, array_like=True):
    """A blob that is there."""

    seen: float
    """When it was there first, or written last."""
    writer: str = ""
    """Empty where nobody was seen to write it."""
    read: float = 0.0
    """When somebody else than its writer read it last."""


class OverwriteDay(msgspec.Struct, gc=False, array_like=True):
    """What a principal overwrote in a store on a day."""

    first: float
    blobs: int = 0
    folders: list[str] = []


class OverwrittenWeightsState(msgspec.Struct):
    """What this detection remembers."""

    blobs: dict[int, WeightBlob] = {}
    days: dict[str, OverwriteDay] = {}
    accounts: dict[str, AccountProtection] = {}
    raised: dict[str, int] = {}


def _see(
    event: Access | Activity, state: OverwrittenWeightsState, known: EventContext
) -> Sequence[Finding]:
    if isinstance(event, Activity):
        note_protection(state.accounts, event, known)
    elif known.done and event.blob:
        if event.act is Act.DELETE:
            state.blobs.pop(digest_of(event.container, event.blob), None)
        elif _is_replacement(event) and _is_target(event, known):
            return _replace(event, state, known)
    return ()


def _replace(
    access: Access, state: OverwrittenWeightsState, known: EventContext
) -> Sequence[Finding]:
    """Note that a blob holds other bytes now; judge it where it was there before."""
    digest = digest_of(access.container, access.blob)
    before = _blob_before(access, state.blobs.pop(digest, None), known)
    after = touch(state.blobs, digest, lambda: WeightBlob(known.at, known.who), _MOST_BLOBS)
    if before is None:
        return ()
    if before.writer == known.who and known.at < before.seen + _UPLOAD_S:
        after.read = before.read
        return ()
    return _judge(access, before, state, known)


def _blob_before(
    access: Access, written: WeightBlob | None, known: EventContext
) -> WeightBlob | None:
    """Return what is known of a blob until now, by who wrote it and who read it since."""
    read = known.read_of(access)
    if written is None:
        is_there = read is not None and not read.gone
        return WeightBlob(read.first, read=read.last) if read and is_there else None
    last = read.last_but(written.writer) if read else 0.0
    if last > written.seen:
        written.read = last
    return written


def _is_replacement(access: Access) -> bool:
    """Return whether a blob holds other bytes after it."""
    if not access.succeeded or not access.blob or access.operation.lower() not in _REPLACES:
        return False
    return access.act is not Act.COPY or access.operation_count == 0


def _is_target(access: Access, known: EventContext) -> bool:
    """Return whether a request writes into the store: a copy may only read it."""
    if access.act is not Act.COPY:
        return True
    store = known.surroundings.stores.get(access.store)
    return store is None or store.holds(access.account, access.container, access.blob)


def _judge(
    access: Access, before: WeightBlob, state: OverwrittenWeightsState, known: EventContext
) -> Sequence[Finding]:
    severity = _severity(access, before, known)
    if severity is None:
        return ()
    key = f"{known.pair} {known.day}"
    day = touch(state.days, key, lambda: OverwriteDay(known.at), _MOST)
    day.blobs += 1
    folder = access.blob.rpartition("/")[0]
    if folder not in day.folders:
        if len(day.folders) >= _MOST_FOLDERS:
            return ()
        day.folders.append(folder)
    name = f"{key} {access.container}/{folder}"
    finding_key = graver_key(state.raised, name, severity, least=Severity.MEDIUM)
    if finding_key is None:
        return ()
    return [_finding(access, before, day, state, known, finding_key, severity)]


def _severity(access: Access, before: WeightBlob, known: EventContext) -> Severity | None:
    """Say how grave it is; None where a writer goes on with what it wrote."""
    is_settled = known.at >= before.seen + known.tuned["overwritten_settled_hours"] * HOUR_S
    is_live = before.read > known.at - known.tuned["overwritten_live_days"] * DAY_S
    if before.writer == known.who and not (is_settled and is_live):
        return None
    if access.caller is Caller.PUBLIC:
        return Severity.CRITICAL
    if not access.grant or access.caller not in LISTED:
        return Severity.HIGH
    return Severity.HIGH if is_settled and is_live else Severity.MEDIUM


def _finding(  # noqa: PLR0913, PLR0917  what a finding is made of
    access: Access,
    before: WeightBlob,
    day: OverwriteDay,
    state: OverwrittenWeightsState,
    known: EventContext,
    finding_key: tuple[str, str],
    severity: Severity,
) -> Finding:
    folder, _, file = access.blob.rpartition("/")
    wrote = (
        f"was written by {before.writer} on {day_text(before.seen)}"
        if before.writer
        else f"was there on {day_text(before.seen)} and nobody was seen to write it"
    )
    used = f"others read it last on {day_text(before.read)}" if before.read else "nobody read it"
    return make_finding(
        DETECTION,
        access,
        known,
        finding_key,
        severity,
        f"The checkpoint {folder or access.container} of {access.store} was overwritten",
        f"{file} {wrote}, {used}; {known.who} replaced it by {access.operation} from "
        f"{origin_of(access)}, {day.blobs} such blobs so far this day. Who loads it from now on "
        f"loads what was put there. {recovery_text(state.accounts, access.account)}",
        first=day.first,
        events=day.blobs,
        folder=folder_of(access),
    )


DETECTION: Final = Detection(
    id="overwritten-weights",
    number=23,
    title="Weights that were there are overwritten",
    about="A blob that was seen to be read or written gets other bytes: by another than its "
    "writer, or by its writer where it lay for a day and others read it within a week. High where "
    "it lay for a day and is in use, also with a grant from an admitted Pod; high without a grant "
    "or from a network that nobody listed; critical from a public address; medium else. Once for "
    "principal, checkpoint (the folder) and day. A writer that goes on with its own blob (parts "
    "of an upload, retries, a file such as last.ckpt that is replaced within the day) is quiet.",
    severity=Severity.CRITICAL,
    techniques=("T1565.001", "T1485", "AML.T0018", "AML.T0020"),
    needs=(
        "the StorageWrite log; the StorageRead log, to know what is there and in use",
        "Azure's Activity log, to say what can be brought back",
    ),
    blind=(
        "what was neither read nor written as long as is remembered",
        "whether the new bytes differ, and how",
        "a new blob beside the old one, to which a pointer is moved",
        "blocks that are put and never committed",
    ),
    fires=(
        "PutBlob onto a shard that another wrote a week ago and that is served, from an admitted "
        "Pod under a grant (high)",
        "PutBlockList by its own writer onto a checkpoint of last week that others read (high)",
        "CopyBlob onto a shard from a public address (critical)",
    ),
    quiet=(
        "a trainer that writes new checkpoints, and deletes old ones",
        "a trainer that replaces its own last.ckpt every two hours",
        "a backup that copies onto what it copied the night before and nobody reads",
    ),
    remedy="Compare the digests with those that were published, bring the version before back, and "
    "let an immutability policy keep what is published.",
    steps=(
        ResponseStep(5, "Stop roll-outs of the checkpoint; take the principal's write role away."),
        ResponseStep(15, "List versions and snapshots of each shard in the folder; note expiry."),
        ResponseStep(30, "Compare digests with the record of the training run, shard by shard."),
        ResponseStep(60, "Promote the version of before, or copy it from a backup."),
        ResponseStep(
            240, "Find what loaded the new bytes since (accesses of the blob), and end it."
        ),
    ),
    recoverable="With versioning the bytes of before are a version, until a lifecycle rule or "
    "somebody deletes it. With soft delete alone, Put Blob, Put Block List and Copy Blob leave a "
    "soft-deleted snapshot for its days; pages, appends and files of a hierarchical namespace "
    "leave none. Otherwise only a copy in another account.",
    bound=f"{_MOST_BLOBS} blobs, {_MOST} pairs of principal and store of a day with "
    f"{_MOST_FOLDERS} folders",
    begin=OverwrittenWeightsState,
    see=_see,
    acts=frozenset({Act.WRITE, Act.COPY, Act.DELETE}),
    covers={
        "": Coverage(
            _is_replacement,
            frozenset({Same.STORE, Same.ACCOUNT, Same.CONTAINER, Same.FOLDER, Same.WHO}),
            bytes_of=bytes_written,
        )
    },
    topics=frozenset({Topic.PROTECTION}),
    tuning=(
        Tunable(
            "overwritten_settled_hours",
            24,
            "hours",
            "files that training replaces are replaced within hours; what is published stays",
        ),
        Tunable(
            "overwritten_live_days",
            7,
            "days",
            "models are rolled out and evaluated at least once a week",
        ),
    ),
)
