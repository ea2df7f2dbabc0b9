"""The loop writes as the leader alone, so many at once, and goes on with what it can know."""

import asyncio
import time
from contextlib import suppress
from http import HTTPStatus

import pytest
from prometheus_client import CollectorRegistry

from control.approvals.conditions import ApprovalConditions, ApprovalJudge
from control.approvals.evaluation_cache import EvaluationCache
from control.approvals.loop import ApprovalStatuses
from core.approvals.exceptions import PolicyException
from core.base.errors import AccessReviewError, ClusterError, NotLeaderError
from kube.leader.lease import Leadership
from tests.api.admission.objects import new_namespace
from tests.api.people.exceptions.exceptions import API, AUTHOR, exception, set_up
from tests.api.people.statuses.writer import LEADER, StatusWriter
from tests.harness.programs.client import Client, Json

KIND = "policyexceptions"
NAMES = ("a", "b", "c", "d", "e")


def refusing_status(place: str, name: str) -> list[Json]:
    """Return a policy of somebody's, by which the status of one exception cannot be written."""
    head: Json = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "metadata": {"name": "refuses-a-status"},
    }
    rule = {
        "apiGroups": ["sallyport.dev"],
        "apiVersions": ["*"],
        "operations": ["UPDATE"],
        "resources": ["policyexceptions/status"],
    }
    said = {"expression": f"object.metadata.name != '{name}'", "reason": "Forbidden"}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": place}}
    constraints = {"namespaceSelector": selector, "resourceRules": [rule]}
    return [
        {
            **head,
            "kind": "ValidatingAdmissionPolicy",
            "spec": {"matchConstraints": constraints, "validations": [said]},
        },
        {
            **head,
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {"policyName": "refuses-a-status", "validationActions": ["Deny"]},
        },
    ]


@pytest.fixture
async def place(admin: Client, writer: StatusWriter) -> str:
    """A namespace with five exceptions, of which nothing is written yet."""
    await set_up(admin)
    await writer.run()
    namespace = await new_namespace(admin)
    for name in NAMES:
        await admin.as_user(AUTHOR).create(exception(namespace, name))
    return namespace


async def known(admin: Client, place: str) -> list[str]:
    """Return which of them have a status."""
    found = [await admin.get(API, "PolicyException", name, place) for name in NAMES]
    return [each["metadata"]["name"] for each in found if "status" in each]


async def until_seen(writer: StatusWriter, place: str) -> None:
    """Wait until the watch has brought all of them."""
    end = time.monotonic() + 60
    (looks,) = writer.looks
    while len(looks.cluster.exceptions.in_namespace(place)) < len(NAMES):
        assert time.monotonic() < end
        await asyncio.sleep(0.05)


async def until(writer: StatusWriter, place: str, name: str, *, refused: bool) -> None:
    """Wait until the policy holds, or does so no longer; what is written changes nothing."""
    end = time.monotonic() + 60
    path = f"/apis/{API}/namespaces/{place}/{KIND}/{name}/status"
    while True:
        try:
            await writer.objects[0].merge(path, {})
        except ClusterError as error:
            if error.status != HTTPStatus.FORBIDDEN or "refuses-a-status" not in str(error):
                raise
            if refused:
                return
        else:
            if not refused:
                return
        assert time.monotonic() < end
        await asyncio.sleep(0.1)


async def test_a_run_writes_so_many_and_the_next_the_rest(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """Thousands of new objects are written over time; none waits for ever."""
    await until_seen(writer, place)
    loop = ApprovalStatuses(
        writer.objects[0], writer.looks[0], CollectorRegistry(), writer.now, most_writes=2
    )
    seen = []
    for _ in range(3):
        await loop.run(LEADER)
        seen.append(len(await known(admin, place)))
    assert seen == [2, 4, 5]


async def test_only_the_leader_writes(admin: Client, place: str, writer: StatusWriter) -> None:
    """Neither who never led, nor who lost it on the way."""
    await until_seen(writer, place)
    with pytest.raises(NotLeaderError):
        await writer.loops[0].run(Leadership(1, 0.0, time.monotonic))
    left = iter((0.0, 0.0))
    lost = Leadership(1, 1.0, lambda: next(left, 2.0))
    with pytest.raises(NotLeaderError):
        await writer.loops[0].run(lost)
    assert len(await known(admin, place)) <= 1


async def test_one_that_may_not_be_written_holds_up_no_other(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """Neither in that run nor in the next ones, which come to it last."""
    await until_seen(writer, place)
    policy = refusing_status(place, "a")
    await admin.apply(policy)
    try:
        await until(writer, place, "a", refused=True)
        loop = ApprovalStatuses(
            writer.objects[0], writer.looks[0], CollectorRegistry(), writer.now, most_writes=2
        )
        seen = []
        for _ in range(3):
            with suppress(ClusterError):
                await loop.run(LEADER)
            seen.append(await known(admin, place))
    finally:
        for each in policy:
            await admin.delete(each)
        await until(writer, place, "a", refused=False)
    assert seen == [["b"], ["b", "c", "d"], ["b", "c", "d", "e"]]


class Doubtful(ApprovalJudge):
    """A cluster that does not say of one exception who may approve it."""

    async def of_exception(self, one: PolicyException, now: float) -> ApprovalConditions:
        """Say how an exception stands."""
        if one.meta.name == "c":
            raise AccessReviewError("the cluster did not say")
        return await super().of_exception(one, now)


async def test_what_cannot_be_known_keeps_its_status_and_the_loop_fails(
    admin: Client, place: str, writer: StatusWriter
) -> None:
    """An error is not taken for a denial: nothing is said of it, and the others are written."""
    await until_seen(writer, place)
    (looks,) = writer.looks
    doubtful = Doubtful(looks.cluster, looks.questions.terms)
    doubts = EvaluationCache(doubtful, looks.cluster, looks.intent)
    loop = ApprovalStatuses(writer.objects[0], doubts, CollectorRegistry(), writer.now)
    with pytest.raises(AccessReviewError):
        await loop.run(LEADER)
    assert await known(admin, place) == ["a", "b", "d", "e"]
    await writer.until(KIND, "c", place, WHY="WaitsForApproval")
