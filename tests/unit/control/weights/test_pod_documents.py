"""Which documents an event of a Pod makes, and what is remembered of it."""

import uuid
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from control.weights.pod_lifecycle.documents import (
    AGAIN_S,
    PodDocumentBuilder,
    PodDocuments,
    PodSigns,
)
from control.weights.pod_lifecycle.live_pods import (
    ENDED_POD,
    LivePods,
    PodNode,
    PodWorkload,
    TrackedPod,
    key_of,
    uid_of,
)
from core.weights.documents.pod_life import LifeEvent, PodLife
from kube.weights.pod_lifecycle import PodLifecycle, read_pod_lifecycle

UID = "3f0c7d5e-1111-4222-8333-944445555666"
NOW = 1_790_000_000.0
NONE = PodSigns()


def seen(**changes: Any) -> PodLifecycle:
    """Return a Pod that runs."""
    fields: dict[str, Any] = {
        "uid": UID,
        "namespace": "train",
        "name": "llm-0",
        "service_account": "trainer",
        "node": "node-1",
        "host_network": False,
        "addresses": ("10.2.0.1",),
        "node_addresses": ("10.1.0.1",),
        "made": NOW - 100,
        "began": NOW - 90,
        "finished": False,
        "stopped": 0.0,
        "owner": "",
        "moved": NOW - 80,
    }
    return PodLifecycle(**fields | changes)


def teller() -> PodDocumentBuilder:
    """Return one that knows of no Pod."""
    return PodDocumentBuilder("c-1", LivePods())


def tell(
    by: PodDocumentBuilder, pod: PodLifecycle, signs: PodSigns = NONE, *, gone: bool = False
) -> list[PodLife]:
    """Tell an event, and remember what comes of it."""
    told: PodDocuments = by.tell(pod, signs, gone=gone, now=NOW)
    if told.kept is None:
        by.living.drop(pod.uid)
    else:
        by.living.put(pod.uid, told.kept)
    return list(told.documents)


def events(documents: list[PodLife]) -> list[LifeEvent]:
    """Return what the documents tell."""
    return [each.event for each in documents]


def test_the_same_twice_is_told_once() -> None:
    """Of the many events of a Pod only those count that say something new."""
    by = teller()
    waiting = seen(node="", addresses=(), node_addresses=(), began=0.0)
    assert events(tell(by, waiting)) == [LifeEvent.SEEN]
    assert tell(by, waiting) == []
    assert tell(by, seen(addresses=(), node_addresses=(), began=0.0)) == [], "scheduled"
    assert events(tell(by, seen())) == [LifeEvent.ADDRESSED]
    assert tell(by, seen(moved=NOW)) == []
    assert events(tell(by, seen(finished=True, stopped=NOW - 5))) == [LifeEvent.ENDED]
    assert tell(by, seen(finished=True), gone=True) == []
    assert len(by.living) == 0


def test_two_leaders_give_the_same_ids() -> None:
    """Also where one of them sees fewer of the events: the ledger keeps each once."""
    one, other = teller(), teller()
    first = tell(one, seen(node="", addresses=(), began=0.0)) + tell(one, seen())
    second = tell(other, seen())
    assert [each.id for each in first] == [each.id for each in second]
    ends = [tell(by, seen(stopped=NOW - 5), gone=True)[0] for by in (one, other)]
    assert ends[0] == ends[1]


def test_what_a_pod_has_had_is_not_forgotten() -> None:
    """A new address, and another way to sign in: the last document says all."""
    by = teller()
    tell(by, seen(), PodSigns(("a",), ("acct/weights",)))
    changed = tell(by, seen(addresses=("10.2.0.9",)), PodSigns(("b",)))
    assert events(changed) == [LifeEvent.ADDRESSED]
    assert changed[0].addresses == ["10.2.0.1", "10.2.0.9"]
    assert (changed[0].client_ids, changed[0].volumes) == (["a", "b"], ["acct/weights"])
    (ended,) = tell(by, seen(addresses=(), finished=True, stopped=NOW))
    assert ended.addresses == ["10.2.0.1", "10.2.0.9"]


def test_an_end_is_sure_only_where_its_containers_are_known_to_have_stopped() -> None:
    """Not of a Pod that is taken away, or given up, while they may run on a node that is away."""
    assert tell(teller(), seen(stopped=NOW - 5), gone=True)[-1].sure
    assert not tell(teller(), seen(), gone=True)[-1].sure
    assert not tell(teller(), seen(finished=True))[-1].sure
    assert tell(teller(), seen(node=""), gone=True)[-1].sure


def test_each_pod_is_told_again_once_a_week_at_its_own_time() -> None:
    """The same document, whoever leads; not one that began since."""
    by = teller()
    tell(by, seen(began=NOW - 30 * AGAIN_S, made=NOW - 30 * AGAIN_S))
    times = [NOW + each * AGAIN_S / 7 for each in range(15)]
    told = [life for a, b in pairwise(times) for life in by.again(a, b)]
    assert events(told) == [LifeEvent.SEEN] * 2
    assert list(by.again(times[0], times[-1])) == told[1:], "of several turns only the last"
    other = teller()
    tell(other, seen(began=NOW + 14 * AGAIN_S))
    assert list(other.again(NOW, NOW + 7 * AGAIN_S)) == []


def test_what_is_shared_is_let_go_with_the_last_pod_that_has_it() -> None:
    """Nodes and workloads come and go for months; only those of living Pods are held."""
    living = LivePods()
    for number in range(20_000):
        uid = str(uuid.UUID(int=number))
        host = living.share(PodNode(f"node-{number}"))
        living.put(uid, TrackedPod("p", living.share(PodWorkload("n", "s")), host))
        if number > 10:
            living.drop(str(uuid.UUID(int=number - 10)))
    assert living.shared < 10_000


@given(st.uuids())
def test_a_uid_survives_as_a_number(uid: uuid.UUID) -> None:
    """Whatever it is."""
    assert uid_of(key_of(str(uid))) == str(uid)


def test_whoever_ended_is_nobody_who_lives() -> None:
    """It stays known as over as long as it is there."""
    by = teller()
    tell(by, seen(finished=True, stopped=NOW))
    assert by.living.get(UID) is ENDED_POD
    assert list(by.living.items()) == []


RAW = {
    "metadata": {
        "uid": UID,
        "name": "llm-0",
        "namespace": "train",
        "creationTimestamp": "2026-10-01T10:00:00Z",
        "ownerReferences": [{"uid": "not"}, {"uid": "job-1", "controller": True}],
    },
    "spec": {"serviceAccountName": "trainer", "nodeName": "node-1", "hostNetwork": True},
    "status": {
        "phase": "Running",
        "startTime": "2026-10-01T10:00:05Z",
        "podIP": "10.1.0.1",
        "hostIP": "10.1.0.1",
        "conditions": [{"lastTransitionTime": "2026-10-01T10:00:09Z"}, {}],
    },
}


def test_of_a_pod_only_its_life_is_read() -> None:
    """Single addresses where there are no lists, and the controller among its owners."""
    found = read_pod_lifecycle(msgspec.json.encode(RAW))
    assert (found.addresses, found.node_addresses, found.host_network) == (
        ("10.1.0.1",),
        ("10.1.0.1",),
        True,
    )
    assert (found.owner, found.service_account) == ("job-1", "trainer")
    assert found.moved - found.made == 9
    assert found.began - found.made == 5


def stopped_of(*states: dict[str, Any]) -> float:
    """Return when a Pod stopped whose containers are in these states."""
    status = {"phase": "Running", "containerStatuses": [{"state": each} for each in states]}
    return read_pod_lifecycle(msgspec.json.encode(RAW | {"status": status})).stopped


def test_a_pod_has_stopped_once_none_of_its_containers_runs() -> None:
    """The last of them counts; nothing is known of one without a state."""
    early = {"terminated": {"finishedAt": "2026-10-01T11:00:00Z"}}
    late = {"terminated": {"finishedAt": "2026-10-01T12:00:00Z"}}
    assert stopped_of(early, late) - stopped_of(early) == 3600
    assert stopped_of(early, {"waiting": {"reason": "CrashLoopBackOff"}}) == stopped_of(early)
    assert stopped_of(early, {"running": {"startedAt": "2026-10-01T10:00:10Z"}}) == 0
    assert stopped_of(early, {}) == stopped_of(early)
    assert stopped_of() == 0
