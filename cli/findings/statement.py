"""`sallyport findings set`: says how far a person is with a finding."""

import re
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from app.records.ledger import open_ledger
from app.settings.root import Settings
from audit.access.progress import (
    STATE_WORDS,
    TWO_PEOPLE,
    FindingProgress,
    finding_subject,
    has_object_id,
)
from audit.ledger.records.frames import FrameKind
from cli.findings.run import FORMAT, read_statements
from cli.shared.audit_statements import build_statement, make_statement, open_cluster, read_self
from cli.shared.decision_queries import now_ms
from cli.shared.ledger_documents import find_one
from core.base.errors import InvalidObjectError, SettingsError
from core.base.safe_text import safe_text
from core.base.times import DAY_S, milliseconds_of, seconds_of, time_text
from core.people.two_person import Person, person_of
from core.weights.audit_statements import CLOSING, FindingState
from core.weights.documents.events import Finding, decode_finding

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_DAYS: Final = re.compile(r"(\d{1,4})d")
_FLAGS: Final = {
    "spec.state": "--state",
    "spec.owner": "--owner",
    "spec.note": "--note",
    "spec.acceptedUntil": "--until",
}
_OWN: Final = (
    "the finding is about you: another person says how far it is, and whose; a note is yours to "
    "give"
)

_NOBODY: Final = (
    "kube-apiserver gives no object id of you, and the finding is about somebody with one: nothing "
    "says that it is not you, so another person closes it"
)


@dataclass(frozen=True)
class StatementOptions:
    """What was typed."""

    finding: str
    state: FindingState | None
    owner: str | None
    note: str
    until: str | None
    cluster: str | None


class StatementResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sallyport findings set -o json`."""

    format: int
    finding: str
    title: str
    said: bool
    """Whether an AuditStatement was written."""
    statement: str = ""
    """Its name."""
    state: str
    """The finding's state as the ledger has it, without this statement."""
    message: str = ""
    """Why it was refused, or what it waits for."""


async def state_finding(settings: Settings, options: StatementOptions) -> StatementResult:
    """Write what was typed into the cluster.

    Raises:
        SettingsError: something that was typed is wrong, or the ledger has no such finding.
        LedgerError: the ledger does not answer.
        ClusterError: kube-apiserver does not answer.
    """
    finding, before = await _read(settings, options)
    body = _build(finding, options)
    result = StatementResult(
        format=FORMAT, finding=finding.id, title=finding.title, said=False, state=before.state
    )
    async with open_cluster(settings) as objects:
        me = await read_self(objects)
        if why := _why_not(finding, options, person_of(me) | {me.label.lower()}):
            return msgspec.structs.replace(result, message=why)
        made = await make_statement(objects, body)
    if not made.name:
        return msgspec.structs.replace(result, message=made.refused)
    message = _waits(finding, options.state, before)
    return msgspec.structs.replace(result, said=True, statement=made.name, message=message)


def print_statement(made: StatementResult, console: Console) -> None:
    """Say for a person what was written, or why nothing was."""
    if made.said:
        console.print(Text(f"said: AuditStatement {made.statement}"))
    if made.message:
        console.print(Text(safe_text(made.message)))


def _why_not(finding: Finding, options: StatementOptions, me: Person) -> str:
    """Say why a statement would not count; empty where it may."""
    subject = finding_subject(finding)
    if (options.state is not None or options.owner is not None) and me & subject:
        return _OWN
    if options.state in CLOSING and has_object_id(subject) and not has_object_id(me):
        return _NOBODY
    return ""


async def _read(settings: Settings, options: StatementOptions) -> tuple[Finding, FindingProgress]:
    async with open_ledger(settings) as store:
        finding = await find_one(
            store, FrameKind.FINDING, options.finding, decode_finding, "findings", options.cluster
        )
        statements = await read_statements(store, milliseconds_of(finding.time))
    return finding, statements.of_finding(finding, now_ms())


def _build(finding: Finding, options: StatementOptions) -> dict[str, Any]:
    given = {
        "state": options.state.value if options.state else None,
        "owner": options.owner,
        "note": options.note or None,
        "acceptedUntil": None if options.until is None else _moment(options.until),
    }
    spec = {"finding": finding.id} | {key: each for key, each in given.items() if each is not None}
    try:
        return build_statement(f"finding-{finding.id[:8]}", spec)
    except InvalidObjectError as error:
        flag = _FLAGS.get(error.field, error.field)
        raise SettingsError(f"{flag}: {error.problem}") from None


def _moment(text: str) -> str:
    """Return a time as an object has it: so many days from now, or a day's first second.

    Raises:
        SettingsError: it is none.
    """
    if found := _DAYS.fullmatch(text):
        return time_text(now_ms() // 1000 + int(found[1]) * DAY_S)
    try:
        if _DAY.fullmatch(text):
            return time_text(seconds_of(f"{text}T00:00:00Z"))
        return time_text(seconds_of(text if text.endswith("Z") else ""))  # No zone, no time.
    except ValueError:
        raise SettingsError(
            f"--until {text}: give days from now (90d), a day (2027-01-31) or a time "
            "(2027-01-31T18:00:00Z)"
        ) from None


def _waits(finding: Finding, state: FindingState | None, before: FindingProgress) -> str:
    """Say that a second person is needed; empty where none is, or one has asked already."""
    if state is None or state not in CLOSING or finding.severity not in TWO_PEOPLE:
        return ""
    if before.asked == state.value:
        return "one person has asked for it before: if that was not you, the finding is closed now"
    grave = finding.severity.value
    return f"{STATE_WORDS[state]}: a second person must say the same of a {grave} finding"
