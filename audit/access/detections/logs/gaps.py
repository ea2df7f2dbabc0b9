"""14: a log says nothing of a stretch of time; and an account that falls silent."""

from collections.abc import Sequence
from typing import Final

import msgspec

from audit.access.model.detection import HOUR_S, Detection, EventContext, Tunable
from audit.access.model.findings import graver_key, make_finding, moment_text
from core.base.times import DAY_S, seconds_of
from core.weights.documents.access import Access, Act
from core.weights.documents.events import Activity, Finding, LogGap, Severity, Topic

_MOST: Final = 512
_OF_STORAGE: Final = "storage"


class LogFlow(msgspec.Struct, gc=False, array_like=True):
    """How one account's log flows."""

    last: float
    longest: float = 0.0
    """The longest silence lately; half of it is forgotten in two weeks."""
    days: int = 0
    """On which it said something."""
    day: int = -1
    told: bool = False
    """Whether its present silence was found."""


class LogGapState(msgspec.Struct):
    """What this detection remembers."""

    flows: dict[str, LogFlow] = {}
    switched: dict[str, float] = {}
    """When diagnostic settings were changed last, by account; empty for one that is not told."""
    looked: float = 0.0
    raised: dict[str, int] = {}


def _see(
    event: Access | Activity | LogGap, state: LogGapState, known: EventContext
) -> Sequence[Finding]:
    if isinstance(event, LogGap):
        return _judge_gap(event, state, known)
    if isinstance(event, Activity):
        if known.done and len(state.switched) < _MOST:
            state.switched[event.account] = known.at
        return ()
    flow = state.flows.get(event.account)
    if flow is None:
        if len(state.flows) < _MOST:
            state.flows[event.account] = LogFlow(last=known.at)
        return ()
    _note(flow, known)
    if known.at < state.looked + HOUR_S / 4:
        return ()
    state.looked = known.at
    return _judge_silences(event, state, known)


def _note(flow: LogFlow, known: EventContext) -> None:
    silence = known.at - flow.last
    if silence > 0:
        flow.longest = max(flow.longest, silence)
        flow.last = known.at
    if known.day > flow.day:
        days = min(known.day - flow.day, 365) if flow.day >= 0 else 0
        flow.longest = max(flow.longest * _FORGETTING**days, silence)
        flow.day, flow.days = known.day, flow.days + 1
    flow.told = False


def _judge_gap(gap: LogGap, state: LogGapState, known: EventContext) -> Sequence[Finding]:
    begin, end = _seconds(gap.begin), _seconds(gap.end)
    hours = max(0.0, end - begin) / HOUR_S
    account = gap.subject.split("/", 1)[0].split(" ", 1)[0]
    switched = max(state.switched.get(account, 0.0), state.switched.get("", 0.0))
    was_switched = gap.log == _OF_STORAGE and begin - DAY_S <= switched <= end
    tuned = known.tuned
    if was_switched or (gap.log == _OF_STORAGE and hours >= tuned["gap_grave_hours"]):
        severity = Severity.HIGH
    elif gap.log == _OF_STORAGE or hours >= tuned["gap_medium_hours"]:
        severity = Severity.MEDIUM
    else:
        severity = Severity.LOW
    name = f"{gap.log} {gap.subject} {gap.begin}"
    finding_key = graver_key(state.raised, name, severity, least=Severity.LOW)
    if finding_key is None:
        return ()
    because = (
        f" Diagnostic settings were changed at {moment_text(switched)}." if was_switched else ""
    )
    finding = make_finding(
        DETECTION,
        gap,
        known,
        finding_key,
        severity,
        f"The log {gap.log} says nothing of {hours:.1f} hours ({gap.subject})",
        f"From {gap.begin} to {gap.end}: {gap.why}.{because} What happened in it is not in this "
        "report.",
        first=begin,
    )
    is_account = gap.log == _OF_STORAGE
    return [msgspec.structs.replace(finding, account=account if is_account else "")]


def _judge_silences(event: Access, state: LogGapState, known: EventContext) -> Sequence[Finding]:
    """Look at accounts that say nothing, while another one speaks."""
    tuned = known.tuned
    findings = []
    for account, flow in state.flows.items():
        silence = known.at - flow.last
        if account == event.account or flow.told or flow.days < tuned["silence_least_days"]:
            continue
        least = max(tuned["silence_hours"] * HOUR_S, tuned["silence_times"] * flow.longest)
        if silence < least:
            continue
        flow.told = True
        finding = make_finding(
            DETECTION,
            event,
            known,
            ("silence", account, moment_text(flow.last)),
            Severity.MEDIUM,
            f"The log of account {account} has fallen silent",
            f"Nothing since {moment_text(flow.last)}, {silence / HOUR_S:.1f} hours ago, while "
            "other accounts' logs go on. Its longest silence lately was "
            f"{flow.longest / HOUR_S:.1f} hours.",
            first=flow.last,
        )
        findings.append(
            msgspec.structs.replace(
                finding,
                account=account,
                container="",
                who="",
                store="",
                addresses=[],
                pods=[],
                requesters=[],
                evidence=[],
            )
        )
    return findings


def _seconds(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError:
        return 0.0


_FORGETTING: Final = 0.5 ** (1 / 14)

DETECTION: Final = Detection(
    id="log-gap",
    number=14,
    title="A gap in a log",
    about="What a source shows as a gap (an hour's blob is missing, an offset was lost, a watch "
    "was away), and an account that says nothing for three times its longest silence lately while "
    "other accounts' logs go on. Storage's log is graver than the others, and gravest for hours, "
    "or where diagnostic settings were changed within a day before. Records that are hours late "
    "are no gap: the source waits for them.",
    severity=Severity.HIGH,
    techniques=("T1562.008", "T1070"),
    needs=("sources that can tell a gap; for silences, two accounts or more",),
    blind=(
        "a few records that storage lost: its logs are best effort",
        "an account that nobody reads is silent without a gap",
        "all accounts silent at once: then the source's own lag (metrics) tells",
    ),
    remedy="Look at the diagnostic settings and the source; read what is still there, and treat "
    "the stretch as unknown.",
    bound=f"{_MOST} accounts, 4096 findings",
    begin=LogGapState,
    see=_see,
    acts=frozenset(Act),
    topics=frozenset({Topic.DIAGNOSTICS}),
    gaps=True,
    tuning=(
        Tunable("gap_medium_hours", 1, "hours", "watches that restart are away for minutes"),
        Tunable("gap_grave_hours", 6, "hours", "time enough to read several checkpoints"),
        Tunable("silence_hours", 3, "hours", "storage delivers most records within an hour"),
        Tunable(
            "silence_times",
            3,
            "times its longest silence",
            "a quiet weekend is in the longest silence after the first two weeks",
        ),
        Tunable("silence_least_days", 14, "days", "two weekends must have been seen"),
    ),
)
