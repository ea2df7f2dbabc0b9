"""25: weights in use are moved to the Archive tier, from which nobody reads for hours."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.baselines.unreadable_blobs import (
    BlobUse,
    RefusedDay,
    about_changer,
    is_lost,
    note_change,
    note_refusal,
)
from audit.access.model.azure_scanners import ScannerClaim, scanner_claim
from audit.access.model.coverage import Coverage, Same
from audit.access.model.detection import Detection, EventContext, ResponseStep, Tunable
from audit.access.model.findings import graver_key, make_finding, moment_text
from audit.access.model.sightings import is_news, origin_of, touch
from core.base.times import DAY_S
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Finding, Severity

_CODES: Final = frozenset({"blobarchived", "blobbeingrehydrated"})
"""Error codes of reads of the Archive tier, HTTP 409 ("Blob service error codes")."""

_SETS: Final = frozenset({"setblobtier", "submitbatch", "blobbatch"})
_ARCHIVE: Final = "archive"
_MOVED: Final = "moved"
_REFUSED: Final = "refused"
_MOST: Final = 1024


class TierDay(msgspec.Struct, gc=False, array_like=True):
    """How many blobs in use somebody moved in a store on a day."""

    first: float
    blobs: int = 0
    archived: int = 0
    """Of those, to Archive for certain."""


class ArchivedWeightsState(msgspec.Struct):
    """What this detection remembers."""

    uses: dict[int, BlobUse] = {}
    moved: dict[str, TierDay] = {}
    days: dict[str, RefusedDay] = {}
    raised: dict[str, int] = {}


def _see(access: Access, state: ArchivedWeightsState, known: EventContext) -> Sequence[Finding]:
    if _is_refused(access):
        return _judge_refusal(access, state, known)
    return _judge_move(access, state, known) if _is_move(access) else ()


def _is_refused(access: Access) -> bool:
    is_read = access.act is Act.READ and bool(access.blob)
    return is_read and access.status_text.lower() in _CODES


def _is_move(access: Access) -> bool:
    """Return whether it moves a blob to another tier, and not by Azure's own scanner."""
    if not access.succeeded or not access.blob or access.operation.lower() not in _SETS:
        return False
    tier = str(access.extra.get("tier", "")).lower()
    return tier in {"", _ARCHIVE} and scanner_claim(access) is not ScannerClaim.SHOWN


def _judge_move(
    access: Access, state: ArchivedWeightsState, known: EventContext
) -> Sequence[Finding]:
    tier = str(access.extra.get("tier", "")).lower()
    claim = scanner_claim(access)
    use = note_change(state.uses, access, known)
    if use.before < known.at - known.tuned["archived_live_days"] * DAY_S:
        return ()
    key = f"{known.pair} {known.day}"
    day = touch(state.moved, key, lambda: TierDay(known.at), _MOST)
    day.blobs += 1
    day.archived += tier == _ARCHIVE
    least = known.tuned["archived_least_blobs"]
    if day.blobs < least:
        return ()
    is_grave = day.archived >= least and claim is ScannerClaim.NONE
    severity = Severity.HIGH if is_grave else Severity.MEDIUM
    name = f"moved {key}"
    finding_key = graver_key(state.raised, name, severity, least=Severity.MEDIUM)
    if finding_key is None:
        return ()
    where = "to Archive" if day.archived else "to another tier, which the log does not name"
    return [
        make_finding(
            DETECTION,
            access,
            known,
            finding_key,
            severity,
            f"{known.who} moves weights of {access.store} that are in use",
            f"{day.blobs} blobs that were read within the last days were moved {where} so far this "
            f"day, from {origin_of(access)}; the last one was {access.blob}. What lies in Archive "
            "is read only after it was rehydrated, which takes up to 15 hours.",
            first=day.first,
            events=day.blobs,
            aspect=_MOVED,
        )
    ]


def _judge_refusal(
    access: Access, state: ArchivedWeightsState, known: EventContext
) -> Sequence[Finding]:
    use, day = note_refusal(state.uses, state.days, access, known)
    name = f"refused {access.store} {known.day}"
    if not is_lost(use, known.who) or not is_news(state.raised, name):
        return ()
    moved = (
        f"{use.who} moved it from {use.address or 'no address'} at {moment_text(use.changed)}"
        if use.changed
        else "nobody was seen to move it"
    )
    found = make_finding(
        DETECTION,
        access,
        known,
        (name,),
        Severity.HIGH,
        f"Weights of {access.store} that were in use lie in the Archive tier",
        f"A read of {access.blob} was refused ({access.status_text}), and it could be read "
        f"before; {moved}. It is read again only after it was rehydrated, which takes up to 15 "
        "hours.",
        first=day.first,
        events=day.events,
        evidence=[use.change] if use.change else [],
        aspect=_REFUSED,
    )
    return [about_changer(found, use)]


DETECTION: Final = Detection(
    id="archived-weights",
    number=25,
    title="Weights in use moved to the Archive tier",
    about="Somebody sets the tier of several blobs that were read within days: high where the log "
    "names Archive, medium where it names no tier. Or a read is refused with HTTP 409 BlobArchived "
    "of a blob that could be read before (high; about who moved it). Moves to Hot, Cool and Cold "
    "are quiet, and so are blobs that nobody read.",
    severity=Severity.HIGH,
    techniques=("T1499", "T1485"),
    needs=("the StorageRead and StorageWrite logs",),
    blind=(
        "which tier was set, where the record does not say it: then the first refused read does",
        "blobs that are written to Archive at once",
    ),
    fires=(
        "SetBlobTier to Archive of five shards that were read this week (high)",
        "GetBlob refused with 409 BlobArchived of a shard that was read yesterday (high)",
    ),
    quiet=(
        "old checkpoints that nobody read for a week moved to Archive",
        "moves between Hot, Cool and Cold",
        "moves by lifecycle rules that Azure signed as a trusted service",
    ),
    remedy="Rehydrate the blobs with high priority, or copy them to an online tier, and take the "
    "principal's write role away.",
    steps=(
        ResponseStep(5, "Take the write role of the principal that the finding names away."),
        ResponseStep(10, "Set the tier back to Hot with the rehydrate priority High."),
        ResponseStep(30, "Serve from a copy until then: high priority takes about an hour."),
        ResponseStep(60, "Look for lifecycle rules that were changed (detection 20)."),
    ),
    recoverable="All of it, for a price: nothing is lost, but no byte can be read until it is "
    "rehydrated, within an hour for small blobs with high priority, within 15 hours otherwise. "
    "Deleting what lies in Archive for less than 180 days costs the rest of them.",
    bound=f"16384 blobs, {_MOST} pairs of principal and store of a day, 512 days and stores",
    begin=ArchivedWeightsState,
    see=_see,
    acts=frozenset({Act.WRITE}),
    refused=frozenset({Act.READ}),
    covers={
        _MOVED: Coverage(_is_move),
        _REFUSED: Coverage(_is_refused, frozenset({Same.STORE})),
    },
    tuning=(
        Tunable(
            "archived_least_blobs",
            5,
            "blobs",
            "one by hand may be a mistake; a small checkpoint has more shards",
        ),
        Tunable("archived_live_days", 7, "days", "what was read within a week is in use"),
    ),
)
