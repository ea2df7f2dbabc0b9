"""Leases that are deleted, emptied, taken, edited or misshapen, on a real kube-apiserver."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kube.client.connection import Connection
from kube.client.objects import Objects
from kube.leader.election import LeaseElection
from kube.leader.lease import Clocks, Leadership, LeaseSettings, boot_time
from tests.api.control.leader.field import Field
from tests.api.kube.objects import wait_for
from tests.harness.programs.apiserver import ApiServer

SETTINGS = LeaseSettings(duration_s=6, deadline_s=3.5, retry_s=0.3, call_timeout_s=1.5)
TIMEOUT_S = 60.0


class Candidate:
    """One who takes part, in this process, and notes when it leads."""

    def __init__(self, objects: Objects, field: Field, identity: str, speed: float = 1.0) -> None:
        self.ahead = 0.0
        clocks = Clocks(elapsed=lambda: boot_time() * speed + self.ahead)
        self.election = LeaseElection(
            objects, field.namespace, field.lease, identity, SETTINGS, clocks
        )
        self.terms: list[int] = []
        self.began: list[float] = []
        self.ended: list[float] = []
        self.task = asyncio.create_task(self.election.run(self._lead))

    async def _lead(self, leadership: Leadership) -> None:
        self.terms.append(leadership.term)
        self.began.append(boot_time())
        try:
            while leadership.holds():  # noqa: ASYNC110 (as loops do between their runs)
                await asyncio.sleep(0.01)
        finally:
            self.ended.append(boot_time())

    async def leads(self, terms: int = 1) -> float:
        """Wait until it leads for the nth time; give the moment."""
        await wait_for(lambda: len(self.began) >= terms, TIMEOUT_S)
        return self.began[terms - 1]

    async def leave(self) -> None:
        """Stop cleanly."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


@pytest.fixture
async def objects(apiserver: ApiServer) -> AsyncIterator[Objects]:
    """The cluster, with the timeout of a leader."""
    connection = Connection(apiserver.kubeconfig())
    await connection.open()
    yield Objects(connection, SETTINGS.call_timeout_s)
    await connection.close()


@pytest.fixture
async def leader(objects: Objects, contest: Field) -> AsyncIterator[Candidate]:
    """One that leads."""
    made = Candidate(objects, contest, "leader")
    await made.leads()
    yield made
    await made.leave()


@pytest.fixture
async def other(objects: Objects, contest: Field, leader: Candidate) -> AsyncIterator[Candidate]:
    """One that waits, and has seen the leader's record."""
    made = Candidate(objects, contest, "other")
    await wait_for(lambda: made.election.problem == "", TIMEOUT_S)
    yield made
    await made.leave()


async def test_the_first_of_all_waits_the_duration(objects: Objects, contest: Field) -> None:
    """Where there is no Lease, one may just have been deleted under a leader."""
    began = boot_time()
    first = Candidate(objects, contest, "first")
    assert await first.leads() - began >= SETTINGS.duration_s
    spec = (await contest.read("Lease"))["spec"]
    assert spec["holderIdentity"] == first.election.identity
    assert spec["leaseDurationSeconds"] == SETTINGS.duration_s
    assert first.terms == [spec["leaseTransitions"]] == [1]
    await first.leave()
    spec = (await contest.read("Lease"))["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("", 1)
    assert first.ended


async def test_after_a_clean_stop_the_other_leads_at_once(
    contest: Field, leader: Candidate, other: Candidate
) -> None:
    """It need not wait for a lease that nobody holds."""
    await leader.leave()
    stopped = boot_time()
    assert await other.leads() - stopped < SETTINGS.duration_s - 1
    assert leader.ended[0] <= other.began[0]
    assert other.terms == [leader.terms[0] + 1]


@pytest.mark.parametrize("how", ["deleted", "emptied", "taken", "misshapen"])
async def test_a_record_that_strangers_touch_never_gives_two_leaders(
    how: str, contest: Field, leader: Candidate, other: Candidate
) -> None:
    """The leader steps down when it finds out; nobody leads before the whole duration."""
    touched = boot_time()
    if how == "deleted":
        await contest.write("DELETE", "Lease")
    else:
        spec = {
            "emptied": {"holderIdentity": ""},
            "taken": {"holderIdentity": "stranger", "renewTime": None},
            "misshapen": {
                "holderIdentity": None,
                "leaseDurationSeconds": None,
                "leaseTransitions": None,
                "acquireTime": None,
                "renewTime": None,
            },
        }[how]
        await contest.write("PATCH", "Lease", {"spec": spec})
    await wait_for(lambda: bool(leader.ended), TIMEOUT_S)
    assert leader.ended[0] - touched < SETTINGS.deadline_s
    await wait_for(lambda: len(leader.began) + len(other.began) == 2, TIMEOUT_S)
    again = [*leader.began[1:], *other.began][0]
    assert again - touched >= SETTINGS.duration_s
    assert again > leader.ended[0]


async def test_labels_and_annotations_of_others_disturb_nothing(
    contest: Field, leader: Candidate
) -> None:
    """The leader leads on and leaves them there."""
    metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    for _ in range(3):
        await contest.write("PATCH", "Lease", {"metadata": metadata})
        before = (await contest.read("Lease"))["spec"]["renewTime"]

        async def renewed(before: str = before) -> bool:
            return bool((await contest.read("Lease"))["spec"]["renewTime"] > before)

        await wait_for(renewed, TIMEOUT_S)
        metadata["labels"]["a"] += "b"
    found = (await contest.read("Lease"))["metadata"]
    assert (found["labels"], found["annotations"]) == ({"a": "bbb"}, {"c": "d"})
    assert (leader.terms, leader.ended) == ([1], [])


async def test_a_leader_that_slept_leads_again(contest: Field, leader: Candidate) -> None:
    """Its work sees first that the term is over, and returns: that is no end of its part."""
    for terms in (2, 3):
        leader.ahead += 3600
        await leader.leads(terms)
        assert len(leader.ended) == terms - 1
    assert not leader.task.done()


async def test_a_stranger_with_a_huge_duration_is_waited_for_no_more_than_a_minute(
    objects: Objects, contest: Field
) -> None:
    """It holds for 68 years and never renews; the candidate's clock runs twenty times as fast."""
    first = Candidate(objects, contest, "first")
    await first.leads()
    await first.leave()
    spec = {"holderIdentity": "stranger", "leaseDurationSeconds": 2**31 - 1}
    await contest.write("PATCH", "Lease", {"spec": spec})
    began = boot_time()
    fast = Candidate(objects, contest, "fast", speed=20)
    waited = await fast.leads() - began
    assert 60 / 20 <= waited < 60 / 20 + 30
    assert fast.terms[0] == 2
    await fast.leave()


async def test_a_leader_whose_work_ends_gives_the_lease_up(
    objects: Objects, contest: Field
) -> None:
    """And `run` returns, or raises what the work raised."""
    name = (contest.namespace, contest.lease)
    election = LeaseElection(objects, *name, "one", SETTINGS)

    async def work(leadership: Leadership) -> None:
        leadership.require()

    await election.run(work)
    assert (await contest.read("Lease"))["spec"]["holderIdentity"] == ""

    async def fail(_: Leadership) -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await election.run(fail)
    assert (await contest.read("Lease"))["spec"]["holderIdentity"] == ""
    assert not election.leads()
