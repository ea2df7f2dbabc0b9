"""What can be wrong with a log, and what to do about it: the words of the verifier. Pure."""

import enum
from typing import Final, Self

import msgspec

from audit.ledger.records.frames import FrameKind
from core.base.times import milli_text

MOST_PROBLEMS: Final = 100
"""Problems that are listed; the rest is counted."""


class Flaw(enum.Enum):
    """Kinds of problems."""

    CHANGED = "changed"
    REMOVED = "removed"
    INSERTED = "inserted"
    MOVED = "moved"
    REWRITTEN = "rewritten"
    TRUNCATED = "truncated"
    DIFFERS = "differs"
    POSITION = "position"
    DUPLICATE = "duplicate"
    DOCUMENT = "document"
    BACK_DATED = "back-dated"
    AHEAD = "ahead"
    REMOVAL = "removal-unjustified"
    RETENTION = "retention"
    ADOPTED = "adopted"
    HEAD = "head"
    FORK = "fork"
    KEY = "key"
    RANGE = "range"
    FILE = "file"
    ANCHOR = "anchor"
    ROW = "row"
    COLUMN = "column"
    TRIGGER = "trigger"


REMEDIES: Final[dict[Flaw, str]] = {
    Flaw.CHANGED: "compare it with a copy or a backup: what it says now was not recorded",
    Flaw.REMOVED: "look for it in a backup or an older export: it was recorded and is gone",
    Flaw.INSERTED: "believe nothing that it says: it was not recorded then",
    Flaw.MOVED: "the records are there in another order: believe the anchor's",
    Flaw.REWRITTEN: "restore the ledger from a backup that verifies; treat its host and its key "
    "as taken",
    Flaw.TRUNCATED: "look for what is missing in a backup or an older export, and make a new "
    "export",
    Flaw.DIFFERS: "verify with an anchor that keeps marks (file or blob): it names the record",
    Flaw.POSITION: "make a new export; if it is so there too, records were taken out or put in",
    Flaw.DUPLICATE: "the ledger stores each record once: find out who wrote into it",
    Flaw.DOCUMENT: "the ledger would have put it aside: find out who wrote into it",
    Flaw.BACK_DATED: "if a spool was away for so long say so with --late-days; else ask who "
    "wrote it",
    Flaw.AHEAD: "check the clocks of its cluster and of the auditor at that time",
    Flaw.REMOVAL: "no policy removed it: look for it in a backup or an older export",
    Flaw.RETENTION: "if that is what you keep say so with --keep-days; else restore what it "
    "removed",
    Flaw.ADOPTED: "rows were written past the ledger, and then taken into its log: find out who "
    "wrote them, and believe nothing that they say",
    Flaw.HEAD: "a head that its key did not sign proves nothing: ask who changed it",
    Flaw.FORK: "the key signed two logs: treat it as taken, and believe the anchor",
    Flaw.KEY: "if you changed the key give both with --key; else treat the ledger as taken over",
    Flaw.RANGE: "say which range you asked for with --since and --until, or export all",
    Flaw.FILE: "make a new export, or copy it again",
    Flaw.ANCHOR: "compare the anchor with another one, or with heads that you noted elsewhere",
    Flaw.ROW: "find out who wrote into the database; restore it from a backup",
    Flaw.COLUMN: "lists and reports go by the column: believe the document",
    Flaw.TRIGGER: "no release makes one, and it can change what is stored or shown: find out who "
    "made it, and drop it",
}


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One thing that is wrong, where, and what to do."""

    wrong: Flaw
    says: str
    position: int | None = None
    """Of the first record that it is about; None where it is about none."""
    end: int | None = None
    """Where it is only known to lie before this one: of the record after the last."""
    kind: str = ""
    cluster: str = ""
    id: str = ""
    time: str = ""
    """RFC 3339, of the id."""
    table: str = ""
    """Of the database, where it is about a row that the log does not hold, or about its form."""
    column: str = ""
    remedy: str

    def of_column(self, table: str, column: str) -> Self:
        """Return the same, about a column of a table."""
        return msgspec.structs.replace(self, table=table, column=column)


class RecordPlace(msgspec.Struct, frozen=True):
    """A record of the log, for those who must name it."""

    at: int
    """Its position; -1 of what has none."""
    kind: int
    cluster: str
    id: bytes

    @property
    def named(self) -> tuple[int, str, bytes]:
        """What it is, wherever it stands."""
        return self.kind, self.cluster, self.id


def make_problem(wrong: Flaw, says: str, where: RecordPlace | None = None) -> Problem:
    """Make a problem, about a record if one is given."""
    if where is None:
        return Problem(wrong=wrong, says=says, remedy=REMEDIES[wrong])
    return Problem(
        wrong=wrong,
        says=says,
        position=None if where.at < 0 else where.at,
        kind=kind_name(where.kind),
        cluster=where.cluster,
        id=id_text(where.id),
        time=id_time_text(where.id),
        remedy=REMEDIES[wrong],
    )


def make_row_problem(
    wrong: Flaw, says: str, position: int | None, table: str, column: str = ""
) -> Problem:
    """Make a problem of a row that is told by its table, at a position where it has one."""
    return Problem(
        wrong=wrong,
        says=says,
        position=position,
        table=table,
        column=column,
        remedy=REMEDIES[wrong],
    )


def make_place_problem(wrong: Flaw, says: str, begin: int, end: int | None = None) -> Problem:
    """Make a problem of a place at which no record can be named."""
    return Problem(wrong=wrong, says=says, position=begin, end=end, remedy=REMEDIES[wrong])


def kind_name(kind: int) -> str:
    """Name a kind of record, also one of a later release."""
    try:
        return FrameKind(kind).name.lower().replace("_", "-")
    except ValueError:
        return f"kind {kind}"


def id_text(record_id: bytes) -> str:
    """Return an id as its documents write it."""
    text = record_id.hex()
    if not is_uuid7(record_id):
        return text
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_uuid7(record_id: bytes) -> bool:
    """Return whether an id holds a time."""
    return len(record_id) == 16 and record_id[6] >> 4 == 7  # noqa: PLR2004  RFC 9562


def id_ms(record_id: bytes) -> int:
    """Return the time of a UUIDv7, in milliseconds since the epoch."""
    return int.from_bytes(record_id[:6])


def id_time_text(record_id: bytes) -> str:
    """Return the time of an id; empty where it holds none."""
    if not is_uuid7(record_id):
        return ""
    return milli_text(id_ms(record_id))
