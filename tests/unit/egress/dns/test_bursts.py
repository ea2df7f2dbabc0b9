"""When a burst asks again, when it is over, and what it says of answers that did not come yet."""

from ipaddress import ip_address

import pytest

from core.base.networks import Address
from egress.dns.bursts import (
    Burst,
    begin_burst,
    estimate_share,
    is_over,
    is_question_due,
    judge_burst,
    note_reply,
)
from egress.dns.learnt_names import UNASKED, DnsReply, LearntName, NamesSettings, learn

SETTINGS = NamesSettings()
SOME = [ip_address(f"192.0.2.{number}") for number in range(1, 60)]
FIRST, OTHER = ("10.0.0.1:53", 4, False), ("10.0.0.2:53", 4, False)


def reply(*addresses: Address, server: str = FIRST[0], ttl: int = 5) -> DnsReply:
    """Return an answer of IPv4 addresses."""
    return DnsReply(server, 4, addresses, ttl)


class Name:
    """A name that is asked for, and its burst."""

    def __init__(self, known: LearntName = UNASKED, settings: NamesSettings = SETTINGS) -> None:
        self.learnt, self.settings = known, settings
        self.burst = begin_burst(known, 0.0)

    def answer(self, now: float, *replies: DnsReply) -> None:
        """Take answers in."""
        self.learnt = learn(self.learnt, replies, now, self.settings, in_part=True)
        for each in replies:
            self.burst = note_reply(self.burst, each, now, self.settings)
        self.burst = estimate_share(self.learnt, self.burst)

    def told(self, now: float, *, over: bool = False) -> LearntName:
        """Return what is told."""
        return judge_burst(self.learnt, self.burst, now, self.settings, over=over)

    @property
    def share(self) -> float | None:
        """The estimate."""
        return self.burst.share


def test_a_question_is_due_when_its_answer_ends() -> None:
    """Each at its own time, one that fails at the ordinary one, and at once after a clock jump."""
    name = Name()
    assert is_question_due(name.burst, FIRST, 0.0, SETTINGS)
    failed = DnsReply(OTHER[0], 4, problem="answers SERVFAIL")
    name.answer(0.0, reply(SOME[0], ttl=5), failed)
    due = {
        now: [is_question_due(name.burst, each, now, SETTINGS) for each in (FIRST, OTHER)]
        for now in (4.9, 5.0, 29.9, 30.0, -1000.0)
    }
    assert due == {
        4.9: [False, False],
        5.0: [True, False],
        29.9: [True, False],
        30.0: [True, True],
        -1000.0: [True, True],
    }


def test_an_answer_of_a_shared_cache_counts_once() -> None:
    """Three servers that show the same record until the same time have asked the same one."""
    name = Name()
    for server, ttl in (("a:53", 30), ("b:53", 29), ("c:53", 31)):
        name.answer(0.0, reply(SOME[0], server=server, ttl=ttl))
    assert (name.burst.counts[4].answers, name.share) == (1, None)
    name.answer(31.5, reply(SOME[0], ttl=30))
    assert (name.burst.counts[4].answers, name.share) == (2, 0.0)


def test_answers_that_may_not_be_remembered_count_each() -> None:
    """TTL 0: each is another draw, once there has been time for one."""
    name = Name()
    for second in range(4):
        name.answer(float(second), reply(SOME[0], ttl=0))
    assert name.burst.counts[4].answers == 4


def test_the_share_is_that_of_addresses_that_came_once() -> None:
    """Good's estimate: of eight that came, two came once."""
    name = Name()
    for number, index in enumerate([0, 0, 0, 1, 1, 1, 2, 3]):
        name.answer(number * 10.0, reply(SOME[index]))
    assert name.share == pytest.approx(2 / 8)
    assert name.told(80.0).refused == 20


def test_what_was_known_before_is_not_new() -> None:
    """After a restart an address that was stored counts as seen, and what came new does not."""
    known = learn(UNASKED, [reply(*SOME[:3])], 0.0, SETTINGS)
    name = Name(known)
    for number in range(10):
        name.answer(100.0 + number * 10, reply(SOME[number % 3]))
    assert name.share == 0.0
    name.answer(300.0, reply(SOME[9]))
    assert name.share == pytest.approx(1 / 11)


def test_addresses_over_the_cap_are_refused_too() -> None:
    """Seen often or not: what is not kept is not open."""
    name = Name(settings=NamesSettings(max_addresses=2))
    for number in range(12):
        name.answer(number * 10.0, reply(SOME[number % 4]))
    assert name.share == pytest.approx(0.5)


def test_the_worse_family_counts() -> None:
    """A Pod may use either."""
    name = Name()
    for number in range(4):
        six = ip_address(f"2001:db8::{number}")
        name.answer(number * 10.0, reply(SOME[0]), DnsReply(FIRST[0], 6, (six,), 5))
    assert name.share == 1.0


def test_a_burst_is_over_once_all_was_asked_and_nothing_new_came() -> None:
    """A new address begins the quiet time anew; an unasked server holds it."""
    name = Name()
    name.answer(0.0, reply(SOME[0]))
    assert not is_over(name.burst, [FIRST], 59.0, SETTINGS)
    assert is_over(name.burst, [FIRST], 60.0, SETTINGS)
    assert not is_over(name.burst, [FIRST, OTHER], 60.0, SETTINGS)
    name.answer(50.0, reply(SOME[1]))
    assert not is_over(name.burst, [FIRST], 109.0, SETTINGS)
    assert is_over(name.burst, [FIRST], 110.0, SETTINGS)


def test_learning_has_one_beginning_and_an_end() -> None:
    """Since when is told, and stays as it was."""
    name = Name()
    name.answer(7.0, reply(SOME[0]))
    name.learnt = name.told(7.0)
    assert (name.learnt.learning, name.learnt.refused) == (7.0, None)
    name.answer(20.0, reply(SOME[1]))
    name.learnt = name.told(20.0)
    assert (name.learnt.learning, name.learnt.refused) == (7.0, 100)
    for number in range(40):
        name.answer(30.0 + number * 10, reply(SOME[number % 2]))
    name.learnt = name.told(430.0, over=True)
    assert (name.learnt.learning, name.learnt.refused) == (None, None)


def test_a_name_that_was_learnt_is_told_again_only_with_reason() -> None:
    """One new address does not count, most of ten answers do."""
    known = learn(UNASKED, [reply(SOME[0])], 0.0, SETTINGS)
    name = Name(known)
    name.answer(100.0, reply(SOME[1]))
    assert name.told(100.0).learning is None
    for number in range(9):
        name.answer(110.0 + number * 10, reply(SOME[2 + number]))
    assert name.told(200.0).learning == 200.0


def test_counts_begin_anew_after_many_answers() -> None:
    """So that memory stays bounded, and a pool that drifts is seen as it is now."""
    name = Name()
    for number in range(600):
        name.answer(number * 10.0, reply(SOME[number % 59]))
    assert name.burst.counts[4].answers == 600 - 512
    assert name.share == 0.0


def test_a_name_without_addresses_is_not_learning() -> None:
    """That it has none is told elsewhere."""
    burst = Burst(0.0, first=True)
    assert judge_burst(UNASKED, burst, 1.0, SETTINGS, over=False).learning is None


def test_a_name_that_always_shows_something_new_is_bounded() -> None:
    """Whoever owns it decides what is answered: neither memory nor time is theirs to take."""
    settings = NamesSettings(max_addresses=4)
    name = Name(settings=settings)
    for number in range(180):
        first = 0x0A000000 + number * 4000
        fresh = [ip_address(first + each) for each in range(4000)]
        name.answer(number * 5.0, reply(*fresh))
    most = 4 * 4 + 4 * 4
    assert len(name.burst.counts[4].addresses) <= most
    assert len(name.burst.known) <= most + 4 * 4
    assert is_over(name.burst, [FIRST], 905.0, settings)
    assert not is_over(name.burst, [FIRST], 899.0, settings)
