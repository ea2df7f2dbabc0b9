"""Which BreakGlasses open egress now, as control asks: where it cannot know, none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from control.egress.break_glass import CONSIDER_S, BreakGlassOpenings
from control.egress.plan import Delete, plan_of
from core.approvals.approvals import parse_approval
from core.approvals.break_glass import parse_break_glass
from core.base.errors import AccessReviewError, NotSyncedError
from core.people.two_person import ORDINARY_TERMS, ApprovalTerms, AtRisk
from kube.approvals.watch import BreakGlasses
from tests.unit.admission.approvals.test_break_glass import consent, sealed
from tests.unit.admission.approvals.test_exceptions import ANN, AUTHOR, BEN, NOW
from tests.unit.admission.world import Folder, raw
from tests.unit.control.egress.test_plan import live, policies, policy


class _Sealed(BreakGlasses):
    """Those of a watch, which may be too old."""

    lost = False
    lost_approvals = False

    def everywhere(self) -> Any:
        if self.lost:
            raise NotSyncedError("BreakGlasses have not been loaded")
        return super().everywhere()

    def activated_in(self, namespace: str) -> Any:
        if self.lost:
            raise NotSyncedError("BreakGlasses have not been loaded")
        return super().activated_in(namespace)

    def consents(self, uid: str) -> Any:
        if self.lost_approvals:
            raise NotSyncedError("approvals have not been loaded")
        return super().consents(uid)


class _World:
    """An open BreakGlass for `train` that two people approved."""

    def __init__(self, folder: Folder, **spec: Any) -> None:
        for who in (ANN, BEN, AUTHOR):
            folder.grant(
                f"User:{who.username}", "break-glass", verb="approve", resource="approvaltiers"
            )
        self.now = NOW
        self.terms = ORDINARY_TERMS
        self.item = sealed(**{"egress": {}, **spec})
        self.sealed = _Sealed([parse_break_glass(raw(self.item))])
        self.approve(ANN, BEN)
        self.cluster = folder.cluster()
        self.cluster.break_glasses = self.sealed
        self.openings = BreakGlassOpenings(self.cluster, lambda: self.terms, lambda: self.now)

    def approve(self, *people: Any) -> None:
        """Have these approvals, and no others."""
        made = [raw(consent(self.item, who)) for who in people]
        self.sealed.take_approvals([parse_approval(each, kind="ClusterApproval") for each in made])

    async def found(self) -> list[str]:
        """Return the names of those that open `train`."""
        opened, _ = await self.openings.of("train")
        return [each.name for each in opened]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A cluster as a folder of YAML."""
    (tmp_path / "cluster").mkdir()
    return Folder(tmp_path / "cluster")


async def test_it_opens_while_it_is_open_and_approved(folder: Folder) -> None:
    """In its namespaces alone, and not once it has ended."""
    world = _World(folder)
    assert await world.found() == ["fire"]
    assert (await world.openings.of("other"))[0] == ()
    world.now = NOW + 1800
    assert await world.found() == []


@pytest.mark.parametrize("people", [(), (ANN,), (ANN, AUTHOR), (AUTHOR,)])
async def test_it_takes_two_people_who_did_not_write_it(
    folder: Folder, people: tuple[Any, ...]
) -> None:
    """As for what it relaxes."""
    world = _World(folder)
    world.approve(*people)
    assert await world.found() == []


async def test_approvals_of_it_before_a_change_do_not_count(folder: Folder) -> None:
    """Egress that was added afterwards is not approved."""
    world = _World(folder, rules=["*"], egress=None)
    changed = sealed(rules=["*"], egress={})
    world.sealed.take([parse_break_glass(raw(changed))])
    assert await world.found() == []


async def test_without_the_right_to_approve_it_closes(folder: Folder) -> None:
    """It is looked at again after ten seconds."""
    world = _World(folder)
    assert await world.found() == ["fire"]
    assert world.openings.reconsider() == frozenset()

    async def allowed(subject: Any, *_: Any) -> bool:
        return bool(subject != BEN)

    world.cluster.allowed = allowed  # type: ignore[method-assign, assignment]
    world.now += CONSIDER_S
    assert world.openings.reconsider() == {"train"}
    assert await world.found() == []


async def test_what_cannot_be_asked_opens_nothing_and_is_told(folder: Folder) -> None:
    """It is tried again."""
    world = _World(folder)

    async def allowed(*_: Any) -> bool:
        raise AccessReviewError("kube-apiserver does not answer")

    world.cluster.allowed = allowed  # type: ignore[method-assign, assignment]
    opened, problem = await world.openings.of("train")
    assert opened == ()
    assert problem == "BreakGlass fire opens nothing: kube-apiserver does not answer"


async def test_a_watch_that_is_too_old_opens_nothing(folder: Folder) -> None:
    """What was open is looked at, once; and again when the watch is back."""
    world = _World(folder)
    assert await world.found() == ["fire"]
    world.sealed.lost = True
    assert world.openings.reconsider() == {"train"}
    with pytest.raises(NotSyncedError):
        await world.openings.of("train")
    assert world.openings.reconsider() == frozenset()
    world.sealed.lost = False
    assert world.openings.reconsider() == {"train"}


async def test_without_approvals_a_namespace_is_named_once(folder: Folder) -> None:
    """It passes the wait of one that fails, so that being named always would have no pause."""
    world = _World(folder)
    assert await world.found() == ["fire"]
    world.sealed.lost_approvals = True
    assert world.openings.reconsider() == {"train"}
    with pytest.raises(NotSyncedError):
        await world.openings.of("train")
    assert world.openings.reconsider() == frozenset()
    world.sealed.lost_approvals = False
    assert world.openings.reconsider() == {"train"}


def _deleted(world: _World) -> None:
    world.sealed.take([])


def _withdrawn(world: _World) -> None:
    world.approve(ANN)


def _ended(world: _World) -> None:
    world.now = NOW + 1800


@pytest.mark.parametrize("happens", [_deleted, _withdrawn, _ended])
async def test_each_end_is_noticed(folder: Folder, happens: Callable[[_World], None]) -> None:
    """At the next look, and only then is anything to be done."""
    world = _World(folder)
    assert world.openings.reconsider() == {"train"}
    assert await world.found() == ["fire"]
    assert world.openings.reconsider() == frozenset()
    happens(world)
    assert world.openings.reconsider() == {"train"}
    assert await world.found() == []
    assert world.openings.reconsider() == frozenset()


async def test_an_opener_at_risk_closes_it(folder: Folder) -> None:
    """As for what it relaxes."""
    world = _World(folder)
    world.terms = ApprovalTerms(at_risk=lambda _: AtRisk())
    assert await world.found() == []


def test_what_a_break_glass_opened_goes_before_anything_opens() -> None:
    """It is closed first where something is to be written too."""
    glass = policy("sallyport-break-glass", {1})
    there = [live(each) for each in (*policies({}), glass)]
    steps = plan_of(policies({"a": [{443}]}), there).steps
    assert [each.live.name for each in steps if isinstance(each, Delete)] == [
        "sallyport-break-glass"
    ]
    assert isinstance(steps[0], Delete)
