"""Ways to tamper with an export, by someone who holds the signing key and cannot write the anchor.

Each says what must be found, and at which position.
"""

import unicodedata
from typing import Final

from audit.ledger.log.problems import Flaw
from audit.ledger.records.frames import FrameKind
from core.base.ids import stable_id
from tests.unit.audit.ledger.log_verify.honest_log import (
    ANCHORED,
    DAY_MS,
    OLD,
    RECORDS,
    RETENTION_AT,
    Scene,
    decision,
    retention,
    time_at,
)
from tests.unit.audit.ledger.log_verify.tampered_exports import (
    AT,
    Tampering,
    ahead_retention,
    appended,
    changed,
    doubled_key,
    far_swapped,
    flipped,
    forged_retention,
    forked,
    future_retention,
    gone,
    inserted,
    line_of,
    lines,
    other_key,
    payload,
    prefix_without_record,
    regenerated,
    regenerated_log,
    removed,
    replaced,
    rolled_back,
    shifted,
    short_claim,
    spaced,
    swapped,
    take_prefix,
    truncated,
    whole,
    without_heads,
    zipped,
)
from tests.unit.audit.ledger.store.documents import NOW_MS

LATE: Final = decision(NOW_MS - 9 * DAY_MS, 9000)
NAME: Final = "caf\u00e9"
NEW_ID: Final = stable_id(time_at(AT), "decision", "another")

CONTENTS: Final = [
    Tampering(
        "a verdict changed", payload(AT, b'"allowed":true', b'"allowed":false'), Flaw.CHANGED, AT
    ),
    Tampering(
        "first record changed", replaced(0, decision(time_at(0), 0, reason="x")), Flaw.CHANGED, 0
    ),
    Tampering(
        "last anchored record changed",
        replaced(ANCHORED - 1, decision(time_at(ANCHORED - 1), 499, reason="x")),
        Flaw.CHANGED,
        ANCHORED - 1,
    ),
    Tampering(
        "white space in a document", payload(AT, b'"format":1', b'"format": 1'), Flaw.CHANGED, AT
    ),
    Tampering(
        "a key twice in a document",
        payload(AT, b'"allowed":true', b'"allowed":true,"allowed":false'),
        Flaw.CHANGED,
        AT,
    ),
    Tampering(
        "a text in another Unicode form",
        payload(
            AT, b'"requester":"', f'"requester":"{unicodedata.normalize("NFD", NAME)}'.encode()
        ),
        Flaw.CHANGED,
        AT,
    ),
    Tampering(
        "id changed, in leaf and document",
        replaced(AT, decision(time_at(AT), 9009)),
        Flaw.CHANGED,
        AT,
    ),
    Tampering("id changed in the leaf alone", changed(AT, id=NEW_ID), Flaw.CHANGED, AT),
    Tampering(
        "moved to another cluster",
        replaced(AT, decision(time_at(AT), AT, cluster="other")),
        Flaw.CHANGED,
        AT,
    ),
    Tampering("kind changed", changed(AT, kind=FrameKind.ACCESS), Flaw.CHANGED, AT),
    Tampering("hidden as unreadable", changed(AT, payload=b"{", aside=True), Flaw.CHANGED, AT),
    Tampering(
        "made old, all heads after it too", whole(shifted(AT, -3600_000)), Flaw.REWRITTEN, AT
    ),
]

ORDER: Final = [
    Tampering("first removed", removed(0), Flaw.REMOVED, 0),
    Tampering("one removed from the middle", removed(AT), Flaw.REMOVED, AT),
    Tampering("forty removed from the middle", removed(AT, 40), Flaw.REMOVED, AT),
    Tampering("last anchored removed", removed(ANCHORED - 1), Flaw.CHANGED, ANCHORED - 1),
    Tampering("end removed, heads too", whole(truncated), Flaw.TRUNCATED, 430),
    Tampering("heads deleted, end removed", whole(without_heads), Flaw.TRUNCATED, ANCHORED - 5),
    Tampering("rolled back to an old head", whole(rolled_back), Flaw.TRUNCATED, 200),
    Tampering("two neighbours swapped", whole(swapped), Flaw.MOVED, AT),
    Tampering("two far apart swapped", whole(far_swapped), Flaw.CHANGED, AT),
    Tampering("one put in", inserted(AT, decision(time_at(AT) + 1, 9001)), Flaw.INSERTED, AT),
    Tampering("one put in twice", inserted(AT + 1, Scene().records[AT]), Flaw.INSERTED, AT + 1),
    Tampering("one appended twice", appended(Scene().records[590]), Flaw.DUPLICATE, RECORDS),
    Tampering("an old one appended", appended(LATE), Flaw.BACK_DATED, RECORDS),
    Tampering("all written anew", whole(regenerated), Flaw.REWRITTEN, 0),
    Tampering("all written anew as another log", whole(regenerated_log), Flaw.KEY, None),
    Tampering(
        "a line left out, the rest as it was",
        lines(lambda made: made[: line_of(AT)] + made[line_of(AT) + 1 :]),
        Flaw.REMOVED,
        AT,
    ),
]

SIGNED: Final = [
    Tampering("key replaced, all heads signed anew", whole(other_key), Flaw.KEY, None),
    Tampering("a second head of one size", lines(forked), Flaw.FORK, RECORDS),
    Tampering(
        "a signature changed",
        lines(flipped),
        Flaw.HEAD,
        OLD,
    ),
    Tampering(
        "a head made older",
        whole(lambda scene: scene.times.update({550: time_at(300)})),
        Flaw.HEAD,
        550,
    ),
]

REMOVALS: Final = [
    Tampering("documents removed without a record", whole(gone(400, 50)), Flaw.REMOVAL, 400),
    Tampering("removed by a record that keeps a day", forged_retention(1), Flaw.RETENTION, RECORDS),
    Tampering(
        "removed by a record that says another day than it keeps",
        forged_retention(90, "2026-11-22"),
        Flaw.RETENTION,
        RECORDS,
    ),
    Tampering("removed by a record of the future", whole(ahead_retention), Flaw.AHEAD, RECORDS),
    Tampering(
        "removed by a record of the future, as is its head",
        whole(future_retention),
        Flaw.HEAD,
        RECORDS,
    ),
    Tampering(
        "the record of an honest removal changed",
        replaced(RETENTION_AT, retention(time_at(RETENTION_AT), 80)),
        Flaw.CHANGED,
        RETENTION_AT,
    ),
    Tampering(
        "a prefix removed with a wrong frontier",
        whole(lambda scene: take_prefix(scene, honest=False)),
        Flaw.DIFFERS,
        0,
    ),
    Tampering(
        "a young prefix removed by a record",
        whole(lambda scene: take_prefix(scene, collapsed=450)),
        Flaw.REMOVAL,
        0,
    ),
    Tampering(
        "a young prefix removed by a record with a head made old",
        whole(lambda scene: take_prefix(scene, collapsed=450, at_ms=time_at(0))),
        Flaw.REMOVAL,
        0,
    ),
    Tampering(
        "a prefix removed without a record",
        whole(prefix_without_record),
        Flaw.REMOVAL,
        0,
    ),
]

FILES: Final = [
    Tampering("white space in a line", lines(spaced), Flaw.FILE, None),
    Tampering("a key twice in a line", lines(doubled_key), Flaw.FILE, None),
    Tampering("a bit of the gzip flipped", zipped, Flaw.FILE, None),
    Tampering("last line missing", lines(lambda made: made[:-1]), Flaw.FILE, None),
    Tampering(
        "the first line counts fewer",
        whole(lambda scene: scene.opening.update(size=590)),
        Flaw.RANGE,
        RECORDS,
    ),
    Tampering(
        "the first line says that less was asked for",
        whole(short_claim),
        Flaw.RANGE,
        None,
    ),
    Tampering(
        "lines of another export after it", lines(lambda made: made + made), Flaw.FILE, RECORDS
    ),
]

ALL: Final = [*CONTENTS, *ORDER, *SIGNED, *REMOVALS, *FILES]
