"""Which changed statuses are written first, where not all can be in one run."""

from collections.abc import Iterable

from control.approvals.conditions import unreadable
from control.approvals.evaluation_cache import FoundConditions
from control.approvals.turns import StatusTurns
from core.approvals import approvals, exceptions
from core.weights import access_grants
from kube.watch.statuses import StatusHead


def changed(kind: str, namespace: str, *names: str) -> list[FoundConditions]:
    """Return objects whose statuses have changed."""
    return [
        FoundConditions(
            kind,
            StatusHead(namespace, name, f"{kind}/{namespace}/{name}", 1, None, ""),
            unreadable("spec: missing"),
        )
        for name in names
    ]


def run(turns: StatusTurns, found: Iterable[FoundConditions], most: int) -> list[str]:
    """Try so many; return their names."""
    tried = turns.order(found)[:most]
    for each in tried:
        turns.note(each)
    return [each.head.name for each in tried]


def test_kinds_share_a_run() -> None:
    """A tenant that edits all of its exceptions holds up no grant and no approval."""
    many = changed(exceptions.KIND, "loud", *map(str, range(100)))
    others = changed(access_grants.KIND, "quiet", "grant")
    others += changed(approvals.KIND, "quiet", "approval")
    assert {"grant", "approval"} <= set(run(StatusTurns(), [*many, *others], 3))


def test_namespaces_share_what_a_kind_has() -> None:
    """Also where one of them always has new objects, which were never tried."""
    turns = StatusTurns()
    quiet = [each for name in "abc" for each in changed(exceptions.KIND, name, name)]
    for number in range(10):
        new = changed(exceptions.KIND, "loud", *(f"{number}-{each}" for each in range(100)))
        assert set(run(turns, [*new, *quiet], 4)) == {f"{number}-0", "a", "b", "c"}


def test_each_run_begins_where_the_last_one_ended() -> None:
    """All of them have their turn, also while the first change again and again."""
    turns = StatusTurns()
    found = changed(exceptions.KIND, "loud", *"abcdef")
    assert [run(turns, found, 4) for _ in range(3)] == [
        ["a", "b", "c", "d"],
        ["e", "f", "a", "b"],
        ["c", "d", "e", "f"],
    ]


def test_namespaces_go_on_where_the_last_run_ended() -> None:
    """Where there are more of them than one run writes."""
    turns = StatusTurns()
    found = [each for name in "abcde" for each in changed(exceptions.KIND, name, name)]
    assert [run(turns, found, 2) for _ in range(3)] == [["a", "b"], ["c", "d"], ["e", "a"]]


def test_what_is_gone_is_forgotten() -> None:
    """One that is made anew comes first again."""
    turns = StatusTurns()
    found = changed(exceptions.KIND, "one", "a", "b")
    run(turns, found, 1)
    turns.keep(found[1:])
    assert run(turns, found, 1) == ["a"]
