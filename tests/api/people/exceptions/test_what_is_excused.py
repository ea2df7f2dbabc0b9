"""An exception in force excuses what it names, for what it names, until it ends; nothing else."""

import asyncio
import time
from collections.abc import Collection
from functools import partial
from typing import Any

import pytest

from admission.gather import Gatherer
from admission.judge import Judge
from core.decision.decision import Verdict
from core.decision.request import Kind, Operation, Request
from core.people.subject import Subject
from core.people.two_person import ApprovalTerms, AtRisk
from identity.subjects import Controllers
from kube.cluster.live import LiveCluster
from policies import BUILT_IN_BUNDLE
from policies.bundle.format import read_bundle
from policies.engine.embedded_engine import EmbeddedEngine
from tests.api.admission.objects import new_namespace, privileged
from tests.api.people.exceptions.exceptions import (
    ANN,
    AUTHOR,
    BEN,
    RUNNER,
    approval,
    begins,
    ends,
    exception,
    in_seconds,
    named,
    runs,
    set_up,
)
from tests.harness.programs.client import ApiStatusError, Client, Json
from tests.harness.programs.guarded_apiserver import Installation
from tests.harness.worlds.approvals import seen
from tests.unit.admission.world import raw


@pytest.fixture
async def place(admin: Client) -> str:
    """A namespace of its own."""
    await set_up(admin)
    return await new_namespace(admin)


async def put_in_force(admin: Client, place: str, item: Json) -> None:
    """Write an exception, and approve it as two others."""
    await admin.as_user(AUTHOR).create(item)
    for name in (ANN, BEN):
        made = approval(place, f"{item['metadata']['name']}-{name[:3]}", item["metadata"]["name"])
        await admin.as_user(name).create(await seen(admin, made))


async def test_only_what_it_names_is_excused(admin: Client, place: str) -> None:
    """Not another name, not a name that begins so, no other privilege, no other namespace."""
    await put_in_force(admin, place, exception(place))
    await begins(admin, place)
    assert not await runs(admin, place, named(privileged(), "llama-2"))
    more = named(privileged(), "llama")
    more["spec"]["hostPID"] = True
    assert not await runs(admin, place, more)
    generated = privileged()
    generated["metadata"] = {"generateName": "llama"}
    assert not await runs(admin, place, generated)
    labelled = named(privileged(), "other")
    labelled["metadata"]["labels"] = {"app": "llama"}
    assert not await runs(admin, place, labelled)
    assert not await runs(admin, await new_namespace(admin))


@pytest.mark.parametrize(
    "spec",
    [
        {"workloads": [{"apiVersion": "v2", "kind": "Pod", "name": "llama"}]},
        {"workloads": [{"apiVersion": "apps/v1", "kind": "Pod", "name": "llama"}]},
        {"workloads": [{"apiVersion": "v1", "kind": "PodTemplate", "name": "llama"}]},
        {"excuses": [{"privilege": "host/network", "container": "app"}]},
        {"excuses": [{"privilege": "host/pid"}]},
        {"excuses": [{"rule": "rules/runtime/annotations"}]},
    ],
    ids=str,
)
async def test_what_is_like_it_is_not_meant(
    admin: Client, place: str, spec: dict[str, Any]
) -> None:
    """Another version, group, kind, a container for the Pod's own need, another privilege."""
    await put_in_force(admin, place, exception(place, "near", **spec))
    await put_in_force(admin, place, exception(place))
    await begins(admin, place)
    await admin.as_user(AUTHOR).delete(exception(place))
    await ends(admin, place)


async def test_exception_ends_to_the_second(admin: Client, place: str) -> None:
    """By the gate's clock, with no event needed."""
    for seconds in (6, 30, 90):  # A busy machine needs longer until it is in force.
        end = int(time.time()) + seconds
        ending = in_seconds(end - time.time())
        await put_in_force(admin, place, exception(place, f"ends-{seconds}", expiresAt=ending))
        begun = False
        while not begun and time.time() < end:
            begun = await runs(admin, place)
        if begun and time.time() < end - 1:
            break
    else:
        raise AssertionError("it was never in force")
    await asyncio.sleep(max(end - 0.8 - time.time(), 0))
    before = await runs(admin, place)
    assert before or time.time() >= end
    await asyncio.sleep(max(end - time.time(), 0) + 0.05)
    assert not await runs(admin, place)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"excuses": [{"privilege": "x/y"}]}, ""),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, "at most 180 days"),
        ({"expiresAt": "2099-01-01T00:00:00Z"}, "at most 180 days"),
    ],
)
async def test_the_author_must_have_what_is_excused(
    admin: Client, place: str, changes: dict[str, Any], why: str
) -> None:
    """Who may use no profile that covers it cannot excuse it; and no exception is for ever."""
    author = BEN if not why else AUTHOR
    with pytest.raises(ApiStatusError, match=why or "may use no profile here") as error:
        await admin.as_user(author).create(exception(place, **changes))
    assert error.value.status == 403


async def test_an_approver_who_is_at_risk_counts_no_more(
    admin: Client, place: str, installation: Installation
) -> None:
    """The same cluster, judged with the risk that Identity is to supply: as a value."""
    await put_in_force(admin, place, exception(place))
    await begins(admin, place)
    cluster = LiveCluster(installation.apiserver.kubeconfig())
    await cluster.start()
    try:
        await cluster.wait(60)
        runner = Subject(RUNNER, groups=["system:authenticated"])
        asked = Request(
            uid="1",
            kind=Kind("Pod", "v1"),
            operation=Operation.CREATE,
            subject=runner,
            namespace=place,
            name="llama",
            submitted=raw(named(privileged(), "llama")),
        )
        engine = EmbeddedEngine(read_bundle(BUILT_IN_BUNDLE))
        for at_risk, verdict in ((False, Verdict.ALLOW), (True, Verdict.DENY)):
            risky = {Subject(BEN).label} if at_risk else frozenset()
            terms = ApprovalTerms(at_risk=partial(_known, risky))
            judge = Judge(Gatherer(cluster, engine, Controllers(), terms=terms))
            end = time.monotonic() + 60
            while (decision := await judge.validate(asked, budget=5)).verdict is not verdict:
                assert time.monotonic() < end, decision
                await asyncio.sleep(0.05)
            used = [each.partition("@")[0] for each in decision.evidence.exceptions]
            assert used == ([] if at_risk else ["llama"])
    finally:
        await cluster.stop()


def _known(risky: Collection[str], marks: Collection[str]) -> AtRisk | None:
    """Say that whoever has one of these marks is at risk."""
    return AtRisk() if set(marks) & set(risky) else None
