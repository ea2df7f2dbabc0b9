"""A spool that fills has room for everybody: each requester and namespace has a share of it."""

import tracemalloc
from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.ledger.records.admission_shares import (
    MOST_OF_A_NAMESPACE,
    STRETCHES,
    AdmissionShares,
)
from audit.ledger.records.refusal_budget import Share
from core.base.errors import NotRecordedError

ROOM = 64_000
REST = ROOM // 2
LARGEST = 3000
MALLORY = Share("train", "user:mallory")
ALICE = Share("web", "user:alice")


@dataclass
class Spool:
    """A spool of ROOM bytes that an auditor empties only when told to, and its shares."""

    held_bytes: int = 0
    freed_bytes: int = 0
    max_bytes: int = ROOM
    records: deque[tuple[Share | None, int, int]] = field(default_factory=deque)
    """Whose (None: not counted), size, and the position of its end."""
    shares: AdmissionShares = field(init=False)

    def __post_init__(self) -> None:
        self.shares = AdmissionShares(self)

    def admit(self, share: Share, size: int = 100) -> bool:
        """Record an admission; say whether it has room."""
        if not self.shares.limit():
            self.records = deque((None, each, end) for _, each, end in self.records)
            return self.append(None, size)
        try:
            with self.shares.hold(share, size):
                return self.append(share, size)
        except NotRecordedError:
            return False

    def append(self, share: Share | None, size: int) -> bool:
        """Take a record, if it fits."""
        if self.held_bytes + size > self.max_bytes:
            return False
        self.held_bytes += size
        self.records.append((share, size, self.freed_bytes + self.held_bytes))
        return True

    def ship(self, size: int) -> None:
        """Have the auditor take the oldest records of so many bytes."""
        freed = 0
        while freed < size and freed < self.held_bytes:
            number = self.freed_bytes + freed
            freed += next(each for _, each, end in self.records if end > number)
        self.held_bytes -= freed
        self.freed_bytes += freed

    def flood(self, *shares: Share, size: int = 100) -> int:
        """Admit for each in turn until all are refused; give the bytes that they got."""
        held = self.held_bytes
        while sum(self.admit(share, size) for share in shares):
            pass
        return self.held_bytes - held

    def exceeds(self, share: Share, size: int, *, late: int = 0) -> bool:
        """Say whether a record would be beyond its share, by all the records there are.

        `late` is how many bytes ago the spool may have freed a record that still counts.
        """
        held = [
            (each, bytes_)
            for each, bytes_, end in self.records
            if each is not None and end > self.freed_bytes - late
        ]
        own = sum(bytes_ for each, bytes_ in held if each == share) + size
        all_ = sum(bytes_ for each, bytes_ in held if each.namespace == share.namespace) + size
        return own + all_ > self.max_bytes - self.held_bytes - size


def half_full() -> Spool:
    """Return a spool whose first half is full."""
    spool = Spool()
    spool.append(None, REST)
    return spool


def test_the_first_half_is_for_whoever_comes() -> None:
    """One requester may fill it alone, in records of any size."""
    spool = Spool()
    assert all(spool.admit(MALLORY, 1000) for _ in range(REST // 1000))
    assert spool.held_bytes == REST
    assert spool.shares.refused == 0


def test_one_requester_has_at_most_a_third_of_the_rest() -> None:
    """Others of its namespace still have room, and other namespaces half of the rest."""
    spool = half_full()
    assert REST / 3 - 100 <= spool.flood(MALLORY) <= REST / 3
    assert spool.shares.refused == 1
    assert spool.admit(Share("train", "user:bob"))
    assert spool.admit(ALICE)


def test_a_namespace_with_many_accounts_has_at_most_half_of_the_rest() -> None:
    """A tenant makes as many service accounts as it likes; each next namespace has half again."""
    spool, left = half_full(), REST
    for number in range(5):
        names = [Share(f"n-{number}", f"sa:{account}") for account in range(100)]
        assert spool.flood(*names, size=20) <= left / 2
        left = ROOM - spool.held_bytes
    assert left >= REST / 32
    assert spool.admit(ALICE)


def test_a_share_is_forgotten_as_the_spool_frees_it() -> None:
    """Also while the spool stays more than half full."""
    spool = half_full()
    spool.flood(MALLORY)
    spool.ship(REST + 200)
    spool.append(None, ROOM * 3 // 5 - spool.held_bytes)
    assert not spool.admit(MALLORY, LARGEST), "nearly all of what it holds is still there"
    held = spool.held_bytes
    spool.ship(REST // 3)
    spool.append(None, held - spool.held_bytes)
    assert spool.admit(MALLORY, LARGEST)


def test_all_is_forgotten_once_less_than_half_is_held() -> None:
    """Then there is room for everybody again."""
    spool = half_full()
    first = spool.flood(MALLORY)
    spool.ship(REST)
    assert spool.admit(MALLORY)
    spool.append(None, REST - spool.held_bytes)
    assert abs(spool.flood(MALLORY) - first) <= 100


def test_what_was_not_appended_is_not_held() -> None:
    """A disk that fails makes nobody's share larger."""
    spool = half_full()
    for _ in range(1000):
        with pytest.raises(NotRecordedError, match="disk"), spool.shares.hold(MALLORY, 100):
            raise NotRecordedError("the disk is full")
    assert spool.admit(MALLORY)


def test_after_a_restart_the_bound_follows_what_is_free() -> None:
    """What the process before left is nobody's: a requester has a third of what is left."""
    spool = half_full()
    spool.flood(MALLORY)
    spool.shares = AdmissionShares(spool)
    left = ROOM - spool.held_bytes
    assert spool.flood(MALLORY) <= left / 3
    assert spool.admit(ALICE)


def test_requesters_beyond_the_first_of_a_namespace_are_one_share() -> None:
    """They have what one has, and those before keep theirs."""
    spool = half_full()
    for number in range(MOST_OF_A_NAMESPACE):
        assert spool.admit(Share("train", f"sa:{number}"), 1)
    together = spool.flood(*(Share("train", f"later:{number}") for number in range(100)))
    assert together <= REST / 3
    assert spool.admit(Share("train", "sa:0"), 1)


def test_shares_beyond_those_told_apart_are_those_of_unknown_names() -> None:
    """However many names come: memory is bounded, and so is what they hold."""
    spool = Spool(max_bytes=ROOM * 1000)
    spool.append(None, ROOM * 500)
    tracemalloc.start()
    for number in range(20_000):
        spool.shares.limit()
        with spool.shares.hold(Share(f"n-{number % 900}", f"sa:{number % 7000}"), 100):
            spool.held_bytes += 100
    memory, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert memory < 500_000, "bytes"
    spool.flood(Share("late-1", "a"), size=5000)
    assert not spool.admit(Share("late-2", "b"), 5000), "it is one share with late-1"
    assert spool.admit(Share("n-0", "sa:0"), 5000)


SHARES = st.sampled_from([Share(n, r) for n in ("train", "web", "") for r in ("a", "b", "")])
STEPS = st.lists(
    st.one_of(
        st.tuples(SHARES, st.integers(1, LARGEST), st.integers(1, 30)),
        st.tuples(st.none(), st.integers(1, ROOM), st.just(1)),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_only_a_share_above_its_bound_is_refused(
    steps: list[tuple[Share | None, int, int]],
) -> None:
    """Nobody else's records count, but for what is free; and nobody who is above it has room.

    Whatever comes in whatever order, with an auditor that takes some of it now and then. The spool
    never holds more than it may.
    """
    spool = Spool()
    late = ROOM // STRETCHES + LARGEST
    for share, size, times in steps:
        for _ in range(times):
            if share is None:
                spool.ship(size)
                continue
            limited = spool.shares.limit()
            above, surely = spool.exceeds(share, size), spool.exceeds(share, size, late=late)
            refused = spool.shares.refused
            if spool.admit(share, size):
                assert not (limited and above)
            else:
                assert limited
                assert surely
                assert spool.shares.refused == refused + 1, "the spool itself was full"
            assert spool.held_bytes <= ROOM


@settings(max_examples=50, deadline=None)
@given(st.lists(SHARES, unique=True, max_size=9), st.integers(1, LARGEST // 30))
def test_somebody_new_has_room_whoever_came_before(floods: list[Share], size: int) -> None:
    """As long as three of its records would still fit."""
    spool = half_full()
    for share in floods:
        spool.flood(share, size=size)
    left = ROOM - spool.held_bytes
    assert spool.admit(Share("new", "user:new"), size) == (left >= 3 * size)
    assert left >= 3 * size
