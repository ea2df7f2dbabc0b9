"""What Entra says gets into the stored snapshot: from a fake Entra to the real kube-apiserver."""

import asyncio
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from core.risk.model import (
    Application,
    ApplicationKind,
    RiskLevel,
    RiskSource,
    RiskState,
    identity_key,
)
from core.risk.snapshot import RiskSnapshot
from identity.clients.tokens import CredentialKind
from identity.entra.graph_requests import PollIntervals, Resource
from kube.client.objects import Objects
from tests.api.control.risk_poll.polls import QUICK, polled, quick, until
from tests.harness.fakes.entra.entra import FakeEntra
from tests.harness.programs.client import Client

ENTRA = RiskSource.ENTRA
DAY = 86_400.0


def new_id() -> str:
    """Return an id that nobody has."""
    return str(uuid.uuid4())


@pytest.fixture
def entra(tmp_path: Path) -> Iterator[FakeEntra]:
    """An Entra of this test's own; however a test ends, its limit was kept."""
    made = FakeEntra(tmp_path).start()
    yield made
    made.stop()
    assert made.violations == 0


def state_of(snapshot: RiskSnapshot, object_id: str) -> RiskState | None:
    """Return the state of an identity; None where nothing is known."""
    entry = snapshot.entry(ENTRA, identity_key(object_id))
    return entry.state if entry else None


def is_known(snapshot: RiskSnapshot) -> bool:
    """Return whether everything is."""
    head = snapshot.head
    return None not in (head.users.as_of, head.service_principals.as_of, head.user_events.as_of)


async def test_a_risk_comes_and_goes(objects: Objects, namespace: str, entra: FakeEntra) -> None:
    """Within a look at what changed, with the event that it rests on; and its end as well."""
    person = new_id()
    async with polled(objects, namespace, entra) as poller:
        await poller.until("known", is_known)
        entra.put_user(person, level="high", state="atRisk")
        entra.put_detection("ab" * 32, person, kind="maliciousIPAddress")
        began = time.monotonic()
        await poller.until("at risk", lambda each: state_of(each, person) is RiskState.AT_RISK)
        assert time.monotonic() - began < QUICK.every_s + 60, "it waits for all to be read"
        snapshot = await poller.until(
            "cited",
            lambda each: (found := each.entry(ENTRA, identity_key(person))) and found.event_id,
        )
        entry = snapshot.entry(ENTRA, identity_key(person))
        assert entry is not None
        assert (entry.level, entry.event_id) == (RiskLevel.HIGH, "ab" * 32)
        assert entry.event_type == "maliciousIPAddress"
        assert entry.since == entry.updated
        entra.put_user(person, level="none", state="remediated", updated=entra.now() + 1)
        await poller.until(
            "remediated", lambda each: state_of(each, person) is RiskState.REMEDIATED
        )


async def test_what_the_clusters_applications_stand_for(
    objects: Objects, namespace: str, entra: FakeEntra
) -> None:
    """App registrations of the tenant, others', managed identities, nobody's; pipelines too."""
    ours, foreign, managed, missing, risky = (new_id() for _ in range(5))
    objects_of = {each: new_id() for each in (ours, foreign, managed, risky)}
    entra.put_application(ours, objects_of[ours])
    entra.put_application(foreign, objects_of[foreign], ApplicationKind.FOREIGN)
    entra.put_application(managed, objects_of[managed], ApplicationKind.MANAGED_IDENTITY)
    entra.put_application(risky, objects_of[risky])
    entra.put_service_principal(objects_of[risky], risky, level="medium", state="atRisk")
    in_use = frozenset({ours, foreign, managed, missing, objects_of[risky]})
    async with polled(objects, namespace, entra, in_use=in_use) as poller:
        snapshot = await poller.until(
            "known", lambda each: is_known(each) and each.head.applications.as_of is not None
        )
    kinds = {each: snapshot.application(each) for each in in_use}
    assert kinds == {
        ours: Application(ApplicationKind.APPLICATION, objects_of[ours]),
        foreign: Application(ApplicationKind.FOREIGN, objects_of[foreign]),
        managed: Application(ApplicationKind.MANAGED_IDENTITY, objects_of[managed]),
        missing: Application(ApplicationKind.MISSING),
        objects_of[risky]: Application(ApplicationKind.APPLICATION, objects_of[risky]),
    }
    assert state_of(snapshot, objects_of[risky]) is RiskState.AT_RISK


async def test_guests_are_known_where_that_is_set(
    objects: Objects, namespace: str, entra: FakeEntra
) -> None:
    """Nobody else is a guest."""
    guest, member = new_id(), new_id()
    entra.put_guest(guest)
    entra.put_user(member)
    settings = replace(quick(entra), guests=True)
    async with polled(objects, namespace, entra, settings) as poller:
        snapshot = await poller.until("guests", lambda each: each.head.guests.as_of is not None)
    assert snapshot.is_guest(identity_key(guest))
    assert not snapshot.is_guest(identity_key(member))


@pytest.mark.parametrize("kind", [CredentialKind.CERTIFICATE, CredentialKind.SECRET])
async def test_other_ways_to_sign_in(
    objects: Objects, namespace: str, entra: FakeEntra, kind: CredentialKind
) -> None:
    """A certificate; a secret, where that is allowed."""
    settings = replace(entra.poller_settings(kind), times=QUICK)
    async with polled(objects, namespace, entra, settings) as poller:
        await poller.until("known", lambda each: each.head.users.as_of is not None)


async def test_what_is_of_the_future_or_cannot_be_read_is_refused_and_counted(
    objects: Objects, namespace: str, entra: FakeEntra
) -> None:
    """It changes nothing, hides nothing that comes after, and the others are read."""
    future, person = new_id(), new_id()
    async with polled(objects, namespace, entra) as poller:
        await poller.until("known", is_known)
        entra.put_user(future, level="high", state="atRisk", updated=entra.now() + 7 * DAY)
        entra.put_user("canary@canary.example", level="high", state="atRisk")
        for reason in ("future", "unreadable"):
            labels = {"resource": "users", "reason": reason}

            async def is_refused(labels: dict[str, str] = labels) -> bool:
                return poller.metric("sallyport_risk_refused_total", **labels) > 0

            await until(f"{reason}: counted", is_refused)
        entra.put_user(person, level="low", state="atRisk")
        snapshot = await poller.until("read", lambda each: state_of(each, person))
        assert state_of(snapshot, future) is None
        assert "cannot be read" in snapshot.head.users.problem
        assert len(list(snapshot.entries(ENTRA))) == 1


async def test_states_and_times_as_they_really_are(
    objects: Objects, namespace: str, entra: FakeEntra
) -> None:
    """Values of releases to come, one digit of an hour, no time at all: nobody is hidden."""
    odd, hour, timeless = new_id(), new_id(), new_id()
    entra.put_user(odd, level="severe", state="quarantined")
    entra.put_user(hour, level="high", state="atRisk", updated="2026-09-09T9:59:27.958Z")
    entra.put_user(timeless, level="high", state="atRisk", updated="")
    async with polled(objects, namespace, entra) as poller:
        snapshot = await poller.until("known", is_known)
        assert state_of(snapshot, odd) is RiskState.UNKNOWN
        for each in (hour, timeless):
            assert state_of(snapshot, each) is RiskState.AT_RISK


@pytest.mark.parametrize("offset", [3600.0, -3600.0])
async def test_clocks_that_are_apart(
    objects: Objects, namespace: str, entra: FakeEntra, offset: float
) -> None:
    """What is known as of when is told by Graph's clock; that they are apart is said once."""
    entra.clock_offset = offset
    entra.desk.project_token(entra.now(), 3 * 3600)
    person = new_id()
    with capture_logs() as logs:
        async with polled(objects, namespace, entra) as poller:
            await poller.until("known", is_known)
            entra.put_user(person, level="high", state="atRisk")
            snapshot = await poller.until("read", lambda each: state_of(each, person))
            as_of = snapshot.head.users.as_of
            assert as_of is not None
            assert abs(as_of - entra.now()) < 300
            assert abs(poller.metric("sallyport_risk_clock_skew_seconds") + offset) < 60
    said = [each for each in logs if "clock" in each["event"]]
    assert len(said) == 1


async def test_who_is_not_listed_any_more_is_forgotten(
    objects: Objects, namespace: str, entra: FakeEntra
) -> None:
    """At once where there was no risk; who was at risk when a second pass says so, too."""
    stays, gone, was_risky = new_id(), new_id(), new_id()
    for each in (stays, gone):
        entra.put_user(each, state="remediated", updated=entra.now() - DAY)
    entra.put_user(was_risky, level="high", state="atRisk", updated=entra.now() - DAY)
    times = PollIntervals(every_s=2, full_s=8, confirm_s=3, heartbeat_s=1)
    async with polled(objects, namespace, entra, replace(quick(entra), times=times)) as poller:
        await poller.until("known", is_known)
        for each in (gone, was_risky):
            entra.remove(Resource.USERS, each)
        snapshot = await poller.until("gone", lambda each: state_of(each, gone) is None)
        first = snapshot.head.users.full
        assert state_of(snapshot, was_risky) is RiskState.AT_RISK
        snapshot = await poller.until("gone", lambda each: state_of(each, was_risky) is None)
        assert snapshot.head.users.full != first
        assert state_of(snapshot, stays) is RiskState.REMEDIATED


async def test_where_graph_compares_no_times_all_are_read(
    objects: Objects, namespace: str, entra: FakeEntra
) -> None:
    """Some resources refuse such a filter: what changes is seen all the same."""
    thing = new_id()
    entra.directory.unfiltered.add(Resource.SERVICE_PRINCIPALS)
    async with polled(objects, namespace, entra) as poller:
        await poller.until("known", is_known)
        await asyncio.sleep(5)
        entra.put_service_principal(thing, new_id(), level="high", state="atRisk")
        snapshot = await poller.until("read", lambda each: state_of(each, thing))
        assert snapshot.head.service_principals.problem == ""


async def test_that_nothing_changed_is_written_seldom(
    objects: Objects, namespace: str, entra: FakeEntra
) -> None:
    """Gates watch the head: with nobody's risk changed, it is written once a heartbeat."""
    person = new_id()
    entra.put_user(person, level="high", state="atRisk", updated=entra.now() - DAY)
    times = replace(QUICK, heartbeat_s=30.0)
    async with polled(objects, namespace, entra, replace(quick(entra), times=times)) as poller:
        before = await poller.until("known", is_known)
        began, requests = time.monotonic(), len(entra.requests)

        async def is_asked() -> bool:
            return len(entra.requests) - requests >= 3

        await asyncio.sleep(2 * QUICK.every_s)
        await until("asked again", is_asked)
        after = await poller.snapshot()
        heartbeats = 1 + (time.monotonic() - began) // times.heartbeat_s
        assert after.head.version - before.head.version <= heartbeats


async def test_another_tenant_begins_anew(
    objects: Objects, namespace: str, entra: FakeEntra, tmp_path: Path
) -> None:
    """What another tenant's Entra said is forgotten before anything else is known."""
    person = new_id()
    entra.put_user(person, level="high", state="atRisk")
    async with polled(objects, namespace, entra) as poller:
        await poller.until("known", lambda each: state_of(each, person))
    folder = tmp_path / "other"
    folder.mkdir()
    other = FakeEntra(folder).start()
    try:
        async with polled(objects, namespace, other) as poller:
            snapshot = await poller.until("known", is_known)
            assert snapshot.head.tenant == other.tenant
            assert state_of(snapshot, person) is None
    finally:
        other.stop()


async def test_a_look_at_what_changed_does_not_wait_for_everybody(
    objects: Objects, namespace: str, entra: FakeEntra
) -> None:
    """7 pages of users; who changed while they are read is known at once, and then all are."""
    everybody = [new_id() for _ in range(3100)]
    for each in everybody:
        entra.put_user(each, state="dismissed", updated=entra.now() - DAY)
    person = max(everybody)
    async with polled(objects, namespace, entra) as poller:
        await poller.until("begun", lambda each: each.head.users.through)
        entra.put_user(person, level="high", state="atRisk")
        snapshot = await poller.until(
            "read", lambda each: state_of(each, person) is RiskState.AT_RISK
        )
        assert snapshot.head.users.as_of is None, "not everybody was read yet"
        snapshot = await poller.until("known", lambda each: each.head.users.as_of is not None)
        assert len(list(snapshot.entries(ENTRA))) == len(everybody)


async def test_nothing_that_is_written_holds_a_name(
    objects: Objects, namespace: str, entra: FakeEntra, client: Client
) -> None:
    """Not the Secrets, and not the log; the tenant's identities all have canaries."""
    person = new_id()
    entra.put_user(person, level="high", state="atRisk")
    entra.put_detection(new_id(), person)
    with capture_logs() as logs:
        async with polled(objects, namespace, entra) as poller:
            await poller.until("known", is_known)
    secrets = await objects.get(f"/api/v1/namespaces/{namespace}/secrets")
    assert secrets is not None
    assert len(secrets["items"]) > 0
    for text in (str(secrets), str(logs)):
        assert "anary" not in text
        assert "203.0.113" not in text
