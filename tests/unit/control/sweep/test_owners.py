"""The Pods of one owner, equally bad, do not hide those of others."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from control.sweep.progress import (
    MOST_OF_OWNER,
    MOST_RESULTS,
    NamespaceTally,
    Progress,
    count_judged,
    enter,
)
from control.sweep.reports import report_of
from control.sweep.results import PodResult
from core.decision.decision import Verdict
from tests.unit.control.sweep.sample_pods import SWEEP, result


def tally_of(results: list[PodResult]) -> NamespaceTally:
    """Count Pods of one namespace."""
    progress, _ = enter(Progress(sweep=SWEEP), "a")
    for one in results:
        progress = count_judged(progress, one.verdict, one)
    assert progress.current is not None
    return progress.current


def gang(owner: str, size: int, verdict: Verdict = Verdict.DENY) -> list[PodResult]:
    """Return Pods that are equally bad."""
    return [result(verdict, f"{owner}-{number:03d}", owner=owner) for number in range(size)]


def shown(results: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return the Pods of a Report, and what each says of the others of its owner."""
    return [
        (one["resources"][0]["name"], one["properties"].get("more-of-owner", ""))
        for one in results
        if "resources" in one
    ]


def test_a_gang_takes_ten_places() -> None:
    """The worst of it, the last with the number of the rest; milder Pods of others are shown."""
    tally = tally_of([*gang("Job/big", 500), *gang("", 3), *gang("Job/small", 2, Verdict.WARN)])
    report = report_of(tally, SWEEP)
    ten = [(f"Job/big-{number:03d}", "") for number in range(9)] + [("Job/big-009", "490")]
    others = [(f"-{number:03d}", "") for number in range(3)]
    small = [("Job/small-000", ""), ("Job/small-001", "")]
    assert shown(report["results"]) == sorted([*ten, *others]) + small
    assert report["results"][-1]["properties"] == {"omitted": "490"}
    assert report["summary"] == {"pass": 0, "warn": 2, "fail": 503, "error": 0, "skip": 0}


def test_ten_of_one_owner_are_all_shown() -> None:
    """Nothing is said of none."""
    report = report_of(tally_of(gang("Job/big", MOST_OF_OWNER)), SWEEP)
    assert [more for _, more in shown(report["results"])] == [""] * MOST_OF_OWNER


def test_pods_that_nothing_owns_are_each_their_own() -> None:
    """They share no cause that is known."""
    assert len(tally_of(gang("", MOST_RESULTS + 1)).worst) == MOST_RESULTS


def test_the_note_that_takes_the_last_place_is_counted_too() -> None:
    """Where 100 are kept and more left out, the 100th gives its place to the note."""
    owners = [one for name in "abcdefghij" for one in gang(f"Job/{name}", 11)]
    report = report_of(tally_of(owners), SWEEP)
    more = {name: int(number) for name, number in shown(report["results"]) if number}
    assert more == {f"Job/{name}-009": 1 for name in "abcdefghi"} | {"Job/j-008": 2}
    assert report["results"][-1]["properties"] == {"omitted": "11"}


pods = st.lists(
    st.tuples(
        st.sampled_from([Verdict.WARN, Verdict.DENY, Verdict.ERROR]),
        st.integers(0, 9),
        st.sampled_from(["", *(f"Job/{number}" for number in range(14))]),
    ),
    max_size=250,
)


@given(pods)
def test_what_is_kept_does_not_hang_on_the_order(
    seen: list[tuple[Verdict, int, str]],
) -> None:
    """The worst ten of each owner, and of these and the others the worst hundred."""
    results = [
        result(verdict, f"p-{number:03d}", findings, owner=owner)
        for number, (verdict, findings, owner) in enumerate(seen)
    ]
    places: Counter[str] = Counter()
    expected = []
    for one in sorted(results, key=lambda one: one.order):
        places[one.owner] += 1
        if not one.owner or places[one.owner] <= MOST_OF_OWNER:
            expected.append(one)
    tally = tally_of(results)
    assert tally.worst == tally_of(results[::-1]).worst == expected[:MOST_RESULTS]
    assert tally.omitted == len(results) - len(tally.worst)


@given(pods)
def test_never_more_are_said_to_be_left_out_than_are(
    seen: list[tuple[Verdict, int, str]],
) -> None:
    """Exact while the hundred places suffice; known only of owners of which one is shown."""
    results = [
        result(verdict, f"p-{number:03d}", findings, owner=owner)
        for number, (verdict, findings, owner) in enumerate(seen)
    ]
    tally = tally_of(results)
    of_owner, kept = Counter(r.owner for r in results), Counter(r.owner for r in tally.worst)
    assert tally.more.keys() <= kept.keys() - {""}
    left_out = {owner: of_owner[owner] - kept[owner] for owner in kept.keys() - {""}}
    assert all(count <= left_out[owner] for owner, count in tally.more.items())
    if len(tally.worst) < MOST_RESULTS:
        assert tally.more == {owner: count for owner, count in left_out.items() if count}
