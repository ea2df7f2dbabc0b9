"""What a reviewer should look at first: the report's own reading of itself. Pure."""

from collections.abc import Iterator
from typing import Final

from audit.reports.completeness import Completeness, PodConfirmations
from audit.reports.model import AttentionItem, LedgerState, Report

_ORDER: Final = {"critical": 0, "high": 1, "medium": 2, "low": 3}


def find_attention(report: Report) -> list[AttentionItem]:
    """Return what needs attention, the gravest first."""
    found = [
        *_of_ledger(report.ledger),
        *_of_findings(report),
        *_of_accesses(report),
        *_of_completeness(report),
    ]
    return sorted(found, key=lambda one: _ORDER[one.severity])


def _of_findings(report: Report) -> Iterator[AttentionItem]:
    cases = [
        case
        for case in report.cases
        if case.severity in {"critical", "high"} and case.open_findings
    ]
    for case in cases[:5]:
        yield AttentionItem(severity=case.severity, text=case.title, part="cases")
    if len(cases) > 5 or report.more_cases:  # noqa: PLR2004  As many as are named above.
        more = len(cases) - 5 + report.more_cases
        yield AttentionItem(severity="high", text=f"{plural(more, 'more case')}", part="cases")
    grave = sum(report.severities[word] - report.closed[word] for word in ("critical", "high"))
    if grave and not cases:
        text = f"{plural(grave, 'open finding')} of high or critical severity"
        yield AttentionItem(severity="high", text=text, part="findings")


def _of_accesses(report: Report) -> Iterator[AttentionItem]:
    ungranted = sum(row.ungranted for row in report.stores)
    if ungranted:
        count = plural(ungranted, "access", "accesses")
        text = f"{count} of weights outside a live, twice-approved grant"
        yield AttentionItem(severity="high", text=text, part="access")
    nobody = sum(row.accesses - row.granted for row in report.unattributed)
    if nobody:
        more = "at least " if report.more_unattributed else ""
        count = plural(nobody, "access", "accesses")
        text = f"{more}{count} that nobody answers for: no Pod, no grant"
        yield AttentionItem(severity="medium", text=text, part="unattributed")
    if report.roles:
        count = plural(len(report.roles) + report.more_roles, "way", "ways")
        text = f"{count} in which Azure differs from what stores and grants say"
        yield AttentionItem(severity="medium", text=text, part="roles")
    unused = sum(grant.accesses == 0 and grant.state == "live" for grant in report.grants)
    if unused:
        text = f"{plural(unused, 'live grant')} that nobody used: end what is not needed"
        yield AttentionItem(severity="low", text=text, part="grants")


def _of_completeness(report: Report) -> Iterator[AttentionItem]:
    known = report.completeness
    if not known.storage:
        text = "No storage log was taken in for this period: silence here proves nothing"
        yield AttentionItem(severity="critical", text=text, part="completeness")
    if known.gap_hours:
        text = f"Storage logs have gaps of {known.gap_hours:g} hours: reads there are not in here"
        yield AttentionItem(severity="high", text=text, part="completeness")
    if known.refused_records:
        text = f"{plural(known.refused_records, 'record')} in quarantine could not be read"
        yield AttentionItem(severity="medium", text=text, part="completeness")
    if known.unreadable:
        text = f"{plural(known.unreadable, 'document')} of the ledger could not be read"
        yield AttentionItem(severity="high", text=text, part="completeness")
    yield from _of_detections(known)
    yield from _of_lives(known.lives)


def _of_detections(known: Completeness) -> Iterator[AttentionItem]:
    for name, days in known.broken.items():
        text = f"The detection {name} did not work on {plural(days, 'day')}"
        yield AttentionItem(severity="high", text=text, part="learnt")
    young = sum(len(one.young) + one.more_young for one in known.learnt)
    if young:
        text = f"{plural(young, 'baseline')} had too little history to judge by"
        yield AttentionItem(severity="low", text=text, part="learnt")


def _of_lives(lives: PodConfirmations) -> Iterator[AttentionItem]:
    if lives.unrecorded:
        count = plural(lives.unrecorded, "decision")
        text = f"{count} in kube-apiserver's audit log but not in the ledger"
        yield AttentionItem(severity="high", text=text, part="confirmed")
    if lives.without_decision:
        count = plural(lives.without_decision, "Pod")
        yield AttentionItem(
            severity="medium", text=f"{count} began that no decision admitted", part="confirmed"
        )
    if lives.without_pod:
        count = plural(lives.without_pod, "admitted Pod")
        text = f"{count}: neither seen to live nor in kube-apiserver's audit log"
        yield AttentionItem(severity="low", text=text, part="confirmed")


def _of_ledger(ledger: LedgerState) -> Iterator[AttentionItem]:
    if ledger.sound is False:
        text = "The ledger is not sound: verification failed, so nothing in here is proven"
        yield AttentionItem(severity="critical", text=text, part="ledger")
    if not ledger.time:
        text = "The ledger has no signed tree head yet: its records are not sealed"
        yield AttentionItem(severity="medium", text=text, part="ledger")


def plural(count: int, one: str, many: str = "") -> str:
    """Say how many, in words that fit the number."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
