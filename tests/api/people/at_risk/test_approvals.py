"""Approvals, exceptions and BreakGlasses of people at risk: asked of a real kube-apiserver."""

import asyncio
import time

from core.people.subject import Subject
from core.risk.model import RiskEntry, RiskLevel, RiskSource, RiskState, identity_key
from core.risk.snapshot import SnapshotDraft
from kube.risk.store import RiskStore
from tests.api.admission.objects import new_namespace, privileged
from tests.api.people.break_glass import glass
from tests.api.people.break_glass.glass import ADMIN, ON_CALL, OPENED
from tests.api.people.exceptions.exceptions import (
    ANN,
    AUTHOR,
    BEN,
    RUNNER,
    approval,
    begins,
    ends,
    exception,
    named,
    set_up,
    stays_out,
)
from tests.harness.programs.client import Client, Outcome
from tests.harness.worlds.approvals import seen

HOUR = 3600
SETTLES_WITHIN_S = 60.0


async def put_at_risk(store: RiskStore, who: str, since: float | None = None) -> None:
    """Say that somebody is at risk, since now."""
    at = int(since or time.time())

    def change(draft: SnapshotDraft) -> None:
        entry = RiskEntry(level=RiskLevel.LOW, state=RiskState.AT_RISK, updated=at, since=at)
        draft.put(RiskSource.ENTRA, identity_key(Subject(who).label), entry)

    await store.update(change)


async def clear(store: RiskStore, who: str) -> None:
    """Say that the risk is gone."""
    key = identity_key(Subject(who).label)
    await store.update(lambda draft: draft.drop(RiskSource.ENTRA, key))


async def becomes(client: Client, name: str, status: int, *words: str) -> str:
    """Try to open a BreakGlass, and open none, until the answer is this one; give what it says."""
    end = time.monotonic() + SETTLES_WITHIN_S
    while True:
        found, said = await glass.change(client, name, OPENED, dryRun="All")
        if found == status and all(word in said for word in words):
            return said
        assert time.monotonic() < end, (found, said)
        await asyncio.sleep(0.1)


async def test_someone_at_risk_approves_nothing(admin: Client, store: RiskStore) -> None:
    """Refused with the reason; allowed again as soon as the risk is gone."""
    await set_up(admin)
    place = await new_namespace(admin)
    await admin.as_user(AUTHOR).create(exception(place))
    await put_at_risk(store, ANN)
    said = await answers(admin, place, Outcome.DENIED)
    assert "someone at risk cannot approve until the risk is gone" in said
    assert ANN not in said
    await clear(store, ANN)
    await answers(admin, place, Outcome.ALLOWED)


async def answers(admin: Client, place: str, outcome: Outcome) -> str:
    """Try to approve as Ann until this comes of it; give what is said."""
    made = await seen(admin, approval(place, "by-ann"))
    end = time.monotonic() + SETTLES_WITHIN_S
    while True:
        answer = await admin.as_user(ANN).dry_run(made)
        if answer.outcome is outcome:
            return answer.message
        assert time.monotonic() < end, answer
        await asyncio.sleep(0.1)


async def test_what_they_approved_does_not_count_while_they_are(
    admin: Client, store: RiskStore
) -> None:
    """The exception ends with the risk of one approver, and is in force again after it."""
    await set_up(admin)
    place = await new_namespace(admin)
    await admin.as_user(AUTHOR).create(exception(place))
    for who in (ANN, BEN):
        made = await seen(admin, approval(place, f"by-{who.partition('@')[0]}"))
        await admin.as_user(who).create(made)
    await begins(admin, place)
    await put_at_risk(store, BEN)
    await ends(admin, place)
    await stays_out(admin, place)
    await clear(store, BEN)
    await begins(admin, place)


async def test_their_exceptions_are_suspended(admin: Client, store: RiskStore) -> None:
    """Its author is at risk: whoever is refused is told; nothing was written, and it comes back."""
    await set_up(admin)
    place = await new_namespace(admin)
    await admin.as_user(AUTHOR).create(exception(place))
    for who in (ANN, BEN):
        made = await seen(admin, approval(place, f"by-{who.partition('@')[0]}"))
        await admin.as_user(who).create(made)
    await begins(admin, place)
    await put_at_risk(store, AUTHOR)
    await ends(admin, place)
    pod = named(privileged(), "llama")
    answer = await admin.as_user(RUNNER).dry_run_create(pod, place)
    assert "its author is at risk: suspended until the risk is gone" in answer.message
    await clear(store, AUTHOR)
    await begins(admin, place)


async def test_a_break_glass_opens_only_by_people_who_are_sure(
    admin: Client, store: RiskStore
) -> None:
    """Not by someone at risk, not with a fresh approval of theirs; the local admin opens it.

    One of the approvals was given 48 hours before the risk that is known at the end: what is
    two days ago elsewhere is two days ahead here.
    """
    await glass.set_up(admin)
    place, name = await new_namespace(admin), glass.new_name()
    await admin.as_user(AUTHOR).create(glass.sealed(place, name))
    await glass.approve(admin, name, ANN, BEN)
    on_call = admin.as_user(ON_CALL)
    local = admin.as_user(ADMIN, ["system:masters", "system:authenticated"])
    await put_at_risk(store, ON_CALL)
    await becomes(on_call, name, 403, "someone at risk cannot activate it")
    await put_at_risk(store, ANN)
    said = await becomes(local, name, 403, "is at risk now: it does not count", "1 of 2")
    assert ANN not in said
    await put_at_risk(store, ANN, time.time() + 49 * HOUR)
    await becomes(on_call, name, 403, "someone at risk cannot activate it")
    await becomes(local, name, 200)
    assert await glass.change(local, name, OPENED) == (200, "")
