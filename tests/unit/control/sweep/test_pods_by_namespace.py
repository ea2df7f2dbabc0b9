"""How many Pods a sweep judged in each namespace: for whoever enforces the small ones first."""

from control.sweep.progress import (
    MOST_NAMESPACES,
    Progress,
    count_judged,
    count_passed_over,
    document_of,
    enter,
    leave,
)
from core.base.ids import uuid7
from core.decision.decision import Verdict


def swept(namespaces: int) -> Progress:
    """Return a sweep of namespaces with a Pod each, the first with two, one of them at its end."""
    progress = Progress(sweep=uuid7(1_795_262_400_000))
    for number in range(namespaces):
        progress, _ = enter(progress, f"n{number}")
        progress = count_judged(progress, Verdict.ALLOW, None)
        if number == 0:
            progress = count_judged(progress, Verdict.WARN, None)
            progress = count_passed_over(progress, "finished")
    return leave(progress)[0]


def test_each_namespace_has_its_count() -> None:
    """Those that were judged; not those that have ended."""
    assert document_of(swept(3), "c", 1_795_262_500.0).pods == {"n0": 2, "n1": 1, "n2": 1}


def test_of_too_many_namespaces_none_is_counted() -> None:
    """A part of them would look like the whole: what is not there would count as empty."""
    progress = swept(MOST_NAMESPACES)
    assert len(progress.pods) == MOST_NAMESPACES
    assert document_of(progress, "c", 1_795_262_500.0).pods == {}
