"""Which namespaces come next, and when."""

from hypothesis import given
from hypothesis import strategies as st

from control.egress.queue import LAST_RETRY_S, NamespaceQueue, NamespaceTimes


def test_urgent_ones_come_first_each_once() -> None:
    """What must close overtakes a look at everything."""
    queue = NamespaceQueue()
    for name in ("a", "b", "c", "a"):
        queue.add(name)
    queue.add("c", urgent=True)
    queue.add("c")
    assert queue.take(2, 0.0) == ["c", "a"]
    assert queue.take(9, 0.0) == ["b"]
    assert not queue


def test_one_that_fails_comes_later_each_time_and_keeps_back_no_other() -> None:
    """Waits double up to a minute; a success forgets them."""
    queue, now, waits = NamespaceQueue(), 0.0, []
    queue.add("a")
    for _ in range(9):
        assert queue.take(1, now) == ["a"]
        queue.fail("a", now)
        queue.add("b", urgent=True)
        assert queue.take(2, now) == ["b"]
        began = now
        while "a" not in queue.take(1, now):
            now += 0.5
        waits.append(now - began)
        queue.add("a", urgent=True)
    assert waits[:4] == [1.0, 2.0, 4.0, 8.0]
    assert max(waits) == LAST_RETRY_S
    assert queue.failures("a") == 9
    queue.succeed("a")
    assert (queue.failures("a"), queue.failing) == (0, 0)


def test_a_change_of_one_that_failed_waits_too() -> None:
    """Whoever changes a namespace again and again causes no storm of writes."""
    queue = NamespaceQueue()
    queue.fail("a", 0.0)
    queue.add("a", urgent=True)
    assert queue.take(1, 0.5) == []
    assert queue.take(1, 1.0) == ["a"]


def test_one_to_be_looked_at_at_once_passes_the_wait_once() -> None:
    """Then it waits as long as it would have: how often it failed is not forgotten."""
    queue = NamespaceQueue()
    for _ in range(7):
        queue.fail("a", 0.0)
    queue.add("b")
    queue.add("a", at_once=True)
    assert queue.take(1, 0.5) == ["a"]
    assert queue.fail("a", 0.5) == 8
    queue.add("a", urgent=True)
    assert queue.take(9, 1.0) == ["b"]
    assert queue.take(9, 0.5 + LAST_RETRY_S) == ["a"]


def test_what_changes_while_a_namespace_is_looked_at_passes_the_wait_that_follows() -> None:
    """That look may have come too early to see it."""
    queue = NamespaceQueue()
    queue.add("a")
    assert queue.take(1, 0.0) == ["a"]
    queue.add("a", at_once=True)
    queue.fail("a", 0.0)
    assert queue.take(1, 0.1) == ["a"]
    queue.fail("a", 0.1)
    assert queue.take(1, 0.2) == []


def test_what_was_to_be_looked_at_at_once_is_forgotten_with_the_rest() -> None:
    """Another replica leads: a later failure waits again."""
    queue = NamespaceQueue()
    queue.add("a", at_once=True)
    queue.clear()
    queue.fail("a", 0.0)
    assert queue.take(1, 0.5) == []


SETTINGS = st.lists(
    st.tuples(st.sampled_from("abc"), st.one_of(st.none(), st.floats(0, 100))), max_size=30
)


@given(SETTINGS, st.lists(st.floats(0, 100), max_size=5))
def test_the_last_time_that_was_set_counts(
    settings: list[tuple[str, float | None]], moments: list[float]
) -> None:
    """Each namespace is due once, as soon as its time has come, and not before."""
    times, wanted = NamespaceTimes(), {}
    for name, time in settings:
        times.set(name, time)
        wanted[name] = time
    left = {name: time for name, time in wanted.items() if time is not None}
    for now in sorted(moments):
        due = sorted(name for name, time in left.items() if time <= now)
        assert sorted(times.due(now)) == due
        left = {name: time for name, time in left.items() if time > now}
