"""Owners are asked for once, for a while, by their UID, and nowhere else than where they lie."""

import asyncio
from pathlib import Path

import pytest
import yaml

from core.base.errors import ClusterError, OwnerUnknownError
from core.decision.requester_notes import OwnerObject, RequesterNotes
from core.kubernetes.object_meta import OwnerReference
from core.kubernetes.workload_kinds import WORKLOADS
from kube.client.settings import LiveSettings
from kube.resources.owners import METADATA_ONLY, OwnerCache, OwnerLookup

JOB = OwnerReference(api_version="batch/v1", kind="Job", name="j", uid="u1", controller=True)
FOUND = OwnerObject(group="batch", kind="Job", name="j", uid="u1")


class Asked:
    """Answers with an owner, and counts."""

    def __init__(self, answer: OwnerObject | None = FOUND, delay: float = 0.0) -> None:
        self.answer = answer
        self.delay = delay
        self.fails = False
        self.count = 0

    async def __call__(self, namespace: str, reference: OwnerReference) -> OwnerObject | None:
        """Answer, or fail."""
        del namespace, reference
        self.count += 1
        await asyncio.sleep(self.delay)
        if self.fails:
            raise OwnerUnknownError("no answer")
        return self.answer


class Server:
    """A connection that answers from a table of paths."""

    def __init__(self, answers: dict[str, bytes | ClusterError]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str]] = []

    async def get(
        self, path: str, timeout_s: float, parameters: object, *, accept: str = "application/json"
    ) -> bytes:
        """Answer, or raise what the table says; 404 for what it does not."""
        del timeout_s, parameters
        self.asked.append((path, accept))
        answer = self.answers.get(path, ClusterError("not found", 404))
        if isinstance(answer, ClusterError):
            raise answer
        return answer


def gets(server: Server) -> OwnerLookup:
    """Return what asks this server."""
    return OwnerLookup(server, LiveSettings(review_timeout_s=1.0))  # type: ignore[arg-type]  # As a Connection.


async def test_a_gang_asks_once() -> None:
    """Those who ask at the same time share a request, and those who come later its answer."""
    ask = Asked(delay=0.01)
    cache = OwnerCache(ask)
    found = await asyncio.gather(*(cache.owner("train", JOB) for _ in range(1000)))
    assert {each and each.uid for each in found} == {"u1"}
    await cache.owner("train", JOB)
    assert (ask.count, cache.gets) == (1, 1)


async def test_an_owner_is_believed_for_a_while() -> None:
    """Notes change: then it is asked for again; `fresh` asks at once."""
    now = [0.0]
    ask = Asked()
    cache = OwnerCache(ask, age_s=10.0, clock=lambda: now[0])
    await cache.owner("train", JOB)
    now[0] = 9.9
    await cache.owner("train", JOB)
    assert ask.count == 1
    now[0] = 10.0
    await cache.owner("train", JOB)
    assert ask.count == 2
    await cache.owner("train", JOB, fresh=True)
    assert ask.count == 3


async def test_neither_errors_nor_absence_are_remembered() -> None:
    """The next one asks anew."""
    ask = Asked(None)
    cache = OwnerCache(ask)
    assert await cache.owner("train", JOB) is None
    ask.fails = True
    with pytest.raises(OwnerUnknownError):
        await cache.owner("train", JOB)
    ask.fails, ask.answer = False, FOUND
    assert await cache.owner("train", JOB) == FOUND
    assert (ask.count, len(cache)) == (3, 1)


async def test_memory_is_bounded_and_keeps_what_was_used_last() -> None:
    """And namespaces do not share: a UID is unique, but a reference may lie."""
    ask = Asked()
    cache = OwnerCache(ask, size=2)
    for namespace in ("a", "b", "a", "c", "a"):
        await cache.owner(namespace, JOB)
    assert (ask.count, len(cache)) == (3, 2)


async def test_cancelled_owner_lookup_goes_on_for_other_waiters() -> None:
    """A review that ran out of time leaves the question to the others."""
    ask = Asked(delay=0.02)
    cache = OwnerCache(ask)
    first = asyncio.create_task(cache.owner("train", JOB))
    second = asyncio.create_task(cache.owner("train", JOB))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == FOUND
    await cache.close()


async def test_only_metadata_is_asked_for() -> None:
    """As PartialObjectMetadata, at the path that the table of workloads gives."""
    body = (
        b'{"metadata":{"name":"j","uid":"u1","annotations":{"sallyport.dev/requester":"oid:x"},'
        b'"ownerReferences":[{"apiVersion":"batch/v1","kind":"CronJob","name":"c","uid":"u2",'
        b'"controller":true}]}}'
    )
    path = "/apis/batch/v1/namespaces/train/jobs/j"
    server = Server({path: body})
    found = await gets(server).get("train", JOB)
    assert found is not None
    assert (found.uid, found.notes, found.owner and found.owner.uid) == (
        "u1",
        RequesterNotes("oid:x"),
        "u2",
    )
    assert server.asked == [(path, METADATA_ONLY)]


async def test_another_uid_is_another_object() -> None:
    """Deleted, and made anew under the same name."""
    server = Server({"/apis/batch/v1/namespaces/train/jobs/j": b'{"metadata":{"uid":"u9"}}'})
    assert await gets(server).get("train", JOB) is None


async def test_a_version_that_is_no_longer_served_is_not_asked_for() -> None:
    """An old reference names one; the table knows which is served."""
    old = OwnerReference(api_version="batch/v1beta1", kind="CronJob", name="c", uid="u1")
    server = Server({"/apis/batch/v1/namespaces/train/cronjobs/c": b'{"metadata":{"uid":"u1"}}'})
    assert await gets(server).get("train", old)


async def test_a_kind_that_no_table_names_is_discovered_once() -> None:
    """An operator's own kind."""
    own = OwnerReference(api_version="example.com/v1", kind="Experiment", name="e", uid="u1")
    resources = (
        b'{"resources":[{"name":"experiments/status","kind":"Experiment"},'
        b'{"name":"experiments","kind":"Experiment"}]}'
    )
    base = "/apis/example.com/v1"
    path = f"{base}/namespaces/train/experiments/e"
    server = Server({base: resources, path: b'{"metadata":{"uid":"u1"}}'})
    asking = gets(server)
    assert await asking.get("train", own)
    assert await asking.get("train", own)
    assert [asked for asked, _ in server.asked] == [base, path, path]
    unknown = OwnerReference(api_version="example.com/v1", kind="Other", name="e", uid="u1")
    assert await asking.get("train", unknown) is None


@pytest.mark.parametrize("status", [0, 401, 403, 429, 500])
async def test_a_failure_is_an_error(status: int) -> None:
    """Never an absence: nobody knows."""
    failed = ClusterError("it broke", status)
    server = Server({"/apis/batch/v1/namespaces/train/jobs/j": failed})
    with pytest.raises(OwnerUnknownError, match="it broke"):
        await gets(server).get("train", JOB)


async def test_what_is_no_metadata_is_an_error() -> None:
    """A proxy's page, say."""
    server = Server({"/apis/batch/v1/namespaces/train/jobs/j": b"<html>"})
    with pytest.raises(OwnerUnknownError, match="no object's metadata"):
        await gets(server).get("train", JOB)


@pytest.mark.parametrize("part", ["..", ".", "", "a/b", "../../../api/v1/secrets/x", "%2e", "a?b"])
async def test_a_reference_never_leads_elsewhere(part: str) -> None:
    """Anyone may write one; it makes no path but that of an object of its kind."""
    server = Server({})
    name = OwnerReference(api_version="batch/v1", kind="Job", name=part, uid="u1")
    assert await gets(server).get("train", name) is None
    group = OwnerReference(api_version=f"{part}/v1", kind="Own", name="n", uid="u1")
    assert await gets(server).get("train", group) is None
    assert server.asked == []


def test_the_gate_may_read_the_owners_of_the_table() -> None:
    """A kind with a controller that the table gains needs a rule, or its Pods are errors."""
    documents = list(yaml.safe_load_all(Path("deploy/rbac.yaml").read_text()))
    gate = next(
        each
        for each in documents
        if each["kind"] == "ClusterRole" and each["metadata"]["name"] == "sallyport-gate"
    )
    readable = {
        (group, resource)
        for rule in gate["rules"]
        if "get" in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    needed = {
        (each.group, each.resource)
        for each in WORKLOADS.values()
        if each.namespaced and each.controllers
    }
    assert needed <= readable
