"""6: blobs that are made, read once and deleted."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.baselines.daily_amounts import DailyAmounts, add_amount, usual_before
from audit.access.model.detection import GIB, HOUR_S, Detection, EventContext, Tunable
from audit.access.model.findings import make_finding, size_text
from audit.access.model.sightings import LISTED, digest_of, is_news, touch
from core.base.times import day_text
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Finding, Severity

_MOST_BLOBS: Final = 16_384
_MOST: Final = 2048
_DISTANCES: Final = 5.0
_SPREAD: Final = 0.7
_YOUNG_DAYS: Final = 3


class NewBlob(msgspec.Struct, gc=False, array_like=True):
    """A blob that was made lately."""

    store: str
    who: str
    at: float
    size: int
    copied: bool
    read: int = 0
    """Bytes."""
    first_read: float = 0.0
    last_read: float = 0.0
    strange: bool = False
    """Whether a read had no grant, or came from a network that nobody listed."""


class CreateReadDeleteState(msgspec.Struct):
    """What this detection remembers."""

    made: dict[int, NewBlob] = {}
    staged: dict[str, DailyAmounts] = {}
    """Bytes that a principal made, read once and deleted in a store, by day."""
    raised: dict[str, int] = {}


def _see(access: Access, state: CreateReadDeleteState, known: EventContext) -> Sequence[Finding]:
    if access.act is Act.READ:
        if state.made:
            _note_read(access, state, known)
        return ()
    if not known.done or not access.blob:
        return ()
    if access.act is Act.DELETE:
        return _judge_staged(access, state, known)
    if access.operation_count == 0 and (access.bytes_in or access.act is Act.COPY):
        _note_made(access, state, known)
    return ()


def _note_made(access: Access, state: CreateReadDeleteState, known: EventContext) -> None:
    digest = digest_of(access.container, access.blob)
    made = state.made.get(digest)
    if made is not None and made.who == known.who and not made.read:
        made.size += access.bytes_in
        made.at = known.at
        return
    if made is None and len(state.made) >= _MOST_BLOBS:
        del state.made[next(iter(state.made))]
    copied = access.act is Act.COPY
    state.made[digest] = NewBlob(access.store, known.who, known.at, access.bytes_in, copied)


def _note_read(access: Access, state: CreateReadDeleteState, known: EventContext) -> None:
    made = state.made.get(digest_of(access.container, access.blob))
    if made is None or not known.done:
        return
    made.read += access.bytes_out
    made.first_read = made.first_read or known.at
    made.last_read = max(made.last_read, known.at)
    made.strange |= not access.grant or access.caller not in LISTED


def _judge_staged(
    access: Access, state: CreateReadDeleteState, known: EventContext
) -> Sequence[Finding]:
    made = state.made.pop(digest_of(access.container, access.blob), None)
    if made is None or not made.read or known.at > made.at + known.tuned["staged_hours"] * HOUR_S:
        return ()
    size = made.size or made.read
    is_once = made.read < 2 * size
    if not is_once or (made.who != known.who and not made.strange):
        return ()
    days = touch(state.staged, known.pair, DailyAmounts, _MOST)
    total = add_amount(days, known.day, size)
    share = known.tuned["staged_share"] * known.checkpoint_bytes(access.store)
    if total < max(share, known.tuned["staged_least_gib"] * GIB):
        return ()
    usual = usual_before(days, known.day)
    if (
        usual
        and usual.days >= _YOUNG_DAYS
        and total < usual.limit(_DISTANCES, _SPREAD)
        and not made.strange
    ):
        return ()
    level = 2 if made.strange or made.copied else 1
    name = f"staged {access.store} {known.who} {known.day}"
    if not is_news(state.raised, name, level):
        return ()
    how = "copied there" if made.copied else "written"
    return [
        make_finding(
            DETECTION,
            access,
            known,
            (name, str(level)),
            Severity.HIGH if level > 1 else Severity.MEDIUM,
            f"Blobs of {access.store} were made, read once and deleted",
            f"{size_text(total)} on {day_text(known.at)} by {known.who}; the last one was {how} "
            f"by {made.who}, read within {(made.last_read - made.first_read) / 60:.0f} minutes and "
            f"deleted {(known.at - made.at) / 60:.0f} minutes after it was made: as one does who "
            "hands something on and leaves no trace.",
            first=made.at,
            events=3,
            amount=total,
        )
    ]


DETECTION: Final = Detection(
    id="create-read-delete",
    number=6,
    title="Made, read once and deleted",
    about="A blob that is deleted within hours, was read about once and made by the same principal "
    "(or read by somebody without a grant, or from a network that nobody listed) is counted; a "
    "day's sum above a share of a checkpoint is found, gravely where the blob was a copy or the "
    "reader strange. Jobs that do so on three days (temporary files) are held against themselves.",
    severity=Severity.HIGH,
    techniques=("T1074.002", "T1070", "AML.T0035"),
    needs=("the StorageRead, StorageWrite and StorageDelete logs",),
    blind=(
        "staging that waits longer than the hours set, or is never deleted",
        "a folder that is deleted at once counts as one blob",
    ),
    remedy="Undelete what is needed (soft delete, versions), look at who read the blobs, and give "
    "the principal a role without delete.",
    bound=f"{_MOST_BLOBS} blobs made lately; 60 days of {_MOST} pairs of principal and store",
    begin=CreateReadDeleteState,
    see=_see,
    acts=frozenset({Act.READ, Act.WRITE, Act.COPY, Act.DELETE}),
    tuning=(
        Tunable(
            "staged_hours",
            6,
            "hours",
            "a handover needs one to take the file; what lies longer is found by its reads",
        ),
        Tunable(
            "staged_share",
            0.01,
            "of a checkpoint",
            "less is configuration, logs and tests of uploads",
        ),
        Tunable("staged_least_gib", 1, "GiB", "where no checkpoint's size is said"),
    ),
)
