"""What the auditor finds unusual reaches the snapshot, is written when it changes, and ends."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from audit.behaviour.protocol import BehaviourAnswer, UnusualIdentity
from control.risk.behaviour import MOST, Behaviours, acting_of, take_answer
from core.base.errors import LedgerError, NotLeaderError
from core.risk.model import Behaviour, BehaviourEntry
from core.risk.snapshot import RiskSnapshot, SnapshotDraft
from kube.leader.lease import Leadership

NOW = 1_760_000_000.0
KEY = bytes(range(16))
OTHER = bytes(16)


class Leads(Leadership):
    """A leadership that lasts until it is ended."""

    def __init__(self) -> None:
        self.is_over = False

    def holds(self) -> bool:
        """Return whether it lasts."""
        return not self.is_over


class Store:
    """A snapshot in memory, as `RiskStore` writes it."""

    def __init__(self) -> None:
        self.snapshot = RiskSnapshot()
        self.writes = 0

    async def update(
        self, change: Callable[[SnapshotDraft], None], leadership: Leadership | None = None
    ) -> RiskSnapshot:
        """Write where something changes."""
        if leadership is not None:
            leadership.require()
        for _ in range(2):  # As after a conflict.
            draft = SnapshotDraft.of(self.snapshot)
            change(draft)
        if draft.changed:
            self.writes += 1
            self.snapshot = draft.finish(NOW)
        return self.snapshot


class Auditor:
    """Answers what it is told to."""

    def __init__(self) -> None:
        self.answers: list[BehaviourAnswer | LedgerError] = []
        self.asked: list[str] = []

    async def ask(self, cursor: str) -> BehaviourAnswer:
        """Answer."""
        self.asked.append(cursor)
        answer = self.answers.pop(0) if self.answers else answered()
        if isinstance(answer, LedgerError):
            raise answer
        return answer


def answered(
    *unusual: tuple[bytes, dict[str, int]], learning: str = "", more: bool = False
) -> BehaviourAnswer:
    """Return an answer."""
    told = [UnusualIdentity(who.hex(), until) for who, until in unusual]
    return BehaviourAnswer(format=1, cursor="c", learning=learning, more=more, unusual=told)


class Scene:
    """A loop, its auditor, its store and its clock."""

    def __init__(self) -> None:
        self.now = NOW
        self.auditor, self.store, self.leads = Auditor(), Store(), Leads()
        self.registry = CollectorRegistry()
        self.behaviours = Behaviours(
            self.auditor, self.store, self.registry, clock=lambda: self.now
        )

    async def run(self, *answers: BehaviourAnswer | LedgerError) -> None:
        """Run once with these answers."""
        self.auditor.answers = list(answers)
        await self.behaviours.run(self.leads)

    def acting(self, who: bytes = KEY) -> Behaviour:
        """Return what gates see."""
        return self.store.snapshot.behaviour(who, self.now)

    def counted(self, word: str) -> float:
        """Return the gauge of a behaviour."""
        found = self.registry.get_sample_value("sallyport_risk_behaviours", {"behaviour": word})
        return math.nan if found is None else found


async def test_what_is_unusual_is_in_the_snapshot_and_each_ends_by_itself() -> None:
    """One record of an identity; a behaviour that ends leaves the others."""
    scene = Scene()
    told = {"exec-burst": int(NOW + 100), "unusual-hour": int(NOW + 50)}
    await scene.run(answered((KEY, told)))
    both = Behaviour.EXEC_BURST | Behaviour.UNUSUAL_HOUR
    assert scene.acting() == both
    assert dict(scene.store.snapshot.behaviours()) == {KEY: BehaviourEntry(both, int(NOW + 100))}
    assert (scene.counted("exec-burst"), scene.counted("denials")) == (1.0, 0.0)
    scene.now = NOW + 60
    await scene.run()
    assert scene.acting() == Behaviour.EXEC_BURST
    scene.now = NOW + 101
    await scene.run()
    assert dict(scene.store.snapshot.behaviours()) == {}


async def test_nothing_is_written_where_nothing_changes() -> None:
    """Each write reaches every gate; only as of when it is known moves now and then."""
    scene = Scene()
    told = answered((KEY, {"denials": int(NOW + 90_000)}))
    await scene.run(told)
    for _ in range(5):
        scene.now += 10
        await scene.run(told)
    assert scene.store.writes == 1
    scene.now += 600
    await scene.run()
    assert scene.store.writes == 2
    assert scene.store.snapshot.head.behaviour.as_of == scene.now


async def test_an_auditor_that_is_away_ends_nothing_early() -> None:
    """The snapshot says why; what is known counts until it is over; then all is as before."""
    scene = Scene()
    await scene.run(answered((KEY, {"denials": int(NOW + 50)})))
    for _ in range(2):
        with pytest.raises(LedgerError, match="no answer"):
            await scene.run(LedgerError("the auditor a: no answer"))
    assert scene.store.snapshot.head.behaviour.problem == "the auditor a: no answer"
    assert scene.acting() == Behaviour.DENIALS
    scene.now = NOW + 51
    with pytest.raises(LedgerError):
        await scene.run(LedgerError("the auditor a: no answer"))
    assert dict(scene.store.snapshot.behaviours()) == {}
    await scene.run()
    assert scene.store.snapshot.head.behaviour.problem == ""


async def test_while_it_learns_the_snapshot_says_so() -> None:
    """Nobody takes silence for an all-clear."""
    scene = Scene()
    await scene.run(answered(learning="nothing is unusual before 2026-12-06T00:00:00"))
    assert "before 2026-12-06" in scene.store.snapshot.head.behaviour.problem


async def test_pages_are_followed_with_their_cursor() -> None:
    """Until there is no more; then from where it was."""
    scene = Scene()
    one, other = (KEY, {"denials": int(NOW + 50)}), (OTHER, {"denials": int(NOW + 50)})
    await scene.run(answered(one, more=True), answered(other))
    await scene.run()
    assert scene.auditor.asked == ["", "c", "c"]
    assert scene.acting(KEY) == scene.acting(OTHER) == Behaviour.DENIALS


async def test_an_auditor_that_always_has_more_does_not_hold_the_loop() -> None:
    """The rest comes with the next run."""
    scene = Scene()
    await scene.run(*[answered(more=True)] * 20)
    assert len(scene.auditor.asked) == 8


async def test_a_new_leader_asks_from_the_start_and_ends_what_the_last_one_left() -> None:
    """What the auditor still knows stays; what is over goes, whoever wrote it."""
    first = Scene()
    left = (OTHER, {"denials": int(NOW + 50)})
    await first.run(answered((KEY, {"denials": int(NOW + 5000)}), left))
    second = Scene()
    second.store.snapshot, second.now = first.store.snapshot, NOW + 60
    await second.run(answered((KEY, {"denials": int(NOW + 5000)})))
    assert second.auditor.asked == [""]
    assert dict(second.store.snapshot.behaviours()) == {
        KEY: BehaviourEntry(Behaviour.DENIALS, int(NOW + 5000))
    }


async def test_a_term_that_ends_forgets_and_writes_nothing() -> None:
    """Gauges are NaN where another replica leads."""
    scene = Scene()
    await scene.run(answered((KEY, {"denials": int(NOW + 5000)})))
    scene.behaviours.loop.forget()
    assert math.isnan(scene.counted("denials"))
    scene.leads.is_over = True
    with pytest.raises(NotLeaderError):
        await scene.run(answered())
    assert scene.store.writes == 1


def test_what_two_auditors_say_is_added() -> None:
    """The later end counts; neither takes away what the other one said."""
    known: dict[bytes, dict[Behaviour, int]] = {}
    take_answer(known, answered((KEY, {"denials": int(NOW + 9), "exec-burst": int(NOW + 1)})), NOW)
    take_answer(known, answered((KEY, {"denials": int(NOW + 5), "exec-burst": int(NOW + 7)})), NOW)
    assert known == {KEY: {Behaviour.DENIALS: int(NOW + 9), Behaviour.EXEC_BURST: int(NOW + 7)}}


def test_what_is_not_understood_is_left_out() -> None:
    """Words of a later release, keys that are none, ends in a year, too many identities."""
    known: dict[bytes, dict[Behaviour, int]] = {}
    strange = [UnusualIdentity("zz", {"denials": 1}), UnusualIdentity("00", {"denials": 1})]
    later = UnusualIdentity(KEY.hex(), {"time-travel": 1})
    answer = BehaviourAnswer(
        format=2, cursor="", learning="", more=False, unusual=[*strange, later]
    )
    take_answer(known, answer, NOW)
    assert known == {}
    take_answer(known, answered((KEY, {"denials": int(NOW + 1e9)})), NOW)
    assert known[KEY][Behaviour.DENIALS] == int(NOW + 2 * 86_400)
    many = [(number.to_bytes(16), {"denials": int(NOW + 9)}) for number in range(MOST + 50)]
    take_answer(known, answered(*many), NOW)
    assert len(known) == MOST


UNTIL = st.dictionaries(
    st.sampled_from(Behaviour), st.integers(int(NOW), int(NOW + 9999)), min_size=1
)


@given(UNTIL)
def test_a_record_holds_all_until_the_last_end(until: dict[Behaviour, int]) -> None:
    """A behaviour may stay a little too long when nobody is there to end it, never too short."""
    acting = acting_of(until)
    assert all(each in acting.behaviour for each in until)
    assert acting.until == max(until.values())
