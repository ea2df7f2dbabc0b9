"""Counting is bounded, worst first, and the same wherever a sweep is interrupted."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from control.sweep.cursor import Cursor, decode_cursor, encode_cursor
from control.sweep.progress import (
    MOST_RESULTS,
    MOST_UNWRITTEN,
    NamespaceTally,
    Progress,
    count_judged,
    count_passed_over,
    count_unwritten,
    document_of,
    enter,
    leave,
)
from control.sweep.reports import report_of
from core.decision.decision import Verdict
from tests.unit.control.sweep.sample_pods import SWEEP, result

Seen = tuple[str, Verdict | None, int]
"""Namespace, verdict (None: passed over) and findings of a Pod."""

NAMESPACES = [f"ns-{number}" for number in range(4)]

pods = st.lists(
    st.tuples(
        st.sampled_from(NAMESPACES),
        st.sampled_from([*Verdict, None]),
        st.integers(0, 5),
    ),
    max_size=60,
).map(lambda seen: sorted(seen, key=lambda one: one[0]))


def sweep(seen: list[Seen], stops: set[int]) -> tuple[list[dict[str, Any]], Any]:
    """Count Pods; before each of `stops` put the progress away and take it up again."""
    progress, reports = Progress(sweep=SWEEP), []

    def end(tally: NamespaceTally | None) -> None:
        if tally is not None and tally.worst:
            reports.append(report_of(tally, SWEEP))

    for number, (namespace, verdict, findings) in enumerate(seen):
        if number in stops:
            body = encode_cursor(Cursor(cluster="c", running=progress))
            taken_up = decode_cursor(body, "c").running
            assert taken_up is not None
            progress = taken_up
        progress, before = enter(progress, namespace)
        end(before)
        if verdict is None:
            progress = count_passed_over(progress, "finished")
        else:
            kept = None if verdict is Verdict.ALLOW else result(verdict, f"p-{number}", findings)
            progress = count_judged(progress, verdict, kept)
    progress, last = leave(progress)
    end(last)
    return reports, document_of(progress, "c", 1763731100)


@given(pods, st.sets(st.integers(0, 60)))
def test_stops_change_nothing(seen: list[Seen], stops: set[int]) -> None:
    """Split and taken up anywhere, the reports and the totals are the same."""
    assert sweep(seen, stops) == sweep(seen, set())


@given(pods)
def test_totals_are_those_of_the_pods(seen: list[Seen]) -> None:
    """Nothing is counted twice, and nothing is lost."""
    reports, document = sweep(seen, set())
    verdicts = Counter(verdict.value for _, verdict, _ in seen if verdict)
    assert document.verdicts == dict(verdicts)
    assert document.objects == verdicts.total()
    assert document.namespaces == len({namespace for namespace, _, _ in seen})
    bad = {namespace for namespace, verdict, _ in seen if verdict not in {None, Verdict.ALLOW}}
    assert [report["metadata"]["namespace"] for report in reports] == sorted(bad)


@given(
    st.lists(
        st.tuples(st.sampled_from([Verdict.WARN, Verdict.DENY, Verdict.ERROR]), st.integers(0, 9)),
        max_size=250,
    )
)
def test_the_worst_are_kept(seen: list[tuple[Verdict, int]]) -> None:
    """At most 100: errors, then denials, then warnings; those with more findings first."""
    progress, _ = enter(Progress(sweep=SWEEP), "a")
    for number, (verdict, findings) in enumerate(seen):
        kept = result(verdict, f"p-{number:03d}", findings)
        progress = count_judged(progress, verdict, kept)
    tally = progress.current
    assert tally is not None
    rank = [Verdict.ERROR, Verdict.DENY, Verdict.WARN]
    expected = sorted(
        (
            (rank.index(verdict), -findings, number)
            for number, (verdict, findings) in enumerate(seen)
        )
    )[:MOST_RESULTS]
    assert [one.name for one in tally.worst] == [f"p-{number:03d}" for _, _, number in expected]
    assert tally.omitted == max(0, len(seen) - MOST_RESULTS)


def test_namespaces_without_their_report_are_remembered_while_there_is_room() -> None:
    """All are counted; with one too many it is known that not all are known."""
    progress = Progress(sweep=SWEEP)
    for number in range(MOST_UNWRITTEN):
        progress = count_unwritten(progress, f"ns-{number}")
    assert progress.unwritten_in == [f"ns-{number}" for number in range(MOST_UNWRITTEN)]
    assert progress.knows_all_unwritten
    progress = count_unwritten(progress, "one-more")
    assert (progress.unwritten, len(progress.unwritten_in)) == (MOST_UNWRITTEN + 1, MOST_UNWRITTEN)
    assert not progress.knows_all_unwritten


def test_a_release_before_that_remembered_none_is_taken_at_its_word() -> None:
    """It counted only: then it is not known which."""
    assert not Progress(sweep=SWEEP, unwritten=1).knows_all_unwritten
