"""What is learnt of DNS names: nothing leaves but by an answer, nothing stays beyond its window."""

from collections.abc import Sequence
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import SettingsError
from core.base.networks import Address
from egress.dns.learnt_names import (
    UNASKED,
    DnsReply,
    LearntName,
    NamesSettings,
    is_due,
    keep_wanted,
    learn,
)

SETTINGS = NamesSettings(window_s=100.0, min_refresh_s=5.0, max_refresh_s=50.0, max_addresses=4)
ROOMY = NamesSettings(window_s=100.0, min_refresh_s=5.0, max_refresh_s=50.0)
"""These cap nothing."""

FOUR = [ip_address(f"192.0.2.{number}") for number in range(1, 8)]
SIX = [ip_address(f"2001:db8::{number}") for number in range(1, 8)]


def reply(*addresses: Address, server: str = "10.0.0.10:53", ttl: int = 20) -> DnsReply:
    """Return an answer with addresses of one family."""
    return DnsReply(server, 6 if addresses and addresses[0].version == 6 else 4, addresses, ttl)


def failure(server: str = "10.0.0.10:53", problem: str = "answers SERVFAIL") -> list[DnsReply]:
    """Return what a server that fails comes to."""
    return [DnsReply(server, 4, problem=problem), DnsReply(server, 6, problem=problem)]


def addresses(learnt: LearntName) -> list[Address]:
    """Return all addresses that are known."""
    return [seen.address for seen in learnt.seen]


replies = st.lists(
    st.one_of(
        st.builds(
            lambda server, these, ttl: DnsReply(server, 4, tuple(these), ttl),
            st.sampled_from(["a", "b", "c"]),
            st.lists(st.sampled_from(FOUR), unique=True),
            st.integers(0, 100_000),
        ),
        st.builds(
            lambda server, these, ttl: DnsReply(server, 6, tuple(these), ttl),
            st.sampled_from(["a", "b", "c"]),
            st.lists(st.sampled_from(SIX), unique=True),
            st.integers(0, 100_000),
        ),
        st.builds(
            lambda server, family: DnsReply(server, family, problem="answers SERVFAIL"),
            st.sampled_from(["a", "b", "c"]),
            st.sampled_from([4, 6]),
        ),
    ),
    max_size=6,
)
times = st.floats(0, 400, allow_nan=False)
rounds = st.lists(st.tuples(times, replies), max_size=12)


def after(history: Sequence[tuple[float, list[DnsReply]]], settings: NamesSettings) -> LearntName:
    """Return what is known after rounds of questions."""
    learnt = UNASKED
    for now, said in history:
        learnt = learn(learnt, said, now, settings)
    return learnt


@given(rounds, times, st.integers(0, 4))
def test_failures_empty_nothing(
    history: Sequence[tuple[float, list[DnsReply]]], now: float, count: int
) -> None:
    """While no server answers, every address stays, however long that takes."""
    before = after(history, SETTINGS)
    learnt = before
    for number in range(count):
        learnt = learn(learnt, failure(), now + number * 1_000_000, SETTINGS)
    assert addresses(learnt) == addresses(before)


@given(rounds, times, st.integers(0, 3))
def test_one_familys_answers_take_nothing_from_the_other(
    history: Sequence[tuple[float, list[DnsReply]]], now: float, count: int
) -> None:
    """While AAAA fails and A is answered, IPv6 addresses stay."""
    learnt = before = after(history, ROOMY)
    for number in range(count):
        said = [reply(FOUR[0]), DnsReply("10.0.0.10:53", 6, problem="answers SERVFAIL")]
        learnt = learn(learnt, said, now + number * 1_000_000, ROOMY)
    six = [address for address in addresses(before) if address.version == 6]
    assert [address for address in addresses(learnt) if address.version == 6] == six


@given(rounds)
def test_the_window_is_exact(history: Sequence[tuple[float, list[DnsReply]]]) -> None:
    """An address is known unless an answer in its family came over a window after it was shown."""
    history = sorted(history, key=lambda each: each[0])
    expected = set()
    for address in (*FOUR, *SIX):
        last = None
        for now, said in history:
            good = [each for each in said if not each.problem]
            if any(address in each.addresses for each in good):
                last = now
            elif last is not None and any(each.family == address.version for each in good):
                last = last if now - last <= SETTINGS.window_s else None
        if last is not None:
            expected.add(address)
    assert set(addresses(after(history, ROOMY))) == expected


def test_the_window_ends_after_its_last_second() -> None:
    """At the window's end the address is still there; a moment later it leaves."""
    learnt = learn(UNASKED, [reply(FOUR[0])], 0.0, SETTINGS)
    assert FOUR[0] in addresses(learn(learnt, [reply(FOUR[1])], 100.0, SETTINGS))
    assert FOUR[0] not in addresses(learn(learnt, [reply(FOUR[1])], 100.5, SETTINGS))


def test_rotating_answers_come_together() -> None:
    """Six addresses shown one at a time are all known once each was shown."""
    learnt = UNASKED
    for number in range(24):
        learnt = learn(learnt, [reply(FOUR[number % 6])], number * 10.0, ROOMY)
    assert addresses(learnt) == FOUR[:6]


@given(rounds)
def test_names_have_no_more_addresses_than_the_cap(
    history: Sequence[tuple[float, list[DnsReply]]],
) -> None:
    """However many are shown; and that some were left out is said for a window."""
    learnt = UNASKED
    for now, said in history:
        shown = {address for each in said if not each.problem for address in each.addresses}
        learnt = learn(learnt, said, now, SETTINGS)
        assert len(learnt.seen) <= SETTINGS.max_addresses
        if len(shown) > SETTINGS.max_addresses:
            assert learnt.capped == now


def test_the_cap_takes_those_seen_longest_ago() -> None:
    """What was shown last stays; what makes room for it was seen before all others."""
    learnt = UNASKED
    for number in range(5):
        learnt = learn(learnt, [reply(FOUR[number])], number * 10.0, SETTINGS)
    assert addresses(learnt) == FOUR[1:5]
    assert learnt.capped == 40.0
    later = learn(learnt, [reply(FOUR[4])], 145.0, SETTINGS)
    assert later.capped is None


@given(rounds, st.randoms(use_true_random=False))
def test_the_order_of_servers_makes_no_difference(
    history: Sequence[tuple[float, list[DnsReply]]], chance: object
) -> None:
    """The same answers in another order are the same knowledge, to the last field."""
    shuffled = []
    for now, said in history:
        other = list(said)
        chance.shuffle(other)  # type: ignore[attr-defined]
        shuffled.append((now, other))
    assert after(shuffled, SETTINGS) == after(history, SETTINGS)


@given(rounds, replies, times, st.floats(0, 1e9, allow_nan=False))
def test_a_clock_put_back_removes_nothing(
    history: Sequence[tuple[float, list[DnsReply]]], said: list[DnsReply], now: float, back: float
) -> None:
    """At an earlier time an answer takes no address that it would not have taken later."""
    before = after(history, ROOMY)
    later, earlier = (learn(before, said, time, ROOMY) for time in (now, now - back))
    assert set(addresses(later)) <= set(addresses(earlier))


@pytest.mark.parametrize("shown", [FOUR[0], FOUR[1]])
def test_a_clock_that_is_wrong_for_one_answer_changes_nothing(shown: Address) -> None:
    """What was seen at the right time counts from then, whatever was shown in the meantime."""
    learnt = learn(UNASKED, [reply(FOUR[0])], 1_000.0, SETTINGS)
    learnt = learn(learnt, [reply(shown)], 950.0, SETTINGS)
    learnt = learn(learnt, [reply(FOUR[1])], 1_100.0, SETTINGS)
    assert FOUR[0] in addresses(learnt)
    assert FOUR[0] not in addresses(learn(learnt, [reply(FOUR[1])], 1_100.5, SETTINGS))


@given(rounds, st.floats(0, 1e9, allow_nan=False), times)
def test_a_clock_put_back_keeps_nothing_for_ever(
    history: Sequence[tuple[float, list[DnsReply]]], ahead: float, now: float
) -> None:
    """What was seen in the future is gone two windows after the clock came right, if not shown."""
    learnt = after([(time + ahead, said) for time, said in history], ROOMY)
    nothing = [DnsReply("a", 4), DnsReply("a", 6)]
    learnt = learn(learnt, nothing, now, ROOMY)
    assert addresses(learn(learnt, nothing, now + 201.0, ROOMY)) == []


@given(rounds)
def test_questions_come_between_the_limits(history: Sequence[tuple[float, list[DnsReply]]]) -> None:
    """No name is asked for sooner than the minimum or later than the maximum, whatever its TTL."""
    learnt = UNASKED
    assert is_due(learnt, 0.0)
    for now, said in history:
        learnt = learn(learnt, said, now, SETTINGS)
        assert not is_due(learnt, now + 4.9)
        assert is_due(learnt, now + 50.1)
        assert is_due(learnt, now - 1.0), "the clock was put back"


@pytest.mark.parametrize(
    ("said", "wait"),
    [
        ([reply(FOUR[0], ttl=0)], 5.0),
        ([reply(FOUR[0], ttl=20)], 20.0),
        ([reply(FOUR[0], ttl=20), reply(SIX[0], ttl=10)], 10.0),
        ([reply(FOUR[0], ttl=2**31 - 1)], 50.0),
        (failure(), 5.0),
        ([reply(FOUR[0], ttl=30), *failure("b")], 30.0),
    ],
)
def test_the_ttl_says_when_to_ask_again(said: list[DnsReply], wait: float) -> None:
    """The shortest TTL of the answers, between the limits; soon where nobody answered."""
    assert learn(UNASKED, said, 0.0, SETTINGS).wait == wait


def test_servers_that_fail_are_told_once() -> None:
    """Each with its reason, though it was asked for both families; the others' answers count."""
    learnt = learn(
        UNASKED, [*failure("b"), reply(FOUR[0]), *failure("a", "is gone")], 7.0, SETTINGS
    )
    assert learnt.problems == ("a is gone", "b answers SERVFAIL")
    assert learnt.answered == 7.0
    assert learn(learnt, failure(), 8.0, SETTINGS).answered == 7.0


def test_names_that_no_intent_names_are_kept_for_a_window() -> None:
    """So an intent that is made anew finds what was learnt; then they go."""
    state = {"a.example": learn(UNASKED, [reply(FOUR[0])], 0.0, SETTINGS)}
    unwanted = keep_wanted(state, {"b.example"}, 10.0, SETTINGS)
    assert unwanted["a.example"].unwanted == 10.0
    assert unwanted["b.example"] is UNASKED
    still = keep_wanted(unwanted, {"b.example"}, 110.0, SETTINGS)
    assert still["a.example"] is unwanted["a.example"]
    assert set(keep_wanted(still, {"b.example"}, 110.5, SETTINGS)) == {"b.example"}
    again = keep_wanted(still, {"a.example"}, 110.0, SETTINGS)
    assert again["a.example"] == state["a.example"]


def test_keeping_tolerates_a_clock_put_back() -> None:
    """What is unwanted since the future is dropped a window after the clock came right."""
    state = keep_wanted({"a.example": UNASKED}, set(), 1_000.0, SETTINGS)
    state = keep_wanted(state, set(), 0.0, SETTINGS)
    assert set(state) == {"a.example"}
    assert not keep_wanted(state, set(), 100.5, SETTINGS)


@pytest.mark.parametrize(
    "settings",
    [
        {"min_refresh_s": 0.5},
        {"min_refresh_s": 400.0},
        {"window_s": 200.0},
        {"max_addresses": 0},
    ],
)
def test_settings_that_would_close_what_is_in_use(settings: dict[str, float]) -> None:
    """A window shorter than the time between questions, or no room, is refused by name."""
    with pytest.raises(SettingsError, match=r"egress\.names"):
        NamesSettings(**settings)  # type: ignore[arg-type]


def test_aliases_stay_as_long_as_addresses_do() -> None:
    """One that a name led to within the window counts, whichever server said so."""
    settings = NamesSettings(window_s=600)
    first = learn(UNASKED, [DnsReply("a", 4, tuple(FOUR[:1]), 60, ("x.example",))], 0.0, settings)
    second = learn(first, [DnsReply("b", 4, tuple(FOUR[:1]), 60, ("y.example",))], 300.0, settings)
    assert [each.name for each in second.aliases] == ["x.example", "y.example"]
    failed = learn(second, [DnsReply("a", 4, problem="answers SERVFAIL")], 5000.0, settings)
    assert [each.name for each in failed.aliases] == ["x.example", "y.example"]
    later = learn(second, [DnsReply("a", 4, tuple(FOUR[:1]), 60)], 700.0, settings)
    assert [each.name for each in later.aliases] == ["y.example"]
    assert learn(second, [DnsReply("a", 4, tuple(FOUR[:1]), 60)], 1000.0, settings).aliases == ()


def test_a_name_with_many_aliases_keeps_the_newest() -> None:
    """Who owns a name chooses how long the chain is."""
    chain = tuple(f"a{number:02}.example" for number in range(40))
    found = learn(UNASKED, [DnsReply("a", 4, tuple(FOUR[:1]), 60, chain)], 0.0, NamesSettings())
    assert len(found.aliases) == 16
