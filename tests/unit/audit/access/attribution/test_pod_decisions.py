"""Of several decisions on one Pod none is chosen that nothing shows to be the true one."""

import itertools
from typing import Any

import msgspec
import pytest

from audit.access.attribution.admissions import MOST_OF_A_POD
from audit.access.attribution.candidates import attribute
from audit.access.attribution.grant_history import GrantHistory
from audit.access.attribution.grants import find_covering_grant
from audit.access.attribution.histories import Histories
from core.base.ids import stable_id
from core.people.subject import Subject
from core.weights.documents.access import AccessedBy
from core.weights.documents.pod_life import LifeEvent
from tests.unit.audit.access.attribution.cluster_history import (
    ALICE,
    NOON,
    access,
    asked,
    decision,
    history,
    life,
    take,
)

UID = "uid-train-0"
MADE = NOON - 3600
INNOCENT = "oid:0d000000-0000-4000-8000-00000000000b"
DIGEST = "sha256:" + "5" * 64
_OF_A_LIFE = 15
"""Fields of a life in releases before."""

SEVERAL = "several decisions say that they admitted it"
CONTRADICTED = "the Pod contradicts, by its noted requester or its spec, what says it admitted it"


def forged(after_s: float, requester: str = INNOCENT, **fields: Any) -> bytes:
    """Return a decision that a stolen gate dates so long after the Pod's creation."""
    identity = stable_id(int((MADE + after_s) * 1000), "decision", "forged", requester)
    given: dict[str, Any] = {"id": identity, "root": None, "requester": requester}
    return decision(UID, **given | fields)


def seen(**fields: Any) -> Any:
    """Return the first document of a Pod's life, when kube-apiserver has just taken it in."""
    return life(event=LifeEvent.SEEN, addresses=[], node="", began=MADE, **fields)


def direct(requester: str = ALICE, digest: str = DIGEST, **fields: Any) -> bytes:
    """Return the decision on a Pod that somebody created themselves."""
    asked_for = {
        "uid": "r",
        "operation": "CREATE",
        "kind": "Pod",
        "version": "v1",
        "objectUid": UID,
        "digest": digest,
    }
    return decision(UID, **{"root": None, "requester": requester, "request": asked_for} | fields)


def pod(*documents: Any) -> AccessedBy:
    """Return the Pod that an access is attributed to."""
    (found,) = asked(access(), *documents).attribution.pods
    return found


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_a_decision_dated_back_before_the_creation_does_not_count(order: tuple[int, ...]) -> None:
    """A stolen gate gives its decisions any time: two days before the Pod was created is wrong."""
    documents = (life(), seen(), decision(UID), forged(-2 * 86_400))
    assert pod(*[documents[place] for place in order]).requester == ALICE


@pytest.mark.parametrize("after_s", [-6, 36, 3540])
def test_a_decision_of_another_time_alone_admits_nobody(after_s: float) -> None:
    """A copy of the UID is made later; nobody can know the UID before."""
    assert pod(life(), seen(), forged(after_s)).requester == ""
    assert pod(life(), seen(), forged(after_s)).decision == ""


@pytest.mark.parametrize("after_s", [-4, 1, 34])
def test_of_several_within_seconds_none_is_chosen(after_s: float) -> None:
    """A stolen gate knows when the Pod was created: what both say stays, and why is said."""
    documents = (life(), seen(), decision(UID), forged(after_s))
    for order in (documents, documents[::-1]):
        found = pod(*order)
        assert (found.requester, found.decision, found.profile) == ("", "", "restricted")
    why = asked(access(), *documents).attribution.why
    assert SEVERAL in why
    assert ALICE in why
    assert INNOCENT in why


def test_where_the_creation_is_not_known_none_of_several_is_chosen() -> None:
    """The first document of the Pod is lost, or not there yet: a Pod may wait for days."""
    assert pod(life(), decision(UID), forged(-2 * 86_400)).requester == ""
    assert pod(life(), decision(UID), forged(3000)).requester == ALICE


@pytest.mark.parametrize("name", [ALICE, "alice@example.com"])
def test_of_several_the_one_that_the_cluster_confirms_counts(name: str) -> None:
    """The gate noted the requester on the Pod, and `control` saw it and the digest of its spec."""
    label = ALICE if name == ALICE else Subject(name).label
    noted = seen(requester=label, digest=DIGEST)
    others = (
        forged(2, requester=name, profile="other"),
        direct(INNOCENT, id=stable_id(MADE * 1000, "decision", "n")),
    )
    for order in itertools.permutations((life(), noted, direct(name), *others)):
        found = pod(*order)
        assert (found.requester, found.profile) == (name, "restricted")


def test_what_both_confirm_and_differ_in_is_not_chosen() -> None:
    """Whoever reads the Pod can copy the note and the digest as well."""
    copy = direct(profile="other", id=stable_id(MADE * 1000 + 1, "decision", "copy"))
    found = pod(life(), seen(requester=ALICE, digest=DIGEST), direct(), copy)
    assert (found.requester, found.profile, found.decision) == (ALICE, "", "")


@pytest.mark.parametrize(
    "made_up",
    [
        pytest.param(direct(INNOCENT), id="requester"),
        pytest.param(direct(digest="sha256:" + "6" * 64), id="digest"),
        pytest.param(forged(1), id="requester-without-digest"),
        pytest.param(
            direct(root={"kind": "Job", "name": "j", "uid": "j", "requester": INNOCENT}), id="root"
        ),
    ],
)
def test_a_lone_decision_that_the_pod_contradicts_does_not_count(made_up: bytes) -> None:
    """A gate that is taken over judged the Pod itself: no other decision on it is there."""
    noted = seen(requester=ALICE, digest=DIGEST)
    for order in itertools.permutations((life(), noted, made_up)):
        made = asked(access(), *order)
        (found,) = made.attribution.pods
        assert (found.requester, found.decision, found.profile) == ("", "", "")
        identity = msgspec.json.decode(made_up)["id"]
        assert f"{CONTRADICTED}: {identity} for" in made.attribution.why


def test_a_lone_decision_that_the_pod_contradicts_brings_no_grant() -> None:
    """It names grants of somebody else: the access is not covered by them."""
    made_up = direct(INNOCENT, grants=["team/read@g1"])
    made = history(life(), seen(requester=ALICE, digest=DIGEST), made_up)
    (admitted,) = made.admission(attribute(access(), made).lives[0]).decisions
    assert admitted.admission.grants == ()


@pytest.mark.parametrize(
    "noted",
    [
        pytest.param(seen(requester=ALICE, digest=DIGEST), id="both"),
        pytest.param(seen(requester=ALICE), id="its-spec-had-changed-when-it-was-seen"),
        pytest.param(seen(), id="it-is-of-a-controller"),
    ],
)
@pytest.mark.parametrize("digest", [DIGEST, ""])
def test_a_lone_decision_that_the_pod_does_not_contradict_counts(noted: Any, digest: str) -> None:
    """A gate of an earlier release records no digest."""
    assert pod(life(), noted, direct(digest=digest)).requester == ALICE


def test_of_several_those_that_the_pod_contradicts_do_not_count() -> None:
    """The true one has no digest, as those of earlier releases: the made-up one is still out."""
    noted = seen(requester=ALICE, digest=DIGEST)
    for order in itertools.permutations((life(), noted, direct(digest=""), forged(1))):
        assert pod(*order).requester == ALICE


def test_too_many_are_not_kept_and_none_is_chosen() -> None:
    """A flood of made-up decisions pushes the true one out of memory, and it is said."""
    flood = [forged(1 + number / 10) for number in range(20)]
    made = history(life(), seen(), *flood, decision(UID))
    assert len(made.admissions.of(UID)) == MOST_OF_A_POD + 1
    found = attribute(access(), made).attribution
    assert (found.pods[0].requester, found.pods[0].decision) == ("", "")
    assert "more that are not kept" in found.why


def test_what_comes_after_an_access_counts_for_the_next_one() -> None:
    """What admitted a Pod is worked out once for many accesses, until anything is taken in."""
    made = history(life())
    assert attribute(access(), made).attribution.pods[0].requester == ""
    for document, requester in ((decision(UID), ALICE), (seen(requester=INNOCENT), "")):
        take(made, document)
        assert attribute(access(), made).attribution.pods[0].requester == requester


def test_a_decision_that_comes_again_is_the_same() -> None:
    """Documents may come any number of times."""
    assert pod(life(), *[decision(UID)] * 20).requester == ALICE


def test_a_pod_that_waited_for_a_node_keeps_its_decision() -> None:
    """It began days after it was created, and after its decision."""
    started = life(began=NOON - 60)
    assert pod(started, decision(UID)).requester == ALICE
    assert pod(started, seen(), decision(UID)).requester == ALICE


def test_a_later_telling_of_a_living_pod_does_not_change_when_it_was_created() -> None:
    """`control` tells of each Pod that lives once a week."""
    again = life(event=LifeEvent.SEEN, began=MADE, time="2026-05-01T11:59:00.000Z")
    assert pod(again, decision(UID)).requester == ALICE
    assert pod(again, seen(), decision(UID)).requester == ALICE


def test_each_of_several_decisions_needs_a_grant() -> None:
    """A made-up decision excuses nobody by a grant of another."""
    made = history(life(), seen(), decision(UID), forged(1, grants=["team/read@g1"]))
    found = attribute(access(), made)
    grants = GrantHistory()
    assert find_covering_grant(access(), found, made, grants).grant == ""
    assert {each.admission.grants for each in made.admission(found.lives[0]).decisions} == {
        (),
        ("team/read@g1",),
    }


def test_several_are_known_after_a_restart() -> None:
    """What is saved and taken back attributes alike."""
    made = history(life(), seen(requester=ALICE, digest=DIGEST), direct(), forged(1))
    again = Histories()
    again.restore(made.saved())
    assert again.saved() == made.saved()
    assert attribute(access(), again) == attribute(access(), made)


def test_what_an_earlier_release_saved_attributes_as_before() -> None:
    """It knew one decision of each Pod, and neither creation, requester nor digest."""
    made = history(life(), decision(UID))
    stored = msgspec.msgpack.decode(made.saved())
    stored["lives"] = [row[:_OF_A_LIFE] for row in stored["lives"]]
    kept, waiting = stored["admissions"]
    stored["admissions"] = [[[uid, one, said[:5]] for uid, one, said in kept], waiting]
    again = Histories()
    again.restore(msgspec.msgpack.encode(stored))
    assert attribute(access(), again) == attribute(access(), made)
    assert attribute(access(), again).attribution.pods[0].requester == ALICE
