"""Recorded acts and live objects are joined: what is there is listed, what is gone is counted."""

from typing import Any

from core.base.ids import uuid7
from core.kubernetes.workload_kinds import GroupKind
from core.risk.look_back import (
    MOST_ITEMS,
    Item,
    LiveObject,
    LookBackDocument,
    RecordedAct,
    Sort,
    State,
)
from core.risk.model import Standing, identity_key
from identity.look_back.report import document_of
from identity.look_back.subjects import IdentityAtRisk
from identity.look_back.trails import MOST_OBJECTS, ObjectBudget, Trail, Trails

NOW = 1_795_000_000
BEGIN = NOW - 49 * 3600
ALICE = "oid:11111111-2222-4333-8444-555555555501"
BOB = "oid:11111111-2222-4333-8444-555555555502"
CLIENT = "99999999-2222-4333-8444-555555555501"


def trail(label: str = ALICE, **more: object) -> Trail:
    """Return the trail of somebody at risk."""
    return Trail(IdentityAtRisk(identity_key(label), (label,), Standing.HIGH, NOW, BEGIN, **more))  # type: ignore[arg-type]


def act(at: int, operation: str = "CREATE", **fields: str) -> RecordedAct:
    """Return an act at a time, on a Deployment unless told otherwise."""
    what = {"kind": "Deployment", "group": "apps", "namespace": "train", "name": "web", "uid": "u1"}
    return RecordedAct(id=uuid7(at * 1000), operation=operation, **{**what, **fields})


def entered(at: int, name: str, uid: str = "") -> RecordedAct:
    """Return an exec into a Pod."""
    fields = {"kind": "PodExecOptions", "group": "", "subresource": "exec"}
    return act(at, "CONNECT", name=name, uid=uid, **fields)


def live(uid: str = "u1", name: str = "web", **more: object) -> LiveObject:
    """Return a live object, a Deployment unless told otherwise."""
    fields = {"group": "apps", "kind": "Deployment", "namespace": "train", "created": NOW - 99}
    return LiveObject(uid=uid, name=name, **{**fields, **more})  # type: ignore[arg-type]


def pod(uid: str, name: str, **more: object) -> LiveObject:
    """Return a live Pod."""
    return live(uid, name, group="", kind="Pod", **more)


def joined(trails: list[Trail], *seen: LiveObject, recorded: bool = True) -> Trails:
    """Join trails with what is there."""
    found = Trails(trails, recorded=recorded)
    found.index()
    for each in seen:
        found.see(each)
    return found


def document(of: Trail, unlisted: frozenset[GroupKind] = frozenset()) -> LookBackDocument:
    """Return the document of a trail."""
    return document_of(
        of, document_id=uuid7(0), cluster="c", end=NOW, unlisted=unlisted, gaps=("one",)
    )


def test_what_is_there_is_listed_with_its_last_decision() -> None:
    """Of several decisions on an object, the number, the last, and how it began."""
    one = trail()
    first, last = act(NOW - 500), act(NOW - 100, "UPDATE")
    for each in (first, last):
        one.add_act(each)
    joined([one], live())
    (item,) = document(one).items
    assert item == Item(
        sort=Sort.WORKLOAD,
        state=State.THERE,
        kind="Deployment",
        group="apps",
        namespace="train",
        name="web",
        uid="u1",
        at="2026-11-18T11:05:00Z",
        how="started",
        acts=2,
        decision=last.id,
    )


def test_another_object_of_the_same_name_is_not_theirs() -> None:
    """By UID; where none was recorded, one made after the act is another."""
    one = trail()
    one.add_act(act(NOW - 500))
    one.add_act(act(NOW - 500, name="role", uid="", kind="Role"))
    joined([one], live("u2"), live("u3", "role", kind="Role", created=NOW - 100))
    found = document(one)
    assert found.items == []
    assert found.gone == {"workload": 2}


def test_a_pod_that_was_entered_and_is_there_is_listed_first() -> None:
    """The gravest sort first; one that is gone is counted."""
    one = trail()
    one.add_act(act(NOW - 10))
    one.add_act(entered(NOW - 46 * 3600, "llm-0", "p1"))
    one.add_act(entered(NOW - 46 * 3600, "gone-0", "p2"))
    joined([one], live(), pod("p1", "llm-0"))
    found = document(one)
    assert [(each.sort, each.name) for each in found.items] == [
        (Sort.ENTERED, "llm-0"),
        (Sort.WORKLOAD, "web"),
    ]
    assert found.gone == {"entered": 1}


def test_a_token_outlives_and_is_listed_always() -> None:
    """Nobody can tell whether it has expired."""
    one = trail()
    kind = {"kind": "TokenRequest", "group": "authentication.k8s.io", "subresource": "token"}
    one.add_act(act(NOW - 10, uid="", **kind))
    joined([one])
    (item,) = document(one).items
    assert (item.sort, item.state, item.kind) == (
        Sort.CREDENTIAL,
        State.OUTLIVES,
        "ServiceAccount",
    )


def test_what_could_not_be_listed_is_not_known() -> None:
    """It is neither there nor gone."""
    one = trail()
    one.add_act(act(NOW - 10))
    joined([one])
    (item,) = document(one, frozenset({("apps", "Deployment")})).items
    assert item.state is State.UNKNOWN


def test_live_pods_are_counted_over_all_owners() -> None:
    """Deployment, ReplicaSet, Pods: those of others' workloads are not counted."""
    one = trail()
    one.add_act(act(NOW - 10))
    owned = live("r1", "web-7", kind="ReplicaSet", owner="u1", requester=ALICE)
    pods = [pod(f"p{number}", f"web-{number}", owner="r1") for number in range(3)]
    joined([one], live(), owned, *pods, pod("p9", "other", owner="r9"))
    (item,) = document(one).items
    assert (item.name, item.pods) == ("web", 3)


def test_a_note_alone_shows_what_was_started() -> None:
    """A workload that nothing was recorded of, but not what a controller copied the note to."""
    one = trail()
    note: dict[str, Any] = {"requester": ALICE, "created": NOW - 50}
    joined([one], live(**note), live("r1", "web-7", kind="ReplicaSet", owner="u1", **note))
    (item,) = document(one).items
    assert (item.how, item.acts, item.decision) == ("started", 0, "")


def test_what_was_theirs_before_the_window_is_counted_apart() -> None:
    """With records: nobody saw them touch it. Without: whoever changed it may be them."""
    older = live(requester=ALICE, created=BEGIN - 9, changed=NOW - 9)
    one, other = trail(), trail()
    joined([one], older)
    joined([other], older, recorded=False)
    assert (document(one).items, document(one).older) == ([], 1)
    (item,) = document(other).items
    assert item.how == "changed"


def test_approvals_and_exceptions_say_whose_they_are() -> None:
    """By the marks that the gate recorded, of an editor as well."""
    one, two = trail(), trail(BOB)
    marks = {"group": "sallyport.dev", "created": NOW - 5}
    joined(
        [one, two],
        live("a1", "ok", kind="Approval", writers=frozenset({ALICE, "user:0"}), **marks),
        live("e1", "hole", kind="PolicyException", writers=frozenset({ALICE, BOB}), **marks),
    )
    assert [(each.sort, each.how) for each in document(one).items] == [
        (Sort.APPROVAL, "approved"),
        (Sort.OPENING, "started"),
    ]
    assert [each.name for each in document(two).items] == ["hole"]


def test_exceptions_that_are_suspended_are_named() -> None:
    """Also those that they wrote long ago, for none of theirs is in force."""
    one = trail()
    found = Trails([one], recorded=True, suspends=True)
    fields = {"group": "sallyport.dev", "kind": "PolicyException", "created": 5}
    found.see(live("e1", "hole", writers=frozenset({ALICE}), **fields))
    found.see(live("e2", "others", writers=frozenset({BOB}), **fields))
    assert document(one).suspended == ["train/hole"]


def test_pods_that_can_sign_in_are_one_item_for_each_owner() -> None:
    """A gang is one line, with its number."""
    one = trail(client_ids=frozenset({CLIENT}))
    signing = {"client_ids": frozenset({CLIENT}), "created": 5}
    gang = [pod(f"p{number}", f"g-{number}", owner="j1", **signing) for number in range(40)]
    joined([one], *gang, pod("p99", "alone", **signing))
    assert [(each.sort, each.pods) for each in document(one).items] == [
        (Sort.IDENTITY, 40),
        (Sort.IDENTITY, 1),
    ]


def test_grants_that_name_somebody_are_listed_whoever_wrote_them() -> None:
    """By their object id, or by the client id as which a service account of it signs in."""
    one, two = trail(), trail(BOB, client_ids=frozenset({CLIENT}))
    fields = {"group": "sallyport.dev", "kind": "AccessGrant", "created": 5}
    joined(
        [one, two],
        live("g1", "eval", granted=frozenset({ALICE}), **fields),
        live("g2", "train", granted=frozenset({f"client:{CLIENT}"}), **fields),
        live("g3", "others", granted=frozenset({"oid:other"}), **fields),
    )
    assert [(each.name, each.sort, each.how) for each in document(one).items] == [
        ("eval", Sort.GRANTED, "may-open")
    ]
    assert [each.name for each in document(two).items] == ["train"]


def test_fifty_thousand_acts_are_counted_and_memory_is_bounded() -> None:
    """The first objects are told apart, a part of them listed, the rest counted: none is lost."""
    one = trail()
    for number in range(50_000):
        one.add_act(entered(BEGIN + number, f"p-{number}", f"uid-{number}"))
    everything = [pod(f"uid-{number}", f"p-{number}") for number in range(50_000)]
    joined([one], *everything)
    found = document(one)
    assert len(one.traces) == MOST_OBJECTS
    assert len(found.items) == MOST_ITEMS
    assert found.more_items == MOST_OBJECTS - MOST_ITEMS
    assert found.more_acts == 50_000 - MOST_OBJECTS


def test_many_identities_share_what_room_there_is() -> None:
    """However many become risky at once."""
    room = ObjectBudget(3)
    trails = [Trail(trail(label).risen, room) for label in (ALICE, BOB)]
    for each in trails:
        for number in range(2):
            each.add_act(entered(NOW, f"p-{number}"))
    assert [len(each.traces) for each in trails] == [2, 1]
    assert trails[1].more_acts == 1
